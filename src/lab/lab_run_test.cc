#include "lab/lab_run.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlead::lab {
namespace {

// Two workers that send 300 bytes each in an iteration.
LabJob TwoWorkers() {
  LabJob job;
  job.name = "gpt";
  for (uint32_t w = 0; w < 2; ++w) {
    LabWorker worker;
    worker.plan.worker = w;
    worker.plan.num_workers = 2;
    worker.plan.connections = {{.id = w, .peer = 1 - w, .is_outgoing = true, .from = "", .to = "", .port = 0},
                               {.id = 1 - w, .peer = 1 - w, .is_outgoing = false, .from = "", .to = "", .port = 0}};
    StreamPlan stream;
    stream.sends = {{.connection = 0, .bytes = 300}};
    stream.receives = {{.connection = 1, .bytes = 300}};
    worker.plan.phases.resize(1);
    worker.plan.phases[0].streams = {stream};
    job.workers.push_back(worker);
  }
  return job;
}

constexpr const char* kConnected = "{\"connected\": 2}\n";

TEST(SummarizeJob, TakesTheMeanOverWorkersOfIterationsInTheMeasuredTime) {
  const std::vector<std::string> records = {
      std::string(kConnected) + R"({"iteration": 0, "begin_s": 9.5, "seconds": 1.0, "exposed_s": 0.5})"
                                "\n"
                                R"({"iteration": 1, "begin_s": 10.5, "seconds": 1.0, "exposed_s": 0.2})"
                                "\n"
                                R"({"iteration": 2, "begin_s": 11.5, "seconds": 2.0, "exposed_s": 0.4})"
                                "\n"
                                R"({"iteration": 3, "begin_s": 13.5, "seconds": 1.0, "exposed_s": 0.4})"
                                "\n",
      std::string(kConnected) + R"({"iteration": 0, "begin_s": 9.5, "seconds": 1.0, "exposed_s": 0.5})"
                                "\n"
                                R"({"iteration": 1, "begin_s": 10.7, "seconds": 1.2, "exposed_s": 0.4})"
                                "\n"
                                R"({"iteration": 2, "begin_s": 11.9, "seconds": 1.6, "exposed_s": 0.0})"
                                "\n"};
  // The first began too early, the last one did not end at the second worker.
  const LabJobResult result = SummarizeJob(TwoWorkers(), records, 10, 20);
  ASSERT_EQ(result.iteration_s.size(), 2u);
  EXPECT_DOUBLE_EQ(result.iteration_s[0], 1.1);
  EXPECT_DOUBLE_EQ(result.iteration_s[1], 1.8);
  EXPECT_DOUBLE_EQ(result.iterations[0].begin_s, 0.6);
  EXPECT_DOUBLE_EQ(result.iterations[1].begin_s, 1.7);
  EXPECT_DOUBLE_EQ(result.exposed_s, (0.3 + 0.2) / 2);
  EXPECT_EQ(result.bytes_per_iteration, 600);
  EXPECT_DOUBLE_EQ(result.sent_bytes_per_s, 2 * 600 / 2.9);
  EXPECT_EQ(result.num_connections, 2u);
}

TEST(SummarizeJob, HasNoSummaryWithoutAWholeIteration) {
  const LabJobResult result = SummarizeJob(TwoWorkers(), {kConnected, "{\"connec"}, 10, 20);
  EXPECT_TRUE(result.iteration_s.empty());
  EXPECT_EQ(result.sent_bytes_per_s, 0);
}

}  // namespace
}  // namespace fairlead::lab

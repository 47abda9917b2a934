#include "lab/trainer/trainer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "lab/trainer/connections.h"
#include "lab/trainer/trainer_plan.h"

namespace fairlead::lab {
namespace {

constexpr uint32_t kQueuePairs = 3;

// A port that nobody listens on now. Tests bind to addresses of their own, 127.0.0.2 and up.
uint16_t SomePort() {
  static std::atomic<uint16_t> next = static_cast<uint16_t>(21'000 + getpid() % 8'000);
  return next++;
}

// A ring of two workers with three queue pairs in each direction, then an exchange without order.
std::vector<TrainerPlan> TwoWorkers(uint64_t iterations) {
  const uint16_t port = SomePort();
  std::vector<TrainerPlan> plans(2);
  for (uint32_t w = 0; w < 2; ++w) {
    TrainerPlan& plan = plans[w];
    plan.job = "job";
    plan.worker = w;
    plan.num_workers = 2;
    plan.compute_s = 0.001;
    plan.iterations = iterations;
    plan.listen_port = port;
    const std::string address[2] = {"127.0.0.2", "127.0.0.3"};
    plan.listen_addresses = {address[w]};
    StreamPlan ring{.parts = 16, .lead = 8, .sends = {}, .receives = {}};
    StreamPlan exchange;
    for (uint32_t q = 0; q < 2 * kQueuePairs; ++q) {
      const uint32_t sender = q / kQueuePairs;
      plan.connections.push_back({.id = q,
                                  .peer = 1 - w,
                                  .is_outgoing = sender == w,
                                  .from = address[sender],
                                  .to = address[1 - sender],
                                  .port = port});
      (sender == w ? ring.sends : ring.receives).push_back({q, 40'001});
      (sender == w ? exchange.sends : exchange.receives).push_back({q, 7});
    }
    plan.phases.resize(2);
    plan.phases[0].name = "ring";
    plan.phases[0].start_fraction = 0;
    plan.phases[0].streams = {ring};
    plan.phases[1].name = "exchange";
    plan.phases[1].blocks_compute = true;
    plan.phases[1].streams = {exchange};
  }
  return plans;
}

struct WorkerRun {
  Status status;
  std::vector<std::string> records;
};

// Both workers to their ends, each in a thread, with a flag of its own.
std::vector<WorkerRun> RunAll(const std::vector<TrainerPlan>& plans, std::vector<std::atomic<bool>>& stops) {
  std::vector<WorkerRun> runs(plans.size());
  std::vector<std::thread> threads;
  for (size_t w = 0; w < plans.size(); ++w) {
    threads.emplace_back([&, w] {
      auto connections = Connect(plans[w], 30, stops[w]);
      if (!connections.ok()) {
        runs[w].status = connections.status();
        return;
      }
      runs[w].status = Train(plans[w], std::move(*connections), stops[w],
                             [&, w](const std::string& line) { runs[w].records.push_back(line); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return runs;
}

TEST(Trainer, DoesItsIterationsAndSendsEveryByte) {
  std::vector<std::atomic<bool>> stops(2);
  const auto runs = RunAll(TwoWorkers(5), stops);
  for (const WorkerRun& run : runs) {
    EXPECT_TRUE(run.status.ok()) << run.status.message();
    ASSERT_EQ(run.records.size(), 6u);
    // 5 x 3 x (40001 + 7).
    EXPECT_EQ(run.records.back(),
              R"({"end": "done", "iterations": 5, "sent_bytes": 600120, "received_bytes": 600120})");
  }
}

TEST(Trainer, NamesThePeerThatIsLost) {
  // Worker 1 ends after 3 iterations, and worker 0 would go on.
  auto plans = TwoWorkers(0);
  plans[1].iterations = 3;
  std::vector<std::atomic<bool>> stops(2);
  const auto runs = RunAll(plans, stops);
  EXPECT_TRUE(runs[1].status.ok()) << runs[1].status.message();
  ASSERT_FALSE(runs[0].status.ok());
  EXPECT_NE(runs[0].status.message().find("worker 1 (127.0.0.3) is lost"), std::string::npos)
      << runs[0].status.message();
  EXPECT_NE(runs[0].records.back().find("peer lost"), std::string::npos);
}

TEST(Trainer, StopsWhenTold) {
  auto plans = TwoWorkers(0);
  std::vector<std::atomic<bool>> stops(2);
  // Each worker stops both after its tenth record, as a signal to all of them would.
  std::vector<std::thread> threads;
  std::vector<Status> ends(2);
  for (size_t w = 0; w < 2; ++w) {
    threads.emplace_back([&, w] {
      auto connections = Connect(plans[w], 30, stops[w]);
      int count = 0;
      ends[w] = Train(plans[w], std::move(connections).value(), stops[w], [&](const std::string&) {
        if (++count == 10) stops[0] = stops[1] = true;
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& end : ends) EXPECT_TRUE(end.ok()) << end.message();
}

TEST(Trainer, GivesUpOnAPeerThatNeverComes) {
  const auto plans = TwoWorkers(1);
  const std::atomic<bool> stop = false;
  const auto connections = Connect(plans[0], 0.2, stop);
  ASSERT_FALSE(connections.ok());
  EXPECT_NE(connections.status().message().find("worker 1 (127.0.0.3) was not reached"), std::string::npos)
      << connections.status().message();
}

TEST(TrainerPlan, IsReadAsItWasWritten) {
  for (const TrainerPlan& plan : TwoWorkers(9)) {
    const auto read = ReadTrainerPlan(WriteTrainerPlan(plan), "plan.json");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, plan);
  }
}

TEST(TrainerPlan, MistakesAreNamed) {
  const auto refusal = [](const TrainerPlan& plan) {
    const auto read = ReadTrainerPlan(WriteTrainerPlan(plan), "plan.json");
    return read.ok() ? std::string("accepted") : read.status().message();
  };
  const TrainerPlan good = TwoWorkers(1)[0];
  TrainerPlan plan = good;
  plan.phases[0].streams[0].sends[0].connection = 3;  // which receives
  EXPECT_EQ(refusal(plan), "plan.json: a transfer goes the wrong way");
  plan = good;
  plan.phases[0].streams[0].sends[0].connection = 99;
  EXPECT_EQ(refusal(plan), "plan.json: a transfer names no connection");
  plan = good;
  plan.phases[0].streams[0].sends[1].connection = 0;
  EXPECT_EQ(refusal(plan), "plan.json: a connection has two transfers in one phase");
  plan = good;
  plan.phases[0].streams[0].lead = 0;
  EXPECT_EQ(refusal(plan), "plan.json: lead must lie in [1, parts]");
  plan = good;
  plan.phases[1].start_fraction = -0.5;
  EXPECT_EQ(refusal(plan), "plan.json: start_fraction must lie in [0, 1] and not decrease");
  EXPECT_FALSE(ReadTrainerPlan("{", "plan.json").ok());
  EXPECT_FALSE(ReadTrainerPlan("{\"job\": 3}", "plan.json").ok());
}

}  // namespace
}  // namespace fairlead::lab

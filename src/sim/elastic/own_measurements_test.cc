// What a job has told of itself: runs that can be worked out by hand.
#include "sim/elastic/own_measurements.h"

#include <gtest/gtest.h>

#include "sim/elastic/elastic_job.h"
#include "sim/elastic/measured_job.h"

namespace fairlead::sim {
namespace {

// 4 or 8 GPUs; an iteration takes 1 s on 4 and 0.6 s on 8.
class OwnMeasurementsTest : public ::testing::Test {
 protected:
  OwnMeasurementsTest() {
    for (const char* name : {"a", "b"}) {
      EXPECT_TRUE(AddMeasuredJob({name, "same", 0, 4, {4, 8}, 64, 1000, {{4, 1}, {8, 1 / 0.6}}}, &workload_).ok());
    }
  }
  static ElasticJob Begin(const ElasticJobSpec& spec, uint32_t num_hosts) {
    ElasticJob job(spec, ElasticCluster(), {}, 0);
    Allocation allocation;
    for (uint32_t h = 0; h < num_hosts; ++h) allocation.shares.push_back({HostId(h), 4, 0});
    job.Reallocate(allocation, 0);
    return job;
  }

  OwnedWorkload workload_;
};

TEST_F(OwnMeasurementsTest, NothingIsKnownBeforeTheFirstStepsAndThenTheOwn) {
  const ElasticCluster cluster;
  OwnMeasurements own = OwnMeasurements::Create(workload_.jobs, cluster).value();
  ElasticJob job = Begin(workload_.jobs[0], 1);
  const ElasticJob other = Begin(workload_.jobs[1], 1);
  EXPECT_FALSE(own.Remaining(0, job).has_value());
  // The guess: 1 s on the smallest size, of which a twentieth does not get less: (1 / 2 + 0.05) / 1.05.
  EXPECT_NEAR(own.sizes(0)[0].iteration_s, 1, 1e-9);
  EXPECT_NEAR(own.sizes(0)[1].iteration_s, 0.55 / 1.05, 1e-9);
  job.Advance(0, 100, 600);
  own.Observe(0, job, 100, 1);
  EXPECT_NEAR(*own.Remaining(0, job), 900, 1);
  EXPECT_NEAR(own.sizes(0)[0].iteration_s, 1, 1e-9);
  // Neither its speed nor its length says anything about another job of the same application.
  EXPECT_FALSE(own.Remaining(1, other).has_value());
  // On eight GPUs: what was measured, whatever was guessed.
  job.Reallocate({{{HostId(0), 4, 0}, {HostId(1), 4, 0}}, std::nullopt}, 0);
  job.Advance(100, 60, 600);
  own.Observe(0, job, 60, 1);
  EXPECT_NEAR(own.sizes(0)[1].iteration_s, 0.6, 1e-9);
  EXPECT_NEAR(*own.Remaining(0, job), 800, 1);
}

TEST_F(OwnMeasurementsTest, WhoDeclaresTooFewStepsHasALittleLeft) {
  workload_.jobs[0].declared_factor = 0.1;
  workload_.jobs[1].predictable_after.reset();
  OwnMeasurements own = OwnMeasurements::Create(workload_.jobs, ElasticCluster()).value();
  ElasticJob job = Begin(workload_.jobs[0], 1);
  job.Advance(0, 300, 600);
  own.Observe(0, job, 300, 1);
  EXPECT_NEAR(*own.Remaining(0, job), 2, 0.1) << "a fiftieth of 100";
  ElasticJob silent = Begin(workload_.jobs[1], 1);
  silent.Advance(0, 300, 600);
  own.Observe(1, silent, 300, 1);
  EXPECT_FALSE(own.Remaining(1, silent).has_value()) << "it declares none";
}

TEST_F(OwnMeasurementsTest, JobsOfServersTellNoStepsOfThisKind) {
  workload_.jobs[0].profile = nullptr;
  EXPECT_EQ(OwnMeasurements::Create(workload_.jobs, ElasticCluster()).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace fairlead::sim

#include "traffic/crux/correction_cache.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace fairlead::traffic::crux {
namespace {

LinkJob DrawJob(Random* random) {
  LinkJob job;
  job.compute_time = Seconds(random->Uniform(0.1, 2));
  job.link_time = Seconds(random->Uniform(0.1, 2));
  job.start_fraction = random->Uniform();
  return job;
}

TEST(CorrectionCacheTest, GivesWhatAComputationGivesHoweverOftenItIsAsked) {
  Random random(1);
  std::vector<LinkJob> jobs;
  jobs.reserve(8);
  for (int j = 0; j < 4; ++j) jobs.push_back(DrawJob(&random));
  // Differ from another job in one number each.
  for (int field = 0; field < 3; ++field) {
    LinkJob near = jobs[0];
    if (field == 0) near.compute_time = near.compute_time * 1.5;
    if (field == 1) near.link_time = near.link_time * 1.5;
    if (field == 2) near.start_fraction *= 0.5;
    jobs.push_back(near);
  }
  CorrectionCache cache(CorrectionOptions{});
  for (int round = 0; round < 2; ++round) {
    for (const LinkJob& reference : jobs) {
      for (const LinkJob& job : jobs) {
        const CorrectionFactor expected = ComputeCorrectionFactor(reference, job, {});
        const CorrectionFactor found = cache.Find(reference, job);
        EXPECT_EQ(found.factor, expected.factor);
        EXPECT_EQ(found.reference_gain, expected.reference_gain);
        EXPECT_EQ(found.job_gain, expected.job_gain);
      }
    }
    EXPECT_EQ(cache.size(), 49u);
  }
}

TEST(CorrectionCacheTest, ForgetsBeforeItGrowsTooLarge) {
  CorrectionOptions brief;
  brief.num_phases = 1;
  brief.horizon_periods = 0.1;
  CorrectionCache cache(brief);
  Random random(2);
  const LinkJob reference = DrawJob(&random);
  for (size_t i = 0; i <= CorrectionCache::kMaxPairs; ++i) cache.Find(reference, DrawJob(&random));
  EXPECT_EQ(cache.size(), 1u);
}

}  // namespace
}  // namespace fairlead::traffic::crux

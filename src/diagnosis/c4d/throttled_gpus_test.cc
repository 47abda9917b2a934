#include "diagnosis/c4d/throttled_gpus.h"

#include <gtest/gtest.h>

#include <vector>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

TEST(ThrottledGpusTest, OfTheWindowAndOfTheJob) {
  const model::JobLayout layout = MakeExampleLayout({.hosts = 2, .gpus = 4});
  ThrottledGpus gpus(layout);
  model::HostReport report;
  report.host = HostId(1);
  report.symptoms.push_back({.symptom = model::HostSymptom::kGpuThrottled, .device = 2, .text = ""});
  report.symptoms.push_back({.symptom = model::HostSymptom::kGpuError, .device = 3, .text = ""});
  gpus.Add(report);
  // Host 1, GPU 2 is rank 6.
  const std::vector<model::RankId> with = {model::RankId(1u), model::RankId(6u)};
  const std::vector<model::RankId> without = {model::RankId(2u), model::RankId(7u)};
  EXPECT_TRUE(gpus.IsInWindow(with));
  EXPECT_FALSE(gpus.IsInWindow(without));
  gpus.EndWindow();
  EXPECT_FALSE(gpus.IsInWindow(with));
  EXPECT_TRUE(gpus.WasEver(with));
  EXPECT_FALSE(gpus.WasEver(without));
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d

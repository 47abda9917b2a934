#include "experiments/lab-crux/crux_case.h"

#include <gtest/gtest.h>

#include <cmath>

#include "experiments/lab_experiment.h"

namespace fairlead::experiments::lab_crux {
namespace {

TEST(LabCruxCaseTest, UtilizationWeighsJobsByTheirGpus) {
  // 8 GPUs that compute 1.5 of 2 s, and 4 that compute 0.4 of 0.8 s: (8 * 0.75 + 4 * 0.5) / 12.
  const std::vector<CaseJob> jobs = {{"GPT", 8, 1.5}, {"BERT", 2, 0.4}, {"BERT", 2, 0.4}};
  EXPECT_DOUBLE_EQ(Utilization(jobs, std::vector<double>{2, 0.8, 0.8}), 8.0 / 12);
  // A stalled job still holds its GPUs.
  EXPECT_DOUBLE_EQ(Utilization(jobs, std::vector<double>{2, 0.8, 0}), 7.0 / 12);
  const auto by_model = IterationsByModel(jobs, std::vector<double>{2, 0.6, 1.0});
  EXPECT_DOUBLE_EQ(by_model.at("GPT"), 2);
  EXPECT_DOUBLE_EQ(by_model.at("BERT"), 0.8);
  EXPECT_TRUE(std::isinf(IterationsByModel(jobs, std::vector<double>{2, 0.6, 0}).at("BERT")));
}

TEST(LabCruxCaseTest, MeansAreOverIterations) {
  lab::LabRunResult run;
  run.jobs.resize(2);
  run.jobs[0].iteration_s = {1, 2, 6};
  EXPECT_EQ(MeanIterations(run), (std::vector<double>{3, 0}));
}

TEST(LabExperimentTest, DifferencesAreInPercentOfTheSimulator) {
  IterationDifferences differences;
  EXPECT_TRUE(std::isnan(differences.Median()));
  differences.Add(0, 1);  // no iteration has ended
  EXPECT_TRUE(std::isnan(differences.Median()));
  differences.Add(1.5, 2);  // 25 % shorter
  differences.Add(2.2, 2);  // 10 % longer
  EXPECT_NEAR(differences.Median(), 17.5, 1e-9);
  differences.Add(2, 2);
  EXPECT_NEAR(differences.Median(), 10, 1e-9);
}

// The scenarios are what they say they are: alone, each model communicates as long as on the testbed of the simulator.
TEST(LabCruxCaseTest, ScenariosAreTheTestbedScaledDown) {
  for (const char* file : {"scenarios/lab-crux-2-bert.yaml", "scenarios/lab-crux-3-bert.yaml",
                           "scenarios/lab-crux-4-bert.yaml", "scenarios/lab-crux-five-jobs.yaml"}) {
    const auto written = LabScenario::Write(file);
    ASSERT_TRUE(written.ok()) << written.status().message();
    lab::LabOptions options;
    options.scale = 1e-4;
    const auto plan = lab::PlanLab(written->scenario().fabric, options);
    ASSERT_TRUE(plan.ok());
    const auto jobs = lab::PlanJobs(written->scenario(), *plan, 0, lab::QueuePairBytes::kFixed);
    ASSERT_TRUE(jobs.ok()) << jobs.status().message();
    const std::vector<CaseJob> described = DescribeJobs(*jobs);
    for (size_t j = 0; j < jobs->size(); ++j) {
      // Bytes of one worker over one NIC, at 20 Mb/s.
      const lab::TrainerPlan& worker = (*jobs)[j].workers.front().plan;
      double bytes = 0;
      for (const auto& stream : worker.phases.front().streams) {
        for (const auto& transfer : stream.sends) bytes += static_cast<double>(transfer.bytes);
      }
      const double seconds = bytes * 8 / 20e6 / worker.num_gpus;
      const std::string& model = described[j].model;
      // experiments/crux-testbed/setup.yaml, group network.
      EXPECT_NEAR(seconds, model == "GPT" ? 0.89 : model == "BERT" ? 0.3185 : 0.01882, 1e-4) << file << " " << model;
      EXPECT_DOUBLE_EQ(described[j].compute_s, model == "GPT" ? 1.53 : model == "BERT" ? 0.4 : 0.2);
    }
    const double num_gpus = described.front().num_gpus;
    EXPECT_EQ(num_gpus, described.size() == 5 && std::string_view(file).ends_with("five-jobs.yaml") ? 12 : 8);
  }
}

}  // namespace
}  // namespace fairlead::experiments::lab_crux

// How long predictions take: what a scheduler pays per job and evaluation, and what training pays once.
#include <benchmark/benchmark.h>

#include <vector>

#include "base/random.h"
#include "prediction/classifier_selection.h"
#include "prediction/convergence_model.h"
#include "prediction/correlations.h"
#include "prediction/job_generator.h"
#include "prediction/predictability_model.h"
#include "prediction/speed_model.h"

namespace fairlead::prediction {
namespace {

std::vector<LossPoint> NoisyCurve(int64_t num_points) {
  Random random(1);
  const ConvergenceCurve curve{.scale = 2, .slope = 0.01, .offset = 1, .floor = 0.1};
  std::vector<LossPoint> points;
  for (int64_t i = 1; i <= num_points; ++i) {
    const auto k = static_cast<double>(i);
    points.push_back({k, curve.LossAt(k) * random.Uniform(0.99, 1.01)});
  }
  return points;
}

void BM_FitConvergence(benchmark::State& state) {
  const std::vector<LossPoint> points = NoisyCurve(state.range(0));
  ConvergenceOptions options;
  options.num_bootstraps = static_cast<size_t>(state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(FitConvergence(points, options));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(BM_FitConvergence)->ArgNames({"points", "bootstraps"})->ArgsProduct({{20, 100, 1000}, {0, 50}});

void BM_FitSpeedModel(benchmark::State& state) {
  Random random(1);
  std::vector<SpeedObservation> observations;
  for (int64_t i = 0; i < state.range(0); ++i) {
    ServerConfiguration c;
    c.workers = static_cast<double>(1 + random.Below(20));
    c.servers = static_cast<double>(1 + random.Below(20));
    c.global_batch = 64;
    observations.push_back({c, Seconds(0.5 + 0.3 * c.workers / c.servers * random.Uniform(0.9, 1.1))});
  }
  for (auto _ : state) benchmark::DoNotOptimize(FitSpeedModel(observations));
}
BENCHMARK(BM_FitSpeedModel)->ArgName("observations")->Arg(10)->Arg(100)->Arg(1000)->Arg(10000);

void BM_KendallTauB(benchmark::State& state) {
  Random random(1);
  std::vector<double> x;
  std::vector<double> y;
  for (int64_t i = 0; i < state.range(0); ++i) {
    x.push_back(random.Uniform());
    y.push_back(random.Uniform());
  }
  for (auto _ : state) benchmark::DoNotOptimize(KendallTauB(x, y));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(BM_KendallTauB)->ArgName("rows")->Range(1000, 1'000'000)->Complexity(benchmark::oNLogN);

FeatureTable GeneratedTable(size_t num_jobs) {
  return MakeTrainingTable(ToJobTable(GenerateJobs({.seed = 1, .num_jobs = num_jobs})));
}

void BM_TrainLearner(benchmark::State& state) {
  const FeatureTable table = GeneratedTable(static_cast<size_t>(state.range(1)));
  const auto kind = static_cast<LearnerKind>(state.range(0));
  const Eigen::MatrixXd x = Standardize(table.x).Apply(table.x);
  for (auto _ : state) benchmark::DoNotOptimize(TrainLearner(kind, x, table.y, 1));
  state.SetLabel(std::string(Name(kind)) + ", " + std::to_string(table.num_rows()) + " rows");
}
BENCHMARK(BM_TrainLearner)
    ->ArgNames({"learner", "jobs"})
    ->ArgsProduct({{0, 1, 2, 3, 4}, {10, 40}})
    ->Unit(benchmark::kMillisecond);

// Features and score of one running job: what an evaluation costs.
void BM_ScoreJob(benchmark::State& state) {
  const FeatureTable table = GeneratedTable(20);
  const auto kind = static_cast<LearnerKind>(state.range(0));
  const PredictabilityModel model = PredictabilityModel::Train(table, kind, SelectFeatures(table, 1), 1);
  // A smooth job: its fit is not cut short by a reason against it.
  const GeneratedJob job = GenerateJobs({.seed = 2, .num_jobs = 1, .shares = {1, 0, 0, 0}})[0];
  for (auto _ : state) {
    benchmark::DoNotOptimize(model.Score(ComputeFeatures(job.record.description, job.record.epochs)));
  }
  state.SetLabel(std::string(Name(kind)));
}
BENCHMARK(BM_ScoreJob)->ArgName("learner")->DenseRange(0, 4);

}  // namespace
}  // namespace fairlead::prediction

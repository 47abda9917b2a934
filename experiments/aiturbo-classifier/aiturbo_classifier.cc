#include "experiments/aiturbo-classifier/aiturbo_classifier.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "experiments/public_data.h"
#include "prediction/classifier_selection.h"
#include "prediction/job_generator.h"
#include "prediction/predictability_model.h"
#include "prediction/public_curves.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::aiturbo_classifier {

namespace {

using prediction::ClassifierMetrics;
using prediction::FeatureTable;
using prediction::GeneratedJob;

constexpr size_t kNumJobs = 120;
constexpr size_t kNumReducedJobs = 40;
constexpr size_t kNumTestJobs = 60;
// Prefixes of one job are much alike: every fifth is used.
constexpr size_t kPrefixStride = 5;

struct Mix {
  std::string_view row;
  double unpredictable;  // share of jobs of the two kinds that are not predictable
};
constexpr Mix kMixes[] = {{"unpredictable to predictable jobs 0:100", 0},
                          {"unpredictable to predictable jobs 25:75", 0.25},
                          {"unpredictable to predictable jobs 50:50", 0.5},
                          {"unpredictable to predictable jobs 75:25", 0.75},
                          {"unpredictable to predictable jobs 100:0", 1}};

struct NewShare {
  std::string_view row;
  double share;  // of test jobs that were not in the training set
};
constexpr NewShare kNewShares[] = {
    {"new to old jobs 25:75", 0.25}, {"new to old jobs 50:50", 0.5}, {"new to old jobs 75:25", 0.75}};

FeatureTable ThinnedTable(std::vector<GeneratedJob> jobs) {
  return prediction::MakeTrainingTable(prediction::ToJobTable(std::move(jobs)), kPrefixStride);
}

ClassifierMetrics Test(const prediction::TrainedClassifier& classifier, const FeatureTable& table) {
  std::vector<double> scores;
  for (Eigen::Index i = 0; i < table.x.rows(); ++i) scores.push_back(classifier.Score(table.x.row(i).transpose()));
  return prediction::MeasureClassifier(scores, std::span(table.y.data(), table.num_rows()));
}

std::vector<GeneratedJob> JobsOfMix(double unpredictable, uint64_t seed) {
  prediction::JobGeneratorOptions options;
  options.seed = seed;
  options.num_jobs = kNumTestJobs;
  const double predictable = 1 - unpredictable;
  // Within each half as in the training set: 40 to 25, and 20 to 15.
  const std::array shares = {predictable * 40 / 65, predictable * 25 / 65, unpredictable * 20 / 35,
                             unpredictable * 15 / 35};
  std::copy(shares.begin(), shares.end(), options.shares);
  return prediction::GenerateJobs(options);
}

void CompareGenerated(const FeatureTable& table, const std::vector<prediction::LearnerResult>& results,
                      experiment::Outcome* outcome) {
  report::BarFigure figure;
  figure.title = "Accuracy of the five learners";
  figure.description = "One bar for each learner: generated jobs that it has not seen.";
  figure.y_label = "accuracy";
  figure.y_domain = {0, 1};
  figure.series = {"accuracy"};
  for (const prediction::LearnerResult& result : results) {
    outcome->Set(fmt::format("{}: accuracy", Name(result.kind)), result.metrics.accuracy);
    outcome->Set(fmt::format("{}: Brier score", Name(result.kind)), result.metrics.brier);
    figure.groups.push_back({std::string(Name(result.kind)), {result.metrics.accuracy}, {}});
  }
  const prediction::LearnerResult& best = results[prediction::BestLearner(results)];
  outcome->Set("best learner: accuracy", best.metrics.accuracy);
  outcome->Set("always the more frequent label: accuracy", best.metrics.majority);
  outcome->figures.push_back({figure.title, Draw(figure), "Five folds, grouped by job."});
  outcome->notes.push_back(
      fmt::format("{} rows of generated jobs; best learner: {}", table.num_rows(), Name(best.kind)));
}

void TestMixes(const prediction::TrainedClassifier& classifier, std::span<const GeneratedJob> training, uint64_t seed,
               experiment::Outcome* outcome) {
  for (const Mix& mix : kMixes) {
    outcome->Set(std::string(mix.row), Test(classifier, ThinnedTable(JobsOfMix(mix.unpredictable, seed + 1))).accuracy);
  }
  const std::vector<GeneratedJob> unseen = prediction::GenerateJobs({.seed = seed + 2, .num_jobs = kNumTestJobs});
  for (const NewShare& mix : kNewShares) {
    const size_t count = std::min(kNumTestJobs, training.size());
    const auto num_new = static_cast<size_t>(std::lround(mix.share * static_cast<double>(count)));
    std::vector<GeneratedJob> jobs(unseen.begin(), unseen.begin() + static_cast<std::ptrdiff_t>(num_new));
    jobs.insert(jobs.end(), training.begin(), training.begin() + static_cast<std::ptrdiff_t>(count - num_new));
    outcome->Set(std::string(mix.row), Test(classifier, ThinnedTable(jobs)).accuracy);
  }
}

Status ComparePublic(uint64_t seed, size_t stride, experiment::Outcome* outcome) {
  const auto curves = prediction::LoadPublicCurves(PublicDataPath("pollux-osdi21"));
  if (!curves.ok()) {
    for (const char* row : {"public curves: accuracy", "public curves: always the more frequent label"}) {
      outcome->Set(row, std::nan(""));
    }
    outcome->notes.push_back("Rows of public curves are empty: " + curves.status().message() +
                             " (set FAIRLEAD_PUBLIC_DATA to the folder that holds pollux-osdi21)");
    return OkStatus();
  }
  const FeatureTable table = prediction::MakeTrainingTable(*curves, stride);
  FL_ASSIGN_OR_RETURN(const auto results, CompareLearners(table, prediction::kAllLearnerKinds, seed));
  const prediction::LearnerResult& best = results[prediction::BestLearner(results)];
  outcome->Set("public curves: accuracy", best.metrics.accuracy);
  outcome->Set("public curves: always the more frequent label", best.metrics.majority);
  outcome->notes.push_back(fmt::format("Public curves: {} runs, {} rows; best learner: {}, recall {:.2f}",
                                       curves->jobs.size(), table.num_rows(), Name(best.kind), best.metrics.recall));
  return OkStatus();
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  const size_t num_jobs = context.reduced ? kNumReducedJobs : kNumJobs;
  const std::vector<GeneratedJob> jobs = prediction::GenerateJobs({.seed = context.seed, .num_jobs = num_jobs});
  const FeatureTable table = ThinnedTable(jobs);
  FL_ASSIGN_OR_RETURN(const auto results, CompareLearners(table, prediction::kAllLearnerKinds, context.seed));
  CompareGenerated(table, results, &outcome);
  context.Report(0.4);
  if (context.should_stop()) {
    outcome.is_partial = true;
    return outcome;
  }
  const prediction::LearnerKind kind = results[prediction::BestLearner(results)].kind;
  const prediction::TrainedClassifier classifier =
      TrainClassifier(table, kind, SelectFeatures(table, context.seed), context.seed);
  TestMixes(classifier, jobs, context.seed, &outcome);
  context.Report(0.6);
  FL_RETURN_IF_ERROR(ComparePublic(context.seed, context.reduced ? kPrefixStride : 1, &outcome));
  return outcome;
}

}  // namespace fairlead::experiments::aiturbo_classifier

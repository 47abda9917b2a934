#include "experiments/aiturbo-speed-model/aiturbo_speed_model.h"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "experiments/public_data.h"
#include "prediction/speed_model.h"
#include "prediction/speed_table.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::aiturbo_speed_model {

namespace {

using prediction::SpeedObservation;

constexpr size_t kNumTrials = 50;
constexpr size_t kNumReducedTrials = 10;
constexpr size_t kNumFewRows = 10;
constexpr size_t kNumGeneratedModels = 8;
constexpr double kNoise = 0.1;

// Names as the public table has them.
constexpr std::string_view kPublicModels[] = {
    "resnet-50", "vgg-16", "resnext-110", "inception-bn", "seq2seq", "cnn-text-classification", "dssm", "wlm"};

struct FitErrors {
  double full_mean = 0;  // percent
  double full_median = 0;
  double few_mean = 0;  // median over trials of the mean error over all rows
};

Result<FitErrors> MeasureFits(const std::vector<SpeedObservation>& observations, size_t num_trials, uint64_t seed) {
  FL_ASSIGN_OR_RETURN(const prediction::SpeedModel full, prediction::FitSpeedModel(observations));
  const prediction::RelativeError error = ErrorOn(full, observations);
  std::vector<double> few;
  for (size_t trial = 0; trial < num_trials; ++trial) {
    Random random(CombineHash(seed, trial));
    std::vector<SpeedObservation> shuffled = observations;
    random.Shuffle(std::span(shuffled));
    const size_t count = std::min(kNumFewRows, shuffled.size());
    const auto model = prediction::FitSpeedModel(std::span(shuffled).first(count));
    // A draw of failed measurements alone can't be fitted and counts for nothing.
    if (model.ok()) few.push_back(ErrorOn(*model, observations).mean);
  }
  return FitErrors{100 * error.mean, 100 * error.median, 100 * prediction::SummarizeErrors(few).median};
}

// A planted model measured at 1 … 10 workers and servers, times noise.
std::vector<SpeedObservation> GenerateObservations(uint64_t seed) {
  Random random(seed);
  prediction::SpeedModel truth;
  truth.coefficients = {random.Uniform(0.001, 0.02),
                        random.Uniform(0.1, 0.6),
                        random.Uniform(0, 0.8),
                        0,
                        random.Uniform(0, 0.1),
                        random.Uniform(0, 0.02),
                        0};
  std::vector<SpeedObservation> observations;
  for (double workers = 1; workers <= 10; ++workers) {
    for (double servers = 1; servers <= 10; ++servers) {
      const prediction::ServerConfiguration c{.workers = workers, .servers = servers, .global_batch = 64};
      const double noise = 1 + kNoise * random.Uniform(-1.7320508, 1.7320508);  // uniform of that standard deviation
      observations.push_back({c, Seconds(truth.IterationTime(c).value() * noise)});
    }
  }
  return observations;
}

Status RunGenerated(const experiment::RunContext& context, size_t num_trials, experiment::Outcome* outcome) {
  FitErrors mean;
  for (size_t i = 0; i < kNumGeneratedModels; ++i) {
    FL_ASSIGN_OR_RETURN(const FitErrors errors,
                        MeasureFits(GenerateObservations(CombineHash(context.seed, i)), num_trials, context.seed));
    mean.full_mean += errors.full_mean / kNumGeneratedModels;
    mean.full_median += errors.full_median / kNumGeneratedModels;
    mean.few_mean += errors.few_mean / kNumGeneratedModels;
  }
  outcome->Set("generated: all rows, mean error", mean.full_mean);
  outcome->Set("generated: all rows, median error", mean.full_median);
  outcome->Set("generated: ten rows, mean error", mean.few_mean);
  return OkStatus();
}

void SetPublic(std::string_view model, const FitErrors& errors, experiment::Outcome* outcome) {
  outcome->Set(fmt::format("{}: all rows, mean error", model), errors.full_mean);
  outcome->Set(fmt::format("{}: all rows, median error", model), errors.full_median);
  outcome->Set(fmt::format("{}: ten rows, mean error", model), errors.few_mean);
}

Status RunPublic(const experiment::RunContext& context, size_t num_trials, experiment::Outcome* outcome) {
  const auto table = prediction::LoadSpeedTable(PublicDataPath("ps-worker-speeds/ps_worker_speeds.csv"));
  if (!table.ok()) {
    const double nan = std::nan("");
    for (const std::string_view model : kPublicModels) SetPublic(model, {nan, nan, nan}, outcome);
    outcome->notes.push_back("Rows of measured models are empty: " + table.status().message() +
                             " (set FAIRLEAD_PUBLIC_DATA to the folder that holds ps-worker-speeds)");
    return OkStatus();
  }
  report::BarFigure figure;
  figure.title = "Mean relative error of the predicted speed";
  figure.description = "Two bars for each measured model: fitted on all rows, and on ten of them.";
  figure.y_label = "%";
  figure.y_domain = {0, 20};
  figure.series = {"all rows", "ten rows"};
  for (const std::string_view model : kPublicModels) {
    const auto observations = table->find(std::string(model));
    if (observations == table->end()) return InvalidArgument(fmt::format("the public table has no model {}", model));
    FL_ASSIGN_OR_RETURN(const FitErrors errors, MeasureFits(observations->second, num_trials, context.seed));
    SetPublic(model, errors, outcome);
    figure.groups.push_back({std::string(model), {errors.full_mean, errors.few_mean}, {}});
  }
  outcome->figures.push_back({figure.title, Draw(figure), "Measured by the authors of DL2 on their testbed."});
  return OkStatus();
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  const size_t num_trials = context.reduced ? kNumReducedTrials : kNumTrials;
  FL_RETURN_IF_ERROR(RunGenerated(context, num_trials, &outcome));
  context.Report(0.5);
  FL_RETURN_IF_ERROR(RunPublic(context, num_trials, &outcome));
  outcome.notes.push_back(fmt::format("Ten rows: median over {} random draws.", num_trials));
  return outcome;
}

}  // namespace fairlead::experiments::aiturbo_speed_model

#include "experiments/lab_experiment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/file_writer.h"
#include "base/statistics.h"
#include "experiments/embedded_texts.h"
#include "lab/free_page.h"

namespace fairlead::experiments {

Result<LabScenario> LabScenario::Write(std::string_view name) {
  std::string folder = (std::filesystem::temp_directory_path() / "fairlead-lab-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return Unavailable(fmt::format("{}: can't be made", folder));
  LabScenario made;
  made.folder_ = folder;
  for (const EmbeddedText& text : EmbeddedTexts()) {
    // Files that scenarios refer to are beside them, as in the source tree.
    if (text.path != name && !text.path.starts_with("workloads/")) continue;
    const std::filesystem::path path = std::filesystem::path(folder) / text.path;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    FL_RETURN_IF_ERROR(WriteFileAtomically(path.string(), text.text));
    if (text.path == name) made.file_ = path.string();
  }
  FL_CHECK_MSG(!made.file_.empty(), "the scenario is not embedded");
  FL_ASSIGN_OR_RETURN(made.scenario_, sim::LoadScenario(made.file_, {}));
  return made;
}

LabScenario::LabScenario(LabScenario&& other) noexcept
    : folder_(std::exchange(other.folder_, "")), file_(std::move(other.file_)), scenario_(std::move(other.scenario_)) {}

LabScenario::~LabScenario() {
  std::error_code error;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
}

lab::LabSessionOptions LabOptionsOf(const experiment::RunContext& context) {
  lab::LabSessionOptions options;
  options.name = fmt::format("experiment-{}", getpid());
  options.lab.scale = 1e-4;
  options.lab.hash_seed = context.seed;
  return options;
}

Result<lab::SteeredLabOptions> SteeredLabOptionsOf(const experiment::RunContext& context, bool acts) {
  lab::SteeredLabOptions options;
  options.session = LabOptionsOf(context);
  options.acts = acts;
  FL_ASSIGN_OR_RETURN(options.session.page, lab::FindFreePage());
  return options;
}

Result<lab::LabComparison> Compare(const LabScenario& lab_scenario, const ComparisonSize& size,
                                   const experiment::RunContext& context) {
  lab::LabComparisonOptions options;
  options.session = LabOptionsOf(context);
  options.num_seeds = context.reduced ? 1 : size.num_seeds;
  options.seconds = context.reduced ? size.reduced_seconds : size.seconds;
  options.warm_up_s = size.warm_up_s;
  // Each lab comes up and runs twice; then the simulator.
  const double num_parts = 3.0 * options.num_seeds + 1;
  double part = 0;
  return lab::CompareInLab(
      lab_scenario.file(), lab_scenario.scenario(), options,
      [&](const std::string&) { context.Report(part++ / num_parts); }, *context.stop);
}

std::string DescribeRuns(const lab::LabComparison& comparison) {
  return fmt::format(
      "{} labs whose switches hash differently, {:.0f} s each way; real processes and kernel ECMP at {:g} of the "
      "speeds.",
      comparison.runs.size(), comparison.runs.front().steered.measured_s, comparison.scale);
}

void IterationDifferences::Add(double lab_s, double simulated_s) {
  if (lab_s > 0) percent_.push_back(100 * std::abs(lab_s / simulated_s - 1));
}

double IterationDifferences::Median() const { return percent_.empty() ? std::nan("") : fairlead::Median(percent_); }

double MedianDifference(const lab::LabComparison& comparison) {
  IterationDifferences differences;
  for (const lab::HashedAndSteered& run : comparison.runs) {
    for (size_t j = 0; j < run.steered.jobs.size(); ++j) {
      differences.Add(lab::MeanIterationOf(run.steered.jobs[j]), comparison.simulated_steered.jobs[j].mean_s);
    }
  }
  return differences.Median();
}

Result<experiment::Outcome> WithoutLab(const Status& status) {
  experiment::Outcome outcome;
  if (status.code() == StatusCode::kCancelled) {
    outcome.is_partial = true;
    return outcome;
  }
  if (status.code() != StatusCode::kFailedPrecondition) return status;
  outcome.is_partial = true;
  outcome.notes.push_back(fmt::format("Not run: {}", status.message()));
  return outcome;
}

}  // namespace fairlead::experiments

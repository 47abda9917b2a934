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

namespace fairlead::experiments {

Result<LabScenario> LabScenario::Write(std::string_view name) {
  std::string folder = (std::filesystem::temp_directory_path() / "fairlead-lab-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return Unavailable(fmt::format("{}: can't be made", folder));
  LabScenario made;
  made.folder_ = folder;
  for (const EmbeddedText& text : EmbeddedTexts()) {
    // What scenarios refer to stands beside them, as in the source tree.
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

double MedianDifference(const lab::LabComparison& comparison) {
  std::vector<double> differences;
  for (const lab::HashedAndSteered& run : comparison.runs) {
    for (size_t j = 0; j < run.steered.jobs.size(); ++j) {
      const auto& times = run.steered.jobs[j].iteration_s;
      if (times.empty()) continue;
      differences.push_back(100 * std::abs(Mean(times) / comparison.simulated_steered.jobs[j].mean_s - 1));
    }
  }
  return differences.empty() ? std::nan("") : MedianInPlace(differences);
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

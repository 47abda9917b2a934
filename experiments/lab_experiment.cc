#include "experiments/lab_experiment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/file_writer.h"
#include "experiments/embedded_texts.h"

namespace fairlead::experiments {

Result<LabScenario> LabScenario::Write(std::string_view name) {
  std::string folder = (std::filesystem::temp_directory_path() / "fairlead-lab-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return Unavailable(fmt::format("{}: can't be made", folder));
  LabScenario made;
  made.file_ = folder + "/scenario.yaml";
  const std::string_view text = FindEmbeddedText(name);
  FL_RETURN_IF_ERROR(WriteFileAtomically(made.file_, std::string(text)));
  FL_ASSIGN_OR_RETURN(made.scenario_, sim::ParseScenario(text, std::string(name), {}));
  return made;
}

LabScenario::LabScenario(LabScenario&& other) noexcept
    : file_(std::exchange(other.file_, "")), scenario_(std::move(other.scenario_)) {}

LabScenario::~LabScenario() {
  std::error_code error;
  if (!file_.empty()) std::filesystem::remove_all(std::filesystem::path(file_).parent_path(), error);
}

lab::LabSessionOptions LabOptionsOf(const experiment::RunContext& context) {
  lab::LabSessionOptions options;
  options.name = fmt::format("experiment-{}", getpid());
  options.lab.scale = 1e-4;
  options.lab.hash_seed = context.seed;
  return options;
}

Result<experiment::Outcome> WithoutLab(const Status& status) {
  experiment::Outcome outcome;
  if (status.code() == StatusCode::kCancelled) {
    outcome.is_partial = true;
    return outcome;
  }
  if (status.code() != StatusCode::kFailedPrecondition) return status;
  outcome.notes.push_back(fmt::format("Not run: {}", status.message()));
  return outcome;
}

}  // namespace fairlead::experiments

#include "lab/lab_session.h"

#include <fmt/format.h>

#include <filesystem>

#include "lab/lab.h"
#include "lab/lab_programs.h"
#include "lab/lab_services.h"

namespace fairlead::lab {

LabSession::LabSession(LabFolder folder, LabState state, const std::atomic<bool>& stop)
    : folder_(std::make_unique<LabFolder>(std::move(folder))), state_(std::move(state)), stop_(&stop) {}

LabSession::~LabSession() {
  if (folder_ == nullptr) return;
  bool was_up = false;
  static_cast<void>(TakeDown(*folder_, &was_up).ok());
}

Result<LabSession> LabSession::Start(const std::string& file, const sim::Scenario& scenario,
                                     const LabSessionOptions& options, const std::atomic<bool>& stop) {
  FL_ASSIGN_OR_RETURN(const LabPlan plan, PlanLab(scenario.fabric, options.lab));
  FL_ASSIGN_OR_RETURN(LabFolder folder, LabFolder::Open(options.run_folder, options.name));
  FL_ASSIGN_OR_RETURN(LabState state, BringUp(folder, std::filesystem::absolute(file).string(), plan, stop));
  LabSession session(std::move(folder), std::move(state), stop);
  if (options.has_services) {
    FL_RETURN_IF_ERROR(StartServices(session.state_, scenario.fabric, session.folder_->path(),
                                     {.http = options.page, .controller_arguments = options.controller_arguments},
                                     stop));
  }
  return session;
}

Result<LabRunResult> LabSession::Run(const std::vector<LabJob>& jobs, bool steers, double warm_up_s, double seconds,
                                     std::vector<LabDeed> deeds) {
  LabRunOptions options;
  options.seconds = seconds;
  options.warm_up_s = warm_up_s;
  options.jobs_folder = folder_->JobsFolder();
  options.programs.lab_folder = folder_->path();
  options.deeds = std::move(deeds);
  FL_ASSIGN_OR_RETURN(options.programs.trainer, FindProgram("fairlead-trainer"));
  if (steers) {
    FL_ASSIGN_OR_RETURN(options.programs.steering_library, FindSteeringLibrary());
  }
  return RunJobs(state_, jobs, options, *stop_);
}

Status LabSession::SetHealth(const std::string& cable, double health) {
  const CableId id = FindCable(state_.plan, cable);
  if (!id.valid()) return InvalidArgument(fmt::format("the lab has no cable '{}'", cable));
  return SetHealth(id, health);
}

Status LabSession::SetHealth(CableId cable, double health) { return SetCableHealth(*folder_, &state_, cable, health); }

}  // namespace fairlead::lab

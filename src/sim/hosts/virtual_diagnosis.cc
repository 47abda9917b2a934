#include "sim/hosts/virtual_diagnosis.h"

#include <utility>

#include "base/check.h"

namespace fairlead::sim::hosts {

using controller::AuditEntry;
using controller::KeptSteering;
using controller::SteeringAction;

namespace {

std::vector<std::string> HostNamesOf(const topology::Fabric& fabric) {
  std::vector<std::string> names;
  for (uint32_t h = 0; h < fabric.num_hosts(); ++h) names.emplace_back(fabric.HostName(HostId(h)));
  return names;
}

}  // namespace

VirtualDiagnosis::VirtualDiagnosis(SimTime now, const VirtualDiagnosisOptions& options, const Records& records,
                                   Surroundings surroundings)
    : surroundings_(std::move(surroundings)),
      watch_(*surroundings_.fabric, options.make_diagnosis, options.watch),
      steering_(
          now, options.steering, HostNamesOf(*surroundings_.fabric),
          KeptSteering::Surroundings{.take_outcomes = [this](SimTime at) { return surroundings_.take_outcomes(at); },
                                     .entry = [this](const AuditEntry& entry) { batch_.entries.push_back(entry); },
                                     .job_name = [this](JobId job) { return watch_.JobName(job); }}),
      kept_(records) {
  if (surroundings_.sabotage == Sabotage::kLostSteering) kept_.clear();
  auto start = steering_.Restore(now, kept_);
  FL_CHECK_MSG(start.ok(), start.status().message());
  batch_.begun = std::move(start->begun);
  batch_.is_made = true;
  for (const auto& [job, name] : steering_.job_names()) watch_.Restore(name, job);
  if (steering_.last_finding().valid()) watch_.Restore(steering_.last_finding());
}

void VirtualDiagnosis::Tick(SimTime now) {
  for (const controller::WatchInput& input : std::exchange(inbox_, {})) watch_.Take(now, input);
  for (controller::SteeringEvent& event : watch_.Tick(now)) steering_.Take(std::move(event));
  for (const auto& [host, judged] : watch_.TakeJudged()) surroundings_.judge(host, judged);
  for (const controller::SlowEndQuestion& question : watch_.TakeQuestions()) surroundings_.ask(question);
  if (!batch_.is_made || CarryOut(now)) {
    MakeBatch(now);
    if (batch_.is_made) CarryOut(now);
  }
  for (const auto& [job, until] : steering_.ExcusesToRenew(now)) watch_.Excuse(job, until);
}

void VirtualDiagnosis::MakeBatch(SimTime now) {
  batch_ = {};
  KeptSteering::Batch made = steering_.MakeBatch(now);
  batch_.is_made = made.is_made;
  batch_.begun = std::move(made.begun);
}

bool VirtualDiagnosis::CarryOut(SimTime now) {
  if (surroundings_.sabotage == Sabotage::kUnkeptActions) {
    for (const SteeringAction& action : std::exchange(batch_.begun, {})) surroundings_.begin(action, steering_.names());
  }
  if (!batch_.is_kept) {
    Records records = steering_.ToRecords();
    if (records != kept_ && !surroundings_.keep(records)) return false;
    kept_ = std::move(records);
    batch_.is_kept = true;
    surroundings_.outcomes_kept();
  }
  for (const AuditEntry& entry : batch_.entries) {
    surroundings_.note(entry);
    const auto* action = std::get_if<SteeringAction>(&entry.what);
    const auto* excuse = action == nullptr ? nullptr : std::get_if<controller::ExcuseJob>(&action->step);
    if (excuse == nullptr) continue;
    watch_.Excuse(excuse->job, excuse->until);
    steering_.NoteExcused(excuse->job);
  }
  for (const SteeringAction& action : batch_.begun) {
    steering_.NoteBegun(now, action);
    surroundings_.begin(action, steering_.names());
  }
  batch_ = {};
  return true;
}

}  // namespace fairlead::sim::hosts

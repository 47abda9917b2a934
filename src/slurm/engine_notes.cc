#include "slurm/engine_notes.h"

#include <chrono>
#include <optional>
#include <utility>

#include "slurm/operations.h"

namespace fairlead::slurm {

SimTime UnixTime() {
  return SimTime(std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
}

void EngineNotes::Tell(controller::Noted::Severity severity, std::string subject, std::string text) const {
  if (note_) note_(UnixTime(), {severity, std::move(subject), std::move(text)});
}

void EngineNotes::TellOnce(const std::string& subject, const Status& status, const std::string& over) {
  using Severity = controller::Noted::Severity;
  if (status.ok()) {
    if (faults_.erase(subject) > 0) Tell(Severity::kInfo, subject, over);
  } else if (faults_.insert(subject).second) {
    Tell(Severity::kWarning, subject, status.message());
  }
}

void EngineNotes::ForgetOtherJobs(const std::vector<Job>& jobs) {
  std::erase_if(faults_, [&jobs](const std::string& subject) {
    const std::optional<uint32_t> job = JobOfSubject(subject);
    return job.has_value() && FindJob(jobs, *job) == nullptr;
  });
}

}  // namespace fairlead::slurm

#include "slurm/held_jobs.h"

#include <string>

#include "slurm/cluster_reader.h"
#include "slurm/job_wish.h"
#include "slurm/operations.h"

namespace fairlead::slurm {

namespace {

bool HasHeldMark(const Job& job) {
  const auto mark = ReadElasticMark(job.admin_comment);
  return mark.has_value() && mark->is_held;
}

Status LetHeldJobGo(const Job& job, Programs* programs) {
  for (const Command& command : PlanLetGo(job)) FL_RETURN_IF_ERROR(programs->Run(command).status());
  return OkStatus();
}

}  // namespace

void ReleaseHeldJobs(const std::vector<Job>& jobs, const std::function<bool(const Job&)>& is_kept, Programs* programs,
                     EngineNotes* notes) {
  ProgramReader reader(programs);
  for (const Job& job : jobs) {
    if (!HasHeldMark(job) || is_kept(job)) continue;
    const Result<Job> now = reader.ReadJobLine(job.id);
    if (now.ok() ? !HasHeldMark(*now) : now.status().code() == StatusCode::kNotFound) continue;
    const Status status = now.ok() ? LetHeldJobGo(*now, programs) : now.status();
    const std::string subject = "job " + std::to_string(job.id);
    notes->TellOnce(subject, status);
    if (status.ok() && now->is_held) {
      notes->Tell(controller::Noted::Severity::kInfo, subject, "is released, at the size that it asks for");
    }
  }
}

}  // namespace fairlead::slurm

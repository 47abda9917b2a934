#include "slurm/held_jobs.h"

#include <string>

#include "slurm/job_wish.h"

namespace fairlead::slurm {

void ReleaseHeldJobs(const std::vector<Job>& jobs, const std::function<bool(const Job&)>& is_sized, Programs* programs,
                     EngineNotes* notes) {
  for (const Job& job : jobs) {
    const auto mark = ReadElasticMark(job.admin_comment);
    if (!job.is_held || !mark.has_value() || !mark->is_held || is_sized(job)) continue;
    const std::string id = std::to_string(job.id);
    Result<std::string> answer = programs->Run({"scontrol", "release", id});
    // Then without the word: should its user hold it now, it is his.
    if (answer.ok()) {
      answer = programs->Run({"scontrol", "update", "JobId=" + id, "AdminComment=" + MarkReleased(job.admin_comment)});
    }
    notes->TellOnce("job " + id, answer.ok() ? OkStatus() : answer.status());
    if (answer.ok()) {
      notes->Tell(controller::Noted::Severity::kInfo, "job " + id, "is released, at the size that it asks for");
    }
  }
}

}  // namespace fairlead::slurm

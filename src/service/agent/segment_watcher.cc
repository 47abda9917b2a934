#include "service/agent/segment_watcher.h"

#include "agent/host_agent_messages.h"

namespace fairlead::service {

SegmentWatcher::SegmentWatcher(SegmentWatcherOptions options, OnceLog* once, EventInbox* inbox)
    : options_(std::move(options)), once_(*once), inbox_(*inbox) {
  if (!options_.folder.empty()) segments_.emplace(SegmentFolderOptions{.folder = options_.folder});
}

// Another one waits until the previous look is reported: the next one contains what a process did meanwhile.
void SegmentWatcher::Look(SimTime now) {
  if (!segments_.has_value() || now < next_ || thread_.num_waiting() > 0) return;
  next_ = now + options_.period;
  thread_.Do([this] {
    FolderLook look = segments_->Look();
    if (!look.listing.ok()) once_.Tell("no new process is watched: " + look.listing.message());
    for (const SegmentFault& fault : look.faults) once_.Tell(fault.path + " is not watched: " + fault.reason);
    agent::SegmentsSeen seen{look.at, std::move(look.processes)};
    seen.slurm_jobs = slurm_jobs_.Look(look.at);
    if (options_.read_symptoms) seen.symptoms = options_.read_symptoms();
    inbox_.Push(std::move(seen));
  });
}

SimTime SegmentWatcher::NextDue() const {
  return segments_.has_value() && thread_.num_waiting() == 0 ? next_ : SimTime::Never();
}

}  // namespace fairlead::service

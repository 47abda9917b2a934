#include "sim/live_jobs.h"

#include <algorithm>

namespace fairlead::sim {

LiveCounters CountersOf(const JobState& job) {
  LiveCounters counters{
      .job = job.id, .flop = job.FlopIn(job.ComputeSeconds()), .busy = Seconds(job.ComputeSeconds()), .flow_bytes = {}};
  counters.flow_bytes.resize(job.iteration->flows.size());
  for (size_t t = 0; t < job.transfers.size(); ++t) {
    const Bytes sent(job.SentBytes(t));
    for (const uint32_t flow : job.transfers[t].flows) counters.flow_bytes[flow] = sent;
  }
  return counters;
}

SimTime LiveJobs::NextChange(SimTime limit) {
  if (live_ == nullptr) return limit;
  live_->AdvanceTo(limit);
  return std::min(limit, live_->changed_at());
}

void LiveJobs::SetLink(LinkId link, bool is_up) {
  if (live_ != nullptr) live_->SetLink(link, is_up);
}

void LiveJobs::Start(const JobRecord& record) {
  jobs_.insert(record.job.id);
  live_->Start({.job = record.job,
                .placement = record.placement,
                .iteration = *record.iteration,
                .first_paths = record.state->paths});
}

void LiveJobs::End(JobId job) {
  if (jobs_.erase(job) > 0) live_->End(job);
}

void LiveJobs::Sample(SimTime now, std::span<const JobState* const> running) {
  std::vector<LiveCounters> counters;
  for (const JobState* job : running) {
    if (jobs_.contains(job->id)) counters.push_back(CountersOf(*job));
  }
  live_->Sample(now, counters);
}

std::optional<std::vector<LiveJobTraffic>> LiveJobs::TakeChanges(SimTime now) {
  if (live_ == nullptr || live_->changed_at() > now) return std::nullopt;
  return live_->TakeChanges();
}

}  // namespace fairlead::sim

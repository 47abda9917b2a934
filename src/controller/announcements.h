// Which hosts are asked what they hold, and what each has named since.
//
// Problem     a host's agent may have lost its state: heartbeats of the new one would keep for ever what only the old
//             one knew. An agent that was asked twice may answer the first question while the second is on its way.
// Method      each question starts the list of named jobs anew; AnnouncementFinished ends it. What the host held and
//             has not named ends there.
#pragma once

#include <optional>
#include <set>
#include <utility>

#include "base/ids.h"
#include "controller/agent_streams.h"

namespace fairlead::controller {

class Announcements {
 public:
  // `streams` must outlive this.
  Announcements(size_t num_hosts, AgentStreams* streams) : streams_(streams), named_(num_hosts) {}

  void AskFor(HostId host) {
    named_[host].emplace();
    streams_->SendTo(host, AnnouncementWanted{});
  }
  // The host has spoken of this job as its own.
  void Name(HostId host, JobId job) {
    if (named_[host]) named_[host]->insert(job);
  }
  // Returns what it has named since it was asked; nothing: it was not asked.
  std::optional<std::set<JobId>> Finish(HostId host) { return std::exchange(named_[host], std::nullopt); }

 private:
  AgentStreams* streams_;
  IdVector<HostId, std::optional<std::set<JobId>>> named_;  // since the last question; nothing: it was answered
};

}  // namespace fairlead::controller

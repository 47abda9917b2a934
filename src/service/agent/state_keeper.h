// The files that an agent keeps: its state, and what is found about its host. Written on a thread of its own, which may
// take a fifth of a processor for the state.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "agent/host_agent.h"
#include "base/sim_time.h"
#include "service/agent/once_log.h"
#include "service/agent/worker_thread.h"
#include "service/health_file.h"

namespace fairlead::service {

class StateKeeper {
 public:
  // Args: paths: empty: that file is not kept. The pointers outlive it.
  StateKeeper(std::string state_path, std::string health_path, OnceLog* once, EventInbox* inbox)
      : state_path_(std::move(state_path)), health_path_(std::move(health_path)), once_(*once), inbox_(*inbox) {}

  // Where the state has changed: writes it, and tells the inbox (StateKept), whether that could be done or not.
  void Save(SimTime now, const agent::HostAgent& agent);
  // The same with what is found about the host, where it is due.
  void SaveHealth(SimTime now, HealthKeeper* health);
  // When Save() wants to be called; Never(): nothing has changed, or its work wakes the loop.
  SimTime NextDue(const agent::HostAgent& agent) const;
  // Returns when the files have what the agent has.
  void Finish(const agent::HostAgent& agent);

 private:
  bool IsSaved(const agent::HostAgent& agent) const {
    return state_path_.empty() || agent.revision() == saved_revision_;
  }

  const std::string state_path_;
  const std::string health_path_;
  OnceLog& once_;
  EventInbox& inbox_;
  SimTime next_;
  uint64_t saved_revision_ = 0;
  std::atomic<int64_t> took_ns_ = 0;  // of a processor
  WorkerThread thread_;               // last: it ends before what it uses
};

}  // namespace fairlead::service

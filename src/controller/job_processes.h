// The processes of one job, as agents see them: which are alive, have all ended, and have those that are alive come
// after all others had gone, which makes them a new run?
//
// Method      a process is one number and one start on one host. One that a look of its host leaves out has ended, too.
//             Hosts look once a second, at different instants, so processes of two runs may seem to be alive together
//             for `overlap`; but those that begin within that time of each other are of one run. A run creates new
//             communicators: processes that share one are of one run, whenever they were seen first. Runs may be alive
//             together for longer, when nothing waits for the old processes: those that have communicators, and none
//             that one of the others ever had, are a new run whenever the others have ended. A process that was never
//             seen alive says nothing about runs: its end was reported again, to a controller that has started since.
// Cost        O(log processes) for each process in a look, O(processes) for each question; IsNewRun O(1), but for a
//             while after a process has begun, has ended, or has a new communicator.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/host_messages.h"

namespace fairlead::controller {

struct ProcessKey {
  HostId host;
  int32_t pid = 0;
  uint64_t start = 0;

  friend auto operator<=>(const ProcessKey&, const ProcessKey&) = default;
};

// Of a run that is over.
struct FormerProcess {
  ProcessKey key;
  bool has_ended = false;  // else its host is silent
};

struct RunOptions {
  // >= 0. Longer: a restart at once is still one; shorter: the replacement of a single rank is less likely mistaken for
  // one.
  SimDuration overlap = SimDuration(3'000'000'000);
  // > 0. The processes of a host that was silent for that long count as gone when a new run begins elsewhere.
  SimDuration host_silent_for = SimDuration(10'000'000'000);
};

class JobProcesses {
 public:
  // Args: now does not run backwards; all that the host sees of the job.
  void Note(SimTime now, HostId host, const std::vector<telemetry::SeenProcess>& seen);

  // Nobody listened until now: that a host was not heard before says nothing.
  void NoteOwnSilence(SimTime until) { listening_since_ = until; }

  // Whether all processes that are alive belong to a later run than the others, of which there are some.
  bool IsNewRun(SimTime now, const RunOptions& options) const;
  // Forgets the others. Returns them.
  std::vector<FormerProcess> DropOthers(SimTime now, const RunOptions& options);

  // Whether one that has not ended has a communicator of these.
  bool HasMet(const std::vector<telemetry::ProcessCommunicator>& communicators) const;

  // When the last one ended; nothing: at least one is not known to have ended.
  std::optional<SimTime> AllEndedAt() const;
  // Whether one of them ended other than voluntarily.
  bool HasFailed() const;
  size_t NumAlive() const;
  // Those alive that may wait for one that has ended, or whose host is silent: not those started later that have none
  // of its communicators. Where none is known to have ended, all that are alive.
  size_t NumLeftBehind(SimTime now, const RunOptions& options) const;
  std::vector<FormerProcess> All() const;

 private:
  struct Process {
    SimTime first_seen;
    bool was_alive = false;           // when it was seen
    std::optional<SimTime> ended_at;  // seen to be gone, or left out
    bool has_failed = false;
    std::set<uint64_t> communicators;  // ids, ever
  };

  bool IsHeard(SimTime now, HostId host, const RunOptions& options) const {
    return now - std::max(heard_.at(host), listening_since_) < options.host_silent_for;
  }

  // Not seen to have ended, on a host that is heard of.
  bool MayLive(SimTime now, HostId host, const Process& process, const RunOptions& options) const {
    return !process.ended_at.has_value() && IsHeard(now, host, options);
  }
  // Whether one that may live and one of the others, both once seen alive, ever had the same communicator.
  bool ShareCommunicator(SimTime now, const RunOptions& options) const;
  // Ever had by one that has ended.
  std::set<uint64_t> CommunicatorsOfEnded() const;
  // No process alive has a communicator of those that have ended; and all have some.
  bool AreLivingApart() const;

  std::map<ProcessKey, Process> processes_;
  std::map<HostId, SimTime> heard_;
  SimTime listening_since_;
  SimTime changed_;  // when the last process was first seen, had ended, or had another communicator
};

}  // namespace fairlead::controller

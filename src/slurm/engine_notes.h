// What the engine tells people, in the controller's list of events: what has happened, and of a fault that it has begun
// and that it is over, however often it is met meanwhile.
//
// Thread      that of the engine; Tell() any.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "controller/traffic_controller.h"
#include "slurm/cluster_state.h"

namespace fairlead::slurm {

// By a clock that can be set, as the other events of the list have it.
SimTime UnixTime();

class EngineNotes {
 public:
  using Note = std::function<void(SimTime, const controller::Noted&)>;

  // Args: note: may be empty: nobody is told.
  explicit EngineNotes(Note note) : note_(std::move(note)) {}

  void Tell(controller::Noted::Severity severity, std::string subject, std::string text) const;
  // Args: status: how it is about the subject now. One event when that is no longer ok, one when it is again, which says
  // `over`.
  void TellOnce(const std::string& subject, const Status& status, const std::string& over = "goes on");
  // Faults of jobs ("job 7 …") that are not among these are over, without a word.
  void ForgetOtherJobs(const std::vector<Job>& jobs);

 private:
  const Note note_;
  std::set<std::string> faults_;  // subjects that something is known to be wrong with
};

}  // namespace fairlead::slurm

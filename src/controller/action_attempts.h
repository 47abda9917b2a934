// Attempts at actions: those sent and not yet answered, and when it is tried again or given up.
//
//     sent --- done ------------------------------> forgotten
//       |  \-- failed, or no answer in time --> pause, twice as long each time --> sent again
//       |                                                                    \---> given up after the last attempt
//
// Guarantees  an action is sent once per attempt, at most `attempts` times. Answers that come twice, or late, change
//             nothing; a success is believed whenever it comes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "controller/steering_events.h"

namespace fairlead::controller {

struct AttemptOptions {
  // Attempts at an action, >= 1. More: schedulers that are away for long are waited for; fewer: people are asked sooner.
  uint32_t attempts = 4;
  // An attempt without an answer has failed then, > 0. It should be longer than the deadline of what carries it out.
  SimDuration deadline = SimDuration(120'000'000'000);
  // The same for restarts of jobs, with their initialization, and for tests of hosts, > 0.
  SimDuration restart_deadline = SimDuration(900'000'000'000);
  SimDuration test_deadline = SimDuration(1'800'000'000'000);
  // Pause before the second attempt, >= 0, twice as long before each further one, and at most `pause_max`. Longer: a
  // scheduler that fails under load is spared.
  SimDuration pause = SimDuration(5'000'000'000);
  SimDuration pause_max = SimDuration(300'000'000'000);

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

class ActionAttempts {
 public:
  explicit ActionAttempts(const AttemptOptions& options) : options_(options) {}

  // An action that has just been sent for the first time.
  void Add(SimTime now, const SteeringAction& action);
  void Forget(uint64_t number) { open_.erase(number); }

  // Takes an answer. Returns the action that it ends; nothing: it is unknown, late, or there will be another attempt.
  struct End {
    SteeringAction action;
    bool succeeded = false;
    std::string message;  // of the last failure: "given up after 4 attempts: .."
  };
  std::optional<End> Answer(SimTime now, const StepDone& answer);

  // Ends attempts that have had no answer in time. Returns actions given up by this; those due to be sent again go to
  // `again`.
  std::vector<End> Advance(SimTime now, std::vector<SteeringAction>* again);
  // When Advance has something to do; Never(): nothing is open.
  SimTime NextDue() const;

  // For callers that save open actions across a restart.
  struct Open {
    SteeringAction action;
    bool is_sent = true;  // false: it pauses
    SimTime due;          // end of the attempt, or of the pause
  };
  const std::map<uint64_t, Open>& open() const { return open_; }
  void Restore(Open open) { open_.insert_or_assign(open.action.number, std::move(open)); }
  // Attempts that wait for an answer wait from now on; no pause is longer than from now on. Returns their actions, by
  // number.
  std::vector<SteeringAction> BeginAnew(SimTime now);
  // The attempt, which may have had to wait for the store, has been begun: its time starts now.
  void NoteBegun(SimTime now, const SteeringAction& action);

  size_t num_open() const { return open_.size(); }
  // Nothing if it is not open.
  const SteeringAction* Find(uint64_t number) const;

 private:
  SimDuration PauseAfter(uint32_t attempt) const;
  SimDuration DeadlineOf(const SteeringAction& action) const;
  std::optional<End> Fail(SimTime now, uint64_t number, bool is_final, const std::string& message);

  AttemptOptions options_;
  std::map<uint64_t, Open> open_;  // [action number]
};

}  // namespace fairlead::controller

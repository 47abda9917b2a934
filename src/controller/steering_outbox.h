// What steering tells others, in order: each action gets its number here, and those that are answered are waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/action_attempts.h"
#include "controller/steering_events.h"
#include "model/finding.h"

namespace fairlead::controller {

class SteeringOutbox {
 public:
  explicit SteeringOutbox(const AttemptOptions& options) : attempts_(options) {}

  // Args: finding: that it follows from; null: none. Returns the number of the action.
  uint64_t Tell(SimTime now, SteeringStep step, JobId job, const model::Finding* finding, std::string reason);
  // All since the last call, in order.
  std::vector<SteeringAction> Take() { return std::exchange(actions_, {}); }

  // What has become of an action; see ActionAttempts.
  std::optional<ActionAttempts::End> Answer(SimTime now, const StepDone& answer) {
    return attempts_.Answer(now, answer);
  }
  // Sends again what is due. Returns what is given up.
  std::vector<ActionAttempts::End> Advance(SimTime now) { return attempts_.Advance(now, &actions_); }
  void NoteBegun(SimTime now, const SteeringAction& action) { attempts_.NoteBegun(now, action); }
  // It is waited for no longer.
  void Forget(uint64_t number) { attempts_.Forget(number); }
  void ForgetAll();

  // Null: it is answered, or given up.
  const SteeringAction* Find(uint64_t number) const { return attempts_.Find(number); }
  // Whether the action is open, and that step.
  template <class Step>
  bool Awaits(uint64_t number) const {
    const SteeringAction* action = Find(number);
    return action != nullptr && std::holds_alternative<Step>(action->step);
  }
  // Sent and not answered, or to be tried again.
  const ActionAttempts& attempts() const { return attempts_; }

  // ---- What outlives the process ----

  uint64_t num_actions() const { return num_actions_; }
  // Args: open: in any order.
  void Restore(uint64_t num_actions, std::vector<ActionAttempts::Open> open);
  // What was sent and not answered has its time from now on. Returns it, by number.
  std::vector<SteeringAction> BeginAnew(SimTime now) { return attempts_.BeginAnew(now); }

 private:
  ActionAttempts attempts_;
  uint64_t num_actions_ = 0;
  std::vector<SteeringAction> actions_;
};

}  // namespace fairlead::controller

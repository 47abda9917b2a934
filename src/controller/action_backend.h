// Carries out actions: a dry run (none), the operator's program, a simulated cluster; later Slurm and Kubernetes.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "controller/steering_events.h"

namespace fairlead::controller {

class ActionBackend {
 public:
  virtual ~ActionBackend() = default;

  virtual std::string_view name() const = 0;

  // One attempt at an action; its outcome is returned by TakeOutcomes, now or later. The same action may come again,
  // with a higher attempt: what has been done already is a success. Args: actions for which IsAnswered.
  virtual void Begin(SimTime now, const SteeringAction& action) = 0;

  // What has come of attempts, and what else has happened, since the call before.
  virtual std::vector<SteeringEvent> TakeOutcomes(SimTime now) = 0;
};

// Touches nothing, and says that everything worked: shows what would be done. Hosts that it isolated stay so, since
// nothing tests them.
class DryRun final : public ActionBackend {
 public:
  std::string_view name() const override { return "log"; }
  void Begin(SimTime, const SteeringAction& action) override {
    outcomes_.emplace_back(StepDone{.action = action.number, .attempt = action.attempt, .message = "not carried out"});
  }
  std::vector<SteeringEvent> TakeOutcomes(SimTime) override { return std::exchange(outcomes_, {}); }

 private:
  std::vector<SteeringEvent> outcomes_;
};

}  // namespace fairlead::controller

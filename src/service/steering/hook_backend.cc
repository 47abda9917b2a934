#include "service/steering/hook_backend.h"

#include "service/steering/hook_message.h"

namespace fairlead::service {

void HookBackend::Begin(SimTime, const controller::SteeringAction& action) {
  HookOutcome outcome = JudgeHook(action, RunExecHook(options_, HookInput(action, NamesFrom(host_names_))));
  outcomes_.emplace_back(std::move(outcome.done));
  if (outcome.tested) outcomes_.emplace_back(*outcome.tested);
}

}  // namespace fairlead::service

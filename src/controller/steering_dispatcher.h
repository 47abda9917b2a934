// Joins steering, the backend for its actions, and the audit log.
//
//     events --> Steering --> actions --+--> ActionBackend --> outcomes, which are events again
//                                       +--> audit log <-----------+
#pragma once

#include <functional>
#include <span>
#include <variant>
#include <vector>

#include "base/sim_time.h"
#include "controller/action_backend.h"
#include "controller/steering.h"

namespace fairlead::controller {

// One line of the audit log: an action that was sent, or an event that came back from the backend.
struct AuditEntry {
  SimTime at;
  std::variant<SteeringAction, SteeringEvent> what;
};
using WriteAudit = std::function<void(const AuditEntry&)>;

class SteeringDispatcher {
 public:
  // Both must outlive the dispatcher. `audit` may be empty.
  SteeringDispatcher(Steering* steering, ActionBackend* backend, WriteAudit audit);

  // Handles events, and outcomes that have come, until nothing more comes at this instant. Returns the actions sent, in
  // order, including those that need no backend.
  std::vector<SteeringAction> Handle(SimTime now, std::span<const SteeringEvent> events);

 private:
  std::vector<SteeringEvent> TakeOutcomes(SimTime now);
  void HandleOnce(SimTime now, std::span<const SteeringEvent> events, std::vector<SteeringAction>* actions);

  Steering* steering_;
  ActionBackend* backend_;
  WriteAudit audit_;
};

}  // namespace fairlead::controller

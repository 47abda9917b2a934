// Joins steering, who carries its actions out, and the audit log.
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

// One line of the audit log: an action that was told, or an event that came back of who carries them out.
struct AuditEntry {
  SimTime at;
  std::variant<SteeringAction, SteeringEvent> what;
};
using WriteAudit = std::function<void(const AuditEntry&)>;

class SteeringDispatcher {
 public:
  // Both must outlive the dispatcher. `audit` may be empty.
  SteeringDispatcher(Steering* steering, ActionBackend* backend, WriteAudit audit);

  // Handles events, and outcomes that have come, until nothing more comes at this instant. Returns the actions told, in
  // order, those that nobody has to carry out included.
  std::vector<SteeringAction> Handle(SimTime now, std::span<const SteeringEvent> events);

 private:
  void HandleOnce(SimTime now, std::span<const SteeringEvent> events, std::vector<SteeringAction>* actions);

  Steering* steering_;
  ActionBackend* backend_;
  WriteAudit audit_;
};

}  // namespace fairlead::controller

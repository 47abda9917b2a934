// Actions of steering and what became of them as JSON: for hooks, the audit log, and reports.
#pragma once

#include "controller/steering_dispatcher.h"
#include "report/json_value.h"

namespace fairlead::service {

// {"action", "attempt", "step", "job", "host", "spare", "hosts", "until_s", "finding", "confidence", "reason",
//  "evidence", "description"}; what does not apply is null.
report::Json ToJson(const controller::SteeringAction& action);

// Adds what people call things, and says it with that: "job_name", "host_name", "spare_name", "host_names" beside the
// numbers; what does not apply, or has no name, is null. Args: json: of ToJson(action).
void AddNames(const controller::SteeringAction& action, const controller::SteeringNames& names, report::Json* json);

// One line of the audit log: {"at_s", "kind": "action"|"outcome", ..}. Outcomes: {"outcome", "action", "attempt",
// "succeeded", "message", "host", "healthy"}.
report::Json ToJson(const controller::AuditEntry& entry);

}  // namespace fairlead::service

// Actions of steering and what became of them as JSON: for hooks, the audit log, and reports.
#pragma once

#include "controller/steering_desk.h"
#include "report/json_report.h"

namespace fairlead::service {

// {"action", "attempt", "step", "job", "host", "spare", "hosts", "until_s", "finding", "confidence", "reason",
//  "evidence", "says"}; what does not apply is null.
report::Json ToJson(const controller::SteeringAction& action);

// One line of the audit log: {"at_s", "kind": "action"|"outcome", ..}. Outcomes: {"outcome", "action", "attempt",
// "succeeded", "message", "host", "healthy"}.
report::Json ToJson(const controller::AuditEntry& entry);

}  // namespace fairlead::service

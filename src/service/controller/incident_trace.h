// One incident as a trace of OpenTelemetry: what was suspected when, what was done about it, how long each step took,
// and when the job ran again.
//
//     incident              first suspected, until it is over
//       suspect             until it was confirmed
//       isolate host, …     each action of steering, from its first attempt to what became of the last
//       run again           from the end of the restart until the job ran
//       first iteration     the first block of iterations after it
//
// Format      OTLP/JSON: one ExportTraceServiceRequest, as collectors take it at /v1/traces (OpenTelemetry Protocol
//             1.x: ids in hexadecimal, 64-bit numbers as text, enums as numbers, keys in lowerCamelCase).
// Guarantees  same incident, same ids: a trace that is sent twice is one trace.
// Limits      actions are those that the controller still shows (the last 200 lines of its log); a step that has not
//             ended has the length that is known.
#pragma once

#include <string>

#include "report/json_value.h"
#include "wire/finding_detail.h"

namespace fairlead::service {

// Args: log: of /v1/steering, lines of the audit log, oldest first; may be empty. now_s: since 1970; what holds ends
// then.
report::Json IncidentTrace(const wire::FindingDetail& detail, const report::Json& log, double now_s);
// Of its trace: 32 digits. It follows from the job, the finding's number, and when it was confirmed.
std::string IncidentTraceId(const wire::FindingDetail& detail);

}  // namespace fairlead::service

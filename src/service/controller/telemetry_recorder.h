// Keeps what the diagnosis of running jobs is given, so that its findings can be looked at again, and elsewhere:
//
//     fairlead controller … --record /var/lib/fairlead/telemetry
//     fairlead diag analyze /var/lib/fairlead/telemetry/telemetry-gpt@1001-20261126T013000Z-0.jsonl
//
// Method      the diagnosis of each job is wrapped: records are written (telemetry/telemetry_dump.h), then handed on.
//             A file is of one layout and can be read by itself; a new one begins with each layout, and after an
//             eighth of the space, which repeats the layout. Where the space is full, the oldest files go.
// Guarantees  findings are those without a recorder, whatever becomes of the disk. Files end with a whole record,
//             unless the machine fails. Only their owner can read them: they name hosts and say what jobs do.
// Cost        of the thread that calls: a write for each job and tick, about 300 bytes for each operation that a rank
//             has begun or ended, and 400 for each connection that it has used.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "diagnosis/job_diagnosis.h"

namespace fairlead::service {

struct TelemetryRecorderOptions {
  std::string folder;
  // >= 1 MB; of all recordings in the folder together. More: one can look back for longer.
  uint64_t bytes_max = 1'000'000'000;
};

// Makes `folder` (0700) where it is missing, and the diagnoses that are recorded. They may be used on several
// threads, each on one at a time. A recording that fails is logged, and tried again a minute later in a file of its
// own. Errors: kFailedPrecondition: it is no folder, or can't be written; says why. kInvalidArgument: bytes_max.
Result<diagnosis::JobDiagnosisFactory> RecordTelemetry(const TelemetryRecorderOptions& options,
                                                       diagnosis::JobDiagnosisFactory make_diagnosis);

}  // namespace fairlead::service

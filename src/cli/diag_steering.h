// What steering does, or would do, about the findings of a recording.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/recording_analysis.h"
#include "controller/steering_dispatcher.h"

namespace fairlead::cli {

struct RecordingSteeringOptions {
  // Nothing is touched, and every action is reported as done: shows what would be done. Otherwise `hook` does it.
  bool is_dry_run = true;
  std::string hook;  // for a shell
  // Spare hosts that are taken to be there. They get ids above those of the job.
  uint32_t num_spares = 1;
  std::vector<std::string> host_names;  // [host] that is passed to the hook
  std::string audit;                    // file to add to; empty: none
};

// Tells steering of the findings in the order in which they were confirmed and cleared, and carries out what it wants,
// to the end. A hook that fails is tried again after a pause in real time. Returns the audit log, in order.
// Errors: the audit log can't be written. Ctrl-C ends it early.
Result<std::vector<controller::AuditEntry>> SteerRecording(const RecordingAnalysis& analysis,
                                                           const RecordingSteeringOptions& options);

}  // namespace fairlead::cli

// What a job has lost outside of its phases (delay_account.h): when its yardstick becomes shorter, and at its end.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/sim_time.h"
#include "model/flow.h"
#include "sim/delay_account.h"
#include "sim/job_state.h"
#include "sim/link_sharing.h"
#include "sim/solo_yardstick.h"

namespace fairlead::sim {

// On its paths an iteration may be faster alone than thought. The progress of the job until now is then measured again:
// its earlier paths have cost it the difference. Args: iteration: as it is sent on the job's paths.
void LowerYardstick(SoloYardstick& yardstick, const model::Iteration& iteration, SimTime now, JobState& job,
                    DelayAccount& delays);

// What becomes of the iteration that is under way.
enum class LastIteration : uint8_t {
  kCounts,
  kIsThrownAway,
  kWasTransfer,  // no iteration of the stretch was training: it moved the state of workers
};

// A job's time on its GPUs, which ends.
struct StretchEnd {
  const std::vector<TransferRoute>& routes;  // [transfer] in force
  std::optional<SimTime> restarted_at = {};  // when its restart on these GPUs began; nothing: it did not restart
  LastIteration last = LastIteration::kCounts;
};

// Books what a job that is at its end, or at the end of the run, has lost since its last phase ended, and its restart.
void CloseAccount(const StretchEnd& stretch, JobState& job, DelayAccount& delays);

}  // namespace fairlead::sim

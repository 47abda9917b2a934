// Do all ranks mean the same operation? Different kinds, sizes, types or roots at one position are a fault of the
// program.
//
// Method      the majority of the ranks that have reported the operation is right; without one, those that agree with
//             what other communicators of that size did at that sequence, then those whose size this communicator has
//             seen before. The ends of a transfer have to agree about its bytes; neither end is more right than the
//             other. A rank that contradicts itself has no vote. Ranks may send different amounts in an all-to-all:
//             that is held against them only when it is stalled.
// Cost        O(communicators that ever had a disagreement) a call.
// Reference   docs/spec/c4.md section 4.1, last paragraph.
#pragma once

#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/c4d_options.h"
#include "diagnosis/c4d/job_picture.h"
#include "diagnosis/c4d/suspect.h"

namespace fairlead::diagnosis::c4d {

class MismatchCheck {
 public:
  // Disagreements that persist, and those about operations that ended anyway within `clear_after` before `now`.
  std::vector<Suspect> Find(SimTime now, const HangOptions& options, JobPicture* picture);

 private:
  struct Settled {
    Dispute dispute;
    SimTime at;
  };

  std::vector<Settled> settled_;
};

}  // namespace fairlead::diagnosis::c4d

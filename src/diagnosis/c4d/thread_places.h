// Where the ranks of a job that hangs are, as their kernels say: alike ones together, the accused ones first.
//
// Method      ranks are alike whose first threads are in the same state at the same place: that thread runs the script.
//             What an agent told of a rank more than kHoldsFor ago is not believed any more.
// Cost        O(ranks log ranks).
#pragma once

#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/job_picture.h"
#include "model/finding.h"
#include "model/finding_proof.h"

namespace fairlead::diagnosis::c4d {

// Accused ones first, then by number; at most kThreadPlacesMax. Empty: agents have told nothing.
std::vector<model::RankThreads> FindThreadPlaces(const JobPicture& picture, const model::Finding& finding, SimTime now);
inline constexpr size_t kThreadPlacesMax = 16;

// What the rank's agent told of the process's first thread; null: nothing, or too long ago.
const model::ThreadGroup* FirstThreadOf(const RankState& rank, SimTime now);

}  // namespace fairlead::diagnosis::c4d

// Who may be why a job hangs, where evidence does not decide between several: what is known of each of them.
//
// Method      a candidate is told with when it last began or ended an operation, when it last reported, and where its
//             first thread is, as far as these are known: in these they differ, if in anything. Who stopped first comes
//             first, as others wait for it.
// Cost        O(candidates log candidates).
#pragma once

#include <string>
#include <vector>

#include "diagnosis/c4d/job_picture.h"
#include "diagnosis/c4d/suspect.h"
#include "diagnosis/c4d/wait_graph.h"

namespace fairlead::diagnosis::c4d {

// Args: why: what speaks for it, a clause.
model::Candidate RankCandidate(const JobPicture& picture, model::RankId rank, std::string why,
                               const WaitGraphQuery& query);
// Args: inside: its ranks that wait, not empty.
model::Candidate HostCandidate(const JobPicture& picture, const std::vector<model::RankId>& inside, std::string why,
                               const WaitGraphQuery& query);

// Gives them to the suspect, at most kHangCandidatesMax, and how many there are to its evidence.
void SetCandidates(std::vector<model::Candidate> candidates, Suspect* suspect);
inline constexpr size_t kHangCandidatesMax = 16;

}  // namespace fairlead::diagnosis::c4d

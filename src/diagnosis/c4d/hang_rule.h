// The hang rule: given which ranks wait for which, which one stalls the job?
//
// Problem     one rank that does not arrive stops its communicator, then the communicators of all its members, then the
//             job. Thousands of operations are pending; one rank, or one link, is why.
// Method      follow the waits (wait_walks.h) from operations stalled beyond their suspect time to where they end:
//               a rank that is inside of no operation   it never arrived: non_comm_hang (spec case B)
//               one that is gone or silent              dead (case A)
//               an operation that all have started      its data is stuck: comm_hang (case C), localised by
//                                                       stuck_graph.h over all such operations together
//               a circle                                ranks issue in different orders: mismatch
//             Where a walk ends at a rank or operation that still moves, or at a rank that is leaving, none is named.
// Cost        O(communicators) while nothing is stalled for long, else O(ranks + connections + pending operations).
// Guarantees  names only ranks and elements that a rank waits for, directly or through others. The order of reports is
//             no matter.
// Reference   docs/spec/c4.md section 4.1.
#pragma once

#include <vector>

#include "diagnosis/c4d/job_picture.h"
#include "diagnosis/c4d/suspect.h"
#include "diagnosis/c4d/wait_graph.h"

namespace fairlead::diagnosis::c4d {

// Args: hindrances [rank]. Returns at most one suspect per syndrome, the most certain ones first.
std::vector<Suspect> FindHangs(const JobPicture& picture, const Hindrances& hindrances, const WaitGraphQuery& query);

}  // namespace fairlead::diagnosis::c4d

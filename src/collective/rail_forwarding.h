// PXN: a message for another rail changes it over NVLink first, so that the network carries it on one rail.
//
// Method      A flow between hosts whose ends are on different rails becomes two, which run at once as chunks are
//             handed on: to the GPU of the sender's host that is on the receiver's rail (of equal place among the
//             host's GPUs if there is such a one), and from there to the receiver. Both stay in the flow's group. Where
//             the host has no GPU on that rail the flow stays as it is.
// Guarantees  the same bytes between hosts. On fabrics that do not join rails each flow has a path then, as long as all
//             hosts have all rails.
// Cost        O(flows + GPUs of a host).
// Reference   NVIDIA, Doubling all2all performance with NCCL 2.12, 2022; Wang et al., Rail-only, arXiv 2307.12169.
#pragma once

#include "model/flow.h"
#include "topology/fabric.h"

namespace fairlead::collective {

// Before SplitIntoQueuePairs.
void ForwardByRail(const topology::Fabric& fabric, model::Iteration* iteration);

}  // namespace fairlead::collective

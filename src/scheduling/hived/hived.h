// HiveD: a stand-in for schedulers that hand out GPUs in buddy cells, so that large free units stay whole.
//
// Represents  HiveD (OSDI 2020): GPUs form a hierarchy of cells (GPU, pair under a PCIe switch, socket, host, rack, …);
//             a cell is given out whole, a larger one is split only when no free one of the size is left, and buddies
//             merge when both are free.
// Left out    virtual clusters, which are what HiveD is for (a tenant's private view and its guarantee), priorities and
//             low-priority jobs that lend the cells of others, cells with broken GPUs.
// Cells       inside a host: aligned blocks of 1, 2, 4, … GPUs below the size of the host; the host; all hosts of a
//             leaf group; of a pod; everything. A cell is free when all its GPUs are. Nothing is remembered: the free
//             cells follow from the free GPUs, so merging is not an act.
// Method      a job asks for n hosts with g GPUs each, on each the smallest cell of at least g. The cell of a host is
//             the smallest maximal free cell (its parent is not free) that is large enough; a larger one is a larger
//             split.
//             1. units (leaf groups, then pods, then everything) that have such cells on n hosts; the lowest kind of
//                unit wins: one cell holds the job. For one host every host is a unit.
//             2. of equal units the one with the smallest largest split, then the one with the fewest free GPUs.
//             3. in the unit, hosts by the size of the split, the smallest first; the job gets the first g GPUs of the
//                first block of the needed size. What it leaves of the block is free for smaller jobs.
//             Where free GPUs are too scattered for cells, any g free GPUs of a host are taken as a last resort: a job
//             never waits while the GPUs that it asks for are free.
// Cost        O(GPUs), that is O(hosts), per call.
// Guarantees  one host: no cell larger than needed is split when a smaller free one holds the job. A pure function;
//             ties break on the lowest id.
// Reference   Zhao et al., HiveD: sharing a GPU cluster for deep learning with guarantees, OSDI 2020, section 4.
#pragma once

#include <memory>

#include "scheduling/placement_policy.h"

namespace fairlead::scheduling::hived {

std::unique_ptr<PlacementPolicy> CreateHived();

}  // namespace fairlead::scheduling::hived

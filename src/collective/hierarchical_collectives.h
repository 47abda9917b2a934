// Hierarchical collectives: the links inside a host carry the bulk, and each GPU talks on its own rail between hosts.
//
// Notation    n = hosts * g ranks, g on each host; S bytes as in ring_collectives.h.
// Method      all-reduce: 1. reduce-scatter inside each host, after which each of its g ranks holds a share of S/g;
//             2. ring all-reduce of each share among the ranks of equal place on their hosts (one ring per rail);
//             3. all-gather inside each host. Reduce-scatter is the first half of it, all-gather the second.
//             The steps are pipelined by chunks, so all flows run at once; steps 1 and 3 share their edges.
// Bytes       per edge, all-reduce: inside 2(g-1)/g S, between hosts 2(h-1)/h S/g. Halves of that for the other two.
//             A rank sends 2(n-1)/n S in all, exactly as on a flat ring, but only S/g-sized shares leave the host.
// Groups      one per host and one per rail.
// Cost        O(n log n) time, at most 2n flows. Nothing is added for n <= 1 or S <= 0.
// Fallback    hosts with unequal numbers of ranks: one flat ring, as NCCL does.
// Reference   Cho et al., BlueConnect, MLSys 2019; Mikami et al., 2D-torus all-reduce, 2018.
#pragma once

#include <span>

#include "collective/flow_set.h"

namespace fairlead::collective {

void AppendHierarchicalAllReduce(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows);
void AppendHierarchicalReduceScatter(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows);
void AppendHierarchicalAllGather(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows);

}  // namespace fairlead::collective

// Hierarchical collectives: the links inside a host carry the bulk, and each GPU talks on its own rail between hosts.
//
// Notation    n = hosts * g ranks, g on each host; S bytes as in ring_collectives.h.
// Method      all-reduce: 1. reduce-scatter inside each host, after which each of its g ranks holds a share of S/g;
//             2. ring all-reduce of each share among the ranks of equal place on their hosts (one ring per rail);
//             3. all-gather inside each host. Reduce-scatter is the first half of it, all-gather the second.
//             The steps are pipelined by chunks, so all flows run at once; steps 1 and 3 share their edges.
// Bytes       per edge, all-reduce: inside 2(g-1)/g S, between hosts 2(h-1)/h S/g. Halves of that for the other two.
//             A rank sends 2(n-1)/n S in all, exactly as on a flat ring, but only S/g-sized shares leave the host.
// Steps       those of a rail's ring: 2(h-1), or h-1.
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

// The same with sums made by switches, so that each byte leaves a host once.
//
// Method      Step 2 is: each rank sends its share up a tree of switches, which sum what their ports bring, and gets
//             the sum from the root. Switches are no ends of flows. Of the tree's links each carries a share once up
//             and once down: those of hosts, and those of every switch that joins some of them. A closed ring that
//             visits the hosts switch by switch loads the same links alike and stands for the tree. It visits them so
//             in the order of their ids, by which the fabrics of topology/ number hosts leaf by leaf.
// Bytes       per edge between hosts S/g: h/(2(h-1)) of rings.
// Steps       1: up and down is one message, over as many switches as from host to host.
// Limits      Switches sum as fast as links are, of any number of jobs at once. Fallback: all S on the flat ring.
// Reference   Graham et al., Scalable Hierarchical Aggregation Protocol (SHArP), COM-HPC 2016.
void AppendInNetworkAllReduce(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows);

}  // namespace fairlead::collective

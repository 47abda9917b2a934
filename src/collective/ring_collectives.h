// Ring collectives: all ranks pass chunks to their successor, pipelined, so that every edge carries the same bytes.
//
// Notation    n ranks, buffer of S bytes: what each rank puts in (all-reduce, reduce-scatter) or gets out (all-gather,
//             broadcast); the meaning of nccl-tests.
// Method      the ring visits the hosts by first appearance and the ranks of a host together, so it enters and leaves
//             each host once. In a step each rank sends one chunk of S/n. Reduce-scatter and all-gather take n-1 steps,
//             all-reduce is one after the other: 2(n-1).
// Steps       as many as above: each is a message to the next rank; 0 where all ranks are on one host.
// Bytes       per edge: all-reduce 2(n-1)/n S, reduce-scatter and all-gather (n-1)/n S, broadcast S on n-1 edges.
// Groups      one per collective: its edges move in lockstep.
// Cost        O(n) time and flows. Nothing is added when n <= 1 or S <= 0.
// Reference   Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 2009.
#pragma once

#include <span>

#include "collective/flow_set.h"

namespace fairlead::collective {

void AppendRingAllReduce(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows);
void AppendRingReduceScatter(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows);
void AppendRingAllGather(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows);
// From the first rank along the ring, which stays open before it.
void AppendRingBroadcast(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows);

// The closed ring that these are made of: `passes` times around, 2 for all-reduce, 1 for its halves.
void AppendRing(std::span<const RankPlace> ranks, Bytes size, int passes, FlowSet& flows);
// A closed ring with `bytes` on each edge.
void AppendRingOf(std::span<const RankPlace> ranks, Bytes bytes, double num_steps, FlowSet& flows);

// (n-1)/n: the share of a buffer that a rank must send to the others in one pass around a ring. n >= 1.
constexpr double RingShare(size_t n) { return static_cast<double>(n - 1) / static_cast<double>(n); }

}  // namespace fairlead::collective

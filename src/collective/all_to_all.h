// All-to-all: every rank has a different piece of data for every other rank (expert parallelism, embedding tables).
//
// Notation    n ranks, each with S bytes, S/n for each rank (its own piece stays).
// Direct      n(n-1) flows of S/n.
// By rail     network flows stay on one rail: a piece for another host first crosses NVLink to the rank of its own
//             host that has the destination's local index (NCCL's PXN), which sends the pieces of the whole host in one
//             flow. Where the host has no such rank the piece goes directly. Same bytes on the network, at most
//             n(g-1) + n(h-1) flows for h hosts of g ranks.
// Steps       1: all messages leave at once.
// Groups      one per flow: nothing makes them wait for each other.
// Cost        O(n^2) time; keep n to expert groups. Nothing is added for n <= 1 or S <= 0.
// Reference   NVIDIA, Doubling all2all performance with NCCL 2.12, 2022 (PXN).
#pragma once

#include <span>

#include "collective/flow_set.h"

namespace fairlead::collective {

void AppendAllToAll(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows);
void AppendRailAllToAll(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows);

}  // namespace fairlead::collective

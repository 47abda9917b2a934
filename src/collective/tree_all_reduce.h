// Double binary tree all-reduce: latency that grows with the logarithm of the hosts, at nearly a ring's bandwidth.
//
// Method      two binary trees over the hosts, each with half of the data. Data is reduced up to the root and broadcast
//             down, pipelined. A rank that is inside one tree is a leaf of the other, so that no rank sends and
//             receives more than twice S. Inside a host the ranks form a chain that hangs from the rank that speaks for
//             the host; the second tree starts its chain half a host further, so it leaves by another NIC.
// Tree        hosts 0..n-1 in order. The parent of h is found by moving its lowest set bit one place up; where that
//             leaves the range, the bit is cleared instead. Host 0 is the root; odd hosts are the leaves. The second
//             tree is the mirror image h -> n-1-h when n is even, and shifted by one host when n is odd.
// Bytes       S/2 on each edge of each tree in both directions: 4(n-1) flows, 2(n-1)S in all, as much as a ring.
// Steps       twice the depth of the deeper tree; 0 on one host.
// Groups      one per tree: its edges move in lockstep.
// Cost        O(n log n). Nothing is added for n <= 1 or S <= 0.
// Limits      with odd n host 0 is inside both trees: (n+1)/2 hosts are inside each, so one must be.
// Reference   Sanders, Speck and Traff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, Parallel
//             Computing 2009; NCCL 2.4 uses them between hosts with chains inside.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collective/flow_set.h"

namespace fairlead::collective {

// Parents of the two trees, [tree][node]; the root of a tree is its own parent.
struct DoubleBinaryTree {
  std::vector<uint32_t> parents[2];
};

// Cost: O(n).
DoubleBinaryTree MakeDoubleBinaryTree(uint32_t num_nodes);

void AppendTreeAllReduce(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows);

}  // namespace fairlead::collective

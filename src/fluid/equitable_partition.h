// Which flows of a network are alike, so that one of them can be simulated for all.
//
// Problem     All-to-all among n hosts is n^2 flows. On a healthy and even fabric they have few different rates,
//             but a solver that is given all of them decides each, and each ends by itself.
// Method      Colour refinement. Links of one colour have the same capacity and are crossed equally often by flows of
//             every colour; flows of one colour cross links of the same colours. Colours are split until both hold.
// Exact       Progressive filling never tells flows of one colour apart: it freezes whole colours, so they have one
//             rate. Flows that start together with the same bytes then end together, and the colours hold for good.
//             Sums of hashes are what is compared in a round; at the end all of this is checked as it stands.
// Cost        O(route lengths) for each round; a network without symmetry has few rounds, as its colours soon differ.
// Reference   Equitable partitions of graphs (Godsil and Royle, chapter 9); progressive filling, max_min_reference.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fluid/flow_table.h"

namespace fairlead::fluid {

// Flows, and links, in classes that are numbered by their first members.
struct EquitablePartition {
  std::vector<uint32_t> flow_class;  // [flow]
  std::vector<uint32_t> link_class;  // [link]
  std::vector<uint32_t> first_flow;  // [class of flows]
  std::vector<uint32_t> first_link;  // [class of links]
};

// The coarsest partition; the one in which nothing is like anything else where more than half of the flows are
// different, as one that saves little costs more.
// Args: flow_colors: [flow] what must be equal for flows to be alike, such as level, weight and bytes. link_colors:
// [link] the same, such as capacity. routes: [flow] each link once.
EquitablePartition FindEquitablePartition(std::span<const uint64_t> flow_colors, std::span<const uint64_t> link_colors,
                                          std::span<const std::vector<LinkUse>> routes);

// The routes of one flow of each class over classes of links: how often all flows of the class together cross the first
// link of a class.
std::vector<std::vector<LinkUse>> QuotientRoutes(const EquitablePartition& partition,
                                                 std::span<const std::vector<LinkUse>> routes);

}  // namespace fairlead::fluid

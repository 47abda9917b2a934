// Which hosts are measured together, and which transfers may run at once: no two share a cable of the fabric.
//
// Problem     a leaf's cables carry less than its hosts together, or are chosen by hashes; of two pairs that cross the
//             fabric at once one slows the other, and each looks bad.
// Method      hosts meet within regions, which are as near as can be: below one leaf, else in one pod, else anywhere.
//             Pairs below one leaf are measured all at once. Of transfers that cross the fabric one at a time leaves a
//             leaf, and one enters it; the same with pods.
// Cost        O(transfers x steps) of a round. Steps: 2; 6 with groups of three; more only in regions of many leaves.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace fairlead::node_check {

struct CheckedHost {
  uint32_t leaf = 0;      // hosts with the same one share no cable but their own
  uint32_t pod = 0;       // hosts with the same one share no cable to the core
  uint32_t num_nics = 1;  // that are measured; NIC i with the partner's NIC i
};

// What lies between two hosts, the least first.
enum class Distance : uint8_t { kLeaf, kPod, kCore };
inline constexpr size_t kNumDistances = 3;

Distance DistanceOf(const CheckedHost& one, const CheckedHost& other);

// Numbers of hosts.
using HostGroup = std::vector<uint32_t>;

// Each host is in one region, of `min_size` hosts or more if there are so many. Those of a leaf stand together.
std::vector<HostGroup> SplitIntoRegions(std::span<const CheckedHost> hosts, size_t min_size);

// Neighbours in the list; the odd one joins the last. Args: hosts: two or more.
std::vector<HostGroup> PairUp(std::span<const uint32_t> hosts);

// All NICs of two hosts in one direction.
struct HostTransfer {
  uint32_t sender = 0;
  uint32_t receiver = 0;

  friend auto operator<=>(const HostTransfer&, const HostTransfer&) = default;
};

// All directions between the hosts of each group, of two or three hosts that are in no other group, in steps.
std::vector<std::vector<HostTransfer>> ScheduleSteps(std::span<const HostGroup> groups,
                                                     std::span<const CheckedHost> hosts);

}  // namespace fairlead::node_check

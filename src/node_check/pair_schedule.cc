#include "node_check/pair_schedule.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace fairlead::node_check {
namespace {

// What only one transfer of a step may use.
class StepUsage {
 public:
  explicit StepUsage(std::span<const CheckedHost> hosts) : hosts_(hosts) {}

  bool Take(const HostTransfer& transfer) {
    const std::vector<Place> places = PlacesOf(transfer);
    if (std::ranges::any_of(places, [&](const Place& place) { return taken_.contains(place); })) return false;
    taken_.insert(places.begin(), places.end());
    return true;
  }

 private:
  enum class Kind : uint8_t { kHost, kUpOfLeaf, kDownOfLeaf, kUpOfPod, kDownOfPod };
  using Place = std::pair<Kind, uint32_t>;

  std::vector<Place> PlacesOf(const HostTransfer& transfer) const {
    std::vector<Place> places = {{Kind::kHost, transfer.sender}, {Kind::kHost, transfer.receiver}};
    const CheckedHost& from = hosts_[transfer.sender];
    const CheckedHost& to = hosts_[transfer.receiver];
    const Distance distance = DistanceOf(from, to);
    if (distance >= Distance::kPod) {
      places.emplace_back(Kind::kUpOfLeaf, from.leaf);
      places.emplace_back(Kind::kDownOfLeaf, to.leaf);
    }
    if (distance == Distance::kCore) {
      places.emplace_back(Kind::kUpOfPod, from.pod);
      places.emplace_back(Kind::kDownOfPod, to.pod);
    }
    return places;
  }

  std::span<const CheckedHost> hosts_;
  std::set<Place> taken_;
};

// Groups of hosts with equal keys that are large enough become regions; the others are left in `hosts`.
template <class Key>
void MoveRegions(const Key& key, size_t min_size, HostGroup* hosts, std::vector<HostGroup>* regions) {
  std::ranges::stable_sort(*hosts, {}, key);
  HostGroup rest;
  for (auto first = hosts->begin(); first != hosts->end();) {
    const auto last = std::find_if(first, hosts->end(), [&](uint32_t host) { return key(host) != key(*first); });
    if (static_cast<size_t>(last - first) >= min_size) {
      regions->emplace_back(first, last);
    } else {
      rest.insert(rest.end(), first, last);
    }
    first = last;
  }
  *hosts = std::move(rest);
}

}  // namespace

Distance DistanceOf(const CheckedHost& one, const CheckedHost& other) {
  if (one.leaf == other.leaf) return Distance::kLeaf;
  return one.pod == other.pod ? Distance::kPod : Distance::kCore;
}

std::vector<HostGroup> SplitIntoRegions(std::span<const CheckedHost> hosts, size_t min_size) {
  HostGroup rest(hosts.size());
  std::iota(rest.begin(), rest.end(), 0);
  std::vector<HostGroup> regions;
  const auto leaf = [&](uint32_t host) { return std::pair(hosts[host].pod, hosts[host].leaf); };
  const auto pod = [&](uint32_t host) { return hosts[host].pod; };
  MoveRegions(leaf, min_size, &rest, &regions);
  MoveRegions(pod, min_size, &rest, &regions);
  if (rest.empty()) return regions;
  if (rest.size() >= min_size || regions.empty()) {
    regions.push_back(std::move(rest));
    return regions;
  }
  // Too few by themselves: they join a region of their pod, if there is one.
  for (const uint32_t host : rest) {
    auto region = std::ranges::find_if(regions, [&](const HostGroup& one) { return pod(one.front()) == pod(host); });
    if (region == regions.end()) region = std::prev(regions.end());
    region->push_back(host);
  }
  return regions;
}

std::vector<HostGroup> PairUp(std::span<const uint32_t> hosts) {
  FL_CHECK(hosts.size() >= 2);
  std::vector<HostGroup> groups;
  for (size_t i = 0; i + 1 < hosts.size(); i += 2) groups.push_back({hosts[i], hosts[i + 1]});
  if (hosts.size() % 2 == 1) groups.back().push_back(hosts.back());
  return groups;
}

std::vector<std::vector<HostTransfer>> ScheduleSteps(std::span<const HostGroup> groups,
                                                     std::span<const CheckedHost> hosts) {
  constexpr std::array<std::pair<size_t, size_t>, 6> kPlaces = {{{0, 1}, {1, 0}, {1, 2}, {2, 1}, {2, 0}, {0, 2}}};
  std::vector<HostTransfer> waiting;
  for (const auto& [from, to] : kPlaces) {
    for (const HostGroup& group : groups) {
      if (std::max(from, to) < group.size()) waiting.push_back({group[from], group[to]});
    }
  }
  std::vector<std::vector<HostTransfer>> steps;
  while (!waiting.empty()) {
    StepUsage usage(hosts);
    const auto later =
        std::stable_partition(waiting.begin(), waiting.end(), [&](const HostTransfer& one) { return usage.Take(one); });
    steps.emplace_back(waiting.begin(), later);
    waiting.erase(waiting.begin(), later);
  }
  return steps;
}

}  // namespace fairlead::node_check

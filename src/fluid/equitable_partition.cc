#include "fluid/equitable_partition.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/random.h"

namespace fairlead::fluid {

namespace {

// Numbers things by a colour and a hash: equal ones get the same number, in order of the first.
class Renumbering {
 public:
  uint32_t Number(uint64_t color, uint64_t sum) {
    const auto [entry, is_new] = numbers_.try_emplace(CombineHash(color, sum), next_);
    if (is_new) ++next_;
    return entry->second;
  }
  uint32_t count() const { return next_; }

 private:
  std::unordered_map<uint64_t, uint32_t> numbers_;
  uint32_t next_ = 0;
};

class Refinement {
 public:
  Refinement(std::span<const uint64_t> flow_colors, std::span<const uint64_t> link_colors,
             std::span<const std::vector<LinkUse>> routes)
      : routes_(routes), flows_(flow_colors.size()), links_(link_colors.size()), sums_(link_colors.size()) {
    Renumbering flows;
    for (size_t f = 0; f < flows_.size(); ++f) flows_[f] = flows.Number(flow_colors[f], 0);
    num_flow_colors_ = flows.count();
    Renumbering links;
    for (size_t l = 0; l < links_.size(); ++l) links_[l] = links.Number(link_colors[l], 0);
    num_link_colors_ = links.count();
  }

  // False where nothing was split.
  bool Split() {
    const uint32_t before = num_flow_colors_ + num_link_colors_;
    SplitLinks();
    SplitFlows();
    return num_flow_colors_ + num_link_colors_ > before;
  }
  uint32_t num_flow_colors() const { return num_flow_colors_; }

  std::vector<uint32_t> TakeFlows() { return std::move(flows_); }
  std::vector<uint32_t> TakeLinks() { return std::move(links_); }

 private:
  // What one crossing adds to the sum of the other side.
  static uint64_t Term(uint32_t color, uint32_t multiplicity) {
    return MixBits((uint64_t{color} << 32 | multiplicity) + 1);
  }

  void SplitLinks() {
    std::ranges::fill(sums_, 0);
    for (size_t f = 0; f < flows_.size(); ++f) {
      for (const LinkUse& use : routes_[f]) sums_[use.link] += Term(flows_[f], use.multiplicity);
    }
    Renumbering numbers;
    for (size_t l = 0; l < links_.size(); ++l) links_[l] = numbers.Number(links_[l], sums_[l]);
    num_link_colors_ = numbers.count();
  }
  void SplitFlows() {
    Renumbering numbers;
    for (size_t f = 0; f < flows_.size(); ++f) {
      uint64_t sum = 0;
      for (const LinkUse& use : routes_[f]) sum += Term(links_[use.link], use.multiplicity);
      flows_[f] = numbers.Number(flows_[f], sum);
    }
    num_flow_colors_ = numbers.count();
  }

  std::span<const std::vector<LinkUse>> routes_;
  std::vector<uint32_t> flows_;  // [flow] color
  std::vector<uint32_t> links_;  // [link] color
  std::vector<uint64_t> sums_;   // [link]
  uint32_t num_flow_colors_ = 0;
  uint32_t num_link_colors_ = 0;
};

std::vector<uint32_t> FirstMembers(const std::vector<uint32_t>& classes) {
  std::vector<uint32_t> first;
  for (uint32_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == first.size()) first.push_back(i);
  }
  return first;
}

EquitablePartition Discrete(size_t num_flows, size_t num_links) {
  EquitablePartition partition;
  partition.flow_class.resize(num_flows);
  std::iota(partition.flow_class.begin(), partition.flow_class.end(), 0u);
  partition.link_class.resize(num_links);
  std::iota(partition.link_class.begin(), partition.link_class.end(), 0u);
  partition.first_flow = partition.flow_class;
  partition.first_link = partition.link_class;
  return partition;
}

std::vector<uint32_t> ClassesOf(const std::vector<LinkUse>& route, const std::vector<uint32_t>& link_class) {
  std::vector<uint32_t> classes;
  for (const LinkUse& use : route) classes.push_back(link_class[use.link]);
  std::ranges::sort(classes);
  return classes;
}

// All of a class have its first member's colour.
bool ColorsAreAlike(std::span<const uint64_t> colors, const std::vector<uint32_t>& classes,
                    const std::vector<uint32_t>& first) {
  for (size_t i = 0; i < colors.size(); ++i) {
    if (colors[i] != colors[first[classes[i]]]) return false;
  }
  return true;
}

// Flows of a class cross links of the same classes.
bool FlowsAreAlike(const EquitablePartition& partition, std::span<const std::vector<LinkUse>> routes) {
  std::vector<std::vector<uint32_t>> of_class;
  for (const uint32_t f : partition.first_flow) of_class.push_back(ClassesOf(routes[f], partition.link_class));
  for (size_t f = 0; f < routes.size(); ++f) {
    if (ClassesOf(routes[f], partition.link_class) != of_class[partition.flow_class[f]]) return false;
  }
  return true;
}

// [link] how often flows of each class cross it; classes that do, ascending.
std::vector<std::vector<LinkUse>> CrossingsByClass(const EquitablePartition& partition,
                                                   std::span<const std::vector<LinkUse>> routes) {
  std::vector<std::vector<uint32_t>> by_class(partition.first_flow.size());
  for (uint32_t f = 0; f < routes.size(); ++f) by_class[partition.flow_class[f]].push_back(f);
  std::vector<std::vector<LinkUse>> crossings(partition.link_class.size());
  for (uint32_t c = 0; c < by_class.size(); ++c) {
    for (const uint32_t f : by_class[c]) {
      for (const LinkUse& use : routes[f]) {
        std::vector<LinkUse>& of_link = crossings[use.link];
        if (of_link.empty() || of_link.back().link != c) of_link.push_back({c, 0});
        of_link.back().multiplicity += use.multiplicity;
      }
    }
  }
  return crossings;
}

bool LinksAreAlike(const EquitablePartition& partition, std::span<const std::vector<LinkUse>> routes) {
  const std::vector<std::vector<LinkUse>> crossings = CrossingsByClass(partition, routes);
  for (size_t l = 0; l < crossings.size(); ++l) {
    if (crossings[l] != crossings[partition.first_link[partition.link_class[l]]]) return false;
  }
  return true;
}

}  // namespace

EquitablePartition FindEquitablePartition(std::span<const uint64_t> flow_colors, std::span<const uint64_t> link_colors,
                                          std::span<const std::vector<LinkUse>> routes) {
  Refinement refinement(flow_colors, link_colors, routes);
  const auto saves_little = [&] { return 2 * size_t{refinement.num_flow_colors()} > routes.size(); };
  while (!saves_little() && refinement.Split()) {
  }
  if (saves_little()) return Discrete(routes.size(), link_colors.size());
  EquitablePartition partition;
  partition.flow_class = refinement.TakeFlows();
  partition.link_class = refinement.TakeLinks();
  partition.first_flow = FirstMembers(partition.flow_class);
  partition.first_link = FirstMembers(partition.link_class);
  // Two sums that happen to be equal would make different things alike.
  const bool is_right = ColorsAreAlike(flow_colors, partition.flow_class, partition.first_flow) &&
                        ColorsAreAlike(link_colors, partition.link_class, partition.first_link) &&
                        FlowsAreAlike(partition, routes) && LinksAreAlike(partition, routes);
  return is_right ? partition : Discrete(routes.size(), link_colors.size());
}

std::vector<std::vector<LinkUse>> QuotientRoutes(const EquitablePartition& partition,
                                                 std::span<const std::vector<LinkUse>> routes) {
  std::vector<std::vector<LinkUse>> quotient(partition.first_flow.size());
  for (size_t f = 0; f < routes.size(); ++f) {
    std::vector<LinkUse>& of_class = quotient[partition.flow_class[f]];
    for (const LinkUse& use : routes[f]) {
      const uint32_t c = partition.link_class[use.link];
      if (use.link != partition.first_link[c]) continue;
      const auto known = std::ranges::find(of_class, c, &LinkUse::link);
      if (known == of_class.end()) {
        of_class.push_back({c, use.multiplicity});
      } else {
        known->multiplicity += use.multiplicity;
      }
    }
  }
  return quotient;
}

}  // namespace fairlead::fluid

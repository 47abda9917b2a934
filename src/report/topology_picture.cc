#include "report/topology_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace fairlead::report {

namespace {

using topology::Fabric;
using topology::LinkTier;
using topology::NodeKind;

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
constexpr size_t kLeastNodesMax = 8;  // of a tier, however many lines there are
constexpr size_t kMeetsMax = 12;
constexpr std::string_view kTo = "..";  // "leaf0..leaf9"

using Tiers = std::array<std::vector<uint32_t>, kNumPictureTiers>;  // [tier] members by number, in the order shown

constexpr NodeKind KindOf(size_t tier) {
  return static_cast<NodeKind>(static_cast<size_t>(NodeKind::kLeaf) + tier - static_cast<size_t>(PictureTier::kLeaf));
}

// "rail 3", "rails 0-3", "rails 0, 2".
std::string RailText(const std::set<uint32_t>& nics) {
  const bool is_run = *nics.rbegin() - *nics.begin() + 1 == nics.size();
  if (nics.size() == 1) return fmt::format("rail {}", *nics.begin());
  if (is_run) return fmt::format("rails {}-{}", *nics.begin(), *nics.rbegin());
  std::string text;
  for (const uint32_t nic : nics) text += fmt::format("{}{}", text.empty() ? "rails " : ", ", nic);
  return text;
}

// What a fabric consists of, without loads.
class Layers {
 public:
  explicit Layers(const Fabric& fabric) : fabric_(fabric) {
    number_of_.assign(fabric.num_nodes(), kNone);
    for (size_t tier = 1; tier < kNumPictureTiers; ++tier) {
      const auto switches = fabric.switches(KindOf(tier));
      for (uint32_t i = 0; i < switches.size(); ++i) number_of_[switches[i].index()] = i;
    }
    FindParts();
    FindHosts();
    for (size_t tier = 0; tier < kNumPictureTiers; ++tier) {
      all_[tier].resize(Count(tier));
      std::iota(all_[tier].begin(), all_[tier].end(), 0u);
      if (tier > 0) std::ranges::stable_sort(all_[tier], {}, [&](uint32_t i) { return PartOf(tier, i); });
      place_[tier].resize(Count(tier));
      for (uint32_t p = 0; p < all_[tier].size(); ++p) place_[tier][all_[tier][p]] = p;
    }
  }

  size_t Count(size_t tier) const { return tier == 0 ? fabric_.num_hosts() : fabric_.switches(KindOf(tier)).size(); }
  const Tiers& all() const { return all_; }

  std::string NameOf(size_t tier, uint32_t i) const {
    return tier == 0 ? fabric_.HostName(HostId(i)) : fabric_.NodeName(fabric_.switches(KindOf(tier))[i]);
  }
  // Tier and number of an end of a network link.
  std::pair<size_t, uint32_t> PlaceOf(NodeId node) const {
    const HostId host = fabric_.host_of(node);
    if (host.valid()) return {0, host.value()};
    return {static_cast<size_t>(fabric_.kind(node)) - static_cast<size_t>(NodeKind::kLeaf) + 1,
            number_of_[node.index()]};
  }
  uint32_t PartOf(size_t tier, uint32_t i) const {
    if (tier == 0 || tier == static_cast<size_t>(PictureTier::kCore)) return kNone;
    return parts_[fabric_.switches(KindOf(tier))[i].index()];
  }
  uint32_t num_parts() const { return num_parts_; }
  std::string PartName(uint32_t part) const {
    if (part == kNone || num_parts_ < 2) return "";
    return fmt::format("{} {}", are_planes_ ? "plane" : "pod", part);
  }
  const std::string& RailsOf(uint32_t leaf) const { return rails_[leaf]; }
  const std::vector<uint32_t>& HostsBelow(uint32_t leaf) const { return hosts_below_[leaf]; }

  // The members that the name of a node stands for; nothing: there is none.
  std::optional<std::pair<size_t, std::vector<uint32_t>>> Find(std::string_view name) const {
    const size_t to = name.find(kTo);
    const auto first = FindOne(name.substr(0, to));
    if (!first) return std::nullopt;
    if (to == std::string_view::npos) return std::pair(first->first, std::vector{first->second});
    const auto last = FindOne(name.substr(to + kTo.size()));
    if (!last || last->first != first->first) return std::nullopt;
    const size_t tier = first->first;
    const uint32_t from = place_[tier][first->second], until = place_[tier][last->second];
    if (from > until) return std::nullopt;
    return std::pair(tier, std::vector(all_[tier].begin() + from, all_[tier].begin() + until + 1));
  }

 private:
  std::optional<std::pair<size_t, uint32_t>> FindOne(std::string_view name) const {
    if (const HostId host = fabric_.FindHost(name); host.valid()) return std::pair(size_t{0}, host.value());
    const NodeId node = fabric_.FindNode(name);
    if (!node.valid() || !topology::IsNetworkSwitch(fabric_.kind(node))) return std::nullopt;
    return PlaceOf(node);
  }

  void FindParts() {
    std::vector<uint32_t> root(fabric_.num_nodes());
    std::iota(root.begin(), root.end(), 0u);
    const auto find = [&](uint32_t node) {
      while (root[node] != node) node = root[node] = root[root[node]];
      return node;
    };
    for (uint32_t l = 0; l < fabric_.num_links(); l += 2) {
      if (fabric_.tier(LinkId(l)) != LinkTier::kLeafSpine) continue;
      root[find(fabric_.source(LinkId(l)).value())] = find(fabric_.destination(LinkId(l)).value());
    }
    parts_.assign(fabric_.num_nodes(), kNone);
    std::map<uint32_t, uint32_t> numbers;
    for (const NodeKind kind : {NodeKind::kLeaf, NodeKind::kSpine}) {
      for (const NodeId node : fabric_.switches(kind)) {
        parts_[node.index()] =
            numbers.try_emplace(find(node.value()), static_cast<uint32_t>(numbers.size())).first->second;
      }
    }
    num_parts_ = fabric_.switches(NodeKind::kSpine).empty() ? 1 : static_cast<uint32_t>(numbers.size());
  }

  void FindHosts() {
    hosts_below_.resize(Count(1));
    std::vector<std::set<uint32_t>> nics(Count(1));
    std::vector<uint32_t> part_of_host(fabric_.num_hosts(), kNone);
    for (uint32_t l = 0; l < fabric_.num_links(); ++l) {
      const LinkId link(l);
      if (fabric_.tier(link) != LinkTier::kHostLeaf || fabric_.kind(fabric_.source(link)) != NodeKind::kLeaf) continue;
      const uint32_t leaf = number_of_[fabric_.source(link).index()];
      const NodeId nic = fabric_.destination(link);
      const HostId host = fabric_.host_of(nic);
      if (hosts_below_[leaf].empty() || hosts_below_[leaf].back() != host.value()) {
        hosts_below_[leaf].push_back(host.value());
      }
      for (uint32_t n = 0; n < fabric_.num_nics_of(host); ++n) {
        if (fabric_.node_of(fabric_.nic(host, n)) == nic) nics[leaf].insert(n);
      }
      uint32_t& part = part_of_host[host.index()];
      const uint32_t own = PartOf(1, leaf);
      if (part != kNone && part != own) are_planes_ = true;
      part = own;
    }
    for (std::vector<uint32_t>& hosts : hosts_below_) {
      std::ranges::sort(hosts);
      hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    }
    rails_.resize(Count(1));
    for (uint32_t leaf = 0; leaf < rails_.size(); ++leaf) {
      if (hosts_below_[leaf].empty()) continue;
      const HostId first(hosts_below_[leaf].front());
      if (nics[leaf].size() < fabric_.num_nics_of(first)) rails_[leaf] = RailText(nics[leaf]);
    }
  }

  const Fabric& fabric_;
  std::vector<uint32_t> number_of_;  // [node] among its kind; switches only
  std::vector<uint32_t> parts_;      // [node]
  uint32_t num_parts_ = 1;
  bool are_planes_ = false;
  std::vector<std::string> rails_;                  // [leaf]
  std::vector<std::vector<uint32_t>> hosts_below_;  // [leaf] ascending
  Tiers all_;
  std::array<std::vector<uint32_t>, kNumPictureTiers> place_;  // [tier][number] in all_
};

class PictureMaker {
 public:
  PictureMaker(const PictureInput& input, const PictureOptions& options)
      : input_(input), options_(options), layers_(input.fabric) {}

  Result<TopologyPicture> Make();

 private:
  Status ChooseMembers();
  void AddNeighbours(size_t tier, size_t other);
  void MakeNodes(const std::array<size_t, kNumPictureTiers>& nodes_max);
  void AddRuns(size_t tier, size_t nodes_max);
  PictureNode MakeNode(size_t tier, std::span<const uint32_t> members) const;
  void MakeLinks();
  void AddCable(LinkId link, PictureLink* line);
  int RankOf(LinkId link) const;
  LinkCondition ConditionOf(LinkId link) const {
    return link.index() < input_.conditions.size() ? input_.conditions[link.index()] : LinkCondition{};
  }
  Status MakeJobs();

  const PictureInput& input_;
  const PictureOptions& options_;
  const Layers layers_;
  Tiers members_;
  TopologyPicture picture_;
  std::array<std::vector<uint32_t>, kNumPictureTiers> node_of_;  // [tier][number]; kNone: not shown
  std::vector<uint32_t> line_of_;                                // [cable]; kNone: not shown
  std::vector<std::pair<int, double>> worst_;                    // [line] rank and load of the link that it is named by
};

// Those of `other` that have a cable to a member of `tier`.
void PictureMaker::AddNeighbours(size_t tier, size_t other) {
  std::vector<bool> is_member(layers_.Count(tier), false);
  for (const uint32_t member : members_[tier]) is_member[member] = true;
  std::vector<bool> is_neighbour(layers_.Count(other), false);
  for (uint32_t l = 0; l < input_.fabric.num_links(); ++l) {
    if (!topology::IsNetwork(input_.fabric.tier(LinkId(l)))) continue;
    const auto [from_tier, from] = layers_.PlaceOf(input_.fabric.source(LinkId(l)));
    const auto [to_tier, to] = layers_.PlaceOf(input_.fabric.destination(LinkId(l)));
    if (from_tier == tier && to_tier == other && is_member[from]) is_neighbour[to] = true;
  }
  for (const uint32_t i : layers_.all()[other]) {
    if (is_neighbour[i]) members_[other].push_back(i);
  }
}

Status PictureMaker::ChooseMembers() {
  if (options_.open.empty()) {
    members_ = layers_.all();
    if (members_[0].size() > options_.nodes_max) members_[0].clear();
    return OkStatus();
  }
  const auto found = layers_.Find(options_.open);
  if (!found)
    return NotFound(fmt::format("open: the fabric has no '{}'; expected a name such as leaf0", options_.open));
  const auto& [tier, chosen] = *found;
  members_[tier] = chosen;
  picture_.open = options_.open;
  if (tier + 1 < kNumPictureTiers) AddNeighbours(tier, tier + 1);
  if (tier == 0) return OkStatus();
  AddNeighbours(tier, tier - 1);
  if (tier == 1 && chosen.size() > 1 && members_[0].size() > options_.nodes_max) members_[0].clear();
  return OkStatus();
}

PictureNode PictureMaker::MakeNode(size_t tier, std::span<const uint32_t> members) const {
  PictureNode node;
  node.tier = static_cast<PictureTier>(tier);
  node.name = layers_.NameOf(tier, members.front());
  node.num_members = static_cast<uint32_t>(members.size());
  if (members.size() > 1) node.name += std::string(kTo) + layers_.NameOf(tier, members.back());
  node.part = layers_.PartName(layers_.PartOf(tier, members.front()));
  if (layers_.PartOf(tier, members.front()) != layers_.PartOf(tier, members.back())) node.part.clear();
  std::set<uint32_t> hosts;
  if (tier == 1) {
    for (const uint32_t leaf : members) {
      hosts.insert(layers_.HostsBelow(leaf).begin(), layers_.HostsBelow(leaf).end());
    }
    if (members.size() == 1) node.rails = layers_.RailsOf(members.front());
  }
  node.num_hosts = static_cast<uint32_t>(hosts.size());
  node.opens = node.name != options_.open && (members.size() > 1 || (tier == 1 && members_[0].empty()));
  return node;
}

// As few members in each as fit, and none over the border of a part where there are few parts.
void PictureMaker::AddRuns(size_t tier, size_t nodes_max) {
  const std::vector<uint32_t>& members = members_[tier];
  std::set<uint32_t> parts;
  for (const uint32_t member : members) parts.insert(layers_.PartOf(tier, member));
  const bool keeps_parts = parts.size() <= nodes_max / 2;
  const size_t runs_max = keeps_parts ? nodes_max - (parts.size() - 1) : nodes_max;
  const size_t length = members.size() <= nodes_max ? 1 : (members.size() + runs_max - 1) / runs_max;
  for (size_t begin = 0; begin < members.size();) {
    size_t end = begin + 1;
    while (end < members.size() && end - begin < length &&
           (!keeps_parts || layers_.PartOf(tier, members[end]) == layers_.PartOf(tier, members[begin]))) {
      ++end;
    }
    for (size_t i = begin; i < end; ++i) node_of_[tier][members[i]] = static_cast<uint32_t>(picture_.nodes.size());
    picture_.nodes.push_back(MakeNode(tier, std::span(members).subspan(begin, end - begin)));
    begin = end;
  }
}

void PictureMaker::MakeNodes(const std::array<size_t, kNumPictureTiers>& nodes_max) {
  picture_.nodes.clear();
  for (size_t tier = 0; tier < kNumPictureTiers; ++tier) {
    node_of_[tier].assign(layers_.Count(tier), kNone);
    AddRuns(tier, nodes_max[tier]);
  }
}

// 2: down, 1: degraded, 0: well.
int PictureMaker::RankOf(LinkId link) const {
  const LinkCondition condition = ConditionOf(link);
  return condition.is_down || condition.health <= 0 ? 2 : condition.health < 1 || condition.is_in_doubt ? 1 : 0;
}

// Args: link: either direction of a cable.
void PictureMaker::AddCable(LinkId link, PictureLink* line) {
  ++line->num_cables;
  line->capacity_bytes_per_s += input_.fabric.capacity(link).value();
  const int rank = std::max(RankOf(link), RankOf(input_.fabric.reverse(link)));
  line->num_down += rank == 2 ? 1 : 0;
  line->num_degraded += rank == 1 ? 1 : 0;
  for (const LinkId one : {link, input_.fabric.reverse(link)}) {
    const double load = ConditionOf(one).load;
    if (RankOf(one) < 2 && std::isfinite(load)) line->load = std::max(line->load, std::clamp(load, 0.0, 1.0));
    std::pair<int, double>& worst = worst_[static_cast<size_t>(line - picture_.links.data())];
    if (std::pair(RankOf(one), load) > worst) {
      worst = {RankOf(one), load};
      line->name = input_.fabric.LinkName(one);
    }
    const auto bins = input_.load_over_time.find(one);
    if (bins == input_.load_over_time.end()) continue;
    line->load_over_time.resize(std::max(line->load_over_time.size(), bins->second.size()));
    for (size_t b = 0; b < bins->second.size(); ++b) {
      line->load_over_time[b] = std::max(line->load_over_time[b], bins->second[b]);
    }
  }
}

void PictureMaker::MakeLinks() {
  picture_.links.clear();
  worst_.clear();
  line_of_.assign(input_.fabric.num_links() / 2 + 1, kNone);
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> lines;
  for (uint32_t l = 0; l < input_.fabric.num_links(); l += 2) {
    const LinkId link(l);
    if (!topology::IsNetwork(input_.fabric.tier(link))) continue;
    auto below = layers_.PlaceOf(input_.fabric.source(link));
    auto above = layers_.PlaceOf(input_.fabric.destination(link));
    if (below.first > above.first) std::swap(below, above);
    const std::pair ends(node_of_[below.first][below.second], node_of_[above.first][above.second]);
    if (ends.first == kNone || ends.second == kNone) continue;
    const auto [line, is_new] = lines.try_emplace(ends, static_cast<uint32_t>(picture_.links.size()));
    if (is_new) {
      picture_.links.push_back({.below = ends.first, .above = ends.second, .name = {}});
      worst_.emplace_back(-1, 0);
    }
    line_of_[l / 2] = line->second;
    AddCable(link, &picture_.links[line->second]);
  }
}

Status PictureMaker::MakeJobs() {
  const std::vector<JobOnLinks>& jobs = input_.jobs;
  picture_.num_jobs = static_cast<uint32_t>(jobs.size());
  std::vector<std::vector<uint32_t>> users(input_.fabric.num_links());  // [link] ascending
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    for (const LinkId link : jobs[j].links) {
      if (!topology::IsNetwork(input_.fabric.tier(link))) continue;
      std::vector<uint32_t>& on = users[link.index()];
      if (on.empty() || on.back() != j) on.push_back(j);
    }
  }
  size_t num_told = 0;
  bool is_found = options_.job.empty();
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    const bool is_asked = !options_.job.empty() && jobs[j].name == options_.job;
    is_found = is_found || is_asked;
    if (picture_.jobs.size() >= options_.jobs_max && !is_asked) continue;
    PictureJob job;
    job.name = jobs[j].name;
    std::set<uint32_t> lines, others;
    for (const LinkId link : jobs[j].links) {
      if (!topology::IsNetwork(input_.fabric.tier(link))) continue;
      if (const uint32_t line = line_of_[link.index() / 2]; line != kNone) lines.insert(line);
      others.insert(users[link.index()].begin(), users[link.index()].end());
    }
    others.erase(j);
    job.num_meets = static_cast<uint32_t>(others.size());
    for (const uint32_t other : others) {
      if (job.meets.size() < kMeetsMax) job.meets.push_back(jobs[other].name);
    }
    job.is_told = is_asked || num_told + lines.size() <= options_.job_links_max;
    if (job.is_told) job.links.assign(lines.begin(), lines.end());
    num_told += job.links.size();
    picture_.jobs.push_back(std::move(job));
  }
  return is_found ? OkStatus() : NotFound(fmt::format("job: there is no '{}' on the network", options_.job));
}

Result<TopologyPicture> PictureMaker::Make() {
  FL_RETURN_IF_ERROR(ChooseMembers());
  for (size_t tier = 0; tier < kNumPictureTiers; ++tier) picture_.num_in_fabric[tier] = layers_.Count(tier);
  std::array<size_t, kNumPictureTiers> nodes_max;
  for (size_t tier = 0; tier < kNumPictureTiers; ++tier) {
    // Of a tier that does not fit, half as many runs: they are wide, and there is room for their names.
    nodes_max[tier] = members_[tier].size() <= options_.nodes_max ? options_.nodes_max : options_.nodes_max / 2;
  }
  while (true) {
    MakeNodes(nodes_max);
    MakeLinks();
    if (picture_.links.size() <= options_.links_max) break;
    std::array<size_t, kNumPictureTiers> num_nodes = {};
    for (const PictureNode& node : picture_.nodes) ++num_nodes[static_cast<size_t>(node.tier)];
    const size_t widest = static_cast<size_t>(std::ranges::max_element(num_nodes) - num_nodes.begin());
    if (num_nodes[widest] <= kLeastNodesMax) break;
    nodes_max[widest] = std::max(kLeastNodesMax, num_nodes[widest] / 2);
  }
  FL_RETURN_IF_ERROR(MakeJobs());
  return std::move(picture_);
}

}  // namespace

std::string_view Name(PictureTier tier) {
  constexpr std::array<std::string_view, kNumPictureTiers> kNames = {"host", "leaf", "spine", "core"};
  return kNames[static_cast<size_t>(tier)];
}

std::string_view Plural(PictureTier tier) {
  constexpr std::array<std::string_view, kNumPictureTiers> kNames = {"hosts", "leaves", "spines", "cores"};
  return kNames[static_cast<size_t>(tier)];
}

Result<TopologyPicture> MakePicture(const PictureInput& input, const PictureOptions& options) {
  return PictureMaker(input, options).Make();
}

Json PictureJson(const TopologyPicture& picture) {
  Json tiers = Json::array();
  for (size_t tier = 0; tier < kNumPictureTiers; ++tier) {
    if (picture.num_in_fabric[tier] == 0) continue;
    const auto of = static_cast<PictureTier>(tier);
    tiers.push_back({{"tier", Name(of)}, {"name", Plural(of)}, {"count", picture.num_in_fabric[tier]}});
  }
  const auto round = [](double load) { return std::round(load * 1000) / 1000; };
  Json nodes = Json::array();
  for (const PictureNode& node : picture.nodes) {
    Json one = {{"name", node.name}, {"tier", Name(node.tier)}};
    if (!node.part.empty()) one["part"] = node.part;
    if (!node.rails.empty()) one["rails"] = node.rails;
    if (node.num_members > 1) one["members"] = node.num_members;
    if (node.num_hosts > 0) one["hosts"] = node.num_hosts;
    if (node.opens) one["opens"] = true;
    nodes.push_back(std::move(one));
  }
  Json links = Json::array();
  for (const PictureLink& link : picture.links) {
    Json one = {{"below", link.below},
                {"above", link.above},
                {"name", link.name},
                {"capacity_bytes_per_s", link.capacity_bytes_per_s},
                {"load", round(link.load)}};
    if (link.num_cables > 1) one["cables"] = link.num_cables;
    if (link.num_down > 0) one["down"] = link.num_down;
    if (link.num_degraded > 0) one["degraded"] = link.num_degraded;
    if (!link.load_over_time.empty()) {
      Json bins = Json::array();
      for (const float load : link.load_over_time) bins.push_back(std::isfinite(load) ? Json(round(load)) : Json());
      one["load_over_time"] = std::move(bins);
    }
    links.push_back(std::move(one));
  }
  Json jobs = Json::array();
  for (const PictureJob& job : picture.jobs) {
    Json one = {{"name", job.name}, {"links", job.is_told ? Json(job.links) : Json()}, {"meets", job.meets}};
    if (job.num_meets > job.meets.size()) one["meets_count"] = job.num_meets;
    jobs.push_back(std::move(one));
  }
  return {{"open", picture.open.empty() ? Json() : Json(picture.open)},
          {"tiers", std::move(tiers)},
          {"nodes", std::move(nodes)},
          {"links", std::move(links)},
          {"jobs", std::move(jobs)},
          {"jobs_count", picture.num_jobs}};
}

}  // namespace fairlead::report

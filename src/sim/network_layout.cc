#include "sim/network_layout.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/random.h"
#include "fluid/equitable_partition.h"

namespace fairlead::sim {

namespace {

constexpr uint32_t kFree = std::numeric_limits<uint32_t>::max();
constexpr uint32_t kUnused = kFree - 1;

// What makes two transfers one variable: phase, bytes, bytes left, top rate, parts, what arrives, contended links; and
// for those that choose their paths by themselves, the transfer.
struct VariableKey {
  uint32_t phase = 0;
  double bytes = 0;
  double left = 0;
  double top_rate = 0;
  uint32_t parts = 1;
  double arrives = 1;
  uint32_t chooser = 0;
  std::vector<TransferLink> contended;

  friend bool operator==(const VariableKey&, const VariableKey&) = default;
};

struct VariableKeyHash {
  size_t operator()(const VariableKey& key) const {
    uint64_t hash = CombineHash(key.phase, std::bit_cast<uint64_t>(key.bytes));
    hash = CombineHash(hash, std::bit_cast<uint64_t>(key.left));
    hash = CombineHash(hash, std::bit_cast<uint64_t>(key.top_rate));
    hash = CombineHash(hash, std::bit_cast<uint64_t>(key.arrives));
    hash = CombineHash(hash, uint64_t{key.chooser} << 32 | key.parts);
    for (const TransferLink& use : key.contended) {
      hash = CombineHash(hash, uint64_t{use.link.value()} << 32 | use.multiplicity);
    }
    return hash;
  }
};

LinkId TightestLink(const TransferRoute& route, const IdVector<LinkId, double>& capacities) {
  LinkId tightest;
  double rate = std::numeric_limits<double>::infinity();
  for (const TransferLink& use : route.links) {
    const double own = capacities[use.link] / use.multiplicity;
    if (own < rate) {
      rate = own;
      tightest = use.link;
    }
  }
  return tightest;
}

// The layout while jobs are added to it.
class NetworkDraft {
 public:
  // All outlive this.
  NetworkDraft(const LinkSharing& sharing, const IdVector<LinkId, double>& capacities,
               const IdVector<LinkId, double>* healthy_capacities)
      : sharing_(sharing), capacities_(capacities), healthy_capacities_(healthy_capacities) {}

  void AddJob(const JobState& job, const std::vector<TransferRoute>& routes);
  // When all jobs are there. Args: aggregates: variables that can't be told apart become one.
  NetworkLayout Finish(bool aggregates);

 private:
  uint32_t num_variables() const { return static_cast<uint32_t>(layout_.variables.size()); }
  uint32_t num_links() const { return static_cast<uint32_t>(layout_.links.size()); }
  uint32_t& PlaceOf(LinkId link);
  std::vector<TransferLink> SelectContended(const TransferRoute& route);
  void AddVariable(uint32_t j, const Transfer& transfer, const TransferRoute& route,
                   std::span<const TransferLink> contended, bool needs_own_link);
  std::vector<fluid::LinkUse> AddLinkUses(std::span<const TransferLink> contended, const TransferRoute& route,
                                          bool needs_own_link);
  void WidenVariables();
  void MergeEqualLinks();
  std::vector<uint32_t> DropEqualLinks();
  void Aggregate();
  std::vector<uint64_t> ColorVariables() const;
  std::vector<uint64_t> ColorLinks() const;
  void KeepFirstVariables(const fluid::EquitablePartition& partition);
  void KeepFirstLinks(const fluid::EquitablePartition& partition);

  const LinkSharing& sharing_;
  const IdVector<LinkId, double>& capacities_;
  const IdVector<LinkId, double>* healthy_capacities_;
  NetworkLayout layout_;
  std::vector<double> left_;  // [variable] bytes of each transfer
  bool chooses_ = false;      // one of the jobs
  // Local link of each link that a transfer uses; kUnused of a contended one that no variable uses yet, kFree of others.
  std::unordered_map<LinkId, uint32_t> place_of_;
};

uint32_t& NetworkDraft::PlaceOf(LinkId link) {
  const auto [entry, is_new] = place_of_.try_emplace(link, kFree);
  if (is_new && sharing_.IsContended(link)) entry->second = kUnused;
  return entry->second;
}

std::vector<TransferLink> NetworkDraft::SelectContended(const TransferRoute& route) {
  std::vector<TransferLink> contended;
  for (const TransferLink& use : route.links) {
    if (PlaceOf(use.link) != kFree) contended.push_back(use);
  }
  return contended;
}

void NetworkDraft::AddJob(const JobState& job, const std::vector<TransferRoute>& routes) {
  const auto j = static_cast<uint32_t>(layout_.first_variable.size());
  std::vector<uint32_t>& first_variable = layout_.first_variable.emplace_back();
  layout_.are_paced |= job.senders.turn.has_value();
  first_variable.assign(job.clock.start_ns.size() + 1, num_variables());
  const bool chooses = job.senders.choice.has_value();
  chooses_ |= chooses;
  std::unordered_map<VariableKey, uint32_t, VariableKeyHash> by_key;
  for (uint32_t t = 0; t < job.transfers.size(); ++t) {
    const Transfer& transfer = job.transfers[t];
    const TransferRoute& route = routes[t];
    const double left = job.is_phase_running && job.phase == transfer.phase ? job.remaining[t] : transfer.bytes;
    const auto [entry, is_new] = by_key.try_emplace({.phase = transfer.phase,
                                                     .bytes = transfer.bytes,
                                                     .left = left,
                                                     .top_rate = route.top_rate,
                                                     .parts = route.parts,
                                                     .arrives = route.arrives,
                                                     .chooser = chooses ? t : 0,
                                                     .contended = SelectContended(route)},
                                                    num_variables());
    if (is_new) {
      AddVariable(j, transfer, route, entry->first.contended, chooses || job.senders.turn.has_value());
      left_.push_back(left);
      std::fill(first_variable.begin() + transfer.phase + 1, first_variable.end(), num_variables());
    }
    layout_.variables[entry->second].transfers.push_back(t);
  }
}

void NetworkDraft::AddVariable(uint32_t j, const Transfer& transfer, const TransferRoute& route,
                               std::span<const TransferLink> contended, bool needs_own_link) {
  layout_.uses.push_back(AddLinkUses(contended, route, needs_own_link));
  FluidVariable& added = layout_.variables.emplace_back();
  added.job = j;
  added.phase = transfer.phase;
  added.bytes = transfer.bytes;
  added.top_rate = route.top_rate;
  added.parts = route.parts;
  added.arrives = route.arrives;
  added.tightest = TightestLink(route, capacities_);
  if (healthy_capacities_ != nullptr && added.tightest.valid()) {
    added.tightest_health = capacities_[added.tightest] / (*healthy_capacities_)[added.tightest];
  }
}

// Local links of the variable that is about to be added. Links that no variable has used before are added, and so is
// this one's own link, the last, where no contended link holds it to its top rate (of one transfer; widened later), or
// where it is told its rate.
std::vector<fluid::LinkUse> NetworkDraft::AddLinkUses(std::span<const TransferLink> contended,
                                                      const TransferRoute& route, bool needs_own_link) {
  const uint32_t variable = num_variables();
  std::vector<fluid::LinkUse> uses;
  double contended_rate = std::numeric_limits<double>::infinity();
  for (const auto& [link, multiplicity] : contended) {
    contended_rate = std::min(contended_rate, capacities_[link] / multiplicity * route.parts);
    uint32_t& place = PlaceOf(link);
    if (place == kUnused) {
      place = num_links();
      layout_.links.push_back({.link = link, .capacity = capacities_[link]});
    }
    layout_.links[place].users.push_back({variable, multiplicity});
    uses.push_back({place, multiplicity});
  }
  if (contended_rate > route.top_rate || contended.empty() || needs_own_link) {
    uses.push_back({num_links(), 1});
    layout_.links.push_back({.link = LinkId(), .capacity = route.top_rate, .users = {{variable, 1}}});
  }
  return uses;
}

NetworkLayout NetworkDraft::Finish(bool aggregates) {
  WidenVariables();
  const bool has_bundles = std::ranges::any_of(layout_.variables, [](const FluidVariable& v) { return v.parts > 1; });
  if (has_bundles) MergeEqualLinks();
  if (aggregates && !chooses_ && !layout_.are_paced) Aggregate();
  return std::move(layout_);
}

void NetworkDraft::WidenVariables() {
  for (uint32_t v = 0; v < num_variables(); ++v) {
    FluidVariable& variable = layout_.variables[v];
    variable.width = static_cast<double>(variable.transfers.size()) / variable.parts;
    LocalLink& last = layout_.links[layout_.uses[v].back().link];
    if (!last.link.valid()) last.capacity *= variable.width;
  }
}

void NetworkDraft::MergeEqualLinks() {
  const std::vector<uint32_t> place = DropEqualLinks();
  for (std::vector<fluid::LinkUse>& uses : layout_.uses) {
    std::vector<fluid::LinkUse> merged;
    for (const fluid::LinkUse& use : uses) {
      const auto is_there = [&](const fluid::LinkUse& other) { return other.link == place[use.link]; };
      if (std::ranges::none_of(merged, is_there)) merged.push_back({place[use.link], use.multiplicity});
    }
    uses = std::move(merged);
  }
}

// Keeps the first of those that are alike. Returns [local link before] which one stands for it.
std::vector<uint32_t> NetworkDraft::DropEqualLinks() {
  using Users = std::vector<std::pair<uint32_t, uint32_t>>;
  std::map<std::pair<double, Users>, uint32_t> kept;
  std::vector<uint32_t> place;
  std::vector<LocalLink> links;
  for (LocalLink& link : layout_.links) {
    place.push_back(static_cast<uint32_t>(links.size()));
    if (link.link.valid()) {
      Users users;
      for (const LinkUser& user : link.users) users.emplace_back(user.variable, user.multiplicity);
      const auto [entry, is_new] = kept.try_emplace({link.capacity, std::move(users)}, place.back());
      place.back() = entry->second;
      if (!is_new) continue;
    }
    links.push_back(std::move(link));
  }
  layout_.links = std::move(links);
  return place;
}

void NetworkDraft::Aggregate() {
  const fluid::EquitablePartition partition =
      fluid::FindEquitablePartition(ColorVariables(), ColorLinks(), layout_.uses);
  if (partition.first_flow.size() == layout_.variables.size()) return;
  layout_.uses = fluid::QuotientRoutes(partition, layout_.uses);
  KeepFirstVariables(partition);
  KeepFirstLinks(partition);
}

// What the network does not know, and what must be equal for two variables to have one future.
std::vector<uint64_t> NetworkDraft::ColorVariables() const {
  using Color = std::tuple<uint32_t, uint32_t, double, double, double, uint32_t, double, double, double>;
  std::map<Color, uint64_t> known;
  std::vector<uint64_t> colors;
  for (uint32_t v = 0; v < num_variables(); ++v) {
    const FluidVariable& variable = layout_.variables[v];
    const Color color(variable.job, variable.phase, variable.bytes, left_[v], variable.top_rate, variable.parts,
                      variable.width, variable.tightest_health, variable.arrives);
    colors.push_back(known.try_emplace(color, known.size()).first->second);
  }
  return colors;
}

std::vector<uint64_t> NetworkDraft::ColorLinks() const {
  std::map<std::tuple<bool, double, double>, uint64_t> known;
  std::vector<uint64_t> colors;
  for (const LocalLink& link : layout_.links) {
    const bool is_shared = link.link.valid();
    const double healthy = is_shared && healthy_capacities_ != nullptr ? (*healthy_capacities_)[link.link] : 0;
    colors.push_back(known.try_emplace({is_shared, link.capacity, healthy}, known.size()).first->second);
  }
  return colors;
}

void NetworkDraft::KeepFirstVariables(const fluid::EquitablePartition& partition) {
  std::vector<FluidVariable> kept;
  for (const uint32_t first : partition.first_flow) kept.push_back(std::move(layout_.variables[first]));
  for (uint32_t v = 0; v < partition.flow_class.size(); ++v) {
    FluidVariable& of_class = kept[partition.flow_class[v]];
    if (v == partition.first_flow[partition.flow_class[v]]) continue;
    const std::vector<uint32_t>& more = layout_.variables[v].transfers;
    of_class.transfers.insert(of_class.transfers.end(), more.begin(), more.end());
    ++of_class.num_alike;
  }
  for (FluidVariable& variable : kept) std::ranges::sort(variable.transfers);
  layout_.variables = std::move(kept);
  for (std::vector<uint32_t>& of_job : layout_.first_variable) {
    for (uint32_t& first : of_job) {
      const auto next = std::ranges::lower_bound(partition.first_flow, first);
      first = static_cast<uint32_t>(next - partition.first_flow.begin());
    }
  }
}

void NetworkDraft::KeepFirstLinks(const fluid::EquitablePartition& partition) {
  std::vector<LocalLink> kept;
  for (const uint32_t first : partition.first_link) {
    kept.push_back({.link = layout_.links[first].link, .capacity = layout_.links[first].capacity});
  }
  layout_.links = std::move(kept);
  for (uint32_t v = 0; v < num_variables(); ++v) {
    std::stable_partition(layout_.uses[v].begin(), layout_.uses[v].end(),
                          [&](const fluid::LinkUse& use) { return layout_.links[use.link].link.valid(); });
    for (const fluid::LinkUse& use : layout_.uses[v]) layout_.links[use.link].users.push_back({v, use.multiplicity});
  }
}

}  // namespace

NetworkLayout ComputeNetworkLayout(std::span<const JobState* const> jobs,
                                   std::span<const std::vector<TransferRoute>* const> routes,
                                   const LinkSharing& sharing, const IdVector<LinkId, double>& capacities,
                                   const IdVector<LinkId, double>* healthy_capacities, bool aggregates) {
  NetworkDraft draft(sharing, capacities, healthy_capacities);
  for (size_t j = 0; j < jobs.size(); ++j) draft.AddJob(*jobs[j], *routes[j]);
  return draft.Finish(aggregates);
}

}  // namespace fairlead::sim

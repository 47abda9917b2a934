#include "sim/network_layout.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace fairlead::sim {

namespace {

// What makes two transfers one variable: phase, bytes, bytes left, top rate, parts, contended links; and for those that
// choose their paths by themselves, the transfer.
using VariableKey = std::tuple<uint32_t, double, double, double, uint32_t, std::vector<TransferLink>, uint32_t>;

std::vector<TransferLink> SelectContended(const TransferRoute& route, const LinkSharing& sharing) {
  std::vector<TransferLink> contended;
  for (const TransferLink& use : route.links) {
    if (sharing.IsContended(use.link)) contended.push_back(use);
  }
  return contended;
}

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
  // When all jobs are there.
  NetworkLayout Finish();

 private:
  uint32_t num_variables() const { return static_cast<uint32_t>(layout_.variables.size()); }
  uint32_t num_links() const { return static_cast<uint32_t>(layout_.links.size()); }
  void AddVariable(uint32_t j, const Transfer& transfer, const TransferRoute& route,
                   std::span<const TransferLink> contended, bool needs_own_link);
  std::vector<fluid::LinkUse> AddLinkUses(std::span<const TransferLink> contended, const TransferRoute& route,
                                          bool needs_own_link);
  void WidenVariables();
  void MergeEqualLinks();
  std::vector<uint32_t> DropEqualLinks();

  const LinkSharing& sharing_;
  const IdVector<LinkId, double>& capacities_;
  const IdVector<LinkId, double>* healthy_capacities_;
  NetworkLayout layout_;
  std::map<LinkId, uint32_t> local_of_;  // contended links
};

void NetworkDraft::AddJob(const JobState& job, const std::vector<TransferRoute>& routes) {
  const auto j = static_cast<uint32_t>(layout_.first_variable.size());
  std::vector<uint32_t>& first_variable = layout_.first_variable.emplace_back();
  layout_.are_paced |= job.senders.turn.has_value();
  first_variable.assign(job.clock.start_ns.size() + 1, num_variables());
  const bool chooses = job.senders.choice.has_value();
  std::map<VariableKey, uint32_t> by_key;
  for (uint32_t t = 0; t < job.transfers.size(); ++t) {
    const Transfer& transfer = job.transfers[t];
    const TransferRoute& route = routes[t];
    std::vector<TransferLink> contended = SelectContended(route, sharing_);
    const double left = job.is_phase_running && job.phase == transfer.phase ? job.remaining[t] : transfer.bytes;
    const auto [entry, is_new] = by_key.try_emplace(
        {transfer.phase, transfer.bytes, left, route.top_rate, route.parts, contended, chooses ? t : 0},
        num_variables());
    if (is_new) {
      AddVariable(j, transfer, route, contended, chooses || job.senders.turn.has_value());
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
    const auto [local, is_new] = local_of_.try_emplace(link, num_links());
    if (is_new) layout_.links.push_back({.link = link, .capacity = capacities_[link]});
    layout_.links[local->second].users.push_back({variable, multiplicity});
    uses.push_back({local->second, multiplicity});
  }
  if (contended_rate > route.top_rate || contended.empty() || needs_own_link) {
    uses.push_back({num_links(), 1});
    layout_.links.push_back({.link = LinkId(), .capacity = route.top_rate, .users = {{variable, 1}}});
  }
  return uses;
}

NetworkLayout NetworkDraft::Finish() {
  WidenVariables();
  const bool has_bundles = std::ranges::any_of(layout_.variables, [](const FluidVariable& v) { return v.parts > 1; });
  if (has_bundles) MergeEqualLinks();
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

}  // namespace

NetworkLayout ComputeNetworkLayout(std::span<const JobState* const> jobs,
                                   std::span<const std::vector<TransferRoute>* const> routes,
                                   const LinkSharing& sharing, const IdVector<LinkId, double>& capacities,
                                   const IdVector<LinkId, double>* healthy_capacities) {
  NetworkDraft draft(sharing, capacities, healthy_capacities);
  for (size_t j = 0; j < jobs.size(); ++j) draft.AddJob(*jobs[j], *routes[j]);
  return draft.Finish();
}

}  // namespace fairlead::sim

#include "sim/domain_network.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace fairlead::sim {

namespace {

std::vector<double> CapacitiesOf(std::span<const LocalLink> links) {
  std::vector<double> capacities;
  for (const LocalLink& link : links) capacities.push_back(link.capacity);
  return capacities;
}

}  // namespace

DomainNetwork::DomainNetwork(NetworkLayout layout, std::vector<uint32_t> levels, CongestionPoints* congestion)
    : levels_(std::move(levels)),
      variables_(std::move(layout.variables)),
      first_variable_(std::move(layout.first_variable)),
      links_(std::move(layout.links)),
      network_(CapacitiesOf(links_)),
      num_sending_(levels_.size()) {
  FL_CHECK(first_variable_.size() == levels_.size());
  for (size_t v = 0; v < variables_.size(); ++v) {
    FluidVariable& variable = variables_[v];
    variable.flow = network_.AddFlow(layout.uses[v], levels_[variable.job], variable.weight());
    FL_CHECK(variable.flow.index() == v);
  }
  if (layout.are_paced) {
    for (const std::vector<fluid::LinkUse>& uses : layout.uses) {
      const bool has_own = !links_[uses.back().link].link.valid();
      paces_.push_back({.own_link = has_own ? uses.back().link : fluid::kNoLink});
    }
  }
  if (congestion != nullptr) AddCongestion(congestion, std::move(layout.uses));
}

// Args: uses: [variable].
void DomainNetwork::AddCongestion(CongestionPoints* points, std::vector<std::vector<fluid::LinkUse>> uses) {
  points_ = points;
  std::vector<uint8_t> marks;
  for (const LocalLink& link : links_) marks.push_back(link.link.valid() && points->Marks(link.link));
  std::vector<CongestionLoss::Flow> flows;
  for (size_t v = 0; v < variables_.size(); ++v) {
    const FluidVariable& variable = variables_[v];
    flows.push_back({.id = variable.flow,
                     .job = variable.job,
                     .level = levels_[variable.job],
                     .num_pairs = variable.width,
                     .top_rate = variable.top_rate,
                     .uses = std::move(uses[v])});
  }
  congestion_ = std::make_unique<CongestionLoss>(points, &network_, marks, std::move(flows), levels_.size());
}

void DomainNetwork::SettleQueues(int64_t local_ns) {
  if (congestion_ == nullptr) return;
  congestion_->CountUntil(local_ns);
  for (uint32_t l = 0; l < links_.size(); ++l) {
    const double most = congestion_->most_queued(l);
    if (most > 0) points_->AddQueue(links_[l].link, {congestion_->totals().queue_byte_s[l], most});
  }
}

void DomainNetwork::SetPace(const FluidVariable& variable, double per_s, uint32_t local_link) {
  Pace& pace = paces_[variable.flow.index()];
  pace.reason = local_link;
  network_.SetCapacity(pace.own_link, per_s);
}

void DomainNetwork::SetRoute(const FluidVariable& variable, std::span<const fluid::LinkUse> from,
                             std::span<const fluid::LinkUse> to, double per_s) {
  const auto v = static_cast<uint32_t>(variable.flow.index());
  for (const fluid::LinkUse& use : from) {
    std::erase_if(links_[use.link].users, [v](const LinkUser& user) { return user.variable == v; });
  }
  for (const fluid::LinkUse& use : to) links_[use.link].users.push_back({v, use.multiplicity});
  network_.SetRoute(variable.flow, to);
  network_.SetCapacity(to.back().link, per_s);
}

const LocalLink* DomainNetwork::FindBottleneck(const FluidVariable& variable) {
  uint32_t local = network_.BottleneckLink(variable.flow);
  if (!paces_.empty() && local == paces_[variable.flow.index()].own_link) local = paces_[variable.flow.index()].reason;
  return local < links_.size() && links_[local].link.valid() ? &links_[local] : nullptr;
}

std::vector<uint32_t> ComputeLocalLevels(std::span<const JobState* const> jobs) {
  std::vector<uint32_t> distinct;
  for (const JobState* job : jobs) distinct.push_back(job->level);
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<uint32_t> local;
  for (const JobState* job : jobs) {
    const auto rank = std::lower_bound(distinct.begin(), distinct.end(), job->level) - distinct.begin();
    local.push_back(std::min(static_cast<uint32_t>(rank), fluid::FlowNetwork::kMaxLevels - 1));
  }
  return local;
}

}  // namespace fairlead::sim

#include "sim/congestion_loss.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace fairlead::sim {

namespace {

// Rounding must neither overload a link nor keep it from being full, nor tell equal shares apart.
constexpr double kSlack = 1e-9;

constexpr double kRoundedBits = 1024;

// Capacities that differ by less are the same: rounding must not cost a solution.
constexpr double kSameCapacity = 1e-11;

// Flows of the network without loss never end by themselves.
constexpr double kEndlessBytes = 1e15;

double RoundFlows(double num_flows) {
  int exponent = 0;
  const double mantissa = std::frexp(num_flows, &exponent);
  return std::ldexp(std::round(mantissa * kRoundedBits) / kRoundedBits, exponent);
}

std::vector<double> CapacitiesOf(const fluid::FlowNetwork& network, size_t num_links) {
  std::vector<double> capacities(num_links);
  for (uint32_t link = 0; link < num_links; ++link) capacities[link] = network.capacity(link);
  return capacities;
}

}  // namespace

IdVector<LinkId, uint8_t> FindMarkingLinks(const topology::Fabric& fabric) {
  IdVector<LinkId, uint8_t> marks(fabric.num_links(), 0);
  for (size_t i = 0; i < fabric.num_links(); ++i) {
    const LinkId link(i);
    marks[link] = topology::IsNetworkSwitch(fabric.kind(fabric.source(link)));
  }
  return marks;
}

const fluid::DcqcnOperatingPoint& CongestionPoints::Find(double capacity, double rate) {
  FL_DCHECK(rate > 0);
  const double num_flows = RoundFlows(capacity / rate);
  const auto [entry, is_new] = points_.try_emplace({capacity, num_flows});
  if (is_new) entry->second = fluid::SolveDcqcn(capacity, num_flows, options_);
  return entry->second;
}

void CongestionPoints::AddQueue(LinkId link, const LinkQueue& queue) {
  queues_[link].byte_s += queue.byte_s;
  queues_[link].most = std::max(queues_[link].most, queue.most);
}

CongestionLoss::CongestionLoss(CongestionPoints* points, fluid::FlowNetwork* network, std::span<const uint8_t> marks,
                               std::vector<Flow> flows, size_t num_jobs)
    : points_(points),
      network_(network),
      lossless_(CapacitiesOf(*network, marks.size())),
      links_(marks.size()),
      flows_(std::move(flows)),
      rates_{.jobs = std::vector<CongestionTotals>(num_jobs), .queue_byte_s = std::vector<double>(marks.size())},
      totals_(rates_),
      most_queued_(marks.size()) {
  for (uint32_t link = 0; link < links_.size(); ++link) {
    links_[link].capacity = network_->capacity(link);
    links_[link].marks = marks[link] != 0;
  }
  std::stable_sort(flows_.begin(), flows_.end(), [](const Flow& a, const Flow& b) { return a.level < b.level; });
  for (const Flow& flow : flows_) lossless_.AddFlow(flow.uses, flow.level, flow.num_pairs);
}

void CongestionLoss::CountUntil(int64_t now_ns) {
  const double seconds = static_cast<double>(now_ns - counted_until_ns_) * 1e-9;
  counted_until_ns_ = now_ns;
  if (seconds > 0) totals_.Add(rates_, seconds);
}

void CongestionLoss::Update(int64_t now_ns) {
  if (!FindActive()) return;
  CountUntil(now_ns);
  FollowActive();
  std::ranges::fill(rates_.jobs, CongestionTotals());
  std::ranges::fill(rates_.queue_byte_s, 0);
  if (AddUpDemand()) {
    const auto level_of = [this](uint32_t f) { return flows_[f].level; };
    for (auto begin = active_.cbegin(); begin != active_.cend();) {
      const auto end = std::find_if(begin, active_.cend(), [&](uint32_t f) { return level_of(f) != level_of(*begin); });
      HoldBackLevel({begin, end});
      begin = end;
    }
  }
  for (const uint32_t l : touched_) most_queued_[l] = std::max(most_queued_[l], rates_.queue_byte_s[l]);
  SetCapacities();
}

// False when the active flows are those of the last time.
bool CongestionLoss::FindActive() {
  std::swap(active_, active_before_);
  active_.clear();
  for (uint32_t f = 0; f < flows_.size(); ++f) {
    if (network_->active(flows_[f].id)) active_.push_back(f);
  }
  return active_ != active_before_;
}

// Starts and stops the same flows without loss.
void CongestionLoss::FollowActive() {
  std::vector<uint32_t> changed;
  std::ranges::set_symmetric_difference(active_before_, active_, std::back_inserter(changed));
  for (const uint32_t f : changed) {
    const fluid::FlowId id(f);
    if (lossless_.active(id)) {
      lossless_.Cancel(id);
    } else {
      lossless_.Start(id, kEndlessBytes);
    }
  }
}

// True when a link that marks is overloaded. What was found for the flows before is forgotten.
bool CongestionLoss::AddUpDemand() {
  for (const uint32_t l : touched_) links_[l] = {.capacity = links_[l].capacity, .marks = links_[l].marks};
  touched_.clear();
  bool any = false;
  for (const uint32_t f : active_) {
    const Flow& flow = flows_[f];
    for (const fluid::LinkUse& use : flow.uses) {
      Link& link = links_[use.link];
      if (!link.is_touched) touched_.push_back(use.link);
      link.is_touched = true;
      link.demand += use.multiplicity * flow.num_pairs * flow.top_rate;
      any |= link.marks && link.demand > link.capacity * (1 + kSlack);
    }
  }
  return any;
}

void CongestionLoss::SetCapacities() {
  for (const uint32_t l : reduced_) {
    if (links_[l].lost == 0) network_->SetCapacity(l, links_[l].capacity);
  }
  reduced_.clear();
  for (const uint32_t l : touched_) {
    const Link& link = links_[l];
    if (link.lost == 0) continue;
    reduced_.push_back(l);
    const double capacity = link.capacity - link.lost;
    if (std::abs(capacity - network_->capacity(l)) > kSameCapacity * capacity) network_->SetCapacity(l, capacity);
  }
}

// Args: the active flows of one level, after those of the levels that go first.
void CongestionLoss::HoldBackLevel(std::span<const uint32_t> flows) {
  for (const uint32_t f : flows) {
    for (const fluid::LinkUse& use : flows_[f].uses) {
      links_[use.link].level_rate = 0;
      links_[use.link].top_share = 0;
      links_[use.link].point = nullptr;
      links_[use.link].has_queue = false;
    }
  }
  shares_.clear();
  for (const uint32_t f : flows) {
    const Flow& flow = flows_[f];
    const double rate = lossless_.Rate(fluid::FlowId(f));
    shares_.push_back(rate / flow.num_pairs);
    for (const fluid::LinkUse& use : flow.uses) {
      Link& link = links_[use.link];
      link.used += use.multiplicity * rate;
      link.level_rate += use.multiplicity * rate;
      link.top_share = std::max(link.top_share, shares_.back());
    }
  }
  for (size_t i = 0; i < flows.size(); ++i) HoldBack(flows_[flows[i]], shares_[i]);
}

void CongestionLoss::HoldBack(const Flow& flow, double share) {
  if (share <= 0 || IsPaced(flow, share)) return;
  bool is_counted = false;
  for (const fluid::LinkUse& use : flow.uses) {
    Link& link = links_[use.link];
    if (link.demand <= link.capacity * (1 + kSlack) || !Holds(link, share)) continue;
    if (link.point == nullptr) link.point = &points_->Find(link.capacity, link.top_share);
    const double num_pairs = use.multiplicity * flow.num_pairs;
    const double held = num_pairs * share;
    const double lost = held * (1 - link.point->efficiency);
    link.lost += lost;
    if (is_counted) continue;
    is_counted = true;
    if (!std::exchange(link.has_queue, true)) rates_.queue_byte_s[use.link] += link.point->queue.value();
    rates_.jobs[flow.job].Add({.cnps = num_pairs * link.point->cnps_per_second_per_flow,
                               .lost_bytes = lost,
                               .held_bytes = held,
                               .wait_byte_s = held * link.point->queue.value() / link.level_rate});
  }
}

bool CongestionLoss::IsPaced(const Flow& flow, double share) const {
  return std::any_of(flow.uses.begin(), flow.uses.end(), [&](const fluid::LinkUse& use) {
    return !links_[use.link].marks && Holds(links_[use.link], share);
  });
}

// The link is full, and no flow of this level has more of it.
bool CongestionLoss::Holds(const Link& link, double share) {
  return link.used >= link.capacity * (1 - kSlack) && share >= link.top_share * (1 - kSlack);
}

}  // namespace fairlead::sim

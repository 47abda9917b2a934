#include "node_check/pair_rounds.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "base/statistics.h"

namespace fairlead::node_check {
namespace {

using Outcome = TransferResult::Outcome;

// So few hosts have nothing that is usual among them, and need not be a region.
constexpr size_t kLikeMin = 3;

}  // namespace

std::string_view Name(TransferFault fault) {
  switch (fault) {
    case TransferFault::kNone:
      return "none";
    case TransferFault::kFailed:
      return "failed";
    case TransferFault::kSlow:
      return "slow";
    case TransferFault::kLossy:
      return "lossy";
  }
  return "";
}

std::string_view Name(HostVerdict::Kind kind) {
  switch (kind) {
    case HostVerdict::Kind::kPassed:
      return "passed";
    case HostVerdict::Kind::kFailed:
      return "failed";
    case HostVerdict::Kind::kUndecided:
      return "undecided";
  }
  return "";
}

PairRounds::PairRounds(std::vector<CheckedHost> hosts, const PairRoundOptions& options)
    : hosts_(std::move(hosts)), options_(options), seen_(hosts_.size()) {
  FL_CHECK(hosts_.size() >= 2);
  FL_CHECK(std::ranges::all_of(hosts_, [](const CheckedHost& host) { return host.num_nics > 0; }));
  regions_ = SplitIntoRegions(hosts_, kLikeMin);
  BeginRound(FirstRound());
  num_steps_ = 2 * steps_.size();  // the second round is of the same kind
  PlanStep();
}

void PairRounds::BeginRound(std::span<const HostGroup> groups) {
  steps_ = ScheduleSteps(groups, hosts_);
  step_of_round_ = 0;
  num_steps_ = num_finished_ + steps_.size();
}

void PairRounds::BeginNextRound() {
  constexpr uint32_t kLastRound = 2;
  while (step_of_round_ == steps_.size() && round_ < kLastRound) {
    ++round_;
    BeginRound(round_ == 1 ? SecondRound() : ThirdRound());
  }
}

void PairRounds::PlanStep() {
  step_.clear();
  if (step_of_round_ == steps_.size()) return;
  for (const auto& [sender, receiver] : steps_[step_of_round_]) {
    const uint32_t num_nics = std::min(hosts_[sender].num_nics, hosts_[receiver].num_nics);
    for (uint32_t nic = 0; nic < num_nics; ++nic) step_.push_back({sender, receiver, nic, nic});
  }
}

void PairRounds::Finish(std::span<const TransferResult> results) {
  FL_CHECK(!step_.empty() && results.size() == step_.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const Transfer& transfer = step_[i];
    const TransferResult& result = results[i];
    if (result.outcome == Outcome::kNoAnswer) continue;
    const Sight sight{.distance = DistanceOf(hosts_[transfer.sender], hosts_[transfer.receiver]),
                      .has_failed = result.outcome == Outcome::kFailed,
                      .rate = result.outcome == Outcome::kFailed ? 0 : result.rate,
                      .lost_share = result.lost_share};
    Note(transfer.sender, transfer.receiver, {transfer.sender_nic, true}, sight);
    Note(transfer.receiver, transfer.sender, {transfer.receiver_nic, false}, sight);
  }
  ++num_finished_;
  ++step_of_round_;
  BeginNextRound();
  PlanStep();
}

void PairRounds::Note(uint32_t host, uint32_t partner, Side side, const Sight& sight) {
  const auto [place, is_new] = seen_[host][side].try_emplace(partner, sight);
  if (!is_new && sight.rate > place->second.rate) place->second = sight;
}

std::vector<HostGroup> PairRounds::FirstRound() const {
  std::vector<HostGroup> groups;
  for (const HostGroup& region : regions_) std::ranges::move(PairUp(region), std::back_inserter(groups));
  return groups;
}

std::vector<HostGroup> PairRounds::SecondRound() const {
  const std::vector<double> shares = WorstShares();
  std::vector<HostGroup> groups;
  for (const HostGroup& region : regions_) {
    std::ranges::move(PairFastWithSlow(region, shares), std::back_inserter(groups));
  }
  return groups;
}

std::vector<double> PairRounds::WorstShares() const {
  const UsualOfDistances usual = UsualOfAll();
  std::vector<double> shares;
  for (const std::map<Side, Sights>& sides : seen_) {
    std::optional<double> worst;
    for (const auto& [side, sights] : sides) {
      double best = 0;
      for (const auto& [partner, sight] : sights) best = std::max(best, ShareOf(sight, usual));
      worst = std::min(worst.value_or(best), best);
    }
    shares.push_back(worst.value_or(0));
  }
  return shares;
}

// Those that were together meet others, if there are any.
std::vector<HostGroup> PairRounds::PairFastWithSlow(HostGroup hosts, std::span<const double> shares) const {
  std::ranges::stable_sort(hosts, std::greater(), [&](uint32_t host) { return shares[host]; });
  const size_t num_pairs = hosts.size() / 2;
  HostGroup fast(hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(num_pairs));
  HostGroup slow(hosts.rbegin(), hosts.rbegin() + static_cast<std::ptrdiff_t>(num_pairs));
  const auto have_met = [this](uint32_t one, uint32_t other) { return PartnersOf(one).contains(other); };
  for (size_t i = 0; i < num_pairs; ++i) {
    if (!have_met(fast[i], slow[i])) continue;
    for (size_t k = 0; k < num_pairs; ++k) {
      if (k == i || have_met(fast[i], slow[k]) || have_met(fast[k], slow[i])) continue;
      std::swap(slow[i], slow[k]);
      break;
    }
  }
  HostGroup list;
  for (size_t i = 0; i < num_pairs; ++i) list.insert(list.end(), {fast[i], slow[i]});
  if (hosts.size() % 2 == 1) list.push_back(hosts[num_pairs]);
  return PairUp(list);
}

std::vector<HostGroup> PairRounds::ThirdRound() const {
  const std::vector<bool> are_well = AreWell(UsualOfAll());
  std::vector<uint32_t> well;
  for (uint32_t h = 0; h < hosts_.size(); ++h) {
    if (are_well[h]) well.push_back(h);
  }
  std::vector<HostGroup> groups;
  for (uint32_t h = 0; h < hosts_.size(); ++h) {
    if (!IsAmongTheBad(h, are_well)) continue;
    const std::set<uint32_t> met = PartnersOf(h);
    const auto partner = std::ranges::find_if(well, [&](uint32_t other) { return !met.contains(other); });
    if (partner == well.end()) continue;
    groups.push_back({h, *partner});
    well.erase(partner);
  }
  return groups;
}

PairRounds::Usual PairRounds::UsualOf(std::optional<Distance> distance, const std::vector<bool>& suspects) const {
  const Usual sent = UsualOf(true, distance, suspects);
  const Usual received = UsualOf(false, distance, suspects);
  return {.rate = std::max(sent.rate, received.rate), .lost_share = std::min(sent.lost_share, received.lost_share)};
}

PairRounds::Usual PairRounds::UsualOf(bool sends, std::optional<Distance> distance,
                                      const std::vector<bool>& suspects) const {
  std::vector<double> rates;
  std::vector<double> losses;
  for (uint32_t h = 0; h < hosts_.size(); ++h) {
    std::vector<double> rates_of_host;
    std::vector<double> losses_of_host;
    for (const auto& [side, sights] : seen_[h]) {
      if (side.sends != sends) continue;
      const Sight* best = nullptr;
      for (const auto& [partner, sight] : sights) {
        if (sight.has_failed || sight.distance != distance.value_or(sight.distance)) continue;
        if (suspects[h] || suspects[partner]) continue;
        if (best == nullptr || sight.rate > best->rate) best = &sight;
      }
      if (best == nullptr) continue;
      rates_of_host.push_back(best->rate);
      losses_of_host.push_back(best->lost_share);
    }
    if (rates_of_host.empty()) continue;
    rates.push_back(MedianInPlace(rates_of_host));
    losses.push_back(MedianInPlace(losses_of_host));
  }
  return {.rate = MedianInPlace(rates), .lost_share = MedianInPlace(losses)};
}

std::optional<PairRounds::Likes> PairRounds::FindLikes(Distance distance, const std::vector<bool>& suspects) const {
  std::map<uint32_t, size_t> num_partners;  // of each host that has any over this distance
  for (uint32_t h = 0; h < hosts_.size(); ++h) {
    std::set<uint32_t> partners;
    for (const auto& [side, sights] : seen_[h]) {
      for (const auto& [partner, sight] : sights) {
        if (!sight.has_failed && sight.distance == distance && !suspects[h] && !suspects[partner]) {
          partners.insert(partner);
        }
      }
    }
    if (!partners.empty()) num_partners[h] = partners.size();
  }
  if (num_partners.size() < kLikeMin) return std::nullopt;
  size_t num_ends = 0;
  for (const auto& [host, count] : num_partners) num_ends += count;
  Likes likes;
  for (const auto& [host, count] : num_partners) {
    if (2 * count == num_ends) likes.centre = host;
  }
  return likes;
}

bool PairRounds::IsBadOver(Distance distance, uint32_t host, const UsualOfDistances& usual) const {
  return std::ranges::any_of(seen_[host] | std::views::values, [&](const Sights& sights) {
    size_t num_bad = 0;
    size_t num_seen = 0;
    for (const auto& [partner, sight] : sights) {
      if (sight.distance != distance) continue;
      ++num_seen;
      num_bad += FaultOf(sight, usual) == TransferFault::kNone ? 0 : 1;
    }
    return num_seen >= 2 && num_bad == num_seen;
  });
}

PairRounds::UsualOfDistances PairRounds::UsualOfAll() const {
  std::vector<bool> suspects(hosts_.size());  // bad over a smaller distance
  const Usual all = UsualOf(std::nullopt, suspects);
  UsualOfDistances usual = {all, all, all};
  for (const Distance distance : {Distance::kLeaf, Distance::kPod, Distance::kCore}) {
    const std::optional<Likes> likes = FindLikes(distance, suspects);
    if (!likes.has_value()) continue;
    Usual* found = &usual[static_cast<size_t>(distance)];
    *found = UsualOf(distance, suspects);
    found->likes = likes;
    for (uint32_t h = 0; h < hosts_.size(); ++h) suspects[h] = suspects[h] || IsBadOver(distance, h, usual);
  }
  return usual;
}

double PairRounds::usual_rate() const { return UsualOf(std::nullopt, std::vector<bool>(hosts_.size())).rate; }

double PairRounds::ShareOf(const Sight& sight, const UsualOfDistances& usual) {
  return sight.rate / std::max(LikeOf(sight, usual).rate, 1.0);
}

TransferFault PairRounds::FaultOf(const Sight& sight, const UsualOfDistances& usual) const {
  const Usual& like = LikeOf(sight, usual);
  if (sight.has_failed) return TransferFault::kFailed;
  if (sight.rate < options_.slow_below * like.rate) return TransferFault::kSlow;
  const bool is_lossy =
      sight.lost_share > options_.lossy_above && sight.lost_share > options_.lossy_ratio * like.lost_share;
  return is_lossy ? TransferFault::kLossy : TransferFault::kNone;
}

bool PairRounds::IsSure(uint32_t host, const Sight& sight, const UsualOfDistances& usual) const {
  const TransferFault fault = FaultOf(sight, usual);
  if (fault != TransferFault::kSlow) return fault != TransferFault::kNone;
  const std::optional<Likes>& likes = LikeOf(sight, usual).likes;
  if (likes.has_value()) return likes->centre != host;
  return sight.distance == Distance::kLeaf;  // slower than others over greater distances
}

bool PairRounds::IsBadWith(uint32_t host, uint32_t partner, const UsualOfDistances& usual, bool surely) const {
  return std::ranges::any_of(seen_[host], [&](const auto& one) {
    const auto sight = one.second.find(partner);
    if (sight == one.second.end()) return false;
    return surely ? IsSure(host, sight->second, usual) : FaultOf(sight->second, usual) != TransferFault::kNone;
  });
}

std::set<uint32_t> PairRounds::PartnersOf(uint32_t host) const {
  std::set<uint32_t> partners;
  for (const auto& [side, sights] : seen_[host]) {
    for (const auto& [partner, sight] : sights) partners.insert(partner);
  }
  return partners;
}

std::vector<bool> PairRounds::AreWell(const UsualOfDistances& usual) const {
  std::vector<bool> are_well(hosts_.size());
  for (uint32_t h = 0; h < hosts_.size(); ++h) {
    are_well[h] =
        std::ranges::any_of(PartnersOf(h), [&](uint32_t partner) { return !IsBadWith(h, partner, usual, false); });
  }
  return are_well;
}

bool PairRounds::IsAmongTheBad(uint32_t host, const std::vector<bool>& are_well) const {
  const std::set<uint32_t> partners = PartnersOf(host);
  return !are_well[host] && !partners.empty() &&
         std::ranges::none_of(partners, [&](uint32_t partner) { return are_well[partner]; });
}

HostVerdict PairRounds::VerdictOf(uint32_t host, const UsualOfDistances& usual,
                                  const std::vector<bool>& are_well) const {
  HostVerdict verdict;
  const std::set<uint32_t> partners = PartnersOf(host);
  verdict.num_partners = static_cast<uint32_t>(partners.size());
  if (partners.empty()) return verdict;
  const bool may_fail = !are_well[host] && partners.size() >= 2 && !IsAmongTheBad(host, are_well);
  bool is_first = true;
  for (const auto& [side, sights] : seen_[host]) {
    const auto is_worse = [&](const auto& one, const auto& other) {
      const auto rank = [&](const Sight& sight) {
        return std::pair(FaultOf(sight, usual) == TransferFault::kNone, ShareOf(sight, usual));
      };
      return rank(one.second) < rank(other.second);
    };
    const Sight& best = std::ranges::max_element(sights, is_worse)->second;
    const bool fails = may_fail && sights.size() >= 2 &&
                       std::ranges::all_of(sights | std::views::values,
                                           [&](const Sight& sight) { return IsSure(host, sight, usual); });
    const double share = ShareOf(best, usual);
    const bool has_failed = verdict.kind == HostVerdict::Kind::kFailed;
    const bool is_shown = is_first || (fails && !has_failed) || (fails == has_failed && share < verdict.rate_share);
    is_first = false;
    if (!is_shown) continue;
    if (fails) verdict.kind = HostVerdict::Kind::kFailed;
    verdict.nic = side.nic;
    verdict.sends = side.sends;
    verdict.fault = FaultOf(best, usual);
    verdict.rate_share = share;
    verdict.lost_share = best.lost_share;
  }
  if (verdict.kind == HostVerdict::Kind::kFailed) return verdict;
  if (are_well[host]) verdict.kind = HostVerdict::Kind::kPassed;
  for (const uint32_t partner : partners) {
    if (IsBadWith(host, partner, usual, are_well[host])) verdict.bad_with.push_back(partner);
  }
  return verdict;
}

std::vector<HostVerdict> PairRounds::Verdicts() const {
  const UsualOfDistances usual = UsualOfAll();
  const std::vector<bool> are_well = AreWell(usual);
  std::vector<HostVerdict> verdicts;
  for (uint32_t h = 0; h < hosts_.size(); ++h) verdicts.push_back(VerdictOf(h, usual, are_well));
  return verdicts;
}

}  // namespace fairlead::node_check

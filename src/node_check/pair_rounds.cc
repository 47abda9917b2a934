#include "node_check/pair_rounds.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/statistics.h"

namespace fairlead::node_check {
namespace {

using Outcome = TransferResult::Outcome;

// So few hosts have no usual rate of their own kind of pairs.
constexpr size_t kLikeMin = 3;
constexpr size_t kStepsOfTwo = 2;
constexpr size_t kStepsOfThree = 6;

// Neighbours in the list; the odd one joins the last.
std::vector<std::vector<uint32_t>> PairUp(std::span<const uint32_t> hosts) {
  std::vector<std::vector<uint32_t>> groups;
  for (size_t i = 0; i + 1 < hosts.size(); i += 2) groups.push_back({hosts[i], hosts[i + 1]});
  if (hosts.size() % 2 == 1) groups.back().push_back(hosts.back());
  return groups;
}

// Sender and receiver, by place in the group: each pair, both directions.
std::pair<size_t, size_t> PlacesAt(size_t step) {
  constexpr std::array<std::pair<size_t, size_t>, 3> kPairs = {{{0, 1}, {1, 2}, {2, 0}}};
  const auto [one, other] = kPairs[step / 2];
  return step % 2 == 0 ? std::pair(one, other) : std::pair(other, one);
}

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
  std::vector<uint32_t> all(hosts_.size());
  std::iota(all.begin(), all.end(), 0);
  BeginRound(PairUp(all));
  num_steps_ = 2 * steps_of_round_;
  Plan();
}

void PairRounds::BeginRound(std::vector<Group> groups) {
  groups_ = std::move(groups);
  const bool has_three = std::ranges::any_of(groups_, [](const Group& group) { return group.size() == 3; });
  steps_of_round_ = has_three ? kStepsOfThree : kStepsOfTwo;
  step_of_round_ = 0;
}

void PairRounds::Plan() {
  step_.clear();
  if (step_of_round_ == steps_of_round_) return;
  const auto [from, to] = PlacesAt(step_of_round_);
  for (const Group& group : groups_) {
    if (std::max(from, to) >= group.size()) continue;  // pairs are measured while groups of three have begun
    const uint32_t num_nics = std::min(hosts_[group[from]].num_nics, hosts_[group[to]].num_nics);
    for (uint32_t nic = 0; nic < num_nics; ++nic) step_.push_back({group[from], group[to], nic, nic});
  }
}

void PairRounds::Finish(std::span<const TransferResult> results) {
  FL_CHECK(!step_.empty() && results.size() == step_.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const Transfer& transfer = step_[i];
    const TransferResult& result = results[i];
    if (result.outcome == Outcome::kNoAnswer) continue;
    const Sight sight{.is_near = AreNear(transfer.sender, transfer.receiver),
                      .has_failed = result.outcome == Outcome::kFailed,
                      .rate = result.outcome == Outcome::kFailed ? 0 : result.rate,
                      .lost_share = result.lost_share};
    Note(transfer.sender, transfer.receiver, {transfer.sender_nic, true}, sight);
    Note(transfer.receiver, transfer.sender, {transfer.receiver_nic, false}, sight);
  }
  ++num_finished_;
  ++step_of_round_;
  if (step_of_round_ == steps_of_round_ && round_ == 0) {
    ++round_;
    BeginRound(SecondRound());
  } else if (step_of_round_ == steps_of_round_ && round_ == 1) {
    ++round_;
    std::vector<Group> groups = ThirdRound();
    if (!groups.empty()) {
      BeginRound(std::move(groups));
      num_steps_ += steps_of_round_;
    }
  }
  Plan();
}

void PairRounds::Note(uint32_t host, uint32_t partner, Side side, const Sight& sight) {
  const auto [place, is_new] = seen_[host][side].try_emplace(partner, sight);
  if (!is_new && sight.rate > place->second.rate) place->second = sight;
}

// The slowest with the fastest; those that were together meet others, if there are any.
std::vector<PairRounds::Group> PairRounds::SecondRound() const {
  const UsualOfKind usual = UsualOfKinds();
  std::vector<double> worst_share(hosts_.size(), 0);
  for (uint32_t h = 0; h < hosts_.size(); ++h) {
    std::optional<double> worst;
    for (const auto& [side, sights] : seen_[h]) {
      double best = 0;
      for (const auto& [partner, sight] : sights) {
        best = std::max(best, sight.rate / std::max(usual[sight.is_near ? 1 : 0].rate, 1.0));
      }
      worst = std::min(worst.value_or(best), best);
    }
    worst_share[h] = worst.value_or(0);
  }
  std::vector<uint32_t> order(hosts_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return worst_share[a] > worst_share[b]; });
  const size_t num_pairs = order.size() / 2;
  std::vector<uint32_t> fast(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(num_pairs));
  std::vector<uint32_t> slow(order.rbegin(), order.rbegin() + static_cast<std::ptrdiff_t>(num_pairs));
  const auto have_met = [this](uint32_t one, uint32_t other) { return PartnersOf(one).contains(other); };
  for (size_t i = 0; i < num_pairs; ++i) {
    if (!have_met(fast[i], slow[i])) continue;
    for (size_t k = 0; k < num_pairs; ++k) {
      if (k == i || have_met(fast[i], slow[k]) || have_met(fast[k], slow[i])) continue;
      std::swap(slow[i], slow[k]);
      break;
    }
  }
  std::vector<uint32_t> list;
  for (size_t i = 0; i < num_pairs; ++i) {
    list.push_back(fast[i]);
    list.push_back(slow[i]);
  }
  if (order.size() % 2 == 1) list.push_back(order[num_pairs]);
  return PairUp(list);
}

std::vector<PairRounds::Group> PairRounds::ThirdRound() const {
  const std::vector<bool> are_well = AreWell(UsualOfKinds());
  std::vector<uint32_t> well;
  for (uint32_t h = 0; h < hosts_.size(); ++h) {
    if (are_well[h]) well.push_back(h);
  }
  std::vector<Group> groups;
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

PairRounds::Usual PairRounds::UsualOf(std::optional<bool> is_near, size_t* num_hosts) const {
  size_t num_receivers = 0;
  const Usual sent = UsualOf(true, is_near, num_hosts);
  const Usual received = UsualOf(false, is_near, &num_receivers);
  *num_hosts = std::min(*num_hosts, num_receivers);
  return {std::max(sent.rate, received.rate), std::min(sent.lost_share, received.lost_share)};
}

PairRounds::Usual PairRounds::UsualOf(bool sends, std::optional<bool> is_near, size_t* num_hosts) const {
  std::vector<double> rates;
  std::vector<double> losses;
  for (const std::map<Side, Sights>& sides : seen_) {
    std::vector<double> rates_of_host;
    std::vector<double> losses_of_host;
    for (const auto& [side, sights] : sides) {
      if (side.sends != sends) continue;
      const Sight* best = nullptr;
      for (const auto& [partner, sight] : sights) {
        if (sight.has_failed || (is_near.has_value() && sight.is_near != *is_near)) continue;
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
  *num_hosts = rates.size();
  return {MedianInPlace(rates), MedianInPlace(losses)};
}

PairRounds::UsualOfKind PairRounds::UsualOfKinds() const {
  size_t num_hosts = 0;
  const Usual all = UsualOf(std::nullopt, &num_hosts);
  UsualOfKind usual = {all, all};
  for (const bool is_near : {false, true}) {
    const Usual of_kind = UsualOf(is_near, &num_hosts);
    if (num_hosts >= kLikeMin) usual[is_near ? 1 : 0] = of_kind;
  }
  return usual;
}

double PairRounds::usual_rate() const {
  size_t num_hosts = 0;
  return UsualOf(std::nullopt, &num_hosts).rate;
}

TransferFault PairRounds::FaultOf(const Sight& sight, const UsualOfKind& usual) const {
  const Usual& like = usual[sight.is_near ? 1 : 0];
  if (sight.has_failed) return TransferFault::kFailed;
  if (sight.rate < options_.slow_below * like.rate) return TransferFault::kSlow;
  const bool is_lossy =
      sight.lost_share > options_.lossy_above && sight.lost_share > options_.lossy_ratio * like.lost_share;
  return is_lossy ? TransferFault::kLossy : TransferFault::kNone;
}

bool PairRounds::IsBadWith(uint32_t host, uint32_t partner, const UsualOfKind& usual) const {
  return std::ranges::any_of(seen_[host], [&](const auto& one) {
    const auto sight = one.second.find(partner);
    return sight != one.second.end() && FaultOf(sight->second, usual) != TransferFault::kNone;
  });
}

std::set<uint32_t> PairRounds::PartnersOf(uint32_t host) const {
  std::set<uint32_t> partners;
  for (const auto& [side, sights] : seen_[host]) {
    for (const auto& [partner, sight] : sights) partners.insert(partner);
  }
  return partners;
}

std::vector<bool> PairRounds::AreWell(const UsualOfKind& usual) const {
  std::vector<bool> are_well(hosts_.size());
  for (uint32_t h = 0; h < hosts_.size(); ++h) {
    are_well[h] = std::ranges::any_of(PartnersOf(h), [&](uint32_t partner) { return !IsBadWith(h, partner, usual); });
  }
  return are_well;
}

bool PairRounds::IsAmongTheBad(uint32_t host, const std::vector<bool>& are_well) const {
  const std::set<uint32_t> partners = PartnersOf(host);
  return !are_well[host] && !partners.empty() &&
         std::ranges::none_of(partners, [&](uint32_t partner) { return are_well[partner]; });
}

HostVerdict PairRounds::VerdictOf(uint32_t host, const UsualOfKind& usual, const std::vector<bool>& are_well) const {
  HostVerdict verdict;
  const std::set<uint32_t> partners = PartnersOf(host);
  verdict.num_partners = static_cast<uint32_t>(partners.size());
  if (partners.empty()) return verdict;
  const bool may_fail = !are_well[host] && partners.size() >= 2 && !IsAmongTheBad(host, are_well);
  bool is_first = true;
  for (const auto& [side, sights] : seen_[host]) {
    const auto is_worse = [&](const auto& one, const auto& other) {
      const auto rank = [&](const Sight& sight) {
        return std::pair(FaultOf(sight, usual) == TransferFault::kNone,
                         sight.rate / std::max(usual[sight.is_near ? 1 : 0].rate, 1.0));
      };
      return rank(one.second) < rank(other.second);
    };
    const Sight& best = std::ranges::max_element(sights, is_worse)->second;
    const TransferFault fault = FaultOf(best, usual);
    const bool fails = may_fail && fault != TransferFault::kNone && sights.size() >= 2;
    const double share = best.rate / std::max(usual[best.is_near ? 1 : 0].rate, 1.0);
    const bool has_failed = verdict.kind == HostVerdict::Kind::kFailed;
    const bool is_shown = is_first || (fails && !has_failed) || (fails == has_failed && share < verdict.rate_share);
    is_first = false;
    if (!is_shown) continue;
    if (fails) verdict.kind = HostVerdict::Kind::kFailed;
    verdict.nic = side.nic;
    verdict.sends = side.sends;
    verdict.fault = fault;
    verdict.rate_share = share;
    verdict.lost_share = best.lost_share;
  }
  if (verdict.kind == HostVerdict::Kind::kFailed) return verdict;
  if (are_well[host]) verdict.kind = HostVerdict::Kind::kPassed;
  for (const uint32_t partner : partners) {
    if (IsBadWith(host, partner, usual)) verdict.bad_with.push_back(partner);
  }
  return verdict;
}

std::vector<HostVerdict> PairRounds::Verdicts() const {
  const UsualOfKind usual = UsualOfKinds();
  const std::vector<bool> are_well = AreWell(usual);
  std::vector<HostVerdict> verdicts;
  for (uint32_t h = 0; h < hosts_.size(); ++h) verdicts.push_back(VerdictOf(h, usual, are_well));
  return verdicts;
}

}  // namespace fairlead::node_check

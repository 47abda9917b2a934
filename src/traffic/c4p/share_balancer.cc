#include "traffic/c4p/share_balancer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/check.h"

namespace fairlead::traffic::c4p {
namespace {

Status CheckOption(bool valid, std::string_view name, std::string_view expected, double found) {
  if (valid) return OkStatus();
  return InvalidArgument(fmt::format("c4p shares: {}: expected {}, found {}", name, expected, found));
}

// Longest part of a message over shortest, if `wanted` shares make them equal. Both shares of a path that is down are
// 0.
double Imbalance(std::span<const double> shares, std::span<const double> wanted) {
  double least = INFINITY;
  double most = 0;
  for (size_t q = 0; q < shares.size(); ++q) {
    if (wanted[q] == 0) continue;
    least = std::min(least, shares[q] / wanted[q]);
    most = std::max(most, shares[q] / wanted[q]);
  }
  return least > 0 ? most / least : INFINITY;
}

// The part of the bytes that change QP on the way from one to the other.
double Distance(std::span<const double> from, std::span<const double> to) {
  double gained = 0;
  for (size_t q = 0; q < from.size(); ++q) gained += std::max(0.0, to[q] - from[q]);
  return gained;
}

}  // namespace

Status ShareOptions::Validate() const {
  FL_RETURN_IF_ERROR(CheckOption(half_life.value() > 0 && std::isfinite(half_life.value()), "half_life", "a time > 0 s",
                                 half_life.value()));
  FL_RETURN_IF_ERROR(CheckOption(damping > 0 && damping <= 1, "damping", "a fraction in (0, 1]", damping));
  FL_RETURN_IF_ERROR(CheckOption(max_change > 0 && max_change <= 1, "max_change", "a fraction in (0, 1]", max_change));
  FL_RETURN_IF_ERROR(CheckOption(floor > 0 && floor < 1, "floor", "a fraction in (0, 1)", floor));
  FL_RETURN_IF_ERROR(CheckOption(stop_ratio >= 1 && std::isfinite(stop_ratio), "stop_ratio", ">= 1", stop_ratio));
  FL_RETURN_IF_ERROR(
      CheckOption(period.value() > 0 && std::isfinite(period.value()), "period", "a time > 0 s", period.value()));
  return CheckOption(jitter >= 0 && jitter < 1, "jitter", "a fraction in [0, 1)", jitter);
}

ShareBalancer::ShareBalancer(size_t num_qps, uint64_t seed, const ShareOptions& options)
    : options_(options),
      min_share_(options.floor / static_cast<double>(num_qps)),
      paths_(num_qps),
      shares_(num_qps, 1 / static_cast<double>(num_qps)),
      random_(seed) {
  FL_CHECK(num_qps >= 1 && options.Validate().ok());
}

bool ShareBalancer::all_down() const {
  return std::none_of(paths_.begin(), paths_.end(), [](const Path& path) { return path.up; });
}

void ShareBalancer::RecordPart(size_t qp, Bytes bytes, Seconds took, SimTime now) {
  FL_CHECK(qp < paths_.size() && bytes.value() > 0 && took.value() > 0);
  Path& path = paths_[qp];
  if (!path.up) return;  // a late report about a path that has gone says nothing about the one that comes back
  now = std::max(now, path.last);
  const double decay = std::exp2(-((now - path.last).seconds() / options_.half_life));
  path.bytes = path.bytes * decay + bytes.value();
  path.seconds = path.seconds * decay + took.value();
  path.last = now;
  has_news_ = true;
}

void ShareBalancer::SetPathUp(size_t qp, bool up) {
  FL_CHECK(qp < paths_.size());
  if (paths_[qp].up == up) return;
  paths_[qp] = Path();
  paths_[qp].up = up;
  if (!all_down()) Normalize(&shares_);
}

RebalanceOutcome ShareBalancer::Rebalance() {
  if (all_down()) return RebalanceOutcome::kAllDown;
  if (!has_news_) return RebalanceOutcome::kNoNews;
  has_news_ = false;
  const std::vector<double> wanted = WantedShares();
  if (Imbalance(shares_, wanted) < options_.stop_ratio) return RebalanceOutcome::kBalanced;
  const double distance = Distance(shares_, wanted);
  const double step = std::min(options_.damping, options_.max_change / distance);
  for (size_t q = 0; q < shares_.size(); ++q) shares_[q] += step * (wanted[q] - shares_[q]);
  Normalize(&shares_);  // only rounding is left to repair: both ends of the step are normal
  return RebalanceOutcome::kMoved;
}

Seconds ShareBalancer::NextPeriod() {
  return options_.period * random_.Uniform(1 - options_.jitter, 1 + options_.jitter);
}

// Shares in proportion to measured speeds (1 / tau); QPs that have not been measured keep what they have.
std::vector<double> ShareBalancer::WantedShares() const {
  std::vector<double> wanted = shares_;
  double speed = 0;
  double share = 0;
  for (size_t q = 0; q < paths_.size(); ++q) {
    if (paths_[q].bytes == 0) continue;
    wanted[q] = paths_[q].bytes / paths_[q].seconds;
    speed += wanted[q];
    share += shares_[q];
  }
  for (size_t q = 0; q < paths_.size(); ++q) {
    if (paths_[q].bytes > 0) wanted[q] *= share / speed;
  }
  Normalize(&wanted);
  return wanted;
}

// Turns weights (>= 0) into legal shares: 0 where the path is down, else in proportion to the weight but not below
// min_share_. At least one path is up. Each round settles the QPs that a common factor would leave below the floor, and
// the others share the rest; the floors sum to less than 1, so that at least one is always left.
void ShareBalancer::Normalize(std::vector<double>* weights) const {
  std::vector<size_t> open;
  for (size_t q = 0; q < paths_.size(); ++q) {
    if (paths_[q].up) open.push_back(q);
    if (!paths_[q].up) (*weights)[q] = 0;
  }
  double rest = 1;
  for (;;) {
    double total = 0;
    for (const size_t q : open) total += (*weights)[q];
    if (total == 0) {  // none has a claim, as when all paths that carried something went down
      for (const size_t q : open) (*weights)[q] = rest / static_cast<double>(open.size());
      return;
    }
    const double factor = rest / total;
    const auto settled =
        std::partition(open.begin(), open.end(), [&](size_t q) { return (*weights)[q] * factor >= min_share_; });
    if (settled == open.end()) {
      for (const size_t q : open) (*weights)[q] *= factor;
      return;
    }
    rest -= min_share_ * static_cast<double>(open.end() - settled);
    for (auto q = settled; q != open.end(); ++q) (*weights)[*q] = min_share_;
    open.erase(settled, open.end());
  }
}

}  // namespace fairlead::traffic::c4p

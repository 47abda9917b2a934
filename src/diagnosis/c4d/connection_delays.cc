#include "diagnosis/c4d/connection_delays.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/random.h"
#include "diagnosis/c4d/robust_statistics.h"

namespace fairlead::diagnosis::c4d {
namespace {

// Share of the least effect below which something is as ever.
constexpr double kHealthyShare = 0.5;
// Not all share a slowdown if this share of connections, and this many, are as ever.
constexpr double kUnchangedShare = 0.1;
constexpr size_t kUnchangedMin = 2;
// Share of what its slow messages took longer that must show in the time of all.
constexpr double kAddedShareMin = 0.5;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Greatest log delays in a class of connections; those of one pair of ranks count as one.
struct SlowestOfClass {
  double as_ever = -kInfinite;
  uint64_t line = 0;
  double of_line = -kInfinite;
  double of_others = -kInfinite;

  void Add(uint64_t its_line, double log_delay, bool is_as_ever) {
    if (is_as_ever) as_ever = std::max(as_ever, log_delay);
    if (its_line == line) {
      of_line = std::max(of_line, log_delay);
    } else if (log_delay > of_line) {
      of_others = of_line;
      of_line = log_delay;
      line = its_line;
    } else {
      of_others = std::max(of_others, log_delay);
    }
  }
  double BesidesLine(uint64_t its_line) const { return its_line == line ? of_others : of_line; }
};

// Which pair of ranks.
uint64_t LineOf(const ConnectionSample& sample) {
  return uint64_t{sample.source.value()} << 32 | sample.key.peer.value();
}

// [sample] How many connections share the port at its busier end.
std::vector<uint32_t> CountSharing(std::span<const ConnectionSample> samples) {
  std::unordered_map<uint64_t, uint32_t> users;
  const auto users_at = [&users](const ConnectionSample& sample, model::Direction direction) -> uint32_t& {
    const model::ConnectionKey& key = sample.key;
    const model::RankId rank = direction == model::Direction::kSend ? sample.source : key.peer;
    const uint64_t port = uint64_t{key.plane} << 1 | static_cast<uint64_t>(direction);
    return users[CombineHash(uint64_t{rank.value()} << 32 | key.communicator.value(), port)];
  };
  for (const ConnectionSample& sample : samples) {
    ++users_at(sample, model::Direction::kSend);
    ++users_at(sample, model::Direction::kReceive);
  }
  std::vector<uint32_t> sharing;
  sharing.reserve(samples.size());
  for (const ConnectionSample& sample : samples) {
    sharing.push_back(
        std::max(users_at(sample, model::Direction::kSend), users_at(sample, model::Direction::kReceive)));
  }
  return sharing;
}

// The connections of one window.
class ConnectionComparison {
 public:
  ConnectionComparison(std::span<const ConnectionSample> samples, const model::JobLayout& layout,
                       const SlowOptions& options)
      : samples_(samples),
        layout_(layout),
        options_(options),
        sharing_(CountSharing(samples)),
        peers_(samples.size()),
        delays_{.of = std::vector<ConnectionDelay>(samples.size()), .sigma = 0} {}

  ConnectionDelays Compare();

 private:
  // What a connection is compared with.
  struct Peers {
    uint64_t like = 0;             // its class, if there are enough of it
    std::optional<double> like_x;  // log of its time per message over the median of its class; nothing without one
  };

  bool IsLocal(const ConnectionSample& sample) const;
  uint64_t ClassOf(size_t i, bool by_leaf_pair) const;
  // Classes with enough members, and their medians, for connections that have none yet.
  void CompareWithin(bool by_leaf_pair);
  void CompareWithNormal();
  // Subtracts the shared part from x.
  void RemoveShared();
  // Whether what single messages took longer shows in what all took.
  bool TakesLonger(const ConnectionSample& sample, double x) const;
  // Leaves of what is slow that for which no receiver accounts.
  void RemoveHeldUp();
  // Compares those that are slower than ever with those of their class that are not.
  void CompareWithLike();

  const std::span<const ConnectionSample> samples_;
  const model::JobLayout& layout_;
  const SlowOptions& options_;
  const std::vector<uint32_t> sharing_;  // [sample]
  std::vector<Peers> peers_;             // [sample]
  ConnectionDelays delays_;
};

bool ConnectionComparison::IsLocal(const ConnectionSample& sample) const {
  const uint32_t plane = sample.key.plane;
  const auto& from = layout_.ranks[sample.source.index()].leaves;
  const auto& to = layout_.ranks[sample.key.peer.index()].leaves;
  return plane < from.size() && plane < to.size() && from[plane] == to[plane];
}

uint64_t ConnectionComparison::ClassOf(size_t i, bool by_leaf_pair) const {
  const ConnectionSample& sample = samples_[i];
  // Half octaves of message size, octaves of their number.
  const auto octaves = static_cast<uint64_t>(std::lround(2 * std::log2(sample.usual_bytes)));
  const auto count = static_cast<uint64_t>(std::lround(std::log2(sample.messages)));
  const uint64_t size = CombineHash(CombineHash(octaves, count), sharing_[i]);
  if (IsLocal(sample)) return CombineHash(size, 1);
  if (!by_leaf_pair) return CombineHash(size, 2);
  const auto leaf = [plane = uint32_t{sample.key.plane}](const model::RankPlace& place) {
    return uint64_t{plane < place.leaves.size() ? place.leaves[plane].value() : ~0u};
  };
  const uint64_t from = leaf(layout_.ranks[sample.source.index()]);
  const uint64_t to = leaf(layout_.ranks[sample.key.peer.index()]);
  return CombineHash(size, (from << 32 | to) + 3);
}

void ConnectionComparison::CompareWithin(bool by_leaf_pair) {
  struct Class {
    std::vector<double> log_delays;
    double median = 0;
  };
  std::unordered_map<uint64_t, Class> classes;
  // [sample] Its class; the entries of a map stay where they are.
  std::vector<const std::pair<const uint64_t, Class>*> placed;
  placed.reserve(samples_.size());
  for (size_t i = 0; i < samples_.size(); ++i) {
    auto& its = *classes.try_emplace(ClassOf(i, by_leaf_pair)).first;
    its.second.log_delays.push_back(samples_[i].log_delay);
    placed.push_back(&its);
  }
  for (auto& [key, each] : classes) each.median = MedianInPlace(each.log_delays);
  for (size_t i = 0; i < samples_.size(); ++i) {
    const auto& [key, its] = *placed[i];
    if (peers_[i].like_x || its.log_delays.size() < options_.peers_min) continue;
    peers_[i] = {.like = key, .like_x = samples_[i].log_delay - its.median};
  }
}

void ConnectionComparison::CompareWithNormal() {
  CompareWithin(true);
  CompareWithin(false);
  for (size_t i = 0; i < samples_.size(); ++i) {
    const ConnectionSample& sample = samples_[i];
    const std::optional<double>& like_x = peers_[i].like_x;
    delays_.of[i].is_known = sample.has_normal || like_x.has_value();
    delays_.of[i].x = sample.has_normal ? sample.log_seconds - sample.normal_log_seconds : like_x.value_or(0);
  }
}

void ConnectionComparison::RemoveShared() {
  const double as_ever_max = AsEverMax(options_);
  std::vector<double> values;
  std::vector<double> unchanged;  // those that are as ever
  for (size_t i = 0; i < samples_.size(); ++i) {
    const ConnectionDelay& delay = delays_.of[i];
    if (!delay.is_known) continue;
    values.push_back(delay.x);
    if (samples_[i].has_normal && std::abs(delay.x) < as_ever_max) unchanged.push_back(delay.x);
  }
  // Where enough are as ever, the rest has no excuse, however many they are.
  const bool is_shared = unchanged.size() < kUnchangedMin ||
                         static_cast<double>(unchanged.size()) < kUnchangedShare * static_cast<double>(values.size());
  const LowerSpread normal = LowerSpreadInPlace(is_shared ? values : unchanged);
  if (is_shared) {
    for (ConnectionDelay& delay : delays_.of) delay.x -= normal.median;
  }
  delays_.sigma = std::max(normal.sigma, options_.matrix.sigma_floor);
}

bool ConnectionComparison::TakesLonger(const ConnectionSample& sample, double x) const {
  // Both without the slowest message, which log_seconds leaves out.
  const double normal_seconds = std::exp(sample.log_seconds - x);
  const double added = std::expm1(x) * normal_seconds * (sample.messages - 1);
  return added >= kAddedShareMin * (sample.uneven_seconds - (sample.slowest_seconds - normal_seconds));
}

void ConnectionComparison::RemoveHeldUp() {
  const double as_ever_max = AsEverMax(options_);
  const double effect = std::log1p(options_.matrix.effect_min);
  for (size_t i = 0; i < samples_.size(); ++i) {
    ConnectionDelay& delay = delays_.of[i];
    if (!delay.is_known || delay.x < as_ever_max || samples_[i].held_seconds <= 0) continue;
    const double left = 1 - samples_[i].held_seconds / std::exp(samples_[i].log_seconds);
    const double sure_x = left > 0 ? delay.x + std::log(left) : -kInfinite;
    delay.is_known = sure_x >= effect;
    delay.x = delay.is_known ? sure_x : 0;
  }
}

void ConnectionComparison::CompareWithLike() {
  const double effect = std::log1p(options_.matrix.effect_min);
  const auto is_slower = [effect](const ConnectionDelay& delay) { return delay.is_known && delay.x >= effect; };
  if (std::ranges::none_of(delays_.of, is_slower)) return;
  std::unordered_map<uint64_t, SlowestOfClass> classes;
  for (size_t i = 0; i < samples_.size(); ++i) {
    if (!peers_[i].like_x) continue;
    classes[peers_[i].like].Add(LineOf(samples_[i]), samples_[i].log_delay, !is_slower(delays_.of[i]));
  }
  for (size_t i = 0; i < samples_.size(); ++i) {
    const ConnectionSample& sample = samples_[i];
    if (!peers_[i].like_x) {
      delays_.of[i].beyond_like = kInfinite;
      continue;
    }
    const SlowestOfClass& its = classes[peers_[i].like];
    const double bound = sample.has_normal ? its.as_ever : its.BesidesLine(LineOf(sample));
    delays_.of[i].beyond_like = sample.log_delay - bound;
  }
}

ConnectionDelays ConnectionComparison::Compare() {
  CompareWithNormal();
  RemoveShared();
  RemoveHeldUp();
  for (size_t i = 0; i < samples_.size(); ++i) {
    const ConnectionSample& sample = samples_[i];
    const bool counts = sample.uneven_share > 0 && TakesLonger(sample, delays_.of[i].x);
    delays_.of[i].uneven_share = counts ? sample.uneven_share : 0;
  }
  CompareWithLike();
  return std::move(delays_);
}

}  // namespace

ConnectionDelays CompareConnections(std::span<const ConnectionSample> samples, const model::JobLayout& layout,
                                    const SlowOptions& options) {
  return ConnectionComparison(samples, layout, options).Compare();
}

double AsEverMax(const SlowOptions& options) { return kHealthyShare * std::log1p(options.matrix.effect_min); }

}  // namespace fairlead::diagnosis::c4d

#include "diagnosis/c4d/slow_transfer_detector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/random.h"
#include "diagnosis/c4d/robust_statistics.h"
#include "diagnosis/c4d/wording.h"

namespace fairlead::diagnosis::c4d {

namespace {

// A pair alone counts as slow from here on; whether any is named is decided per element, at z_line or z_point.
constexpr double kPairSigmas = 3;
// Below this share of the least effect a pair speaks against a fault of what it passes.
constexpr double kHealthyShare = 0.5;
// Not all share a slowdown if this share of connections, and this many, are as ever.
constexpr double kUnchangedShare = 0.1;
constexpr size_t kUnchangedMin = 2;
// A connection is lossy with this many uneven reports, and this share of them beyond normal.
constexpr uint32_t kUnevenReportsMin = 3;
constexpr double kUnevenShareMin = 0.25;
// Share of what its slow messages took longer that must show in the time of all.
constexpr double kAddedShareMin = 0.5;
// A message that meets one other where it met none takes twice as long.
constexpr double kChanceMax = std::numbers::ln2;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
// What has been slower than its class in so many windows, and could not be named, is so by nature.
constexpr uint32_t kOddWindowsMin = 5;
// Elements at fault in one window. More are not understood.
constexpr size_t kElementsMax = 4;

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

bool IsSameLine(const Transfer& a, const Transfer& b) {
  return std::tie(a.source, a.destination) == std::tie(b.source, b.destination);
}

}  // namespace

SlowTransferDetector::SlowTransferDetector(const model::JobLayout& layout, const SlowOptions& options,
                                           model::PlaceNames names)
    : layout_(layout),
      names_(std::move(names)),
      options_(options),
      elements_(layout),
      seen_(layout.ranks.size()),
      connections_(layout.ranks.size()) {}

SlowTransferDetector::Connection& SlowTransferDetector::FindConnection(model::RankId rank,
                                                                       const model::ConnectionKey& key) {
  auto& own = connections_[rank.index()];
  auto at = std::lower_bound(own.begin(), own.end(), key,
                             [](const Connection& connection, const auto& k) { return connection.key < k; });
  if (at == own.end() || at->key != key) at = own.insert(at, Connection{.key = key, .fit = {}, .baseline_ratios = {}});
  return *at;
}

void SlowTransferDetector::Add(const model::RankReport& report) {
  if (report.rank.index() >= layout_.ranks.size() || !seen_[report.rank.index()].Accept(report.number)) return;
  for (const model::ConnectionRecord& record : report.connections) {
    const model::ConnectionKey& key = record.key;
    if (key.direction != model::Direction::kSend || record.messages == 0) continue;
    if (key.peer.index() >= layout_.ranks.size() || key.peer == report.rank) continue;
    Connection& connection = FindConnection(report.rank, key);
    const bool is_known = HasBaseline(connection);
    const double usual_seconds = is_known ? std::exp(connection.baseline) / connection.usual_bytes : 0;
    connection.fit.Add(record, options_.added_delay_min, is_known ? connection.baseline_ratios.usual() : 0,
                       usual_seconds);
  }
}

std::vector<SlowTransferDetector::Sample> SlowTransferDetector::TakeSamples(std::span<const double> lateness) {
  std::vector<Sample> samples;
  size_t num_connections = 0;
  for (const std::vector<Connection>& own : connections_) num_connections += own.size();
  samples.reserve(num_connections);
  const auto lateness_of = [&](model::RankId rank) {
    return rank.index() < lateness.size() ? lateness[rank.index()] : 0;
  };
  for (uint32_t rank = 0; rank < connections_.size(); ++rank) {
    for (Connection& connection : connections_[rank]) {
      if (connection.fit.messages() >= options_.messages_min) {
        if (connection.baseline_count == 0) connection.usual_bytes = connection.fit.mean_bytes();
        const double log_seconds = std::log(connection.fit.SecondsOf(connection.usual_bytes));
        const double excuse = std::max(lateness_of(model::RankId(rank)), lateness_of(connection.key.peer));
        const bool is_uneven =
            connection.fit.uneven_reports() >= kUnevenReportsMin && connection.fit.uneven_seconds() > excuse;
        samples.push_back({.source = model::RankId(rank),
                           .connection = &connection,
                           .log_seconds = log_seconds,
                           .log_delay = log_seconds - std::log(connection.usual_bytes),
                           .error_2 = std::pow(connection.fit.LogError(), 2),
                           .messages = static_cast<double>(connection.fit.messages()),
                           .uneven_share = is_uneven ? connection.fit.UnevenShare() : 0,
                           .slowest_seconds = connection.fit.slowest_seconds(),
                           .uneven_seconds = connection.fit.uneven_seconds(),
                           .ratios = connection.fit.slowest_ratios(),
                           .like_x = {}});
      }
      connection.fit = {};
    }
  }
  return samples;
}

bool SlowTransferDetector::IsLocal(model::RankId a, model::RankId b, uint32_t plane) const {
  const auto& from = layout_.ranks[a.index()].leaves;
  const auto& to = layout_.ranks[b.index()].leaves;
  return plane < from.size() && plane < to.size() && from[plane] == to[plane];
}

uint64_t SlowTransferDetector::ClassOf(const Sample& sample, bool by_leaf_pair) const {
  const Connection& connection = *sample.connection;
  // Half octaves of message size, octaves of their number.
  const auto octaves = static_cast<uint64_t>(std::lround(2 * std::log2(connection.usual_bytes)));
  const auto count = static_cast<uint64_t>(std::lround(std::log2(sample.messages)));
  const uint64_t size = CombineHash(CombineHash(octaves, count), sample.sharing);
  const uint32_t plane = connection.key.plane;
  if (IsLocal(sample.source, connection.key.peer, plane)) return CombineHash(size, 1);
  if (!by_leaf_pair) return CombineHash(size, 2);
  const auto leaf = [plane](const model::RankPlace& place) {
    return uint64_t{plane < place.leaves.size() ? place.leaves[plane].value() : ~0u};
  };
  const uint64_t from = leaf(layout_.ranks[sample.source.index()]);
  const uint64_t to = leaf(layout_.ranks[connection.key.peer.index()]);
  return CombineHash(size, (from << 32 | to) + 3);
}

void SlowTransferDetector::CountSharing(std::span<Sample> samples) {
  std::unordered_map<uint64_t, uint32_t> users;
  const auto users_at = [&users](const Sample& sample, model::Direction direction) -> uint32_t& {
    const model::ConnectionKey& key = sample.connection->key;
    const model::RankId rank = direction == model::Direction::kSend ? sample.source : key.peer;
    const uint64_t port = uint64_t{key.plane} << 1 | static_cast<uint64_t>(direction);
    return users[CombineHash(uint64_t{rank.value()} << 32 | key.communicator.value(), port)];
  };
  for (const Sample& sample : samples) {
    ++users_at(sample, model::Direction::kSend);
    ++users_at(sample, model::Direction::kReceive);
  }
  for (Sample& sample : samples) {
    sample.sharing = std::max(users_at(sample, model::Direction::kSend), users_at(sample, model::Direction::kReceive));
  }
}

void SlowTransferDetector::CompareWithin(std::span<Sample> samples, bool by_leaf_pair) const {
  struct Class {
    std::vector<double> log_delays;
    double median = 0;
  };
  std::unordered_map<uint64_t, Class> classes;
  // [sample] Its class; the entries of a map stay where they are.
  std::vector<const std::pair<const uint64_t, Class>*> placed;
  placed.reserve(samples.size());
  for (const Sample& sample : samples) {
    auto& its = *classes.try_emplace(ClassOf(sample, by_leaf_pair)).first;
    its.second.log_delays.push_back(sample.log_delay);
    placed.push_back(&its);
  }
  for (auto& [key, each] : classes) each.median = MedianInPlace(each.log_delays);
  for (size_t i = 0; i < samples.size(); ++i) {
    const auto& [key, its] = *placed[i];
    if (samples[i].like_x || its.log_delays.size() < options_.peers_min) continue;
    samples[i].like = key;
    samples[i].like_x = samples[i].log_delay - its.median;
  }
}

void SlowTransferDetector::CompareWithNormal(std::span<Sample> samples) const {
  CountSharing(samples);
  CompareWithin(samples, true);
  CompareWithin(samples, false);
  for (Sample& sample : samples) {
    const bool has_baseline = HasBaseline(*sample.connection);
    sample.has_x = has_baseline || sample.like_x.has_value();
    sample.x = has_baseline ? sample.log_seconds - sample.connection->baseline : sample.like_x.value_or(0);
  }
}

double SlowTransferDetector::RemoveShared(std::span<Sample> samples) const {
  std::vector<double> values;
  std::vector<double> unchanged;  // those that are as ever
  for (const Sample& sample : samples) {
    if (!sample.has_x) continue;
    values.push_back(sample.x);
    const bool has_baseline = HasBaseline(*sample.connection);
    if (has_baseline && std::abs(sample.x) < kHealthyShare * std::log1p(options_.matrix.effect_min)) {
      unchanged.push_back(sample.x);
    }
  }
  // Where enough are as ever, the rest has no excuse, however many they are.
  const bool is_shared = unchanged.size() < kUnchangedMin ||
                         static_cast<double>(unchanged.size()) < kUnchangedShare * static_cast<double>(values.size());
  const LowerSpread normal = LowerSpreadInPlace(is_shared ? values : unchanged);
  if (is_shared) {
    for (Sample& sample : samples) sample.x -= normal.median;
  }
  return std::max(normal.sigma, options_.matrix.sigma_floor);
}

uint64_t SlowTransferDetector::LineOf(const Sample& sample) {
  return uint64_t{sample.source.value()} << 32 | sample.connection->key.peer.value();
}

bool SlowTransferDetector::TakesLonger(const Sample& sample) const {
  // Both without the slowest message, which log_seconds leaves out.
  const double normal_seconds = std::exp(sample.log_seconds - sample.x);
  const double added = std::expm1(sample.x) * normal_seconds * (sample.messages - 1);
  return added >= kAddedShareMin * (sample.uneven_seconds - (sample.slowest_seconds - normal_seconds));
}

void SlowTransferDetector::CompareWithLike(std::span<Sample> samples) const {
  const double effect = std::log1p(options_.matrix.effect_min);
  const auto is_slower = [effect](const Sample& sample) { return sample.has_x && sample.x >= effect; };
  if (std::ranges::none_of(samples, is_slower)) return;
  std::unordered_map<uint64_t, SlowestOfClass> classes;
  for (const Sample& sample : samples) {
    if (sample.like_x) classes[sample.like].Add(LineOf(sample), sample.log_delay, !is_slower(sample));
  }
  for (Sample& sample : samples) {
    if (!sample.like_x) {
      sample.beyond_like = kInfinite;
      continue;
    }
    const SlowestOfClass& its = classes[sample.like];
    const double bound = HasBaseline(*sample.connection) ? its.as_ever : its.BesidesLine(LineOf(sample));
    sample.beyond_like = sample.log_delay - bound;
  }
}

double SlowTransferDetector::UsualUnevenShare(std::span<const Sample> samples) {
  std::vector<double> shares;
  for (const Sample& sample : samples) shares.push_back(sample.uneven_share);
  return MedianInPlace(shares);
}

std::vector<SlowTransferDetector::PairDelay> SlowTransferDetector::PoolPairs(std::span<const Sample> samples) const {
  std::vector<PairDelay> pairs;
  pairs.reserve(samples.size());
  const double usual_uneven = UsualUnevenShare(samples);
  for (const Sample& sample : samples) {
    if (!sample.has_x) continue;
    const Transfer transfer{
        .source = sample.source, .destination = sample.connection->key.peer, .plane = sample.connection->key.plane};
    const double added = std::exp(sample.log_seconds) * (1 - std::exp(-sample.x));
    const bool has_baseline = HasBaseline(*sample.connection);
    pairs.push_back({.transfer = transfer,
                     .x = sample.x,
                     .added_seconds = added,
                     .added_busy = added * sample.messages,
                     .error_2 = sample.error_2 + (has_baseline ? sample.connection->baseline_error_2 : 0),
                     .uneven = sample.uneven_share - usual_uneven,
                     .beyond_like = sample.beyond_like,
                     .samples = 1});
  }
  const auto key = [](const PairDelay& pair) {
    return std::tie(pair.transfer.source, pair.transfer.destination, pair.transfer.plane);
  };
  std::stable_sort(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  size_t kept = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (kept > 0 && key(pairs[kept - 1]) == key(pairs[i])) {
      pairs[kept - 1].x += pairs[i].x;
      pairs[kept - 1].added_seconds += pairs[i].added_seconds;
      pairs[kept - 1].added_busy = std::max(pairs[kept - 1].added_busy, pairs[i].added_busy);
      pairs[kept - 1].error_2 += pairs[i].error_2;
      pairs[kept - 1].uneven = std::max(pairs[kept - 1].uneven, pairs[i].uneven);
      pairs[kept - 1].beyond_like = std::max(pairs[kept - 1].beyond_like, pairs[i].beyond_like);
      ++pairs[kept - 1].samples;
    } else {
      pairs[kept++] = pairs[i];
    }
  }
  pairs.resize(kept);
  for (PairDelay& pair : pairs) {
    pair.x /= pair.samples;
    pair.added_seconds /= pair.samples;
    pair.error_2 /= pair.samples * pair.samples;
  }
  return pairs;
}

void SlowTransferDetector::JudgePairs(std::span<PairDelay> pairs, double sigma) const {
  const double effect = std::log1p(options_.matrix.effect_min);
  for (PairDelay& pair : pairs) {
    const bool is_uneven = pair.uneven >= kUnevenShareMin;
    const bool is_sure = pair.x >= kPairSigmas * std::max(sigma, std::sqrt(pair.error_2));
    const bool is_delayed = is_sure && pair.x >= effect && Matters(pair);
    if (!is_uneven && pair.x < kHealthyShare * effect) {
      pair.transfer.health = TransferHealth::kHealthy;
    } else if (is_uneven || is_delayed) {
      pair.transfer.health = TransferHealth::kSlow;
    }
  }
}

void SlowTransferDetector::JudgeLines(std::span<PairDelay> pairs) const {
  // Planes pooled: the endpoints are those of all planes.
  std::vector<DelayCell> cells;
  std::vector<uint32_t> planes;  // [cell]
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (i == 0 || !IsSameLine(pairs[i].transfer, pairs[i - 1].transfer)) {
      cells.push_back({pairs[i].transfer.source.value(), pairs[i].transfer.destination.value(), 0});
      planes.push_back(0);
    }
    cells.back().delay += pairs[i].x;
    ++planes.back();
  }
  for (size_t i = 0; i < cells.size(); ++i) cells[i].delay = std::exp(cells[i].delay / planes[i]);
  const auto num_ranks = static_cast<uint32_t>(layout_.ranks.size());
  const DelayVerdict verdict = ScoreDelays(cells, num_ranks, num_ranks, options_.matrix);
  const double effect = std::log1p(options_.matrix.effect_min);
  const auto is_named = [](const std::vector<SlowLine>& lines, model::RankId rank) {
    return std::binary_search(lines.begin(), lines.end(), SlowLine{.index = rank.value()},
                              [](const SlowLine& a, const SlowLine& b) { return a.index < b.index; });
  };
  for (PairDelay& pair : pairs) {
    const bool is_in_line =
        is_named(verdict.rows, pair.transfer.source) || is_named(verdict.columns, pair.transfer.destination);
    if (is_in_line && pair.x >= effect && Matters(pair)) {
      pair.transfer.health = TransferHealth::kSlow;
    }
  }
}

SlowTransferDetector::ElementDelay SlowTransferDetector::DelayOf(const SlowElement& element,
                                                                 std::span<const PairDelay> pairs, double sigma) const {
  std::vector<double> slowness;
  std::vector<double> added;
  std::vector<double> busy;
  std::vector<double> uneven;
  std::vector<double> beyond;
  for (const uint32_t i : element.transfers) {
    slowness.push_back(pairs[i].x);
    added.push_back(pairs[i].added_seconds);
    busy.push_back(pairs[i].added_busy);
    uneven.push_back(pairs[i].uneven);
    beyond.push_back(pairs[i].beyond_like);
  }
  ElementDelay delay;
  delay.x = MedianInPlace(slowness);
  delay.added_seconds = MedianInPlace(added);
  delay.added_busy = MedianInPlace(busy);
  delay.uneven = MedianInPlace(uneven);
  // The mean of several pairs is surer than one of them.
  const double sigma_of_mean = sigma / std::sqrt(static_cast<double>(slowness.size()));
  delay.z = delay.x / std::max(sigma_of_mean, options_.matrix.sigma_floor);
  const bool is_connection = element.culprit.kind == model::CulpritKind::kConnection;
  delay.z_min = is_connection ? options_.matrix.z_point : options_.matrix.z_line;
  delay.beyond_like = MedianInPlace(beyond);
  const bool may_be_chance = is_connection && delay.x < kChanceMax;
  delay.beyond_like_min = may_be_chance ? std::log1p(options_.matrix.effect_min) : -kInfinite;
  return delay;
}

bool SlowTransferDetector::IsPassedBy(const Transfer& transfer, const model::Culprit& culprit) const {
  const auto is_at = [&](model::RankId end) {
    const model::RankPlace& place = layout_.ranks[end.index()];
    switch (culprit.kind) {
      case model::CulpritKind::kNicSend:
      case model::CulpritKind::kNicReceive:
      case model::CulpritKind::kNic:
        return culprit.nic.valid() ? place.nic == culprit.nic : end == culprit.rank;
      case model::CulpritKind::kHost:
        return place.host == culprit.host;
      case model::CulpritKind::kLeaf:
        return transfer.plane < place.leaves.size() && place.leaves[transfer.plane] == culprit.leaf;
      case model::CulpritKind::kPlane:
        return transfer.plane == culprit.plane;
      default:
        return end == culprit.rank || end == culprit.peer;
    }
  };
  const bool is_connection = culprit.kind == model::CulpritKind::kConnection;
  return is_connection ? is_at(transfer.source) && is_at(transfer.destination)
                       : is_at(transfer.source) || is_at(transfer.destination);
}

bool SlowTransferDetector::IsPassedByOneOf(const Transfer& transfer, std::span<const model::Culprit> culprits) const {
  return std::ranges::any_of(culprits, [&](const model::Culprit& culprit) { return IsPassedBy(transfer, culprit); });
}

Suspect SlowTransferDetector::MakeSuspect(const SlowElement& element, const ElementDelay& delay) const {
  Suspect suspect;
  suspect.syndrome = model::Syndrome::kCommSlow;
  suspect.culprits = {element.culprit};
  suspect.evidence = {
      {"time per message, times normal", std::exp(delay.x), 1, "x"},
      {"added to each message", delay.added_seconds * 1e6, 0, "us"},
      {"reports with single messages much slower than others, beyond normal", 100 * delay.uneven, 0, "%"},
      {"slow transfers through it", static_cast<double>(element.hits), 0, "pairs of ranks"},
      {"healthy transfers through it", static_cast<double>(element.misses), 0, "pairs of ranks"},
  };
  if (window_seconds_ > 0 && delay.is_slow()) suspect.cost = delay.added_busy / window_seconds_;
  const double share = static_cast<double>(element.hits) / (element.hits + element.misses);
  suspect.confidence = share * (delay.is_slow() ? delay.z / (delay.z + delay.z_min / 4) : delay.uneven);
  suspect.summary = delay.is_slow() ? fmt::format("{} takes {:.2f} times as long as normal for each message",
                                                  Describe(layout_, names_, element.culprit), std::exp(delay.x))
                                    : fmt::format("{} stalls single messages again and again, as if they were lost",
                                                  Describe(layout_, names_, element.culprit));
  if (element.culprit.kind == model::CulpritKind::kConnection) {
    suspect.summary += "; which end is at fault is unknown";
  }
  return suspect;
}

double SlowTransferDetector::SpreadBeside(std::span<const PairDelay> pairs,
                                          std::span<const model::Culprit> slow) const {
  double sum = 0;
  uint32_t count = 0;
  for (const PairDelay& pair : pairs) {
    if (pair.x >= 0 || IsPassedByOneOf(pair.transfer, slow)) continue;
    sum += pair.x * pair.x;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / count);
}

std::vector<SlowTransferDetector::JudgedElement> SlowTransferDetector::JudgeElements(std::span<const PairDelay> pairs,
                                                                                     double sigma) const {
  std::vector<Transfer> transfers;
  for (const PairDelay& pair : pairs) transfers.push_back(pair.transfer);
  std::vector<JudgedElement> judged;
  for (SlowElement& element : elements_.Explain(transfers)) {
    const ElementDelay delay = DelayOf(element, pairs, sigma);
    judged.push_back({std::move(element), delay});
  }
  std::ranges::stable_sort(judged, std::ranges::greater{}, [](const JudgedElement& each) {
    return std::make_pair(each.element.transfers.size(), each.delay.x);
  });
  return judged;
}

std::vector<Suspect> SlowTransferDetector::NameElements(std::span<const PairDelay> pairs, double sigma,
                                                        bool has_late_rank) const {
  std::vector<JudgedElement> elements = JudgeElements(pairs, sigma);
  std::vector<model::Culprit> slow;
  std::vector<model::Culprit> slow_lines;  // without single connections
  const auto is_explained = [&](const SlowElement& element, std::span<const model::Culprit> by) {
    return std::ranges::all_of(element.transfers, [&](uint32_t i) { return IsPassedByOneOf(pairs[i].transfer, by); });
  };
  std::vector<Suspect> suspects;
  for (auto& [element, delay] : elements) {
    if (!delay.is_slow() || is_explained(element, slow_lines)) continue;
    if (has_late_rank || !slow.empty()) {
      delay = DelayOf(element, pairs, std::max(sigma, SpreadBeside(pairs, slow)));
      if (!delay.is_slow()) continue;
    }
    slow.push_back(element.culprit);
    if (element.culprit.kind != model::CulpritKind::kConnection) slow_lines.push_back(element.culprit);
    suspects.push_back(MakeSuspect(element, delay));
    suspects.back().is_alone = std::ranges::none_of(
        pairs, [](const PairDelay& pair) { return pair.transfer.health == TransferHealth::kHealthy; });
  }
  const double as_ever = kHealthyShare * std::log1p(options_.matrix.effect_min);
  const bool can_tell_losses = slow.empty() || SpreadBeside(pairs, slow) < as_ever;
  for (const auto& [element, delay] : elements) {
    const bool is_lossy = can_tell_losses && !delay.is_slow() && delay.uneven >= kUnevenShareMin;
    if (is_lossy && !is_explained(element, slow)) suspects.push_back(MakeSuspect(element, delay));
  }
  // A pattern that takes many elements to explain is not a known one: better to name none than an innocent one.
  if (suspects.size() > kElementsMax) suspects.clear();
  return suspects;
}

void SlowTransferDetector::LearnBaseline(std::span<const Sample> samples, std::span<const PairDelay> pairs) {
  for (const Sample& sample : samples) {
    Connection& connection = *sample.connection;
    if (HasBaseline(connection)) continue;
    const auto pair = std::lower_bound(pairs.begin(), pairs.end(), sample, [](const PairDelay& p, const Sample& s) {
      return std::tie(p.transfer.source, p.transfer.destination, p.transfer.plane) <
             std::make_tuple(s.source, s.connection->key.peer, uint32_t{s.connection->key.plane});
    });
    const bool is_judged = pair != pairs.end() && pair->transfer.source == sample.source &&
                           pair->transfer.destination == connection.key.peer &&
                           pair->transfer.plane == connection.key.plane;
    if (is_judged && pair->transfer.health == TransferHealth::kSlow && ++connection.odd_windows < kOddWindowsMin)
      continue;
    const double count = ++connection.baseline_count;
    connection.baseline += (sample.log_seconds - connection.baseline) / count;
    connection.baseline_error_2 =
        (std::pow(count - 1, 2) * connection.baseline_error_2 + sample.error_2) / std::pow(count, 2);
    connection.baseline_ratios.Add(sample.ratios);
  }
}

bool SlowTransferDetector::SaysNothingOf(const model::Culprit& culprit) const {
  return std::ranges::none_of(judged_, [&](const Transfer& transfer) { return IsPassedBy(transfer, culprit); });
}

bool SlowTransferDetector::IsAccusedBy(const Transfer& transfer, const model::Culprit& culprit) const {
  if (!IsPassedBy(transfer, culprit)) return false;
  const auto is_at = [&](model::RankId end) {
    return culprit.nic.valid() ? layout_.ranks[end.index()].nic == culprit.nic : end == culprit.rank;
  };
  if (culprit.kind == model::CulpritKind::kNicSend) return is_at(transfer.source);
  if (culprit.kind == model::CulpritKind::kNicReceive) return is_at(transfer.destination);
  if (culprit.kind == model::CulpritKind::kConnection) return transfer.source == culprit.rank;
  return true;
}

std::vector<model::TransferDelay> SlowTransferDetector::DelaysOf(std::span<const model::Culprit> culprits,
                                                                 size_t num_max, uint32_t* num_left_out) const {
  // Planes of a pair are neighbours.
  std::vector<model::TransferDelay> delays;
  for (size_t i = 0; i < judged_.size(); ++i) {
    if (i == 0 || !IsSameLine(judged_[i], judged_[i - 1])) {
      delays.push_back({.source = judged_[i].source, .destination = judged_[i].destination, .ratio = 0});
    }
    delays.back().ratio = std::max(delays.back().ratio, judged_ratios_[i]);
    delays.back().is_accused |=
        std::ranges::any_of(culprits, [&](const model::Culprit& culprit) { return IsAccusedBy(judged_[i], culprit); });
  }
  *num_left_out = static_cast<uint32_t>(delays.size() - std::min(delays.size(), num_max));
  if (*num_left_out == 0) return delays;
  std::ranges::stable_sort(delays, std::greater(), [](const auto& d) { return std::pair(d.is_accused, d.ratio); });
  delays.resize(num_max);
  std::ranges::sort(delays, {}, [](const auto& d) { return std::pair(d.source, d.destination); });
  return delays;
}

std::vector<Suspect> SlowTransferDetector::EndWindow(SimTime now, std::span<const double> lateness) {
  window_seconds_ = window_begin_ == SimTime() ? 0 : (now - window_begin_).seconds().value();
  window_begin_ = now;
  std::vector<Sample> samples = TakeSamples(lateness);
  CompareWithNormal(samples);
  const double sigma = RemoveShared(samples);
  for (Sample& sample : samples) {
    if (sample.uneven_share > 0 && !TakesLonger(sample)) sample.uneven_share = 0;
  }
  CompareWithLike(samples);
  std::vector<PairDelay> pairs = PoolPairs(samples);
  JudgePairs(pairs, sigma);
  JudgeLines(pairs);
  judged_.clear();
  judged_.reserve(pairs.size());
  judged_ratios_.clear();
  for (const PairDelay& pair : pairs) {
    judged_.push_back(pair.transfer);
    judged_ratios_.push_back(std::exp(pair.x));
  }
  std::vector<Suspect> suspects =
      NameElements(pairs, sigma, std::ranges::any_of(lateness, [](double seconds) { return seconds > 0; }));
  if (suspects.empty()) LearnBaseline(samples, pairs);
  return suspects;
}

}  // namespace fairlead::diagnosis::c4d

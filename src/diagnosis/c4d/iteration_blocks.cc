#include "diagnosis/c4d/iteration_blocks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/statistics.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

namespace {

// Shorter blocks would only be more of them.
constexpr double kBlockSecondsMin = 0.25;
// Operations of a marker that tell how they come, and for how long they are to be watched.
constexpr uint64_t kMarkersMin = 4;
constexpr double kLearnSeconds = 15;
// Gaps that long, against the longest usual one, are between bursts.
constexpr double kBurstShare = 0.5;
// The longest gaps may be pauses.
constexpr double kUsualShare = 0.9;
// Bursts whose gaps differ by less are none.
constexpr double kBurstFactor = 3;

}  // namespace

void IterationBlocks::AddOutput(size_t index, const model::OperationRecord& operation, SimTime at,
                                std::optional<double> own_seconds, double host_seconds) {
  Rank& rank = ranks_[index];
  const auto is_of = [&](const Lane& lane) {
    return lane.communicator == operation.communicator && lane.kind == operation.kind && lane.peer == operation.peer;
  };
  if (!rank.first) rank.first = at;
  rank.latest = at;
  rank.is_whole &= own_seconds.has_value();
  rank.sum.own_seconds += own_seconds.value_or(0);
  rank.sum.host_seconds += host_seconds;
  if (rank.marker) {
    if (is_of(*rank.marker) && operation.sequence % rank.per_block == 0) {
      rank.sum.rank = static_cast<uint32_t>(index);
      Cut(rank, operation.sequence / rank.per_block, at);
    }
    return;
  }
  auto lane = std::ranges::find_if(rank.lanes, is_of);
  if (lane == rank.lanes.end()) {
    if (rank.lanes.size() == kLanesMax) return;
    lane = rank.lanes.insert(lane,
                             {.communicator = operation.communicator, .kind = operation.kind, .peer = operation.peer});
  }
  lane->starts[lane->count++ % kStartsKept] = at;
}

void IterationBlocks::Cut(Rank& rank, uint64_t index, SimTime at) {
  if (rank.begin && index == rank.index + 1 && rank.is_whole) {
    rank.sum.index = index;
    rank.sum.span_seconds = (at - *rank.begin).seconds().value();
    if (rank.sum.span_seconds > 0) samples_.push_back(rank.sum);
  }
  rank.sum = {};
  rank.is_whole = true;
  rank.begin = at;
  rank.index = index;
}

std::vector<double> IterationBlocks::GapsOf(const Lane& lane) {
  std::vector<double> gaps;
  const uint64_t kept = std::min<uint64_t>(lane.count, kStartsKept);
  for (uint64_t i = lane.count - kept + 1; i < lane.count; ++i) {
    gaps.push_back((lane.starts[i % kStartsKept] - lane.starts[(i - 1) % kStartsKept]).seconds().value());
  }
  return gaps;
}

uint64_t IterationBlocks::BurstOf(const std::vector<double>& gaps) {
  std::vector<double> sorted = gaps;
  const double usual = QuantileInPlace(sorted, kUsualShare);
  if (usual < kBurstFactor * MedianInPlace(sorted)) return 1;
  std::vector<double> sizes;
  uint64_t size = 0;
  for (const double gap : gaps) {
    ++size;
    if (gap < kBurstShare * usual) continue;
    sizes.push_back(static_cast<double>(size));
    size = 0;
  }
  // The first one may have begun before.
  if (sizes.size() > 1) sizes.erase(sizes.begin());
  return static_cast<uint64_t>(std::lround(MedianInPlace(sizes)));
}

IterationBlocks::Marker IterationBlocks::Describe(const Lane& lane) {
  const std::vector<double> gaps = GapsOf(lane);
  const uint64_t burst = std::max<uint64_t>(1, BurstOf(gaps));
  const double mean = std::accumulate(gaps.begin(), gaps.end(), 0.0) / static_cast<double>(gaps.size());
  return {&lane, burst, static_cast<double>(burst) * mean};
}

const IterationBlocks::Lane* IterationBlocks::FindFewest(const Rank& rank, std::optional<model::OperationKind> kind) {
  const Lane* fewest = nullptr;
  const auto is_better = [](const Lane& a, const Lane& b) {
    const bool is_transfer_a = IsTransfer(a.kind);
    const bool is_transfer_b = IsTransfer(b.kind);
    return is_transfer_a != is_transfer_b ? !is_transfer_a : a.count < b.count;
  };
  for (const Lane& lane : rank.lanes) {
    if (lane.count < kMarkersMin || (kind.has_value() && lane.kind != *kind)) continue;
    if (fewest == nullptr || is_better(lane, *fewest)) fewest = &lane;
  }
  return fewest;
}

IterationBlocks::Marker IterationBlocks::FindMarker(const Rank& rank) {
  const Lane* fewest = FindFewest(rank, std::nullopt);
  if (fewest == nullptr) return {};
  Marker best = Describe(*fewest);
  for (const Lane& lane : rank.lanes) {
    if (lane.communicator != fewest->communicator || IsTransfer(lane.kind) || lane.count < kStartsKept) continue;
    const Marker marker = Describe(lane);
    if (marker.burst > 1 && marker.seconds < best.seconds) best = marker;
  }
  return best;
}

void IterationBlocks::Adopt(model::OperationKind kind, uint64_t per_block, Rank* rank) {
  const Lane* lane = FindFewest(*rank, kind);
  if (lane == nullptr) return;
  rank->marker = Lane(*lane);
  rank->per_block = per_block;
  rank->lanes = {};
}

void IterationBlocks::Learn(const std::vector<uint32_t>& ranks) {
  const auto known = std::ranges::find_if(ranks, [this](uint32_t index) { return IsKnown(index); });
  if (known == ranks.end()) return LearnFromMost(ranks);
  const Rank& example = ranks_[*known];
  for (const uint32_t index : ranks) {
    if (!IsKnown(index)) Adopt(example.marker->kind, example.per_block, &ranks_[index]);
  }
}

void IterationBlocks::LearnFromMost(const std::vector<uint32_t>& ranks) {
  // What most of them say: by chance one may see bursts where others do not.
  std::map<model::OperationKind, std::vector<Marker>> markers;
  size_t num_reported = 0;
  for (const uint32_t index : ranks) {
    const Rank& rank = ranks_[index];
    const Marker marker = FindMarker(rank);
    if (marker.lane == nullptr || (rank.latest - *rank.first).seconds().value() < kLearnSeconds) continue;
    markers[marker.lane->kind].push_back(marker);
    ++num_reported;
  }
  if (num_reported == 0 || 2 * num_reported < ranks.size()) return;
  const auto& [kind, of_kind] = *std::ranges::max_element(markers, {}, [](const auto& of) { return of.second.size(); });
  std::vector<double> bursts;
  std::vector<double> spacings;
  for (const Marker& marker : of_kind) {
    bursts.push_back(static_cast<double>(marker.burst));
    spacings.push_back(marker.seconds / static_cast<double>(marker.burst));
  }
  const double burst = std::max(1.0, std::round(MedianInPlace(bursts)));
  const double seconds = std::max(1e-9, burst * MedianInPlace(spacings));
  const auto per_block = static_cast<uint64_t>(burst * std::max(1.0, std::ceil(kBlockSecondsMin / seconds)));
  for (const uint32_t index : ranks) Adopt(kind, per_block, &ranks_[index]);
}

std::vector<BlockSample> IterationBlocks::Take() { return std::exchange(samples_, {}); }

}  // namespace fairlead::diagnosis::c4d

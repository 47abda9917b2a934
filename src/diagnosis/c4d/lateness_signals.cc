#include "diagnosis/c4d/lateness_signals.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "diagnosis/c4d/robust_statistics.h"

namespace fairlead::diagnosis::c4d {
namespace {

// Ranks of a stage that can be compared with each other.
constexpr size_t kStageMin = 2;
// A rank of which more reports are missing is not judged by what the others tell.
constexpr double kMissingShareMax = 0.1;
// What enough ranks do not share is no excuse for the others: this share of them, and this many.
constexpr double kUnaffectedShare = 0.1;
constexpr size_t kUnaffectedMin = 2;

void MarkLate(double seconds, const SlowOptions& options, LatenessSignal& signal) {
  std::vector<double> values;
  for (size_t rank = 0; rank < signal.excess.size(); ++rank) {
    if (signal.is_known[rank]) values.push_back(signal.excess[rank]);
  }
  // Half of the ranks may be late: those of one of two hosts.
  const double spread = LowerSpreadInPlace(values).sigma;
  const double least = std::max(options.wait_share_min * seconds,
                                options.matrix.z_line * std::max(spread, options.wait_sigma_floor * seconds));
  for (size_t rank = 0; rank < signal.excess.size(); ++rank) {
    signal.is_late[rank] = signal.is_known[rank] && signal.excess[rank] >= least;
  }
}

// Own time of one window.
class OwnTimeJudge {
 public:
  OwnTimeJudge(const StragglerWindow& window, const RankNormals& normals, const SlowOptions& options)
      : window_(window), normals_(normals), options_(options) {}

  OwnLateness Judge() const;

 private:
  using OfRank = OwnTime::OfRank;
  using References = std::vector<std::optional<double>>;  // [rank] per output; nothing: too few ranks in its stage

  bool IsKnown(size_t rank) const { return IsOwnTimeKnown(window_.own[rank], options_); }
  bool HasPast(size_t rank) const { return IsKnown(rank) && normals_.IsKnown(rank); }
  // Lower medians of stages.
  References StageReferences(double OfRank::*field) const;
  void CompareWithStage(const References& references, OwnLateness& own) const;
  // Of those without a reference.
  void CompareWithOwnPast(const References& references, LatenessSignal& signal) const;
  // [rank] seconds of a measure beyond its own past, less what it grew by for the median rank, unless enough ranks are
  // as ever; 0 where unknown.
  std::vector<double> ExcessOverPast(double OfRank::*field, double RankNormal::*normal) const;
  void AddLateStages(OwnLateness& own) const;

  const StragglerWindow& window_;
  const RankNormals& normals_;
  const SlowOptions& options_;
};

OwnTimeJudge::References OwnTimeJudge::StageReferences(double OfRank::*field) const {
  const std::vector<uint32_t>& stages = window_.stages;
  std::map<uint32_t, std::vector<double>> values;
  for (size_t rank = 0; rank < stages.size(); ++rank) {
    const OfRank& own = window_.own[rank];
    if (IsKnown(rank)) values[stages[rank]].push_back(own.*field / static_cast<double>(own.outputs));
  }
  std::map<uint32_t, double> medians;
  for (auto& [stage, list] : values) {
    if (list.size() >= kStageMin) medians[stage] = LowerMedianInPlace(list);
  }
  References references(stages.size());
  for (size_t rank = 0; rank < stages.size(); ++rank) {
    const auto median = medians.find(stages[rank]);
    if (median != medians.end()) references[rank] = median->second;
  }
  return references;
}

void OwnTimeJudge::CompareWithStage(const References& references, OwnLateness& own) const {
  const References host_references = StageReferences(&OfRank::host_seconds);
  for (size_t rank = 0; rank < references.size(); ++rank) {
    if (!IsKnown(rank) || !references[rank] || *references[rank] <= 0) continue;
    const OfRank& measured = window_.own[rank];
    const auto outputs = static_cast<double>(measured.outputs);
    own.ratio[rank] = measured.seconds / outputs / *references[rank] - 1;
    own.host_excess[rank] = measured.host_seconds - host_references[rank].value_or(0) * outputs;
    own.signal.excess[rank] = (own.ratio[rank] - normals_.Of(rank).own_ratio) * *references[rank] * outputs;
    own.signal.is_known[rank] = true;
  }
}

void OwnTimeJudge::CompareWithOwnPast(const References& references, LatenessSignal& signal) const {
  const auto is_alone = [&](size_t rank) { return !references[rank] && HasPast(rank); };
  std::vector<double> ratios(references.size(), 0.0);
  std::vector<double> changes;
  for (size_t rank = 0; rank < references.size(); ++rank) {
    const RankNormal& normal = normals_.Of(rank);
    if (!is_alone(rank) || normal.own_per_output <= 0) continue;
    const OfRank& own = window_.own[rank];
    ratios[rank] = own.seconds / static_cast<double>(own.outputs) / normal.own_per_output - 1;
    changes.push_back(ratios[rank]);
  }
  const double shared = LowerMedianInPlace(changes);
  for (size_t rank = 0; rank < references.size(); ++rank) {
    if (!is_alone(rank)) continue;
    signal.excess[rank] =
        (ratios[rank] - shared) * normals_.Of(rank).own_per_output * static_cast<double>(window_.own[rank].outputs);
    signal.is_known[rank] = true;
  }
}

std::vector<double> OwnTimeJudge::ExcessOverPast(double OfRank::*field, double RankNormal::*normal) const {
  const std::vector<OfRank>& own = window_.own;
  std::vector<double> growth;     // per output
  std::vector<double> unchanged;  // likewise, of ranks that are as ever
  for (size_t rank = 0; rank < own.size(); ++rank) {
    if (!HasPast(rank)) continue;
    const auto outputs = static_cast<double>(own[rank].outputs);
    growth.push_back(own[rank].*field / outputs - normals_.Of(rank).*normal);
    const double grown = growth.back() * outputs;
    if (std::abs(grown) < options_.wait_share_min * window_.seconds / 2) unchanged.push_back(growth.back());
  }
  std::vector<double> excess(own.size(), 0.0);
  if (growth.empty()) return excess;
  const bool is_shared = unchanged.size() < kUnaffectedMin ||
                         static_cast<double>(unchanged.size()) < kUnaffectedShare * static_cast<double>(growth.size());
  const double shared = LowerMedianInPlace(is_shared ? growth : unchanged);
  for (size_t rank = 0; rank < own.size(); ++rank) {
    if (!HasPast(rank)) continue;
    excess[rank] = own[rank].*field - (normals_.Of(rank).*normal + shared) * static_cast<double>(own[rank].outputs);
  }
  return excess;
}

void OwnTimeJudge::AddLateStages(OwnLateness& own) const {
  const std::vector<double> excess = ExcessOverPast(&OfRank::seconds, &RankNormal::own_per_output);
  for (size_t rank = 0; rank < excess.size(); ++rank) {
    double& signal = own.signal.excess[rank];
    if (own.idle_excess[rank] >= excess[rank] / 2) signal = std::max(signal, excess[rank]);
  }
}

OwnLateness OwnTimeJudge::Judge() const {
  const size_t num_ranks = window_.own.size();
  OwnLateness own{.signal = {.excess = std::vector<double>(num_ranks, 0.0),
                             .is_known = std::vector<bool>(num_ranks),
                             .is_late = std::vector<bool>(num_ranks)},
                  .ratio = std::vector<double>(num_ranks, 0.0),
                  .host_excess = std::vector<double>(num_ranks, 0.0),
                  .idle_excess = ExcessOverPast(&OfRank::idle_seconds, &RankNormal::idle_per_output)};
  const References references = StageReferences(&OfRank::seconds);
  CompareWithStage(references, own);
  CompareWithOwnPast(references, own.signal);
  AddLateStages(own);
  MarkLate(window_.seconds, options_, own.signal);
  return own;
}

}  // namespace

bool IsOwnTimeKnown(const OwnTime::OfRank& own, const SlowOptions& options) {
  return own.outputs >= options.operations_min &&
         static_cast<double>(own.reports_missing) <= kMissingShareMax * static_cast<double>(own.reports);
}

OwnLateness JudgeOwnTime(const StragglerWindow& window, const RankNormals& normals, const SlowOptions& options) {
  return OwnTimeJudge(window, normals, options).Judge();
}

LatenessSignal JudgeWaits(const WaitBlame::Blame& blame, const RankNormals& normals, double RankNormal::*normal_share,
                          double seconds, const SlowOptions& options) {
  LatenessSignal signal{blame.seconds, blame.is_known, std::vector<bool>(blame.seconds.size())};
  for (size_t rank = 0; rank < signal.excess.size(); ++rank) {
    signal.excess[rank] -= normals.Of(rank).*normal_share * seconds;
  }
  MarkLate(seconds, options, signal);
  return signal;
}

}  // namespace fairlead::diagnosis::c4d

#include "diagnosis/c4d/straggler_detector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "diagnosis/c4d/arrival_lag.h"
#include "diagnosis/c4d/robust_statistics.h"
#include "diagnosis/c4d/wording.h"
#include "model/culprits.h"

namespace fairlead::diagnosis::c4d {

namespace {

// Ranks of a stage that can be compared with each other.
constexpr size_t kStageMin = 2;
// Share of a host's ranks that are late when the host is.
constexpr double kLateRanksShare = 0.6;
// A rank of which more reports are missing is not judged by what the others tell.
constexpr double kMissingShareMax = 0.1;
// What enough ranks do not share is no excuse for the others: this share of them, and this many.
constexpr double kUnaffectedShare = 0.1;
constexpr size_t kUnaffectedMin = 2;
// With more than that at the same time none is named: such a job is late everywhere.
constexpr size_t kCandidatesMax = 3;
// Of a slow rank that evidence has just sufficed for, and of one that costs little beside others that are as slow.
constexpr double kBlockConfidence = 0.8;
constexpr double kDoubtfulConfidence = 0.4;
constexpr double kCostShareMin = 0.2;
// A single signal is worth this much of what agreeing ones are.
constexpr double kAloneConfidence = 0.5;
// Arrivals wait for some other reason, too: a tenth of the time between ranks that are alike was seen.
constexpr double kArrivalMargin = 0.05;
// One real job is all that it was seen in.
constexpr double kArrivalConfidenceMax = 0.85;

std::string_view CauseText(model::SubCause cause) {
  switch (cause) {
    case model::SubCause::kThrottled:
      return "its GPU's clocks are down";
    case model::SubCause::kHostThread:
      return "its host thread enqueues late";
    case model::SubCause::kGpu:
      return "its GPU takes longer";
    default:
      return "it begins to exchange data late";
  }
}

// Ranks that have communicators of two with each other: PyTorch makes one for each pair that sends outside of a batch.
using Neighbours = std::map<model::RankId, std::set<model::RankId>>;

// Numbers the ranks of each chain, or ring, from the end with the least rank, or from the least rank. Ranks with more
// than two neighbours are no stages.
void NumberChains(const Neighbours& neighbours, std::vector<uint32_t>& stages) {
  std::set<model::RankId> seen;
  const auto follow = [&](model::RankId begin) {
    std::vector<model::RankId> chain;
    bool is_chain = true;
    for (std::optional<model::RankId> next = begin; next.has_value();) {
      const model::RankId rank = *next;
      chain.push_back(rank);
      seen.insert(rank);
      next.reset();
      is_chain &= neighbours.at(rank).size() <= 2;
      for (const model::RankId other : neighbours.at(rank)) {
        if (!next.has_value() && !seen.contains(other)) next = other;
      }
    }
    for (uint32_t position = 0; is_chain && position < chain.size(); ++position) {
      if (chain[position].index() < stages.size()) stages[chain[position].index()] = position;
    }
  };
  for (const auto& [rank, others] : neighbours) {
    if (others.size() == 1 && !seen.contains(rank)) follow(rank);
  }
  for (const auto& [rank, others] : neighbours) {
    if (!seen.contains(rank)) follow(rank);
  }
}

}  // namespace

StragglerDetector::StragglerDetector(const model::JobLayout& layout, const SlowOptions& options,
                                     model::PlaceNames names)
    : layout_(layout),
      names_(std::move(names)),
      options_(options),
      offsets_(layout),
      own_time_(layout),
      blame_(layout, options.operations_min),
      lag_(layout, options.operations_min),
      exchanges_(layout),
      watch_(layout),
      arrival_waits_(layout),
      arrival_watch_(layout, kArrivalMargin),
      has_pairs_(layout.communicators.size(), false),
      baselines_(layout.ranks.size()) {}

bool StragglerDetector::IsPlausible(const CompletedOperation& operation) const {
  if (IsTransfer(operation.kind)) return false;
  return operation.ranks.size() >= 2 &&
         std::all_of(operation.ranks.begin(), operation.ranks.end(), [this](const RankInstants& rank) {
           return rank.rank.index() < layout_.ranks.size() && rank.started <= rank.finished;
         });
}

void StragglerDetector::Add(const CompletedOperation& operation) {
  if (!IsPlausible(operation)) return;
  offsets_.Add(operation);
  ArrivalsByTimeInside(operation, arrivals_);
  blame_.Add(operation, arrivals_);
  ArrivalsByStart(operation, offsets_, arrivals_);
  lag_.Add(operation, arrivals_);
}

void StragglerDetector::Add(const model::RankReport& report) {
  for (const model::OperationRecord& operation : report.operations) {
    const bool is_pair = IsTransfer(operation.kind);
    if (is_pair && operation.communicator.index() < has_pairs_.size())
      has_pairs_[operation.communicator.index()] = true;
  }
  own_time_.Add(report, this);
  arrival_waits_.Add(report);
  exchanges_.Add(report, [this](const CompletedOperation& exchange) { Add(exchange); });
}

void StragglerDetector::BeginAnew(model::RankId rank) {
  own_time_.BeginAnew(rank);
  arrival_waits_.BeginAnew(rank);
}

void StragglerDetector::Add(const model::HostReport& report) {
  for (const model::HostSymptomRecord& symptom : report.symptoms) {
    if (symptom.symptom == model::HostSymptom::kGpuThrottled) {
      throttled_.insert({report.host, symptom.device});
      ever_throttled_.insert({report.host, symptom.device});
    }
  }
}

void StragglerDetector::OnOutput(size_t rank, const OwnTime::Output& output) {
  watch_.blocks().AddOutput(rank, output.operation, output.at, output.own_seconds, output.host_seconds);
}

bool StragglerDetector::HasStages() const {
  const std::vector<uint32_t> stages = FindStages();
  return std::ranges::any_of(stages, [&](uint32_t stage) { return stage != stages.front(); });
}

std::vector<Suspect> StragglerDetector::JudgeBlocks(SimTime now) {
  watch_.history().SetTime(now);
  watch_.Judge(FindStages());
  std::vector<Suspect> suspects;
  for (const SlowRank& slow : watch_.Slow()) suspects.push_back(MakeSuspect(slow));
  const std::vector<BlockSample> blocks = arrival_waits_.TakeBlock(now);
  if (!blocks.empty()) arrival_watch_.Judge(arrival_waits_.Roles(), blocks);
  for (const SlowRank& slow : arrival_watch_.Slow()) {
    Suspect suspect = MakeArrivalSuspect(slow);
    const bool is_named =
        std::ranges::any_of(suspects, [&](const Suspect& other) { return Overlap(other.culprits, suspect.culprits); });
    if (!is_named) suspects.push_back(std::move(suspect));
  }
  return suspects;
}

bool StragglerDetector::IsThrottled(const SlowRank& slow) const {
  return std::ranges::any_of(slow.ranks, [&](model::RankId rank) {
    const model::RankPlace& place = layout_.ranks[rank.index()];
    return ever_throttled_.contains({place.host, place.gpu});
  });
}

Suspect StragglerDetector::NameSlow(const SlowRank& slow) const {
  Suspect suspect;
  suspect.syndrome = model::Syndrome::kNonCommSlow;
  suspect.is_confirmed = true;
  suspect.culprits = {slow.rank.valid() ? model::RankCulprit(layout_, slow.rank) : model::HostCulprit(slow.host)};
  suspect.cost = slow.share;
  return suspect;
}

std::string StragglerDetector::SentenceOf(const Suspect& suspect) const {
  return fmt::format("{} makes the others wait for {:.0f} % of the time: {}",
                     Describe(layout_, names_, suspect.culprits.front()), 100 * suspect.cost,
                     CauseText(suspect.sub_cause));
}

Suspect StragglerDetector::MakeArrivalSuspect(const SlowRank& slow) const {
  Suspect suspect = NameSlow(slow);
  suspect.sub_cause = IsThrottled(slow) ? model::SubCause::kThrottled : model::SubCause::kUnknown;
  suspect.confidence = std::min(kArrivalConfidenceMax, kBlockConfidence + (1 - kBlockConfidence) * slow.sureness / 4);
  if (slow.cost < kCostShareMin * slow.share) suspect.confidence = kDoubtfulConfidence;
  suspect.evidence = {
      {"what it receives waits for its GPU, beyond that of its peers", 100 * slow.share, 0, "% of the time"},
      {"of that, what the job would gain without it", 100 * slow.cost, 0, "% of the time"},
      {"evidence beyond a false alarm in 100 jobs", slow.sureness, 0, "decades"},
  };
  suspect.summary = SentenceOf(suspect);
  return suspect;
}

Suspect StragglerDetector::MakeSuspect(const SlowRank& slow) const {
  Suspect suspect = NameSlow(slow);
  suspect.sub_cause = IsThrottled(slow)        ? model::SubCause::kThrottled
                      : slow.host_share >= 0.5 ? model::SubCause::kHostThread
                      : slow.rank.valid()      ? model::SubCause::kGpu
                                               : model::SubCause::kHostThread;
  suspect.confidence = kBlockConfidence + (1 - kBlockConfidence) * std::min(0.75, slow.sureness / 4);
  // Others are about as slow, by chance or by turns, or iterations take no longer: the job gains little without it.
  const bool is_idle =
      slow.cost < kCostShareMin * slow.share || (slow.growth != 0 && slow.growth < kCostShareMin * slow.share);
  if (is_idle) suspect.confidence = kDoubtfulConfidence;
  suspect.evidence = {
      {"own time beyond that of its peers", 100 * slow.share, 0, "% of the iteration"},
      {"of that, what the job would gain without it", 100 * slow.cost, 0, "% of the iteration"},
      {"iterations take longer than before it began", 100 * slow.growth, 0, "%"},
      {"evidence beyond a false alarm in 100 jobs", slow.sureness, 0, "decades"},
  };
  suspect.summary = SentenceOf(suspect);
  return suspect;
}

bool StragglerDetector::IsDecidedByBlocks(const Suspect& suspect) const {
  const model::Culprit& culprit = suspect.culprits.front();
  if (culprit.kind == model::CulpritKind::kRank) return watch_.IsWatched(culprit.rank.index());
  // GPUs of a host are slow one by one.
  return suspect.sub_cause != model::SubCause::kHostThread;
}

std::vector<uint32_t> StragglerDetector::FindStages() const {
  std::vector<uint32_t> stages(layout_.ranks.size(), 0);
  Neighbours neighbours;
  for (size_t c = 0; c < has_pairs_.size(); ++c) {
    // In an all-to-all exchange no rank precedes another.
    const model::CommunicatorId id(c);
    if (!has_pairs_[c] || exchanges_.HasExchanges(id) || arrival_waits_.IsOf(id)) continue;
    const auto& ranks = layout_.communicators[c].ranks;
    if (ranks.size() == 2) {
      neighbours[ranks[0]].insert(ranks[1]);
      neighbours[ranks[1]].insert(ranks[0]);
      continue;
    }
    for (uint32_t position = 0; position < ranks.size(); ++position) {
      if (ranks[position].index() < stages.size()) stages[ranks[position].index()] = position;
    }
  }
  NumberChains(neighbours, stages);
  return stages;
}

StragglerDetector::Window StragglerDetector::TakeWindow() {
  Window window;
  window.own = own_time_.Take();
  window.blame = blame_.Take();
  window.lag = lag_.Take();
  std::vector<double> spans;
  for (const OwnTime::OfRank& own : window.own) {
    if (own.span > 0) spans.push_back(own.span);
  }
  window.seconds = MedianInPlace(spans);
  return window;
}

bool StragglerDetector::HasOwn(const Window& window, size_t rank) const {
  const OwnTime::OfRank& own = window.own[rank];
  return own.outputs >= options_.operations_min &&
         static_cast<double>(own.reports_missing) <= kMissingShareMax * static_cast<double>(own.reports);
}

std::vector<std::optional<double>> StragglerDetector::StageReferences(const Window& window,
                                                                      const std::vector<uint32_t>& stages,
                                                                      double OwnTime::OfRank::*field) const {
  std::map<uint32_t, std::vector<double>> values;
  for (size_t rank = 0; rank < stages.size(); ++rank) {
    const OwnTime::OfRank& own = window.own[rank];
    if (HasOwn(window, rank)) values[stages[rank]].push_back(own.*field / static_cast<double>(own.outputs));
  }
  std::map<uint32_t, double> medians;
  for (auto& [stage, list] : values) {
    if (list.size() >= kStageMin) medians[stage] = LowerMedianInPlace(list);
  }
  std::vector<std::optional<double>> references(stages.size());
  for (size_t rank = 0; rank < stages.size(); ++rank) {
    const auto median = medians.find(stages[rank]);
    if (median != medians.end()) references[rank] = median->second;
  }
  return references;
}

void StragglerDetector::CompareWithOwnPast(const Window& window, std::vector<double>& ratio,
                                           const std::vector<bool>& is_alone) const {
  std::vector<double> changes;
  for (size_t rank = 0; rank < ratio.size(); ++rank) {
    const Baseline& baseline = baselines_[rank];
    if (!is_alone[rank] || baseline.windows < options_.baseline_windows || baseline.own_per_output <= 0) continue;
    const OwnTime::OfRank& own = window.own[rank];
    ratio[rank] = own.seconds / static_cast<double>(own.outputs) / baseline.own_per_output - 1;
    changes.push_back(ratio[rank]);
  }
  if (changes.empty()) return;
  const double shared = LowerMedianInPlace(changes);
  for (size_t rank = 0; rank < ratio.size(); ++rank) {
    if (is_alone[rank] && baselines_[rank].windows >= options_.baseline_windows) ratio[rank] -= shared;
  }
}

bool StragglerDetector::HasBaseline(const Window& window, size_t rank) const {
  return HasOwn(window, rank) && baselines_[rank].windows >= options_.baseline_windows;
}

std::vector<double> StragglerDetector::ExcessOverPast(const Window& window, double OwnTime::OfRank::*field,
                                                      double Baseline::*normal) const {
  std::vector<double> growth;     // per output
  std::vector<double> unchanged;  // likewise, of ranks that are as ever
  for (size_t rank = 0; rank < window.own.size(); ++rank) {
    if (!HasBaseline(window, rank)) continue;
    const OwnTime::OfRank& own = window.own[rank];
    growth.push_back(own.*field / static_cast<double>(own.outputs) - baselines_[rank].*normal);
    const double grown = growth.back() * static_cast<double>(own.outputs);
    if (std::abs(grown) < options_.wait_share_min * window.seconds / 2) unchanged.push_back(growth.back());
  }
  std::vector<double> excess(window.own.size(), 0.0);
  if (growth.empty()) return excess;
  const bool is_shared = unchanged.size() < kUnaffectedMin ||
                         static_cast<double>(unchanged.size()) < kUnaffectedShare * static_cast<double>(growth.size());
  const double shared = LowerMedianInPlace(is_shared ? growth : unchanged);
  for (size_t rank = 0; rank < window.own.size(); ++rank) {
    if (!HasBaseline(window, rank)) continue;
    const OwnTime::OfRank& own = window.own[rank];
    excess[rank] = own.*field - (baselines_[rank].*normal + shared) * static_cast<double>(own.outputs);
  }
  return excess;
}

void StragglerDetector::AddLateStages(const Window& window, Signal& own) const {
  const std::vector<double> excess = ExcessOverPast(window, &OwnTime::OfRank::seconds, &Baseline::own_per_output);
  for (size_t rank = 0; rank < excess.size(); ++rank) {
    // Only a late host thread can be all of a stage's at once; GPUs are slow one by one.
    if (window.idle_excess[rank] >= excess[rank] / 2) own.excess[rank] = std::max(own.excess[rank], excess[rank]);
  }
}

bool StragglerDetector::IsIdle(const Window& window, size_t rank) const {
  return window.idle_excess[rank] >= options_.wait_share_min * window.seconds;
}

bool StragglerDetector::HasIdleHost(const Window& window, const Candidate& candidate) const {
  double excess = 0;
  for (const model::RankId rank : candidate.ranks) excess += window.idle_excess[rank.index()];
  return excess / static_cast<double>(candidate.ranks.size()) >= options_.wait_share_min * window.seconds;
}

StragglerDetector::Signal StragglerDetector::JudgeOwn(Window& window) const {
  const size_t num_ranks = window.own.size();
  const std::vector<uint32_t> stages = FindStages();
  const auto references = StageReferences(window, stages, &OwnTime::OfRank::seconds);
  const auto host_references = StageReferences(window, stages, &OwnTime::OfRank::host_seconds);
  Signal signal{std::vector<double>(num_ranks, 0.0), std::vector<bool>(num_ranks), std::vector<bool>(num_ranks)};
  std::vector<bool> is_alone(num_ranks, false);
  window.own_ratio.assign(num_ranks, 0.0);
  window.host_excess.assign(num_ranks, 0.0);
  for (size_t rank = 0; rank < num_ranks; ++rank) {
    const OwnTime::OfRank& own = window.own[rank];
    const auto outputs = static_cast<double>(own.outputs);
    is_alone[rank] = HasOwn(window, rank) && !references[rank];
    if (!HasOwn(window, rank) || !references[rank] || *references[rank] <= 0) continue;
    window.own_ratio[rank] = own.seconds / outputs / *references[rank] - 1;
    window.host_excess[rank] = own.host_seconds - host_references[rank].value_or(0) * outputs;
    signal.excess[rank] = (window.own_ratio[rank] - baselines_[rank].own_ratio) * *references[rank] * outputs;
    signal.is_known[rank] = true;
  }
  std::vector<double> ratio(num_ranks, 0.0);
  CompareWithOwnPast(window, ratio, is_alone);
  for (size_t rank = 0; rank < num_ranks; ++rank) {
    if (!is_alone[rank] || baselines_[rank].windows < options_.baseline_windows) continue;
    signal.excess[rank] = ratio[rank] * baselines_[rank].own_per_output * static_cast<double>(window.own[rank].outputs);
    signal.is_known[rank] = true;
  }
  window.idle_excess = ExcessOverPast(window, &OwnTime::OfRank::idle_seconds, &Baseline::idle_per_output);
  AddLateStages(window, signal);
  MarkLate(signal, window.seconds);
  return signal;
}

StragglerDetector::Signal StragglerDetector::JudgeWaits(const WaitBlame::Blame& blame, double Baseline::*normal_share,
                                                        double seconds) const {
  Signal signal{blame.seconds, blame.is_known, std::vector<bool>(blame.seconds.size())};
  for (size_t rank = 0; rank < signal.excess.size(); ++rank) {
    signal.excess[rank] -= baselines_[rank].*normal_share * seconds;
  }
  MarkLate(signal, seconds);
  return signal;
}

void StragglerDetector::MarkLate(Signal& signal, double seconds) const {
  std::vector<double> values;
  for (size_t rank = 0; rank < signal.excess.size(); ++rank) {
    if (signal.is_known[rank]) values.push_back(signal.excess[rank]);
  }
  // Half of the ranks may be late: those of one of two hosts.
  const double spread = LowerSpreadInPlace(values).sigma;
  const double least = std::max(options_.wait_share_min * seconds,
                                options_.matrix.z_line * std::max(spread, options_.wait_sigma_floor * seconds));
  for (size_t rank = 0; rank < signal.excess.size(); ++rank) {
    signal.is_late[rank] = signal.is_known[rank] && signal.excess[rank] >= least;
  }
}

std::vector<StragglerDetector::Candidate> StragglerDetector::FindCandidates(const Window& window,
                                                                            const Signal& own) const {
  std::map<HostId, std::vector<model::RankId>> ranks_of;  // of hosts with late ranks
  double total = 0;
  for (size_t rank = 0; rank < own.excess.size(); ++rank) {
    if (own.is_late[rank]) ranks_of[layout_.ranks[rank].host];
    total += own.is_late[rank] ? own.excess[rank] : 0;
  }
  for (size_t rank = 0; rank < own.excess.size(); ++rank) {
    const auto host = ranks_of.find(layout_.ranks[rank].host);
    if (host != ranks_of.end()) host->second.emplace_back(rank);
  }
  std::vector<Candidate> all;
  for (const auto& [host, ranks] : ranks_of) AddCandidates(window, own, ranks, all);
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.share > b.share; });
  std::vector<Candidate> candidates;
  double share = 0;
  for (Candidate& candidate : all) {
    if (share >= options_.blame_share_min || candidates.size() == kCandidatesMax) break;
    candidate.share /= total;
    share += candidate.share;
    candidates.push_back(std::move(candidate));
  }
  if (share < options_.blame_share_min) candidates.clear();
  return candidates;
}

void StragglerDetector::AddCandidates(const Window& window, const Signal& own, const std::vector<model::RankId>& ranks,
                                      std::vector<Candidate>& candidates) const {
  Candidate candidate;
  candidate.culprit.host = layout_.ranks[ranks.front().index()].host;
  size_t num_known = 0;
  size_t num_late = 0;
  double worst = 0;
  for (const model::RankId rank : ranks) {
    const bool is_late = own.is_late[rank.index()];
    num_known += own.is_known[rank.index()] ? 1 : 0;
    // Ranks of later stages may lack samples, too, and hide it behind their wait for the first one.
    num_late += is_late || IsIdle(window, rank.index()) ? 1 : 0;
    candidate.share += is_late ? own.excess[rank.index()] : 0;
    worst = std::max(worst, is_late ? own.excess[rank.index()] : 0);
  }
  const auto least = kLateRanksShare * static_cast<double>(ranks.size());
  if (static_cast<double>(num_late) >= least && worst < options_.blame_share_min * candidate.share) {
    candidate.culprit.kind = model::CulpritKind::kHost;
    candidate.ranks = ranks;
    candidates.push_back(std::move(candidate));
    return;
  }
  // Of its neighbours too few may be judged to tell whether it is the rank or its host.
  if (static_cast<double>(num_known) < least) return;
  candidate.culprit.kind = model::CulpritKind::kRank;
  for (const model::RankId rank : ranks) {
    if (!own.is_late[rank.index()]) continue;
    candidate.culprit.rank = rank;
    candidate.ranks = {rank};
    candidate.share = own.excess[rank.index()];
    candidates.push_back(candidate);
  }
}

bool StragglerDetector::IsMostOfStage(const Candidate& candidate) const {
  if (candidate.culprit.kind != model::CulpritKind::kHost) return false;
  const std::vector<uint32_t> stages = FindStages();
  const uint32_t stage = stages[candidate.ranks.front().index()];
  size_t num_ranks = 0;
  size_t num_own = 0;
  for (size_t rank = 0; rank < stages.size(); ++rank) {
    if (stages[rank] != stage) continue;
    ++num_ranks;
    num_own += layout_.ranks[rank].host == candidate.culprit.host ? 1 : 0;
  }
  return 2 * num_own > num_ranks;
}

bool StragglerDetector::HasAllReports(const Window& window, const Candidate& candidate) const {
  return std::all_of(candidate.ranks.begin(), candidate.ranks.end(),
                     [&](model::RankId rank) { return window.own[rank.index()].reports_missing == 0; });
}

bool StragglerDetector::IsKnown(const Signal& signal, const Candidate& candidate) const {
  return std::any_of(candidate.ranks.begin(), candidate.ranks.end(),
                     [&](model::RankId rank) { return signal.is_known[rank.index()]; });
}

bool StragglerDetector::Agrees(const Signal& signal, const Candidate& candidate, double seconds) const {
  if (!IsKnown(signal, candidate)) return false;
  const std::vector<uint32_t> stages = FindStages();
  const uint32_t stage = stages[candidate.ranks.front().index()];
  std::vector<double> all;
  std::vector<double> of_stage;  // possibly the only ranks that wait for it
  for (size_t rank = 0; rank < signal.excess.size(); ++rank) {
    if (!signal.is_known[rank]) continue;
    all.push_back(signal.excess[rank]);
    if (stages[rank] == stage) of_stage.push_back(signal.excess[rank]);
  }
  double reference = LowerMedianInPlace(all);
  if (!of_stage.empty()) reference = std::min(reference, LowerMedianInPlace(of_stage));
  double excess = 0;
  for (const model::RankId rank : candidate.ranks) excess += signal.excess[rank.index()];
  return excess / static_cast<double>(candidate.ranks.size()) - reference >= options_.wait_share_min * seconds;
}

model::SubCause StragglerDetector::FindSubCause(const Window& window, const Candidate& candidate,
                                                const Signal& own) const {
  double excess = 0;
  double host_excess = 0;
  bool is_throttled = false;
  for (const model::RankId rank : candidate.ranks) {
    const model::RankPlace& place = layout_.ranks[rank.index()];
    is_throttled = is_throttled || throttled_.contains({place.host, place.gpu});
    excess += own.excess[rank.index()];
    host_excess += window.host_excess[rank.index()];
  }
  if (is_throttled) return model::SubCause::kThrottled;
  if (HasIdleHost(window, candidate)) return model::SubCause::kHostThread;
  return host_excess >= excess / 2 ? model::SubCause::kHostThread : model::SubCause::kGpu;
}

Suspect StragglerDetector::MakeSuspect(const Window& window, const Candidate& candidate, const Signal& own,
                                       const Signal& blame, const Signal& lag, uint32_t num_agreeing) const {
  const auto greatest = [&](const std::vector<double>& values) {
    double value = values[candidate.ranks.front().index()];
    for (const model::RankId rank : candidate.ranks) value = std::max(value, values[rank.index()]);
    return 100 * value / window.seconds;
  };
  Suspect suspect;
  suspect.syndrome = model::Syndrome::kNonCommSlow;
  suspect.culprits = {candidate.culprit};
  suspect.sub_cause = FindSubCause(window, candidate, own);
  suspect.evidence = {
      {"own time beyond that of its peers", greatest(own.excess), 0, "% of the window"},
      {"share of all such time", 100 * candidate.share, 0, "%"},
      {"others waited for it, by time inside collectives", greatest(blame.excess), 0, "% of the window"},
      {"others waited for it, by starts of collectives", greatest(lag.excess), 0, "% of the window"},
  };
  suspect.cost = greatest(own.excess) / 100;
  suspect.confidence = candidate.share * (num_agreeing == 0 ? kAloneConfidence : num_agreeing == 1 ? 0.8 : 0.95);
  suspect.summary = SentenceOf(suspect);
  return suspect;
}

void StragglerDetector::LearnBaseline(const Window& window) {
  for (size_t rank = 0; rank < baselines_.size(); ++rank) {
    Baseline& baseline = baselines_[rank];
    if (baseline.windows >= options_.baseline_windows || !HasOwn(window, rank)) continue;
    const double count = ++baseline.windows;
    const auto learn = [count](double& mean, double value) { mean += (value - mean) / count; };
    learn(baseline.own_per_output, window.own[rank].seconds / static_cast<double>(window.own[rank].outputs));
    learn(baseline.idle_per_output, window.own[rank].idle_seconds / static_cast<double>(window.own[rank].outputs));
    learn(baseline.own_ratio, window.own_ratio[rank]);
    learn(baseline.blame_share, window.blame.seconds[rank] / window.seconds);
    learn(baseline.lag_share, window.lag.seconds[rank] / window.seconds);
  }
}

std::vector<double> StragglerDetector::JudgeWindow() {
  verdict_ = {.window = TakeWindow(), .is_healthy = false, .suspects = {}};
  Window& window = verdict_.window;
  std::vector<double> lateness(layout_.ranks.size(), 0.0);
  if (window.seconds > 0) {
    const Signal own = JudgeOwn(window);
    const Signal blame = JudgeWaits(window.blame, &Baseline::blame_share, window.seconds);
    const Signal lag = JudgeWaits(window.lag, &Baseline::lag_share, window.seconds);
    not_waited_for_.clear();
    for (const SlowRank& slow : watch_.Slow()) {
      const Candidate candidate{.ranks = slow.ranks, .culprit = {}};
      const bool is_known = IsKnown(blame, candidate) || IsKnown(lag, candidate);
      if (!is_known || Agrees(blame, candidate, window.seconds) || Agrees(lag, candidate, window.seconds)) continue;
      not_waited_for_.insert(MakeSuspect(slow).culprits.front());
    }
    const std::vector<Candidate> candidates = FindCandidates(window, own);
    verdict_.is_healthy = candidates.empty();
    for (const Candidate& candidate : candidates) {
      // Ranks that have few of their like elsewhere wait for each other: waits say little about them.
      uint32_t num_agreeing = IsMostOfStage(candidate) && HasIdleHost(window, candidate) ? 1 : 0;
      num_agreeing += Agrees(blame, candidate, window.seconds) ? 1 : 0;
      num_agreeing += Agrees(lag, candidate, window.seconds) ? 1 : 0;
      // Where nothing else can confirm it, nothing may be missing.
      const bool is_alone = !IsKnown(blame, candidate) && HasAllReports(window, candidate);
      if (num_agreeing == 0 && !is_alone) continue;
      verdict_.suspects.push_back(MakeSuspect(window, candidate, own, blame, lag, num_agreeing));
      if (num_agreeing == 0) continue;
      for (const model::RankId rank : candidate.ranks) lateness[rank.index()] = own.excess[rank.index()];
    }
  }
  throttled_.clear();
  return lateness;
}

std::vector<Suspect> StragglerDetector::TakeSuspects(bool has_transport_suspect) {
  Verdict verdict = std::exchange(verdict_, {});
  if (has_transport_suspect) return {};
  if (verdict.is_healthy) LearnBaseline(verdict.window);
  std::erase_if(verdict.suspects, [this](const Suspect& suspect) { return IsDecidedByBlocks(suspect); });
  return std::move(verdict.suspects);
}

}  // namespace fairlead::diagnosis::c4d

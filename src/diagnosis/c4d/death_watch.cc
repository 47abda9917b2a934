#include "diagnosis/c4d/death_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "diagnosis/c4d/wording.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::ProcessState;
using model::RankId;
using model::SubCause;
using model::Syndrome;

// An expected end: the program has finished.
bool IsRegularEnd(const RankState& rank) {
  return rank.process == ProcessState::kGone && (rank.is_finalizing || rank.exit_code == 0);
}

// As launchers do to the other ranks when one fails: SIGTERM, then SIGKILL; by number or as a shell tells.
bool IsLaunchersSignal(int32_t exit_code) {
  return exit_code == -15 || exit_code == 143 || exit_code == -9 || exit_code == 137;
}

const model::HostSymptomRecord* FindGpuError(const JobPicture& picture, RankId rank) {
  for (const HostState::Symptom& symptom : picture.hosts()[picture.ranks()[rank].host].symptoms) {
    const bool is_error = symptom.record.symptom == model::HostSymptom::kGpuMemoryError ||
                          symptom.record.symptom == model::HostSymptom::kNvlinkError ||
                          symptom.record.symptom == model::HostSymptom::kCudaError;
    if (is_error && symptom.record.device == picture.layout().ranks[rank.index()].gpu) return &symptom.record;
  }
  return nullptr;
}

template <class Predicate>
void KeepIfAny(std::vector<RankId>* ranks, Predicate predicate) {
  if (std::any_of(ranks->begin(), ranks->end(), predicate)) {
    std::erase_if(*ranks, [&](RankId rank) { return !predicate(rank); });
  }
}

std::vector<RankId> FindFirstDeaths(const JobPicture& picture) {
  SimTime first = SimTime::Never();
  for (const RankState& rank : picture.ranks()) {
    if (rank.process == ProcessState::kGone && !IsRegularEnd(rank)) first = std::min(first, rank.process_since);
  }
  std::vector<RankId> ranks;
  for (size_t r = 0; r < picture.ranks().size(); ++r) {
    const RankState& rank = picture.ranks()[RankId(r)];
    if (rank.process == ProcessState::kGone && !IsRegularEnd(rank) && rank.process_since == first) {
      ranks.emplace_back(r);
    }
  }
  KeepIfAny(&ranks, [&](RankId rank) { return FindGpuError(picture, rank) != nullptr; });
  KeepIfAny(&ranks, [&](RankId rank) { return !IsLaunchersSignal(picture.ranks()[rank].exit_code); });
  return ranks;
}

std::optional<Suspect> FindDead(const JobPicture& picture) {
  const std::vector<RankId> dead = FindFirstDeaths(picture);
  if (dead.empty()) return std::nullopt;
  const model::JobLayout& layout = picture.layout();
  Suspect suspect;
  suspect.syndrome = Syndrome::kDead;
  suspect.culprits = RankCulprits(layout, dead);
  suspect.confidence = 0.99;
  suspect.sub_cause = SubCause::kProcess;
  const int32_t exit_code = picture.ranks()[dead.front()].exit_code;
  suspect.evidence.push_back(
      {fmt::format("exit code of rank {}", dead.front().value()), static_cast<double>(exit_code), 0, ""});
  suspect.summary = fmt::format("The process of {} has ended with exit code {}",
                                Describe(layout, picture.names(), suspect.culprits), exit_code);
  if (const model::HostSymptomRecord* error = FindGpuError(picture, dead.front())) {
    suspect.sub_cause = SubCause::kGpuError;
    suspect.summary += fmt::format(" after an error of its GPU{}{}", error->text.empty() ? "" : ": ", error->text);
  }
  return suspect;
}

bool IsSilent(const HostState& host, SimTime now, const SilenceOptions& options) {
  return now - host.last_heard >= std::max(options.report_period * options.missed_reports, options.silent_after);
}

}  // namespace

Hindrances FindHindrances(const JobPicture& picture, SimTime now, bool has_clock, const SilenceOptions& options) {
  Hindrances hindrances(picture.ranks().size(), Hindrance::kNone);
  std::vector<const HostState*> silent;
  for (const HostState& host : picture.hosts()) {
    if (has_clock && IsSilent(host, now, options)) silent.push_back(&host);
  }
  const double share = static_cast<double>(silent.size()) / static_cast<double>(picture.hosts().size());
  const bool is_ours = share > options.max_silent_share;
  for (const HostState* host : silent) {
    const bool went_on = picture.last_progress() >= host->last_heard + options.went_on_after;
    for (const RankId rank : host->ranks) {
      hindrances[rank] = went_on || is_ours ? Hindrance::kUnseen : Hindrance::kSilent;
    }
  }
  for (size_t r = 0; r < picture.ranks().size(); ++r) {
    const RankState& rank = picture.ranks()[RankId(r)];
    Hindrance& hindrance = hindrances[RankId(r)];
    if (rank.process == ProcessState::kStopped) hindrance = Hindrance::kStopped;
    if (rank.process == ProcessState::kGone) hindrance = Hindrance::kGone;
    if (rank.is_finalizing) hindrance = Hindrance::kLeaving;
  }
  return hindrances;
}

std::vector<Suspect> FindMissing(const JobPicture& picture, const Hindrances& hindrances, SimTime now,
                                 const SilenceOptions& options) {
  std::vector<Suspect> suspects;
  if (std::optional<Suspect> dead = FindDead(picture)) suspects.push_back(std::move(*dead));
  const bool is_leaving = std::any_of(picture.ranks().begin(), picture.ranks().end(),
                                      [](const RankState& rank) { return rank.is_finalizing; });
  // Where no host reports any more, the fault may be on our side; for a job on one host that can't be decided.
  const bool are_all_unseen = std::all_of(hindrances.begin(), hindrances.end(),
                                          [](Hindrance hindrance) { return hindrance == Hindrance::kUnseen; });
  if (is_leaving || (are_all_unseen && picture.hosts().size() > 1)) return suspects;
  for (const HostState& host : picture.hosts()) {
    const bool is_unseen = std::all_of(host.ranks.begin(), host.ranks.end(),
                                       [&](RankId rank) { return hindrances[rank] == Hindrance::kUnseen; });
    const bool went_on = picture.last_progress() >= host.last_heard + options.went_on_after;
    if (!is_unseen || !(went_on || are_all_unseen)) continue;
    Suspect suspect;
    suspect.syndrome = Syndrome::kUnreachable;
    suspect.culprits = {HostCulprit(host.id)};
    suspect.confidence = are_all_unseen ? 0.5 : 0.9;
    const double silent = (now - host.last_heard).seconds().value();
    suspect.evidence.push_back({"time without a report", silent, 0, "s"});
    suspect.summary =
        fmt::format("The agent of {} has not answered for {:.0f} s{}", picture.names().Of(host.id), silent,
                    are_all_unseen ? ", and no other process of the job" : ", while the job goes on");
    suspects.push_back(std::move(suspect));
  }
  return suspects;
}

}  // namespace fairlead::diagnosis::c4d

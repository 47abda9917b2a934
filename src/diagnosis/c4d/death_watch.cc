#include "diagnosis/c4d/death_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "diagnosis/c4d/wording.h"
#include "model/culprits.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::ProcessState;
using model::RankId;
using model::SubCause;
using model::Syndrome;

// An expected end: the program has finished.
bool IsRegularEnd(const RankState& rank) {
  return rank.process == ProcessState::kGone && (rank.is_finalizing || !rank.exit.is_broken());
}

// By SIGTERM or SIGKILL, by number or as a shell tells: so launchers end the other ranks when one fails.
bool IsKilled(const RankState& rank) {
  constexpr int32_t kCodes[] = {-15, 143, -9, 137};
  return rank.exit.code.has_value() && std::ranges::find(kCodes, *rank.exit.code) != std::end(kCodes);
}

bool IsKilledAtOnce(const RankState& rank) { return rank.exit.code == -9 || rank.exit.code == 137; }

// A launcher that kills a rank at once kills the others, too, in this time.
constexpr SimDuration kLauncherTakes(1'000'000'000);

// Whether SIGKILL came to the rank and not, as from a launcher, to its like: the other ranks of its host, or of the job
// if it is alone there. Most of these live on or have ended by themselves, not counting one for which it may have been.
bool IsKilledAlone(const JobPicture& picture, const RankState& rank) {
  if (!IsKilledAtOnce(rank)) return false;
  size_t num_others = 0;
  size_t num_living = 0;
  size_t num_ended = 0;
  const auto count = [&](const RankState& other) {
    if (&other == &rank) return;
    ++num_others;
    if (other.process == ProcessState::kGone) {
      num_ended += IsKilled(other) ? 0 : 1;
    } else {
      num_living += other.alive_until >= rank.gone_at + kLauncherTakes ? 1 : 0;
    }
  };
  const std::vector<RankId>& of_host = picture.hosts()[rank.host].ranks;
  if (of_host.size() > 1) {
    for (const RankId other : of_host) count(picture.ranks()[other]);
  } else {
    for (const RankState& other : picture.ranks()) count(other);
  }
  return 2 * (num_living + num_ended - std::min<size_t>(num_ended, 1)) > num_others;
}

const model::HostSymptomRecord* FindGpuError(const JobPicture& picture, RankId rank) {
  for (const HostState::Symptom& symptom : picture.hosts()[picture.ranks()[rank].host].symptoms) {
    const bool is_error =
        model::IsOfGpu(symptom.record.symptom) && symptom.record.symptom != model::HostSymptom::kGpuThrottled;
    if (is_error && symptom.record.device == picture.layout().ranks[rank.index()].gpu) return &symptom.record;
  }
  return nullptr;
}

// Returns whether there is any.
template <class Predicate>
bool KeepIfAny(std::vector<RankId>* ranks, Predicate predicate) {
  const bool is_any = std::any_of(ranks->begin(), ranks->end(), predicate);
  if (is_any) std::erase_if(*ranks, [&](RankId rank) { return !predicate(rank); });
  return is_any;
}

// Reports of different hosts take different times to the master.
constexpr SimDuration kTransitMax(200'000'000);
// A host tells each second.
constexpr SimDuration kReportTakes(1'000'000'000);

// A death is after the one instant, and not after the other; where they are one, it is at it.
struct DeathSpan {
  SimTime after;
  SimTime until;
};

DeathSpan OnMastersClock(const RankState& rank) { return {rank.alive_until, rank.gone_at}; }
DeathSpan OnHostsClock(const RankState& rank) { return {*rank.exit.at - rank.exit.within, *rank.exit.at}; }

// A strict order: `until` grows along it.
bool IsBefore(const DeathSpan& a, const DeathSpan& b) {
  return b.after > a.until || (b.after == a.until && b.until > b.after);
}

// Whether `b` has died after `a` for sure. On one host that is exact. Each of the three comparisons is a strict order;
// mixed they can only contradict each other where reports took longer than kTransitMax.
bool DiedBefore(const RankState& a, const RankState& b) {
  if (a.host != b.host) return b.alive_until >= a.gone_at + kTransitMax;
  if (!a.exit.at.has_value() || !b.exit.at.has_value()) return IsBefore(OnMastersClock(a), OnMastersClock(b));
  return IsBefore(OnHostsClock(a), OnHostsClock(b));
}

struct FirstDeaths {
  std::vector<RankId> ranks;  // any of them may be the first; none where it is too early to say
  size_t num_later = 0;       // that followed
};

// Whether it is too early to say of who was killed at once, beside others that ended by themselves, that it was alone.
bool IsTooEarly(const JobPicture& picture, const std::vector<RankId>& ranks, SimTime now) {
  const auto is_fresh = [&](RankId r) {
    const RankState& rank = picture.ranks()[r];
    return IsKilledAtOnce(rank) && now < rank.gone_at + kLauncherTakes + kReportTakes + kTransitMax;
  };
  const auto is_killed = [&](RankId rank) { return IsKilled(picture.ranks()[rank]); };
  return std::ranges::any_of(ranks, is_fresh) && !std::ranges::all_of(ranks, is_killed);
}

// Those of which any may have been the first, by their times alone, and how many are dead.
struct EarliestDeaths {
  std::vector<RankId> ranks;
  size_t num_dead = 0;
};

EarliestDeaths FindEarliestDeaths(const JobPicture& picture) {
  std::vector<RankId> dead;
  for (size_t r = 0; r < picture.ranks().size(); ++r) {
    const RankState& rank = picture.ranks()[RankId(r)];
    if (rank.process == ProcessState::kGone && !IsRegularEnd(rank)) dead.emplace_back(r);
  }
  EarliestDeaths first;
  first.num_dead = dead.size();
  for (const RankId rank : dead) {
    const bool is_later = std::ranges::any_of(
        dead, [&](RankId other) { return other != rank && DiedBefore(picture.ranks()[other], picture.ranks()[rank]); });
    if (!is_later) first.ranks.push_back(rank);
  }
  // Reports that contradict each other say nothing of the order.
  if (first.ranks.empty()) first.ranks = dead;
  return first;
}

FirstDeaths FindFirstDeaths(const JobPicture& picture, SimTime now) {
  EarliestDeaths earliest = FindEarliestDeaths(picture);
  FirstDeaths first;
  first.ranks = std::move(earliest.ranks);
  KeepIfAny(&first.ranks, [&](RankId rank) { return FindGpuError(picture, rank) != nullptr; });
  const bool is_any_alone =
      KeepIfAny(&first.ranks, [&](RankId rank) { return IsKilledAlone(picture, picture.ranks()[rank]); });
  if (!is_any_alone && IsTooEarly(picture, first.ranks, now)) return {};
  KeepIfAny(&first.ranks, [&](RankId rank) { return !IsKilled(picture.ranks()[rank]); });
  first.num_later = earliest.num_dead - first.ranks.size();
  return first;
}

std::string EndText(const FirstDeaths& first, std::optional<int32_t> code) {
  if (first.ranks.size() > 1) return " have ended, and which was first is not known";
  if (!code.has_value()) return " has ended";
  return *code < 0 ? fmt::format(" was ended by signal {}", -*code)
                   : fmt::format(" has ended with exit code {}", *code);
}

std::optional<Suspect> FindDead(const JobPicture& picture, SimTime now) {
  const FirstDeaths dead = FindFirstDeaths(picture, now);
  if (dead.ranks.empty()) return std::nullopt;
  const model::JobLayout& layout = picture.layout();
  const RankId first = dead.ranks.front();
  Suspect suspect;
  suspect.syndrome = Syndrome::kDead;
  suspect.culprits = RankCulprits(layout, dead.ranks);
  suspect.confidence = 0.99;
  suspect.sub_cause = SubCause::kProcess;
  const std::optional<int32_t> code = picture.ranks()[first].exit.code;
  if (code.has_value()) {
    suspect.evidence.push_back({fmt::format("exit code of rank {}", first.value()), static_cast<double>(*code), 0, ""});
  }
  if (dead.num_later > 0) {
    suspect.evidence.push_back({"processes that ended after it", static_cast<double>(dead.num_later), 0, ""});
  }
  suspect.summary = fmt::format("The process{} of {}{}", dead.ranks.size() > 1 ? "es" : "",
                                Describe(layout, picture.names(), suspect.culprits), EndText(dead, code));
  if (const model::HostSymptomRecord* error = FindGpuError(picture, first)) {
    suspect.sub_cause = SubCause::kGpuError;
    suspect.summary += fmt::format(" after an error of its GPU{}{}", error->text.empty() ? "" : ": ", error->text);
  }
  return suspect;
}

// By a signal that ends whole jobs: of a launcher, of a scheduler, of somebody at a keyboard. Nobody knows: it may be.
bool MayBeStopped(const RankState& rank) {
  constexpr int32_t kInterrupted[] = {-2, 130};
  const std::optional<int32_t> code = rank.exit.code;
  return !code.has_value() || IsKilled(rank) || std::ranges::find(kInterrupted, *code) != std::end(kInterrupted);
}

SimDuration SilenceLimit(const SilenceOptions& options) {
  return std::max(options.report_period * options.missed_reports, options.silent_after);
}

bool IsSilent(const JobPicture& picture, const HostState& host, SimTime now, const SilenceOptions& options) {
  return now - picture.SilentSince(host) >= SilenceLimit(options);
}

// Its agent can't report, but shows itself.
bool IsAnswering(const HostState& host, SimTime now, const SilenceOptions& options) {
  return host.last_answer.has_value() && now - *host.last_answer < SilenceLimit(options);
}

}  // namespace

Hindrances FindHindrances(const JobPicture& picture, SimTime now, bool has_clock, const SilenceOptions& options) {
  Hindrances hindrances(picture.ranks().size(), Hindrance::kNone);
  std::vector<const HostState*> silent;
  for (const HostState& host : picture.hosts()) {
    if (has_clock && IsSilent(picture, host, now, options)) silent.push_back(&host);
  }
  const double share = static_cast<double>(silent.size()) / static_cast<double>(picture.hosts().size());
  const bool is_ours = share > options.max_silent_share;
  for (const HostState* host : silent) {
    const bool went_on = picture.last_progress() >= host->last_heard + options.went_on_after;
    const bool is_there = went_on || IsAnswering(*host, now, options);
    for (const RankId rank : host->ranks) {
      hindrances[rank] = is_there || is_ours ? Hindrance::kUnseen : Hindrance::kSilent;
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

bool HasCrashed(const JobPicture& picture, SimTime now) {
  const std::vector<RankId> first = FindFirstDeaths(picture, now).ranks;
  if (first.size() != 1) return false;
  if (FindGpuError(picture, first.front()) != nullptr) return true;
  const RankState& rank = picture.ranks()[first.front()];
  if (MayBeStopped(rank) && !IsKilledAlone(picture, rank)) return false;
  return std::ranges::none_of(FindEarliestDeaths(picture).ranks, [&](RankId other) {
    return other != first.front() && MayBeStopped(picture.ranks()[other]);
  });
}

std::vector<Suspect> FindMissing(const JobPicture& picture, const Hindrances& hindrances, SimTime now,
                                 const SilenceOptions& options) {
  std::vector<Suspect> suspects;
  if (std::optional<Suspect> dead = FindDead(picture, now)) suspects.push_back(std::move(*dead));
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
    suspect.culprits = {model::HostCulprit(host.id)};
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

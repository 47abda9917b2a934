#include "diagnosis/c4d/finding_tracker.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>

#include "diagnosis/c4d/calibration.h"
#include "diagnosis/c4d/wording.h"

namespace fairlead::diagnosis::c4d {

// Less is no news.
constexpr double kSurer = 0.1;
// Windows in a row that are enough whatever was before.
constexpr uint32_t kStreakMax = 8;
constexpr double kHoursOfDay = 24;
// Another job that fills the same link makes single connections slow, for half a minute often. What is broken stays so:
// windows in a row after which a connection is believed, and its score until then.
constexpr uint32_t kStreakOfConnection = 6;
constexpr double kPassingScore = 0.4;
// Windows in a row that it was slow on the mean, after which what costs nothing counts as one more.
constexpr uint32_t kStreakToGoOn = 2;

// Slowness of all messages, not losses: their cost is not known.
bool IsSlowPath(const Suspect& suspect) { return suspect.syndrome == model::Syndrome::kCommSlow && suspect.cost >= 0; }

bool MayPass(const Suspect& suspect) {
  return IsSlowPath(suspect) && suspect.culprits.size() == 1 &&
         suspect.culprits.front().kind == model::CulpritKind::kConnection;
}

using model::Finding;
using model::FindingId;

FindingTracker::Key FindingTracker::KeyOf(const Suspect& suspect) {
  std::vector<model::Culprit> culprits = suspect.culprits;
  for (model::Culprit& culprit : culprits) {
    const bool is_side =
        culprit.kind == model::CulpritKind::kNicSend || culprit.kind == model::CulpritKind::kNicReceive;
    if (is_side) culprit.kind = model::CulpritKind::kNic;
  }
  return {suspect.syndrome, std::move(culprits)};
}

bool FindingTracker::Hold(const Suspect& suspect, SimTime now, SimDuration hold) {
  const Key key = KeyOf(suspect);
  Suspicion& suspicion = suspicions_.try_emplace(key, Suspicion{now, now}).first->second;
  suspicion.last_held = now;
  if (const std::optional<FindingId> id = FindOpen(key)) {
    open_[*id].last_held = now;
    return false;
  }
  return now - suspicion.first_held >= hold;
}

void FindingTracker::ForgetOthers(SimTime now) {
  std::erase_if(suspicions_, [&](const auto& entry) { return entry.second.last_held != now; });
}

std::vector<Suspect> FindingTracker::HoldWindow(std::span<const Suspect> suspects, SimTime now, uint32_t bad,
                                                uint32_t windows,
                                                const std::function<bool(const Suspect&)>& says_nothing) {
  const uint64_t mask = windows >= 64 ? ~uint64_t{0} : (uint64_t{1} << windows) - 1;
  std::set<Key> held;
  for (const Suspect& suspect : suspects) {
    if (!suspect.is_idle || GoesOn(KeyOf(suspect))) held.insert(KeyOf(suspect));
  }
  const bool is_quiet = std::ranges::none_of(suspects, IsSlowPath);
  for (auto& [key, history] : histories_) {
    const bool is_held = held.contains(key);
    history.silent = !is_held && says_nothing(history.latest) ? history.silent + 1 : 0;
    const bool is_reported = history.silent == 0 || history.silent > windows;
    if (!is_reported) continue;
    history.bad = (history.bad << 1) & mask;
    if (!is_held) NoteEnded(key, is_quiet, &history);
  }
  for (const Suspect& suspect : suspects) {
    const Key key = KeyOf(suspect);
    if (suspect.is_idle && !held.contains(key)) continue;
    WindowHistory& history = histories_[key];
    ++history.streak;
    Suspect weighed = suspect.is_idle ? history.latest : suspect;
    if (suspect.is_idle || (MayPass(weighed) && history.streak < kStreakOfConnection)) {
      weighed.confidence = std::min(weighed.confidence, kPassingScore);
    }
    NoteBad(weighed, now, &history);
    if (const std::optional<FindingId> id = FindOpen(key)) {
      Raise(weighed);
      open_[*id].last_held = now;
    }
  }
  std::erase_if(histories_, [&](const auto& entry) { return entry.second.bad == 0 && !FindOpen(entry.first); });
  std::vector<Suspect> confirmed;
  for (const auto& [key, history] : histories_) {
    const bool is_bad_now = (history.bad & 1) != 0;
    // Others share the paths of this job, and come and go: what is to be believed lasts longer.
    const uint32_t streak_min = std::min(kStreakMax, std::max(bad, 2 * longest_ended_ + 1));
    if (IsSlowPath(history.latest) && history.streak < streak_min) continue;
    if (is_bad_now && (history.latest.is_confirmed || static_cast<uint32_t>(std::popcount(history.bad)) >= bad) &&
        !FindOpen(key)) {
      confirmed.push_back(history.latest);
    }
  }
  return confirmed;
}

bool FindingTracker::GoesOn(const Key& key) const {
  const auto history = histories_.find(key);
  return history != histories_.end() && IsSlowPath(history->second.latest) && history->second.streak >= kStreakToGoOn;
}

void FindingTracker::NoteEnded(const Key& key, bool is_quiet, WindowHistory* history) {
  const bool has_ended = is_quiet && IsSlowPath(history->latest) && !FindOpen(key);
  if (has_ended) longest_ended_ = std::max(longest_ended_, history->streak);
  history->streak = 0;
}

void FindingTracker::NoteBad(const Suspect& suspect, SimTime now, WindowHistory* history) {
  if (history->bad == 0) history->first_bad = now;
  history->bad |= 1;
  history->latest = suspect;
}

std::vector<Suspect> FindingTracker::HoldConfirmed(std::span<const Suspect> suspects, SimTime now) {
  std::vector<Suspect> fresh;
  for (const Suspect& suspect : suspects) {
    const Key key = KeyOf(suspect);
    if (FindOpen(key)) continue;
    NoteBad(suspect, now, &histories_[key]);
    fresh.push_back(suspect);
  }
  return fresh;
}

std::vector<FindingId> FindingTracker::FindRecovered(uint32_t windows) const {
  const uint64_t mask = windows >= 64 ? ~uint64_t{0} : (uint64_t{1} << windows) - 1;
  std::vector<FindingId> recovered;
  for (const auto& [id, state] : open_) {
    const auto history = histories_.find(state.key);
    if (history != histories_.end() && (history->second.bad & mask) == 0) recovered.push_back(id);
  }
  return recovered;
}

void FindingTracker::Open(const Suspect& suspect, SimTime now, std::vector<FindingId> symptoms) {
  const Key key = KeyOf(suspect);
  Finding finding;
  finding.id = FindingId(findings_.size());
  finding.job = job_;
  finding.syndrome = suspect.syndrome;
  finding.state = model::FindingState::kConfirmed;
  finding.culprits = suspect.culprits;
  finding.communicator = suspect.communicator;
  finding.operation = suspect.operation;
  finding.sequence = suspect.sequence;
  finding.sub_cause = suspect.sub_cause;
  Fill(suspect, finding);
  const auto suspicion = suspicions_.find(key);
  const auto history = histories_.find(key);
  finding.first_seen = suspicion != suspicions_.end() ? suspicion->second.first_held
                       : history != histories_.end()  ? history->second.first_bad
                                                      : now;
  finding.confirmed = now;
  finding.cleared = SimTime::Never();
  finding.symptoms = std::move(symptoms);
  findings_.push_back(finding);
  open_[finding.id] = {key, now};
  Tell(FindingChange::kOpened, finding.id);
}

void FindingTracker::Fill(const Suspect& suspect, Finding& finding) const {
  finding.evidence = suspect.evidence;
  finding.candidates = suspect.candidates;
  finding.summary = suspect.summary;
  finding.score = suspect.confidence;
  finding.confidence = Calibrated(suspect.syndrome, suspect.confidence);
  if (suspect.is_uncounted) finding.confidence = std::min(finding.confidence, kUnseenMax);
  finding.action = RecommendAction(suspect, finding.confidence);
  // A job that stands still loses all.
  const bool is_slow =
      suspect.syndrome == model::Syndrome::kCommSlow || suspect.syndrome == model::Syndrome::kNonCommSlow;
  if (suspect.syndrome == model::Syndrome::kUnreachable || (is_slow && suspect.cost < 0)) return;
  finding.cost_share = is_slow ? std::min(suspect.cost, 1.0) : 1;
  if (num_gpus_ > 0) finding.cost_gpu_hours = *finding.cost_share * static_cast<double>(num_gpus_) * kHoursOfDay;
}

void FindingTracker::Raise(const Suspect& suspect) {
  const std::optional<FindingId> id = FindOpen(KeyOf(suspect));
  if (!id || suspect.confidence <= findings_[id->index()].score + kSurer) return;
  Fill(suspect, findings_[id->index()]);
  Tell(FindingChange::kUpdated, *id);
}

void FindingTracker::NoteSigns(FindingId id, const std::vector<model::Sign>& signs) {
  Finding& finding = findings_[id.index()];
  std::vector<model::Sign> all;
  std::ranges::set_union(finding.signs, signs, std::back_inserter(all));
  if (all == finding.signs) return;
  finding.signs = std::move(all);
  TellMore(id);
}

void FindingTracker::NoteReports(FindingId id, const std::vector<model::Evidence>& reports) {
  std::vector<model::Evidence>& evidence = findings_[id.index()].evidence;
  const size_t before = evidence.size();
  for (const model::Evidence& report : reports) {
    const bool is_known = std::ranges::find(evidence, report.what, &model::Evidence::what) != evidence.end();
    if (!is_known) evidence.push_back(report);
  }
  if (evidence.size() > before) TellMore(id);
}

// With the change of the finding that is reported anyway, where there is one.
void FindingTracker::TellMore(FindingId id) {
  const Finding& finding = findings_[id.index()];
  const auto pending = std::ranges::find_if(actions_, [id](const C4dAction& a) { return a.finding.id == id; });
  if (pending == actions_.end()) return Tell(FindingChange::kUpdated, id);
  for (C4dAction& action : actions_) {
    if (action.finding.id != id) continue;
    action.finding.signs = finding.signs;
    action.finding.evidence = finding.evidence;
  }
}

void FindingTracker::AddSymptom(FindingId id, FindingId symptom) {
  std::vector<FindingId>& symptoms = findings_[id.index()].symptoms;
  if (std::find(symptoms.begin(), symptoms.end(), symptom) != symptoms.end()) return;
  symptoms.push_back(symptom);
  Tell(FindingChange::kUpdated, id);
}

void FindingTracker::Clear(FindingId id, SimTime now) {
  Finding& finding = findings_[id.index()];
  finding.state = model::FindingState::kCleared;
  finding.cleared = now;
  histories_.erase(open_.at(id).key);
  open_.erase(id);
  Tell(FindingChange::kUpdated, id);
}

void FindingTracker::ClearAll(SimTime now) {
  for (const FindingId id : open()) Clear(id, now);
  suspicions_.clear();
  histories_.clear();
  longest_ended_ = 0;
}

std::vector<FindingId> FindingTracker::open() const {
  std::vector<FindingId> ids;
  for (const auto& [id, state] : open_) ids.push_back(id);
  return ids;
}

void FindingTracker::Tell(FindingChange change, FindingId id) { actions_.push_back({change, findings_[id.index()]}); }

std::optional<FindingId> FindingTracker::FindOpen(const Key& key) const {
  for (const auto& [id, state] : open_) {
    if (state.key == key) return id;
  }
  return std::nullopt;
}

}  // namespace fairlead::diagnosis::c4d

#include "diagnosis/c4d/c4d_master.h"

#include <algorithm>
#include <variant>

#include "diagnosis/c4d/death_watch.h"
#include "diagnosis/c4d/independent_signs.h"
#include "diagnosis/c4d/slow_detectors.h"
#include "diagnosis/c4d/thread_places.h"
#include "diagnosis/c4d/waits_of_job.h"
#include "model/culprits.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::Culprit;
using model::Finding;
using model::FindingId;
using model::FindingProof;
using model::RankId;
using model::Syndrome;

// What of a finding's proof people can look at.
constexpr size_t kDelaysMax = 4096;
constexpr size_t kWaitNodesMax = 40;

bool IsHang(Syndrome syndrome) { return syndrome == Syndrome::kCommHang || syndrome == Syndrome::kNonCommHang; }
bool IsDead(Syndrome syndrome) { return syndrome == Syndrome::kDead; }
bool IsMismatch(Syndrome syndrome) { return syndrome == Syndrome::kMismatch; }
bool IsSlow(Syndrome syndrome) { return syndrome == Syndrome::kCommSlow || syndrome == Syndrome::kNonCommSlow; }

}  // namespace

C4dMaster::C4dMaster(const C4dOptions& options, model::PlaceNames names)
    : options_(options), names_(std::move(names)), window_(options.window) {}
C4dMaster::~C4dMaster() = default;

std::vector<C4dAction> C4dMaster::Handle(SimTime now, std::span<const model::TelemetryRecord> records) {
  const SimDuration away_min = options_.silence.report_period * options_.silence.missed_reports;
  const bool was_away = own_silence_.NoteCall(now, !records.empty(), away_min);
  if (picture_ && was_away) picture_->NoteOwnSilence(now);
  for (const model::TelemetryRecord& record : records) Take(now, record);
  if (!picture_) return {};
  picture_->NoteSilence(now, options_.silence.without_after);
  if (now < excused_until_) {
    tracker_->ForgetOthers(now);
    window_.NoteStandstill();
  } else {
    JudgeStalled(now);
  }
  JudgeBlocks(now);
  EndWindowIfDue(now);
  ClearGone(now);
  for (const FindingId id : tracker_->open()) {
    const Finding& finding = tracker_->findings()[id.index()];
    tracker_->NoteSigns(id, FindSigns(*picture_, finding, now, options_.silence));
    tracker_->NoteReports(id, FindReports(*picture_, finding, now));
  }
  std::vector<C4dAction> actions = tracker_->TakeActions();
  for (const C4dAction& action : actions) {
    if (action.change == FindingChange::kOpened) proofs_.Keep(action.finding.id, MakeProof(action.finding, now));
  }
  return actions;
}

FindingProof C4dMaster::MakeProof(const Finding& finding, SimTime now) const {
  FindingProof proof;
  proof.seen_at = now;
  if (finding.syndrome == Syndrome::kCommSlow) {
    proof.delays = slow_->DelaysOf(finding.culprits, kDelaysMax, &proof.num_delays_left_out);
    for (const model::RankPlace& place : picture_->layout().ranks) proof.host_of.push_back(place.host);
  } else if (finding.syndrome != Syndrome::kNonCommSlow) {
    proof.waits = model::Fold(PictureWaits(*picture_, finding, QueryAt(now, true)), kWaitNodesMax);
    if (proof.waits.edges.empty()) proof.waits = {};
    proof.threads = FindThreadPlaces(*picture_, finding, now);
  }
  return proof;
}

// Of slowness, ranks that compute or enqueue; others are not to blame for their own time.
std::vector<RankId> C4dMaster::AccusedRanks(const Finding& finding) const {
  std::vector<RankId> ranks;
  if (finding.syndrome != Syndrome::kNonCommSlow) return ranks;
  for (size_t r = 0; r < picture_->layout().ranks.size(); ++r) {
    const HostId host = picture_->layout().ranks[r].host;
    const bool is_accused = std::ranges::any_of(finding.culprits, [&](const model::Culprit& culprit) {
      return culprit.kind == model::CulpritKind::kHost ? culprit.host == host : culprit.rank == RankId(r);
    });
    if (is_accused) ranks.emplace_back(r);
  }
  return ranks;
}

std::optional<model::FindingProof> C4dMaster::ProofOf(FindingId id) const {
  std::optional<FindingProof> proof = proofs_.Find(id);
  if (proof) proof->blocks = slow_->BlocksOf(AccusedRanks(tracker_->findings()[id.index()]));
  return proof;
}

bool C4dMaster::HasCrashed(SimTime now) const { return picture_ && c4d::HasCrashed(*picture_, now); }

std::vector<Finding> C4dMaster::AnalyzeNow() {
  if (!picture_) return {};
  const SimTime now = picture_->last_heard();
  const WaitGraphQuery query = QueryAt(now, false);
  const Hindrances hindrances = FindHindrances(*picture_, now, false, options_.silence);
  MismatchCheck check = mismatch_check_;
  std::vector<Suspect> suspects = check.Find(now, options_.hang, &*picture_);
  for (std::vector<Suspect> more :
       {FindMissing(*picture_, hindrances, now, options_.silence), FindHangs(*picture_, hindrances, query)}) {
    std::move(more.begin(), more.end(), std::back_inserter(suspects));
  }
  FindingTracker tracker(picture_->layout().job, picture_->layout().ranks.size());
  // What explains the rest comes first, and is all that there is to say.
  const auto has = [&](bool (*is_kind)(Syndrome)) {
    return std::any_of(suspects.begin(), suspects.end(), [&](const Suspect& s) { return is_kind(s.syndrome); });
  };
  const bool is_explained = has(IsDead) || has(IsMismatch);
  for (const Suspect& suspect : suspects) {
    if (IsHang(suspect.syndrome) && is_explained) continue;
    tracker.Open(suspect, now, {});
  }
  return tracker.findings();
}

const std::vector<Finding>& C4dMaster::findings() const {
  static const std::vector<Finding> kNone;
  return tracker_ ? tracker_->findings() : kNone;
}

void C4dMaster::Take(SimTime now, const model::TelemetryRecord& record) {
  if (const auto* layout = std::get_if<model::JobLayout>(&record)) {
    TakeLayout(now, *layout);
    return;
  }
  if (!picture_) {
    ++counters_.early_records;
    return;
  }
  if (const auto* report = std::get_if<model::RankReport>(&record)) {
    const auto hand_on = [&](const CompletedOperation& operation) { slow_->Add(operation); };
    if (!picture_->Add(now, *report, hand_on)) return;
    slow_->Add(*report, picture_->ranks()[report->rank].numbers.begins_anew());
  } else if (const auto* of_host = std::get_if<model::HostReport>(&record)) {
    if (picture_->Add(now, *of_host)) slow_->Add(*of_host);
  }
}

void C4dMaster::TakeLayout(SimTime now, const model::JobLayout& layout) {
  if (picture_ && !IsRestart(layout)) return;
  if (Status status = JobPicture::ValidateLayout(layout); !status.ok()) {
    ++counters_.rejected_layouts;
    last_error_ = status.message();
    return;
  }
  ++counters_.layouts;
  if (tracker_) {
    tracker_->ClearAll(now);
  } else {
    tracker_.emplace(layout.job, layout.ranks.size());
  }
  slow_.reset();  // it refers to the layout of the picture
  proofs_ = {};
  picture_.emplace(layout, now, names_);
  slow_ = std::make_unique<SlowDetectors>(picture_->layout(), picture_->names());
  mismatch_check_ = MismatchCheck();
  pauses_ = {};
  window_.Begin(now, NumCompleted());
}

bool C4dMaster::IsRestart(const model::JobLayout& layout) const {
  if (layout.job != picture_->layout().job) return false;
  if (layout != picture_->layout()) return true;
  // The same layout again: a repeated record, unless the job has ended since.
  return std::any_of(picture_->ranks().begin(), picture_->ranks().end(), [](const RankState& rank) {
    return rank.process == model::ProcessState::kGone || rank.is_finalizing;
  });
}

WaitGraphQuery C4dMaster::QueryAt(SimTime now, bool has_clock) const {
  return {.now = now, .has_clock = has_clock, .hang = options_.hang, .silence = options_.silence};
}

std::vector<Suspect> C4dMaster::FindStalled(SimTime now) {
  const Hindrances hindrances = FindHindrances(*picture_, now, true, options_.silence);
  std::vector<Suspect> suspects = FindMissing(*picture_, hindrances, now, options_.silence);
  std::vector<Suspect> mismatches = mismatch_check_.Find(now, options_.hang, &*picture_);
  std::move(mismatches.begin(), mismatches.end(), std::back_inserter(suspects));
  std::vector<Suspect> hangs = FindHangs(*picture_, hindrances, QueryAt(now, true));
  if (!hangs.empty()) window_.NoteStandstill();
  std::move(hangs.begin(), hangs.end(), std::back_inserter(suspects));
  return suspects;
}

void C4dMaster::JudgeStalled(SimTime now) {
  for (const Suspect& suspect : FindStalled(now)) {
    switch (suspect.syndrome) {
      case Syndrome::kDead:
        if (IsAftermath(suspect)) break;
        ReplaceDeath(suspect, now);
        // A host that had a sign of its own is not heard of at all any more.
        tracker_->Raise(suspect);
        if (tracker_->Hold(suspect, now, PatienceWithDeath(suspect)) && !HasOpen(IsDead)) {
          tracker_->Open(suspect, now, ExplainedBy(suspect));
        }
        window_.NoteStandstill();
        break;
      case Syndrome::kMismatch:
        if (tracker_->Hold(suspect, now, options_.silence.report_period) && !HasOpen(IsDead)) {
          tracker_->Open(suspect, now, ExplainedBy(suspect));
        }
        break;
      case Syndrome::kUnreachable:
        if (tracker_->Hold(suspect, now, options_.silence.confirm_for)) tracker_->Open(suspect, now, {});
        break;
      case Syndrome::kCommHang:
      case Syndrome::kNonCommHang:
        JudgeHang(suspect, now);
        break;
      case Syndrome::kCommSlow:
      case Syndrome::kNonCommSlow:
        break;
    }
  }
  tracker_->ForgetOthers(now);
  pauses_.EndOthers(now, picture_->last_progress() + options_.silence.report_period, options_.hang.suspect_after);
}

// A host that dies takes its job with it. Where the job went on for a while after the host fell silent, it was the
// agent that went, and the standstill has another beginning: it may be a checkpoint of ranks that can't be seen, and is
// no death before it has lasted as long as a hang.
SimDuration C4dMaster::PatienceWithDeath(const Suspect& dead) const {
  const SimDuration away_min = options_.silence.report_period * options_.silence.missed_reports;
  if (dead.sub_cause != model::SubCause::kUnknown) return SimDuration(0);
  const bool has_lived = std::ranges::any_of(picture_->hosts(), [&](const HostState& host) {
    return std::ranges::find(dead.culprits, model::HostCulprit(host.id)) != dead.culprits.end() &&
           picture_->last_progress() >= host.last_heard + away_min;
  });
  return has_lived ? options_.hang.confirm_for : SimDuration(0);
}

// A later report may tell of an earlier death. Not of hosts that are silent: of these no process is known to have
// ended.
void C4dMaster::ReplaceDeath(const Suspect& suspect, SimTime now) {
  if (suspect.sub_cause == model::SubCause::kUnknown) return;
  for (const FindingId id : tracker_->open()) {
    const Finding& finding = tracker_->findings()[id.index()];
    const bool is_other = IsDead(finding.syndrome) && finding.culprits != suspect.culprits;
    if (is_other && finding.sub_cause != model::SubCause::kUnknown) tracker_->Clear(id, now);
  }
}

void C4dMaster::JudgeHang(const Suspect& suspect, SimTime now) {
  if (suspect.may_be_busy && pauses_.IsKnown(suspect.culprits, now)) return;
  if (suspect.may_be_busy) tracker_->Raise(suspect);
  const bool is_due = tracker_->Hold(suspect, now, options_.hang.confirm_for);
  if (!is_due || HasOpen(IsDead) || HasOpen(IsMismatch)) return;
  // A verdict that has changed replaces the one before, if it lasts: two at once are cause and consequence, and the
  // consequence is there for a while when the cause has gone.
  for (const FindingId id : tracker_->open()) {
    if (!IsHang(tracker_->findings()[id.index()].syndrome)) continue;
    if (now - tracker_->LastHeld(id) < options_.hang.confirm_for) return;
    tracker_->Clear(id, now);
  }
  tracker_->Open(suspect, now, ExplainedBy(suspect));
}

bool C4dMaster::IsAftermath(const Suspect& dead) const {
  if (dead.sub_cause == model::SubCause::kGpuError) return false;
  for (const FindingId id : tracker_->open()) {
    const Finding& finding = tracker_->findings()[id.index()];
    if (IsHang(finding.syndrome) && !finding.culprits.empty()) return !Overlap(finding.culprits, dead.culprits);
  }
  return false;
}

// What is slow by the evidence of iterations is reported at once; the windows only keep it open.
void C4dMaster::JudgeBlocks(SimTime now) {
  const std::vector<Suspect>& slow = slow_->JudgeBlocks(now);
  if (now < excused_until_ || HasOpen(IsDead) || HasOpen(IsHang)) return;
  for (const Suspect& suspect : tracker_->HoldConfirmed(slow, now)) tracker_->Open(suspect, now, {});
  for (const Suspect& suspect : slow) tracker_->Raise(suspect);
}

std::vector<uint64_t> C4dMaster::NumCompleted() const {
  std::vector<uint64_t> completed;
  for (const CommunicatorState& communicator : picture_->communicators())
    completed.push_back(communicator.num_completed);
  return completed;
}

void C4dMaster::EndWindowIfDue(SimTime now) {
  if (!window_.MayEnd(now)) return;
  const std::optional<bool> counts = window_.End(now, NumCompleted(), slow_->BlockSeconds());
  if (!counts) return;
  const std::vector<Suspect> suspects = slow_->EndWindow(now);
  ++(*counts ? counters_.windows : counters_.idle_windows);
  if (*counts) HoldWindow(suspects, now);
  window_.Begin(now, NumCompleted());
}

void C4dMaster::HoldWindow(const std::vector<Suspect>& suspects, SimTime now) {
  const WindowOptions& window = options_.window;
  const auto says_nothing = [this](const Suspect& suspect) { return slow_->SaysNothingOf(suspect); };
  for (const Suspect& suspect : tracker_->HoldWindow(suspects, now, window.bad_windows, window.windows, says_nothing)) {
    tracker_->Open(suspect, now, {});
  }
  for (const FindingId id : tracker_->FindRecovered(window.bad_windows)) tracker_->Clear(id, now);
}

void C4dMaster::ClearGone(SimTime now) {
  const bool has_dead = std::any_of(picture_->ranks().begin(), picture_->ranks().end(),
                                    [](const RankState& rank) { return rank.process == model::ProcessState::kGone; });
  for (const FindingId id : tracker_->open()) {
    const Finding& finding = tracker_->findings()[id.index()];
    if (IsHeardAgain(finding)) {
      tracker_->Clear(id, now);
      continue;
    }
    if (IsSlow(finding.syndrome) || now - tracker_->LastHeld(id) < options_.hang.clear_after) continue;
    // Processes that die in a hang do not mend it.
    const bool moves = picture_->last_progress() > finding.confirmed;
    if (IsHang(finding.syndrome) && has_dead && !moves) continue;
    tracker_->Clear(id, now);
  }
}

bool C4dMaster::IsHeardAgain(const Finding& dead) const {
  if (!IsDead(dead.syndrome) || dead.sub_cause != model::SubCause::kUnknown) return false;
  return std::ranges::any_of(picture_->hosts(), [&](const HostState& host) {
    return host.last_heard > dead.confirmed &&
           std::ranges::find(dead.culprits, model::HostCulprit(host.id)) != dead.culprits.end();
  });
}

bool C4dMaster::HasOpen(bool (*is_kind)(Syndrome)) const {
  const std::vector<FindingId> open = tracker_->open();
  return std::any_of(open.begin(), open.end(),
                     [&](FindingId id) { return is_kind(tracker_->findings()[id.index()].syndrome); });
}

std::vector<FindingId> C4dMaster::ExplainedBy(const Suspect& suspect) const {
  std::vector<FindingId> explained;
  for (const FindingId id : tracker_->open()) {
    const Finding& finding = tracker_->findings()[id.index()];
    const bool is_consequence = suspect.syndrome == Syndrome::kDead && !IsSlow(finding.syndrome);
    if (is_consequence || Overlap(finding.culprits, suspect.culprits)) explained.push_back(id);
  }
  return explained;
}

}  // namespace fairlead::diagnosis::c4d

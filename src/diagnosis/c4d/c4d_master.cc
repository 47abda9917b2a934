#include "diagnosis/c4d/c4d_master.h"

#include <algorithm>
#include <variant>

#include "diagnosis/c4d/death_watch.h"
#include "diagnosis/c4d/independent_signs.h"
#include "diagnosis/c4d/slow_options.h"
#include "diagnosis/c4d/slow_transfer_detector.h"
#include "diagnosis/c4d/straggler_detector.h"
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

// A pause that took some time may take that much longer the next time.
constexpr int64_t kPauseFactor = 2;
// Share by which iterations must take longer before something slow is believed to hold the job up.
constexpr double kGrowthMin = 0.01;
// The same of what all messages pass: it may be the job that has changed.
constexpr double kGrowthAloneMin = 0.05;
constexpr double kUnlikely = 0.4;
// Blocks of iterations that make a window of whatever has few operations.
constexpr double kBlocksOfWindow = 2;
// What of a finding's proof people can look at, and how many are kept.
constexpr size_t kDelaysMax = 4096;
constexpr size_t kWaitNodesMax = 40;
constexpr size_t kProofsMax = 64;

bool IsHang(Syndrome syndrome) { return syndrome == Syndrome::kCommHang || syndrome == Syndrome::kNonCommHang; }
bool IsDead(Syndrome syndrome) { return syndrome == Syndrome::kDead; }
bool IsMismatch(Syndrome syndrome) { return syndrome == Syndrome::kMismatch; }
bool IsSlow(Syndrome syndrome) { return syndrome == Syndrome::kCommSlow || syndrome == Syndrome::kNonCommSlow; }

}  // namespace

struct C4dMaster::SlowDetectors {
  explicit SlowDetectors(const JobPicture& picture)
      : transfers(picture.layout(), SlowOptions(), picture.names()),
        stragglers(picture.layout(), SlowOptions(), picture.names()) {}

  SlowTransferDetector transfers;
  StragglerDetector stragglers;
  std::vector<Suspect> by_blocks;  // as of now
};

C4dMaster::C4dMaster(const C4dOptions& options, model::PlaceNames names)
    : options_(options), names_(std::move(names)) {}
C4dMaster::~C4dMaster() = default;

std::vector<C4dAction> C4dMaster::Handle(SimTime now, std::span<const model::TelemetryRecord> records) {
  // Whoever was not called, or heard of no host at all, did not listen.
  const SimDuration away_min = options_.silence.report_period * options_.silence.missed_reports;
  const bool was_away = now - last_call_ > away_min || (!records.empty() && now - last_records_ > away_min);
  if (picture_ && was_away) picture_->NoteOwnSilence(now);
  last_call_ = now;
  if (!records.empty()) last_records_ = now;
  for (const model::TelemetryRecord& record : records) Take(now, record);
  if (!picture_) return {};
  picture_->NoteSilence(now, options_.silence.without_after);
  if (now < excused_until_) {
    tracker_->ForgetOthers(now);
    stood_still_ = true;
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
    if (action.change == FindingChange::kOpened) KeepProof(action.finding, now);
  }
  return actions;
}

void C4dMaster::KeepProof(const Finding& finding, SimTime now) {
  FindingProof& proof = proofs_[finding.id];
  if (proofs_.size() > kProofsMax) proofs_.erase(proofs_.begin());
  proof.seen_at = now;
  if (finding.syndrome == Syndrome::kCommSlow) {
    proof.delays = slow_->transfers.DelaysOf(finding.culprits, kDelaysMax, &proof.num_delays_left_out);
    for (const model::RankPlace& place : picture_->layout().ranks) proof.host_of.push_back(place.host);
  } else if (finding.syndrome != Syndrome::kNonCommSlow) {
    proof.waits = model::Fold(PictureWaits(*picture_, finding, QueryAt(now, true)), kWaitNodesMax);
    if (proof.waits.edges.empty()) proof.waits = {};
  }
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
  const auto found = proofs_.find(id);
  if (found == proofs_.end()) return std::nullopt;
  FindingProof proof = found->second;
  proof.blocks = slow_->stragglers.BlocksOf(AccusedRanks(tracker_->findings()[id.index()]));
  return proof;
}

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
    const auto hand_on = [&](const CompletedOperation& operation) { slow_->stragglers.Add(operation); };
    if (!picture_->Add(now, *report, hand_on)) return;
    if (picture_->ranks()[report->rank].numbers.begins_anew()) {
      slow_->transfers.BeginAnew(report->rank);
      slow_->stragglers.BeginAnew(report->rank);
    }
    slow_->transfers.Add(*report);
    slow_->stragglers.Add(*report);
  } else if (const auto* of_host = std::get_if<model::HostReport>(&record)) {
    if (picture_->Add(now, *of_host)) slow_->stragglers.Add(*of_host);
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
  proofs_.clear();
  picture_.emplace(layout, now, names_);
  slow_ = std::make_unique<SlowDetectors>(*picture_);
  mismatch_check_ = MismatchCheck();
  pauses_.clear();
  window_begin_ = now;
  stood_still_ = false;
  completed_at_begin_.assign(layout.communicators.size(), 0);
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
  stood_still_ |= !hangs.empty();
  std::move(hangs.begin(), hangs.end(), std::back_inserter(suspects));
  return suspects;
}

void C4dMaster::JudgeStalled(SimTime now) {
  for (const Suspect& suspect : FindStalled(now)) {
    switch (suspect.syndrome) {
      case Syndrome::kDead:
        if (IsAftermath(suspect)) break;
        ReplaceDeath(suspect, now);
        if (tracker_->Hold(suspect, now, SimDuration(0)) && !HasOpen(IsDead)) {
          tracker_->Open(suspect, now, ExplainedBy(suspect));
        }
        stood_still_ = true;
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
  LearnPauses(now);
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

// Whether it has been waited for these ranks before, for at least half as long, and they came by themselves.
bool C4dMaster::IsKnownPause(const Suspect& suspect, SimTime now) {
  auto pause = std::ranges::find(pauses_, suspect.culprits, &Pause::culprits);
  if (pause == pauses_.end()) {
    pause =
        pauses_.insert(pause, Pause{.culprits = suspect.culprits, .begin = now, .last_seen = SimTime(), .longest = {}});
  }
  if (pause->last_seen == SimTime()) pause->begin = now;
  pause->last_seen = now;
  return now - pause->begin < pause->longest * kPauseFactor;
}

void C4dMaster::LearnPauses(SimTime now) {
  for (Pause& pause : pauses_) {
    if (pause.last_seen == SimTime() || pause.last_seen == now) continue;
    // If the job goes on: else another verdict has taken its place.
    if (picture_->last_progress() >= pause.last_seen - options_.silence.report_period) {
      pause.longest = std::max(pause.longest, pause.last_seen - pause.begin + options_.hang.suspect_after);
    }
    pause.last_seen = SimTime();
  }
}

void C4dMaster::JudgeHang(const Suspect& suspect, SimTime now) {
  if (suspect.may_be_busy && IsKnownPause(suspect, now)) return;
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
  slow_->by_blocks = slow_->stragglers.JudgeBlocks(now);
  if (now < excused_until_ || HasOpen(IsDead) || HasOpen(IsHang)) return;
  for (const Suspect& suspect : tracker_->HoldConfirmed(slow_->by_blocks, now)) tracker_->Open(suspect, now, {});
  for (const Suspect& suspect : slow_->by_blocks) tracker_->Raise(suspect);
}

// What slow transfers cost the job: nothing beyond what iterations take longer. Those of a late rank are late with it.
void C4dMaster::WeighTransfers(std::vector<Suspect>* suspects) const {
  std::erase_if(*suspects, [this](const Suspect& suspect) {
    return std::ranges::any_of(slow_->by_blocks, [&](const Suspect& late) {
      return late.confidence > kUnlikely &&
             (Overlap(late.culprits, suspect.culprits) || late.culprits.front().rank == suspect.culprits.front().peer);
    });
  });
  const std::optional<double> growth = slow_->stragglers.Growth();
  for (Suspect& suspect : *suspects) {
    if (!growth) {
      if (suspect.is_alone) suspect.confidence = std::min(suspect.confidence, kUnlikely);
      continue;
    }
    suspect.evidence.push_back({"iterations take longer than at first", 100 * *growth, 0, "%"});
    if (suspect.cost >= 0) suspect.cost = std::min(suspect.cost, std::max(0.0, *growth));
    const double growth_min = suspect.is_alone ? kGrowthAloneMin : kGrowthMin;
    if (*growth < growth_min) suspect.confidence = std::min(suspect.confidence, kUnlikely);
  }
}

void C4dMaster::EndWindowIfDue(SimTime now) {
  const SimDuration age = now - window_begin_;
  const bool is_late = age >= options_.window.length * options_.window.max_lengths;
  const double block_seconds = slow_->stragglers.BlockSeconds();
  const bool is_full = IsWindowFull(
      block_seconds > 0 && age.seconds().value() >= kBlocksOfWindow * block_seconds ? 1 : options_.window.operations);
  if (age < options_.window.length || (!is_full && !is_late)) return;
  const std::vector<double> lateness = slow_->stragglers.JudgeWindow();
  std::vector<Suspect> suspects = slow_->transfers.EndWindow(now, lateness);
  if (slow_->stragglers.HasStages()) {
    // Waits for slow messages pass for own time: a rank is named only if no path is slow, and by windows like a path.
    if (!suspects.empty()) slow_->by_blocks.clear();
    std::erase_if(slow_->by_blocks, [&](const Suspect& late) { return !slow_->stragglers.IsWaitedFor(late); });
    for (Suspect& late : slow_->by_blocks) late.is_confirmed = false;
  }
  WeighTransfers(&suspects);
  std::vector<Suspect> stragglers = slow_->stragglers.TakeSuspects(!suspects.empty());
  std::move(stragglers.begin(), stragglers.end(), std::back_inserter(suspects));
  std::ranges::copy(slow_->by_blocks, std::back_inserter(suspects));
  const bool counts = is_full && !stood_still_;
  ++(counts ? counters_.windows : counters_.idle_windows);
  if (counts) {
    const WindowOptions& window = options_.window;
    const auto says_nothing = [this](const Suspect& suspect) {
      return suspect.syndrome == Syndrome::kCommSlow && slow_->transfers.SaysNothingOf(suspect.culprits.front());
    };
    for (const Suspect& suspect :
         tracker_->HoldWindow(suspects, now, window.bad_windows, window.windows, says_nothing)) {
      tracker_->Open(suspect, now, {});
    }
    for (const FindingId id : tracker_->FindRecovered(window.bad_windows)) tracker_->Clear(id, now);
  }
  window_begin_ = now;
  stood_still_ = false;
  for (size_t c = 0; c < completed_at_begin_.size(); ++c) {
    completed_at_begin_[c] = picture_->communicators()[model::CommunicatorId(c)].num_completed;
  }
}

bool C4dMaster::IsWindowFull(uint64_t operations) const {
  std::vector<uint64_t> completed;
  for (size_t c = 0; c < completed_at_begin_.size(); ++c) {
    const uint64_t of_window =
        picture_->communicators()[model::CommunicatorId(c)].num_completed - completed_at_begin_[c];
    if (of_window > 0) completed.push_back(of_window);
  }
  if (completed.empty()) return false;
  const auto median = completed.begin() + static_cast<ptrdiff_t>(completed.size() / 2);
  std::nth_element(completed.begin(), median, completed.end());
  return *median >= operations;
}

void C4dMaster::ClearGone(SimTime now) {
  const bool has_dead = std::any_of(picture_->ranks().begin(), picture_->ranks().end(),
                                    [](const RankState& rank) { return rank.process == model::ProcessState::kGone; });
  for (const FindingId id : tracker_->open()) {
    const Finding& finding = tracker_->findings()[id.index()];
    if (IsSlow(finding.syndrome) || now - tracker_->LastHeld(id) < options_.hang.clear_after) continue;
    // Processes that die in a hang do not mend it.
    const bool moves = picture_->last_progress() > finding.confirmed;
    if (IsHang(finding.syndrome) && has_dead && !moves) continue;
    tracker_->Clear(id, now);
  }
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

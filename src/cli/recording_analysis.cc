#include "cli/recording_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "diagnosis/c4d/waits_of_job.h"
#include "report/number_format.h"

namespace fairlead::cli {

namespace {

using model::Syndrome;

// Three periods of agents.
constexpr SimDuration kEarly(3'000'000'000);
constexpr SimDuration kDelayWindow(10'000'000'000);
constexpr size_t kNumDelayWindows = 6;
constexpr double kDoubtfulConfidence = 0.5;
// A pause of more ticks is passed at one go: a recorder that was off, or a clock that jumped.
constexpr int64_t kNumTicksMax = 3600;

const model::RankReport* RankReportIn(const model::TelemetryRecord& record) {
  return std::get_if<model::RankReport>(&record);
}
const model::HostReport* HostReportIn(const model::TelemetryRecord& record) {
  return std::get_if<model::HostReport>(&record);
}

}  // namespace

RecordingReplay::RecordingReplay(const model::JobLayout& layout, const AnalysisOptions& options)
    : options_(options), master_(options.master), begun_(std::in_place) {
  analysis_.layout = layout;
  waiting_.emplace_back(layout);
}

void RecordingReplay::Add(model::TelemetryRecord record) {
  if (!begun_.has_value()) return Take(std::move(record));
  const std::optional<telemetry::HostReportInstant> instant = InstantOf(record);
  early_.push_back(std::move(record));
  if (!instant.has_value()) return;
  const auto [first, is_new] = begun_->try_emplace(instant->host, instant->at);
  if (instant->at - first->second >= kEarly) FindClocks();
}

std::optional<telemetry::HostReportInstant> RecordingReplay::InstantOf(const model::TelemetryRecord& record) const {
  if (const model::HostReport* report = HostReportIn(record)) return {{report->host, report->at}};
  const model::RankReport* report = RankReportIn(record);
  if (report == nullptr || report->rank.index() >= analysis_.layout.ranks.size()) return std::nullopt;
  return {{analysis_.layout.ranks[report->rank.index()].host, report->at}};
}

void RecordingReplay::FindClocks() {
  begun_.reset();
  std::vector<telemetry::HostReportInstant> instants;
  for (const model::TelemetryRecord& record : early_) {
    if (const auto instant = InstantOf(record)) instants.push_back(*instant);
  }
  ahead_ = telemetry::FindOtherClocks(instants);
  for (model::TelemetryRecord& record : early_) Take(std::move(record));
  early_.clear();
}

void RecordingReplay::Take(model::TelemetryRecord record) {
  if (const auto instant = InstantOf(record)) {
    const auto ahead = ahead_.find(instant->host);
    AdvanceTo(ahead == ahead_.end() ? instant->at : instant->at - ahead->second);
  }
  if (const model::RankReport* report = RankReportIn(record)) {
    ++analysis_.num_rank_reports;
    AddDelays(*report);
  } else if (HostReportIn(record) != nullptr) {
    ++analysis_.num_host_reports;
  }
  waiting_.push_back(std::move(record));
}

// The recording has no instants of arrival: what was reported last is now.
void RecordingReplay::AdvanceTo(SimTime at) {
  if (!has_begun_) {
    has_begun_ = true;
    analysis_.begin = analysis_.end = at;
    next_look_ = at + options_.tick;
    windows_.push_back({at + kDelayWindow, {}});
  }
  analysis_.end = std::max(analysis_.end, at);
  while (next_look_ <= at) {
    Look(next_look_);
    const bool is_far = (at - next_look_) / options_.tick > kNumTicksMax;
    next_look_ = is_far ? at : next_look_ + options_.tick;
    if (is_far) break;
  }
  if (analysis_.end < windows_.back().end || has_slow_finding_) return;
  windows_.push_back({analysis_.end + kDelayWindow, {}});
  if (windows_.size() > kNumDelayWindows) windows_.pop_front();
}

void RecordingReplay::Look(SimTime now) {
  for (const AnalysisOptions::Pause& pause : options_.pauses) {
    const SimTime until = analysis_.begin + pause.until;
    if (analysis_.begin + pause.from <= now && now < until) master_.ExcuseUntil(until);
  }
  const auto actions = master_.Handle(now, waiting_);
  waiting_.clear();
  for (const diagnosis::c4d::C4dAction& action : actions) {
    if (action.change == diagnosis::c4d::FindingChange::kOpened) NoteFinding(action.finding);
  }
}

void RecordingReplay::NoteFinding(const model::Finding& finding) {
  if (auto proof = master_.ProofOf(finding.id)) analysis_.proofs[finding.id] = *std::move(proof);
  if (finding.syndrome == Syndrome::kCommSlow && !has_slow_finding_) {
    has_slow_finding_ = true;
    while (windows_.size() > 1 && windows_.front().end <= finding.first_seen) windows_.pop_front();
  }
}

// A snapshot has no moment at which something was found.
model::FindingProof RecordingReplay::ProofOfSnapshot(const model::Finding& finding) const {
  model::FindingProof proof;
  proof.seen_at = analysis_.end;
  const diagnosis::c4d::WaitGraphQuery query{
      .now = analysis_.end, .has_clock = false, .hang = options_.master.hang, .silence = options_.master.silence};
  if (master_.picture() != nullptr) proof.waits = PictureWaits(*master_.picture(), finding, query);
  return proof;
}

void RecordingReplay::AddDelays(const model::RankReport& report) {
  for (const model::ConnectionRecord& connection : report.connections) {
    if (connection.key.direction != model::Direction::kSend || connection.bytes == 0) continue;
    const std::pair<uint32_t, uint32_t> pair = {report.rank.value(), connection.key.peer.value()};
    for (Pairs* pairs : {&all_pairs_, &windows_.back().pairs}) {
      Transfers& transfers = (*pairs)[pair];
      transfers.seconds += connection.wire_time.seconds().value();
      transfers.bytes += static_cast<double>(connection.bytes);
      if (has_slow_finding_) break;  // the windows before it are kept
    }
  }
}

std::vector<report::DelayMatrixCell> RecordingReplay::DelaysOf(const Pairs& pairs) {
  std::vector<report::DelayMatrixCell> cells;
  for (const auto& [pair, transfers] : pairs) {
    if (transfers.seconds > 0) cells.push_back({pair.first, pair.second, transfers.seconds / transfers.bytes});
  }
  return cells;
}

RecordingAnalysis RecordingReplay::Finish() {
  if (begun_.has_value()) FindClocks();
  Look(analysis_.end);
  if (options_.is_snapshot) {
    analysis_.findings = master_.AnalyzeNow();
    analysis_.proofs.clear();
    for (const model::Finding& finding : analysis_.findings) analysis_.proofs[finding.id] = ProofOfSnapshot(finding);
  } else {
    analysis_.findings = master_.findings();
    // By now there are more iterations.
    for (const model::Finding& finding : analysis_.findings) {
      if (auto proof = master_.ProofOf(finding.id)) analysis_.proofs[finding.id] = *std::move(proof);
    }
  }
  Pairs recent;
  for (const Window& window : windows_) {
    for (const auto& [pair, transfers] : window.pairs) {
      recent[pair].seconds += transfers.seconds;
      recent[pair].bytes += transfers.bytes;
    }
  }
  analysis_.delays = DelaysOf(has_slow_finding_ ? recent : all_pairs_);
  return std::move(analysis_);
}

void AddUnanswered(const std::vector<model::RankId>& ranks, bool is_stalled, RecordingAnalysis* analysis) {
  model::Finding finding;
  const std::vector<model::RankPlace>& places = analysis->layout.ranks;
  for (const model::RankId rank : ranks) {
    const HostId host = places[rank.index()].host;
    const bool is_named =
        std::any_of(analysis->findings.begin(), analysis->findings.end(), [&](const model::Finding& other) {
          return std::any_of(other.culprits.begin(), other.culprits.end(), [&](const model::Culprit& culprit) {
            const bool is_host = culprit.kind == model::CulpritKind::kHost && culprit.host == host;
            return culprit.rank == rank || is_host;
          });
        });
    if (is_named) continue;
    model::Culprit culprit;
    culprit.rank = rank;
    culprit.host = host;
    finding.culprits.push_back(culprit);
  }
  if (finding.culprits.empty()) return;
  std::sort(finding.culprits.begin(), finding.culprits.end());
  finding.id = model::FindingId(analysis->findings.size());
  finding.job = analysis->layout.job;
  finding.syndrome = is_stalled ? Syndrome::kDead : Syndrome::kUnreachable;
  finding.state = model::FindingState::kConfirmed;
  // A process may be busy, or a firewall hide it, and a job pause on purpose: too little for steering to act upon.
  finding.confidence = is_stalled ? 0.7 : kDoubtfulConfidence;
  finding.action = is_stalled ? model::RecommendedAction::kIsolateAndRestart : model::RecommendedAction::kWatch;
  finding.summary = fmt::format("{} gave no answer{}", report::FormatCount(finding.culprits.size(), "rank"),
                                is_stalled ? ", and the job is stalled" : "; whether others wait is not known");
  finding.evidence = {{"ranks that gave no answer", static_cast<double>(ranks.size()), 0, ""}};
  finding.first_seen = finding.confirmed = analysis->end;
  finding.cleared = SimTime::Never();
  analysis->findings.push_back(std::move(finding));
}

void ExplainLag(const std::vector<model::RankId>& unanswered, RecordingAnalysis* analysis,
                std::vector<std::string>* notes) {
  std::erase_if(analysis->findings, [&](const model::Finding& finding) {
    if (finding.syndrome != Syndrome::kNonCommHang || !finding.communicator.valid()) return false;
    const std::vector<model::RankId>& members = analysis->layout.communicators[finding.communicator.index()].ranks;
    const auto is_there = [&](model::RankId rank) { return std::ranges::find(members, rank) != members.end(); };
    const auto is_named = [&](model::RankId rank) {
      return std::ranges::any_of(finding.culprits, [&](const model::Culprit& one) { return one.rank == rank; });
    };
    if (!std::ranges::any_of(unanswered, is_there) || std::ranges::any_of(unanswered, is_named)) return false;
    notes->push_back(finding.summary + ": that may come of who gives no answer.");
    return true;
  });
}

void DoubtHangs(RecordingAnalysis* analysis) {
  for (model::Finding& finding : analysis->findings) {
    if (finding.syndrome != Syndrome::kNonCommHang && finding.syndrome != Syndrome::kCommHang) continue;
    finding.confidence = std::min(finding.confidence, kDoubtfulConfidence);
    finding.action = model::RecommendedAction::kWatch;
    // What it costs if it is one is not what it costs.
    finding.cost_share.reset();
    finding.cost_gpu_hours.reset();
  }
}

SimDuration LongestPause(const std::vector<model::TelemetryRecord>& records) {
  std::map<HostId, SimTime> last;
  SimDuration longest(1'000'000'000);
  for (const model::TelemetryRecord& record : records) {
    const model::HostReport* report = HostReportIn(record);
    if (report == nullptr) continue;
    const auto [entry, is_new] = last.try_emplace(report->host, report->at);
    longest = std::max(longest, report->at - entry->second);
    entry->second = report->at;
  }
  return longest;
}

}  // namespace fairlead::cli

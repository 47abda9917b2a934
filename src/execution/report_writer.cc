#include "execution/report_writer.h"

#include <algorithm>
#include <utility>

namespace fairlead::execution {

namespace {

using model::ConnectionRecord;
using model::HostReport;
using model::OperationRecord;
using model::ProcessState;
using model::RankId;
using model::RankLiveness;
using model::RankReport;

void ShowOn(const HostClock& clock, OperationRecord& record) {
  record.enqueued = clock.Show(record.enqueued);
  if (record.started.has_value()) record.started = clock.Show(*record.started);
  if (record.finished.has_value()) record.finished = clock.Show(*record.finished);
}

void ShowOn(const HostClock& clock, ConnectionRecord& record) {
  record.phase_since = clock.Show(record.phase_since);
  record.last_progress = clock.Show(record.last_progress);
}

// How long a process stays after the job has ended, tearing down its communicators.
constexpr Instant kTimeToLeave = 2'000'000'000;
// Of a process that a signal ended (SIGKILL), as shells say it.
constexpr int32_t kKilledExitCode = 137;

}  // namespace

std::vector<ReportWindows> DrawReportWindows(uint32_t num_hosts, const NoiseOptions& noise, Random& random) {
  std::vector<ReportWindows> windows;
  const Instant period = noise.report_period.ns();
  for (uint32_t host = 0; host < num_hosts; ++host) {
    const auto phase = static_cast<Instant>(random.Below(static_cast<uint64_t>(period)));
    windows.push_back({.first_end = phase + 1, .period = period});
  }
  return windows;
}

ReportWriter::ReportWriter(const Sources& sources, const NoiseOptions& noise, std::vector<ReportWindows> windows,
                           uint64_t seed)
    : sources_(sources), noise_(noise), windows_(std::move(windows)) {
  Random random(seed);
  for (size_t host = 0; host < windows_.size(); ++host) {
    clocks_.push_back(HostClock::Draw(noise_, random));
    order_.emplace_back(host);
  }
  std::ranges::stable_sort(order_, {}, [this](HostId host) { return windows_[host.index()].first_end; });
}

void ReportWriter::WriteUntil(Instant until, ReportChannel& channel) {
  while (true) {
    const HostId host = order_[next_];
    const Instant at = windows_[host.index()].End(window_);
    if (at > until) return;
    WriteHost(host, at, channel);
    if (++next_ == order_.size()) {
      next_ = 0;
      ++window_;
    }
  }
}

void ReportWriter::WriteHost(HostId host, Instant at, ReportChannel& channel) {
  const HostClock& clock = clocks_[host.index()];
  const bool is_silent = sources_.effects->IsSilent(host, at);
  const uint32_t first = host.value() * sources_.shape->gpus_per_host;
  const uint32_t last = std::min(first + sources_.shape->gpus_per_host, sources_.shape->NumRanks());
  for (uint32_t r = first; r < last; ++r) {
    const RankId rank(r);
    RankReport report = ReadRank(rank, clock, at);
    if (is_silent || sources_.effects->IsGone(rank, at) || HasExited(rank, at)) continue;
    channel.Send(at, std::move(report));
  }
  if (!is_silent) channel.Send(at, ReadHost(host, at));
}

bool ReportWriter::HasExited(RankId rank, Instant at) const {
  return sources_.program->HasEnded() && at > sources_.program->EndOf(rank) + kTimeToLeave;
}

RankReport ReportWriter::ReadRank(RankId rank, const HostClock& clock, Instant at) {
  RankReport report;
  report.job = sources_.layout->job;
  report.rank = rank;
  report.number = window_;
  report.at = clock.Show(SimTime(at));
  report.is_finalizing = sources_.program->HasEnded() && at >= sources_.program->EndOf(rank);
  const Instant recorded = sources_.effects->RecordedUntil(rank, at);
  sources_.log->Take(rank, recorded, report);
  report.operations_since = clock.Show(*report.operations_since);
  for (OperationRecord& operation : report.operations) ShowOn(clock, operation);
  uint32_t busy = 0;
  for (const uint32_t account : sources_.simulator->AccountsOf(rank)) {
    std::optional<ConnectionRecord> connection = sources_.simulator->accounts()[account].Take(window_);
    if (!connection.has_value()) continue;
    ShowOn(clock, *connection);
    report.connections.push_back(*connection);
    busy += connection->phase != model::TransferPhase::kIdle ? 1 : 0;
  }
  report.busy_connections = busy;
  return report;
}

HostReport ReportWriter::ReadHost(HostId host, Instant at) const {
  HostReport report;
  report.job = sources_.layout->job;
  report.host = host;
  report.number = window_;
  report.at = clocks_[host.index()].Show(SimTime(at));
  const uint32_t first = host.value() * sources_.shape->gpus_per_host;
  const uint32_t last = std::min(first + sources_.shape->gpus_per_host, sources_.shape->NumRanks());
  for (uint32_t r = first; r < last; ++r) {
    RankLiveness liveness{.rank = RankId(r)};
    if (sources_.effects->IsGone(liveness.rank, at)) {
      liveness.state = ProcessState::kGone;
      liveness.exit.code = kKilledExitCode;
    } else if (HasExited(liveness.rank, at)) {
      liveness.state = ProcessState::kGone;
      liveness.exit.code = 0;
    } else if (noise_.shows_stopped && sources_.effects->IsFrozen(liveness.rank, at)) {
      liveness.state = ProcessState::kStopped;
    }
    report.ranks.push_back(liveness);
  }
  if (noise_.shows_symptoms) report.symptoms = sources_.effects->Symptoms(host, at - noise_.report_period.ns(), at);
  return report;
}

}  // namespace fairlead::execution

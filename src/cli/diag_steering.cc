#include "cli/diag_steering.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "cli/command.h"
#include "controller/steering.h"
#include "service/steering/audit_log.h"
#include "service/steering/hook_backend.h"

namespace fairlead::cli {

namespace {

using controller::SteeringEvent;

struct TimedEvent {
  SimTime at;
  SteeringEvent event;
};

// Of the job, in rank order.
std::vector<HostId> HostsOf(const model::JobLayout& layout) {
  std::vector<HostId> hosts;
  for (const model::RankPlace& place : layout.ranks) {
    if (std::find(hosts.begin(), hosts.end(), place.host) == hosts.end()) hosts.push_back(place.host);
  }
  return hosts;
}

std::vector<TimedEvent> EventsOf(const RecordingAnalysis& analysis, const std::vector<HostId>& hosts,
                                 uint32_t num_spares) {
  std::vector<TimedEvent> events = {{analysis.begin, controller::JobRunning{analysis.layout.job, hosts}}};
  const HostId last = hosts.empty() ? HostId(0) : *std::max_element(hosts.begin(), hosts.end());
  for (uint32_t s = 1; s <= num_spares; ++s) {
    events.push_back({analysis.begin, controller::SpareOffered{HostId(last.value() + s)}});
  }
  for (model::Finding finding : analysis.findings) {
    finding.job = analysis.layout.job;
    const SimTime cleared = finding.cleared;
    const bool was_confirmed = finding.confirmed != SimTime::Never();
    if (cleared != SimTime::Never()) {
      events.push_back({cleared, controller::FindingReported{finding}});
      finding.state = model::FindingState::kConfirmed;
    }
    if (was_confirmed) events.push_back({finding.confirmed, controller::FindingReported{finding}});
  }
  std::stable_sort(events.begin(), events.end(), [](const TimedEvent& a, const TimedEvent& b) { return a.at < b.at; });
  return events;
}

void Wait(SimDuration pause) {
  constexpr std::chrono::milliseconds kLook{50};
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(pause.ns());
  while (!StopRequested() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kLook);
}

}  // namespace

Result<std::vector<controller::AuditEntry>> SteerRecording(const RecordingAnalysis& analysis,
                                                           const RecordingSteeringOptions& options) {
  std::optional<service::AuditLog> log;
  if (!options.audit.empty()) {
    FL_ASSIGN_OR_RETURN(service::AuditLog opened, service::AuditLog::Open(options.audit));
    log.emplace(std::move(opened));
  }
  const std::vector<HostId> hosts = HostsOf(analysis.layout);
  controller::SteeringOptions steering_options;
  steering_options.mode = controller::SteeringMode::kAct;
  controller::Steering steering(steering_options, static_cast<uint32_t>(hosts.size()) + options.num_spares);
  std::unique_ptr<controller::ActionBackend> backend = std::make_unique<controller::DryRun>();
  if (!options.is_dry_run) {
    backend = std::make_unique<service::HookBackend>(service::ExecHookOptions{.command = {"sh", "-c", options.hook}},
                                                     options.host_names);
  }
  std::vector<controller::AuditEntry> audit;
  Status status;
  controller::SteeringDispatcher dispatcher(&steering, backend.get(), [&](const controller::AuditEntry& entry) {
    audit.push_back(entry);
    if (log && status.ok()) status = log->Write(entry);
  });
  SimTime now;
  for (const TimedEvent& event : EventsOf(analysis, hosts, options.num_spares)) {
    now = std::max(now, event.at);
    dispatcher.Handle(now, std::span<const SteeringEvent>(&event.event, 1));
  }
  while (steering.NextDue() != SimTime::Never() && !StopRequested()) {
    const SimTime due = std::max(now, steering.NextDue());
    if (!options.is_dry_run) Wait(due - now);
    now = due;
    dispatcher.Handle(now, {});
  }
  FL_RETURN_IF_ERROR(status);
  return audit;
}

}  // namespace fairlead::cli

// What the controller tells Prometheus. Names and meanings: docs/reference/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controller/traffic_controller.h"
#include "service/controller/diagnosis_loop.h"
#include "service/controller/incident_outbox.h"
#include "service/controller/scheduler_engine.h"
#include "service/steering/live_actions.h"
#include "service/streams/controller_loop.h"
#include "service/streams/controller_server.h"
#include "topology/fabric.h"
#include "traffic/c4p/c4p_master.h"

namespace fairlead::service {

// Of one moment.
struct ControllerSnapshot {
  std::string version;
  std::vector<controller::HostView> hosts;
  std::vector<controller::JobOnFabric> jobs;
  std::vector<controller::LinkOnFabric> links;
  traffic::c4p::C4pCounters paths;
  ControllerServerCounters streams;
  LoopCounters loop;
  std::vector<controller::WatchedJob> watched_jobs;
  std::vector<controller::WatchedFinding> findings;
  controller::JobWatchCounters watch;
  DiagnosisLoopCounters diagnosis;
  SteeringNumbers steering;
  HealthEventCounters health_events;
  IncidentOutboxCounters incident_traces;  // zeros without a collector
  SchedulerNumbers scheduler;              // zeros without one
  bool is_store_ok = true;
  std::optional<int64_t> certificate_expires_s;  // nothing: there is none
};

// Prometheus' text format.
std::string WriteMetrics(const ControllerSnapshot& snapshot, const topology::Fabric& fabric);

}  // namespace fairlead::service

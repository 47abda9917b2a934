// The controller of running jobs' traffic as a whole: fabric, path service, policy, core, store, streams, gateway.
//
//     agents <--> ControllerServer <--> ControllerLoop <--> TrafficController --> PathService, TrafficPolicy
//                                         |  |                    ^
//                                         |  Store           HttpGateway
//                                         v                       v
//                               looks --> DiagnosisLoop --> JobWatch --> C4dMaster of each job
//                                                  |
//                                                  v
//                                             LiveActions --> steering, health events
//                                                  |
//              findings, log of steering --> IncidentReporter --> IncidentOutbox --> collector of OpenTelemetry
//
// Wiring only. Records of the daemon itself begin with "controller/": "controller/starts" counts its starts, from which
// the epochs of answers follow, so that those of an earlier one are void.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "controller/traffic_controller.h"
#include "diagnosis/c4d/c4d_options.h"
#include "service/controller/diagnosis_loop.h"
#include "service/controller/incident_outbox.h"
#include "service/controller/otlp_http.h"
#include "service/controller/scheduler_engine.h"
#include "service/controller/telemetry_recorder.h"
#include "service/http/http_roles.h"
#include "service/steering/live_actions.h"
#include "service/streams/controller_server.h"
#include "traffic/c4p/c4p_options.h"

namespace fairlead::service {

struct ControllerDaemonOptions {
  std::string fabric_file = {};
  std::string addresses_file = {};
  std::string store = "memory";     // or "sqlite:PATH"
  bool restore_copy = false;        // put the store's last good copy in its place, where it can't be opened
  std::string policy = "crux+c4p";  // traffic/live_policy.h
  ControllerServerOptions server = {};
  std::string http = {};  // "HOST:PORT"; empty: no gateway
  HttpRoleOptions http_roles = {};
  std::string job_owners_file = {};  // controller/job_owner_map.h; empty: jobs of all verified owners are acted upon
  std::string audit_file = {};       // of what operators and steering do; empty: only the log has it
  controller::TrafficControllerOptions core = {};
  traffic::c4p::C4pOptions paths = {};
  DiagnosisLoopOptions diagnosis = {};
  TelemetryRecorderOptions recordings = {};  // no folder: nothing is recorded
  diagnosis::c4d::C4dOptions c4d = {};
  LiveActionsOptions actions = {};
  OtlpHttpOptions otlp = {};  // without a URL no traces of incidents are sent
  IncidentOutboxOptions incident_traces = {};
  StartSchedulerEngine start_engine = {};  // empty: no scheduler is asked
};

class ControllerDaemon {
 public:
  // Serves when it returns. Errors, each saying what to do: kInvalidArgument, kNotFound: a file, option or name;
  // kFailedPrecondition: an address or the store is in use; kDataLoss: the store is damaged; kUnavailable: the disk.
  static Result<std::unique_ptr<ControllerDaemon>> Start(const ControllerDaemonOptions& options);
  ~ControllerDaemon();
  ControllerDaemon(const ControllerDaemon&) = delete;
  ControllerDaemon& operator=(const ControllerDaemon&) = delete;

  std::vector<std::string> addresses() const;  // of agents
  std::string http_address() const;            // empty: no gateway

  // To be called about each second: logs when the store fails and when it is well again, keeps the history of the
  // cluster, hands out traces of incidents, and tells those who listen over HTTP what has changed.
  void LogChanges();
  // Returns once the cores of traffic and of the diagnosis have answered: one that hangs is a reason to start again.
  void WaitUntilAlive();

 private:
  class Parts;
  explicit ControllerDaemon(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace fairlead::service

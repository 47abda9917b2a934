// A cluster's scheduler as the controller uses it: whose the jobs are, and how actions on them and on hosts are carried
// out.
//
// The controller works without one; then jobs are what their processes say, and actions are those of a program of the
// operator's (hook_workers.h). Engines are in later modules: whoever starts the controller hands one in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "base/units.h"
#include "controller/action_backend.h"
#include "controller/steering_events.h"
#include "controller/traffic_controller.h"
#include "model/job_identity.h"
#include "service/http/http_route.h"
#include "store/store.h"
#include "topology/fabric.h"

namespace fairlead::service {

// All functions: any thread, and none is called after the engine has ended.
struct SchedulerSurroundings {
  store::Store* store = nullptr;             // shared with other threads
  const topology::Fabric* fabric = nullptr;  // outlives the engine
  // Whether more is begun than what an operator orders; if not, nothing is done unasked.
  bool acts = false;
  // For the list of events.
  std::function<void(SimTime, const controller::Noted&)> note;
  // [key of a job] how long an iteration takes, of jobs of which that is measured.
  std::function<std::map<std::string, Seconds>()> iteration_times;
  // [host] jobs of which Slurm has processes there, by its number. Hosts are missing whose agents do not answer, or
  // can't tell.
  std::function<std::map<std::string, std::set<uint32_t>>()> slurm_jobs;
  // Nothing is found about these jobs for a while: their processes are ended. Args: is_meant: by the job.
  std::function<void(const std::function<bool(const model::JobIdentity&)>& is_meant, SimDuration length)> excuse;
};

// For observers from outside.
struct SchedulerNumbers {
  bool answers = false;  // at the last reading
  uint64_t readings = 0;
  uint64_t failures = 0;                 // of readings
  Seconds reading;                       // time spent on them
  std::map<std::string, uint64_t> jobs;  // [state]
  uint64_t hosts_not_in_fabric = 0;      // hosts that the scheduler has and the fabric has not
  uint64_t jobs_stopped = 0;             // by us, and not placed yet
  uint64_t actions_under_way = 0;
  std::map<std::string, uint64_t> actions;  // [done, failed, refused] ended since the start
  uint64_t jobs_sized = 0;                  // whose number of nodes is chosen by us
  uint64_t jobs_sized_waiting = 0;          // of those: that have no nodes for now
  uint64_t size_changes = 0;                // begun since the start
};

// Thread      any, unless it says otherwise.
class SchedulerEngine {
 public:
  virtual ~SchedulerEngine() = default;

  // To be called once. Args: names: called by its Begin(). The engine must outlive it.
  virtual std::unique_ptr<controller::ActionBackend> MakeBackend(controller::SteeringNames names) = 0;
  // False: the scheduler does not know the job, or says that it is somebody else's. True is no promise: what is done to
  // it is checked again.
  virtual bool MayActOn(const model::JobIdentity& job) const = 0;
  // False: the scheduler runs the job on other hosts. Where it does not know, true.
  virtual bool MayRunOn(const model::JobIdentity& job, HostId host) const = 0;
  // Whether it changes the job's size, and with it the hosts.
  virtual bool ChoosesSizeOf(const model::JobIdentity& job) const = 0;
  virtual std::vector<HttpRoute> Routes() = 0;
  virtual SchedulerNumbers numbers() const = 0;
};

// Errors: those of the engine's options and of the store.
using StartSchedulerEngine = std::function<Result<std::unique_ptr<SchedulerEngine>>(SchedulerSurroundings)>;

}  // namespace fairlead::service

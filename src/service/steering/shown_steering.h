// What observers and givers of orders see of steering: as it was at the end of a call of LiveSteering::Handle(), and
// whether it gets on.
//
// Thread      SetNow(), SetStatus() and Update() that of Handle(), the rest any: the mutex guards all that changes, and
//             nothing is called while it is held.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "controller/kept_steering.h"
#include "report/json_value.h"

namespace fairlead::service {

// For observers from outside.
struct SteeringNumbers {
  std::map<controller::HostCondition, size_t> hosts;  // of those that are more than unknown or of a job
  std::map<controller::JobCondition, size_t> jobs;
  std::map<std::string, uint64_t> begun;  // [step] attempts since the start
  bool is_ok = true;                      // the store and the audit log take what happens
};

class ShownSteering {
 public:
  ShownSteering(SimTime now, controller::SteeringMode mode, std::string back_end)
      : mode_(mode), back_end_(std::move(back_end)), now_(now) {}

  void SetNow(SimTime now);
  // Args: status: why nothing is begun at present; ok: all is well. Returns the one before.
  Status SetStatus(const Status& status);
  // Args: log: last lines of it. begun [step]: attempts since the start.
  void Update(const controller::KeptSteering& kept, const std::deque<report::Json>& log,
              const std::map<std::string, uint64_t>& begun);

  // What people are shown (docs/internals/modules/service.md).
  report::Json ToJson() const;
  SteeringNumbers numbers() const;
  Status status() const;
  SimTime now() const;
  controller::HostCondition ConditionOf(HostId host) const;
  // Of hosts that are more than unknown or of a job.
  std::map<HostId, controller::HostCondition> conditions() const;
  // By key, or by name where one has it. Errors: kNotFound, kInvalidArgument: several have it.
  Result<JobId> FindRunning(const std::string& job) const;

 private:
  const controller::SteeringMode mode_;
  const std::string back_end_;

  mutable std::mutex mutex_;
  SimTime now_;
  Status status_;
  report::Json view_;
  SteeringNumbers numbers_;
  std::map<HostId, controller::HostCondition> conditions_;  // of hosts that are more than unknown or of a job
  std::map<std::string, JobId> running_jobs_;               // by key
};

}  // namespace fairlead::service

// What the operator's program receives about an action, and what its answer means.
//
// On its standard input it finds one JSON object:
//   {"fairlead_action": 1, "action": 7, "attempt": 1, "step": "take_spare", "job": 3, "host": 12, "spare": 40,
//    "hosts": [..], "finding": 2, "confidence": 0.95, "reason": "..",
//    "evidence": [{"what", "value", "baseline", "unit"}], "job_name": "gpt", "job_owner": 1001,
//    "slurm_job": 4711, "description": "take host worker-40 for host worker-12 of job gpt@1001.slurm-4711",
//    "host_name": "worker-12", "spare_name": "worker-40", "host_names": [..]}
// "job_name" is what the job calls itself, which anybody may; "job_owner" the user whose processes it has, and
// "slurm_job" the job of Slurm that they are in, both as the kernel says.
// "host" is the host that the step is about, of take_spare the one that is replaced; "hosts" those of restart_job in
// rank order, "host_names" the same by name. What does not apply, or has no name, is null. Steps: isolate_host,
// stop_job, take_spare, restart_job, test_host, return_host. An action that has been done already is to be reported as
// done.
//
// Exit codes: 0 done; 2 it can't be done here and is not to be tried again; anything else, a signal, or no end before
// the deadline: failed, tried again later. The last line of its output may be a JSON object:
//   {"message": "drained", "healthy": true}
// "message" goes to the audit log; without one the last line of text does. "healthy" is the result of test_host:
// without it the host is not taken to be healthy. Other members are for the site's own use.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "controller/steering_events.h"
#include "service/steering/exec_hook.h"

namespace fairlead::service {

// One line, with a line break. Args: names: what the site calls its hosts and jobs.
std::string HookInput(const controller::SteeringAction& action, const controller::SteeringNames& names = {});
// Args: host_names [host]; must outlive the result. Hosts beyond it have no name, and jobs none.
controller::SteeringNames NamesFrom(std::span<const std::string> host_names);

struct HookAnswer {
  std::string message;
  std::optional<bool> is_healthy;
};

// Never fails: output that is no answer is a message. Clean text, at most 200 characters.
HookAnswer ParseHookOutput(std::string_view output);

// What became of the attempt; of test_host that ended well also its result.
struct HookOutcome {
  controller::StepDone done;
  std::optional<controller::HostTested> tested;
};
HookOutcome JudgeHook(const controller::SteeringAction& action, const Result<ExecHookOutcome>& outcome);

}  // namespace fairlead::service

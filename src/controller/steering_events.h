// Input and output of steering: events, and requested actions. Values only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "model/finding.h"

namespace fairlead::controller {

// What a change of a job's hosts means that is not steering's.
enum class HostChoice : uint8_t {
  kRestart,    // somebody has restarted it elsewhere
  kSize,       // an allocator changes its size, and its hosts with it: no sign of trouble
  kAllocator,  // likewise; and the allocator keeps it away from isolated hosts, so that it needs no spares
};

// What happened.
struct JobRunning {
  JobId job;
  std::vector<HostId> hosts;  // in rank order
  // Whether it can continue with fewer hosts when a dead one is not replaced.
  bool can_shrink = false;
  // It was started; false: it runs as before, and is only reported again. That is not a person's confirmation that the
  // leftovers of an action are in order.
  bool is_new_run = true;
  // Whether the kernel says whose it is (model/job_identity.h); if not, nothing is done to it.
  bool is_owner_verified = true;
  HostChoice host_choice = HostChoice::kRestart;
};
struct JobGone {
  JobId job;
};
// The host is free, and in order.
struct SpareOffered {
  HostId host;
};
struct FindingReported {
  model::Finding finding;
};
// What became of an attempt at an action.
struct StepDone {
  uint64_t action = 0;
  uint32_t attempt = 0;  // a failure of an earlier attempt than the last one says nothing; 0: of whichever was the last
  bool succeeded = true;
  bool is_final = false;     // of a failure: another attempt would fail, too
  std::string message = {};  // for people; may be empty
};
struct HostTested {
  HostId host;
  bool is_healthy = false;
};
// An operator takes an isolation back.
struct IsolationUndone {
  HostId host;
};
// Maintenance, or a pause that looks like a hang: until then nothing is found about the job, and nothing done to it.
// The last message counts, so an earlier time than before ends the pause.
struct PauseAnnounced {
  JobId job;
  SimTime until;
  std::string reason;
};
using SteeringEvent = std::variant<JobRunning, JobGone, SpareOffered, FindingReported, StepDone, HostTested,
                                   IsolationUndone, PauseAnnounced>;

// What is to be done. Steps that are answered (IsAnswered) can be done twice: what is done already is a success.
struct IsolateHost {
  HostId host;
};
struct StopJob {
  JobId job;
};
struct TakeSpare {
  JobId job;
  HostId spare;
  HostId replaces;
};
struct RestartJob {
  JobId job;
  // In rank order; from the newest complete checkpoint. Empty: where its allocator puts it, which may have happened.
  std::vector<HostId> hosts;
};
// Answered with HostTested, too.
struct TestHost {
  HostId host;
};
struct ReturnHost {
  HostId host;
};
// For information only: nothing is done.
struct Advise {
  JobId job;
  model::RecommendedAction action = model::RecommendedAction::kNone;
};
// Nothing more will be done until a person has looked; ids that do not apply are invalid.
struct AskOperator {
  JobId job;
  HostId host;
};
// To the diagnosis of the job: nothing is suspected until then. Never(): until changed.
struct ExcuseJob {
  JobId job;
  SimTime until;
};
using SteeringStep =
    std::variant<IsolateHost, StopJob, TakeSpare, RestartJob, TestHost, ReturnHost, Advise, AskOperator, ExcuseJob>;

// "isolate_host", "stop_job", "take_spare", "restart_job", "test_host", "return_host", "advise", "ask_operator",
// "excuse_job".
std::string_view Name(const SteeringStep& step);

// What people call hosts and jobs; an empty function, or an empty name: the number.
struct SteeringNames {
  std::function<std::string(HostId)> host = {};
  std::function<std::string(JobId)> job = {};

  std::string Of(HostId id) const;
  std::string Of(JobId id) const;
};

// "isolate host 7", "take host h100 for host h7 of job gpt", ..
std::string Describe(const SteeringStep& step, const SteeringNames& names = {});

// Whether it has to be carried out and answered; the others are for information.
bool IsAnswered(const SteeringStep& step);

struct SteeringAction {
  uint64_t number = 0;   // counts from 1
  uint32_t attempt = 1;  // counts from 1
  SteeringStep step;
  JobId job;                 // for which job; invalid: none
  model::FindingId finding;  // that it follows from; invalid: none
  double confidence = 0;     // of the finding, 0..1
  std::vector<model::Evidence> evidence;
  std::string reason;
};

}  // namespace fairlead::controller

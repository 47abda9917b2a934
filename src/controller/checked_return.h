// Isolated hosts are tested by the controller's own checks, instead of by what carries out the other actions.
//
//     test_host --> check --passed--> pause --> check --passed--> healthy
//                     |--failed-------------------------------->  stays isolated
//                     '--undecided, or it can't begin --> again; the attempt fails after `patience` without a verdict
//
// Problem     a fault that comes and goes is not there in one test, and a host that returns with it costs a second job.
// Method      a host has to pass some checks (node_checks.h) in a row, with a pause between them, each of them with
//             partners that are free then. One failed check is enough to keep it isolated.
// Guarantees  no host is called healthy without `passes` passed checks since its test began in this process. Each
//             attempt is answered, no later than LongestTest after it began. Other steps are the back end's, untouched.
// Cost        one question to the checks for each open test and call.
// Thread      as ActionBackend.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md section 7.4.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "controller/action_backend.h"
#include "controller/node_checks.h"

namespace fairlead::controller {

struct CheckedReturnOptions {
  // Checks that a host has to pass in a row, 1 to 10. More: rarer faults are found; fewer: hosts are back sooner.
  uint32_t passes = 2;
  // From one passed check to the next, 0 to 7 days. Longer: slower faults are found.
  SimDuration pause = SimDuration(3'600'000'000'000);
  // Of each check, 0 to kTestLengthMax; 0: transfers only.
  SimDuration burn_in = {};
  // Until a check that gave no verdict is tried again, > 0.
  SimDuration retry = SimDuration(60'000'000'000);
  // How long a verdict may be outstanding, of each check, > 0: the host's agent is away, its job still runs there, no
  // other host is free.
  SimDuration patience = SimDuration(1'800'000'000'000);

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
  // Of one attempt. Deadlines of attempts have to be longer.
  SimDuration LongestTest() const;
};

// The checks of a TrafficController, from another thread or another machine.
struct HostCheckSource {
  // The number of the check that has begun, or why it can't.
  std::function<Result<uint64_t>(HostId host, SimDuration burn_in)> begin;
  // What is known of a host in a check; kWaiting: it is under way; nothing: there is no such check.
  std::function<std::optional<CheckedHostView>(uint64_t check, HostId host)> find;
};

class CheckedReturn final : public ActionBackend {
 public:
  // Args: backend: never null; it is never asked to test a host.
  CheckedReturn(const CheckedReturnOptions& options, HostCheckSource checks, std::unique_ptr<ActionBackend> backend);

  std::string_view name() const override { return backend_->name(); }
  void Begin(SimTime now, const SteeringAction& action) override;
  std::vector<SteeringEvent> TakeOutcomes(SimTime now) override;

 private:
  struct Test {
    HostId host;
    uint32_t attempt = 0;  // the last that was begun
    uint32_t num_passed = 0;
    std::optional<uint64_t> check;  // under way
    SimTime next;                   // of the next check; of one under way: until then it need not be known
    SimTime verdict_until;
    std::string obstacle;  // why there is no verdict yet
  };

  // Whether the test is over, with what came of it.
  bool Advance(SimTime now, uint64_t action, Test* test, std::vector<SteeringEvent>* outcomes);
  bool Judge(SimTime now, uint64_t action, const CheckedHostView& view, Test* test,
             std::vector<SteeringEvent>* outcomes) const;
  void TryAgain(SimTime now, std::string obstacle, Test* test) const;

  const CheckedReturnOptions options_;
  const HostCheckSource checks_;
  const std::unique_ptr<ActionBackend> backend_;
  std::map<uint64_t, Test> tests_;  // [number of the action]
};

}  // namespace fairlead::controller

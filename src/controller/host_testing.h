// All that the controller has agents test: checks of hosts for operators, ends of connections for the diagnosis.
//
//     NodeCheckRequest --> NodeChecks ----+
//                                         +--> HostTestRuns <--> agents
//     SlowEndQuestion ---> SlowEndTests --+
//                              |
//                              +--> SlowEndAnswer
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/agent_streams.h"
#include "controller/host_test_runs.h"
#include "controller/job_table.h"
#include "controller/node_checks.h"
#include "controller/slow_end_tests.h"
#include "controller/traffic_outputs.h"
#include "topology/address_book.h"
#include "topology/fabric.h"

namespace fairlead::controller {

class HostTesting {
 public:
  // The references must outlive this. Args: seed: of secrets.
  HostTesting(const topology::Fabric& fabric, const topology::AddressBook& addresses, const JobTable& jobs,
              uint64_t seed, AgentStreams* streams, TrafficOutputs* outputs)
      : runs_(seed, streams),
        checks_(fabric, addresses, jobs, *streams, &runs_, outputs),
        ends_(fabric, addresses, jobs, &runs_, outputs) {}

  const NodeChecks& checks() const { return checks_; }
  void Begin(SimTime now, SimTime clock, const NodeCheckRequest& request) { checks_.Begin(now, clock, request); }
  void Ask(SimTime now, const SlowEndQuestion& question) { ends_.Ask(now, question); }
  void Hear(HostId host, const HostTestReady& message) { runs_.Hear(host, message); }
  void Hear(HostId host, const HostTestDone& message) { runs_.Hear(host, message); }
  // Its agent is away.
  void Lose(HostId host) { runs_.Lose(host); }
  // Goes on with what has ended. Args: now: steady; clock: for people.
  void Tick(SimTime now, SimTime clock) {
    runs_.Tick(now);
    // What goes on may end at once.
    for (auto ended = runs_.TakeEnded(); !ended.empty(); ended = runs_.TakeEnded()) {
      for (const HostTestRuns::Ended& one : ended) {
        checks_.Take(now, one);
        ends_.Take(now, one);
      }
    }
    checks_.Conclude(clock);
    ends_.AnswerFinished();
  }

 private:
  HostTestRuns runs_;
  NodeChecks checks_;
  SlowEndTests ends_;
};

}  // namespace fairlead::controller

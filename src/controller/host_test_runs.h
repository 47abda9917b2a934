// Tests that agents carry out: transfers between two hosts, and burn-in of one.
//
//     transfer   HostTestWanted, kReceive --> the receiver     --> HostTestReady, its port
//                HostTestWanted, kSend ----> the sender
//                                            both              --> HostTestDone --> Ended
//     burn-in    HostTestWanted, kBurnIn --> the host          --> HostTestDone --> Ended
//
// Problem     a test has two agents, each of which may be away, too old, busy, or never answer.
// Method      the sender is asked when the receiver listens. A test ends when all have answered, with the stream of one
//             of them, or some time after it should have ended.
// Guarantees  each test that is begun ends once. It has failed only if both hosts have taken part and nothing came
//             through; whatever else is missing is no answer.
// Cost        O(log of tests) for each call, O(tests) for each Tick().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/random.h"
#include "base/sim_time.h"
#include "controller/agent_streams.h"
#include "controller/host_messages.h"
#include "node_check/transfer_plan.h"

namespace fairlead::controller {

class HostTestRuns {
 public:
  // How much longer than its length a test may take.
  static constexpr SimDuration kPatience = SimDuration(10'000'000'000);

  struct Transfer {
    HostId sender;
    HostId receiver;
    IpAddress source;
    IpAddress destination;
    uint32_t num_streams = 1;
    double rate_max = 0;  // bytes/s; 0: as fast as they can
    SimDuration length;
    bool despite_jobs = false;
  };
  struct Symptom {
    HostId host;
    model::HostSymptomRecord record;
  };
  struct Ended {
    uint64_t test = 0;
    node_check::TransferResult transfer;  // of burn-in its outcome and error only
    double score = 0;                     // of burn-in
    std::vector<Symptom> symptoms;
  };

  // `streams` must outlive this. Args: seed: of the secrets.
  HostTestRuns(uint64_t seed, AgentStreams* streams) : random_(seed), streams_(streams) {}

  // All return the number of the test. Args: hosts other than each other.
  uint64_t BeginTransfer(SimTime now, const Transfer& transfer);
  uint64_t BeginBurnIn(SimTime now, HostId host, SimDuration length);
  void Hear(HostId host, const HostTestReady& message);
  void Hear(HostId host, const HostTestDone& message);
  // Its agent is away.
  void Lose(HostId host);
  // Of time.
  void Tick(SimTime now);
  // Its agent is here, and new enough.
  bool CanTest(HostId host) const { return streams_->IsConnected(host) && streams_->agent(host).can_test; }
  // Hosts whose tests are not to be disturbed by others.
  void Reserve(std::span<const HostId> hosts) { reserved_.insert(hosts.begin(), hosts.end()); }
  void Release(std::span<const HostId> hosts) {
    for (const HostId host : hosts) reserved_.erase(host);
  }
  bool IsReserved(HostId host) const { return reserved_.contains(host); }
  // Since the last call.
  std::vector<Ended> TakeEnded() { return std::exchange(ended_, {}); }

 private:
  struct Part {
    HostId host;
    bool is_asked = false;
    std::optional<HostTestDone> done;
  };
  struct Run {
    Transfer transfer;  // of burn-in nothing
    uint64_t secret = 0;
    SimTime due;
    Part receiver;  // or the host of burn-in
    std::optional<Part> sender;
  };

  uint64_t Begin(Run run, const HostTestWanted& wanted);
  void Ask(uint64_t test, Part* part, HostTestWanted wanted);
  // Reports it, and forgets it.
  void End(uint64_t test);
  static node_check::TransferResult ResultOf(const Run& run);

  Random random_;
  AgentStreams* streams_;
  uint64_t num_tests_ = 0;
  std::map<uint64_t, Run> runs_;
  std::vector<Ended> ended_;
  std::set<HostId> reserved_;
};

}  // namespace fairlead::controller

// Tests of this host that the controller wants: which are run, and what is said of them.
//
//     HostTestWanted --> RunHostTest --> HostTestListens --> HostTestReady
//                                   \--> HostTestEnded ----> HostTestDone, with what the host reported meanwhile
//
// Problem     a test takes the network or the GPUs of a host. Nothing that is lost, late or wrong may leave one
//             running, or start one beside a training job.
// Method      a test runs only between NICs of training, within the bounds of its message, and on a host without
//             connections of jobs unless the controller says otherwise. All end with the stream that they were wanted
//             on. What devices and kernel report while one runs is said with the first that ends after.
// Guarantees  each test that is wanted is answered once, at once where it is refused.
// Cost        O(log of tests) for each.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/agent_outbox.h"
#include "agent/host_agent_messages.h"
#include "agent/training_addresses.h"
#include "controller/host_messages.h"

namespace fairlead::agent {

class HostTests {
 public:
  static constexpr size_t kRunningMax = 64;

  // The pointers must outlive this.
  HostTests(const TrainingAddresses* addresses, AgentOutbox* outbox) : addresses_(*addresses), outbox_(*outbox) {}

  // Args: has_jobs: training jobs have connections on this host.
  void Take(const controller::HostTestWanted& wanted, bool has_jobs);
  void Take(const HostTestListens& event);
  void Take(const HostTestEnded& event);
  // What devices and kernel of this host have reported.
  void AddSymptoms(std::span<const model::HostSymptomRecord> symptoms);
  // Nobody waits for what is under way any more.
  void Cancel();

 private:
  // Empty: it may run.
  std::string FindObjection(const controller::HostTestWanted& wanted, bool has_jobs) const;

  const TrainingAddresses& addresses_;
  AgentOutbox& outbox_;
  std::set<uint64_t> running_;
  std::vector<model::HostSymptomRecord> symptoms_;  // while one runs; at most kSymptomsMax
};

}  // namespace fairlead::agent

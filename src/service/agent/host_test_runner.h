// Carries out tests of this host that the controller wants (agent/host_tests.h), each on a thread of its own.
//
// Burn-in is the operator's program, of which Fairlead knows nothing: it is run with the number of seconds as its last
// argument, and the last line that it prints is its score, a number of which more is better, such as TFLOP/s. It fails
// the host with an exit code other than 0.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "controller/host_messages.h"
#include "service/agent/worker_thread.h"

namespace fairlead::service {

class HostTestRunner {
 public:
  // Args: burn_in: program and arguments; empty: there is none. inbox: gets HostTestListens and HostTestEnded; must
  // outlive this.
  HostTestRunner(std::vector<std::string> burn_in, EventInbox* inbox);
  // Ends what is under way.
  ~HostTestRunner();
  HostTestRunner(const HostTestRunner&) = delete;
  HostTestRunner& operator=(const HostTestRunner&) = delete;

  void Run(const controller::HostTestWanted& wanted);
  // What is under way ends soon; what comes of it is reported all the same.
  void Stop();

 private:
  using Flag = std::shared_ptr<std::atomic<bool>>;
  struct Running {
    std::thread thread;
    Flag is_over;
  };

  controller::HostTestDone Do(const controller::HostTestWanted& wanted, const std::atomic<bool>& stop);
  void Receive(const controller::HostTestWanted& wanted, const std::atomic<bool>& stop, controller::HostTestDone* done);
  void BurnIn(const controller::HostTestWanted& wanted, const std::atomic<bool>& stop, controller::HostTestDone* done);

  const std::vector<std::string> burn_in_;
  EventInbox* inbox_;
  Flag stop_;
  std::list<Running> running_;
};

}  // namespace fairlead::service

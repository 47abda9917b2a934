// The agent as a program: joins its state machine (agent/host_agent.h) with processes, controller and kernel.
//
//     UNIX socket, controller, workers -- events --> HostAgent -- actions --> UNIX socket, controller, workers
//
// Threads     one loop that never blocks, and workers for what does: two for probes (searches that processes wait for,
//             and the watching of the mesh), one for the kernel's tables (nft, classes of sockets), one that lists
//             sockets, one that keeps the state, one that looks at processes; and one for each test of the host. Their
//             results come back through an inbox.
// Degraded    what a host does not allow (rewriting, classes of other users' sockets) is reported once, in the log and
//             to the controller; the rest continues.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/host_agent.h"
#include "base/status.h"
#include "service/agent/controller_link.h"
#include "service/agent/process_owner.h"
#include "service/agent/steering_socket.h"

namespace fairlead::service {

struct HostAgentServerOptions {
  agent::HostAgentOptions agent;
  SteeringSocketOptions socket;
  std::string state_path;  // empty: nothing is kept
  // What the GPUs of this host have computed until now, by job; empty: nothing is known of GPUs. Called on a thread of
  // its own, as often as sockets are listed.
  std::function<Result<std::vector<agent::GpuSums>>(JobIdentifier* jobs, SimTime at)> read_gpus;
  // What devices and kernel of this host report, since the call before; empty: nothing is known. Called with each look at
  // the segments, on a thread of its own.
  std::function<std::vector<model::HostSymptomRecord>()> read_symptoms;
  std::string segments;  // folder of training processes' segments (segment_folder.h); empty: none
  // > 0. How often they are looked at; the controller counts on a second.
  SimDuration look_period = SimDuration(1'000'000'000);
  // Called on the thread of Run() with what is found about this host, whenever that changes; may be empty.
  std::function<void(const controller::HostJudged&)> judged;
  std::string health_path;  // file that says what is found about this host (health_file.h); empty: none
  // How often sockets are listed: where jobs are measured, and otherwise.
  SimDuration sample_period = SimDuration(20'000'000);
  SimDuration idle_sample_period = SimDuration(500'000'000);
  bool rewrites_ports = true;
  // Program for burn-in, with its arguments (host_test_runner.h); empty: there is none.
  std::vector<std::string> burn_in;
  std::function<void(const std::string&)> log;  // one line each; not empty
  std::function<void()> alive;                  // called at each turn of Run(), at least each 100 ms; may be empty
};

// What an agent has done so far, for --json and tests.
struct HostAgentCounts {
  uint64_t num_questions = 0;
  uint64_t num_steered = 0;  // answered with a port
  uint64_t num_classed = 0;  // with a class only
  uint64_t num_left = 0;
  uint64_t num_moves = 0;   // departures that were rewritten
  uint64_t num_orders = 0;  // of probes
  uint64_t num_rejected = 0;
};

class HostAgentServer {
 public:
  // Opens everything. Args: link outlives this. A saved state that can't be read counts as none, which is logged.
  // Errors: those of SteeringSocket::Open; kInvalidArgument: options without a NIC or a host.
  static Result<std::unique_ptr<HostAgentServer>> Open(const HostAgentServerOptions& options, ControllerLink* link);
  ~HostAgentServer();

  // Until `stop` is true, which is looked at every 100 ms.
  void Run(const std::atomic<bool>& stop);
  HostAgentCounts counts() const;

 private:
  class Loop;
  explicit HostAgentServer(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

// Addresses of this host's interfaces that are up and no loopback, IPv4 first; link-local ones are left out.
std::vector<IpAddress> ListNicAddresses();

}  // namespace fairlead::service

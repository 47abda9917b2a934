// The process of an agent on a simulated host: the real core (agent/host_agent.h), and around it what its daemon does
// with the kernel, the disk and the stream, on virtual time.
//
// It can be killed at any moment, stopped and continued (virtual_process.h); its disk can be full, and its kernel can
// refuse rules (virtual_rewriter.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/host_agent.h"
#include "base/ids.h"
#include "base/random.h"
#include "sim/hosts/event_queue.h"
#include "sim/hosts/sabotage.h"
#include "sim/hosts/virtual_kernel.h"
#include "sim/hosts/virtual_network.h"
#include "sim/hosts/virtual_process.h"
#include "sim/hosts/virtual_rewriter.h"

namespace fairlead::sim::hosts {

class VirtualAgent {
 public:
  // What happens around it.
  struct Surroundings {
    EventQueue* queue = nullptr;
    const VirtualNetwork* network = nullptr;
    VirtualKernel* kernel = nullptr;
    Sabotage sabotage = Sabotage::kNone;
    std::function<void(const agent::AnswerProcess&)> answer;  // of a process of this host
    std::function<void(controller::FromAgent)> send;          // on its stream
    std::function<void()> rules_changed;                      // of the kernel
    std::function<void()> classes_changed = nullptr;          // of its sockets; may be empty
    std::function<std::vector<agent::GpuSums>()> gpus_of;     // of the jobs on this host
    // Of the training processes of this host, on its clock: what they have to say since then. Those that are gone are
    // seen once. Args: less virtual time, the host's clock. May be empty: then nobody looks at them.
    std::function<std::vector<telemetry::SeenProcess>(SimTime since, SimDuration clock)> look = nullptr;
  };

  // How it looks at its host.
  enum class Looking : uint8_t {
    kByItself,    // lists sockets twice a second
    kWhenSampled  // Sample() is called as often as the daemon measures
  };

  VirtualAgent(HostId host, uint64_t seed, Looking looking, Surroundings surroundings);

  bool is_alive() const { return process_.is_alive(); }
  bool is_running() const { return process_.is_running(); }
  SimTime running_since() const { return process_.running_since(); }  // while it runs
  // Of its processes: each start is another one.
  uint64_t incarnation() const { return process_.incarnation(); }
  const agent::HostAgent& core() const { return *core_; }

  void Start();
  void Kill();
  void Stop() { process_.Stop(); }
  void Continue();
  void SetDiskFull(bool is_full) { disk_.is_full = is_full; }
  void SetKernelRefuses(bool refuses) { rewriter_.SetRefuses(refuses); }
  // Whether the kernel may still rewrite for an earlier connection what a socket sends that was opened then: it has
  // refused to stop, or this agent was away when the socket was opened, and has not looked since.
  bool MayHaveStaleRules(SimTime opened_at) const;
  // The clock of the host is ahead of virtual time by this.
  void SetClock(SimDuration clock) { clock_ = clock; }
  // Reads the counters of GPUs and sockets, which are of this moment.
  void Sample();

  // Gives it an event, now or when it continues; false: there is no process.
  bool Deliver(agent::HostEvent event);

 private:
  void Handle();
  void Wake();
  void ScheduleWake();
  void Save();
  void ListSockets();
  void KeepListing();
  void KeepLooking();
  void Heed(const agent::HostAction& action);
  void Do(const agent::AnswerProcess& action) { surroundings_.answer(action); }
  void Do(const agent::SendToController& action) { surroundings_.send(action.message); }
  void Do(const agent::ProbePorts& action);
  void Do(const agent::SetRewrite& action);
  void Do(const agent::ClearRewrite& action);
  void Do(const agent::FindOwners& action);
  void Do(const agent::SetSocketClass& action);
  void Do(const agent::KeepJudgement&) {}
  void Do(const agent::RunHostTest& action);
  void Do(const agent::StopHostTests&) {}  // what ends is not heard
  void Do(const agent::Noted& action);
  void Order(uint64_t ticket, const agent::RewriteRule& rule, uint16_t to_port);
  void After(SimDuration delay, std::function<void()> work) { process_.After(delay, std::move(work)); }
  SimDuration Delay(int64_t least_us, int64_t most_us);
  EventQueue& queue() { return *surroundings_.queue; }
  VirtualKernel& kernel() { return *surroundings_.kernel; }

  // The state file.
  struct Disk {
    std::string state;
    bool is_full = false;
    bool is_saving = false;
    uint64_t saved_revision = 0;
  };

  const HostId host_;
  const Looking looking_;
  Surroundings surroundings_;
  Random random_;
  VirtualProcess process_;
  VirtualRewriter rewriter_;
  std::unique_ptr<agent::HostAgent> core_;
  Disk disk_;
  SimDuration clock_;
  SimTime looked_at_;                                             // last; before the start: what processes keep
  std::map<std::pair<int32_t, uint64_t>, uint64_t> num_reports_;  // [number and start of a process]
  std::vector<agent::HostEvent> inbox_;
  SimTime next_list_;
  SimTime wake_at_;
};

}  // namespace fairlead::sim::hosts

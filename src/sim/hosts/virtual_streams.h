// The streams between agents and the controller: messages arrive in order and late, and a stream that breaks loses what
// is on its way, while each side learns of it at another time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "controller/host_messages.h"
#include "sim/hosts/event_queue.h"
#include "sim/hosts/sabotage.h"
#include "sim/hosts/virtual_agent.h"
#include "sim/hosts/virtual_controller.h"

namespace fairlead::sim::hosts {

class VirtualStreams {
 public:
  // Args: agents [host]; all must outlive this.
  VirtualStreams(EventQueue* queue, uint64_t seed, Sabotage sabotage,
                 std::span<const std::unique_ptr<VirtualAgent>> agents, VirtualController* controller);

  // Processes that have started try to connect; those of a process that has died break.
  void Connect(uint32_t host);
  void AgentDied(uint32_t host);
  void ControllerDied();

  // By the agent's and by the controller's end; dropped without a stream.
  void Send(uint32_t host, controller::FromAgent message);
  void Send(controller::StreamId stream, controller::ToAgent message);
  void EndByController(controller::StreamId id);

  bool IsBroken(uint32_t host) const { return !of_host_[host].has_value(); }
  // Breaks the host's stream in the middle: both sides learn of it within seconds.
  void Break(uint32_t host);
  // Messages of this host take that much longer; 1: as usual.
  void SetSlowness(uint32_t host, int64_t factor) { slowness_[host] = factor; }

 private:
  struct Stream {
    uint32_t host = 0;
    uint64_t agent = 0;  // incarnations of its ends
    uint64_t controller = 0;
    bool is_broken = false;
    bool has_ended = false;  // for the controller
    SimTime up_at;           // when the latest message arrives
    SimTime down_at;
  };

  void TryToConnect(uint32_t host, uint64_t agent);
  void Break(controller::StreamId id, SimDuration agent_learns_after, SimDuration controller_learns_after);
  void EndAtAgent(controller::StreamId id, SimDuration after);
  void EndAtController(controller::StreamId id, SimDuration after);
  bool IsOfAgent(const Stream& stream) const;
  bool IsOfController(const Stream& stream) const;
  void DeliverDown(controller::StreamId id, const controller::ToAgent& message);
  SimDuration Delay(uint32_t host);
  SimDuration Below(int64_t most_ms) {
    return SimDuration(static_cast<int64_t>(random_.Below(static_cast<uint64_t>(most_ms) * 1'000'000)));
  }

  EventQueue* queue_;
  Random random_;
  Sabotage sabotage_;
  std::span<const std::unique_ptr<VirtualAgent>> agents_;
  VirtualController* controller_;
  std::vector<Stream> streams_;                               // [StreamId]
  std::vector<std::optional<controller::StreamId>> of_host_;  // as the agent knows
  std::vector<int64_t> slowness_;                             // [host]
};

}  // namespace fairlead::sim::hosts

// What the parts of a host's agent share: the time, whether the controller listens, the actions of one call, and the
// number of the state that is to be kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent/host_agent_messages.h"
#include "base/sim_time.h"

namespace fairlead::agent {

class AgentOutbox {
 public:
  explicit AgentOutbox(SimTime now) : now_(now) {}

  // Time never runs backwards.
  void SetTime(SimTime now) { now_ = std::max(now_, now); }
  SimTime now() const { return now_; }

  // Between the controller's welcome and the end of the stream.
  void SetWelcome(bool is_welcome) { is_welcome_ = is_welcome; }
  bool is_welcome() const { return is_welcome_; }

  // Not inlined: GCC 12 takes the members of other alternatives for uninitialized.
  [[gnu::noinline]] void Act(HostAction action) { actions_.push_back(std::move(action)); }
  void Note(std::string text) { Act(Noted{std::move(text)}); }
  // Nothing unless the agent is welcome.
  void Send(controller::FromAgent message) {
    if (is_welcome_) Act(SendToController{std::move(message)});
  }
  std::vector<HostAction> TakeActions() { return std::exchange(actions_, {}); }

  // What the agent keeps has changed.
  void Change() { ++revision_; }
  uint64_t revision() const { return revision_; }

 private:
  SimTime now_;
  bool is_welcome_ = false;
  uint64_t revision_ = 0;
  std::vector<HostAction> actions_;
};

}  // namespace fairlead::agent

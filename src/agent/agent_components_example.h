// What tests of the agent's components look at: what was decided.
#pragma once

#include <variant>
#include <vector>

#include "agent/host_agent_messages.h"

namespace fairlead::agent {

// Actions of this kind.
template <class T>
std::vector<T> ActionsIn(const std::vector<HostAction>& actions) {
  std::vector<T> found;
  for (const HostAction& action : actions) {
    if (const auto* one = std::get_if<T>(&action)) found.push_back(*one);
  }
  return found;
}

// Messages of this kind to the controller.
template <class T>
std::vector<T> MessagesIn(const std::vector<HostAction>& actions) {
  std::vector<T> found;
  for (const SendToController& sent : ActionsIn<SendToController>(actions)) {
    if (const auto* message = std::get_if<T>(&sent.message)) found.push_back(*message);
  }
  return found;
}

}  // namespace fairlead::agent

// What tests of the agent's components stand on: an outbox, a table of connections, and what was decided.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/agent_outbox.h"
#include "agent/connection_table.h"

namespace fairlead::agent {

struct ComponentExample {
  static constexpr uint16_t kSocketPort = 50'001;
  static constexpr uint16_t kServicePort = 5001;

  AgentOutbox outbox{SimTime(1'000'000'000)};
  ConnectionTable connections{100, /*random_seed=*/1, &outbox};

  static IpAddress Here() { return IpAddress::FromIpv4(1); }
  static IpAddress There() { return IpAddress::FromIpv4(2); }
  // Of a TCP connection of process 100.
  static KeptConnection Kept(uint64_t inode, const std::string& job = "gpt") {
    return {.job = job,
            .wanted =
                {.source = Here(), .destination = There(), .protocol = 6, .destination_port = kServicePort, .pid = 100},
            .inode = inode,
            .answer = {}};
  }
  static traffic::QueuePairAnswer Use(uint16_t port) {
    return {.kind = traffic::QueuePairAnswer::Kind::kUse, .path = 3, .port = port};
  }
  uint64_t Add(uint64_t inode, const std::string& job = "gpt") { return connections.Add(Kept(inode, job)).number(); }
  // Open, and planned.
  uint64_t AddOpen(uint64_t inode, uint16_t socket_port = kSocketPort, const std::string& job = "gpt") {
    const uint64_t number = Add(inode, job);
    connections.SetPlan(number, Use(socket_port));
    connections.Open(number, socket_port);
    return number;
  }
  void Wait(int64_t ms) { outbox.SetTime(outbox.now() + SimDuration(ms * 1'000'000)); }
};

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

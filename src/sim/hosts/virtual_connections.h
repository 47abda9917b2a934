// The connections of training processes on simulated hosts: opened, used and closed as the steering library makes
// processes do it (ccl/steer), and the judge of what happens to their packets.
//
// Process    asks the agent of its host before it connects, waits for 20 ms at most, binds the port that it is given if
//            it can, connects, reports the outcome. Without an agent it connects by itself. The other end asks for its
//            class when it has accepted.
// Laws       a packet reaches its socket: whatever rewriting is in force at both ends now, and was while it was on its
//            way. A question has one answer, in time. See violation.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "sim/hosts/event_queue.h"
#include "sim/hosts/violation.h"
#include "sim/hosts/virtual_agent.h"
#include "sim/hosts/virtual_kernel.h"
#include "sim/hosts/virtual_network.h"

namespace fairlead::sim::hosts {

// One end of a connection.
struct ConnectionEnd {
  HostId host;
  NicId nic;
  int32_t pid = 0;
  double bytes_per_second = 0;  // that it sends all the time
  uint64_t inode = 0;
  uint16_t wire_port = 0;      // that its packets carry
  uint16_t old_wire_port = 0;  // that packets on their way may carry until then
  SimTime old_until = SimTime();
};

struct VirtualConnection {
  std::string job;
  ConnectionEnd client;
  ConnectionEnd server;
  uint16_t destination_port = 0;
  uint16_t socket_port = 0;  // of the client
  uint64_t question = 0;     // of the client's process to its agent; 0: none is open
  bool is_established = false;
  bool is_closed = false;
};

class VirtualConnections {
 public:
  struct Surroundings {
    EventQueue* queue = nullptr;
    const VirtualNetwork* network = nullptr;
    std::span<const std::unique_ptr<VirtualKernel>> kernels = {};  // [host]
    std::span<const std::unique_ptr<VirtualAgent>> agents = {};    // [host]
    std::function<void(Violation)> violate;
    // Whose agent lies: what becomes of its own connections is its own affair; may be empty.
    std::function<bool(HostId)> is_hostile = nullptr;
    // The connection is open, or packets of its client carry another port; may be empty.
    std::function<void(uint64_t number)> rerouted = nullptr;
  };

  // Args: random: must outlive this; unasked_one_in: one question in so many does not come through, as when an agent's
  // queue is full; 0: all do.
  VirtualConnections(Random* random, uint64_t unasked_one_in, Surroundings surroundings);

  // A process begins to open a connection. Args: wanted: job, ends (host, NIC, process, what they send) and destination
  // port. Returns its number, counted from 0.
  uint64_t Open(VirtualConnection wanted);
  // Both ends close it, one after the other. Closed ones are ignored.
  void Close(uint64_t number);

  // What the kernel and the agent of a host bring about.
  void TakeAnswer(HostId host, const agent::AnswerProcess& answer);
  void CheckPackets(HostId host);
  void AgentDied(HostId host);

  const std::vector<VirtualConnection>& all() const { return connections_; }
  uint64_t num_opened() const { return num_opened_; }
  uint64_t num_moved() const { return num_moved_; }  // packets of an open connection got another port

 private:
  // A process that waits for its agent.
  struct Question {
    HostId host;
    uint64_t agent = 0;                  // incarnation
    std::optional<uint64_t> connection;  // nothing: of an accepted one
    uint64_t inode = 0;
    SimTime asked_at;
    bool is_answered = false;
    bool is_given_up = false;  // without an answer
  };

  // Args: number: of a connection.
  void Ask(uint64_t number);
  void Connect(uint64_t number, uint16_t wanted_port, std::optional<uint8_t> traffic_class);
  void Establish(uint64_t number, bool is_reported);
  void Report(uint64_t number, uint16_t port, int32_t error);
  void AskAboutAccepted(uint64_t number);
  // Args: number: of a question.
  void GiveUp(uint64_t number);
  void CheckPatience(uint64_t number);
  void Leave(uint64_t number);  // the process hangs up
  void CloseEnd(const ConnectionEnd& end);
  void CheckEnds(uint64_t number);
  void CheckEnd(uint64_t number, ConnectionEnd* from, const ConnectionEnd& to);
  void CheckPort(const VirtualConnection& connection, const ConnectionEnd& from, const ConnectionEnd& to,
                 const agent::SocketPair& ends, uint16_t wire_port);
  std::string Describe(const VirtualConnection& connection) const;
  IpAddress AddressOf(const ConnectionEnd& end) const { return surroundings_.network->AddressOf(end.nic); }
  SimDuration Milliseconds(double low, double high) { return RandomMilliseconds(random_, low, high); }
  EventQueue& queue() { return *surroundings_.queue; }
  VirtualKernel& kernel(HostId host) const { return *surroundings_.kernels[host.index()]; }
  VirtualAgent& agent(HostId host) const { return *surroundings_.agents[host.index()]; }

  Random* random_;
  uint64_t unasked_one_in_;
  Surroundings surroundings_;
  std::vector<VirtualConnection> connections_;
  std::map<uint64_t, Question> questions_;      // that are open
  std::set<uint64_t> answered_;                 // all of them
  std::vector<std::vector<uint64_t>> of_host_;  // connections that are not closed, by host
  uint64_t num_questions_ = 0;
  uint64_t num_opened_ = 0;
  uint64_t num_moved_ = 0;
};

}  // namespace fairlead::sim::hosts

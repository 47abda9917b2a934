// The training jobs of a simulated world: processes that open, use and close connections as the steering library makes
// them do it (ccl/steer), and the judge of what happens to their packets.
//
// Job        a ring over some hosts, one process on each, a connection or two to the next host. Jobs begin, end, are
//            started again under the same name; connections are closed and opened again meanwhile.
// Process    asks the agent of its host before it connects, waits for 20 ms at most, binds the port that it is given if
//            it can, connects, reports the outcome. Without an agent it connects by itself.
// Laws       a packet reaches its socket: whatever rewriting is in force at both ends now, and was while it was on its
//            way. A question has one answer, in time. See violation.h.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/chaos/event_queue.h"
#include "sim/chaos/violation.h"
#include "sim/chaos/virtual_agent.h"
#include "sim/chaos/virtual_kernel.h"
#include "sim/chaos/virtual_network.h"

namespace fairlead::sim::chaos {

// One end of a connection.
struct ConnectionEnd {
  uint32_t host = 0;
  int32_t pid = 0;
  uint64_t inode = 0;
  uint16_t wire_port = 0;      // that its packets carry
  uint16_t old_wire_port = 0;  // that packets on their way may carry until then
  SimTime old_until = SimTime();
};

struct VirtualConnection {
  uint32_t job = 0;
  uint16_t socket_port = 0;  // of the client
  uint16_t destination_port = 0;
  uint64_t question = 0;  // of the client's process to its agent; 0: none is open
  bool is_established = false;
  bool is_closed = false;
  ConnectionEnd client;
  ConnectionEnd server;
};

class VirtualJobs {
 public:
  struct Surroundings {
    EventQueue* queue = nullptr;
    const VirtualNetwork* network = nullptr;
    std::span<const std::unique_ptr<VirtualKernel>> kernels = {};  // [host]
    std::span<const std::unique_ptr<VirtualAgent>> agents = {};    // [host]
    std::function<void(Violation)> violate;
  };

  // Args: calm_at: from then on nothing begins or ends.
  VirtualJobs(uint64_t seed, uint32_t num_jobs, SimTime calm_at, Surroundings surroundings);

  // What the kernel and the agent of a host bring about.
  void TakeAnswer(uint32_t host, const agent::AnswerProcess& answer);
  void CheckPackets(uint32_t host);
  std::string TrainingJobOf(uint32_t host, uint64_t inode) const;
  // Counters of the GPUs of this host: each job computes at its own rate.
  std::vector<agent::GpuSums> GpusOf(uint32_t host) const;
  void AgentDied(uint32_t host);
  // Ends a process of this host, if there is one; its job is started again later.
  void KillProcess(uint32_t host);
  void HostDied(uint32_t host);

  const std::vector<VirtualConnection>& connections() const { return connections_; }
  const std::string& NameOf(uint32_t job) const { return jobs_[job].name; }
  uint64_t num_opened() const { return num_opened_; }
  uint64_t num_moved() const { return num_moved_; }  // packets of an open connection got another port

 private:
  struct Job {
    std::string name;
    uint64_t run = 0;  // number of its starts
    bool is_running = false;
    SimTime started_at;
    std::vector<uint32_t> hosts;
    std::vector<int32_t> pids;  // [place]; 0: has ended
    std::vector<uint64_t> connections;
  };
  // A process that waits for its agent.
  struct Question {
    uint32_t host = 0;
    uint64_t agent = 0;                  // incarnation
    std::optional<uint64_t> connection;  // nothing: of an accepted one
    uint64_t inode = 0;
    SimTime asked_at;
    bool is_answered = false;
    bool is_given_up = false;  // without an answer
  };

  // Args: j: job.
  void StartJob(uint32_t j);
  void EndJob(uint32_t j, bool starts_again);
  void EndProcess(uint32_t j, size_t place);
  void Open(uint32_t j, uint64_t run, size_t place);
  // Args: number: of a connection.
  void Ask(uint64_t number);
  void Connect(uint64_t number, uint16_t wanted_port, std::optional<uint8_t> traffic_class);
  void Establish(uint64_t number, bool is_reported);
  void Report(uint64_t number, uint16_t port, int32_t error);
  void AskAboutAccepted(uint64_t number);
  void Close(uint64_t number);
  // Args: number: of a question.
  void GiveUp(uint64_t number);
  void CheckPatience(uint64_t number);
  void Leave(uint64_t number);  // the process hangs up
  void CloseEnd(ConnectionEnd* end);
  bool IsAlive(const ConnectionEnd& end) const;
  void CheckEnd(const VirtualConnection& connection, ConnectionEnd* from, const ConnectionEnd& to);
  void CheckPort(const VirtualConnection& connection, const ConnectionEnd& from, const ConnectionEnd& to,
                 const agent::SocketPair& ends, uint16_t wire_port);
  std::string Describe(const VirtualConnection& connection) const;
  SimDuration Milliseconds(double low, double high);
  EventQueue& queue() { return *surroundings_.queue; }
  VirtualKernel& kernel(uint32_t host) const { return *surroundings_.kernels[host]; }
  VirtualAgent& agent(uint32_t host) const { return *surroundings_.agents[host]; }

  Random random_;
  SimTime calm_at_;
  Surroundings surroundings_;
  std::vector<Job> jobs_;
  std::vector<VirtualConnection> connections_;
  std::map<uint64_t, Question> questions_;      // that are open
  std::set<uint64_t> answered_;                 // all of them
  std::vector<std::vector<uint64_t>> of_host_;  // connections that are not closed, by host
  int32_t num_pids_ = 0;
  uint64_t num_questions_ = 0;
  uint64_t num_opened_ = 0;
  uint64_t num_moved_ = 0;
};

}  // namespace fairlead::sim::chaos

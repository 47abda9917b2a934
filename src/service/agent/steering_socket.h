// The UNIX socket at which training processes ask the agent about their connections (shm/steering_messages.h).
//
// One exchange for each connection of the socket: question, answer, outcome. Who asks is what the kernel says. A
// process that sends nonsense is disconnected; likewise one that sends nothing, or requests too much at once, without
// effect on others: nothing here waits for a process. Processes and users have so many places each; a newcomer to a
// full quota gets that of the oldest question of the same process or user that has been asked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/host_agent_messages.h"
#include "base/descriptor.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "service/agent/process_owner.h"

namespace fairlead::service {

struct SteeringSocketOptions {
  std::string path;
  // Group that may send requests; empty: every user of the host (jobs run as many users).
  std::string group;
  // Questions at once; less where the process may not have that many descriptors (RLIMIT_NOFILE): the rest of the agent
  // keeps half of what it may have, but 256 at most, and of what is left telemetry has half.
  uint32_t num_open_max = 4096;
  uint32_t num_open_per_process = 512;  // of one process
  uint32_t num_open_per_user = 1024;    // of one user
  // Questions that one user may ask at once, and in each second from then on; > 0. More are answered at once: go on as
  // you would. Larger: more of a user's processes can start together; smaller: less that one user can ask of the
  // controller.
  uint32_t num_asked_at_once = 8192;
  uint32_t num_asked_per_second = 256;
  SimDuration question_patience = SimDuration(1'000'000'000);
  // connect() may block for minutes before its outcome is known: it is not waited for that long, its socket will show
  // it.
  SimDuration outcome_patience = SimDuration(20'000'000'000);
};

class SteeringSocket {
 public:
  // Makes the folder of the path where it is missing, and replaces a socket without a listener. Errors:
  // kFailedPrecondition: another agent listens there; kUnavailable, kInvalidArgument: says why.
  static Result<SteeringSocket> Open(const SteeringSocketOptions& options);
  ~SteeringSocket();
  SteeringSocket(SteeringSocket&&) noexcept = default;
  SteeringSocket& operator=(SteeringSocket&&) = delete;

  // Readable while Serve() has something to do.
  int descriptor() const { return epoll_.get(); }
  // Requests, reports and ends of processes; never blocks.
  std::vector<agent::HostEvent> Serve(SimTime now);
  void Answer(const agent::AnswerProcess& answer);

  uint64_t num_rejected() const { return num_rejected_; }  // packets and processes that were hung up on
  size_t num_open() const { return clients_.size(); }

 private:
  struct Client {
    Descriptor socket;
    int32_t pid = 0;
    uint32_t user = 0;
    SimTime since;
    bool has_asked = false;
  };

  SteeringSocket(const SteeringSocketOptions& options, Descriptor listener, Descriptor epoll);
  void Accept(SimTime now, std::vector<agent::HostEvent>* events);
  void Read(uint64_t number, SimTime now, std::vector<agent::HostEvent>* events);
  void HangUp(uint64_t number, std::vector<agent::HostEvent>* events);
  // Hangs up on the oldest client of that kind; false: there is none.
  bool MakeRoom(const std::function<bool(const Client&)>& is_one, std::vector<agent::HostEvent>* events);
  // Whether the user may ask one more question now.
  bool MayAsk(uint32_t user, SimTime now);
  bool HasRoomFor(int32_t pid, uint32_t user, std::vector<agent::HostEvent>* events);
  void HangUpOnSilent(SimTime now, std::vector<agent::HostEvent>* events);

  SteeringSocketOptions options_;
  JobIdentifier jobs_;
  Descriptor listener_;
  Descriptor epoll_;
  std::map<uint64_t, Client> clients_;  // by question; in order of their coming
  std::map<int32_t, uint32_t> num_of_process_;
  std::map<uint32_t, uint32_t> num_of_user_;
  struct Allowance {
    double questions = 0;
    SimTime at;
  };
  std::map<uint32_t, Allowance> allowances_;  // [user] of those that have asked of late
  uint64_t num_questions_ = 0;
  uint64_t num_rejected_ = 0;
  SimTime looked_for_silent_at_;
};

}  // namespace fairlead::service

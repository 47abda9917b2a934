// One exchange with the agent of the host (shm/steering_messages.h), from inside a training process.
//
// Never blocks longer than the patience, never allocates, takes no lock, may be called from any thread, from signal
// handlers and after fork(). Changes errno. Each exchange has its own socket (some 20 us): no state to go stale.
#pragma once

#include <cstdint>

#include "shm/steering_messages.h"

namespace fairlead::ccl {

// Who we are and whom we ask; from the environment, when the library is loaded.
struct SteeringOptions {
  // FAIRLEAD_JOB: name of the training job. Empty: the library does nothing.
  char job[shm::kSteeringJobBytes] = "";
  // FAIRLEAD_AGENT_SOCKET: where the agent listens.
  char socket_path[108] = "/run/fairlead/agent.sock";
  // FAIRLEAD_STEER_DEADLINE_MS, 1..60000: for how long a connection may wait for an answer. Shorter: a busy agent is
  // passed over more often. Longer: an agent that is stuck holds connections up.
  int32_t deadline_ms = 20;

  bool is_on() const { return job[0] != '\0'; }
};

// Values that are missing or can't be right (too long, not a number, out of range) leave the default, and what
// is no name of a job (shm/job_name.h) leaves the library off, in silence: it is loaded into each program that a
// training script calls. The profiler plugin says it.
SteeringOptions ReadSteeringOptions();

// Those of this process, read when the library was loaded; before that: off.
const SteeringOptions& ProcessOptions();

// How long a call waits for an answer.
enum class Patience {
  // The deadline of the options. After one has passed no such call waits for a second, so that a stuck agent costs each
  // process a percent or two of its time at most; it is still asked, so that it knows of the connection, and moves it
  // later.
  kConnection,
  // Half a second, or the deadline if that is longer: nothing can be changed about a queue pair later. After one has
  // passed in vain the next ones wait for the deadline, until the agent answers again.
  kQueuePair,
};

class AgentExchange {
 public:
  explicit AgentExchange(const SteeringOptions& options) : options_(&options) {}
  // One that was released, to tell its outcome. Args: socket: -1: there is none.
  AgentExchange(const SteeringOptions& options, int socket) : options_(&options), socket_(socket) {}
  ~AgentExchange();
  AgentExchange(const AgentExchange&) = delete;
  AgentExchange& operator=(const AgentExchange&) = delete;

  // Fills in the sender (magic, version, job). True when the answer is kUse and well-formed.
  bool Ask(shm::SteeringQuestion question, Patience patience, shm::SteeringAnswer* answer);
  // After Ask() was true. Lost when the agent is gone.
  void Tell(uint16_t source_port, int error, bool steered);
  // The agent goes on waiting for the outcome, which another object will tell. Returns the socket.
  int Release();

 private:
  bool Open();
  // False: no answer in time.
  bool WaitForAnswer(int64_t wait_ns) const;
  bool Receive(shm::SteeringAnswer* answer) const;

  const SteeringOptions* options_;
  int socket_ = -1;
};

}  // namespace fairlead::ccl

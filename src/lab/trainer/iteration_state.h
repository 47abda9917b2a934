// How far one worker has come in one iteration: when phases begin, what may be sent, when the iteration is over.
//
// A state machine without clock and sockets: it is told the time and what was sent and received, and says what may
// happen next. The rules are those of the simulator (docs/ARCHITECTURE.md, "Run"):
//
//   a phase begins when the compute clock has reached its start and the phase before it is over
//   a blocking phase stops the clock at its start until it is over
//   the iteration ends when the clock has reached the total and all phases are over
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/trainer/trainer_plan.h"

namespace fairlead::lab {

class IterationState {
 public:
  // Begins an iteration at `now_s`. The plan must outlive it; `plan` is valid.
  IterationState(const TrainerPlan& plan, double now_s);

  // Moves on to `now_s` (not before the last one). Call it after OnSent and OnReceived too.
  void Advance(double now_s);
  bool is_over() const { return is_over_; }
  // When something will happen by itself; nothing: only data can move it.
  std::optional<double> next_instant_s() const;

  // Bytes that may be sent, or are expected, on a connection now.
  uint64_t sendable(uint32_t connection) const {
    return connections_[connection].allowed - connections_[connection].done;
  }
  uint64_t expected(uint32_t connection) const { return sendable(connection); }
  // `bytes` were sent (not more than sendable) or received (not more than expected).
  void OnSent(uint32_t connection, uint64_t bytes);
  void OnReceived(uint32_t connection, uint64_t bytes);

  // Seconds of this iteration in which the compute clock did not run.
  double exposed_s(double now_s) const { return now_s - begin_s_ - clock_s_; }

 private:
  struct ConnectionState {
    uint64_t total = 0;    // bytes in the current phase
    uint64_t allowed = 0;  // of these, may be sent or received so far
    uint64_t done = 0;
  };

  double ClockLimit() const;
  void BeginPhase(double now_s);
  bool PhaseIsOver(double now_s) const;
  void AllowParts(const StreamPlan& stream);

  const TrainerPlan* plan_;
  double begin_s_;
  double last_s_;       // of Advance
  double clock_s_ = 0;  // compute done
  size_t phase_ = 0;    // the current or next one
  bool phase_runs_ = false;
  double phase_local_end_s_ = 0;
  bool is_over_ = false;
  std::vector<ConnectionState> connections_;  // [connection]
};

}  // namespace fairlead::lab

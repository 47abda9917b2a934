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

  // Index of the phase that runs, or of the next one.
  size_t phase() const { return phase_; }

  // Bytes that may be sent, or are expected, on a connection now. Those of a pool may go over any of its connections,
  // and are expected on all of them.
  uint64_t sendable(uint32_t connection) const { return ShareOf(connection).allowed - ShareOf(connection).taken; }
  uint64_t expected(uint32_t connection) const { return sendable(connection); }
  // Two connections go for the same bytes in this phase.
  bool HaveOnePool(uint32_t a, uint32_t b) const { return share_of_[a] == share_of_[b]; }
  // Bytes of the next chunk that a connection of a pool may take; 0: none now.
  uint64_t next_chunk(uint32_t connection) const;
  // A connection takes `bytes` of those that are sendable: it will send them, and no other one will.
  void Take(uint32_t connection, uint64_t bytes);
  // `bytes` were sent (of those taken) or received (not more than expected).
  void OnSent(uint32_t connection, uint64_t bytes);
  void OnReceived(uint32_t connection, uint64_t bytes);

  // Seconds of this iteration in which the compute clock did not run.
  double exposed_s(double now_s) const { return now_s - begin_s_ - clock_s_; }

 private:
  // A pool in the current phase, or one transfer that is alone.
  struct Share {
    uint64_t total = 0;            // bytes
    uint64_t allowed = 0;          // of these, may be sent or received so far
    uint64_t taken = 0;            // of these, by a connection; received: the same as done
    uint64_t done = 0;             // of these
    uint32_t num_connections = 0;  // that they may go over
  };
  struct StreamState {
    const StreamPlan* plan = nullptr;
    std::vector<uint32_t> sends;  // shares
    std::vector<uint32_t> receives;
  };

  double ClockLimit() const;
  void BeginPhase(double now_s);
  bool PhaseIsOver(double now_s) const;
  std::vector<uint32_t> AddShares(const std::vector<TransferPlan>& transfers, bool pools);
  void AllowParts(const StreamState& stream);
  const Share& ShareOf(uint32_t connection) const { return shares_[share_of_[connection]]; }
  Share& ShareOf(uint32_t connection) { return shares_[share_of_[connection]]; }

  const TrainerPlan* plan_;
  double begin_s_;
  double last_s_;       // of Advance
  double clock_s_ = 0;  // compute done
  size_t phase_ = 0;    // the current or next one
  bool phase_runs_ = false;
  double phase_local_end_s_ = 0;
  bool is_over_ = false;
  std::vector<Share> shares_;       // of the current phase; the first one has no bytes
  std::vector<uint32_t> share_of_;  // [connection]; 0: it has no transfer
  std::vector<StreamState> streams_;
};

}  // namespace fairlead::lab

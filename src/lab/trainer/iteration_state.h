// How far one worker has come in one iteration: when phases begin, what may be sent, when the iteration is over.
//
// A state machine without clock and sockets: its input is the time and what was sent and received, its output what may
// happen next. The rules are those of the simulator (docs/ARCHITECTURE.md, "Run"):
//
//   a phase begins when the compute clock has reached its start and the phase before it is over
//   a blocking phase stops the clock at its start until it is over
//   the iteration ends when the clock has reached the total and all phases are over
//
// Size        the clock, the phase and what is under way in it change together, in Advance().
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "lab/trainer/trainer_plan.h"

namespace fairlead::lab {

// The first `parts` of `of_parts` equal parts of some bytes; a remainder is spread.
uint64_t BytesOfParts(uint64_t bytes, uint64_t parts, uint64_t of_parts);

// What the plan does not have: the clock has so much further to go.
struct AddedCompute {
  double at_begin_s = 0;           // >= 0
  double before_each_phase_s = 0;  // >= 0
};

// Seconds of the clock that times are given by; from <= to.
struct TimeSpan {
  double from_s = 0;
  double to_s = 0;

  friend bool operator==(const TimeSpan&, const TimeSpan&) = default;
};

class IterationState {
 public:
  // A pool in the current phase, or one transfer that is alone.
  struct Share {
    uint64_t total = 0;             // bytes
    uint64_t allowed = 0;           // of these, may be sent or received so far
    uint64_t limit = ~uint64_t{0};  // of these, may be sent so far because the receiver is ready: SetLimit()
    uint64_t taken = 0;             // of these, by a connection; received: the same as done
    uint64_t done = 0;              // of these
    uint32_t num_connections = 0;   // that they may go over
  };

  // Begins an iteration at `now_s`. The plan must outlive it; `plan` is valid.
  IterationState(const TrainerPlan& plan, double now_s, const AddedCompute& added = {});

  // Moves on to `now_s` (not before the last one). Call it after OnSent and OnReceived too.
  void Advance(double now_s);
  bool is_over() const { return is_over_; }
  // When something will happen without data; nothing: only data can move it.
  std::optional<double> next_instant_s() const;

  // Index of the phase that runs, or of the next one.
  size_t phase() const { return phase_; }
  bool phase_runs() const { return phase_runs_; }
  // What the phase that runs does inside of the host is over.
  bool local_part_is_over() const;
  // Phases whose start the clock has reached: the program has called their operations.
  size_t num_reached() const { return num_reached_; }

  // The clock has that much further to go to what it has not reached yet. Args: >= 0.
  void Delay(double seconds);
  // Replaces AddedCompute::before_each_phase_s, for the phases that are not reached yet.
  void SetComputeBeforeEachPhase(double seconds);

  // Bytes that may be sent, or are expected, on a connection now. Those of a pool may go over any of its connections,
  // and are expected on all of them.
  uint64_t sendable(uint32_t connection) const {
    const Share& share = ShareOf(connection);
    return std::min(share.allowed, share.limit) - share.taken;
  }
  uint64_t expected(uint32_t connection) const { return sendable(connection); }
  // Two connections go for the same bytes in this phase.
  bool HaveOnePool(uint32_t a, uint32_t b) const { return share_of_[a] == share_of_[b]; }
  // That of the connection in the phase that runs.
  const Share& ShareOf(uint32_t connection) const { return shares_[share_of_[connection]]; }
  // So many bytes of the connection's share may be sent, all in all. Args: not below what was taken.
  void SetLimit(uint32_t connection, uint64_t bytes) { MutableShareOf(connection).limit = bytes; }
  // Bytes of the next chunk that a connection of a pool may take; 0: none now.
  uint64_t next_chunk(uint32_t connection) const;
  // A connection takes `bytes` of those that are sendable: it will send them, and no other one will.
  void Take(uint32_t connection, uint64_t bytes);
  // `bytes` were sent (of those taken) or received (not more than expected).
  void OnSent(uint32_t connection, uint64_t bytes);
  void OnReceived(uint32_t connection, uint64_t bytes);

  // Seconds of this iteration in which the compute clock did not run.
  double exposed_s(double now_s) const { return now_s - begin_s_ - clock_s_; }
  // When that was, up to the last Advance(): apart from each other, by time. Their lengths add up to exposed_s().
  const std::vector<TimeSpan>& stalls() const { return stalls_; }
  // [phase] of those that have begun; the one that runs has no length yet.
  const std::vector<TimeSpan>& phase_spans() const { return phase_spans_; }

 private:
  struct StreamState {
    const StreamPlan* plan = nullptr;
    std::vector<uint32_t> sends;  // shares
    std::vector<uint32_t> receives;
  };

  double ClockLimit() const;
  void BeginPhase(double now_s);
  void AddStall(double from_s, double to_s);
  bool PhaseIsOver(double now_s) const;
  std::vector<uint32_t> AddShares(const std::vector<TransferPlan>& transfers, bool pools);
  void AllowParts(const StreamState& stream);
  Share& MutableShareOf(uint32_t connection) { return shares_[share_of_[connection]]; }

  const TrainerPlan* plan_;
  double begin_s_;
  double last_s_;       // of Advance
  double clock_s_ = 0;  // compute done
  double compute_s_;    // of the whole iteration
  double before_each_phase_s_;
  std::vector<double> starts_s_;  // [phase] on the clock
  size_t num_reached_ = 0;
  size_t phase_ = 0;  // the current or next one
  bool phase_runs_ = false;
  double phase_local_end_s_ = 0;
  bool is_over_ = false;
  std::vector<TimeSpan> stalls_;
  std::vector<TimeSpan> phase_spans_;
  std::vector<Share> shares_;       // of the current phase; the first one has no bytes
  std::vector<uint32_t> share_of_;  // [connection]; 0: it has no transfer
  std::vector<StreamState> streams_;
};

}  // namespace fairlead::lab

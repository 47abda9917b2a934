// What connections between hosts carry, measured in steps: which transfers are to run at once, and what came of them.
//
// A plan says what to measure and judges the results; who measures (agents, a simulated network) is not its business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"

namespace fairlead::node_check {

// One connection, from one NIC of a host to one of another. Hosts have the numbers of the plan's list.
struct Transfer {
  uint32_t sender = 0;
  uint32_t receiver = 0;
  uint32_t sender_nic = 0;
  uint32_t receiver_nic = 0;

  friend bool operator==(const Transfer&, const Transfer&) = default;
};

struct TransferResult {
  enum class Outcome : uint8_t {
    kMeasured,
    kFailed,    // both hosts took part, and nothing came through
    kNoAnswer,  // a host took no part: says nothing about either
  };

  Outcome outcome = Outcome::kNoAnswer;
  double rate = 0;        // of payload, bytes/s
  double lost_share = 0;  // of the packets sent, 0..1
  Seconds rtt;            // the least; not positive: not measured
  std::string error = {};

  friend bool operator==(const TransferResult&, const TransferResult&) = default;
};

class TransferPlan {
 public:
  virtual ~TransferPlan() = default;

  // What is to run at once; each NIC has one direction at most. Empty: the plan is over.
  virtual std::span<const Transfer> step() const = 0;
  // Goes on to the next step. Args: results: [of step()]; the plan is not over.
  virtual void Finish(std::span<const TransferResult> results) = 0;
  virtual size_t num_steps() const = 0;
  virtual size_t num_finished_steps() const = 0;
};

}  // namespace fairlead::node_check

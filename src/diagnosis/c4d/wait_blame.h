// For whom did the ranks of a job wait in their collectives, and for how long?
//
// Problem     no rank can continue before the last has arrived, so all wait for the last; but the last in one
//             communicator may have waited in another for a third rank. One stall, such as a checkpoint, is no habit.
// Notation    arrival(i): when rank i reached an operation, in seconds of any common clock wait(i) = arrival(last) -
//             arrival(i) in(r) = waits for r, mean over those that waited;  out(r) = waits of r
// Method      per operation: out(i) += wait(i), in(last) += mean of the others' waits. Of the operations on each
//             communicator the kSpared ones with the longest waits are left out. blame(r) = the greatest in(r) of its
//             communicators - the sum of its out(r): a rank that is late only because it had to wait itself keeps none.
//             The greatest, not the sum: ranks in several communicators wait for one lateness in each of them, but on
//             one communicator in the next operation only, whatever its kind.
// Cost        O(ranks of the operation) per operation; 4 numbers per member of a communicator.
// Guarantees  order of operations changes nothing; the same shift of all arrivals changes nothing.
// Differs     the page weighs waits of messages (receiver-driven flow control). In a ring those chain from rank to
//             rank, and communicators inside a host have no messages at all; instants of kernels name the last
//             directly, in both. Two sources of arrivals: starts less clock offsets, and the time inside the
//             operation, backwards (all leave together), which needs no clock.
// Reference   docs/spec/c4.md section 6, steps 2 and 3.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "diagnosis/c4d/completed_operation.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class WaitBlame {
 public:
  WaitBlame(const model::JobLayout& layout, uint32_t operations_min)
      : operations_min_(operations_min), num_ranks_(layout.ranks.size()) {}

  // Args: arrivals [rank of the communicator], seconds.
  void Add(const CompletedOperation& operation, std::span<const double> arrivals);

  struct Blame {
    std::vector<double> seconds;  // [rank]; > 0: others waited for it
    std::vector<bool> is_known;   // [rank] it had enough operations to tell
  };
  // Of what was added since the call before, which is forgotten.
  Blame Take();

 private:
  static constexpr size_t kSpared = 2;
  struct Spared {
    double total_wait = -1;        // < 0: none
    std::vector<double> arrivals;  // [member]
  };
  struct Tally {
    std::vector<model::RankId> ranks;    // [member]
    std::vector<double> in;              // [member]
    std::vector<double> out;             // [member]
    uint64_t operations = 0;             // counted, those spared not
    std::array<Spared, kSpared> spared;  // ascending total_wait
  };

  static double TotalWait(std::span<const double> arrivals);
  static void Count(Tally& tally, std::span<const double> arrivals);

  uint32_t operations_min_;
  size_t num_ranks_;
  std::map<model::CommunicatorId, Tally> tallies_;
};

}  // namespace fairlead::diagnosis::c4d

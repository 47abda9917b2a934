// The Chakra traces of all ranks of a job merged into one sequence.
//
// Collectives  the i-th of a group on every member are one: all must agree on kind and bytes. Those that are alike
//              (kind, bytes, size, distance of ranks, i) in groups without common ranks are one step.
// Messages     the i-th from a to b on both ends are one; those that are alike, from different senders, are one step.
// Time         positions on the compute clock are shares of the rank's own compute: of a collective the latest of its
//              members', of a step the mean of its collectives'; the wait is the first of its members'. Compute of the
//              job: that of the slowest rank.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "collective/collective_sequence.h"
#include "workload/chakra_trace.h"

namespace fairlead::workload {

// Traces of ranks 0 .. n-1, given one after the other: memory holds what they communicate.
class ChakraTraceMerger {
 public:
  explicit ChakraTraceMerger(std::string name, uint32_t num_ranks);
  ~ChakraTraceMerger();
  ChakraTraceMerger(ChakraTraceMerger&&) noexcept;

  Status Add(const ChakraTrace& trace);
  // Errors: kInvalidArgument, naming the ranks that disagree.
  Result<collective::CollectiveSequence> Finish() &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fairlead::workload

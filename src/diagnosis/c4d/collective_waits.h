// For whom did the ranks wait in what all of them do together, by two kinds of clocks?
//
// What it consists of: two sums of waits (wait_blame.h), of collectives and of single sends and receives all with all
// (pair_exchanges.h), with arrivals by the time inside, which needs no clock, and by starts, less the offsets of the
// hosts' clocks (clock_offsets.h, arrival_lag.h).
#pragma once

#include <cstddef>
#include <vector>

#include "diagnosis/c4d/clock_offsets.h"
#include "diagnosis/c4d/completed_operation.h"
#include "diagnosis/c4d/pair_exchanges.h"
#include "diagnosis/c4d/wait_blame.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class CollectiveWaits {
 public:
  // Args: layout, must outlive this; operations_min: on a communicator, for its waits to count.
  CollectiveWaits(const model::JobLayout& layout, uint32_t operations_min);

  // A collective, each once, in any order. One with ranks that the layout does not know or impossible instants is left
  // out.
  void Add(const CompletedOperation& operation);
  // Puts together exchanges of single sends and receives.
  void Add(const model::RankReport& report);

  // Whether single sends and receives on the communicator, which must be of the layout, were seen to be exchanges.
  bool HasExchanges(model::CommunicatorId communicator) const { return exchanges_.HasExchanges(communicator); }

  struct Blames {
    WaitBlame::Blame by_time_inside;
    WaitBlame::Blame by_start;
  };
  // Of what was added since the call before, which is forgotten.
  Blames Take() { return {by_time_inside_.Take(), by_start_.Take()}; }

 private:
  bool IsPlausible(const CompletedOperation& operation) const;

  size_t num_ranks_;
  ClockOffsets offsets_;
  WaitBlame by_time_inside_;
  WaitBlame by_start_;
  PairExchanges exchanges_;
  std::vector<double> arrivals_;  // scratch
};

}  // namespace fairlead::diagnosis::c4d

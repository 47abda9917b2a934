// Which ranks of a job do the same, and which follow each other in a pipeline?
//
// Problem     only ranks that do equal work can be compared, and no record says which stage of a pipeline a rank is.
// Method      a communicator on which single sends and receives were seen connects stages, in the order of its ranks.
//             PyTorch makes one of two for each pair of ranks that sends outside of a batch: there the stage is the
//             position in the chain that these make, or the ring, from its end with the least rank, or from its least
//             rank. Ranks with more than two neighbours are no stages. In an exchange of all with all no rank precedes
//             another.
// Cost        O(operations of a report) a report, O(ranks of all communicators) an answer.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class PipelineStages {
 public:
  // Args: layout, must outlive this.
  explicit PipelineStages(const model::JobLayout& layout);

  void Add(const model::RankReport& report);

  // Args: is_exchange: whether all send to all on a communicator, of those with single sends and receives.
  // Returns: [rank] those of equal number do equal work; all 0 where there are no stages.
  std::vector<uint32_t> Find(const std::function<bool(model::CommunicatorId)>& is_exchange) const;

 private:
  const model::JobLayout& layout_;
  std::vector<bool> has_pairs_;  // [communicator] sends and receives were seen on it
};

}  // namespace fairlead::diagnosis::c4d

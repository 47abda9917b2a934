// The operations of every rank until their last instant has been reported twice, and how far each rank is.
#pragma once

#include <cstdint>
#include <vector>

#include "execution/instant.h"
#include "model/telemetry.h"

namespace fairlead::execution {

// As model::OperationRecord, with instants that may lie in the future of a report.
struct SimulatedOperation {
  model::CommunicatorId communicator;
  model::OperationKind kind = model::OperationKind::kUnknown;
  uint64_t sequence = 0;
  uint64_t issue_index = 0;
  uint64_t bytes = 0;
  model::RankId peer;
  Instant enqueued = kNever;
  Instant started = kNever;
  Instant finished = kNever;
};

class OperationLog {
 public:
  explicit OperationLog(const model::JobLayout& layout);

  // Names an operation of a rank until it has been reported as finished.
  struct Handle {
    model::RankId rank;
    uint64_t index = 0;
  };
  Handle Add(model::RankId rank, const SimulatedOperation& operation);
  SimulatedOperation& operator[](Handle handle);

  // Appends to `report` what has become known of the rank's operations until then since the call before the last one,
  // and what is pending, and says in it how far the rank is.
  void Take(model::RankId rank, Instant until, model::RankReport& report);

 private:
  struct OfRank {
    std::vector<model::ProgressRecord> progress;  // as reported
    std::vector<SimulatedOperation> operations;
    uint64_t first_index = 0;  // of operations.front()
    // Of the calls before.
    Instant until = -1;
    Instant until_before = -1;
  };
  static model::ProgressRecord& ProgressOf(OfRank& log, const SimulatedOperation& operation);

  std::vector<OfRank> ranks_;  // [rank]
};

}  // namespace fairlead::execution

// The operations of every rank until their last instant has been reported.
#pragma once

#include <cstdint>
#include <vector>

#include "execution/instant.h"
#include "model/telemetry.h"

namespace fairlead::execution {

// As model::OperationRecord, with instants that may lie in the future of a report.
struct PlayedOperation {
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
  explicit OperationLog(size_t num_ranks) : ranks_(num_ranks) {}

  // Names an operation of a rank for as long as it has not been reported as finished.
  struct Handle {
    model::RankId rank;
    uint64_t index = 0;
  };
  Handle Add(model::RankId rank, const PlayedOperation& operation);
  PlayedOperation& operator[](Handle handle);

  // Appends what has become known of the rank's operations in (after, until], and forgets those that finished by then.
  void Take(model::RankId rank, Instant after, Instant until, std::vector<model::OperationRecord>& records);

 private:
  struct OfRank {
    std::vector<PlayedOperation> operations;
    uint64_t first_index = 0;  // of operations.front()
  };
  std::vector<OfRank> ranks_;  // [rank]
};

}  // namespace fairlead::execution

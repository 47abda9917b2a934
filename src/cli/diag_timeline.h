// The operations of a recorded job and what was found, as a timeline for Perfetto.
//
//   process "findings"    a slice for each, from when it was first seen to when it was cleared, or the end
//   process of a host     tracks of each of its ranks on each communicator: operations from their start to their end;
//                         one that never started begins where it was enqueued, one that never ended lasts to the end
//
// Instants are those of the hosts' clocks, which may differ by some milliseconds, and count from the first of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>

#include "base/sim_time.h"
#include "cli/diag_report.h"
#include "model/telemetry.h"

namespace fairlead::cli {

// Operations as reports tell of them. Memory: that of the operations kept.
class OperationLog {
 public:
  // The last `max_operations` that have ended are kept: what led to a fault comes at the end.
  explicit OperationLog(size_t max_operations = 500'000) : max_operations_(max_operations) {}

  void Add(const model::TelemetryRecord& record);
  // Ended operations that are not kept.
  size_t num_dropped() const { return num_dropped_; }

  // Args: the report on the recording that was added.
  std::string Render(const DiagReport& report) const;

 private:
  // Operations with numbers of their own: of a rank, on a communicator, of a kind, with a peer.
  using Series = std::tuple<model::RankId, model::CommunicatorId, model::OperationKind, model::RankId>;
  struct Entry {
    model::RankId rank;
    model::OperationRecord operation;
  };

  size_t max_operations_;
  std::map<std::pair<Series, uint64_t>, model::OperationRecord> under_way_;
  std::map<Series, uint64_t> num_ended_;  // one more than the greatest sequence that has ended
  std::deque<Entry> ended_;
  size_t num_dropped_ = 0;
};

}  // namespace fairlead::cli

// One file of PyTorch's NCCL flight recorder: what one rank did last in each of its process groups.
//
// Understood: the pickle that PyTorch writes by default (pickle_reader.h), and the JSON form
// (torch._C._distributed_c10d._dump_nccl_trace_json), versions 2.x:
//
//     {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
//      "pg_status": {"0": {"last_completed_collective": "41", …}},
//      "entries": [{"record_id": 7, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 42,
//                   "p2p_seq_id": 0, "profiling_name": "nccl:all_reduce", "state": "scheduled", "is_p2p": false, …}]}
//
// The recorder is a ring buffer: what was overwritten is unknown. A state of "scheduled" means "not started" only where
// the process measured kernels (TORCH_NCCL_ENABLE_TIMING); elsewhere nothing is ever seen to start.
// Reference   pytorch/pytorch, torch/csrc/distributed/c10d/FlightRecorder*.hpp
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/telemetry.h"

namespace fairlead::telemetry {

// An entry of the recorder. Instants are nanoseconds since 1970, on the clock of the host.
struct TraceEvent {
  uint64_t sequence = 0;  // of the launch: PyTorch's collective_seq_id or p2p_seq_id
  uint32_t ordinal = 0;   // among the operations of one launch
  model::OperationKind kind = model::OperationKind::kUnknown;
  std::optional<uint32_t> peer;  // rank of the group
  uint64_t bytes = 0;            // 0: unknown, or may differ from rank to rank
  std::string data_type;
  std::string place;  // in the program, "step (train.py:88)"; empty: unknown
  int64_t created = 0;
  std::optional<int64_t> started;
  std::optional<int64_t> finished;
};

// Process groups of one name may differ in their ranks from one part of the job to another.
struct GroupKey {
  std::string name;
  std::vector<uint32_t> ranks;  // [rank of the group]; empty: the file does not say

  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

struct GroupTrace {
  std::string description;
  std::vector<TraceEvent> collectives;  // in order
  std::vector<TraceEvent> p2p;          // in order
  std::optional<int64_t> number;        // PyTorch's, of the group in this process; given by entries only
};

struct RankTrace {
  uint32_t rank = 0;
  std::string file;
  std::map<GroupKey, GroupTrace> groups;
  // [number of the group] the last launch that is known to be finished, with all before it; -1: none.
  std::map<int64_t, int64_t> last_completed;
  bool is_whole = false;        // nothing was overwritten
  bool measures_start = false;  // kernels were seen to start
  int64_t earliest = 0;         // instants of the file; 0: it has none
  int64_t latest = 0;
  uint64_t num_unfinished_dropped = 0;  // too old to matter
};

// Only this many of the newest operations of a group are kept, of each kind of event.
inline constexpr size_t kNumTraceEventsMax = 128;

// The rank is the member "rank" of the file, or the number at the end of its name ("nccl_trace_rank_12", with or
// without ".json"). Errors: kInvalidArgument.
Result<RankTrace> ParseFlightTrace(std::string_view text, const std::string& name);

}  // namespace fairlead::telemetry

// Sums of the pods of each job in the Lingjun data set's worker.csv, read row by row.
//
// A job has up to hundreds of pods; what a trace needs of them is how many GPUs there are, on how few hosts, and from
// when to when. Memory grows with the number of jobs, not with that of rows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/csv_reader.h"
#include "base/status.h"
#include "trace/cleaning_report.h"

namespace fairlead::trace {

struct PodSum {
  uint64_t num_pods = 0;  // with readable resources
  uint64_t gpus = 0;
  uint32_t gpus_per_pod_max = 0;
  std::optional<int64_t> first_created_s;
  std::optional<int64_t> last_finished_s;
  bool on_unknown_host = false;
};

// Looked up by names that are views into a row.
struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
};
using PodSums = std::unordered_map<std::string, PodSum, NameHash, std::equal_to<>>;

struct PodOptions {
  // Hosts of topo.csv; nothing: hosts are not checked.
  const std::set<std::string, std::less<>>* known_hosts = nullptr;
  // Leaves out pods that do not end after their start, GPUs and all: 946 in the public files. Keeps 2,713 GPU jobs
  // there instead of 2,783.
  bool drop_without_duration = false;
};

// Args: after_row is called after each row and says whether to go on. Errors: kInvalidArgument for missing columns and
// malformed CSV; kCancelled when asked to stop.
Result<PodSums> SumPods(CsvReader reader, const PodOptions& options, const std::function<bool()>& after_row,
                        CleaningReport* report);

}  // namespace fairlead::trace

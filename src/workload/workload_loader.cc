#include "workload/workload_loader.h"

#include <filesystem>

#include "workload/chakra_sequence.h"
#include "workload/simai_workload.h"

namespace fairlead::workload {

std::string_view Name(WorkloadKind kind) { return kind == WorkloadKind::kSimai ? "simai" : "chakra"; }

WorkloadKind GuessWorkloadKind(const std::string& path) {
  std::error_code error;
  const bool is_file = std::filesystem::is_regular_file(path, error);
  return path.ends_with(".txt") || (is_file && !path.ends_with(".et")) ? WorkloadKind::kSimai : WorkloadKind::kChakra;
}

Result<collective::CollectiveSequence> LoadWorkload(WorkloadKind kind, const std::string& path,
                                                    const WorkloadOptions& options) {
  const auto load = [&]() -> Result<collective::CollectiveSequence> {
    if (kind == WorkloadKind::kSimai) return LoadSimaiWorkload(path);
    return LoadChakraWorkload(
        path,
        {.num_gpus = options.num_gpus, .gpu_peak = options.gpu_peak, .memory_bandwidth = options.memory_bandwidth});
  };
  FL_ASSIGN_OR_RETURN(collective::CollectiveSequence sequence, load());
  if (options.num_gpus != 0) FL_RETURN_IF_ERROR(ParallelismOf(sequence, options.num_gpus).status());
  return sequence;
}

}  // namespace fairlead::workload

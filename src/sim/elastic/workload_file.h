// Reads a workload of any layout that we know, and the profiles that its jobs need.
//
// Layout       recognized from the file: columns of the CSV, tabs without a header (Gavel), or JSON (Philly).
//   pollux       pollux_profile.h; profiles: folder of applications, or one that holds `traces`; by default the folder
//                `traces` beside the folder of the workload. Also Sia's artifact: its `profiles` and types of GPU.
//   elasticflow  elasticflow_workload.h; profiles: folder of speeds; by default `throughputs_A100` beside the workload.
//   gavel        neutral_workload.h; profiles: Gavel's table of speeds, or the folder of simulation_throughputs.json.
//   tiresias, neutral    neutral_workload.h; no profiles.
//   helios       helios_workload.h; no profiles.
//   philly       philly_workload.h; no profiles.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sim/elastic/measured_job.h"

namespace fairlead::sim {

enum class WorkloadLayout : uint8_t { kPollux, kElasticflow, kGavel, kTiresias, kNeutral, kHelios, kPhilly };

// In the order of the enumerators.
std::span<const std::string_view> WorkloadLayoutNames();
std::string_view Name(WorkloadLayout layout);

struct WorkloadFileOptions {
  std::optional<WorkloadLayout> layout;  // nothing: recognized from the file
  std::string profiles;                  // empty: the layout's default
  // Of Sia's profiles, those of the cluster in order; of Gavel's: one. Empty: none, "v100".
  std::vector<std::string> gpu_types = {};
  size_t most_jobs = std::numeric_limits<size_t>::max();  // > 0; only the first ones
};

struct WorkloadFile {
  WorkloadLayout layout = WorkloadLayout::kNeutral;
  std::unique_ptr<const std::vector<ProfileSet>> shared_profiles;  // [gpu type] of the pollux layout
  OwnedWorkload own;

  const std::vector<ElasticJobSpec>& jobs() const { return own.jobs; }
};

// Errors: kNotFound for a missing file or missing profiles; kInvalidArgument with file:line for a bad row, and for a
// header that is of no layout, with the columns of each.
Result<WorkloadFile> LoadWorkloadFile(const std::string& path, const WorkloadFileOptions& options);

}  // namespace fairlead::sim

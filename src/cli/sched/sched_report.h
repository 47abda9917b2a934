// What `fairlead sched run` prints: one row per policy, as text and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/document.h"
#include "report/schedule_figure.h"
#include "sim/elastic/elastic_simulation.h"
#include "sim/elastic/elastic_summary.h"

namespace fairlead::cli {

using report::HeldGpus;

struct SchedRun {
  std::string policy;                       // with the options that were set: "aiturbo fairness=0.5"
  std::vector<sim::ElasticResult> results;  // [workloads]
  sim::ElasticSummary summary;
  double wall_s = 0;
  std::vector<std::vector<HeldGpus>> sizes = {};  // [job of the first workload] by time
};

struct SchedReport {
  std::vector<std::string> workloads;  // the files
  std::string layout;
  std::string known;  // what policies knew
  sim::ElasticCluster cluster;
  size_t num_jobs = 0;                // of all workloads
  size_t num_passed_over = 0;         // that need no GPU, or no time
  std::optional<double> mtbf_h = {};  // of a node; nothing: none fails
  double repair_h = 0;
  bool has_tenants = false;  // that share the cluster
  std::vector<SchedRun> runs;
};

// The file, or the first one and how many more.
std::string TitleOf(const SchedReport& report);

report::Document RenderSched(const SchedReport& report);

// "16 nodes of 4 GPUs", and how often they fail.
std::string DescribePlace(const SchedReport& report);

// {"workload" (null where there are several), "workloads", "layout", "known", "mtbf_h", "repair_h" (null: no node
// fails), "cluster", "num_jobs", "runs":
// [{"policy", "jct_s": {"mean", "p50", "p95", "p99", "max"}, "first_wait_s": {…}, "restarts": {"mean", …},
// "lost_gpu_hours", …, "jobs": […]}]}: docs/reference/json.md.
std::string RenderSchedJson(const SchedReport& report);

// A page with distributions of completion and first wait. Args: command: shown under "How to reproduce".
std::string RenderSchedPage(const SchedReport& report, const std::string& command);

}  // namespace fairlead::cli

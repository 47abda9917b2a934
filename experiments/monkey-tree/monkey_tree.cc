#include "experiments/monkey-tree/monkey_tree.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "experiments/trace_scenario.h"
#include "report/line_figure.h"
#include "report/run_summary.h"

namespace fairlead::experiments::monkey_tree {

namespace {

constexpr double kNumGpus = 1024;
// 16 racks of 64 GPUs with a port of 400 Gb/s each; 16 uplinks of as much.
constexpr std::string_view kFabric =
    "{kind: clos2, leaves: 16, hosts_per_leaf: 8, spines: 16, oversubscription: 4, host: {gpus: 8, gpu_model: H200, "
    "gpu_peak_tflops: 989, nvlink_gigabytes_per_s: 450, sockets: 2, pcie_switches: 8, pcie_gigabytes_per_s: 64, nics: "
    "8, ports_per_nic: 1, port_gbps: 400}}";

// What is published of the jobs: LLaMA-70B with tensor, data and pipeline parallelism and FSDP, GPT 7B and 13B with
// data parallelism, few with experts; 16 to 64 GPUs, 100 to 1,000 iterations. The rest is ours.
struct Kind {
  std::string_view model;
  std::string_view parallelism;
  uint32_t weight;
};
constexpr std::array<Kind, 6> kKinds = {{{"llama-65b", "{tensor: 8, micro_batches: 1}", 2},
                                         {"llama-65b", "{tensor: 8, pipeline: 2, micro_batches: 16}", 2},
                                         {"llama-65b", "{zero_stage: 3}", 2},
                                         {"gpt-7b", "{}", 2},
                                         {"gpt-13b", "{}", 2},
                                         {"moe", "{expert: 8}", 1}}};
constexpr std::array<uint32_t, 4> kSizes = {16, 32, 48, 64};
constexpr uint64_t kFewestIterations = 100;
constexpr uint64_t kMostIterations = 1000;

// Rings of a torn segment with eight GPUs in each host: one for each NIC. The published sweep is from 2 to 8.
constexpr uint32_t kRingsPerSegment = 8;

struct Size {
  std::vector<double> loads;
  std::vector<uint32_t> torn_segments;  // a rack may have, in the sweep
  uint32_t num_jobs;
  uint32_t num_draws;
};
const Size kFull = {{0.7, 0.8, 0.9, 1.0}, {2, 3, 4, 5, 6, 7, 8}, 400, 5};
const Size kReduced = {{0.7, 1.0}, {2, 4, 8}, 120, 1};

constexpr std::string_view kFreeMigration = "migration: {cost: published-simulation}\n";
constexpr std::string_view kPaidMigration = "migration: {cost: published-system}\n";

// Names in rows.
std::string_view RowName(std::string_view policy) {
  if (policy == "flowlet") return "sglb";
  if (policy == "edge-coloring") return "perfect paths";
  return policy;
}

std::string Head(std::string_view policies, std::string_view migration, uint64_t seed) {
  return fmt::format(
      "title: MonkeyTree's setting\nfabric: {}\npolicies: [{}]\nflowlet: {{rule: sglb}}\nseeds: 1\nseed: "
      "{}\nphase_seed: "
      "{}\nsimulate_s: 1e7\n{}jobs:\n",
      kFabric, policies, seed, seed, migration);
}

const Kind& DrawKind(Random* random) {
  uint64_t all = 0;
  for (const Kind& kind : kKinds) all += kind.weight;
  uint64_t drawn = random->Below(all);
  for (const Kind& kind : kKinds) {
    if (drawn < kind.weight) return kind;
    drawn -= kind.weight;
  }
  return kKinds.back();
}

// GPU-seconds that a job needs alone, in the mean over kinds and sizes.
Result<double> MeanWork(const experiment::RunContext& context) {
  std::string text = Head("ecmp", "", 1);
  double arrival_s = 0;
  for (const Kind& kind : kKinds) {
    for (const uint32_t gpus : kSizes) {
      // One after the other.
      text += fmt::format("  - {{gpus: {}, model: {}, parallelism: {}, iterations: 1, arrival_s: {}}}\n", gpus,
                          kind.model, kind.parallelism, arrival_s);
      arrival_s += 1000;
    }
  }
  FL_ASSIGN_OR_RETURN(const sim::Scenario scenario, sim::ParseScenario(text, "monkey-tree", {}));
  FL_ASSIGN_OR_RETURN(const sim::SimulationReport report, SimulateScenario(scenario, context, 0, 0));
  if (report.runs.empty()) return 0;
  double gpu_s = 0;
  double weights = 0;
  for (size_t j = 0; j < report.runs.front().jobs.size(); ++j) {
    const sim::JobResult& job = report.runs.front().jobs[j];
    const size_t kind = j / kSizes.size();
    const double weight = kKinds[kind].weight;
    gpu_s += weight * job.num_gpus * job.solo_iteration_s;
    weights += weight;
  }
  return gpu_s / weights * static_cast<double>(kFewestIterations + kMostIterations) / 2;
}

// Poisson arrivals that ask for `load` of the cluster.
std::string DrawJobs(uint32_t num_jobs, double load, double mean_work_gpu_s, uint64_t seed) {
  Random random(seed);
  std::string text;
  double arrival_s = 0;
  for (uint32_t j = 0; j < num_jobs; ++j) {
    const Kind& kind = DrawKind(&random);
    text += fmt::format("  - {{gpus: {}, model: {}, parallelism: {}, iterations: {}, arrival_s: {:.6f}}}\n",
                        kSizes[random.Below(kSizes.size())], kind.model, kind.parallelism,
                        kFewestIterations + random.Below(kMostIterations - kFewestIterations + 1), arrival_s);
    arrival_s += random.Exponential(mean_work_gpu_s / (load * kNumGpus));
  }
  return text;
}

// One way to run the same jobs.
struct Variant {
  std::string policies;   // of one scenario
  std::string migration;  // a line of it, or nothing
  std::string label;      // of rows; "" for the policies' own names
};

// [row][draw]
using Slowdowns = std::map<std::string, std::vector<double>>;

class Experiment {
 public:
  explicit Experiment(const experiment::RunContext& context) : context_(context) {}

  Result<experiment::Outcome> Run() {
    FL_ASSIGN_OR_RETURN(mean_work_gpu_s_, MeanWork(context_));
    num_cells_ = static_cast<double>(size().loads.size() * size().num_draws);
    for (uint32_t draw = 0; draw < size().num_draws; ++draw) {
      for (const double load : size().loads) {
        FL_RETURN_IF_ERROR(RunCell(load, draw));
        done_ += 1;
        if (context_.should_stop()) {
          outcome_.is_partial = true;
          return std::move(outcome_);
        }
      }
    }
    SetRows();
    outcome_.answer = Answer();
    outcome_.figures.push_back(DrawSlowdowns());
    outcome_.notes.push_back(
        fmt::format("{} draws of {} jobs for each load; every job counts, from the empty cluster "
                    "to the last end.",
                    size().num_draws, size().num_jobs));
    return std::move(outcome_);
  }

 private:
  // All rows of the full size; those that were not run are unknown.
  void SetRows() {
    for (const double load : kFull.loads) {
      for (const std::string_view policy : {"ecmp", "crux", "sglb", "perfect paths"}) SetRow(load, policy, false);
      for (const std::string_view cost : {"", " at its system's cost"}) {
        SetRow(load, fmt::format("MonkeyTree{}", cost), true);
      }
    }
    const double full = kFull.loads.back();
    for (const std::string_view policy : {"ecmp", "crux", "sglb"}) {
      SetRow(full, fmt::format("MonkeyTree and {}", policy), true);
    }
    for (const uint32_t torn : kFull.torn_segments) SetRow(full, fmt::format("{} torn segments a rack", torn), true);
  }

  void SetRow(double load, std::string_view name, bool migrates) {
    const auto set = [&](std::string_view what) {
      std::string row = fmt::format("load {:.1f}: {}, {}", load, name, what);
      const double mean = MeanOf(row);
      outcome_.Set(std::move(row), mean);
    };
    set("mean slowdown");
    set("p99 slowdown");
    if (!migrates) return;
    set("jobs moved");
    set("without a plan");
  }

  const Size& size() const { return context_.reduced ? kReduced : kFull; }

  Status RunCell(double load, uint32_t draw) {
    // The same jobs at every load, at other times.
    const uint64_t seed = context_.seed * 1000 + draw;
    const std::string jobs = DrawJobs(size().num_jobs, load, mean_work_gpu_s_, seed);
    FL_RETURN_IF_ERROR(RunVariant({"ecmp, crux, flowlet, edge-coloring", "", ""}, load, seed, jobs));
    const bool is_full = load == size().loads.back();
    FL_RETURN_IF_ERROR(RunVariant({"edge-coloring", std::string(kFreeMigration), "MonkeyTree"}, load, seed, jobs));
    FL_RETURN_IF_ERROR(RunVariant({"edge-coloring", std::string(kPaidMigration), "MonkeyTree at its system's cost"},
                                  load, seed, jobs));
    if (!is_full) return OkStatus();
    for (const std::string_view policy : {"ecmp", "crux", "flowlet"}) {
      FL_RETURN_IF_ERROR(RunVariant(
          {std::string(policy), std::string(kFreeMigration), fmt::format("MonkeyTree and {}", RowName(policy))}, load,
          seed, jobs));
    }
    for (const uint32_t torn : size().torn_segments) {
      FL_RETURN_IF_ERROR(RunVariant(
          {"edge-coloring",
           fmt::format("migration: {{max_rings: {}, cost: published-simulation}}\n", kRingsPerSegment * torn),
           fmt::format("{} torn segments a rack", torn)},
          load, seed, jobs));
    }
    return OkStatus();
  }

  Status RunVariant(const Variant& variant, double load, uint64_t seed, const std::string& jobs) {
    FL_ASSIGN_OR_RETURN(const sim::Scenario scenario,
                        sim::ParseScenario(Head(variant.policies, variant.migration, seed) + jobs, "monkey-tree", {}));
    FL_ASSIGN_OR_RETURN(const sim::SimulationReport report,
                        SimulateScenario(scenario, context_, done_ / num_cells_, (done_ + 1) / num_cells_));
    for (const sim::RunResult& run : report.runs) {
      if (run.partial) continue;
      const std::string row = fmt::format(
          "load {:.1f}: {}", load, variant.label.empty() ? RowName(run.policy) : std::string_view(variant.label));
      values_[row + ", mean slowdown"].push_back(run.mean_slowdown);
      if (run.p99_slowdown) values_[row + ", p99 slowdown"].push_back(*run.p99_slowdown);
      if (!run.migration) continue;
      values_[row + ", jobs moved"].push_back(static_cast<double>(run.migration->moved_jobs));
      values_[row + ", without a plan"].push_back(static_cast<double>(run.migration->num_unrelieved));
    }
    return OkStatus();
  }

  double MeanOf(const std::string& row) const {
    const auto found = values_.find(row);
    return found == values_.end() ? std::nan("") : report::SpreadOf(found->second).mean;
  }

  std::string Answer() const {
    const auto text = [&](std::string_view row) {
      const std::string at = fmt::format("load 1.0: {}, ", row);
      return fmt::format("{:.3f} ({:.2f})", MeanOf(at + "mean slowdown"), MeanOf(at + "p99 slowdown"));
    };
    return fmt::format(
        "At full load jobs take {} times as long as alone in the mean (99th percentile) with hashed paths, {} under "
        "Crux, "
        "{} under SGLB and {} on perfect paths; where workers migrate for nothing it is {}, and {} where they pay what "
        "the published system does.",
        text("ecmp"), text("crux"), text("sglb"), text("perfect paths"), text("MonkeyTree"),
        text("MonkeyTree at its system's cost"));
  }

  report::PageFigure DrawSlowdowns() const {
    report::LineFigure figure;
    figure.title = "Mean slowdown by load";
    figure.description = "Mean slowdown of all jobs at each load, a line for each way to choose paths and places.";
    figure.x_label = "load";
    figure.y_label = "time held / time alone";
    for (const std::string_view row : {"ecmp", "crux", "sglb", "perfect paths", "MonkeyTree"}) {
      report::LineSeries line{
          .label = std::string(row), .color = figure.series.size(), .points = {}, .band_low = {}, .band_high = {}};
      for (const double load : size().loads) {
        line.points.push_back({load, MeanOf(fmt::format("load {:.1f}: {}, mean slowdown", load, row))});
      }
      figure.series.push_back(std::move(line));
    }
    figure.is_timeline = false;
    FitAxes(&figure);
    return {figure.title, Draw(figure), ""};
  }

  const experiment::RunContext& context_;
  double mean_work_gpu_s_ = 0;
  double num_cells_ = 1;
  double done_ = 0;
  Slowdowns values_;
  experiment::Outcome outcome_;
};

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) { return Experiment(context).Run(); }

}  // namespace fairlead::experiments::monkey_tree

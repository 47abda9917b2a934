#include "experiments/crux-trace-grid/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/trace_scenario.h"

namespace fairlead::experiments::crux_trace_grid {

namespace {

Result<topology::Fabric> BuildFabric(const std::string& name, double oversubscription) {
  return name == "clos" ? BuildTraceClos(oversubscription) : BuildTraceDoubleSided(oversubscription);
}

// Runs the cells of one fabric, which the scenario has.
class FabricCells {
 public:
  FabricCells(const GridAxes& axes, const std::vector<std::vector<sim::ScenarioJob>>& jobs,
              const experiment::RunContext& context, GridResult* result)
      : axes_(axes), jobs_(jobs), context_(context), result_(result) {}

  Status Run(const std::string& fabric, double oversubscription, sim::Scenario* scenario) {
    for (const QueuePairs& queue_pairs : axes_.queue_pairs) {
      scenario->qps_per_connection = queue_pairs.count;
      scenario->simulation.end = SimTime::FromSeconds(Seconds(queue_pairs.simulated_s));
      for (const std::string& placement : axes_.placements) {
        for (size_t w = 0; w < axes_.windows.size() && !context_.should_stop(); ++w) {
          scenario->placement = placement;
          scenario->jobs = jobs_[w];
          FL_RETURN_IF_ERROR(
              RunCell({fabric, oversubscription, queue_pairs.count, placement, axes_.windows[w].name}, *scenario));
        }
      }
    }
    return OkStatus();
  }

 private:
  Status RunCell(const GridCell& cell, const sim::Scenario& scenario) {
    const auto total = static_cast<double>(axes_.num_cells());
    const auto done = static_cast<double>(result_->cells.size());
    FL_ASSIGN_OR_RETURN(const sim::SimulationReport report,
                        SimulateScenario(scenario, context_, done / total, (done + 1) / total));
    if (context_.should_stop()) return OkStatus();
    CellResult& entry = result_->cells.emplace_back(CellResult{.cell = cell, .draws = DrawsOf(report)});
    for (const sim::RunResult& run : report.runs) {
      entry.alone += 100 * run.ideal_busy / static_cast<double>(report.runs.size());
    }
    return OkStatus();
  }

  const GridAxes& axes_;
  const std::vector<std::vector<sim::ScenarioJob>>& jobs_;  // [window]
  const experiment::RunContext& context_;
  GridResult* result_;
};

double SettledBusy(const sim::Timeline& timeline) {
  double busy = 0;
  double held = 0;
  for (size_t b = 1; b < timeline.gpu_busy.size(); ++b) {
    busy += timeline.gpu_busy[b] * timeline.held_gpu_s[b];
    held += timeline.held_gpu_s[b];
  }
  return busy / held;
}

}  // namespace

std::string GridCell::Label() const {
  return fmt::format("{:.0f}:1, {} QP{}, {}, {}", oversubscription, queue_pairs, queue_pairs == 1 ? "" : "s", placement,
                     window);
}

CellDraws DrawsOf(const sim::SimulationReport& report) {
  uint32_t first_draw = report.runs.front().draw;
  uint32_t last_draw = first_draw;
  for (const sim::RunResult& run : report.runs) {
    first_draw = std::min(first_draw, run.draw);
    last_draw = std::max(last_draw, run.draw);
  }
  CellDraws draws;
  for (const sim::RunResult& run : report.runs) {
    PolicyDraws& of = draws[run.policy];
    const size_t d = run.draw - first_draw;
    for (auto* values : {&of.busy, &of.mean_slowdown, &of.worst_slowdown}) values->resize(last_draw - first_draw + 1);
    of.busy[d] = 100 * SettledBusy(run.timeline);
    of.mean_slowdown[d] = run.mean_slowdown;
    of.worst_slowdown[d] = run.worst_slowdown;
  }
  return draws;
}

Result<GridResult> RunGrid(const GridAxes& axes, const experiment::RunContext& context) {
  FL_ASSIGN_OR_RETURN(sim::Scenario scenario, LoadTraceScenario());
  GridResult result;
  result.windows = ChooseWindows(scenario.jobs, scenario.simulation.end.seconds().value(), axes.windows);
  std::vector<std::vector<sim::ScenarioJob>> jobs;
  for (const TraceWindow& window : result.windows) jobs.push_back(JobsAt(scenario.jobs, window.at_s));

  scenario.policies.assign(std::begin(kGridPolicies), std::end(kGridPolicies));
  scenario.num_seeds = axes.num_draws;
  scenario.first_seed = context.seed;
  scenario.placement_seed = context.seed;
  scenario.simulation.phase_seed = context.seed;
  // Exact: a window is short.
  scenario.simulation.extrapolate = false;
  scenario.simulation.num_bins = kNumBins;
  scenario.simulation.num_hottest_links = 0;
  FabricCells cells(axes, jobs, context, &result);
  for (const std::string& fabric : axes.fabrics) {
    for (const double oversubscription : axes.oversubscriptions) {
      FL_ASSIGN_OR_RETURN(scenario.fabric, BuildFabric(fabric, oversubscription));
      FL_RETURN_IF_ERROR(cells.Run(fabric, oversubscription, &scenario));
    }
  }
  result.is_partial = result.cells.size() < axes.num_cells();
  return result;
}

}  // namespace fairlead::experiments::crux_trace_grid

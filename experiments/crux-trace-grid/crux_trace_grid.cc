#include "experiments/crux-trace-grid/crux_trace_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "experiments/crux-trace-grid/grid.h"
#include "experiments/crux-trace-grid/grid_report.h"

namespace fairlead::experiments::crux_trace_grid {

namespace {

// Limits of statements about sizes; how much the policies really gain is measured without them.
constexpr PublishedGains kClos = {23, 13, 14, 11};
constexpr PublishedGains kDoubleSided = {7, 4, 5, 3};

// The cells with rows of their own, one for each oversubscription.
constexpr std::string_view kShownPlacement = "random";
constexpr std::string_view kShownWindow = "busiest";
constexpr uint32_t kShownQueuePairs = 1;
constexpr double kAllOversubscriptions[] = {1, 2, 4, 8};

GridAxes MakeAxes(const experiment::RunContext& context) {
  GridAxes axes{.fabrics = {"clos", "double-sided"},
                .oversubscriptions = {std::begin(kAllOversubscriptions), std::end(kAllOversubscriptions)},
                .queue_pairs = {{1, 30}, {4, 8}, {8, 5}},
                .placements = {"random", "locality-first"},
                .windows = {{"busiest", 1}, {"median", 0.5}, {"quiet", 0.1}},
                .num_draws = 5};
  if (context.reduced) {
    axes.oversubscriptions = {1, 4};
    axes.queue_pairs = {{1, 10}};
    axes.placements = {"random"};
    axes.windows = {{"busiest", 1}};
    axes.num_draws = 2;
  }
  if (context.num_draws > 0) axes.num_draws = context.num_draws;
  return axes;
}

void SetShownRows(const FabricVerdicts& verdicts, experiment::Outcome* outcome) {
  for (const double oversubscription : kAllOversubscriptions) {
    const auto found = std::ranges::find_if(verdicts.cells, [&](const CellResult* result) {
      const GridCell& cell = result->cell;
      return cell.oversubscription == oversubscription && cell.queue_pairs == kShownQueuePairs &&
             cell.placement == kShownPlacement && cell.window == kShownWindow;
    });
    for (const std::string_view policy : kGridPolicies) {
      const double busy = found == verdicts.cells.end() ? std::numeric_limits<double>::quiet_NaN()
                                                        : Mean((*found)->draws.find(policy)->second.busy) / 100;
      outcome->Set(fmt::format("{}, {:.0f}:1: utilization, {}", verdicts.fabric, oversubscription, policy), busy);
    }
  }
}

void SetStatementRows(const FabricVerdicts& verdicts, experiment::Outcome* outcome) {
  const auto num_cells = static_cast<double>(verdicts.cells.size());
  for (size_t s = 0; s < verdicts.statements.size(); ++s) {
    const std::string row = fmt::format("{}: {}", verdicts.fabric, verdicts.statements[s].text);
    outcome->Set(row, 100 * static_cast<double>(verdicts.Count(s, Verdict::kHolds)) / num_cells);
    outcome->Set(row + ", contradicted",
                 100 * static_cast<double>(verdicts.Count(s, Verdict::kContradicted)) / num_cells);
  }
}

// "12 of 72 cells".
std::string Cells(const FabricVerdicts& verdicts, std::string_view statement, Verdict verdict) {
  return fmt::format("{} of {}", verdicts.Count(verdicts.Find(statement), verdict), verdicts.cells.size());
}

std::string AnswerFor(const FabricVerdicts& verdicts, const PublishedGains& published) {
  const std::string over_taccl = fmt::format("crux > taccl-star by at least {:.0f} points", published.over_taccl_star);
  return fmt::format(
      "{}: the paper's whole order of policies holds in {} cells and is contradicted in {}, Crux is ahead of the best "
      "rival in {} and behind it in {}, by the published {:.0f} points over TACCL* in {}; path selection is the "
      "largest "
      "step in {}; Crux's mean slowdown is smaller than ECMP's in {} and greater in {}, its worst one smaller in {} "
      "and "
      "greater in {}.",
      verdicts.fabric, Cells(verdicts, kWholeOrder, Verdict::kHolds),
      verdicts.Count(verdicts.Find(kWholeOrder), Verdict::kContradicted),
      Cells(verdicts, "crux > the best rival", Verdict::kHolds),
      verdicts.Count(verdicts.Find("crux > the best rival"), Verdict::kContradicted), published.over_taccl_star,
      Cells(verdicts, over_taccl, Verdict::kHolds),
      Cells(verdicts, "path selection is the largest step", Verdict::kHolds),
      Cells(verdicts, "crux: mean slowdown < ecmp's", Verdict::kHolds),
      verdicts.Count(verdicts.Find("crux: mean slowdown < ecmp's"), Verdict::kContradicted),
      Cells(verdicts, "crux: worst slowdown < ecmp's", Verdict::kHolds),
      verdicts.Count(verdicts.Find("crux: worst slowdown < ecmp's"), Verdict::kContradicted));
}

void AddNotes(const GridAxes& axes, const GridResult& result, experiment::Outcome* outcome) {
  for (const TraceWindow& window : result.windows) {
    outcome->notes.push_back(fmt::format("Window '{}': day {} at {:02.0f}:00, {} jobs that hold {} GPUs.", window.name,
                                         std::floor(window.at_s / 86400), std::fmod(window.at_s, 86400) / 3600,
                                         window.num_jobs, window.num_gpus));
  }
  std::string lengths;
  for (const QueuePairs& pairs : axes.queue_pairs) {
    lengths += fmt::format("{}{:.0f} s with {}", lengths.empty() ? "" : ", ", pairs.simulated_s, pairs.count);
  }
  outcome->notes.push_back(fmt::format(
      "{} draws of hosts (where they are drawn), hashes and phases in each cell, the same for all policies; from one "
      "moment of the trace on, in which no job comes or ends, {} queue pairs; GPU utilization without the first "
      "quarter. "
      "Verdicts follow from 95 % intervals of paired "
      "differences, so that of many cells without any difference one in twenty decides by chance.",
      axes.num_draws, lengths));
  outcome->notes.push_back(fmt::format("Rows with utilizations: {} hosts, {} queue pair, window '{}'.", kShownPlacement,
                                       kShownQueuePairs, kShownWindow));
}

}  // namespace

experiment::Outcome Summarize(const GridAxes& axes, const GridResult& result) {
  experiment::Outcome outcome;
  for (const std::string& fabric : axes.fabrics) {
    const PublishedGains& published = fabric == "clos" ? kClos : kDoubleSided;
    const FabricVerdicts verdicts = JudgeFabric(result, fabric, published);
    outcome.answer += (outcome.answer.empty() ? "" : " ") + AnswerFor(verdicts, published);
    SetStatementRows(verdicts, &outcome);
    SetShownRows(verdicts, &outcome);
    for (experiment::ResultTable& table : HoldsWhere(verdicts, axes)) outcome.tables.push_back(std::move(table));
    outcome.tables.push_back(VerdictTable(verdicts));
    outcome.figures.push_back(DrawVerdicts(verdicts, axes));
    outcome.figures.push_back(DrawBusy(verdicts, axes));
  }
  outcome.tables.push_back(PolicyTable(result));
  AddNotes(axes, result, &outcome);
  return outcome;
}

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  const GridAxes axes = MakeAxes(context);
  FL_ASSIGN_OR_RETURN(const GridResult result, RunGrid(axes, context));
  if (!result.is_partial) return Summarize(axes, result);
  experiment::Outcome outcome;
  outcome.is_partial = true;
  return outcome;
}

}  // namespace fairlead::experiments::crux_trace_grid

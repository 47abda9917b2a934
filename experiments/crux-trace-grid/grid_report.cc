#include "experiments/crux-trace-grid/grid_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"
#include "base/statistics.h"
#include "report/heat_map_figure.h"
#include "report/number_format.h"

namespace fairlead::experiments::crux_trace_grid {

namespace {

using Filter = std::function<bool(const GridCell&)>;

// "12 : 3"; empty where no cell is meant.
std::string CountWhere(const FabricVerdicts& verdicts, size_t statement, const Filter& filter) {
  size_t num_cells = 0;
  size_t holds = 0;
  size_t contradicted = 0;
  for (size_t c = 0; c < verdicts.cells.size(); ++c) {
    if (!filter(verdicts.cells[c]->cell)) continue;
    ++num_cells;
    holds += verdicts.verdicts[statement][c].verdict == Verdict::kHolds ? 1 : 0;
    contradicted += verdicts.verdicts[statement][c].verdict == Verdict::kContradicted ? 1 : 0;
  }
  return num_cells == 0 ? "" : fmt::format("{} : {}", holds, contradicted);
}

struct Column {
  std::string heading;
  Filter filter;
};

experiment::ResultTable CountTable(const FabricVerdicts& verdicts, const std::string& by,
                                   const std::vector<Column>& columns) {
  experiment::ResultTable table;
  table.title = fmt::format("{}: cells in which a statement holds : is contradicted, {}", verdicts.fabric, by);
  table.columns = {"statement"};
  for (const Column& column : columns) table.columns.push_back(column.heading);
  for (size_t s = 0; s < verdicts.statements.size(); ++s) {
    auto& line = table.lines.emplace_back();
    line.emplace_back(verdicts.statements[s].text);
    for (const Column& column : columns) line.emplace_back(CountWhere(verdicts, s, column.filter));
  }
  return table;
}

std::string SpreadText(const report::Spread& spread) {
  if (!spread.known()) return "";
  return fmt::format("{} ± {}", report::FormatSigned(spread.mean, 1),
                     spread.has_interval() ? report::FormatFixed(spread.margin, 1) : "?");
}

std::string VerdictText(const CellVerdict& verdict) {
  const std::string number = SpreadText(verdict.spread);
  return fmt::format("{}{}{}", MarkOf(verdict.verdict), number.empty() ? "" : " ", number);
}

// Rows are placements and windows, columns oversubscriptions and queue pairs.
report::HeatMapFigure MakeFigure(const FabricVerdicts& verdicts, const GridAxes& axes, std::string title) {
  report::HeatMapFigure figure;
  figure.title = std::move(title);
  figure.description = fmt::format("Cells of the grid on {}.", verdicts.fabric);
  for (const std::string& placement : axes.placements) {
    for (const WindowRule& window : axes.windows) {
      figure.row_labels.push_back(fmt::format("{}, {}", placement.substr(0, placement.find('-')), window.name));
    }
  }
  for (const double oversubscription : axes.oversubscriptions) {
    figure.column_spans.push_back(
        {figure.column_labels.size(), axes.queue_pairs.size(), fmt::format("{:.0f}:1", oversubscription)});
    for (const QueuePairs& pairs : axes.queue_pairs) figure.column_labels.push_back(fmt::format("{}", pairs.count));
  }
  figure.column_axis = "oversubscription, queue pairs";
  figure.cell_width_max = 26;
  figure.cell_height_max = 20;
  return figure;
}

report::HeatCell PlaceOf(const GridCell& cell, const GridAxes& axes) {
  const auto index = [](const auto& values, const auto& value) {
    return static_cast<size_t>(std::ranges::find(values, value) - values.begin());
  };
  const auto pairs = std::ranges::find(axes.queue_pairs, cell.queue_pairs, &QueuePairs::count);
  const auto window = std::ranges::find(axes.windows, cell.window, &WindowRule::name);
  report::HeatCell place;
  place.row =
      index(axes.placements, cell.placement) * axes.windows.size() + static_cast<size_t>(window - axes.windows.begin());
  place.column = index(axes.oversubscriptions, cell.oversubscription) * axes.queue_pairs.size() +
                 static_cast<size_t>(pairs - axes.queue_pairs.begin());
  return place;
}

double HeatOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHolds:
      return 1;
    case Verdict::kUndecided:
      return 0.4;
    case Verdict::kSame:
      return 0.15;
    case Verdict::kContradicted:
      return 0;
  }
  return 0;
}

}  // namespace

size_t FabricVerdicts::Count(size_t statement, Verdict verdict) const {
  return static_cast<size_t>(std::ranges::count(verdicts[statement], verdict, &CellVerdict::verdict));
}

size_t FabricVerdicts::Find(std::string_view text) const {
  const auto found = std::ranges::find(statements, text, &Statement::text);
  FL_CHECK_MSG(found != statements.end(), "a statement of that text");
  return static_cast<size_t>(found - statements.begin());
}

FabricVerdicts JudgeFabric(const GridResult& result, const std::string& fabric, const PublishedGains& published) {
  FabricVerdicts verdicts;
  verdicts.fabric = fabric;
  verdicts.statements = AllStatements(published);
  const size_t num_measured = verdicts.statements.size();
  verdicts.statements.emplace_back().text = kWholeOrder;
  verdicts.verdicts.resize(verdicts.statements.size());
  for (const CellResult& cell : result.cells) {
    if (cell.cell.fabric != fabric) continue;
    verdicts.cells.push_back(&cell);
    std::vector<Verdict> order;
    for (size_t s = 0; s < num_measured; ++s) {
      const Statement& statement = verdicts.statements[s];
      const std::vector<double> values = statement.measure(cell.draws);
      verdicts.verdicts[s].push_back({Judge(values, statement.limit), report::SpreadOf(values)});
      if (s < kNumOrderStatements) order.push_back(verdicts.verdicts[s].back().verdict);
    }
    verdicts.verdicts.back().push_back({JudgeAll(order), {}});
  }
  return verdicts;
}

std::vector<experiment::ResultTable> HoldsWhere(const FabricVerdicts& verdicts, const GridAxes& axes) {
  std::vector<Column> first = {{"all", [](const GridCell&) { return true; }}};
  for (const double value : axes.oversubscriptions) {
    first.push_back(
        {fmt::format("{:.0f}:1", value), [=](const GridCell& cell) { return cell.oversubscription == value; }});
  }
  for (const QueuePairs& pairs : axes.queue_pairs) {
    const uint32_t value = pairs.count;
    first.push_back({fmt::format("{} QP{}", value, value == 1 ? "" : "s"),
                     [=](const GridCell& cell) { return cell.queue_pairs == value; }});
  }
  std::vector<Column> second;
  for (const std::string& value : axes.placements) {
    second.push_back({value, [=](const GridCell& cell) { return cell.placement == value; }});
  }
  for (const WindowRule& rule : axes.windows) {
    second.push_back({rule.name, [=, name = rule.name](const GridCell& cell) { return cell.window == name; }});
  }
  return {CountTable(verdicts, "by oversubscription and queue pairs", first),
          CountTable(verdicts, "by placement and window", second)};
}

experiment::ResultTable PolicyTable(const GridResult& result) {
  experiment::ResultTable table;
  table.title = "Every policy in every cell: means over the draws and halves of 95 % intervals";
  table.is_long = true;
  table.columns = {"fabric",
                   "oversubscription",
                   "queue pairs",
                   "placement",
                   "window",
                   "policy",
                   "busy, %",
                   "±",
                   "busy if every job were alone, %",
                   "mean slowdown",
                   "±",
                   "worst slowdown",
                   "±",
                   "busy against ecmp, points",
                   "±",
                   "best rival",
                   "busy against it, points",
                   "±"};
  for (const CellResult& cell : result.cells) {
    const std::string rival(BestRival(cell.draws));
    for (const std::string_view policy : kGridPolicies) {
      const PolicyDraws& draws = cell.draws.find(policy)->second;
      auto& line = table.lines.emplace_back();
      line = {cell.cell.fabric,    cell.cell.oversubscription, static_cast<double>(cell.cell.queue_pairs),
              cell.cell.placement, cell.cell.window,           std::string(policy)};
      const auto add = [&line](const std::vector<double>& values) {
        const report::Spread spread = report::SpreadOf(values);
        line.emplace_back(spread.mean);
        line.emplace_back(spread.margin);
      };
      add(draws.busy);
      line.emplace_back(cell.alone);
      add(draws.mean_slowdown);
      add(draws.worst_slowdown);
      add(BusyGain(cell.draws, policy, "ecmp"));
      line.emplace_back(rival);
      add(BusyGain(cell.draws, policy, rival));
    }
  }
  return table;
}

experiment::ResultTable VerdictTable(const FabricVerdicts& verdicts) {
  experiment::ResultTable table;
  table.title = fmt::format(
      "{}: every statement in every cell: + holds, - contradicted, = no difference, ? undecided; what was measured and "
      "half of its 95 % interval",
      verdicts.fabric);
  table.is_long = true;
  table.columns = {"cell"};
  for (const Statement& statement : verdicts.statements) {
    table.columns.push_back(statement.unit.empty() ? statement.text
                                                   : fmt::format("{}, {}", statement.text, statement.unit));
  }
  for (size_t c = 0; c < verdicts.cells.size(); ++c) {
    auto& line = table.lines.emplace_back();
    line.emplace_back(verdicts.cells[c]->cell.Label());
    for (size_t s = 0; s < verdicts.statements.size(); ++s) line.emplace_back(VerdictText(verdicts.verdicts[s][c]));
  }
  return table;
}

report::PageFigure DrawVerdicts(const FabricVerdicts& verdicts, const GridAxes& axes) {
  report::HeatMapFigure figure =
      MakeFigure(verdicts, axes, fmt::format("Which statements hold where, {}", verdicts.fabric));
  figure.scale_label = "verdict";
  figure.scale_low = "does not hold";
  figure.scale_high = "holds";
  figure.mark_label = "contradicted";
  for (size_t s = 0; s < verdicts.statements.size(); ++s) {
    const Statement& statement = verdicts.statements[s];
    report::HeatPanel& panel = figure.panels.emplace_back();
    panel.heading = statement.is_ours ? statement.text + " (ours)" : statement.text;
    for (size_t c = 0; c < verdicts.cells.size(); ++c) {
      const CellVerdict& verdict = verdicts.verdicts[s][c];
      report::HeatCell& cell = panel.cells.emplace_back(PlaceOf(verdicts.cells[c]->cell, axes));
      cell.heat = HeatOf(verdict.verdict);
      cell.marked = verdict.verdict == Verdict::kContradicted;
      cell.tooltip = fmt::format("{}: {} {}", verdicts.cells[c]->cell.Label(), VerdictText(verdict), statement.unit);
    }
  }
  return {figure.title, Draw(figure),
          "Darkest: holds; middle: undecided, the interval contains the limit; pale: no difference; white with a dot: "
          "contradicted. Point at a square for its number."};
}

report::PageFigure DrawBusy(const FabricVerdicts& verdicts, const GridAxes& axes) {
  report::HeatMapFigure figure =
      MakeFigure(verdicts, axes, fmt::format("GPU utilization of each policy, {}", verdicts.fabric));
  figure.scale_label = "busy";
  figure.scale_low = "0";
  figure.scale_high = "100 %";
  for (const std::string_view policy : kGridPolicies) {
    report::HeatPanel& panel = figure.panels.emplace_back();
    panel.heading = std::string(policy);
    for (const CellResult* result : verdicts.cells) {
      const double busy = Mean(result->draws.find(policy)->second.busy);
      report::HeatCell& cell = panel.cells.emplace_back(PlaceOf(result->cell, axes));
      cell.heat = busy / 100;
      cell.tooltip = fmt::format("{}: {} % busy", result->cell.Label(), report::FormatFixed(busy, 1));
    }
  }
  return {figure.title, Draw(figure), "Share of the GPU time that jobs hold; means over the draws."};
}

}  // namespace fairlead::experiments::crux_trace_grid

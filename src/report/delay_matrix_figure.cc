#include "report/delay_matrix_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/check.h"
#include "base/statistics.h"
#include "report/number_format.h"

namespace fairlead::report {

namespace {

// Which line of the figure each rank belongs to.
struct Lines {
  std::vector<size_t> line_of;      // [rank]
  std::vector<std::string> labels;  // [line]
  std::string what;                 // a line is
};

Lines PlanLines(const DelayMatrixFigure& figure) {
  Lines lines;
  const size_t num_ranks = figure.host_of.size();
  const size_t num_hosts = figure.host_names.size();
  const size_t num_max = std::max<size_t>(figure.num_lines_max, 1);
  for (size_t rank = 0; rank < num_ranks; ++rank) FL_CHECK(figure.host_of[rank] < num_hosts);
  if (num_ranks <= num_max) {
    lines.what = "rank";
    for (size_t rank = 0; rank < num_ranks; ++rank) {
      lines.line_of.push_back(rank);
      lines.labels.push_back(fmt::format("{}", rank));
    }
    return lines;
  }
  const size_t group = (num_hosts + num_max - 1) / num_max;
  lines.what = group == 1 ? "host" : fmt::format("{} hosts", group);
  for (const uint32_t host : figure.host_of) lines.line_of.push_back(host / group);
  for (size_t first = 0; first < num_hosts; first += group) {
    const size_t last = std::min(first + group, num_hosts) - 1;
    lines.labels.push_back(first == last ? figure.host_names[first]
                                         : fmt::format("{} – {}", figure.host_names[first], figure.host_names[last]));
  }
  return lines;
}

// The slowest transfer of a cell.
struct Worst {
  double ratio = 0;
  uint32_t source = 0;
  uint32_t destination = 0;
};

std::map<std::pair<size_t, size_t>, Worst> FindWorst(const DelayMatrixFigure& figure, const Lines& lines) {
  std::vector<double> delays;
  for (const DelayMatrixCell& cell : figure.cells) delays.push_back(cell.delay);
  const double median = delays.empty() ? 1 : Median(delays);
  std::map<std::pair<size_t, size_t>, Worst> worst;
  for (const DelayMatrixCell& cell : figure.cells) {
    Worst& entry = worst[{lines.line_of.at(cell.source), lines.line_of.at(cell.destination)}];
    const double ratio = cell.delay / median;
    if (ratio > entry.ratio) entry = {ratio, cell.source, cell.destination};
  }
  return worst;
}

std::vector<size_t> LinesOf(const std::vector<uint32_t>& ranks, const Lines& lines) {
  std::set<size_t> marked;
  for (const uint32_t rank : ranks) marked.insert(lines.line_of.at(rank));
  return {marked.begin(), marked.end()};
}

}  // namespace

HeatMapFigure ArrangeDelays(const DelayMatrixFigure& figure) {
  const Lines lines = PlanLines(figure);
  const auto worst = FindWorst(figure, lines);
  double scale = 2;
  for (const auto& [place, entry] : worst) scale = std::max(scale, entry.ratio);
  scale = std::min(scale, kDelayScaleMax);
  std::set<std::pair<size_t, size_t>> marked;
  for (const auto& [source, destination] : figure.marked_pairs) {
    marked.emplace(lines.line_of.at(source), lines.line_of.at(destination));
  }
  HeatMapFigure map;
  map.title = figure.title;
  map.description = fmt::format(
      "Time per byte from each source (row) to each destination (column), by {}, over the median.", lines.what);
  map.row_labels = lines.labels;
  // Names are too long for columns: they have the numbers of the lines, which are in the same order.
  for (size_t line = 0; line < lines.labels.size(); ++line) map.column_labels.push_back(fmt::format("{}", line));
  map.row_axis = "from";
  map.column_axis = "to " + lines.what;
  map.scale_label = "time per byte";
  map.scale_low = "median or less";
  map.scale_high = fmt::format("{}{} times it", scale == kDelayScaleMax ? "≥ " : "", FormatShort(scale));
  map.mark_label = marked.empty() ? "" : "named by a finding";
  map.marked_rows = LinesOf(figure.marked_sources, lines);
  map.marked_columns = LinesOf(figure.marked_destinations, lines);
  map.cell_width_max = map.cell_height_max = 34;
  map.cells_height_max = 620;
  map.panels.resize(1);
  for (const auto& [place, entry] : worst) {
    HeatCell cell;
    cell.row = place.first;
    cell.column = place.second;
    // What was measured is never quite nothing.
    cell.heat = std::clamp(std::log(entry.ratio) / std::log(scale), 1e-3, 1.0);
    cell.tooltip = fmt::format("rank {} to rank {}: {} times the median", entry.source, entry.destination,
                               FormatShort(entry.ratio));
    cell.marked = marked.contains(place);
    map.panels[0].cells.push_back(std::move(cell));
  }
  return map;
}

std::string Draw(const DelayMatrixFigure& figure) { return Draw(ArrangeDelays(figure)); }

}  // namespace fairlead::report

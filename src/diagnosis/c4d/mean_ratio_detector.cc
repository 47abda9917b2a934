#include "diagnosis/c4d/mean_ratio_detector.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/check.h"

namespace fairlead::diagnosis::c4d {

namespace {

struct LineMean {
  double sum = 0;
  uint32_t cells = 0;

  void Add(double delay) {
    sum += delay;
    ++cells;
  }
  double mean() const { return cells == 0 ? 0 : sum / cells; }
};

std::vector<SlowLine> FindSlow(const std::vector<LineMean>& lines, double mean, double limit) {
  std::vector<SlowLine> slow;
  for (uint32_t i = 0; i < lines.size(); ++i) {
    const double ratio = lines[i].mean() / mean;
    if (ratio >= limit) slow.push_back({.index = i, .z = ratio, .ratio = ratio});
  }
  return slow;
}

bool Contains(const std::vector<SlowLine>& lines, uint32_t index) {
  return std::any_of(lines.begin(), lines.end(), [index](const SlowLine& line) { return line.index == index; });
}

}  // namespace

DelayVerdict CompareWithMean(std::span<const DelayCell> cells, uint32_t num_sources, uint32_t num_destinations,
                             const MeanRatioLimits& limits) {
  if (cells.empty()) return {};
  LineMean all;
  std::vector<LineMean> rows(num_sources);
  std::vector<LineMean> columns(num_destinations);
  for (const DelayCell& cell : cells) {
    FL_CHECK(cell.source < num_sources && cell.destination < num_destinations);
    FL_CHECK_MSG(cell.delay > 0, "a delay must be positive");
    all.Add(cell.delay);
    rows[cell.source].Add(cell.delay);
    columns[cell.destination].Add(cell.delay);
  }
  DelayVerdict verdict;
  verdict.median_delay = all.mean();
  verdict.rows = FindSlow(rows, all.mean(), limits.row);
  verdict.columns = FindSlow(columns, all.mean(), limits.column);
  for (const DelayCell& cell : cells) {
    const double ratio = cell.delay / all.mean();
    if (ratio < limits.point || Contains(verdict.rows, cell.source) || Contains(verdict.columns, cell.destination)) {
      continue;
    }
    verdict.points.push_back({.source = cell.source, .destination = cell.destination, .z = ratio, .ratio = ratio});
  }
  std::sort(verdict.points.begin(), verdict.points.end(), [](const SlowPoint& a, const SlowPoint& b) {
    return std::tie(a.source, a.destination) < std::tie(b.source, b.destination);
  });
  return verdict;
}

}  // namespace fairlead::diagnosis::c4d

#include "diagnosis/c4d/delay_matrix.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/check.h"
#include "diagnosis/c4d/robust_statistics.h"

namespace fairlead::diagnosis::c4d {

namespace {

// A round that moves no line by more than this is the last: far below the floor of the deviation.
constexpr double kConverged = 1e-6;

// Cells of each row or of each column.
struct LineIndex {
  std::vector<uint32_t> line_of;  // [cell]
  std::vector<uint32_t> begin;    // [line], and one more
  std::vector<uint32_t> cells;    // grouped by line
  std::vector<bool> can_name;     // [line]

  size_t num_lines() const { return begin.size() - 1; }
  std::span<const uint32_t> CellsOf(size_t line) const {
    return std::span(cells).subspan(begin[line], begin[line + 1] - begin[line]);
  }
};

LineIndex GroupCells(std::vector<uint32_t> line_of, uint32_t num_lines) {
  LineIndex index;
  index.begin.assign(num_lines + 1, 0);
  for (const uint32_t line : line_of) {
    FL_CHECK(line < num_lines);
    ++index.begin[line + 1];
  }
  for (size_t line = 0; line < num_lines; ++line) index.begin[line + 1] += index.begin[line];
  index.cells.resize(line_of.size());
  std::vector<uint32_t> next(index.begin.begin(), index.begin.end() - 1);
  for (uint32_t cell = 0; cell < line_of.size(); ++cell) index.cells[next[line_of[cell]]++] = cell;
  index.line_of = std::move(line_of);
  index.can_name.assign(num_lines, false);
  return index;
}

void FindNameable(LineIndex& lines, const LineIndex& crossing, uint32_t cells_min) {
  for (size_t line = 0; line < lines.num_lines(); ++line) {
    const auto cells = lines.CellsOf(line);
    const auto supported = std::count_if(cells.begin(), cells.end(), [&](uint32_t cell) {
      return crossing.CellsOf(crossing.line_of[cell]).size() >= cells_min;
    });
    lines.can_name[line] = supported >= static_cast<ptrdiff_t>(cells_min);
  }
}

struct Fit {
  std::vector<double> row;     // [source]
  std::vector<double> column;  // [destination]
};

class Scorer {
 public:
  Scorer(std::span<const DelayCell> cells, uint32_t num_sources, uint32_t num_destinations,
         const DelayMatrixOptions& options);

  DelayVerdict Score();

 private:
  Fit Polish(bool rows_first);
  // Takes the median of each line that can be named out of `rest_`; returns the greatest change.
  double TakeMedians(const LineIndex& lines, std::vector<double>& effect);
  double MedianOf(std::span<const uint32_t> cells, const std::vector<double>& values);
  std::vector<SlowLine> FindSlowLines(const LineIndex& lines, const LineIndex& crossing,
                                      const std::vector<double>& effect);
  bool HasSlowCells(std::span<const uint32_t> cells, const LineIndex& crossing,
                    const std::vector<double>& crossing_median) const;
  void SetAside(const LineIndex& lines, std::span<const SlowLine> slow);
  std::vector<SlowPoint> FindSlowPoints(const Fit& fit);

  std::span<const DelayCell> cells_;
  const DelayMatrixOptions& options_;
  double log_effect_;
  LineIndex rows_;
  LineIndex columns_;
  std::vector<double> logs_;     // [cell] less mu
  std::vector<double> rest_;     // [cell] while polishing
  std::vector<bool> set_aside_;  // [cell]
  std::vector<double> scratch_;
  double mu_ = 0;
};

Scorer::Scorer(std::span<const DelayCell> cells, uint32_t num_sources, uint32_t num_destinations,
               const DelayMatrixOptions& options)
    : cells_(cells), options_(options), log_effect_(std::log1p(options.effect_min)), set_aside_(cells.size(), false) {
  std::vector<uint32_t> sources(cells.size());
  std::vector<uint32_t> destinations(cells.size());
  logs_.resize(cells.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    FL_CHECK_MSG(cells[i].delay > 0, "a delay must be positive");
    sources[i] = cells[i].source;
    destinations[i] = cells[i].destination;
    logs_[i] = std::log(cells[i].delay);
  }
  rows_ = GroupCells(std::move(sources), num_sources);
  columns_ = GroupCells(std::move(destinations), num_destinations);
  FindNameable(rows_, columns_, options.line_cells_min);
  FindNameable(columns_, rows_, options.line_cells_min);
  scratch_ = logs_;
  mu_ = MedianInPlace(scratch_);
  for (double& value : logs_) value -= mu_;
}

double Scorer::MedianOf(std::span<const uint32_t> cells, const std::vector<double>& values) {
  scratch_.resize(cells.size());
  for (size_t i = 0; i < cells.size(); ++i) scratch_[i] = values[cells[i]];
  return MedianInPlace(scratch_);
}

double Scorer::TakeMedians(const LineIndex& lines, std::vector<double>& effect) {
  double change = 0;
  for (size_t line = 0; line < lines.num_lines(); ++line) {
    if (!lines.can_name[line]) continue;
    const double median = MedianOf(lines.CellsOf(line), rest_);
    effect[line] += median;
    for (const uint32_t cell : lines.CellsOf(line)) rest_[cell] -= median;
    change = std::max(change, std::abs(median));
  }
  return change;
}

Fit Scorer::Polish(bool rows_first) {
  Fit fit{std::vector<double>(rows_.num_lines(), 0.0), std::vector<double>(columns_.num_lines(), 0.0)};
  rest_ = logs_;
  for (uint32_t round = 0; round < options_.max_rounds; ++round) {
    double change = 0;
    if (rows_first) change = TakeMedians(rows_, fit.row);
    change = std::max(change, TakeMedians(columns_, fit.column));
    if (!rows_first) change = std::max(change, TakeMedians(rows_, fit.row));
    if (change < kConverged) break;
  }
  return fit;
}

bool Scorer::HasSlowCells(std::span<const uint32_t> cells, const LineIndex& crossing,
                          const std::vector<double>& crossing_median) const {
  const auto slow = std::count_if(cells.begin(), cells.end(), [&](uint32_t cell) {
    return logs_[cell] - crossing_median[crossing.line_of[cell]] >= log_effect_;
  });
  return static_cast<double>(slow) >= options_.line_share * static_cast<double>(cells.size());
}

std::vector<SlowLine> Scorer::FindSlowLines(const LineIndex& lines, const LineIndex& crossing,
                                            const std::vector<double>& effect) {
  std::vector<double> values;
  for (size_t line = 0; line < lines.num_lines(); ++line) {
    if (lines.can_name[line]) values.push_back(effect[line]);
  }
  const double median = MedianInPlace(values);
  const double sigma = std::max(kSigmaPerMad * MedianDeviationInPlace(values, median), options_.sigma_floor);
  // Cells of lines that can't be named are compared with the whole.
  std::vector<double> crossing_median(crossing.num_lines(), 0.0);
  for (size_t line = 0; line < crossing.num_lines(); ++line) {
    if (crossing.can_name[line]) crossing_median[line] = MedianOf(crossing.CellsOf(line), logs_);
  }
  std::vector<SlowLine> slow;
  for (uint32_t line = 0; line < lines.num_lines(); ++line) {
    if (!lines.can_name[line]) continue;
    const double excess = effect[line] - median;
    if (excess < log_effect_ || excess < options_.z_line * sigma) continue;
    if (!HasSlowCells(lines.CellsOf(line), crossing, crossing_median)) continue;
    slow.push_back({.index = line, .z = excess / sigma, .ratio = std::exp(excess)});
  }
  return slow;
}

void Scorer::SetAside(const LineIndex& lines, std::span<const SlowLine> slow) {
  for (const SlowLine& line : slow) {
    for (const uint32_t cell : lines.CellsOf(line.index)) set_aside_[cell] = true;
  }
}

std::vector<SlowPoint> Scorer::FindSlowPoints(const Fit& fit) {
  const auto residual = [&](size_t i) {
    return logs_[i] - fit.row[cells_[i].source] - fit.column[cells_[i].destination];
  };
  scratch_.clear();
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (!set_aside_[i]) scratch_.push_back(residual(i));
  }
  const double median = MedianInPlace(scratch_);
  const double sigma = std::max(kSigmaPerMad * MedianDeviationInPlace(scratch_, median), options_.sigma_floor);
  std::vector<SlowPoint> slow;
  for (size_t i = 0; i < cells_.size(); ++i) {
    const double excess = residual(i) - median;
    if (set_aside_[i] || excess < log_effect_ || excess < options_.z_point * sigma) continue;
    const bool cleared = rows_.can_name[cells_[i].source] && columns_.can_name[cells_[i].destination];
    slow.push_back({.source = cells_[i].source,
                    .destination = cells_[i].destination,
                    .z = excess / sigma,
                    .ratio = std::exp(excess),
                    .endpoints_cleared = cleared});
  }
  std::sort(slow.begin(), slow.end(), [](const SlowPoint& a, const SlowPoint& b) {
    return std::tie(a.source, a.destination) < std::tie(b.source, b.destination);
  });
  return slow;
}

DelayVerdict Scorer::Score() {
  Fit fit = Polish(true);
  const Fit other = Polish(false);
  for (size_t i = 0; i < fit.row.size(); ++i) fit.row[i] = (fit.row[i] + other.row[i]) / 2;
  for (size_t i = 0; i < fit.column.size(); ++i) fit.column[i] = (fit.column[i] + other.column[i]) / 2;
  DelayVerdict verdict;
  verdict.median_delay = std::exp(mu_);
  verdict.rows = FindSlowLines(rows_, columns_, fit.row);
  verdict.columns = FindSlowLines(columns_, rows_, fit.column);
  SetAside(rows_, verdict.rows);
  SetAside(columns_, verdict.columns);
  verdict.points = FindSlowPoints(fit);
  return verdict;
}

}  // namespace

DelayVerdict ScoreDelays(std::span<const DelayCell> cells, uint32_t num_sources, uint32_t num_destinations,
                         const DelayMatrixOptions& options) {
  if (cells.empty()) return {};
  return Scorer(cells, num_sources, num_destinations, options).Score();
}

}  // namespace fairlead::diagnosis::c4d

#include "diagnosis/c4d/delay_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "diagnosis/c4d/mean_ratio_detector.h"
#include "diagnosis/c4d/random_delays.h"

namespace fairlead::diagnosis::c4d {
namespace {

// The oracle: the text of the header, on a dense matrix, with sorted medians.
class DenseTwin {
 public:
  DenseTwin(std::span<const DelayCell> cells, uint32_t n, const DelayMatrixOptions& options)
      : n_(n), options_(options) {
    logs_.assign(n, std::vector<std::optional<double>>(n));
    std::vector<double> all;
    for (const DelayCell& cell : cells) all.push_back(std::log(cell.delay));
    const double mu = Median(all);
    for (const DelayCell& cell : cells) logs_[cell.source][cell.destination] = std::log(cell.delay) - mu;
  }

  DelayVerdict Score() {
    const auto [row_a, column_a] = Polish(true);
    const auto [row_b, column_b] = Polish(false);
    std::vector<double> row(n_), column(n_);
    for (uint32_t i = 0; i < n_; ++i) {
      row[i] = (row_a[i] + row_b[i]) / 2;
      column[i] = (column_a[i] + column_b[i]) / 2;
    }
    DelayVerdict verdict;
    verdict.rows = SlowLines(row, true);
    verdict.columns = SlowLines(column, false);
    std::map<std::pair<uint32_t, uint32_t>, double> rest;
    for (uint32_t y = 0; y < n_; ++y) {
      for (uint32_t x = 0; x < n_; ++x) {
        if (logs_[y][x] && !Holds(verdict.rows, y) && !Holds(verdict.columns, x)) {
          rest[{y, x}] = *logs_[y][x] - row[y] - column[x];
        }
      }
    }
    std::vector<double> values;
    for (const auto& [key, value] : rest) values.push_back(value);
    const auto [median, sigma] = Spread(values);
    for (const auto& [key, value] : rest) {
      if (value - median < options_.z_point * sigma || value - median < std::log1p(options_.effect_min)) continue;
      verdict.points.push_back({.source = key.first,
                                .destination = key.second,
                                .z = (value - median) / sigma,
                                .endpoints_cleared = CanName(key.first, true) && CanName(key.second, false)});
    }
    return verdict;
  }

 private:
  std::optional<double> At(uint32_t line, uint32_t other, bool is_row) const {
    return is_row ? logs_[line][other] : logs_[other][line];
  }
  std::vector<double> Values(uint32_t line, bool is_row) const {
    std::vector<double> values;
    for (uint32_t i = 0; i < n_; ++i) {
      if (At(line, i, is_row)) values.push_back(*At(line, i, is_row));
    }
    return values;
  }
  bool CanName(uint32_t line, bool is_row) const {
    uint32_t supported = 0;
    for (uint32_t i = 0; i < n_; ++i) {
      if (At(line, i, is_row) && Values(i, !is_row).size() >= options_.line_cells_min) ++supported;
    }
    return supported >= options_.line_cells_min;
  }
  static double Median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
  }
  std::pair<double, double> Spread(const std::vector<double>& values) const {
    const double median = Median(values);
    std::vector<double> deviations;
    for (const double value : values) deviations.push_back(std::abs(value - median));
    return {median, std::max(1.4826 * Median(deviations), options_.sigma_floor)};
  }
  static bool Holds(const std::vector<SlowLine>& lines, uint32_t index) {
    return std::any_of(lines.begin(), lines.end(), [index](const SlowLine& line) { return line.index == index; });
  }

  std::pair<std::vector<double>, std::vector<double>> Polish(bool rows_first) {
    std::vector<double> row(n_, 0.0), column(n_, 0.0);
    const auto take = [&](bool is_row) {
      double change = 0;
      auto& effect = is_row ? row : column;
      const auto& other = is_row ? column : row;
      for (uint32_t line = 0; line < n_; ++line) {
        if (!CanName(line, is_row)) continue;
        std::vector<double> rest;
        for (uint32_t i = 0; i < n_; ++i) {
          if (At(line, i, is_row)) rest.push_back(*At(line, i, is_row) - effect[line] - other[i]);
        }
        effect[line] += Median(rest);
        change = std::max(change, std::abs(Median(rest)));
      }
      return change;
    };
    for (uint32_t round = 0; round < options_.max_rounds; ++round) {
      const double first = take(rows_first);
      if (std::max(first, take(!rows_first)) < 1e-6) break;
    }
    return {row, column};
  }

  std::vector<SlowLine> SlowLines(const std::vector<double>& effect, bool is_row) const {
    std::vector<double> values;
    for (uint32_t line = 0; line < n_; ++line) {
      if (CanName(line, is_row)) values.push_back(effect[line]);
    }
    const auto [median, sigma] = Spread(values);
    std::vector<SlowLine> slow;
    for (uint32_t line = 0; line < n_; ++line) {
      const double excess = effect[line] - median;
      if (!CanName(line, is_row) || excess < options_.z_line * sigma || excess < std::log1p(options_.effect_min))
        continue;
      uint32_t cells = 0;
      uint32_t high = 0;
      for (uint32_t i = 0; i < n_; ++i) {
        if (!At(line, i, is_row)) continue;
        ++cells;
        const double usual = CanName(i, !is_row) ? Median(Values(i, !is_row)) : 0;
        if (*At(line, i, is_row) - usual >= std::log1p(options_.effect_min)) ++high;
      }
      if (high >= options_.line_share * cells) slow.push_back({.index = line, .z = excess / sigma});
    }
    return slow;
  }

  uint32_t n_;
  DelayMatrixOptions options_;
  std::vector<std::vector<std::optional<double>>> logs_;
};

std::vector<uint32_t> Indices(const std::vector<SlowLine>& lines) {
  std::vector<uint32_t> indices;
  for (const SlowLine& line : lines) indices.push_back(line.index);
  return indices;
}

std::vector<std::pair<uint32_t, uint32_t>> Pairs(const std::vector<SlowPoint>& points) {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (const SlowPoint& point : points) pairs.emplace_back(point.source, point.destination);
  return pairs;
}

void ExpectSame(const DelayVerdict& a, const DelayVerdict& b) {
  EXPECT_EQ(Indices(a.rows), Indices(b.rows));
  EXPECT_EQ(Indices(a.columns), Indices(b.columns));
  EXPECT_EQ(Pairs(a.points), Pairs(b.points));
  for (size_t i = 0; i < std::min(a.rows.size(), b.rows.size()); ++i) EXPECT_NEAR(a.rows[i].z, b.rows[i].z, 1e-6);
  for (size_t i = 0; i < std::min(a.points.size(), b.points.size()); ++i) {
    EXPECT_NEAR(a.points[i].z, b.points[i].z, 1e-6);
    EXPECT_EQ(a.points[i].endpoints_cleared, b.points[i].endpoints_cleared);
  }
}

// Any share of the pairs known, strong noise, some random faults: everything that the rules tell apart happens.
std::vector<DelayCell> MakeAnyDelays(uint32_t n, Random& random) {
  std::vector<DelayCell> cells = MakeDenseDelays(n, random.Uniform(0, 0.5), random);
  const double share = random.Uniform(0.15, 1);
  std::erase_if(cells, [&](const DelayCell&) { return random.Uniform() > share; });
  const auto row = static_cast<uint32_t>(random.Below(uint64_t{2} * n));
  const auto column = static_cast<uint32_t>(random.Below(uint64_t{2} * n));
  PlantDelay(cells, random.Uniform(1, 3), [&](uint32_t y, uint32_t) { return y == row; });
  PlantDelay(cells, random.Uniform(1, 3), [&](uint32_t, uint32_t x) { return x == column; });
  if (!cells.empty()) cells[random.Below(cells.size())].delay *= random.Uniform(1, 4);
  random.Shuffle(std::span(cells));
  return cells;
}

TEST(DelayMatrixTest, EqualsItsDenseTwin) {
  Random random(1);
  size_t num_slow = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    SCOPED_TRACE(trial);
    const auto n = static_cast<uint32_t>(2 + random.Below(13));
    const std::vector<DelayCell> cells = MakeAnyDelays(n, random);
    const DelayVerdict verdict = ScoreDelays(cells, n, n);
    num_slow += verdict.nothing_slow() ? 0 : 1;
    ExpectSame(verdict, DenseTwin(cells, n, {}).Score());
  }
  EXPECT_GT(num_slow, 500u) << "the test compares nothing";
}

TEST(DelayMatrixTest, LawsOfScalingRelabellingTransposing) {
  Random random(2);
  for (int trial = 0; trial < 500; ++trial) {
    SCOPED_TRACE(trial);
    const auto n = static_cast<uint32_t>(3 + random.Below(14));
    const std::vector<DelayCell> cells = MakeAnyDelays(n, random);
    const DelayVerdict verdict = ScoreDelays(cells, n, n);

    std::vector<DelayCell> scaled = cells;
    for (DelayCell& cell : scaled) cell.delay *= 1024;
    ExpectSame(verdict, ScoreDelays(scaled, n, n));

    std::vector<DelayCell> transposed = cells;
    for (DelayCell& cell : transposed) std::swap(cell.source, cell.destination);
    const DelayVerdict other = ScoreDelays(transposed, n, n);
    EXPECT_EQ(Indices(verdict.rows), Indices(other.columns));
    EXPECT_EQ(Indices(verdict.columns), Indices(other.rows));
    EXPECT_EQ(verdict.points.size(), other.points.size());

    // i -> n - 1 - i for sources, i -> (i + 1) mod n for destinations.
    std::vector<DelayCell> relabelled = cells;
    for (DelayCell& cell : relabelled) cell = {n - 1 - cell.source, (cell.destination + 1) % n, cell.delay};
    DelayVerdict mapped = ScoreDelays(relabelled, n, n);
    for (SlowLine& line : mapped.rows) line.index = n - 1 - line.index;
    for (SlowLine& line : mapped.columns) line.index = (line.index + n - 1) % n;
    for (SlowPoint& point : mapped.points) {
      point.source = n - 1 - point.source;
      point.destination = (point.destination + n - 1) % n;
    }
    const auto by_index = [](const SlowLine& a, const SlowLine& b) { return a.index < b.index; };
    std::sort(mapped.rows.begin(), mapped.rows.end(), by_index);
    std::sort(mapped.columns.begin(), mapped.columns.end(), by_index);
    std::sort(mapped.points.begin(), mapped.points.end(), [](const SlowPoint& a, const SlowPoint& b) {
      return std::tie(a.source, a.destination) < std::tie(b.source, b.destination);
    });
    ExpectSame(verdict, mapped);
  }
}

TEST(DelayMatrixTest, HealthyNoiseNamesNoCulprit) {
  Random random(3);
  for (const uint32_t n : {2u, 3u, 8u, 16u, 64u, 512u}) {
    const int trials = n == 512 ? 5 : 400;
    for (int trial = 0; trial < trials; ++trial) {
      for (const double cv : {0.0, 0.05, 0.2}) {
        EXPECT_TRUE(ScoreDelays(MakeDenseDelays(n, cv, random), n, n).nothing_slow()) << n << " workers, CV " << cv;
      }
    }
  }
}

TEST(DelayMatrixTest, ARingNamesNeitherRowNorColumn) {
  Random random(4);
  for (const uint32_t n : {3u, 8u, 100u}) {
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<DelayCell> cells = MakeRingDelays(n, 0.03, random);
      const auto slow = static_cast<uint32_t>(random.Below(n));
      PlantDelay(cells, 2, [slow](uint32_t y, uint32_t) { return y == slow; });
      const DelayVerdict verdict = ScoreDelays(cells, n, n);
      EXPECT_TRUE(verdict.rows.empty() && verdict.columns.empty());
      // log 2 = 0.69 against 6 sigma of 0.05 (the floor), with a noise of 0.03: named unless the MAD of three is wild.
      if (n < 8) continue;
      ASSERT_EQ(verdict.points.size(), 1u);
      EXPECT_EQ(Pairs(verdict.points)[0], std::pair(slow, (slow + 1) % n));
      EXPECT_FALSE(verdict.points[0].endpoints_cleared);
    }
  }
}

TEST(DelayMatrixTest, NothingAndLittleAreNoFault) {
  EXPECT_TRUE(ScoreDelays({}, 0, 0).nothing_slow());
  EXPECT_TRUE(ScoreDelays(std::vector<DelayCell>{{0, 1, 1.0}}, 2, 2).nothing_slow());
  // Of two cells neither is the odd one.
  EXPECT_TRUE(ScoreDelays(std::vector<DelayCell>{{0, 1, 1.0}, {1, 0, 100.0}}, 2, 2).nothing_slow());
}

enum class Fault { kRow, kColumn, kCell, kTwoRows };

struct Score {
  int right = 0;   // the planted fault and nothing else
  int wrong = 0;   // names something that was not planted
  int missed = 0;  // names nothing
};

template <class Detector>
Score Try(Fault fault, uint32_t n, double factor, double cv, int trials, const Detector& detect) {
  Random random(1000 + n);
  Score score;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<DelayCell> cells = MakeDenseDelays(n, cv, random);
    const auto a = static_cast<uint32_t>(random.Below(n));
    const uint32_t b = (a + 1 + static_cast<uint32_t>(random.Below(n - 1))) % n;
    PlantDelay(cells, factor, [&](uint32_t y, uint32_t x) {
      if (fault == Fault::kRow) return y == a;
      if (fault == Fault::kColumn) return x == a;
      if (fault == Fault::kCell) return y == a && x == b;
      return y == a || y == b;
    });
    const DelayVerdict verdict = detect(cells, n);
    const std::vector<uint32_t> both = {std::min(a, b), std::max(a, b)};
    const bool is_right =
        fault == Fault::kRow
            ? Indices(verdict.rows) == std::vector{a} && verdict.columns.empty() && verdict.points.empty()
        : fault == Fault::kColumn
            ? Indices(verdict.columns) == std::vector{a} && verdict.rows.empty() && verdict.points.empty()
        : fault == Fault::kCell
            ? Pairs(verdict.points) == std::vector{std::pair(a, b)} && verdict.rows.empty() && verdict.columns.empty()
            : Indices(verdict.rows) == both && verdict.columns.empty() && verdict.points.empty();
    ++(is_right ? score.right : verdict.nothing_slow() ? score.missed : score.wrong);
  }
  return score;
}

TEST(DelayMatrixTest, PlantedFaultsAreFoundAndBeatTheMean) {
  // Acceptance of the page, 12.1: factor 1.5, noise of messages up to 20 %, N >= 8: precision 0.98, recall 0.95.
  const auto polish = [](const std::vector<DelayCell>& cells, uint32_t n) { return ScoreDelays(cells, n, n); };
  const auto mean = [](const std::vector<DelayCell>& cells, uint32_t n) { return CompareWithMean(cells, n, n); };
  for (const Fault fault : {Fault::kRow, Fault::kColumn, Fault::kCell, Fault::kTwoRows}) {
    for (const uint32_t n : {8u, 16u, 64u}) {
      for (const double factor : {1.5, 6.0}) {
        for (const double cv : {0.05, 0.2}) {
          const int trials = n == 64 ? 60 : 400;
          const Score ours = Try(fault, n, factor, cv, trials, polish);
          const Score rival = Try(fault, n, factor, cv, trials, mean);
          SCOPED_TRACE(testing::Message() << "fault " << static_cast<int>(fault) << ", " << n << " workers, factor "
                                          << factor << ", CV " << cv);
          EXPECT_GE(ours.right, 0.98 * (ours.right + ours.wrong));
          EXPECT_GE(ours.right, 0.95 * trials);
          EXPECT_GE(ours.right, rival.right);
        }
      }
    }
  }
}

TEST(MeanRatioTest, CannotSeeOneOfThree) {
  // Three workers, one a thousand times slower: its row's mean over all is at most 3.
  std::vector<DelayCell> cells;
  for (uint32_t y = 0; y < 3; ++y) {
    for (uint32_t x = 0; x < 3; ++x) cells.push_back({y, x, y == 1 ? 1000.0 : 1.0});
  }
  EXPECT_TRUE(CompareWithMean(cells, 3, 3).rows.empty());
  // Of eight, a row ten times slower: 10 / (17/8) = 4.7.
  cells.clear();
  for (uint32_t y = 0; y < 8; ++y) {
    for (uint32_t x = 0; x < 8; ++x) cells.push_back({y, x, y == 1 ? 10.0 : 1.0});
  }
  const DelayVerdict verdict = CompareWithMean(cells, 8, 8);
  ASSERT_EQ(verdict.rows.size(), 1u);
  EXPECT_EQ(verdict.rows[0].index, 1u);
  EXPECT_NEAR(verdict.rows[0].ratio, 80.0 / 17, 1e-9);
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d

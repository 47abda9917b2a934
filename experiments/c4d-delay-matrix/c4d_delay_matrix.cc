#include "experiments/c4d-delay-matrix/c4d_delay_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel_for.h"
#include "base/random.h"
#include "diagnosis/c4d/delay_matrix.h"
#include "diagnosis/c4d/mean_ratio_detector.h"
#include "diagnosis/c4d/random_delays.h"
#include "execution/transfer_pattern.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::c4d_delay_matrix {

namespace {

using diagnosis::c4d::DelayCell;
using diagnosis::c4d::DelayVerdict;

constexpr double kFactor = 1.5;     // of planted faults
constexpr double kLargeFactor = 6;  // above the rival's limits
constexpr uint32_t kNumTrials = 200;
constexpr uint32_t kNumReducedTrials = 30;

// A row, a column, or with both ends a cell.
struct Named {
  enum class Kind : uint8_t { kRow, kColumn, kPoint };
  Kind kind;
  uint32_t source = 0;
  uint32_t destination = 0;

  friend auto operator<=>(const Named&, const Named&) = default;
};
using NamedSet = std::set<Named>;

NamedSet NamesOf(const DelayVerdict& verdict) {
  NamedSet names;
  for (const auto& row : verdict.rows) names.insert({Named::Kind::kRow, row.index, 0});
  for (const auto& column : verdict.columns) names.insert({Named::Kind::kColumn, 0, column.index});
  for (const auto& point : verdict.points) names.insert({Named::Kind::kPoint, point.source, point.destination});
  return names;
}

struct Score {
  double planted = 0;
  double named = 0;
  double right = 0;
  double lines = 0;  // rows and columns that were named

  void Add(const NamedSet& truth, const NamedSet& names) {
    planted += static_cast<double>(truth.size());
    named += static_cast<double>(names.size());
    for (const Named& name : names) {
      right += truth.contains(name) ? 1 : 0;
      lines += name.kind != Named::Kind::kPoint ? 1 : 0;
    }
  }
  void Add(const Score& other) {
    planted += other.planted;
    named += other.named;
    right += other.right;
    lines += other.lines;
  }
  double precision() const { return named > 0 ? right / named : 1; }
  double recall() const { return planted > 0 ? right / planted : 1; }
};

// What is planted in a trial.
enum class Fault : uint8_t { kNone, kRow, kColumn, kPoint, kTwoRows };

NamedSet Draw(Fault fault, const std::vector<DelayCell>& cells, Random& random) {
  const DelayCell& cell = cells[random.Below(cells.size())];
  switch (fault) {
    case Fault::kNone:
      return {};
    case Fault::kRow:
      return {{Named::Kind::kRow, cell.source, 0}};
    case Fault::kColumn:
      return {{Named::Kind::kColumn, 0, cell.destination}};
    case Fault::kPoint:
      return {{Named::Kind::kPoint, cell.source, cell.destination}};
    case Fault::kTwoRows: {
      NamedSet two = {{Named::Kind::kRow, cell.source, 0}};
      while (two.size() < 2) two.insert({Named::Kind::kRow, cells[random.Below(cells.size())].source, 0});
      return two;
    }
  }
  return {};
}

void Plant(const NamedSet& truth, double factor, std::vector<DelayCell>& cells) {
  for (const Named& name : truth) {
    diagnosis::c4d::PlantDelay(cells, factor, [&](uint32_t source, uint32_t destination) {
      return (name.kind == Named::Kind::kColumn || source == name.source) &&
             (name.kind == Named::Kind::kRow || destination == name.destination);
    });
  }
}

struct Scores {
  Score ours;
  Score mean_ratio;
};

// Sender and receiver of each [cell]; delays are drawn again in each trial.
struct Pattern {
  std::string name;
  uint32_t ranks = 0;
  std::function<std::vector<DelayCell>(double message_cv, Random&)> draw;
};

constexpr double kMessagesPerCell = 30;  // the fewest that count

Pattern Dense(uint32_t ranks) {
  return {"dense", ranks,
          [ranks](double cv, Random& random) { return diagnosis::c4d::MakeDenseDelays(ranks, cv, random); }};
}

Pattern Sparse(std::string name, execution::DataParallelAlgorithm algorithm, uint32_t ranks) {
  execution::JobShape shape;
  shape.data_parallel = ranks;
  shape.gpus_per_host = 1;
  shape.algorithm = algorithm;
  std::vector<model::RankId> members;
  for (uint32_t r = 0; r < ranks; ++r) members.emplace_back(r);
  std::set<std::pair<uint32_t, uint32_t>> pairs;
  for (const auto& edge : execution::DataParallelPattern(shape, members).edges) {
    pairs.insert({edge.source, edge.destination});
  }
  return {std::move(name), ranks, [pairs](double cv, Random& random) {
            std::vector<DelayCell> cells;
            for (const auto& [source, destination] : pairs) {
              const double noise = diagnosis::c4d::LogNormal(random, cv / std::sqrt(kMessagesPerCell));
              cells.push_back({source, destination, 3e-11 * noise});
            }
            return cells;
          }};
}

struct Case {
  std::string row;
  Pattern pattern;
  std::vector<Fault> faults;  // taken in turn
  double factor = kFactor;
  double message_cv = 0.2;
};

Scores Simulate(const Case& test_case, uint32_t num_trials, uint64_t seed, const experiment::RunContext& context) {
  std::vector<Scores> trials(num_trials);
  ParallelFor(num_trials, context.num_threads, *context.stop, [&](size_t t) {
    Random random(CombineHash(seed, t));
    std::vector<DelayCell> cells = test_case.pattern.draw(test_case.message_cv, random);
    const NamedSet truth = Draw(test_case.faults[t % test_case.faults.size()], cells, random);
    Plant(truth, test_case.factor, cells);
    const uint32_t n = test_case.pattern.ranks;
    trials[t].ours.Add(truth, NamesOf(diagnosis::c4d::ScoreDelays(cells, n, n)));
    trials[t].mean_ratio.Add(truth, NamesOf(diagnosis::c4d::CompareWithMean(cells, n, n)));
  });
  Scores sum;
  for (const Scores& trial : trials) {
    sum.ours.Add(trial.ours);
    sum.mean_ratio.Add(trial.mean_ratio);
  }
  return sum;
}

std::vector<Case> AllCases() {
  using execution::DataParallelAlgorithm;
  const std::vector<Fault> one = {Fault::kRow, Fault::kColumn, Fault::kPoint};
  const std::vector<Fault> two = {Fault::kTwoRows};
  std::vector<Case> cases;
  for (const uint32_t ranks : {8u, 32u, 128u, 512u}) {
    cases.push_back({fmt::format("dense {}, one fault", ranks), Dense(ranks), one});
    cases.push_back({fmt::format("dense {}, two rows", ranks), Dense(ranks), two});
  }
  for (const uint32_t ranks : {8u, 32u}) {
    cases.push_back({fmt::format("dense {}, one fault, factor 6", ranks), Dense(ranks), one, kLargeFactor});
    cases.push_back({fmt::format("dense {}, two rows, factor 6", ranks), Dense(ranks), two, kLargeFactor});
  }
  cases.push_back({"dense 32, one fault, noise CV 1", Dense(32), one, kFactor, 1.0});
  for (const uint32_t ranks : {8u, 64u, 512u, 4096u}) {
    cases.push_back(
        {fmt::format("ring {}", ranks), Sparse("ring", DataParallelAlgorithm::kRing, ranks), {Fault::kPoint}});
  }
  for (const uint32_t ranks : {64u, 4096u}) {
    cases.push_back(
        {fmt::format("tree {}", ranks), Sparse("tree", DataParallelAlgorithm::kTree, ranks), {Fault::kPoint}});
  }
  cases.push_back({"dense 64, healthy", Dense(64), {Fault::kNone}});
  return cases;
}

bool IsSparse(const Case& test_case) { return test_case.pattern.name != "dense"; }

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  report::BarFigure figure;
  figure.title = "Planted faults that are named";
  figure.description = "Recall of the delay matrix and of the ratio to the mean; dense matrices.";
  figure.y_label = "recall";
  figure.y_domain = {0, 1};
  figure.series = {"ratio to the mean", "delay matrix"};
  const std::vector<Case> cases = AllCases();
  for (size_t c = 0; c < cases.size(); ++c) {
    const Case& test_case = cases[c];
    const uint32_t num_trials = context.reduced ? kNumReducedTrials : kNumTrials;
    const Scores scores = Simulate(test_case, num_trials, CombineHash(context.seed, c), context);
    if (context.should_stop()) {
      outcome.is_partial = true;
      return outcome;
    }
    context.Report(static_cast<double>(c + 1) / static_cast<double>(cases.size()));
    if (test_case.faults.front() == Fault::kNone) {
      outcome.Set(test_case.row + ": names", scores.ours.named);
      continue;
    }
    outcome.Set(test_case.row + ": precision", scores.ours.precision());
    outcome.Set(test_case.row + ": recall", scores.ours.recall());
    if (IsSparse(test_case)) {
      outcome.Set(test_case.row + ": rows or columns named", scores.ours.lines);
      continue;
    }
    outcome.Set(test_case.row + ": precision, mean ratio", scores.mean_ratio.precision());
    outcome.Set(test_case.row + ": recall, mean ratio", scores.mean_ratio.recall());
    figure.groups.push_back({test_case.row.substr(6), {scores.mean_ratio.recall(), scores.ours.recall()}, {}});
  }
  outcome.figures.push_back({figure.title, Draw(figure),
                             "A factor of 1.5 is planted unless stated otherwise; the noise of a message has CV 0.2."});
  outcome.notes.push_back(
      fmt::format("{} trials per row; a cell is the mean of {:.0f} messages, the fewest that count. Precision: of what "
                  "is named, the "
                  "share that was planted. Recall: of what was planted, the share that is named, as what it is.",
                  context.reduced ? kNumReducedTrials : kNumTrials, kMessagesPerCell));
  return outcome;
}

}  // namespace fairlead::experiments::c4d_delay_matrix

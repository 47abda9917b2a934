// The one file that knows COIN-OR CBC. Through its classes: the C interface installs signal handlers while it solves.
#include "scheduling/sia/assignment_program.h"

#include <fmt/format.h>

#include <CbcHeuristic.hpp>
#include <CbcModel.hpp>
#include <CoinError.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>
#include <algorithm>
#include <cmath>
#include <span>

namespace fairlead::scheduling::sia {
namespace {

constexpr double kGap = 1e-4;
constexpr double kWhole = 1e-9;

// An option as a column of the matrix.
struct Choice {
  uint32_t job = 0;
  uint32_t option = 0;
};

std::vector<Choice> ListChoices(const std::vector<std::vector<AssignmentOption>>& options, double idle_cost,
                                const std::vector<double>& counts) {
  std::vector<Choice> choices;
  for (uint32_t j = 0; j < options.size(); ++j) {
    for (uint32_t o = 0; o < options[j].size(); ++o) {
      const AssignmentOption& option = options[j][o];
      if (option.cost < idle_cost && option.num_gpus <= counts[option.gpu_type]) choices.push_back({j, o});
    }
  }
  return choices;
}

// Rows: [j] options of the job, [jobs + t] GPUs of the type.
void LoadProgram(const std::vector<std::vector<AssignmentOption>>& options, const std::vector<Choice>& choices,
                 double idle_cost, const std::vector<double>& counts, OsiClpSolverInterface* solver) {
  const size_t num_jobs = options.size();
  std::vector<int> rows;
  std::vector<int> columns;
  std::vector<double> values;
  std::vector<double> savings;
  for (size_t c = 0; c < choices.size(); ++c) {
    const AssignmentOption& option = options[choices[c].job][choices[c].option];
    savings.push_back(option.cost - idle_cost);
    rows.insert(rows.end(), {static_cast<int>(choices[c].job), static_cast<int>(num_jobs + option.gpu_type)});
    columns.insert(columns.end(), 2, static_cast<int>(c));
    values.insert(values.end(), {1.0, option.num_gpus});
  }
  CoinPackedMatrix matrix(true, rows.data(), columns.data(), values.data(), static_cast<CoinBigIndex>(values.size()));
  matrix.setDimensions(static_cast<int>(num_jobs + counts.size()), static_cast<int>(choices.size()));
  const std::vector<double> lower(choices.size(), 0);
  const std::vector<double> upper(choices.size(), 1);
  const std::vector<double> row_lower(num_jobs + counts.size(), -solver->getInfinity());
  std::vector<double> row_upper(num_jobs, 1);
  row_upper.insert(row_upper.end(), counts.begin(), counts.end());
  solver->loadProblem(matrix, lower.data(), upper.data(), savings.data(), row_lower.data(), row_upper.data());
  for (size_t c = 0; c < choices.size(); ++c) solver->setInteger(static_cast<int>(c));
}

bool IsWhole(double value) { return std::abs(value - std::round(value)) < kWhole; }

void Take(std::span<const double> solution, const std::vector<Choice>& choices, Assignment* assignment) {
  for (size_t c = 0; c < choices.size(); ++c) {
    if (solution[c] > 0.5) (*assignment)[choices[c].job] = choices[c].option;
  }
}

// What is saved must be more than that to count as more: costs are rounded to hundredths, so many sums are equal.
constexpr double kLeastSaving = 1e-9;
// Counts as saved for each job that runs: of equal sums, that of most jobs.
constexpr double kRunning = 1e-7;

// Of one type of GPU: the best of the first jobs within so many GPUs, for all numbers of GPUs.
class Knapsack {
 public:
  Knapsack(const std::vector<std::vector<AssignmentOption>>& options, const std::vector<Choice>& choices,
           double idle_cost, size_t num_gpus)
      : options_(options), idle_cost_(idle_cost), num_gpus_(num_gpus), by_job_(options.size()) {
    for (const Choice& choice : choices) by_job_[choice.job].push_back(choice.option);
  }

  static bool IsSuitable(const std::vector<std::vector<AssignmentOption>>& options, const std::vector<Choice>& choices,
                         const std::vector<double>& counts) {
    if (counts.size() != 1 || counts[0] < 0 || !IsWhole(counts[0])) return false;
    if (counts[0] * static_cast<double>(choices.size()) > kMostKnapsackSteps) return false;
    return std::ranges::all_of(choices, [&](const Choice& c) { return IsWhole(options[c.job][c.option].num_gpus); });
  }

  Assignment Solve() {
    const size_t width = num_gpus_ + 1;
    std::vector<double> saved(width);  // by the jobs so far
    std::vector<double> before;
    taken_.assign(options_.size() * width, kIdle);
    for (size_t j = 0; j < options_.size(); ++j) {
      before = saved;
      for (const uint32_t o : by_job_[j]) {
        const AssignmentOption& option = options_[j][o];
        const double saving = idle_cost_ - option.cost + kRunning;
        const auto gpus = static_cast<size_t>(std::llround(option.num_gpus));
        for (size_t g = gpus; g < width; ++g) {
          if (before[g - gpus] + saving <= saved[g] + kLeastSaving) continue;
          saved[g] = before[g - gpus] + saving;
          taken_[j * width + g] = static_cast<int32_t>(o);
        }
      }
    }
    return Trace(width);
  }

 private:
  Assignment Trace(size_t width) const {
    Assignment assignment(options_.size());
    size_t left = num_gpus_;
    for (size_t j = options_.size(); j-- > 0;) {
      const int32_t option = taken_[j * width + left];
      if (option == kIdle) continue;
      assignment[j] = static_cast<uint32_t>(option);
      left -= static_cast<size_t>(std::llround(options_[j][*assignment[j]].num_gpus));
    }
    return assignment;
  }

  static constexpr int32_t kIdle = -1;
  static constexpr double kMostKnapsackSteps = 1e7;  // some ten milliseconds

  const std::vector<std::vector<AssignmentOption>>& options_;
  const double idle_cost_;
  const size_t num_gpus_;
  std::vector<std::vector<uint32_t>> by_job_;
  std::vector<int32_t> taken_;  // [job][GPUs]
};

}  // namespace

Result<Assignment> SolveAssignment(const std::vector<std::vector<AssignmentOption>>& options, double idle_cost,
                                   const std::vector<double>& counts) {
  Assignment assignment(options.size());
  const std::vector<Choice> choices = ListChoices(options, idle_cost, counts);
  if (choices.empty()) return assignment;
  if (Knapsack::IsSuitable(options, choices, counts)) {
    return Knapsack(options, choices, idle_cost, static_cast<size_t>(std::llround(counts[0]))).Solve();
  }
  try {
    OsiClpSolverInterface solver;
    solver.messageHandler()->setLogLevel(0);
    LoadProgram(options, choices, idle_cost, counts, &solver);
    solver.initialSolve();
    const std::span<const double> relaxed(solver.getColSolution(), choices.size());
    if (solver.isProvenOptimal() && std::ranges::all_of(relaxed, IsWhole)) {
      Take(relaxed, choices, &assignment);
      return assignment;
    }
    CbcModel model(solver);
    model.setLogLevel(0);
    model.setAllowableFractionGap(kGap);
    CbcRounding rounding(model);
    model.addHeuristic(&rounding);
    model.branchAndBound();
    if (model.bestSolution() == nullptr) {
      return Internal(fmt::format("sia: the integer program of {} jobs ended with status {} and no solution",
                                  options.size(), model.status()));
    }
    Take({model.bestSolution(), choices.size()}, choices, &assignment);
  } catch (const CoinError& error) {
    return Internal(fmt::format("sia: the integer program of {} jobs: {}", options.size(), error.message()));
  }
  return assignment;
}

}  // namespace fairlead::scheduling::sia

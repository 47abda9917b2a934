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

}  // namespace

Result<Assignment> SolveAssignment(const std::vector<std::vector<AssignmentOption>>& options, double idle_cost,
                                   const std::vector<double>& counts) {
  Assignment assignment(options.size());
  const std::vector<Choice> choices = ListChoices(options, idle_cost, counts);
  if (choices.empty()) return assignment;
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

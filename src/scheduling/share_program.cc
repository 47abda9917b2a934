// The one file that knows COIN-OR CLP.
#include "scheduling/share_program.h"

#include <Clp_C_Interface.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <tuple>

namespace fairlead::scheduling {
namespace {

constexpr double kShareSteps = 1e9;

// A matrix by columns, with its bounds, as CLP takes it.
struct Columns {
  std::vector<CoinBigIndex> starts = {0};
  std::vector<int> rows;
  std::vector<double> values;
  std::vector<double> lower, upper, objective;

  void Add(int row, double value) {
    rows.push_back(row);
    values.push_back(value);
  }
  void EndColumn(double most, double gain) {
    starts.push_back(static_cast<CoinBigIndex>(rows.size()));
    lower.push_back(0);
    upper.push_back(most);
    objective.push_back(-gain);  // CLP minimises
  }
};

bool IsCounted(const ShareJob& job) { return job.need > 0 && std::ranges::max(job.speeds) > 0; }

enum class Objective : uint8_t { kMultiple, kSum };

// Rows: [j] multiple of the job, [n + j] time of the job, [2 n + t] GPUs of the type.
Columns BuildColumns(const std::vector<ShareJob>& jobs, size_t num_types, Objective objective) {
  const int n = static_cast<int>(jobs.size());
  Columns columns;
  for (int j = 0; j < n; ++j) {
    const ShareJob& job = jobs[static_cast<size_t>(j)];
    for (size_t t = 0; t < num_types; ++t) {
      if (objective == Objective::kMultiple && IsCounted(job)) columns.Add(j, -job.speeds[t] / job.need);
      columns.Add(n + j, 1);
      columns.Add(2 * n + static_cast<int>(t), job.num_gpus);
      columns.EndColumn(1, objective == Objective::kSum ? job.speeds[t] : 0);
    }
  }
  if (objective == Objective::kSum) return columns;
  for (int j = 0; j < n; ++j) {
    if (IsCounted(jobs[static_cast<size_t>(j)])) columns.Add(j, 1);
  }
  columns.EndColumn(std::numeric_limits<double>::max(), 1);
  return columns;
}

// Equal jobs get equal shares, those of their mean: as good, and not up to the solver.
void ShareEqually(const std::vector<ShareJob>& jobs, std::vector<std::vector<double>>* shares) {
  std::map<std::tuple<double, double, std::vector<double>>, std::vector<size_t>> groups;
  for (size_t j = 0; j < jobs.size(); ++j) groups[{jobs[j].num_gpus, jobs[j].need, jobs[j].speeds}].push_back(j);
  for (const auto& [unused, equal] : groups) {
    std::vector<double> mean((*shares)[equal.front()].size());
    for (const size_t j : equal) {
      for (size_t t = 0; t < mean.size(); ++t) mean[t] += (*shares)[j][t] / static_cast<double>(equal.size());
    }
    for (const size_t j : equal) (*shares)[j] = mean;
  }
}

Result<TypeShares> Solve(const std::vector<ShareJob>& jobs, const std::vector<double>& counts, Objective objective) {
  TypeShares result;
  if (jobs.empty() || counts.empty()) return result;
  const size_t n = jobs.size();
  const Columns columns = BuildColumns(jobs, counts.size(), objective);
  std::vector<double> row_upper(2 * n, 0);
  std::fill(row_upper.begin() + static_cast<ptrdiff_t>(n), row_upper.end(), 1);
  row_upper.insert(row_upper.end(), counts.begin(), counts.end());
  const std::vector<double> row_lower(row_upper.size(), -std::numeric_limits<double>::max());
  const std::unique_ptr<Clp_Simplex, decltype(&Clp_deleteModel)> model(Clp_newModel(), &Clp_deleteModel);
  Clp_setLogLevel(model.get(), 0);
  Clp_loadProblem(model.get(), static_cast<int>(columns.lower.size()), static_cast<int>(row_upper.size()),
                  columns.starts.data(), columns.rows.data(), columns.values.data(), columns.lower.data(),
                  columns.upper.data(), columns.objective.data(), row_lower.data(), row_upper.data());
  Clp_dual(model.get(), 0);
  if (Clp_status(model.get()) != 0) {
    return Internal(
        fmt::format("shares of time: the linear program of {} jobs ended with status {}", n, Clp_status(model.get())));
  }
  const double* solution = Clp_primalColumnSolution(model.get());
  for (size_t j = 0; j < n; ++j) {
    result.shares.emplace_back(solution + j * counts.size(), solution + (j + 1) * counts.size());
  }
  ShareEqually(jobs, &result.shares);
  for (auto& own : result.shares) {
    // Without the solver's noise, which would order jobs of equal shares.
    for (double& share : own) share = std::round(share * kShareSteps) / kShareSteps;
  }
  result.value = -Clp_objectiveValue(model.get());
  return result;
}

}  // namespace

Result<TypeShares> SolveLargestMultiple(const std::vector<ShareJob>& jobs, const std::vector<double>& counts) {
  if (std::ranges::none_of(jobs, IsCounted)) {
    // The multiple would be unbounded; nobody needs anything.
    return TypeShares{std::vector<std::vector<double>>(jobs.size(), std::vector<double>(counts.size())), 0};
  }
  return Solve(jobs, counts, Objective::kMultiple);
}

Result<TypeShares> SolveLargestSum(const std::vector<ShareJob>& jobs, const std::vector<double>& counts) {
  return Solve(jobs, counts, Objective::kSum);
}

}  // namespace fairlead::scheduling

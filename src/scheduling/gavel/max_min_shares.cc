// The linear program of Gavel, in COIN-OR CLP. The one file that knows CLP.
#include <Clp_C_Interface.h>
#include <fmt/format.h>

#include <limits>
#include <memory>
#include <numeric>

#include "scheduling/gavel/gavel.h"

namespace fairlead::scheduling::gavel {
namespace {

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

double FairSpeed(const GavelJob& job, const std::vector<double>& counts) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  return total > 0 ? std::inner_product(counts.begin(), counts.end(), job.speeds.begin(), 0.0) / total : 0;
}

// Rows: [j] z of the job, [n + j] time of the job, [2 n + t] GPUs of the type.
Columns BuildColumns(const std::vector<GavelJob>& jobs, const std::vector<double>& counts) {
  const int n = static_cast<int>(jobs.size());
  Columns columns;
  for (int j = 0; j < n; ++j) {
    const GavelJob& job = jobs[static_cast<size_t>(j)];
    const double fair = FairSpeed(job, counts);
    for (size_t t = 0; t < counts.size(); ++t) {
      if (fair > 0) columns.Add(j, -job.speeds[t] * job.num_gpus / (job.weight * fair));
      columns.Add(n + j, 1);
      columns.Add(2 * n + static_cast<int>(t), job.num_gpus);
      columns.EndColumn(1, 0);
    }
  }
  for (int j = 0; j < n; ++j) {
    // A job that runs nowhere would hold z at 0 for all.
    if (FairSpeed(jobs[static_cast<size_t>(j)], counts) > 0) columns.Add(j, 1);
  }
  columns.EndColumn(std::numeric_limits<double>::max(), 1);
  return columns;
}

}  // namespace

Result<GavelShares> SolveMaxMinShares(const std::vector<GavelJob>& jobs, const std::vector<double>& counts) {
  GavelShares result;
  if (jobs.empty() || counts.empty()) return result;
  const size_t n = jobs.size();
  const Columns columns = BuildColumns(jobs, counts);
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
        fmt::format("gavel: the linear program of {} jobs ended with status {}", n, Clp_status(model.get())));
  }
  const double* solution = Clp_primalColumnSolution(model.get());
  for (size_t j = 0; j < n; ++j) {
    result.shares.emplace_back(solution + j * counts.size(), solution + (j + 1) * counts.size());
  }
  result.worst = solution[n * counts.size()];
  return result;
}

}  // namespace fairlead::scheduling::gavel

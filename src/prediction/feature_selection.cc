#include "prediction/feature_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "prediction/correlations.h"
#include "prediction/random_forest.h"

namespace fairlead::prediction {

namespace {

std::span<const double> Column(const Eigen::MatrixXd& x, size_t column) {
  return {x.col(static_cast<Eigen::Index>(column)).data(), static_cast<size_t>(x.rows())};
}

// Why the column can't be used at all, or empty.
std::string ColumnProblem(std::span<const double> column) {
  if (!std::ranges::all_of(column, [](double v) { return std::isfinite(v); })) return "has values that are not finite";
  const auto [low, high] = std::ranges::minmax(column);
  return low == high ? "is the same everywhere" : "";
}

void MeasureImportance(const FeatureTable& table, const std::vector<size_t>& usable, uint64_t seed, size_t num_trees,
                       std::vector<FeatureStatistics>* statistics) {
  const FeatureTable part = table.Columns(usable);
  const RandomForest forest =
      RandomForest::Train(part.x, part.y, BalancedWeights(part.y), {.num_trees = num_trees}, seed);
  for (size_t i = 0; i < usable.size(); ++i) {
    (*statistics)[usable[i]].importance = forest.importance()(static_cast<Eigen::Index>(i));
  }
}

// Marks what is important or correlated enough. Args: `ranked` by importance, largest first.
void KeepStrong(const std::vector<size_t>& ranked, const SelectionOptions& options,
                std::vector<FeatureStatistics>* statistics) {
  for (size_t rank = 0; rank < ranked.size(); ++rank) {
    FeatureStatistics& s = (*statistics)[ranked[rank]];
    const double strongest = std::max({std::abs(s.pearson), std::abs(s.spearman), std::abs(s.kendall)});
    s.is_kept = rank < options.num_top || strongest >= options.correlation_min;
    if (!s.is_kept) s.reason = fmt::format("has little to do with the label (at most {:.2f})", strongest);
  }
}

void DropRedundant(const FeatureTable& table, const std::vector<size_t>& ranked, double above,
                   std::vector<FeatureStatistics>* statistics) {
  for (size_t i = 0; i < ranked.size(); ++i) {
    FeatureStatistics& weaker = (*statistics)[ranked[i]];
    for (size_t j = 0; j < i && weaker.is_kept; ++j) {
      if (!(*statistics)[ranked[j]].is_kept) continue;
      const double together = SpearmanCorrelation(Column(table.x, ranked[i]), Column(table.x, ranked[j]));
      if (std::abs(together) <= above) continue;
      weaker.is_kept = false;
      weaker.reason = fmt::format("nearly the same as '{}' ({:.2f})", table.names[ranked[j]], together);
    }
  }
}

}  // namespace

FeatureSelection SelectFeatures(const FeatureTable& table, uint64_t seed, const SelectionOptions& options) {
  FeatureSelection selection;
  selection.statistics.resize(table.num_columns());
  std::vector<size_t> usable;
  const std::span<const double> label(table.y.data(), table.num_rows());
  for (size_t column = 0; column < table.num_columns(); ++column) {
    FeatureStatistics& s = selection.statistics[column];
    s.reason = ColumnProblem(Column(table.x, column));
    if (!s.reason.empty()) continue;
    usable.push_back(column);
    s.pearson = PearsonCorrelation(Column(table.x, column), label);
    s.spearman = SpearmanCorrelation(Column(table.x, column), label);
    s.kendall = KendallTauB(Column(table.x, column), label);
  }
  if (usable.empty()) return selection;
  MeasureImportance(table, usable, seed, options.num_trees, &selection.statistics);
  std::vector<size_t> ranked = usable;
  std::ranges::stable_sort(ranked, std::greater(), [&](size_t c) { return selection.statistics[c].importance; });
  KeepStrong(ranked, options, &selection.statistics);
  DropRedundant(table, ranked, options.redundant_above, &selection.statistics);
  std::ranges::copy_if(usable, std::back_inserter(selection.kept),
                       [&](size_t c) { return selection.statistics[c].is_kept; });
  return selection;
}

}  // namespace fairlead::prediction

// Which features are worth keeping?
//
// Method      per feature: Pearson, Spearman, Kendall with the label, and its share of the impurity that a random
//             forest removes. Kept: the `num_top` most important, and all with a correlation of `correlation_min` or
//             more. Of two that go together almost perfectly (|Spearman| > redundant_above) the more important stays.
// Cost        O(features^2 * n log n) and one forest.
// Guarantees  constant columns and columns with NaN are dropped, with a message. At least one feature is kept, or the
//             table has none to keep. Same input and seed, same choice.
// Reference   Zhao et al., AITurbo, HPDC 2021; thresholds are ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "prediction/feature_table.h"

namespace fairlead::prediction {

struct SelectionOptions {
  size_t num_top = 12;
  double correlation_min = 0.1;
  double redundant_above = 0.95;
  size_t num_trees = 100;  // of the forest that measures importance
};

struct FeatureStatistics {
  double pearson = 0;
  double spearman = 0;
  double kendall = 0;
  double importance = 0;
  bool is_kept = false;
  std::string reason;  // why not kept; empty when kept
};

struct FeatureSelection {
  std::vector<FeatureStatistics> statistics;  // [column]
  std::vector<size_t> kept;                   // columns, in order
};

FeatureSelection SelectFeatures(const FeatureTable& table, uint64_t seed, const SelectionOptions& options = {});

}  // namespace fairlead::prediction

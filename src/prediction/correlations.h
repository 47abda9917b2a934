// How strongly do two columns go together? Pearson, Spearman, Kendall.
//
// Notation    r -> Pearson;  rho -> Spearman: r of average ranks;  tau_b -> Kendall:
//             (C - D) / sqrt((n0 - n1)(n0 - n2)); C, D concordant and discordant pairs,
//             n0 all pairs, n1, n2 pairs tied in x and in y
// Method      Kendall: sort by (x, y), then count the exchanges that a merge sort by y makes.
// Cost        O(n) for Pearson, O(n log n) for the others.
// Guarantees  in [-1, 1]; 0 where a column is constant. Spearman and Kendall don't change under increasing maps of
//             either column, Pearson under positive affine ones.
// Reference   Zhao et al., AITurbo, HPDC 2021 (which three); Knight, JASA 1966 (the merge sort).
// Oracle      correlations_test.cc: Kendall over all pairs.
#pragma once

#include <span>
#include <vector>

namespace fairlead::prediction {

// Args: both of the same length, finite.
double PearsonCorrelation(std::span<const double> x, std::span<const double> y);
double SpearmanCorrelation(std::span<const double> x, std::span<const double> y);
double KendallTauB(std::span<const double> x, std::span<const double> y);

// Ranks from 1; equal values share the mean of theirs.
std::vector<double> AverageRanks(std::span<const double> values);

}  // namespace fairlead::prediction

// Least squares with coefficients that are not negative.
//
// Problem     minimise |A x - b| subject to x >= 0.
// Notation    gradient -> A^T (b - A x);  passive -> coefficients that may be positive, the others stay 0
// Method      Lawson-Hanson active sets: the coefficient with the largest gradient becomes passive; where the least
//             squares of the passive ones turn negative, the first to reach 0 leaves. Columns are scaled to length 1.
// Cost        O(columns) factorizations of rows x passive, by pivoted Householder QR.
// Guarantees  the Karush-Kuhn-Tucker conditions to rounding: gradient <= 0 where x = 0, about 0 elsewhere.
// Differs     Eigen 3.4 has none (it came later); ends after 10 x columns + 10 rounds, which rounding alone can need.
// Reference   Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23.
// Oracle      nnls_test.cc: every subset of columns, for up to five.
#pragma once

#include <Eigen/Core>

namespace fairlead::prediction {

// Args: rows >= 1, all entries finite; columns may be dependent or zero (then some x stay 0).
// Returns: x, one for each column.
Eigen::VectorXd SolveNnls(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);

}  // namespace fairlead::prediction

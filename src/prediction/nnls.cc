#include "prediction/nnls.h"

#include <Eigen/QR>
#include <vector>

#include "base/check.h"

namespace fairlead::prediction {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Least squares over the passive columns; 0 elsewhere.
VectorXd SolvePassive(const MatrixXd& a, const VectorXd& b, const std::vector<bool>& is_passive) {
  std::vector<Index> columns;
  for (Index j = 0; j < a.cols(); ++j) {
    if (is_passive[static_cast<size_t>(j)]) columns.push_back(j);
  }
  const VectorXd packed = MatrixXd(a(Eigen::all, columns)).colPivHouseholderQr().solve(b);
  VectorXd x = VectorXd::Zero(a.cols());
  for (size_t i = 0; i < columns.size(); ++i) x(columns[i]) = packed(static_cast<Index>(i));
  return x;
}

// Moves x towards `wanted` until the first passive coefficient reaches 0, which becomes active.
void MoveToBoundary(const VectorXd& wanted, VectorXd& x, std::vector<bool>& is_passive) {
  double fraction = 1;
  Index leaving = -1;
  for (Index j = 0; j < x.size(); ++j) {
    if (!is_passive[static_cast<size_t>(j)] || wanted(j) > 0) continue;
    const double reach = x(j) > 0 ? x(j) / (x(j) - wanted(j)) : 0;
    if (leaving < 0 || reach < fraction) {
      fraction = reach;
      leaving = j;
    }
  }
  FL_CHECK(leaving >= 0);
  x += fraction * (wanted - x);
  is_passive[static_cast<size_t>(leaving)] = false;
  x(leaving) = 0;
}

// The column outside of `is_passive` and `is_blocked` with the most helpful coefficient, or -1.
Index BestEntering(const VectorXd& gradient, const std::vector<bool>& is_passive, const std::vector<bool>& is_blocked,
                   double tolerance) {
  Index best = -1;
  for (Index j = 0; j < gradient.size(); ++j) {
    const size_t at = static_cast<size_t>(j);
    if (is_passive[at] || is_blocked[at] || gradient(j) <= tolerance) continue;
    if (best < 0 || gradient(j) > gradient(best)) best = j;
  }
  return best;
}

}  // namespace

VectorXd SolveNnls(const MatrixXd& a, const VectorXd& b) {
  FL_CHECK(a.rows() >= 1 && a.rows() == b.size());
  const VectorXd lengths = a.colwise().norm().transpose().unaryExpr([](double l) { return l > 0 ? l : 1.0; });
  const MatrixXd scaled = a * lengths.cwiseInverse().asDiagonal();
  VectorXd x = VectorXd::Zero(a.cols());
  std::vector<bool> is_passive(static_cast<size_t>(a.cols()), false);
  const double tolerance = 1e-13 * b.norm();
  std::vector<bool> is_blocked = is_passive;
  for (Index round = 0; round < 10 * a.cols() + 10; ++round) {
    const VectorXd gradient = scaled.transpose() * (b - scaled * x);
    const Index entering = BestEntering(gradient, is_passive, is_blocked, tolerance);
    if (entering < 0) break;
    is_passive[static_cast<size_t>(entering)] = true;
    VectorXd wanted = SolvePassive(scaled, b, is_passive);
    // What the passive columns span already comes back as 0 or below: no progress is to be had with this column now.
    if (wanted(entering) <= 0) {
      is_passive[static_cast<size_t>(entering)] = false;
      is_blocked[static_cast<size_t>(entering)] = true;
      continue;
    }
    while ((wanted.array() < 0).any()) {
      MoveToBoundary(wanted, x, is_passive);
      wanted = SolvePassive(scaled, b, is_passive);
    }
    x = wanted;
    is_blocked.assign(is_blocked.size(), false);
  }
  return x.cwiseQuotient(lengths);
}

}  // namespace fairlead::prediction

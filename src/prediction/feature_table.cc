#include "prediction/feature_table.h"

namespace fairlead::prediction {

namespace {

std::vector<Eigen::Index> ToIndices(const std::vector<size_t>& items) { return {items.begin(), items.end()}; }

}  // namespace

FeatureTable FeatureTable::Rows(const std::vector<size_t>& rows) const {
  FeatureTable part;
  part.names = names;
  part.x = x(ToIndices(rows), Eigen::all);
  part.y = y(ToIndices(rows));
  for (const size_t row : rows) part.groups.push_back(groups[row]);
  return part;
}

FeatureTable FeatureTable::Columns(const std::vector<size_t>& columns) const {
  FeatureTable part;
  for (const size_t column : columns) part.names.push_back(names[column]);
  part.x = x(Eigen::all, ToIndices(columns));
  part.y = y;
  part.groups = groups;
  return part;
}

Eigen::VectorXd BalancedWeights(const Eigen::VectorXd& y) {
  const auto n = static_cast<double>(y.size());
  const double positives = y.sum();
  if (positives <= 0 || positives >= n) return Eigen::VectorXd::Ones(y.size());
  return y.unaryExpr([=](double label) { return n / (2 * (label > 0.5 ? positives : n - positives)); });
}

Standardization Standardize(const Eigen::MatrixXd& x) {
  Standardization result;
  result.mean = x.colwise().mean().transpose();
  const Eigen::MatrixXd centered = x.rowwise() - result.mean.transpose();
  const auto n = static_cast<double>(x.rows());
  result.deviation = (centered.colwise().squaredNorm().transpose() / n).cwiseSqrt();
  for (double& deviation : result.deviation) {
    if (!(deviation > 1e-12)) deviation = 1;
  }
  return result;
}

Eigen::MatrixXd Standardization::Apply(const Eigen::MatrixXd& x) const {
  return (x.rowwise() - mean.transpose()) * deviation.cwiseInverse().asDiagonal();
}

}  // namespace fairlead::prediction

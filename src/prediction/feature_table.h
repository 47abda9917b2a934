// Rows of features with labels: what learners learn from.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <string>
#include <vector>

namespace fairlead::prediction {

struct FeatureTable {
  std::vector<std::string> names;  // of the columns
  Eigen::MatrixXd x;               // [row, column]
  Eigen::VectorXd y;               // [row] 0 or 1
  std::vector<size_t> groups;      // [row] the job; rows of one job are never split between folds

  size_t num_rows() const { return static_cast<size_t>(x.rows()); }
  size_t num_columns() const { return static_cast<size_t>(x.cols()); }

  FeatureTable Rows(const std::vector<size_t>& rows) const;
  FeatureTable Columns(const std::vector<size_t>& columns) const;
};

// Weights n / (2 n_c) that make both classes count the same; 1 where there is only one class.
Eigen::VectorXd BalancedWeights(const Eigen::VectorXd& y);

// Mean and standard deviation of columns; constant columns have deviation 1.
struct Standardization {
  Eigen::VectorXd mean;
  Eigen::VectorXd deviation;

  Eigen::MatrixXd Apply(const Eigen::MatrixXd& x) const;
};
Standardization Standardize(const Eigen::MatrixXd& x);

}  // namespace fairlead::prediction

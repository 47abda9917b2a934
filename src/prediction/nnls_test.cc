// Laws of the least squares without negative coefficients: optimality, exhaustive search, bad columns.
#include "prediction/nnls.h"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <limits>
#include <vector>

#include "base/random.h"

namespace fairlead::prediction {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Problem {
  MatrixXd a;
  VectorXd b;
};

Problem RandomProblem(Random& random, Index rows, Index columns) {
  Problem problem{MatrixXd(rows, columns), VectorXd(rows)};
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) problem.a(i, j) = random.Uniform(-1, 1) * (j == 0 ? 1000 : 1);
    problem.b(i) = random.Uniform(-1, 1);
  }
  return problem;
}

// The least residual over all subsets of columns with least squares without a negative coefficient: the definition.
double BestResidualOfAllSubsets(const Problem& problem) {
  double best = problem.b.norm();
  const Index columns = problem.a.cols();
  for (unsigned subset = 1; subset < (1u << columns); ++subset) {
    std::vector<Index> chosen;
    for (Index j = 0; j < columns; ++j) {
      if (subset >> j & 1) chosen.push_back(j);
    }
    const MatrixXd part = problem.a(Eigen::all, chosen);
    const VectorXd x = part.colPivHouseholderQr().solve(problem.b);
    if ((x.array() >= 0).all()) best = std::min(best, (part * x - problem.b).norm());
  }
  return best;
}

TEST(NnlsTest, SatisfiesKarushKuhnTuckerAndEqualsExhaustiveSearch) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Index columns = static_cast<Index>(1 + random.Below(5));
    const Problem problem = RandomProblem(random, static_cast<Index>(2 + random.Below(12)), columns);
    const VectorXd x = SolveNnls(problem.a, problem.b);
    const VectorXd gradient = problem.a.transpose() * (problem.b - problem.a * x);
    for (Index j = 0; j < columns; ++j) {
      const double scale = problem.a.col(j).norm() * problem.b.norm();
      EXPECT_GE(x(j), 0);
      EXPECT_LE(gradient(j), 1e-10 * scale) << "column " << j << " would still help";
      if (x(j) > 0) {
        EXPECT_NEAR(gradient(j), 0, 1e-10 * scale) << "column " << j;
      }
    }
    EXPECT_NEAR((problem.a * x - problem.b).norm(), BestResidualOfAllSubsets(problem), 1e-9);
  }
}

TEST(NnlsTest, RecoversCoefficientsThatAreNotNegative) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Problem problem = RandomProblem(random, 12, 4);
    VectorXd truth(4);
    for (Index j = 0; j < 4; ++j) truth(j) = random.Below(3) == 0 ? 0 : random.Uniform(0.1, 5);
    problem.b = problem.a * truth;
    const VectorXd x = SolveNnls(problem.a, problem.b);
    EXPECT_LT((x - truth).cwiseAbs().maxCoeff(), 1e-9);
  }
}

TEST(NnlsTest, DependentZeroAndHopelessColumns) {
  MatrixXd a(3, 4);
  // Column 1 is twice column 0, column 2 is zero, column 3 points away from b.
  a << 1, 2, 0, -1, 2, 4, 0, -2, 3, 6, 0, -3;
  const VectorXd b = 6 * a.col(0);
  const VectorXd x = SolveNnls(a, b);
  EXPECT_NEAR(x(0) + 2 * x(1), 6, 1e-12) << "the two dependent columns share 6 times column 0";
  EXPECT_EQ(x(2), 0);
  EXPECT_EQ(x(3), 0);
  EXPECT_EQ(SolveNnls(a, VectorXd::Zero(3)), VectorXd::Zero(4));
}

}  // namespace
}  // namespace fairlead::prediction

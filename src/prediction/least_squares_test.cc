// Least squares: against normal equations, on a curved valley, and where derivatives don't span all variables.
#include "prediction/least_squares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace fairlead::prediction {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

// f = A x - b.
struct LinearProblem {
  std::vector<std::array<double, 3>> a;
  std::vector<double> b;

  size_t num_values() const { return a.size(); }
  size_t num_rows() const { return a.size(); }
  double ValueAt(const Vector<3>& x, size_t i) const { return a[i][0] * x[0] + a[i][1] * x[1] + a[i][2] * x[2] - b[i]; }
  void Evaluate(const Vector<3>& x, std::span<double> values) const {
    for (size_t i = 0; i < a.size(); ++i) values[i] = ValueAt(x, i);
  }
  void Linearize(const Vector<3>& /*x*/, std::span<const double> values, std::span<LinearRow<3>> rows) const {
    for (size_t i = 0; i < a.size(); ++i) rows[i] << a[i][0], a[i][1], a[i][2], values[i];
  }
};

LinearProblem RandomProblem(uint64_t seed) {
  Random random(seed);
  LinearProblem problem;
  for (int i = 0; i < 12; ++i) {
    problem.a.push_back({random.Uniform(-1, 1), random.Uniform(-1, 1), random.Uniform(-1, 1)});
    problem.b.push_back(random.Uniform(-1, 1));
  }
  return problem;
}

constexpr LeastSquaresOptions kExact{.tolerance = 1e-14, .evaluations_max = 1000};

// At the least sum of squares the values are at right angles to each column: A^T (A x - b) = 0.
TEST(LeastSquaresTest, OfLinearValuesTheGradientVanishes) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    LinearProblem problem = RandomProblem(seed);
    Vector<3> x{1, 1, 1};
    LeastSquares<3, LinearProblem>(problem, kExact).Minimize(&x);
    for (size_t v = 0; v < 3; ++v) {
      double gradient = 0;
      for (size_t i = 0; i < problem.a.size(); ++i) gradient += problem.a[i][v] * problem.ValueAt(x, i);
      EXPECT_NEAR(gradient, 0, 1e-9) << seed;
    }
  }
}

// Two equal columns: only the sum of their variables matters. One column of zeros: its variable stays.
TEST(LeastSquaresTest, VariablesThatDontMatterStayFinite) {
  LinearProblem problem = RandomProblem(7);
  for (auto& row : problem.a) row = {row[0], row[0], 0};
  Vector<3> x{1, 2, 5};
  LeastSquares<3, LinearProblem>(problem, kExact).Minimize(&x);
  double product = 0;
  double square = 0;
  for (size_t i = 0; i < problem.a.size(); ++i) {
    product += problem.a[i][0] * problem.b[i];
    square += problem.a[i][0] * problem.a[i][0];
  }
  EXPECT_NEAR(x[0] + x[1], product / square, 1e-9);
  EXPECT_EQ(x[2], 5);
}

// Rosenbrock's valley: 10 (y - x^2), 1 - x. Its only minimum is (1, 1).
struct Valley {
  static size_t num_values() { return 2; }
  static size_t num_rows() { return 2; }
  static void Evaluate(const Vector<2>& x, std::span<double> values) {
    values[0] = 10 * (x[1] - x[0] * x[0]);
    values[1] = 1 - x[0];
  }
  static void Linearize(const Vector<2>& x, std::span<const double> values, std::span<LinearRow<2>> rows) {
    rows[0] << -20 * x[0], 10, values[0];
    rows[1] << -1, 0, values[1];
  }
};

TEST(LeastSquaresTest, FollowsACurvedValley) {
  Valley valley;
  Vector<2> x{-1.2, 1};
  LeastSquares<2, Valley>(valley, kExact).Minimize(&x);
  EXPECT_THAT(x, ElementsAre(DoubleNear(1, 1e-9), DoubleNear(1, 1e-9)));
}

TEST(LeastSquaresTest, StopsAtTheLastEvaluation) {
  Valley valley;
  Vector<2> x{-1.2, 1};
  LeastSquares<2, Valley>(valley, {.tolerance = 1e-14, .evaluations_max = 2}).Minimize(&x);
  EXPECT_GT(std::abs(x[0] - 1), 0.1);
}

}  // namespace
}  // namespace fairlead::prediction

// Least squares of few variables: x with the least sum of squares of some values, by their derivatives.
//
// Problem     minimise |f(x)|, f: N variables -> at least N values; a fit of some 30 values that is made hundreds of
//             times a run.
// Notation    J -> derivatives of f;  D -> scale_, the largest norm of each column of J so far;  r -> radius_;
//             lambda -> damping_
// Method      Levenberg-Marquardt as in MINPACK's lmder: each step solves (J^T J + lambda D^2) p = -J^T f by a QR
//             factorization of J with pivoting, where lambda is such that |D p| is about r; r grows where f falls as
//             its derivatives say, and shrinks where not.
// Cost        for each step O(rows * N^2), and nothing is allocated.
// Differs     Eigen's solver of the same method makes the same steps, up to rounding, but allocates its vectors anew in
//             each and works on matrices of any size: twice the time for seven variables. Problems may hand over fewer
//             rows than values, where many depend on few variables.
// Reference   Moré, The Levenberg-Marquardt algorithm: implementation and theory, 1978.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"

namespace fairlead::prediction {

struct LeastSquaresOptions {
  double tolerance = 1e-6;  // relative, of the sum of squares and of x
  int evaluations_max = 1000;
};

// The N variables, or something of each.
template <size_t N>
using Vector = std::array<double, N>;

template <size_t N>
double Norm(const Vector<N>& x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  return std::sqrt(squares);
}

inline double Norm(std::span<const double> x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  return std::sqrt(squares);
}

template <size_t N>
Vector<N> Scaled(const Vector<N>& scale, const Vector<N>& x) {
  Vector<N> product;
  for (size_t v = 0; v < N; ++v) product[v] = scale[v] * x[v];
  return product;
}

// Derivatives of one value by the variables, and the value itself.
template <size_t N>
using LinearRow = Eigen::Array<double, N + 1, 1>;

// J P = Q R by Householder reflections, the longest column first. Columns stay where they are, and those that are done
// are reflected on with the others: rows of one length are what vector instructions are for.
template <size_t N>
class PivotedQr {
 public:
  using Square = std::array<Vector<N>, N>;  // [column][row]

  // Args: rows: overwritten. scratch: as many.
  PivotedQr(std::span<LinearRow<N>> rows, std::span<double> scratch) : rows_(rows), reflector_(scratch) {
    LinearRow<N> squares = LinearRow<N>::Zero();
    for (const LinearRow<N>& row : rows_) squares += row * row;
    for (size_t v = 0; v < N; ++v) {
      pivots_[v] = v;
      column_norms_[v] = std::sqrt(squares[v]);
    }
    lengths_ = exact_lengths_ = column_norms_;
    const double longest = *std::ranges::max_element(lengths_);
    const double negligible = kEpsilon * kEpsilon * longest * longest / static_cast<double>(rows_.size());
    size_t num_nonzero = N;
    double largest = 0;
    for (size_t k = 0; k < N; ++k) {
      const double length = TakeLongest(k);
      if (num_nonzero == N && length * length < negligible * static_cast<double>(rows_.size() - k)) num_nonzero = k;
      const double diagonal = Reflect(k);
      for (size_t c = k; c < N; ++c) r_[c][k] = c == k ? diagonal : rows_[k][pivots_[c]];
      largest = std::max(largest, std::abs(diagonal));
      for (size_t c = k + 1; c < N; ++c) Shorten(k, c);
    }
    for (size_t k = 0; k < num_nonzero; ++k) {
      rank_ += std::abs(r_[k][k]) > largest * kEpsilon * static_cast<double>(N) ? 1 : 0;
    }
    for (size_t k = 0; k < N; ++k) projected_[k] = rows_[k][N];
  }

  const Square& r() const { return r_; }
  // [place] variable.
  const std::array<size_t, N>& pivots() const { return pivots_; }
  // The first N of Q^T f.
  const Vector<N>& projected() const { return projected_; }
  // Of J, by variable.
  const Vector<N>& column_norms() const { return column_norms_; }
  size_t rank() const { return rank_; }

  // R^T f' at `place`, f' the projected values: the gradient.
  double Gradient(size_t place) const {
    double sum = 0;
    for (size_t i = 0; i <= place; ++i) sum += r_[place][i] * projected_[i];
    return sum;
  }
  Vector<N> Permuted(const Vector<N>& x) const {
    Vector<N> by_place;
    for (size_t place = 0; place < N; ++place) by_place[place] = x[pivots_[place]];
    return by_place;
  }
  Vector<N> ByVariable(const Vector<N>& by_place) const {
    Vector<N> x;
    for (size_t place = 0; place < N; ++place) x[pivots_[place]] = by_place[place];
    return x;
  }

 private:
  static constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

  double TakeLongest(size_t k) {
    size_t longest = k;
    for (size_t c = k + 1; c < N; ++c) longest = lengths_[c] > lengths_[longest] ? c : longest;
    std::swap(r_[k], r_[longest]);
    std::swap(lengths_[k], lengths_[longest]);
    std::swap(exact_lengths_[k], exact_lengths_[longest]);
    std::swap(pivots_[k], pivots_[longest]);
    return lengths_[k];
  }

  // Makes the column at the place `k` zero below its diagonal, and does the same to all other columns.
  // Returns: its diagonal.
  double Reflect(size_t k) {
    const size_t pivot = pivots_[k];
    const double head = rows_[k][pivot];
    double below = 0;
    for (size_t i = k + 1; i < rows_.size(); ++i) {
      reflector_[i] = rows_[i][pivot];
      below += reflector_[i] * reflector_[i];
    }
    if (below <= std::numeric_limits<double>::min()) return head;
    const double diagonal = head >= 0 ? -std::sqrt(head * head + below) : std::sqrt(head * head + below);
    const double inverse = 1 / (head - diagonal);
    LinearRow<N> along = LinearRow<N>::Zero();
    for (size_t i = k + 1; i < rows_.size(); ++i) {
      reflector_[i] *= inverse;
      along += reflector_[i] * rows_[i];
    }
    along += rows_[k];
    const double factor = (diagonal - head) / diagonal;
    rows_[k] -= factor * along;
    for (size_t i = k + 1; i < rows_.size(); ++i) rows_[i] -= factor * reflector_[i] * along;
    return diagonal;
  }

  // The length of the column `c` without its row `k`; measured anew where too many digits have gone.
  void Shorten(size_t k, size_t c) {
    if (lengths_[c] == 0) return;
    const double part = std::abs(r_[c][k]) / lengths_[c];
    const double left = std::max((1 + part) * (1 - part), 0.0);
    const double since = lengths_[c] / exact_lengths_[c];
    if (left * since * since <= std::sqrt(kEpsilon)) {
      double squares = 0;
      for (size_t i = k + 1; i < rows_.size(); ++i) squares += rows_[i][pivots_[c]] * rows_[i][pivots_[c]];
      lengths_[c] = exact_lengths_[c] = std::sqrt(squares);
    } else {
      lengths_[c] *= std::sqrt(left);
    }
  }

  std::span<LinearRow<N>> rows_;
  std::span<double> reflector_;
  Square r_{};
  std::array<size_t, N> pivots_{};
  Vector<N> projected_{};
  Vector<N> column_norms_{};
  Vector<N> lengths_{};        // [place] of what is left of the columns
  Vector<N> exact_lengths_{};  // when they were measured last
  size_t rank_ = 0;
};

// A step with so much damping that it is about as long as it may be.
template <size_t N>
class DampedStep {
 public:
  DampedStep(const PivotedQr<N>& qr, const Vector<N>& scale) : qr_(qr), scale_(scale) {}

  // Args: damping: of the step before; written.
  // Returns: -p.
  Vector<N> Solve(double radius, double* damping) {
    Vector<N> step = UndampedStep();
    double excess = Norm(Scaled(scale_, step)) - radius;
    if (excess <= kSlack * radius) {
      *damping = 0;
      return step;
    }
    double least = qr_.rank() == N ? excess / radius / Sensitivity(step) : 0;
    Vector<N> gradient;
    for (size_t place = 0; place < N; ++place) gradient[place] = qr_.Gradient(place) / scale_[qr_.pivots()[place]];
    double most = Norm(gradient) / radius;
    if (most == 0) most = kTiny / std::min(radius, kSlack);
    *damping = std::clamp(*damping, std::min(least, most), most);
    if (*damping == 0) *damping = Norm(gradient) / (excess + radius);
    for (int iteration = 1;; ++iteration) {
      if (*damping == 0) *damping = std::max(kTiny, 0.001 * most);
      step = StepWith(*damping);
      const double before = std::exchange(excess, Norm(Scaled(scale_, step)) - radius);
      const bool is_beyond = least == 0 && excess <= before && before < 0;
      if (std::abs(excess) <= kSlack * radius || is_beyond || iteration == kIterationsMax) return step;
      const double change = excess / radius / DampedSensitivity(step);
      if (excess > 0) least = std::max(least, *damping);
      if (excess < 0) most = std::min(most, *damping);
      *damping = std::max(least, *damping + change);
    }
  }

 private:
  static constexpr double kSlack = 0.1;
  static constexpr double kTiny = std::numeric_limits<double>::min();
  static constexpr int kIterationsMax = 10;

  // R p = Q^T f, without what a rank that is not full leaves open.
  Vector<N> UndampedStep() const {
    Vector<N> step = qr_.projected();
    for (size_t i = qr_.rank(); i < N; ++i) step[i] = 0;
    for (size_t i = qr_.rank(); i-- > 0;) {
      step[i] /= qr_.r()[i][i];
      for (size_t above = 0; above < i; ++above) step[above] -= qr_.r()[i][above] * step[i];
    }
    return qr_.ByVariable(step);
  }

  // |R^-T P^T D^2 p|^2 / |D p|^2: how fast the length of a step falls with damping.
  double Sensitivity(const Vector<N>& step) const {
    Vector<N> x = Direction(step);
    for (size_t i = 0; i < N; ++i) {
      for (size_t before = 0; before < i; ++before) x[i] -= qr_.r()[i][before] * x[before];
      x[i] /= qr_.r()[i][i];
    }
    return Norm(x) * Norm(x);
  }
  // The same with the factor of the last StepWith().
  double DampedSensitivity(const Vector<N>& step) const {
    Vector<N> x = Direction(step);
    for (size_t i = 0; i < N; ++i) {
      x[i] /= diagonal_[i];
      for (size_t after = i + 1; after < N; ++after) x[after] -= damped_[i][after] * x[i];
    }
    return Norm(x) * Norm(x);
  }
  Vector<N> Direction(const Vector<N>& step) const {
    const Vector<N> scaled = Scaled(scale_, step);
    Vector<N> x = Scaled(scale_, scaled);
    const double length = Norm(scaled);
    for (double& value : x) value /= length;
    return qr_.Permuted(x);
  }

  // Rotates the rows of sqrt(damping) D into R, one after the other; `damped_` is the transposed result.
  Vector<N> StepWith(double damping) {
    for (size_t i = 0; i < N; ++i) {
      for (size_t after = i; after < N; ++after) damped_[i][after] = qr_.r()[after][i];
    }
    Vector<N> values = qr_.projected();
    Vector<N> row;
    const double root = std::sqrt(damping);
    for (size_t j = 0; j < N; ++j) {
      std::fill(row.begin() + static_cast<ptrdiff_t>(j), row.end(), 0.0);
      row[j] = root * scale_[qr_.pivots()[j]];
      if (row[j] == 0) break;
      double value = 0;
      for (size_t k = j; k < N; ++k) RotateInto(k, &row, &values[k], &value);
    }
    for (size_t i = 0; i < N; ++i) diagonal_[i] = damped_[i][i];
    const auto singular = static_cast<size_t>(std::ranges::find(diagonal_, 0.0) - diagonal_.begin());
    for (size_t i = singular; i < N; ++i) values[i] = 0;
    for (size_t i = singular; i-- > 0;) {
      for (size_t after = i + 1; after < singular; ++after) values[i] -= damped_[i][after] * values[after];
      values[i] /= diagonal_[i];
    }
    return qr_.ByVariable(values);
  }

  // Turns the row `k` and another one so that the other one's first value becomes 0.
  void RotateInto(size_t k, Vector<N>* row, double* here, double* there) {
    const double other = (*row)[k];
    if (other == 0) return;
    const double slope = damped_[k][k] / other;
    const double sine = (slope > 0 ? 1 : -1) / std::sqrt(1 + slope * slope);
    const double cosine = slope * sine;
    damped_[k][k] = cosine * damped_[k][k] + sine * other;
    for (size_t i = k + 1; i < N; ++i) {
      const double turned = cosine * damped_[k][i] + sine * (*row)[i];
      (*row)[i] = cosine * (*row)[i] - sine * damped_[k][i];
      damped_[k][i] = turned;
    }
    const double turned = cosine * *here + sine * *there;
    *there = cosine * *there - sine * *here;
    *here = turned;
  }

  const PivotedQr<N>& qr_;
  const Vector<N>& scale_;
  typename PivotedQr<N>::Square damped_{};
  Vector<N> diagonal_{};
};

// Problem has
//   num_values(), num_rows()        >= N
//   Evaluate(x, values)             writes f
//   Linearize(x, values, rows)      args: values of x; rows: num_rows() of zeros. Adds J and f, or fewer rows with the
//                                   same J^T J and J^T f.
template <size_t N, class Problem>
class LeastSquares {
 public:
  LeastSquares(Problem& problem, const LeastSquaresOptions& options)
      : problem_(problem),
        options_(options),
        values_(problem.num_values()),
        next_values_(values_.size()),
        scratch_(problem.num_rows()),
        rows_(scratch_.size()) {
    FL_CHECK(rows_.size() >= N);
  }

  void Minimize(Vector<N>* x) {
    scale_.fill(0);
    damping_ = 0;
    is_first_ = true;
    problem_.Evaluate(*x, values_);
    norm_ = Norm(std::span<const double>(values_));
    num_evaluations_ = 1;
    while (Step(x)) {
    }
  }

 private:
  // Returns: whether to go on.
  bool Step(Vector<N>* x) {
    for (LinearRow<N>& row : rows_) row.setZero();
    problem_.Linearize(*x, values_, std::span(rows_));
    const PivotedQr<N> qr(rows_, scratch_);
    for (size_t v = 0; v < N; ++v) scale_[v] = std::max(scale_[v], qr.column_norms()[v]);
    if (is_first_) {
      for (double& scale : scale_) scale = scale == 0 ? 1 : scale;
      x_norm_ = Norm(Scaled(scale_, *x));
      radius_ = x_norm_ == 0 ? kFirstRadius : kFirstRadius * x_norm_;
    }
    const double slope = LargestSlope(qr);
    if (slope <= 0) return false;
    bool is_taken = false;
    while (!is_taken) {
      if (!Try(qr, slope, x, &is_taken)) return false;
    }
    return true;
  }

  // Cosine of the angle between f and a column of J, the largest.
  double LargestSlope(const PivotedQr<N>& qr) const {
    double largest = 0;
    if (norm_ == 0) return 0;
    for (size_t place = 0; place < N; ++place) {
      const double length = qr.column_norms()[qr.pivots()[place]];
      if (length != 0) largest = std::max(largest, std::abs(qr.Gradient(place) / norm_ / length));
    }
    return largest;
  }

  bool Try(const PivotedQr<N>& qr, double slope, Vector<N>* x, bool* is_taken) {
    Vector<N> step = DampedStep<N>(qr, scale_).Solve(radius_, &damping_);
    Vector<N> next;
    for (size_t v = 0; v < N; ++v) next[v] = (*x)[v] - step[v];
    const double length = Norm(Scaled(scale_, step));
    if (is_first_) radius_ = std::min(radius_, length);
    problem_.Evaluate(next, next_values_);
    ++num_evaluations_;
    const double next_norm = Norm(std::span<const double>(next_values_));
    const double actual = 0.1 * next_norm < norm_ ? 1 - (next_norm / norm_) * (next_norm / norm_) : -1;
    const double linear = LinearChange(qr, step) / norm_;
    const double damped = std::sqrt(damping_) * length / norm_;
    const double predicted = linear * linear + 2 * damped * damped;
    const double ratio = predicted != 0 ? actual / predicted : 0;
    AdaptRadius(ratio, actual, -(linear * linear + damped * damped), next_norm, length);
    *is_taken = ratio >= kWorthwhile;
    if (*is_taken) {
      *x = next;
      std::swap(values_, next_values_);
      x_norm_ = Norm(Scaled(scale_, *x));
      norm_ = next_norm;
      is_first_ = false;
    }
    const double tolerance = options_.tolerance;
    const bool is_flat = std::abs(actual) <= tolerance && predicted <= tolerance && ratio <= 2;
    const bool is_short = radius_ <= tolerance * x_norm_;
    return !is_flat && !is_short && num_evaluations_ < options_.evaluations_max && slope > kEpsilon;
  }

  // |J p|.
  double LinearChange(const PivotedQr<N>& qr, const Vector<N>& step) const {
    const Vector<N> by_place = qr.Permuted(step);
    Vector<N> change{};
    for (size_t c = 0; c < N; ++c) {
      for (size_t i = 0; i <= c; ++i) change[i] += qr.r()[c][i] * by_place[c];
    }
    return Norm(change);
  }

  void AdaptRadius(double ratio, double actual, double direction, double next_norm, double length) {
    if (ratio <= 0.25) {
      double part = actual >= 0 ? 0.5 : 0.5 * direction / (direction + 0.5 * actual);
      if (0.1 * next_norm >= norm_ || part < 0.1) part = 0.1;
      radius_ = part * std::min(radius_, length / 0.1);
      damping_ /= part;
    } else if (damping_ == 0 || ratio >= 0.75) {
      radius_ = length / 0.5;
      damping_ *= 0.5;
    }
  }

  static constexpr double kFirstRadius = 100;
  static constexpr double kWorthwhile = 1e-4;  // of what was predicted
  static constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

  Problem& problem_;
  LeastSquaresOptions options_;
  std::vector<double> values_;  // f(x)
  std::vector<double> next_values_;
  std::vector<double> scratch_;
  std::vector<LinearRow<N>> rows_;  // J and f
  Vector<N> scale_{};
  double norm_ = 0;  // |f(x)|
  double x_norm_ = 0;
  double radius_ = 0;
  double damping_ = 0;
  bool is_first_ = true;
  int num_evaluations_ = 0;
};

}  // namespace fairlead::prediction

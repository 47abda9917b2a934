#include "prediction/neural_network.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <vector>

#include "base/random.h"
#include "prediction/logistic_regression.h"
#include "prediction/matrix_json.h"

namespace fairlead::prediction {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Weights {
  MatrixXd hidden;  // [unit, feature + 1]
  VectorXd output;  // [unit + 1]
};

struct Batch {
  MatrixXd x;  // [row, feature + 1], the last column is 1
  VectorXd y;
  VectorXd weights;
};

struct Forward {
  MatrixXd activations;  // [row, unit + 1], the last column is 1
  VectorXd scores;
};

Forward Evaluate(const Weights& w, const MatrixXd& x) {
  Forward f;
  f.activations.resize(x.rows(), w.hidden.rows() + 1);
  f.activations << (x * w.hidden.transpose()).array().tanh().matrix(), VectorXd::Ones(x.rows());
  f.scores = (f.activations * w.output).unaryExpr(&Sigmoid);
  return f;
}

double MeanLoss(const Weights& w, const Batch& batch) {
  const VectorXd scores = Evaluate(w, batch.x).scores;
  double sum = 0;
  for (Index i = 0; i < scores.size(); ++i) {
    const double p = std::clamp(scores(i), 1e-12, 1 - 1e-12);
    sum -= batch.weights(i) * (batch.y(i) * std::log(p) + (1 - batch.y(i)) * std::log(1 - p));
  }
  return sum / batch.weights.sum();
}

Weights Gradient(const Weights& w, const Batch& batch) {
  const Forward f = Evaluate(w, batch.x);
  const VectorXd error = batch.weights.cwiseProduct(f.scores - batch.y) / batch.weights.sum();
  const Index units = w.hidden.rows();
  const MatrixXd slopes = 1 - f.activations.leftCols(units).array().square();
  const MatrixXd back = (error * w.output.head(units).transpose()).cwiseProduct(slopes);
  return {back.transpose() * batch.x, f.activations.transpose() * error};
}

// Adam (Kingma and Ba, 2015) on one array of weights.
class Adam {
 public:
  explicit Adam(double rate) : rate_(rate) {}

  template <class Array>
  void Update(const Array& gradient, Array& mean, Array& square, Array& weights, int epoch) const {
    mean = kMeanDecay * mean + (1 - kMeanDecay) * gradient;
    square = kSquareDecay * square + (1 - kSquareDecay) * gradient.cwiseProduct(gradient);
    const double mean_bias = 1 - std::pow(kMeanDecay, epoch);
    const double square_bias = 1 - std::pow(kSquareDecay, epoch);
    weights.array() -= rate_ * (mean.array() / mean_bias) / ((square.array() / square_bias).sqrt() + 1e-8);
  }

 private:
  static constexpr double kMeanDecay = 0.9;
  static constexpr double kSquareDecay = 0.999;
  double rate_;
};

Weights RandomWeights(Index units, Index inputs, Random& random) {
  Weights w{MatrixXd(units, inputs), VectorXd(units + 1)};
  const double reach = std::sqrt(6.0 / static_cast<double>(inputs + units));
  for (double& v : w.hidden.reshaped()) v = random.Uniform(-reach, reach);
  for (double& v : w.output) v = random.Uniform(-reach, reach);
  return w;
}

// A fifth is held out; where there are too few rows, training rows are used.
std::pair<Batch, Batch> SplitRows(const Batch& all, Random& random) {
  std::vector<Index> order(static_cast<size_t>(all.y.size()));
  std::iota(order.begin(), order.end(), Index{0});
  random.Shuffle(std::span(order));
  const auto num_held = static_cast<std::ptrdiff_t>(order.size() / 5);
  const std::vector<Index> held(order.begin(), order.begin() + num_held);
  const std::vector<Index> rest(order.begin() + num_held, order.end());
  const auto take = [&](const std::vector<Index>& rows) {
    return Batch{all.x(rows, Eigen::all), all.y(rows), all.weights(rows)};
  };
  return {take(rest), take(held.empty() ? rest : held)};
}

}  // namespace

NeuralNetwork NeuralNetwork::Train(const MatrixXd& x, const VectorXd& y, const VectorXd& weights,
                                   const NetworkOptions& options, uint64_t seed) {
  Random random(seed);
  Batch all{MatrixXd(x.rows(), x.cols() + 1), y, weights};
  all.x << x, VectorXd::Ones(x.rows());
  const auto [training, held_out] = SplitRows(all, random);
  Weights w = RandomWeights(static_cast<Index>(options.num_units), all.x.cols(), random);
  Weights mean{MatrixXd::Zero(w.hidden.rows(), w.hidden.cols()), VectorXd::Zero(w.output.size())};
  Weights square = mean;
  Weights best = w;
  double best_loss = std::numeric_limits<double>::infinity();
  int best_epoch = 0;
  const Adam adam(options.learning_rate);
  for (int epoch = 1; epoch <= options.num_epochs && epoch - best_epoch <= options.patience; ++epoch) {
    const Weights gradient = Gradient(w, training);
    adam.Update(gradient.hidden, mean.hidden, square.hidden, w.hidden, epoch);
    adam.Update(gradient.output, mean.output, square.output, w.output, epoch);
    if (const double loss = MeanLoss(w, held_out); loss < best_loss) {
      best = w;
      best_loss = loss;
      best_epoch = epoch;
    }
  }
  NeuralNetwork network;
  network.hidden_ = best.hidden;
  network.output_ = best.output;
  return network;
}

double NeuralNetwork::Score(const VectorXd& features) const {
  const Index inputs = features.size();
  const VectorXd units = (hidden_.leftCols(inputs) * features + hidden_.col(inputs)).array().tanh();
  return Sigmoid(output_.head(units.size()).dot(units) + output_(units.size()));
}

nlohmann::json NeuralNetwork::ToJson() const {
  return {{"hidden", MatrixToJson(hidden_)}, {"output", VectorToJson(output_)}};
}

Result<std::unique_ptr<Learner>> NeuralNetwork::FromJson(const nlohmann::json& json, size_t num_features) {
  auto network = std::make_unique<NeuralNetwork>();
  FL_ASSIGN_OR_RETURN(network->hidden_, MatrixFromJson(json, "hidden", std::nullopt, num_features + 1));
  const auto units = static_cast<size_t>(network->hidden_.rows());
  FL_ASSIGN_OR_RETURN(network->output_, VectorFromJson(json, "output", units + 1));
  return std::unique_ptr<Learner>(std::move(network));
}

}  // namespace fairlead::prediction

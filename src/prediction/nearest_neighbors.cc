#include "prediction/nearest_neighbors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "prediction/matrix_json.h"

namespace fairlead::prediction {

NearestNeighbors NearestNeighbors::Train(const Eigen::MatrixXd& x, const Eigen::VectorXd& y,
                                         const Eigen::VectorXd& weights, size_t num_neighbors) {
  NearestNeighbors model;
  model.x_ = x;
  model.y_ = y;
  model.weights_ = weights;
  model.num_neighbors_ = num_neighbors;
  return model;
}

double NearestNeighbors::Score(const Eigen::VectorXd& features) const {
  const Eigen::VectorXd squares = (x_.rowwise() - features.transpose()).rowwise().squaredNorm();
  std::vector<Eigen::Index> order(static_cast<size_t>(squares.size()));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  const size_t count = std::min(num_neighbors_, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), {},
                            [&](Eigen::Index row) { return std::pair(squares(row), row); });
  double votes = 0;
  double positive = 0;
  for (size_t i = 0; i < count; ++i) {
    const double vote = weights_(order[i]) / (std::sqrt(squares(order[i])) + 1e-9);
    votes += vote;
    positive += vote * y_(order[i]);
  }
  return std::clamp(positive / votes, 0.0, 1.0);
}

nlohmann::json NearestNeighbors::ToJson() const {
  return {{"neighbors", num_neighbors_},
          {"rows", MatrixToJson(x_)},
          {"labels", VectorToJson(y_)},
          {"weights", VectorToJson(weights_)}};
}

Result<std::unique_ptr<Learner>> NearestNeighbors::FromJson(const nlohmann::json& json, size_t num_features) {
  auto model = std::make_unique<NearestNeighbors>();
  FL_ASSIGN_OR_RETURN(const double neighbors, NumberFromJson(json, "neighbors"));
  FL_ASSIGN_OR_RETURN(model->x_, MatrixFromJson(json, "rows", std::nullopt, num_features));
  const auto rows = static_cast<size_t>(model->x_.rows());
  FL_ASSIGN_OR_RETURN(model->y_, VectorFromJson(json, "labels", rows));
  FL_ASSIGN_OR_RETURN(model->weights_, VectorFromJson(json, "weights", rows));
  if (!(neighbors >= 1) || !(neighbors <= 1e6) || !(model->weights_.array() > 0).all()) {
    return InvalidArgument("neighbors, weights: expected positive numbers");
  }
  model->num_neighbors_ = static_cast<size_t>(neighbors);
  return std::unique_ptr<Learner>(std::move(model));
}

}  // namespace fairlead::prediction

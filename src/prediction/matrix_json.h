// Vectors and matrices as JSON lists, read back with their sizes checked.
#pragma once

#include <Eigen/Core>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace fairlead::prediction {

nlohmann::json VectorToJson(const Eigen::VectorXd& v);
// A list of rows.
nlohmann::json MatrixToJson(const Eigen::MatrixXd& m);

// Read the entry `key` of an object. Errors: kInvalidArgument when it is missing, has another size (where one is
// given), or holds anything but finite numbers.
Result<double> NumberFromJson(const nlohmann::json& object, std::string_view key);
Result<Eigen::VectorXd> VectorFromJson(const nlohmann::json& object, std::string_view key, std::optional<size_t> size);
// Args: `rows` none: as many as there are, at least one.
Result<Eigen::MatrixXd> MatrixFromJson(const nlohmann::json& object, std::string_view key, std::optional<size_t> rows,
                                       size_t columns);

}  // namespace fairlead::prediction

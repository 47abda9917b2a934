#include "prediction/matrix_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace fairlead::prediction {

namespace {

using nlohmann::json;

Status Wrong(std::string_view key, std::string_view expected) {
  return InvalidArgument(fmt::format("{}: expected {}", key, expected));
}

// The entry, or null.
const json* Find(const json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(std::string(key));
  return found == object.end() ? nullptr : &*found;
}

bool ReadNumbers(const json& list, Eigen::VectorXd* out) {
  if (!list.is_array()) return false;
  out->resize(static_cast<Eigen::Index>(list.size()));
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_number()) return false;
    (*out)(static_cast<Eigen::Index>(i)) = list[i].get<double>();
  }
  return out->allFinite();
}

}  // namespace

json VectorToJson(const Eigen::VectorXd& v) { return std::vector<double>(v.begin(), v.end()); }

json MatrixToJson(const Eigen::MatrixXd& m) {
  json rows = json::array();
  for (Eigen::Index i = 0; i < m.rows(); ++i) rows.push_back(VectorToJson(m.row(i).transpose()));
  return rows;
}

Result<double> NumberFromJson(const json& object, std::string_view key) {
  const json* entry = Find(object, key);
  if (entry == nullptr || !entry->is_number() || !std::isfinite(entry->get<double>())) return Wrong(key, "a number");
  return entry->get<double>();
}

Result<Eigen::VectorXd> VectorFromJson(const json& object, std::string_view key, std::optional<size_t> size) {
  const json* entry = Find(object, key);
  Eigen::VectorXd vector;
  if (entry == nullptr || !ReadNumbers(*entry, &vector)) return Wrong(key, "a list of numbers");
  if (size && static_cast<size_t>(vector.size()) != *size) return Wrong(key, fmt::format("{} numbers", *size));
  return vector;
}

Result<Eigen::MatrixXd> MatrixFromJson(const json& object, std::string_view key, std::optional<size_t> rows,
                                       size_t columns) {
  const json* entry = Find(object, key);
  if (entry == nullptr || !entry->is_array() || entry->empty() || (rows && entry->size() != *rows)) {
    return Wrong(key, "a list of rows");
  }
  Eigen::MatrixXd matrix(static_cast<Eigen::Index>(entry->size()), static_cast<Eigen::Index>(columns));
  Eigen::VectorXd row;
  for (size_t i = 0; i < entry->size(); ++i) {
    if (!ReadNumbers((*entry)[i], &row) || row.size() != matrix.cols()) {
      return Wrong(key, fmt::format("rows of {} numbers", columns));
    }
    matrix.row(static_cast<Eigen::Index>(i)) = row.transpose();
  }
  return matrix;
}

}  // namespace fairlead::prediction

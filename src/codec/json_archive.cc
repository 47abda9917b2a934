#include "codec/json_archive.h"

#include <algorithm>

namespace fairlead::codec {

std::string ExpectedButFound(std::string_view expected, const Json& json) {
  return fmt::format(": expected {}, found {}", expected, DescribeValue(json));
}

std::string ReadInteger(const Json& json, uint64_t high, uint64_t* value) {
  if (json.is_number_unsigned() && json.get<uint64_t>() <= high) {
    *value = json.get<uint64_t>();
    return "";
  }
  return ExpectedButFound(fmt::format("an integer from 0 to {}", high), json);
}

std::string ReadSigned(const Json& json, int64_t low, int64_t high, int64_t* value) {
  const bool fits = json.is_number_unsigned() ? json.get<uint64_t>() <= static_cast<uint64_t>(high)
                                              : json.is_number_integer() && json.get<int64_t>() >= low;
  if (!fits) return ExpectedButFound(fmt::format("an integer from {} to {}", low, high), json);
  *value = json.get<int64_t>();
  return "";
}

std::string ReadText(const Json& json, std::string* value) {
  if (!json.is_string()) return ExpectedButFound("a text", json);
  *value = json.get_ref<const std::string&>();
  return "";
}

std::string ReadAddress(const Json& json, IpAddress* value) {
  if (json.is_string() && json.get_ref<const std::string&>() == "::") {
    *value = IpAddress();
    return "";
  }
  const Result<IpAddress> address =
      json.is_string() ? ParseIpAddress(json.get_ref<const std::string&>()) : InvalidArgument("no text");
  if (!address.ok()) return ExpectedButFound("an IP address", json);
  *value = *address;
  return "";
}

std::string ReadBool(const Json& json, bool* value) {
  if (!json.is_boolean()) return ExpectedButFound("true or false", json);
  *value = json.get<bool>();
  return "";
}

std::string ReadNumber(const Json& json, double* value) {
  if (!json.is_number()) return ExpectedButFound("a number", json);
  *value = json.get<double>();
  return "";
}

std::string ReadInfinite(const Json& json, double* value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (json == "inf") return *value = kInfinity, "";
  if (json == "-inf") return *value = -kInfinity, "";
  if (json == "nan" || json == "-nan") return *value = std::numeric_limits<double>::quiet_NaN(), "";
  return ReadNumber(json, value);
}

std::string JsonReader::Finish() const {
  if (!error_.empty() || reading_.unknown_keys == UnknownKeys::kIgnored || num_found_ == object_.size()) return error_;
  const auto end = known_.begin() + static_cast<std::ptrdiff_t>(num_known_);
  for (const auto& [key, value] : object_.items()) {
    if (std::find(known_.begin(), end, key) == end) return fmt::format(": unknown key {}", DescribeValue(Json(key)));
  }
  return "";
}

}  // namespace fairlead::codec

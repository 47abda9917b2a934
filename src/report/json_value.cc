#include "report/json_value.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace fairlead::report {

std::string Dump(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n'; }

Json NumberOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json NameOrNull(const std::string& name) { return name.empty() ? Json(nullptr) : Json(name); }

}  // namespace fairlead::report

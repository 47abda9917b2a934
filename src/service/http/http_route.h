// A part of what the HTTP gateway serves that comes from elsewhere than the gateway itself.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"

namespace fairlead::service {

// Called from the gateway's threads, several at once.
struct HttpRoute {
  std::string path;  // "/v1/steering"
  // GET, for readers; empty: there is none.
  std::function<nlohmann::ordered_json()> show = {};
  // POST of a JSON object, for operators; empty: there is none. Args: who: for the audit log. Returns what to answer.
  // Errors: kInvalidArgument, kNotFound, others: 400, 404, 503.
  std::function<Result<nlohmann::ordered_json>(const nlohmann::ordered_json& body, const std::string& who)> change = {};
};

}  // namespace fairlead::service

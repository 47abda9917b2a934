// A part of what the HTTP gateway serves that comes from elsewhere than the gateway itself.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"

namespace fairlead::service {

// Of the address: names and values, decoded; of a name that comes twice, the first.
using HttpQuery = std::map<std::string, std::string>;

// Called from the gateway's threads, several at once.
struct HttpRoute {
  std::string path;  // "/v1/steering"
  // GET, for readers; empty: there is none.
  std::function<nlohmann::ordered_json()> show = {};
  // The same with what stands behind the question mark. Errors: as of `change`.
  std::function<Result<nlohmann::ordered_json>(const HttpQuery& query)> ask = {};
  // POST of a JSON object, for operators; empty: there is none. Args: who: for the audit log. Returns what to answer.
  // Errors: kInvalidArgument, kNotFound, others: 400, 404, 503.
  std::function<Result<nlohmann::ordered_json>(const nlohmann::ordered_json& body, const std::string& who)> change = {};
};

}  // namespace fairlead::service

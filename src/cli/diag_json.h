// What the JSON of findings and of drills have in common.
#pragma once

#include <nlohmann/json.hpp>

#include "report/json_value.h"

namespace fairlead::cli {

// Its number, or null for none.
template <class IdType>
report::Json IdOrNull(IdType id) {
  return id.valid() ? report::Json(id.value()) : report::Json();
}

}  // namespace fairlead::cli

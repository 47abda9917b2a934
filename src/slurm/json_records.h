// The records of one list in a large JSON text, {"jobs": [{…}, …], …}, one after the other, as far as they are wanted.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fairlead::slurm {

struct JsonRecordOptions {
  std::string list;                         // "jobs"
  std::set<std::string, std::less<>> keys;  // of a record; others are passed over with all that is in them
};

// Calls take() with each record, which has the wanted keys only. The first failure of take() ends it.
// Errors: kInvalidArgument: no JSON, or no such list; kUnavailable: "errors" is not empty: the first one; those of
// take(). Cost: linear in the text; memory of one record.
Status ForEachJsonRecord(std::string_view text, const JsonRecordOptions& options,
                         const std::function<Status(const nlohmann::json&)>& take);

}  // namespace fairlead::slurm

// Where the controller keeps what must outlive it: named records, changed in batches.
//
// A batch is applied whole or not at all, and once Apply() has returned ok it survives the death of the process at any
// moment. What need not survive (leases of paths, which their holders announce again; measured speeds) is not kept.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fairlead::store {

struct Record {
  std::string key;  // any bytes; "job/17"
  std::string value;

  friend bool operator==(const Record&, const Record&) = default;
};

struct Change {
  std::string key;
  std::optional<std::string> value;  // nothing: the record is removed; it may be missing
};

class Store {
 public:
  virtual ~Store() = default;

  // Changes come into force in order; a key may come twice. Errors: kResourceExhausted  no room left;
  // kUnavailable  anything else that the disk says. In both cases nothing has changed, and trying again is fine.
  virtual Status Apply(std::span<const Change> changes) = 0;

  // All records with keys that begin with `prefix`, by key in byte order. Errors: kUnavailable.
  virtual Result<std::vector<Record>> List(std::string_view prefix) const = 0;
};

}  // namespace fairlead::store

// What was done to the cables of a lab, and when: RUN/NAME/cables.jsonl. Commands that cut, slow or repair a cable add
// a line each; whoever records a run reads them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace fairlead::lab {

struct CableChange {
  double at_s = 0;            // of the monotonic clock, which all processes of a machine share
  std::string cable;          // CableName()
  std::optional<size_t> end;  // only what this end sends; unset: both directions
  double health = 1;          // share of its speed from then on; 0: cut

  friend bool operator==(const CableChange&, const CableChange&) = default;
};

// Adds one that happens now. Args: lab_folder: of the lab. Errors: kUnavailable: the file can't be written.
Status NoteCableChange(const std::string& lab_folder, CableChange change);

// Those of [from_s, to_s], by time. Lines that are half written or something else are passed over.
std::vector<CableChange> ReadCableChanges(const std::string& lab_folder, double from_s, double to_s);

}  // namespace fairlead::lab

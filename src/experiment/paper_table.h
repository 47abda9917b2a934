// What a paper published about an experiment, read from the experiment's paper.yaml:
//
//     title: Near-optimality of each mechanism
//     paper: Cao et al., Crux, SIGCOMM 2024, section 4.4, Figure 16
//     seed: 1                          # used when the user names none
//     rows:
//       - {name: crux, unit: share, paper: 0.9769, low: 0.97, note: what differs and why}
//
// `paper` is left out where nothing was published; `low` and `high` are an acceptance band that the specification
// states, and are left out where it states none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fairlead::experiment {

struct PaperRow {
  std::string name;  // unique in its table
  std::string unit;  // "share", "s", "points", …
  std::optional<double> paper;
  std::optional<double> low;
  std::optional<double> high;
  std::string note;

  bool has_band() const { return low.has_value() || high.has_value(); }
};

struct PaperTable {
  std::string title;
  std::string source;  // which paper, section and figures
  uint64_t seed = 1;
  std::vector<PaperRow> rows;  // in the order people should see them
};

// Args: `name` replaces the file in messages. Errors: kInvalidArgument with file and line: unknown or missing keys, two
// rows of one name, low above high.
Result<PaperTable> ParsePaperTable(std::string_view yaml, const std::string& name);

}  // namespace fairlead::experiment

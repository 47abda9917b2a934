// The state of a lab as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "lab/lab_counters.h"
#include "lab/lab_state.h"
#include "report/document.h"
#include "report/json_value.h"

namespace fairlead::lab {

// One look at a lab: what it carried since it came up, and how fast it was during `interval_s` before now.
struct LabLook {
  LabCounters before;
  LabCounters now;
  double interval_s = 0;  // > 0
};

// "lab 'lab': 16 hosts, 8 leaves, 8 spines; 80 cables, 1 cut; process 4711".
std::string DescribeLab(const LabState& state);
// DescribeLab, then one row for each cable: those between switches, and with `all` those of hosts as well.
report::Document RenderStatus(const LabState& state, const LabLook& look, bool all);
//   {"lab", "source", "process", "own_hash_seeds", "scale", "nodes": [{"name", "role", "hash_seed", "addresses"}],
//    "cables": [{"name", "mbps", "health", "sent_bytes": [2], "sent_mbps": [2]}], "retransmitted_segments"}
// The two numbers are for the directions away from the lower tier and towards it.
report::Json StatusJson(const LabState& state, const LabLook& look);

}  // namespace fairlead::lab

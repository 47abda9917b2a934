// Which element of the network explains a set of connections on which data has stopped.
//
// Method      the smallest element that all of them have in common: the connection itself, one side of a NIC, the
//             NIC, a host, a leaf switch, a plane. Where nothing explains all, the connections fall into groups that
//             share NICs, and each group is explained alone.
// Differs     docs/spec/c4.md section 4.2 asks for the row and column test of section 5. Connections under way when
//             everything stopped are few, and each is stuck for certain, so having an end in common is the test here.
#pragma once

#include <cstdint>
#include <vector>

#include "model/finding.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

// Data that `from` handed to the network and `to` never got.
struct StuckLink {
  model::RankId from;
  model::RankId to;
  uint8_t plane = 0;

  friend constexpr auto operator<=>(const StuckLink&, const StuckLink&) = default;
};

// Returns culprits, ascending. Args: ranks of the layout.
std::vector<model::Culprit> LocateStuckElement(const model::JobLayout& layout, std::vector<StuckLink> links);

}  // namespace fairlead::diagnosis::c4d

// The flows of an iteration while it is being built: collectives append to it, groups stay dense.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "collective/rank_layout.h"
#include "model/flow.h"

namespace fairlead::collective {

struct FlowSet {
  std::vector<model::FlowDemand> flows;
  uint32_t num_groups = 0;
  double num_steps = 0;  // as in model::CommunicationPhase

  // A new group for flows that move in lockstep.
  uint32_t NewGroup() { return num_groups++; }
  // What was added, or is to be, has messages that wait for one another.
  void AddChain(double steps) { num_steps = std::max(num_steps, steps); }
  void Add(const RankPlace& source, const RankPlace& destination, Bytes bytes, uint32_t group) {
    flows.push_back({source.gpu, destination.gpu, bytes, group});
  }
  // A flow that moves on its own.
  void AddAlone(const RankPlace& source, const RankPlace& destination, Bytes bytes) {
    Add(source, destination, bytes, NewGroup());
  }
};

}  // namespace fairlead::collective

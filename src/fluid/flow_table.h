// The flows of a fluid network and the links they cross, laid out for the solver's inner loop.
//
// A flow's route is a contiguous run of uses, so that visiting a flow costs one or two cache lines. Routes are
// registered once and started many times; the solver keeps its per-flow state here too, because it is read together.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/ids.h"

namespace fairlead::fluid {

using FlowId = Id<struct FluidFlowTag>;

constexpr uint32_t kNoLink = std::numeric_limits<uint32_t>::max();

// A link on a route. A flow of rate r puts multiplicity * r on the link: a ring whose edges move in lockstep is one
// flow that crosses some links several times.
struct LinkUse {
  uint32_t link;
  uint32_t multiplicity = 1;  // >= 1

  friend bool operator==(const LinkUse&, const LinkUse&) = default;
};

class FlowTable {
 public:
  static constexpr uint32_t kNoUse = std::numeric_limits<uint32_t>::max();

  struct Flow {
    uint32_t first_use = 0;
    uint32_t num_uses = 0;
    uint32_t bottleneck_use = kNoUse;  // index of the use on the link that bounds the flow; the solver's
    bool active = false;               // the solver's
    bool open = false;                 // active and without a rate: being decided; the solver's
    bool ending = false;               // done, and still active until the next solution; the network's
    double weight = 1;
  };

  void Reserve(size_t num_flows, size_t num_uses);
  // Args     route: at least one link; links named twice are merged. weight: finite, > 0.
  // Returns  dense ids 0, 1, 2, …
  FlowId Add(std::span<const LinkUse> route, double weight);
  // Replaces the route of a flow that isn't active.
  void SetRoute(FlowId id, std::span<const LinkUse> route);
  // The same for its weight: finite, > 0.
  void SetWeight(FlowId id, double weight);

  size_t num_flows() const { return flows_.size(); }
  Flow& flow(uint32_t id) { return flows_[id]; }
  const Flow& flow(uint32_t id) const { return flows_[id]; }
  const LinkUse& use(uint32_t index) const { return uses_[index]; }
  std::span<const LinkUse> uses(const Flow& flow) const { return {uses_.data() + flow.first_use, flow.num_uses}; }
  // Position of a use in its link's list of active flows; owned by the solver. Apart from the uses, which are read far
  // more often.
  uint32_t& position(uint32_t use_index) { return positions_[use_index]; }
  // Starts to load a flow and the middle of its route into the cache.
  void Prefetch(uint32_t id, uint32_t use_index) const {
    __builtin_prefetch(&flows_[id]);
    __builtin_prefetch(&uses_[use_index]);
  }

 private:
  std::vector<Flow> flows_;
  std::vector<LinkUse> uses_;
  std::vector<uint32_t> positions_;  // [use]
};

}  // namespace fairlead::fluid

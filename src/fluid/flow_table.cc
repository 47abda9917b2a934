#include "fluid/flow_table.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace fairlead::fluid {

void FlowTable::Reserve(size_t num_flows, size_t num_uses) {
  flows_.reserve(num_flows);
  uses_.reserve(num_uses);
  positions_.reserve(num_uses);
}

FlowId FlowTable::Add(std::span<const LinkUse> route, double weight) {
  flows_.emplace_back();
  const FlowId id(flows_.size() - 1);
  SetWeight(id, weight);
  SetRoute(id, route);
  return id;
}

void FlowTable::SetWeight(FlowId id, double weight) {
  FL_CHECK_MSG(std::isfinite(weight) && weight > 0, "a flow's weight must be positive");
  Flow& flow = flows_[id.index()];
  FL_CHECK(!flow.active);
  flow.weight = weight;
}

void FlowTable::SetRoute(FlowId id, std::span<const LinkUse> route) {
  FL_CHECK_MSG(!route.empty(), "a flow must cross a link");
  Flow& flow = flows_[id.index()];
  FL_CHECK(!flow.active);
  // Routes rarely grow; when one does, its old run of uses is left behind.
  if (route.size() > flow.num_uses) {
    flow.first_use = static_cast<uint32_t>(uses_.size());
    uses_.resize(uses_.size() + route.size());
    positions_.resize(uses_.size());
    FL_CHECK(uses_.size() < kNoUse);
  }
  LinkUse* const uses = uses_.data() + flow.first_use;
  for (size_t i = 0; i < route.size(); ++i) {
    FL_CHECK(route[i].multiplicity >= 1);
    uses[i] = route[i];
  }
  // Merge the links named twice.
  std::sort(uses, uses + route.size(), [](const LinkUse& a, const LinkUse& b) { return a.link < b.link; });
  uint32_t num_uses = 1;
  for (size_t i = 1; i < route.size(); ++i) {
    if (uses[i].link == uses[num_uses - 1].link) {
      uses[num_uses - 1].multiplicity += uses[i].multiplicity;
    } else {
      uses[num_uses++] = uses[i];
    }
  }
  flow.num_uses = num_uses;
}

}  // namespace fairlead::fluid

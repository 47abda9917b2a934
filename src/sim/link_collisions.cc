#include "sim/link_collisions.h"

#include <algorithm>
#include <limits>

#include "sim/peak_demand.h"

namespace fairlead::sim {

namespace {

// A link that is exactly filled does not collide.
constexpr double kSlack = 1 + 1e-6;

bool IsBetweenSwitches(topology::LinkTier tier) {
  return tier == topology::LinkTier::kLeafSpine || tier == topology::LinkTier::kSpineCore;
}

// Adds what one phase asks of each link between switches. `flows_on` is scratch, 0 before and after.
void AddPhaseWishes(const JobState& job, const model::CommunicationPhase& phase, const topology::Fabric& fabric,
                    const IdVector<LinkId, double>& capacities, IdVector<LinkId, uint32_t>& flows_on,
                    PeakDemand& wishes) {
  const auto paths = std::span(job.paths).subspan(phase.first_flow, phase.num_flows);
  for (const model::Path& path : paths) {
    for (LinkId link : path) ++flows_on[link];
  }
  for (const model::Path& path : paths) {
    double wish = std::numeric_limits<double>::infinity();
    for (LinkId link : path) {
      if (!IsBetweenSwitches(fabric.tier(link))) wish = std::min(wish, capacities[link] / flows_on[link]);
    }
    for (LinkId link : path) {
      if (IsBetweenSwitches(fabric.tier(link))) wishes.Add(link, wish);
    }
  }
  for (const model::Path& path : paths) {
    for (LinkId link : path) flows_on[link] = 0;
  }
}

}  // namespace

std::vector<LinkId> FindCollidingLinks(std::span<const JobState* const> jobs, const topology::Fabric& fabric,
                                       const IdVector<LinkId, double>& capacities) {
  IdVector<LinkId, uint32_t> flows_on(fabric.num_links());
  PeakDemand wishes(fabric.num_links());
  for (const JobState* job : jobs) {
    for (const model::CommunicationPhase& phase : job->iteration->phases) {
      AddPhaseWishes(*job, phase, fabric, capacities, flows_on, wishes);
      wishes.EndPhase();
    }
    wishes.EndJob();
  }
  std::vector<LinkId> colliding;
  for (size_t i = 0; i < fabric.num_links(); ++i) {
    if (wishes.total(LinkId(i)) > capacities[LinkId(i)] * kSlack) colliding.emplace_back(i);
  }
  return colliding;
}

}  // namespace fairlead::sim

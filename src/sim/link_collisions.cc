#include "sim/link_collisions.h"

#include <algorithm>
#include <limits>

namespace fairlead::sim {

namespace {

// A link that is exactly filled does not collide.
constexpr double kSlack = 1 + 1e-6;

bool IsBetweenSwitches(topology::LinkTier tier) {
  return tier == topology::LinkTier::kLeafSpine || tier == topology::LinkTier::kSpineCore;
}

// Adds what one phase asks of each link between switches to `phase_wish`, and those links to `touched`.
void AddPhaseWishes(const JobState& job, const model::CommunicationPhase& phase, const topology::Fabric& fabric,
                    const IdVector<LinkId, double>& capacities, IdVector<LinkId, uint32_t>& flows_on,
                    IdVector<LinkId, double>& phase_wish, std::vector<LinkId>& touched) {
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
      if (!IsBetweenSwitches(fabric.tier(link))) continue;
      if (phase_wish[link] == 0) touched.push_back(link);
      phase_wish[link] += wish;
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
  IdVector<LinkId, double> phase_wish(fabric.num_links()), job_wish(fabric.num_links()), wish(fabric.num_links());
  std::vector<LinkId> phase_links, job_links;
  for (const JobState* job : jobs) {
    job_links.clear();
    for (const model::CommunicationPhase& phase : job->iteration->phases) {
      phase_links.clear();
      AddPhaseWishes(*job, phase, fabric, capacities, flows_on, phase_wish, phase_links);
      for (LinkId link : phase_links) {
        if (job_wish[link] == 0) job_links.push_back(link);
        job_wish[link] = std::max(job_wish[link], phase_wish[link]);
        phase_wish[link] = 0;
      }
    }
    for (LinkId link : job_links) {
      wish[link] += job_wish[link];
      job_wish[link] = 0;
    }
  }
  std::vector<LinkId> colliding;
  for (size_t i = 0; i < fabric.num_links(); ++i) {
    if (wish[LinkId(i)] > capacities[LinkId(i)] * kSlack) colliding.emplace_back(i);
  }
  return colliding;
}

}  // namespace fairlead::sim

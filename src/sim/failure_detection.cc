#include "sim/failure_detection.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::sim {

FailureDetection::FailureDetection(const topology::Fabric& fabric, const traffic::RoutingCosts& costs)
    : fabric_(fabric), costs_(costs), health_(fabric.num_links(), 1.0), known_(fabric.num_links(), 1.0) {
  FL_CHECK(costs.IsValid());
}

SimDuration FailureDetection::DelayOf(LinkId link) const {
  return fabric_.tier(link) == topology::LinkTier::kHostLeaf ? costs_.detect_port : costs_.detect;
}

SimTime FailureDetection::Next() const {
  SimTime next = SimTime::Never();
  for (const auto& [link, time] : noticed_at_) next = std::min(next, time);
  return next;
}

void FailureDetection::Learn(LinkId link, SimTime now, std::vector<LinkEvent>* known) {
  known_[link] = health_[link];
  known->push_back({now, link, health_[link]});
}

std::vector<LinkEvent> FailureDetection::Take(std::span<const LinkEvent> changes, SimTime now) {
  std::vector<LinkEvent> known;
  if (costs_.detects_at_once()) {
    for (const LinkEvent& change : changes) {
      health_[change.link] = change.health;
      Learn(change.link, now, &known);
    }
    return known;
  }
  std::map<LinkId, double> last;
  for (const LinkEvent& change : changes) last[change.link] = change.health;
  for (const auto& [link, health] : last) {
    const bool was_alive = health_[link] > 0;
    health_[link] = health;
    if (health > 0) {
      noticed_at_.erase(link);
      if (known_[link] != health) Learn(link, now, &known);
    } else if (was_alive) {
      noticed_at_[link] = now + DelayOf(link);
    }
  }
  for (auto entry = noticed_at_.begin(); entry != noticed_at_.end();) {
    if (entry->second > now) {
      ++entry;
      continue;
    }
    Learn(entry->first, now, &known);
    entry = noticed_at_.erase(entry);
  }
  return known;
}

std::vector<LinkId> FailureDetection::Unnoticed() const {
  std::vector<LinkId> links;
  for (const auto& [link, time] : noticed_at_) links.push_back(link);
  return links;
}

}  // namespace fairlead::sim

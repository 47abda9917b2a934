// Which failures of links the routing knows of, and when it hears of the others.
//
// Method      A link that dies is dead at once; paths avoid it when it was so for as long as detection takes, which may
//             be longer for the ports of NICs. Everything else is known as it happens: links that are slow, since
//             congestion shows them within a round trip, and those that come back. A link that comes back before
//             anybody noticed was never dead for the routing.
// Guarantees  where detection takes no time, changes are known as they come, one by one.
// Differs     a path that was dead is probed before it is used again; here it is used at once.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "sim/outside_events.h"
#include "topology/fabric.h"
#include "topology/router.h"
#include "traffic/routing_costs.h"

namespace fairlead::sim {

class FailureDetection {
 public:
  // All links are healthy. The fabric must outlive this. Args: costs: valid.
  FailureDetection(const topology::Fabric& fabric, const traffic::RoutingCosts& costs);

  // When the next failure is noticed; Never(): nothing is to be noticed. Cost: O(failures that nobody has noticed).
  SimTime Next() const;

  // Links change now; of several changes of a link the last one counts. Returns those that the routing hears of now,
  // with what was noticed until now.
  std::vector<LinkEvent> Take(std::span<const LinkEvent> changes, SimTime now);

  // What is left of each link.
  const topology::LinkHealth& health() const { return health_; }
  // The same, as far as it is known.
  const topology::LinkHealth& known_health() const { return known_; }
  // Dead links that nobody knows of, ascending.
  std::vector<LinkId> Unnoticed() const;

 private:
  SimDuration DelayOf(LinkId link) const;
  void Learn(LinkId link, SimTime now, std::vector<LinkEvent>* known);

  const topology::Fabric& fabric_;
  traffic::RoutingCosts costs_;
  topology::LinkHealth health_;
  topology::LinkHealth known_;
  std::map<LinkId, SimTime> noticed_at_;  // of dead links that nobody knows of
};

}  // namespace fairlead::sim

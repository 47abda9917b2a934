// Link watch: how much of each link new paths may use, from rounds of probes and from direct reports.
//
// The catalogue knows one number per link, the capacity that is left. Down is 0. A link that is suspect or on probation
// is the last resort (link_health_tracker.h): it counts with a millionth of its capacity, so that any path over first
// choices costs less, and those already on it stay. That is the order "try without them first", exact as long as loads
// differ by less than a million, in one pass and without a change of epochs, which only links that go or come have.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "traffic/c4p/link_health_tracker.h"
#include "traffic/c4p/loss_attribution.h"
#include "traffic/c4p/quiet_links.h"
#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

class LinkWatch {
 public:
  static constexpr double kLastResort = 1e-6;

  // All links up and whole. Args: options valid.
  LinkWatch(size_t num_links, const LinkHealthOptions& health, const AttributionOptions& attribution);

  // Returns what changed, ascending by link. Times never go back. Args: quiet: links that probes go around.
  std::vector<LinkStateChanged> Observe(SimTime now, std::span<const ProbeResult> probes,
                                        std::span<const QuietLinks::QuietLink> quiet = {});
  // Errors: kInvalidArgument for an unknown link, or a health outside of 0 .. 1.
  Result<std::vector<LinkStateChanged>> Report(SimTime now, const LinkReported& report);

  // For the catalogue.
  double HealthOf(LinkId link) const;
  LinkState state(LinkId link) const { return tracker_.state(link); }

 private:
  std::vector<LinkStateChanged> Describe(const std::vector<LinkChange>& changes) const;

  LinkHealthTracker tracker_;
  AttributionOptions attribution_;
  IdVector<LinkId, double> capacity_left_;  // fraction, > 0
};

}  // namespace fairlead::traffic::c4p

// What rounds of probes and direct reports say of links.
//
// Problem     hosts tell where the probes of each source port went, and how many were lost; what judges links
//             (link_watch.h) wants routes. A lost probe has shown none, and a link that probes go around loses none.
// Method      routes that were seen count as they are. Of a port that was not seen the route is taken that it is known
//             for in this epoch, so that its losses fall on the links that it crossed; where none is known it says
//             nothing of links. To these come the links that no probe crosses any more (quiet_links.h).
// Guarantees  a state changes by Observe() and Report() only, and each change is returned once.
// Cost        O(probes), and that of LinkWatch and QuietLinks.
// Reference   docs/spec/c4.md section 9.2.
#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "traffic/c4p/c4p_options.h"
#include "traffic/c4p/link_watch.h"
#include "traffic/c4p/loss_attribution.h"
#include "traffic/c4p/path_catalogue.h"
#include "traffic/c4p/port_steering.h"
#include "traffic/c4p/quiet_links.h"
#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

class LinkEvidence {
 public:
  // All links up and whole. The pointers must outlive this. Args: options: health, attribution and absence_probability
  // count; valid.
  LinkEvidence(PathCatalogue* catalogue, PortSteering* ports, const C4pOptions& options);

  // A round of probes has ended; what it has shown of ports is known already. Returns what changed, ascending by link.
  // Times never go back.
  std::vector<LinkStateChanged> Observe(SimTime now, std::span<const PortScanSeen> scans);
  // Errors: those of LinkWatch.
  Result<std::vector<LinkStateChanged>> Report(SimTime now, const LinkReported& report) {
    return links_.Report(now, report);
  }

  const LinkWatch& links() const { return links_; }

 private:
  std::vector<ProbeResult> ResultsOf(std::span<const PortScanSeen> scans);

  PathCatalogue* catalogue_;
  PortSteering* ports_;
  LinkWatch links_;
  QuietLinks quiet_;
};

}  // namespace fairlead::traffic::c4p

// Quiet links: those that no probe crosses any more, although by chance some should.
//
// Problem     where the fabric's own routing has withdrawn a link, probes go around it: none is lost, and nothing
//             reports that the link is gone.
// Notation    pending_l: probes that should have crossed link l since it was last seen;  r_l: of those that should have
//             crossed it before, the share that did, at most 1
// Method      each probe seen on a usable path took one of the usable paths of its two leaves, each as likely; one that
//             crossed a link that is out of use, but still carries, says nothing about the others. A link with
//             pending_l * r_l >= -ln(absence_probability) is quiet: had it still carried its share, it would have been
//             missed by all of them with that probability (Poisson). Links that hashes prefer less need more probes. A
//             link that was never seen has r_l = 1: dead from the start, or one that no port leads over.
// Cost        a round: O(routes that were seen + paths of the pairs of leaves that were probed + links). 32 bytes a
//             link.
// Limits      a link that no destination is routed over is quiet, too: of a path with its far half cut, the near half
//             counts as lost unless other destinations use it. It carries nothing then, so nothing is lost with it.
// Differs     not in the paper, where probes name dead links by their losses.
#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "traffic/c4p/path_catalogue.h"
#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

class QuietLinks {
 public:
  // Args: absence_probability in (0, 1): of calling a link quiet that is not, each time that enough probes passed it by.
  QuietLinks(size_t num_links, double absence_probability);

  // Takes a round of probes. Returns the links between switches that are usable by the catalogue and quiet now,
  // ascending, with the probes that should have crossed them.
  struct QuietLink {
    LinkId link;
    double num_missing = 0;
  };
  std::vector<QuietLink> Observe(std::span<const PortScanSeen> scans, PathCatalogue* catalogue);

 private:
  struct Link {
    double pending = 0;
    double expected = 0;  // before it was last seen
    double seen = 0;
    double now = 0;  // of the round under way: times seen
  };

  void Expect(NodeId from_leaf, NodeId to_leaf, double num_probes, PathCatalogue* catalogue);

  double limit_;
  IdVector<LinkId, Link> links_;
  IdVector<LinkId, uint32_t> uses_;  // scratch: paths of a pair of leaves across the link; 0 between calls
};

}  // namespace fairlead::traffic::c4p

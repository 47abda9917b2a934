// Loss attribution: which links explain the packets that probes lost.
//
// Problem     a probe crosses several links; when its packets are lost, one of them did it. Name few links that explain
//             all losses, and none that other probes prove healthy.
// Method      1. a link is cleared where its own loss was below `loss_limit` for certain: one probe across it, or all
//                probes across it together, lost less than that in `min_clearing_packets` or more
//             2. of the others, greedy set cover: again and again blame the link that crosses most lossy probes which
//                no blamed link explains yet; ties: fewest packets of loss-free probes across it, then lowest id.
// Cost        O(C log C), C crossings of probes and links.
// Guarantees  cleared links are never blamed. A lossy probe with a link that is not cleared is explained. At most H(d)
//             times as many links are blamed as need be, d lossy probes across one link (Chvatal 1979). A single bad
//             link is blamed alone when no other link lies on all the probes that it made lossy. The order of the
//             probes is no matter.
// Limits      two links that the same probes cross can't be distinguished: the lower id is blamed. Losses below
//             `loss_limit` per probe are not attributed. Losses of hosts are blamed on links unless the links are
//             cleared.
// Reference   docs/spec/c4.md section 9.2; binary tomography as in Duffield, "Network Tomography of Binary Network
//             Performance Characteristics", IEEE Trans. Inf. Theory 2006.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/units.h"

namespace fairlead::traffic::c4p {

// What came back of a probe of one path in one round; or of several that were alike.
struct ProbeResult {
  std::vector<LinkId> links;  // the path
  uint64_t sent = 0;          // packets of each
  uint64_t lost = 0;          // of each
  Seconds rtt;  // typical one of this round, the least of them; not positive or not finite where it was not measured
  uint64_t num_probes = 1;
};

// What one round says about one link.
struct LinkObservation {
  LinkId link;
  uint64_t sent = 0;
  uint64_t lost = 0;
  Seconds rtt;  // not positive or not finite: unknown

  friend bool operator==(const LinkObservation&, const LinkObservation&) = default;
};

// Whether an RTT was measured at all.
bool IsMeasured(Seconds rtt);

struct AttributionOptions {
  // A probe that loses this fraction of its packets is lossy. In (0, 1]. Smaller: finer faults are seen, and more
  // chance losses are blamed on a link.
  double loss_limit = 0.01;
  // Packets that clear a link. >= 1. More: a link that loses few packets is cleared less often by luck (of 100 packets
  // a link that loses 1 % loses none with probability 0.37, one that loses 5 % with 0.006); fewer: links are cleared by
  // thin evidence, which matters where probes are rare.
  uint64_t min_clearing_packets = 100;

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

struct Attribution {
  // Links about which the round says something, ascending. A blamed link: the losses of the probes it explains. The
  // others: no loss. `sent` counts the packets of all probes across the link but those that another one explains; `rtt`
  // is the least of theirs, as a slow link delays all its probes.
  std::vector<LinkObservation> observations;
  std::vector<LinkId> blamed;  // ascending
  uint64_t num_unexplained =
      0;  // lossy probes across cleared links only: chance, a host, or a fault that comes and goes
  uint64_t num_ignored_probes = 0;  // without links, without packets, more lost than sent, or across unknown links
};

// Args: links of probes < num_links, else they are ignored; options valid.
Attribution AttributeLosses(std::span<const ProbeResult> probes, size_t num_links, const AttributionOptions& options);

}  // namespace fairlead::traffic::c4p

// Probes that find out where the fabric's hash sends queue pairs (QPs), where paths are not chosen.
//
// Method      a QP's path is asked for by a probe with the port that its packets carry, when the port is reported, and
//             again after a change of the fabric, and while it is not seen (hashed_paths.h).
// Guarantees  from a report of its port, or a change of the fabric, until its route is seen, a QP is asked for at least
//             once per timeout, as calls allow.
// Cost        O(log QPs) for each of them.
#pragma once

#include <span>

#include "base/ids.h"
#include "base/sim_time.h"
#include "traffic/c4p/connection_table.h"
#include "traffic/c4p/hashed_paths.h"
#include "traffic/c4p/path_catalogue.h"
#include "traffic/c4p/path_outputs.h"
#include "traffic/c4p/port_steering.h"
#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

class HashedPathProbes {
 public:
  // What it looks at. All must outlive this.
  struct World {
    const PathCatalogue& catalogue;
    const PortSteering& ports;
    const ConnectionTable& connections;
  };

  // `outputs` must outlive this. Args: timeout: after which what was not seen is asked for again, > 0.
  HashedPathProbes(const World& world, SimDuration timeout, PathOutputs* outputs)
      : world_(world), timeout_(timeout), outputs_(outputs) {}

  // The QP's packets carry this port.
  void Follow(QueuePairRef ref, uint16_t port, SimTime now);
  // The QP ends.
  void Forget(QueuePairRef ref) { paths_.Forget(ref); }
  void Learn(std::span<const PortScanSeen> scans);
  // Leaves may hash otherwise now.
  void AskForAll(SimTime now);
  // Times never go back.
  void AskForUnseen(SimTime now);

  // As seen last; empty: not followed, or not seen yet.
  std::span<const LinkId> LinksOf(QueuePairRef ref) const { return paths_.LinksOf(ref); }

 private:
  void Ask(QueuePairRef ref, SimTime now);

  const World world_;
  SimDuration timeout_;
  PathOutputs* outputs_;
  HashedPaths paths_;
};

}  // namespace fairlead::traffic::c4p

// Queue pairs with paths left to the fabric's hash, and only observed: where do their packets go?
//
// Method      the hash takes the five-tuple, so one probe with the port that a queue pair's packets carry goes where
//             they go. It is repeated where it was not seen, and for all queue pairs after a change of the fabric,
//             which moves connections of healthy links too; until another route is seen the last one counts.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "traffic/c4p/connection_table.h"
#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

class HashedPaths {
 public:
  // Follows the packets of a queue pair, which carry `port`. Returns whether that is news: its path is to be asked for.
  bool Follow(QueuePairRef ref, const ConnectionRequest& request, uint16_t port);
  void Forget(QueuePairRef ref);

  // Its path is asked for now; answers of other epochs say nothing. Args: ref: followed. Returns its port.
  uint16_t NoteAsked(QueuePairRef ref, uint64_t epoch, SimTime now);
  // Takes the routes of queue pairs that are followed.
  void Learn(const PortScanSeen& scan);

  // Those that were asked for at `asked_until` or before, and not seen since.
  std::vector<QueuePairRef> Unseen(SimTime asked_until) const;
  std::vector<QueuePairRef> All() const;
  // As seen last; empty: not followed, or not seen yet.
  std::span<const LinkId> LinksOf(QueuePairRef ref) const;

 private:
  // Source, destination, protocol, destination port, source port.
  using WirePort = std::tuple<NicId, NicId, uint8_t, uint16_t, uint16_t>;
  struct Path {
    WirePort wire_port;
    uint64_t epoch = 0;  // of the probe that was asked for last
    SimTime asked_at;
    std::vector<LinkId> links;

    uint16_t port() const { return std::get<4>(wire_port); }
  };

  std::map<QueuePairRef, Path> paths_;
  std::map<WirePort, QueuePairRef> by_wire_port_;
  std::set<QueuePairRef> asked_for_;  // not seen since
};

}  // namespace fairlead::traffic::c4p

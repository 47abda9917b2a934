// When the ports of queue pairs (QPs) are probed again, and whose probes are under way.
//
// Problem     a port that was found may lead elsewhere by now, and where none was found one may be free; nothing
//             reports either. Probing all ports all the time costs more than it finds.
// Method      each QP waits for its turn: a period after its port was found, or was right again, and 2, 4, ... 64
//             periods after so many searches in vain. QPs whose port is being probed are remembered by address pair:
//             what comes of one probe concerns all that wait for that pair.
// Guarantees  a QP is queued once, until its turn or its end. TakeDue names held QPs only, in order of time, then name.
//             TakeProbed names each QP with a NoteProbed since the last one; it may have ended or moved meanwhile.
// Limits      a QP in a slot that was used again may have the turn of the one before it, too: it is looked at early.
// Cost        O(log QPs) each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/sim_time.h"
#include "traffic/c4p/connection_table.h"
#include "traffic/c4p/port_map.h"

namespace fairlead::traffic::c4p {

class PortVerification {
 public:
  // Searches in vain beyond these make the pause no longer.
  static constexpr uint8_t kLongestPause = 6;

  // `connections` must outlive this. Only this object may change what the table says of failed searches and of who is
  // queued. Args: period > 0.
  PortVerification(SimDuration period, ConnectionTable* connections) : period_(period), connections_(connections) {}

  // Its turn comes after a pause, unless it is queued already. Args: has_port: else a search has ended in vain.
  void Queue(QueuePairRef ref, bool has_port, SimTime now);
  // A QP whose turn has come; nothing: none has.
  std::optional<QueuePairRef> TakeDue(SimTime now);

  // A probe of the QP's port is sent.
  void NoteProbed(const AddressPair& pair, QueuePairRef ref) { probed_[pair].insert(ref); }
  // Results of the pair have come: whose port was probed.
  std::set<QueuePairRef> TakeProbed(const AddressPair& pair);

 private:
  SimDuration period_;
  ConnectionTable* connections_;
  std::set<std::pair<SimTime, QueuePairRef>> queue_;
  std::map<AddressPair, std::set<QueuePairRef>> probed_;
};

}  // namespace fairlead::traffic::c4p

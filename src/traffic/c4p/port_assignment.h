// Which source port each queue pair (QP) leaves by, so that its packets take the path that it has.
//
//     another path, another epoch, results of probes, its turn --> Steer --+--> a port leads there: it is used
//                                                                          +--> some may: they are to be probed
//                                                                          +--> none does: again later
//
// Problem     which port leads where is learnt probe by probe (port_steering.h), and void whenever leaves hash anew.
//             The answers come late, in part, or never, and meanwhile the QP has another path, or has ended.
// Method      whatever happens to a QP, its next step is worked out anew from its path and what is known of ports now.
//             QPs of one address pair wait for probes together (pending_scans.h); results give each of them its next
//             step. When an epoch has changed all QPs of its leaves take a step: the port is kept where a probe shows
//             that it leads there still; another one for the same path is a *re-pin*, no move. Ports in use are probed
//             again, and searches in vain repeated, when their turn comes (port_verification.h).
// Guarantees  a port is held by one QP at a time, for two addresses and a protocol, and let go when that ends. A QP
//             that is steered has a port that this epoch has seen to lead over its path, or whose pair has one way,
//             until the epoch changes. A port that is found for a QP with an open socket can be rewritten to
//             (source_ports.h). Holders are told when their answer has changed.
// Cost        a step: that of PortSteering::FindStep. SteerOutdated: O(QPs).
// Limits      QPs are looked through from end to end after each change of the fabric.
// Reference   docs/spec/c4.md sections 9.2, 9.3 and 9.5.
// Oracle      c4p_master_test.cc, c4p_master_laws_test.cc: a fabric that hashes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/sim_time.h"
#include "traffic/c4p/c4p_counters.h"
#include "traffic/c4p/c4p_options.h"
#include "traffic/c4p/connection_table.h"
#include "traffic/c4p/path_outputs.h"
#include "traffic/c4p/path_reservations.h"
#include "traffic/c4p/pending_scans.h"
#include "traffic/c4p/port_map.h"
#include "traffic/c4p/port_steering.h"
#include "traffic/c4p/port_verification.h"
#include "traffic/path_messages.h"
#include "traffic/steady_time.h"

namespace fairlead::traffic::c4p {

class PortAssignment {
 public:
  // What it looks at. All must outlive this.
  struct World {
    const PathReservations& paths;
    const SteadyTime& time;
  };

  // The pointers must outlive this. Only this object may change what the table says of assigned ports. Args: options:
  // scan_timeout, max_scan_ports and verify_period count; valid.
  PortAssignment(const World& world, const C4pOptions& options, ConnectionTable* connections, PortSteering* ports,
                 PathOutputs* outputs, C4pCounters* counters)
      : world_(world),
        connections_(connections),
        ports_(ports),
        outputs_(outputs),
        counters_(counters),
        scans_(options.scan_timeout, options.max_scan_ports),
        verification_(options.verify_period, connections) {}

  // Looks for the port of the path that the QP has; its holder hears of that from the caller.
  void Steer(QueuePairRef ref);
  // The same for one that was taken over from its holder, who uses this port, if it is free.
  void Adopt(QueuePairRef ref, const HeldPath& held);
  // The QP has a socket, and its packets this port.
  void NoteOpen(QueuePairRef ref, uint16_t socket_port, uint16_t wire_port);
  // Gives up the port that the QP has, as it ends.
  void LetGo(QueuePairRef ref);

  // Probes have shown where ports lead.
  void Learn(std::span<const PortScanSeen> scans);
  // Leaves may hash otherwise now: all QPs with changes on their way since their answer.
  void SteerOutdated();
  // Asks again for probes that are overdue.
  void RetryScans();
  // Those whose turn has come.
  void Verify();

  QueuePairAnswer AnswerOf(QueuePairRef ref) const;
  // The same, for its holder: what waits for a port is told when there is one.
  QueuePairAnswer Tell(QueuePairRef ref);
  size_t num_pending_scans() const { return scans_.size(); }

 private:
  AddressPair PairOf(QueuePairRef ref, uint32_t plane) const {
    return ports_->PairOf(connections_->at(ref.connection).request, plane);
  }
  // Steer, and tells the holder when that changed its answer.
  void SteerAgain(QueuePairRef ref);
  void SteerWaiting(const AddressPair& pair);
  void Search(QueuePairRef ref, const AddressPair& pair, const PortSteering::Step& step);
  void Use(QueuePairRef ref, const AddressPair& pair, uint16_t port);
  void GiveUp(QueuePairRef ref);
  void Verify(QueuePairRef ref);
  void TakeVerified(const AddressPair& pair);
  void OrderScan(QueuePairRef ref, const AddressPair& pair, uint32_t plane, uint64_t epoch,
                 std::vector<uint16_t> ports);

  const World world_;
  ConnectionTable* connections_;
  PortSteering* ports_;
  PathOutputs* outputs_;
  C4pCounters* counters_;
  PendingScans scans_;
  PortVerification verification_;
};

}  // namespace fairlead::traffic::c4p

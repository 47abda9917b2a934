// The paths that queue pairs (QPs) hold, which QPs have none, and which use another plane than theirs.
//
// Problem     the allocator (path_allocator.h) knows reservations and links; holders know QPs of connections. When
//             links fail or return, the right QPs have to be found: those on a lost path, those that were left without
//             one, and those that a failure has driven off their plane.
// Method      lost     QPs with a path over a link that is down are moved, and no other; where no path is left the
//                      reservation ends, and the QP is *unmanaged* until a path is found for it
//             back     QPs off their plane return once it has a path of links that are up; then unmanaged ones are
//                      tried, job by job, each job's as one batch
//             uneven   overloaded links give QPs away: at once where a caller asks for it, otherwise when the imbalance
//                      has lasted (imbalance_watch.h)
//             Only paths are changed here: callers see to ports, and tell holders, of the QPs that are returned.
// Guarantees  every reservation of the allocator belongs to one QP of the connection table, which has it. A QP for
//             which a path was sought either has one or is unmanaged. One that is off its plane has a path.
// Cost        beside the allocator's: O(log QPs without a path or off their plane) for each QP.
// Reference   docs/spec/c4.md sections 9.4 and 9.5.
// Oracle      c4p_master_laws_test.cc.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "traffic/c4p/c4p_options.h"
#include "traffic/c4p/connection_table.h"
#include "traffic/c4p/imbalance_watch.h"
#include "traffic/c4p/link_watch.h"
#include "traffic/c4p/path_allocator.h"
#include "traffic/c4p/path_catalogue.h"
#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

class PathReservations {
 public:
  // The catalogue, the states of links and the table must outlive this. Only this object may change the catalogue's
  // health and the table's reservations. Args: options: those of ImbalanceWatch count.
  PathReservations(PathCatalogue* catalogue, const LinkWatch& links, const C4pOptions& options,
                   ConnectionTable* connections);

  // Reserves paths for QPs of a job that have none. Returns those that got one, in their order.
  std::vector<QueuePairRef> Place(JobId job, std::span<const QueuePairRef> refs);
  // Takes a QP without a path for where its holder says that it is, healthy or not. Returns false where there is no such
  // path: it is unmanaged then.
  bool Adopt(QueuePairRef ref, const HeldPath& held);
  // The QP ends.
  void Release(QueuePairRef ref);

  // What new paths may use of a link. Moves none. Returns false when nothing changed.
  bool SetHealth(LinkId link, double health);
  struct Evacuation {
    std::vector<QueuePairRef> moved;
    std::vector<QueuePairRef> stranded;  // unmanaged now
  };
  // Gives QPs of lost paths others.
  Evacuation LeaveLostLinks();
  // The rest return the QPs that have another path now.
  std::vector<QueuePairRef> ReturnToPlanes();
  std::vector<QueuePairRef> RetryUnmanaged();
  std::vector<QueuePairRef> Balance();
  // Balance, where the loads of links have been uneven for too long.
  std::vector<QueuePairRef> BalanceIfUneven(SimTime now);

  bool HasPath(QueuePairRef ref) const { return connections_->at(ref).reservation.valid(); }
  // Args: ref: it has a path.
  const Reservation& Of(QueuePairRef ref) const { return allocator_.reservation(connections_->at(ref).reservation); }
  // Plane by plane, for people.
  std::string ExplainNoPath(const ConnectionRequest& request) const;

  const PathAllocator& allocator() const { return allocator_; }
  size_t num_unmanaged() const { return unmanaged_.size(); }
  size_t num_off_plane() const { return off_plane_.size(); }

 private:
  // What a QP has got, or that it has nothing.
  void Note(QueuePairRef ref, ReservationId id);
  // The allocator has moved them.
  std::vector<QueuePairRef> NoteMoved(std::span<const ReservationId> ids);
  uint32_t HomePlane(const ConnectionRequest& request, uint32_t queue_pair, uint32_t otherwise) const;
  // Whether a path of the plane crosses no link that is worse than that.
  bool HasUsablePath(const ConnectionRequest& request, uint32_t plane, LinkUse worst) const;

  PathCatalogue* catalogue_;
  const LinkWatch& links_;
  ConnectionTable* connections_;
  PathAllocator allocator_;
  ImbalanceWatch imbalance_;
  std::set<QueuePairRef> unmanaged_;
  std::set<QueuePairRef> off_plane_;  // on another plane than theirs, which had no path
};

}  // namespace fairlead::traffic::c4p

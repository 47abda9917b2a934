// Gives queue pairs their paths, so that all links of a kind are equally loaded, and remembers their places.
//
// Problem     connections of many jobs share the uplinks of leaves. Each queue pair (QP) may take any healthy path of
//             its plane. Keep the heaviest link as light as it can be, without moving what is already there.
// Notation    w -> weight; load of a link -> sum of the weights on it
// Method      a batch is placed heaviest first. A QP takes the path with the lexicographically smallest
//               ( max over its links of (load + w) / capacity, QPs of the same connection on its links,
//                 QPs of the same job on its links, sum over its links of load / capacity, index ).
//             Links between NIC and leaf count as load but choose nothing where the plane is given. Greedy choices can
//             get stuck: a leaf has room on one uplink only, the other leaf only below another spine. Balance() then
//             exchanges the spines of a chain of QPs of the batch, as in edge colouring of bipartite graphs.
// Cost        O(paths of the pair) per QP; Balance: O(QPs of a link * uplinks) per repaired link.
// Guarantees  every QP is on a healthy path of its plane, or has none because there is none. For equal weights, a two-
//             layer fabric and a batch on an empty fabric no link carries more than the rounded-up average of its leaf
//             (Koenig: a bipartite graph of degree d is coloured with d colours).
// Differs     the paper states the goal only; measure, order and chains are ours. The spec's "100 improving swaps" are
//             replaced by chains, which reach the bound.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md sections 9.4 and 9.5. Koenig, 1916.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "traffic/c4p/path_catalogue.h"

namespace fairlead::traffic::c4p {

using ReservationId = Id<struct ReservationTag>;

// One queue pair of a connection that wants a path from NIC to NIC.
struct QueuePairRequest {
  uint64_t connection = 0;  // distinguishes connections of a job
  uint32_t queue_pair = 0;  // of the connection, < num_queue_pairs
  // QP q uses plane q modulo planes, where there are at least as many QPs as planes; otherwise the emptier ports.
  uint32_t num_queue_pairs = 1;
  NicId source;  // of another host than destination
  NicId destination;
  double weight = 1;  // in any unit that all requests share; > 0, finite
};

// What one queue pair holds.
struct Reservation {
  JobId job;
  uint64_t connection = 0;
  uint32_t queue_pair = 0;
  NicId source;
  NicId destination;
  uint32_t plane = 0;
  uint32_t path = 0;  // index into LeafPaths of the two ports' leaves
  double weight = 0;
  std::array<LinkId, PathCatalogue::kMaxPathLength + 2> links;  // from port to port
  uint32_t num_links = 0;

  std::span<const LinkId> route() const { return {links.data(), num_links}; }
  // Between the leaves.
  std::span<const LinkId> middle() const { return route().subspan(1, num_links - 2); }
};

class PathAllocator {
 public:
  // `catalogue` must outlive this. Only this object may change its health from now on.
  explicit PathAllocator(PathCatalogue* catalogue);

  // Places queue pairs of a job, without reservations; those of one connection should be adjacent. Returns [request];
  // invalid where no path is healthy.
  std::vector<ReservationId> Allocate(JobId job, std::span<const QueuePairRequest> batch);
  // Records a queue pair in its place, healthy or not: a restarted service learns it from the holders of leases. Args:
  // path, from port to port. Returns an invalid id when it is no path of the catalogue from one NIC to the other on one
  // plane.
  ReservationId Adopt(JobId job, const QueuePairRequest& request, std::span<const LinkId> path);
  void Release(ReservationId id);

  // Fraction of a link's capacity that is left; 0 = down. Moves none. Returns false when nothing changed.
  bool SetHealth(LinkId link, double health);
  // Moves the QPs of unhealthy paths to healthy ones, and no other. Returns those that moved, ascending; QPs for which
  // no path is healthy stay where they are and are appended to `stranded`.
  std::vector<ReservationId> MoveOffUnhealthyLinks(std::vector<ReservationId>* stranded);

  // Moves QPs, as few as it can find, until no link is overloaded: until each uses less than its fair share (what its
  // siblings use together, the links of the same switch in the same direction) and one more QP. Returns those that
  // moved, ascending.
  std::vector<ReservationId> Balance(std::span<const ReservationId> movable);
  std::vector<ReservationId> BalanceAll();

  const Reservation& reservation(ReservationId id) const { return slots_[id.index()].reservation; }
  bool IsHeld(ReservationId id) const { return id.index() < slots_.size() && slots_[id.index()].is_held; }
  size_t num_reservations() const { return num_held_; }
  // Sum of the weights on a link.
  double load(LinkId link) const { return use_[link].load; }
  // Greatest usage relative to that of all its siblings together, over the links between switches; 1 when nothing is
  // loaded. Cost: O(links).
  double Imbalance() const;

  const PathCatalogue& catalogue() const { return *catalogue_; }
  // Bytes held, without the catalogue.
  size_t MemoryBytes() const;

 private:
  friend class PathBalancing;

  static constexpr uint32_t kNoSlot = std::numeric_limits<uint32_t>::max();

  // Place in a list of slots that belong together; the map of the list has its first slot.
  struct Neighbours {
    uint32_t previous = kNoSlot;
    uint32_t next = kNoSlot;
  };
  struct Slot {
    Reservation reservation;
    std::array<uint32_t, PathCatalogue::kMaxPathLength + 2> positions;  // in users_ of the links
    Neighbours in_connection;
    Neighbours in_job;
    bool is_held = false;
  };
  using ConnectionKey = std::pair<JobId, uint64_t>;
  struct ConnectionHash {
    size_t operator()(const ConnectionKey& key) const { return CombineHash(key.first.value(), key.second); }
  };
  struct LinkUse {
    double load = 0;
    double inverse_capacity = 0;  // of its remaining capacity; infinite when it is down
  };
  // What the choice looks at; a better path compares less.
  struct Cost {
    double worst = 0;
    uint32_t of_connection = 0;
    uint32_t of_job = 0;
    double sum = 0;
  };
  struct Choice {
    uint32_t plane = 0;
    uint32_t path = 0;

    friend bool operator==(const Choice&, const Choice&) = default;
  };

  double Usage(LinkId link, double more) const { return (use_[link].load + more) * use_[link].inverse_capacity; }
  // What the siblings of a link carry together, relative to their capacity; down ones count with neither.
  double FairUsage(LinkId link) const;
  // Infinite where a link is down. Stops at the first link above `limit`, and is then above it.
  double WorstUsage(std::span<const LinkId> path, double more, double limit) const;
  Cost CostOf(std::span<const LinkId> path, double worst) const;
  uint32_t EmptierPlane(const Reservation& requested) const;
  std::optional<Choice> ChooseOnPlane(const Reservation& requested, uint32_t plane);
  std::optional<Choice> Choose(const Reservation& requested, uint32_t plane);
  ReservationId AllocateOne(JobId job, const QueuePairRequest& request);
  uint32_t CountPlanes(const Reservation& requested) const;
  std::optional<Choice> FindChoice(const Reservation& reservation, std::span<const LinkId> path);
  uint32_t TakeSlot(const Reservation& reservation, Choice choice);
  void ReserveSlots(size_t more);
  void Prepend(uint32_t slot, Neighbours Slot::*list, uint32_t* first);
  // Returns whether the list is empty now.
  bool Unlink(uint32_t slot, Neighbours Slot::*list, uint32_t* first);
  void SetRoute(Reservation* reservation, Choice choice);
  void PutOnLinks(uint32_t slot);
  void TakeOffLinks(uint32_t slot);
  void MoveTo(uint32_t slot, Choice choice);
  void CountUser(uint32_t slot, int32_t sign, IdVector<LinkId, uint32_t>* users) const;
  void CountJob(JobId job, int32_t sign);
  void CountConnection(ConnectionKey key, int32_t sign);
  // Makes a connection the one that Choose spreads the QPs of.
  void TurnToConnection(ConnectionKey key);
  void ForgetConnection();

  PathCatalogue* catalogue_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  size_t num_held_ = 0;
  IdVector<LinkId, LinkUse> use_;
  IdVector<LinkId, std::vector<uint32_t>> users_;  // slots
  std::set<LinkId> down_;
  // First slot of the lists.
  std::unordered_map<ConnectionKey, uint32_t, ConnectionHash> connections_;
  std::unordered_map<JobId, uint32_t> jobs_;
  // Scratch: QPs of the job and of the connection that is being placed, [link]; 0 between calls.
  IdVector<LinkId, uint32_t> job_users_;
  IdVector<LinkId, uint32_t> connection_users_;
  std::optional<ConnectionKey> connection_;
  // Scratch of PathBalancing, [slot] and [link]; 0 between calls.
  std::vector<uint8_t> may_move_;
  std::vector<uint8_t> in_chain_;
  IdVector<LinkId, uint8_t> is_listed_;
};

}  // namespace fairlead::traffic::c4p

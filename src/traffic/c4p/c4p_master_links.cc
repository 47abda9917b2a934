// Of the C4P master: changes of the fabric, and what follows from them.
#include <algorithm>
#include <utility>

#include "traffic/c4p/c4p_master.h"

namespace fairlead::traffic::c4p {

void C4pMaster::ObserveRound(const ProbeRoundFinished& event) {
  if (!event.are_ports_reported) LearnPorts(event.scans);
  Apply(evidence_.Observe(time_.now(), event.scans));
}

void C4pMaster::Report(const LinkReported& event) {
  auto changes = evidence_.Report(time_.now(), event);
  if (changes.ok()) {
    Apply(std::move(changes).value());
  } else {
    outputs_.Reject(changes.status().message());
  }
}

void C4pMaster::Apply(std::vector<LinkStateChanged> changes) {
  for (LinkStateChanged& change : changes) {
    const LinkId link = change.link;
    const double before = catalogue_.health(link);
    const double after = links().HealthOf(link);
    outputs_.Add(std::move(change));
    if (!allocator_.SetHealth(link, after)) continue;
    imbalance_.NoteChange();
    agenda_.NoteHealth(before, after, UseOf(links().state(link)) == LinkUse::kFirstChoice);
    if ((before > 0) != (after > 0)) probes_.ReprobeAround(link);
  }
}

// Queue pairs that lost their path move first, then those without one are tried, then loads are evened out: each step
// starts from the result of the previous ones. Ports of paths that no queue pair had to leave come last.
void C4pMaster::Replan() {
  const std::optional<ReplanSteps> steps = agenda_.Take();
  if (!steps) return;
  std::vector<ReservationId> stranded;
  for (const ReservationId id : allocator_.MoveOffUnhealthyLinks(&stranded)) {
    MoveTo(connections_.OwnerOf(id), MoveCause::kLinkDown);
  }
  for (const ReservationId id : stranded) Strand(connections_.OwnerOf(id));
  if (steps->try_again) {
    ReturnToPlanes();
    RetryUnmanaged();
  }
  if (steps->balance_for) Rebalance(*steps->balance_for);
  if (steps->check_ports) {
    SteerOutdated();
    for (const QueuePairRef ref : hashed_.All()) AskForHashedPath(ref);
  }
}

// The allocator has moved it.
void C4pMaster::MoveTo(QueuePairRef ref, MoveCause cause) {
  NoteReservation(ref, connections_.at(ref).reservation);
  Steer(ref);
  outputs_.Notify(ref, cause);
}

void C4pMaster::Strand(QueuePairRef ref) {
  allocator_.Release(connections_.at(ref).reservation);
  NoteReservation(ref, ReservationId());
  outputs_.Notify(ref, MoveCause::kStranded);
}

void C4pMaster::RetryUnmanaged() {
  std::map<JobId, std::vector<QueuePairRef>> jobs;
  for (const QueuePairRef ref : unmanaged_) jobs[connections_.at(ref.connection).lease.job].push_back(ref);
  for (const auto& [job, refs] : jobs) {
    for (const QueuePairRef ref : Place(job, refs)) {
      Steer(ref);
      outputs_.Notify(ref, MoveCause::kPathAvailable);
    }
  }
}

// Queue pairs on a plane that had no path, and has a good one again.
void C4pMaster::ReturnToPlanes() {
  for (const QueuePairRef ref : std::set<QueuePairRef>(off_plane_)) {
    const ConnectionState& connection = connections_.at(ref.connection);
    const ReservationId id = connections_.at(ref).reservation;
    const uint32_t home = HomePlane(connection.request, ref.queue_pair, 0);
    if (!HasPath(connection.request, home, LinkUse::kFirstChoice)) continue;
    off_plane_.erase(ref);
    allocator_.Release(id);
    Place(connection.lease.job, {&ref, 1});
    Steer(ref);
    outputs_.Notify(ref, MoveCause::kLinkBack);
  }
}

void C4pMaster::Rebalance(MoveCause cause) {
  for (const ReservationId id : allocator_.BalanceAll()) MoveTo(connections_.OwnerOf(id), cause);
}

void C4pMaster::BalanceIfUneven() {
  if (!imbalance_.Look(time_.now(), [this] { return allocator_.Imbalance(); })) return;
  Rebalance(MoveCause::kImbalance);
  imbalance_.NoteBalanced();
}

void C4pMaster::AskForHashedPath(QueuePairRef ref) {
  const ConnectionState& connection = connections_.at(ref.connection);
  const ConnectionRequest& request = connection.request;
  const auto from = catalogue_.ports(request.source);
  const auto to = catalogue_.ports(request.destination);
  if (from.empty() || to.empty()) return;
  const uint64_t epoch = ports_.EpochOf(from[0].leaf, to[0].leaf);
  const uint16_t port = hashed_.NoteAsked(ref, epoch, time_.now());
  // The host's own hash chooses the plane; the order needs one that there is.
  outputs_.Scan(connection.lease.host, {.source = request.source,
                                        .destination = request.destination,
                                        .plane = 0,
                                        .protocol = request.protocol,
                                        .destination_port = request.destination_port,
                                        .epoch = epoch,
                                        .ports = {port}});
}

std::span<const LinkId> C4pMaster::LinksOf(QueuePairRef ref) const {
  const ReservationId id = connections_.at(ref).reservation;
  return id.valid() ? allocator_.reservation(id).route() : hashed_.LinksOf(ref);
}

// All queue pairs with changes of the fabric between their leaves since their answer.
void C4pMaster::SteerOutdated() {
  for (uint32_t slot = 0; slot < connections_.num_slots(); ++slot) {
    const ConnectionState& connection = connections_.at(slot);
    if (!connection.is_held) continue;
    for (uint32_t q = 0; q < connection.queue_pairs.size(); ++q) {
      const QueuePairState& mine = connection.queue_pairs[q];
      if (!mine.reservation.valid()) continue;
      const uint32_t plane = allocator_.reservation(mine.reservation).plane;
      const NodeId from = catalogue_.ports(connection.request.source)[plane].leaf;
      const NodeId to = catalogue_.ports(connection.request.destination)[plane].leaf;
      if (mine.epoch != ports_.EpochOf(from, to)) SteerAgain({slot, q});
    }
  }
}

void C4pMaster::RetryScans() {
  for (const AddressPair& pair : scans_.TakeOverdue(time_.now())) {
    ++counters_.scans_overdue;
    SteerWaiting(pair);
  }
}

// Where there are at least as many queue pairs as planes each has its own (docs/spec/c4.md section 9.5); else any is as
// good.
uint32_t C4pMaster::HomePlane(const ConnectionRequest& request, uint32_t queue_pair, uint32_t otherwise) const {
  const auto planes = static_cast<uint32_t>(
      std::min(catalogue_.ports(request.source).size(), catalogue_.ports(request.destination).size()));
  return planes > 0 && request.num_queue_pairs >= planes ? queue_pair % planes : otherwise;
}

bool C4pMaster::HasPath(const ConnectionRequest& request, uint32_t plane, LinkUse worst) const {
  const NicPort& from = catalogue_.ports(request.source)[plane];
  const NicPort& to = catalogue_.ports(request.destination)[plane];
  const auto may_use = [&](LinkId link) { return UseOf(links().state(link)) <= worst; };
  if (!may_use(from.up) || !may_use(to.down)) return false;
  const LeafPaths& paths = catalogue_.Paths(from.leaf, to.leaf);
  for (uint32_t i = 0; i < paths.num_paths; ++i) {
    if (std::ranges::all_of(paths.path(i), may_use)) return true;
  }
  return false;
}

}  // namespace fairlead::traffic::c4p

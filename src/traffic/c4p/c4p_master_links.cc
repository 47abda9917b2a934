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
    if (!paths_.SetHealth(link, after)) continue;
    agenda_.NoteHealth(before, after, UseOf(links().state(link)) == LinkUse::kFirstChoice);
    if ((before > 0) != (after > 0)) probes_.ReprobeAround(link);
  }
}

// Queue pairs that lost their path move first, then those without one are tried, then loads are evened out: each step
// starts from the result of the previous ones. Ports of paths that no queue pair had to leave come last.
void C4pMaster::Replan() {
  const std::optional<ReplanSteps> steps = agenda_.Take();
  if (!steps) return;
  const PathReservations::Evacuation evacuation = paths_.LeaveLostLinks();
  Move(evacuation.moved, MoveCause::kLinkDown);
  for (const QueuePairRef ref : evacuation.stranded) outputs_.Notify(ref, MoveCause::kStranded);
  if (steps->try_again) {
    Move(paths_.ReturnToPlanes(), MoveCause::kLinkBack);
    Move(paths_.RetryUnmanaged(), MoveCause::kPathAvailable);
  }
  if (steps->balance_for) Move(paths_.Balance(), *steps->balance_for);
  if (steps->check_ports) {
    SteerOutdated();
    for (const QueuePairRef ref : hashed_.All()) AskForHashedPath(ref);
  }
}

void C4pMaster::Move(std::span<const QueuePairRef> refs, MoveCause cause) {
  for (const QueuePairRef ref : refs) {
    Steer(ref);
    outputs_.Notify(ref, cause);
  }
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
  return paths_.HasPath(ref) ? paths_.Of(ref).route() : hashed_.LinksOf(ref);
}

// All queue pairs with changes of the fabric between their leaves since their answer.
void C4pMaster::SteerOutdated() {
  for (uint32_t slot = 0; slot < connections_.num_slots(); ++slot) {
    const ConnectionState& connection = connections_.at(slot);
    if (!connection.is_held) continue;
    for (uint32_t q = 0; q < connection.queue_pairs.size(); ++q) {
      const QueuePairState& mine = connection.queue_pairs[q];
      if (!paths_.HasPath({slot, q})) continue;
      const uint32_t plane = paths_.Of({slot, q}).plane;
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

}  // namespace fairlead::traffic::c4p

#include "traffic/c4p/c4p_master.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "traffic/c4p/request_faults.h"

namespace fairlead::traffic::c4p {

C4pMaster::C4pMaster(const topology::Fabric& fabric, const C4pOptions& options)
    : fabric_(&fabric),
      options_(options),
      time_(options.max_clock_step),
      outputs_(&counters_),
      catalogue_(fabric),
      leases_(options.lease_ttl),
      ports_(&catalogue_, options.ports, options.epoch_base, options.hash_configuration),
      scans_(options.scan_timeout, options.max_scan_ports),
      evidence_(&catalogue_, &ports_, options),
      paths_(&catalogue_, evidence_.links(), options, &connections_),
      probes_(&catalogue_, ports_, options) {
  FL_CHECK(options.Validate().ok());
}

std::vector<PathAction> C4pMaster::Handle(SimTime clock, std::span<const PathEvent> events) {
  time_.Advance(clock);
  EndRests();
  for (auto event = events.begin(); event != events.end();) {
    const auto run_end =
        std::find_if(event, events.end(), [&](const PathEvent& other) { return other.index() != event->index(); });
    if (std::holds_alternative<PathsRequested>(*event)) {
      Grant({event, run_end});
    } else if (std::holds_alternative<QueuePairOpened>(*event)) {
      Open({event, run_end});
    } else {
      std::for_each(event, run_end, [this](const PathEvent& one) { HandleOne(one); });
    }
    event = run_end;
  }
  // After the events: heartbeats that waited while we paused come before the leases that they renew end.
  ExpireLeases();
  Replan();
  Move(paths_.BalanceIfUneven(time_.now()), MoveCause::kImbalance);
  RetryScans();
  VerifyPorts();
  for (const QueuePairRef ref : hashed_.Unseen(time_.now() - options_.scan_timeout)) AskForHashedPath(ref);
  if (auto round = probes_.StartRound(time_.now())) outputs_.AddAfter(*std::move(round));
  return outputs_.Take(connections_, [this](QueuePairRef ref) { return AnswerOf(ref); });
}

void C4pMaster::HandleOne(const PathEvent& event) {
  if (const auto* renewed = std::get_if<LeasesRenewed>(&event)) Renew(*renewed);
  if (const auto* released = std::get_if<ConnectionsReleased>(&event)) Release(*released);
  if (const auto* announced = std::get_if<LeasesAnnounced>(&event)) Announce(*announced);
  if (const auto* round = std::get_if<ProbeRoundFinished>(&event)) ObserveRound(*round);
  if (const auto* scanned = std::get_if<PortsScanned>(&event)) LearnPorts(scanned->scans);
  if (const auto* reported = std::get_if<LinkReported>(&event)) Report(*reported);
}

bool C4pMaster::IsKnownHost(HostId host, JobId job, std::string_view what) {
  if (host.index() >= fabric_->num_hosts()) {
    outputs_.Reject(
        fmt::format("c4p: {}: no host {}; the fabric has {} hosts", what, host.value(), fabric_->num_hosts()));
    return false;
  }
  if (!job.valid()) {
    outputs_.Reject(fmt::format("c4p: {} of {}: names no job", what, fabric_->HostName(host)));
    return false;
  }
  probes_.Hear(host, time_.now());
  return true;
}

// The agent's number decides whether all of the host's leases are meant. Where it differs nothing is renewed: what the
// agent has forgotten must end, and what it knows it announces.
void C4pMaster::Renew(const LeasesRenewed& event) {
  if (!IsKnownHost(event.host, JobId(0u), "heartbeat")) return;
  bool is_complete = event.num_leases == leases_.CountOf(event.host);
  if (event.jobs) {
    for (const JobId job : *event.jobs) {
      if (!leases_.Renew({event.host, job}, time_.now())) is_complete = false;
    }
  } else if (is_complete) {
    leases_.RenewAll(event.host, time_.now());
  }
  if (is_complete) return;
  ++counters_.unknown_renewals;
  outputs_.Add(AnnouncementWanted{event.host});
}

void C4pMaster::Release(const ConnectionsReleased& event) {
  if (!IsKnownHost(event.host, event.job, "release")) return;
  const LeaseId lease{event.host, event.job};
  if (!leases_.IsHeld(lease)) {
    counters_.unknown_releases += std::max<size_t>(event.connections.size(), 1);
    return;
  }
  std::vector<uint64_t> names = event.connections;
  if (names.empty()) {
    for (const uint32_t slot : connections_.OfLease(lease)) names.push_back(connections_.at(slot).request.connection);
  }
  for (const uint64_t name : names) {
    const auto slot = connections_.Find(event.job, name);
    if (!slot || connections_.at(*slot).lease != lease) {
      ++counters_.unknown_releases;
      continue;
    }
    RemoveConnection(*slot);
    ++counters_.connections_released;
  }
  if (connections_.OfLease(lease).empty()) leases_.Release(lease);
}

void C4pMaster::Announce(const LeasesAnnounced& event) {
  if (!IsKnownHost(event.host, event.job, "announcement")) return;
  const LeaseId lease{event.host, event.job};
  std::set<uint64_t> named;
  for (const HeldConnection& held : event.connections) {
    AnnounceOne(lease, held);
    named.insert(held.request.connection);
  }
  for (const uint32_t slot : SlotsOf(lease)) {
    if (!named.contains(connections_.at(slot).request.connection)) RemoveConnection(slot);
  }
  if (connections_.OfLease(lease).empty()) leases_.Release(lease);
  if (!connections_.OfLease(lease).empty()) leases_.Grant(lease, time_.now());
}

void C4pMaster::AnnounceOne(LeaseId lease, const HeldConnection& held) {
  std::string fault = FindFault(*fabric_, lease, held.request);
  const auto known = connections_.Find(lease.job, held.request.connection);
  if (fault.empty() && known) fault = FindConflict(*fabric_, connections_.at(*known), lease, held.request);
  if (fault.empty() && held.queue_pairs.size() != held.request.num_queue_pairs) {
    fault = fmt::format("expected {} queue pairs, found {}", held.request.num_queue_pairs, held.queue_pairs.size());
  }
  if (!fault.empty()) {
    outputs_.Reject(fmt::format("c4p: announcement of {}, job {}, connection {}: {}", fabric_->HostName(lease.host),
                                lease.job.value(), held.request.connection, fault));
    return;
  }
  if (known) {
    Compare(*known, held);
    return;
  }
  const uint32_t slot = connections_.Add(lease, held.request);
  for (uint32_t q = 0; q < held.request.num_queue_pairs; ++q) Adopt({slot, q}, held.queue_pairs[q]);
}

// Where both know something, ours counts.
void C4pMaster::Compare(uint32_t slot, const HeldConnection& held) {
  for (uint32_t q = 0; q < held.queue_pairs.size(); ++q) {
    const QueuePairAnswer ours = AnswerOf(QueuePairRef{slot, q});
    const bool is_managed = ours.kind != QueuePairAnswer::Kind::kUnmanaged;
    const HeldPath theirs = {.is_managed = is_managed, .plane = ours.plane, .path = ours.path, .port = ours.port};
    const bool is_same = is_managed ? theirs == held.queue_pairs[q] : !held.queue_pairs[q].is_managed;
    if (!is_same) outputs_.Notify({slot, q}, MoveCause::kCorrected);
  }
}

// Adopted queue pairs may be on links known to be down, and those without a path may find one: all is planned again.
void C4pMaster::Adopt(QueuePairRef ref, const HeldPath& held) {
  if (!options_.chooses_paths) {
    if (held.is_managed) outputs_.Notify(ref, MoveCause::kCorrected);
    return;
  }
  const bool has_path = paths_.Adopt(ref, held);
  agenda_.NoteAdopted(has_path);
  if (!has_path) {
    if (held.is_managed) outputs_.Notify(ref, MoveCause::kStranded);
    return;
  }
  ++counters_.queue_pairs_adopted;
  const AddressPair pair = ports_.PairOf(connections_.at(ref.connection).request, held.plane);
  if (held.port != 0 && ports_.Hold(pair, held.port).ok()) {
    QueuePairState& mine = connections_.at(ref);
    mine.port = held.port;
    mine.port_plane = static_cast<uint8_t>(held.plane);
    mine.port_path = held.path;
  }
  Steer(ref);
}

void C4pMaster::ExpireLeases() {
  for (const LeaseId lease : leases_.Expire(time_.now())) {
    uint64_t num_queue_pairs = 0;
    for (const uint32_t slot : SlotsOf(lease)) {
      num_queue_pairs += connections_.at(slot).request.num_queue_pairs;
      RemoveConnection(slot);
    }
    ++counters_.leases_expired;
    outputs_.AddAfter(LeaseExpired{.lease = lease, .num_queue_pairs = num_queue_pairs});
  }
}

// A copy, which outlives the removal of connections.
std::vector<uint32_t> C4pMaster::SlotsOf(LeaseId lease) const {
  const std::span<const uint32_t> slots = connections_.OfLease(lease);
  return {slots.begin(), slots.end()};
}

void C4pMaster::RemoveConnection(uint32_t slot) {
  for (uint32_t q = 0; q < connections_.at(slot).queue_pairs.size(); ++q) {
    const QueuePairRef ref{slot, q};
    paths_.Release(ref);
    DropPort(ref);
    const bool is_rewritten = connections_.at(ref).wire_port != connections_.at(ref).socket_port;
    Occupy(ref, &QueuePairState::socket_port, 0, Leaving::kIsFree);
    Occupy(ref, &QueuePairState::wire_port, 0, is_rewritten ? Leaving::kRests : Leaving::kIsFree);
    hashed_.Forget(ref);
    outputs_.Withdraw(ref);
  }
  connections_.Remove(slot);
}

void C4pMaster::VisitQueuePairs(const std::function<void(const HeldQueuePair&)>& visit) const {
  for (uint32_t slot = 0; slot < connections_.num_slots(); ++slot) {
    const ConnectionState& connection = connections_.at(slot);
    if (!connection.is_held) continue;
    for (uint32_t q = 0; q < connection.queue_pairs.size(); ++q) {
      visit({.lease = connection.lease,
             .request = &connection.request,
             .queue_pair = q,
             .answer = AnswerOf(QueuePairRef{slot, q}),
             .links = LinksOf({slot, q})});
    }
  }
}

std::optional<ConnectionAnswer> C4pMaster::Find(JobId job, uint64_t connection) const {
  const auto slot = connections_.Find(job, connection);
  if (!slot) return std::nullopt;
  return AnswerOf(*slot);
}

}  // namespace fairlead::traffic::c4p

#include "traffic/c4p/c4p_master.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "traffic/c4p/request_faults.h"

namespace fairlead::traffic::c4p {

C4pMaster::C4pMaster(const topology::Fabric& fabric, const C4pOptions& options)
    : chooses_paths_(options.chooses_paths),
      time_(options.max_clock_step),
      catalogue_(fabric),
      outputs_(&counters_),
      leases_(options.lease_ttl),
      ports_(&catalogue_, options.ports, options.epoch_base, options.hash_configuration),
      evidence_(&catalogue_, &ports_, options),
      paths_(&catalogue_, evidence_.links(), options, &connections_),
      occupancy_(&connections_, &ports_),
      assignment_({.paths = paths_, .time = time_}, options, &connections_, &ports_, &outputs_, &counters_),
      hashed_({.catalogue = catalogue_, .ports = ports_, .connections = connections_}, options.scan_timeout, &outputs_),
      probes_(&catalogue_, ports_, options) {
  FL_CHECK(options.Validate().ok());
}

std::vector<PathAction> C4pMaster::Handle(SimTime clock, std::span<const PathEvent> events) {
  time_.Advance(clock);
  occupancy_.EndRests(time_.now());
  for (auto event = events.begin(); event != events.end();) {
    const auto run_end =
        std::find_if(event, events.end(), [&](const PathEvent& other) { return other.index() != event->index(); });
    if (std::holds_alternative<PathsRequested>(*event)) {
      Grant({event, run_end});
    } else if (std::holds_alternative<QueuePairOpened>(*event)) {
      Open({event, run_end});
    } else {
      std::for_each(event, run_end, [this](const PathEvent& one) { Handle(one); });
    }
    event = run_end;
  }
  // After the events: heartbeats that waited while we paused come before the leases that they renew end.
  ExpireLeases();
  Replan();
  Move(paths_.BalanceIfUneven(time_.now()), MoveCause::kImbalance);
  assignment_.RetryScans();
  assignment_.Verify();
  hashed_.AskForUnseen(time_.now());
  if (auto round = probes_.StartRound(time_.now())) outputs_.AddAfter(*std::move(round));
  return outputs_.Take(connections_, [this](QueuePairRef ref) { return assignment_.Tell(ref); });
}

void C4pMaster::Handle(const PathEvent& event) {
  if (const auto* renewed = std::get_if<LeasesRenewed>(&event)) Renew(*renewed);
  if (const auto* released = std::get_if<ConnectionsReleased>(&event)) Release(*released);
  if (const auto* announced = std::get_if<LeasesAnnounced>(&event)) Announce(*announced);
  if (const auto* round = std::get_if<ProbeRoundFinished>(&event)) ObserveRound(*round);
  if (const auto* scanned = std::get_if<PortsScanned>(&event)) LearnPorts(scanned->scans);
  if (const auto* reported = std::get_if<LinkReported>(&event)) Report(*reported);
}

bool C4pMaster::IsKnownHost(HostId host, JobId job, std::string_view what) {
  const topology::Fabric& fabric = catalogue_.fabric();
  if (host.index() >= fabric.num_hosts()) {
    outputs_.Reject(
        fmt::format("c4p: {}: no host {}; the fabric has {} hosts", what, host.value(), fabric.num_hosts()));
    return false;
  }
  if (!job.valid()) {
    outputs_.Reject(fmt::format("c4p: {} of {}: names no job", what, fabric.HostName(host)));
    return false;
  }
  probes_.Hear(host, time_.now());
  return true;
}

// In three passes over requests that came together: all connections get their names, then each job's queue pairs are
// placed as one batch, then all are answered.
void C4pMaster::Grant(std::span<const PathEvent> requests) {
  std::vector<std::vector<std::string>> errors(requests.size());  // [request][connection]
  std::map<JobId, std::vector<QueuePairRef>> newcomers;
  for (size_t r = 0; r < requests.size(); ++r) {
    Register(std::get<PathsRequested>(requests[r]), &errors[r], &newcomers);
  }
  for (const auto& [job, refs] : newcomers) {
    std::vector<QueuePairRef> placed;
    if (chooses_paths_) placed = paths_.Place(job, refs);
    counters_.queue_pairs_placed += placed.size();
    counters_.queue_pairs_unmanaged += refs.size() - placed.size();
    for (const QueuePairRef ref : placed) assignment_.Steer(ref);
  }
  for (size_t r = 0; r < requests.size(); ++r) {
    const auto& request = std::get<PathsRequested>(requests[r]);
    if (errors[r].size() != request.connections.size()) continue;  // rejected as a whole
    PathsGranted answer = {
        .request = request.request, .lease = {request.host, request.job}, .ttl = leases_.ttl(), .connections = {}};
    answer.connections.reserve(request.connections.size());
    for (size_t c = 0; c < request.connections.size(); ++c) {
      const uint64_t name = request.connections[c].connection;
      if (errors[r][c].empty()) {
        answer.connections.push_back(Tell(*connections_.Find(request.job, name)));
      } else {
        answer.connections.push_back({.connection = name, .reason = std::move(errors[r][c]), .queue_pairs = {}});
      }
    }
    outputs_.Add(std::move(answer));
  }
}

// Errors: [connection of the request], empty where there is none; one more when the request as a whole is wrong.
void C4pMaster::Register(const PathsRequested& request, std::vector<std::string>* errors,
                         std::map<JobId, std::vector<QueuePairRef>>* newcomers) {
  if (!IsKnownHost(request.host, request.job, "request")) {
    errors->assign(request.connections.size() + 1, "");
    return;
  }
  const topology::Fabric& fabric = catalogue_.fabric();
  const LeaseId lease{request.host, request.job};
  for (const ConnectionRequest& wanted : request.connections) {
    ++counters_.requests;
    std::string fault = FindFault(fabric, lease, wanted);
    const auto known = connections_.Find(request.job, wanted.connection);
    if (fault.empty() && known) fault = FindConflict(fabric, connections_.at(*known), lease, wanted);
    if (!fault.empty()) {
      ++counters_.refused_requests;
      fault = fmt::format("c4p: {}, job {}, connection {}: {}", fabric.HostName(request.host), request.job.value(),
                          wanted.connection, fault);
    } else if (known) {
      ++counters_.duplicate_requests;
    } else {
      const uint32_t slot = connections_.Add(lease, wanted);
      std::vector<QueuePairRef>& refs = (*newcomers)[request.job];
      for (uint32_t q = 0; q < wanted.num_queue_pairs; ++q) refs.push_back({slot, q});
    }
    errors->push_back(std::move(fault));
  }
  if (!connections_.OfLease(lease).empty()) leases_.Grant(lease, time_.now());
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
  const topology::Fabric& fabric = catalogue_.fabric();
  std::string fault = FindFault(fabric, lease, held.request);
  const auto known = connections_.Find(lease.job, held.request.connection);
  if (fault.empty() && known) fault = FindConflict(fabric, connections_.at(*known), lease, held.request);
  if (fault.empty() && held.queue_pairs.size() != held.request.num_queue_pairs) {
    fault = fmt::format("expected {} queue pairs, found {}", held.request.num_queue_pairs, held.queue_pairs.size());
  }
  if (!fault.empty()) {
    outputs_.Reject(fmt::format("c4p: announcement of {}, job {}, connection {}: {}", fabric.HostName(lease.host),
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
    const QueuePairAnswer ours = assignment_.AnswerOf({slot, q});
    const bool is_managed = ours.kind != QueuePairAnswer::Kind::kUnmanaged;
    const HeldPath theirs = {.is_managed = is_managed, .plane = ours.plane, .path = ours.path, .port = ours.port};
    const bool is_same = is_managed ? theirs == held.queue_pairs[q] : !held.queue_pairs[q].is_managed;
    if (!is_same) outputs_.Notify({slot, q}, MoveCause::kCorrected);
  }
}

// Adopted queue pairs may be on links known to be down, and those without a path may find one: all is planned again.
void C4pMaster::Adopt(QueuePairRef ref, const HeldPath& held) {
  if (!chooses_paths_) {
    if (held.is_managed) outputs_.Notify(ref, MoveCause::kCorrected);
    return;
  }
  const bool has_path = paths_.Adopt(ref, held);
  agenda_.NoteAdopted(has_path);
  if (has_path) {
    ++counters_.queue_pairs_adopted;
    assignment_.Adopt(ref, held);
  } else if (held.is_managed) {
    outputs_.Notify(ref, MoveCause::kStranded);
  }
}

// What all of them have is known before one is given another port.
void C4pMaster::Open(std::span<const PathEvent> events) {
  std::vector<std::pair<QueuePairRef, const QueuePairOpened*>> known;
  for (const PathEvent& event : events) {
    const auto& opened = std::get<QueuePairOpened>(event);
    const std::optional<QueuePairRef> ref = FindOpened(opened);
    if (!ref) continue;
    known.emplace_back(*ref, &opened);
    if (chooses_paths_) occupancy_.Note(*ref, opened.socket_port, opened.port, time_.now());
  }
  for (const auto& [ref, opened] : known) {
    if (chooses_paths_) {
      assignment_.NoteOpen(ref, opened->socket_port, opened->port);
    } else {
      hashed_.Follow(ref, opened->port, time_.now());
    }
  }
}

// Late messages of connections that have ended are normal.
std::optional<QueuePairRef> C4pMaster::FindOpened(const QueuePairOpened& event) const {
  const auto slot = connections_.Find(event.job, event.connection);
  if (!slot || connections_.at(*slot).lease.host != event.host) return std::nullopt;
  if (event.queue_pair >= connections_.at(*slot).queue_pairs.size()) return std::nullopt;
  return QueuePairRef{*slot, event.queue_pair};
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
    assignment_.LetGo(ref);
    occupancy_.Release(ref, time_.now());
    hashed_.Forget(ref);
    outputs_.Withdraw(ref);
  }
  connections_.Remove(slot);
}

void C4pMaster::LearnPorts(std::span<const PortScanSeen> scans) {
  hashed_.Learn(scans);
  assignment_.Learn(scans);
}

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
    assignment_.SteerOutdated();
    hashed_.AskForAll(time_.now());
  }
}

void C4pMaster::Move(std::span<const QueuePairRef> refs, MoveCause cause) {
  for (const QueuePairRef ref : refs) {
    assignment_.Steer(ref);
    outputs_.Notify(ref, cause);
  }
}

ConnectionAnswer C4pMaster::Tell(uint32_t slot) {
  for (uint32_t q = 0; q < connections_.at(slot).queue_pairs.size(); ++q) assignment_.Tell({slot, q});
  return AnswerOf(slot);
}

ConnectionAnswer C4pMaster::AnswerOf(uint32_t slot) const {
  const ConnectionState& connection = connections_.at(slot);
  ConnectionAnswer answer = {.connection = connection.request.connection, .reason = "", .queue_pairs = {}};
  answer.queue_pairs.reserve(connection.queue_pairs.size());
  bool is_complete = true;
  for (uint32_t q = 0; q < connection.queue_pairs.size(); ++q) {
    answer.queue_pairs.push_back(assignment_.AnswerOf({slot, q}));
    is_complete = is_complete && answer.queue_pairs.back().kind != QueuePairAnswer::Kind::kUnmanaged;
  }
  if (is_complete) return answer;
  answer.reason =
      chooses_paths_ ? paths_.ExplainNoPath(connection.request) : "c4p: paths are left to the fabric's hash";
  return answer;
}

std::span<const LinkId> C4pMaster::LinksOf(QueuePairRef ref) const {
  return paths_.HasPath(ref) ? paths_.Of(ref).route() : hashed_.LinksOf(ref);
}

std::optional<ConnectionAnswer> C4pMaster::Find(JobId job, uint64_t connection) const {
  const auto slot = connections_.Find(job, connection);
  if (!slot) return std::nullopt;
  return AnswerOf(*slot);
}

void C4pMaster::VisitQueuePairs(const std::function<void(const HeldQueuePair&)>& visit) const {
  for (uint32_t slot = 0; slot < connections_.num_slots(); ++slot) {
    const ConnectionState& connection = connections_.at(slot);
    if (!connection.is_held) continue;
    for (uint32_t q = 0; q < connection.queue_pairs.size(); ++q) {
      visit({.lease = connection.lease,
             .request = &connection.request,
             .queue_pair = q,
             .answer = assignment_.AnswerOf({slot, q}),
             .links = LinksOf({slot, q})});
    }
  }
}

}  // namespace fairlead::traffic::c4p

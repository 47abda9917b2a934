// Of the C4P master: requests, and the paths that they are given.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "traffic/c4p/c4p_master.h"
#include "traffic/c4p/request_faults.h"

namespace fairlead::traffic::c4p {

using Steering = QueuePairState::Steering;

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
    if (options_.chooses_paths) placed = Place(job, refs);
    counters_.queue_pairs_placed += placed.size();
    counters_.queue_pairs_unmanaged += refs.size() - placed.size();
    for (const QueuePairRef ref : placed) Steer(ref);
  }
  for (size_t r = 0; r < requests.size(); ++r) {
    const auto& request = std::get<PathsRequested>(requests[r]);
    if (errors[r].size() != request.connections.size()) continue;  // rejected as a whole
    PathsGranted answer = {
        .request = request.request, .lease = {request.host, request.job}, .ttl = options_.lease_ttl, .connections = {}};
    answer.connections.reserve(request.connections.size());
    for (size_t c = 0; c < request.connections.size(); ++c) {
      const uint64_t name = request.connections[c].connection;
      if (errors[r][c].empty()) {
        answer.connections.push_back(AnswerOf(*connections_.Find(request.job, name)));
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
  const LeaseId lease{request.host, request.job};
  for (const ConnectionRequest& wanted : request.connections) {
    ++counters_.requests;
    std::string fault = FindFault(*fabric_, lease, wanted);
    const auto known = connections_.Find(request.job, wanted.connection);
    if (fault.empty() && known) fault = FindConflict(*fabric_, connections_.at(*known), lease, wanted);
    if (!fault.empty()) {
      ++counters_.refused_requests;
      fault = fmt::format("c4p: {}, job {}, connection {}: {}", fabric_->HostName(request.host), request.job.value(),
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

std::vector<QueuePairRef> C4pMaster::Place(JobId job, std::span<const QueuePairRef> refs) {
  std::vector<QueuePairRequest> batch;
  batch.reserve(refs.size());
  for (const QueuePairRef ref : refs) batch.push_back(connections_.RequestOf(ref));
  const std::vector<ReservationId> ids = allocator_.Allocate(job, batch);
  std::vector<QueuePairRef> placed;
  placed.reserve(refs.size());
  for (size_t i = 0; i < refs.size(); ++i) {
    NoteReservation(refs[i], ids[i]);
    if (ids[i].valid()) placed.push_back(refs[i]);
  }
  imbalance_.NoteChange();
  return placed;
}

// What a queue pair has got, or that it has nothing.
void C4pMaster::NoteReservation(QueuePairRef ref, ReservationId id) {
  connections_.SetReservation(ref, id);
  if (!id.valid()) {
    connections_.at(ref).steering = Steering::kUnmanaged;
    off_plane_.erase(ref);
    unmanaged_.insert(ref);
    return;
  }
  connections_.at(ref).steering = Steering::kSearching;
  if (!unmanaged_.empty()) unmanaged_.erase(ref);
  const uint32_t plane = allocator_.reservation(id).plane;
  if (HomePlane(connections_.at(ref.connection).request, ref.queue_pair, plane) != plane) off_plane_.insert(ref);
}

std::string C4pMaster::ExplainNoPath(const ConnectionRequest& request) const {
  std::string why =
      fmt::format("c4p: no healthy path from {} to {}:", fabric_->NodeName(fabric_->node_of(request.source)),
                  fabric_->NodeName(fabric_->node_of(request.destination)));
  const auto from = catalogue_.ports(request.source);
  const auto to = catalogue_.ports(request.destination);
  const size_t planes = std::min(from.size(), to.size());
  if (planes == 0) why += " no ports";
  for (size_t p = 0; p < planes; ++p) {
    const uint32_t num_paths = catalogue_.Paths(from[p].leaf, to[p].leaf).num_paths;
    why += fmt::format(" plane {}: ", p);
    if (catalogue_.health(from[p].up) == 0) {
      why += fabric_->LinkName(from[p].up) + " is down;";
    } else if (catalogue_.health(to[p].down) == 0) {
      why += fabric_->LinkName(to[p].down) + " is down;";
    } else if (num_paths == 0) {
      why += "its leaves are not joined;";
    } else {
      why += fmt::format("{} of {} paths cross links that are down;",
                         HasPath(request, static_cast<uint32_t>(p), LinkUse::kLastResort) ? 0 : num_paths, num_paths);
    }
  }
  return why + " the job goes on by the fabric's own hash, and gets paths when links return";
}

}  // namespace fairlead::traffic::c4p

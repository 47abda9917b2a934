// Of the C4P master: requests, and the paths that they are given.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "traffic/c4p/c4p_master.h"
#include "traffic/c4p/request_faults.h"

namespace fairlead::traffic::c4p {

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
    if (options_.chooses_paths) placed = paths_.Place(job, refs);
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

}  // namespace fairlead::traffic::c4p

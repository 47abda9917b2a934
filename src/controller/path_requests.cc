#include "controller/path_requests.h"

#include <fmt/format.h>

#include <utility>

namespace fairlead::controller {

std::optional<JobId> PathRequests::Ask(HostId host, const PathsWanted& message) {
  if (std::string fault = FaultOfJobName(message.job); !fault.empty()) {
    outputs_->Object(host, std::move(fault));
    return std::nullopt;
  }
  Request request = {.stream = *streams_->agent(host).stream,
                     .job = {},
                     .answer = {.request = message.request, .job = message.job, .connections = {}, .level = 0},
                     .places = {},
                     .connections = {}};
  traffic::PathsRequested wanted = {.request = ++num_requests_, .host = host, .job = {}, .connections = {}};
  request.answer.connections.reserve(message.connections.size());
  request.places.reserve(message.connections.size());
  wanted.connections.reserve(message.connections.size());
  for (const WantedConnection& one : message.connections) {
    traffic::ConnectionRequest translated;
    std::string fault = words_.Translate(host, one, &translated);
    if (fault.empty()) {
      request.places.push_back(request.answer.connections.size());
      wanted.connections.push_back(translated);
    } else if (!words_.IsOwn(host, one.source)) {
      outputs_->Object(host, fmt::format("request for job {}: {}", message.job, fault));
    }
    request.answer.connections.push_back({.connection = one.connection, .reason = std::move(fault), .queue_pairs = {}});
  }
  const std::optional<JobId> job = wanted.connections.empty() ? jobs_->Find(message.job) : jobs_->Intern(message.job);
  if (wanted.connections.empty() || !job) {
    request.answer.level = job ? jobs_->at(*job).level : jobs_->last_level();
    streams_->Answer(request.stream, std::move(request.answer));
    return std::nullopt;
  }
  wanted.job = request.job = *job;
  request.connections = wanted.connections;
  jobs_->AddQuestion(*job);
  asked_.emplace(wanted.request, std::move(request));
  batch_->AddOf(host, std::move(wanted));
  return job;
}

std::vector<JobId> PathRequests::BeginAnswers() {
  std::vector<JobId> jobs;
  jobs.reserve(asked_.size());
  for (const auto& [number, request] : asked_) {
    jobs.push_back(request.job);
    jobs_->RemoveQuestion(request.job);
  }
  return jobs;
}

void PathRequests::Answer(traffic::PathsGranted& action) {
  const auto found = asked_.find(action.request);
  const LiveJob* job = jobs_->Find(action.lease.job);
  if (found == asked_.end() || job == nullptr) return;
  Request& request = found->second;
  for (size_t c = 0; c < action.connections.size() && c < request.places.size(); ++c) {
    // Without queue pairs it is refused, and not held.
    if (!action.connections[c].queue_pairs.empty()) {
      jobs_->AddConnection(request.job, action.lease.host, request.connections[c]);
    }
    request.answer.connections[request.places[c]] = std::move(action.connections[c]);
  }
  request.answer.level = job->level;
  streams_->Answer(request.stream, std::move(request.answer));
  asked_.erase(found);
}

}  // namespace fairlead::controller

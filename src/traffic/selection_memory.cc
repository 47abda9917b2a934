#include "traffic/selection_memory.h"

#include <algorithm>
#include <utility>

#include "traffic/path_selection.h"

namespace fairlead::traffic {

void SelectionMemory::Clear() {
  jobs_.clear();
  num_chosen_ = 0;
}

std::vector<SelectionMemory::Departure> SelectionMemory::Begin(std::span<const PathRequest> requests,
                                                               bool in_force_matters) {
  num_chosen_ = 0;
  std::vector<Departure> departures;
  std::unordered_map<JobId, Job> before = std::exchange(jobs_, {});
  jobs_.reserve(requests.size());
  const auto depart = [&](JobId id, Job& job) {
    if (job.is_placed) departures.push_back({id, job.precedence, std::exchange(job.paths, {})});
    job.is_placed = false;
  };
  for (const PathRequest& request : requests) {
    auto node = before.extract(request.id);
    Job& job = node.empty() ? jobs_[request.id] : jobs_.insert(std::move(node)).position->second;
    const auto in_force = in_force_matters ? request.paths_in_force : std::span<const model::Path>();
    const bool has_same_flows = std::ranges::equal(job.flows, request.flows);
    const bool is_as_before = has_same_flows && job.precedence == request.precedence &&
                              job.solo_time == request.solo_time && job.paths_in_force.Equals(in_force);
    if (is_as_before) continue;
    depart(request.id, job);
    job.precedence = request.precedence;
    job.solo_time = request.solo_time;
    job.paths_in_force.Assign(in_force);
    if (has_same_flows) continue;
    job.flows.assign(request.flows.begin(), request.flows.end());
    job.candidates = JobCandidates();
  }
  for (auto& [id, job] : before) depart(id, job);
  std::sort(departures.begin(), departures.end(), [](const Departure& a, const Departure& b) {
    return ChoosesBefore(a.precedence, a.job, b.precedence, b.job);
  });
  return departures;
}

void SelectionMemory::BeginKeeping(std::span<const PathRequest> requests) {
  num_chosen_ = 0;
  std::unordered_map<JobId, Job> before = std::exchange(jobs_, {});
  jobs_.reserve(requests.size());
  for (const PathRequest& request : requests) {
    auto node = before.extract(request.id);
    Job& job = node.empty() ? jobs_[request.id] : jobs_.insert(std::move(node)).position->second;
    if (request.traffic != nullptr && request.traffic == job.traffic) continue;
    if (std::ranges::equal(job.flows, request.flows)) continue;
    job = Job();
    job.flows.assign(request.flows.begin(), request.flows.end());
  }
}

}  // namespace fairlead::traffic

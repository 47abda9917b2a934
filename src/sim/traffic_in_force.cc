#include "sim/traffic_in_force.h"

#include <algorithm>
#include <utility>

#include "sim/job_account.h"
#include "traffic/path_bundle.h"

namespace fairlead::sim {

namespace {

// Flows that have chosen a path by themselves stay on it as long as it is one of their candidates.
void KeepChosenPaths(const JobState& job, std::vector<model::Path>* planned) {
  if (job.paths.empty()) return;
  for (size_t f = 0; f < planned->size(); ++f) {
    for (const std::span<const LinkId> part : traffic::PartsOf(job.senders.choice->candidates[f])) {
      if (std::ranges::equal(part, job.paths[f])) (*planned)[f] = job.paths[f];
    }
  }
}

// [phase] a message on several paths waits until it is in order.
std::vector<int64_t> ReorderTimes(const JobState& job, SimDuration reorder) {
  std::vector<int64_t> times;
  for (const model::CommunicationPhase& phase : job.iteration->phases) {
    const auto flows = std::span(job.paths).subspan(phase.first_flow, phase.num_flows);
    const bool is_divided =
        std::ranges::any_of(flows, [](const model::Path& path) { return traffic::NumPartsSent(path) > 1; });
    times.push_back(is_divided ? reorder.ns() : 0);
  }
  return times;
}

}  // namespace

TrafficInForce::TrafficInForce(const topology::Fabric& fabric, const Options& options, HealthyFabric* healthy,
                               RunEngine* engine, CarriedAccount* carried)
    : fabric_(fabric),
      options_(options),
      healthy_(healthy),
      engine_(engine),
      carried_(carried),
      capacities_(PayloadCapacities(fabric, topology::LinkHealth(fabric.num_links(), 1.0), options.payload_share)) {}

void TrafficInForce::Add(JobState* job) { jobs_[job->id].job = job; }

void TrafficInForce::Remove(JobId job) {
  const auto found = jobs_.find(job);
  num_balanced_ -= found->second.shares != nullptr ? 1 : 0;
  found->second.job->shares = nullptr;
  jobs_.erase(found);
}

void TrafficInForce::Route(Traffic& traffic) const {
  traffic.routes = ComputeRoutes(*traffic.job, capacities_);
  traffic.demand = ComputeDemand(*traffic.job, traffic.routes);
  if (options_.reorder > SimDuration()) traffic.job->reorder_ns = ReorderTimes(*traffic.job, options_.reorder);
}

void TrafficInForce::Adopt(controller::SetTraffic action) {
  Traffic& traffic = jobs_.at(action.job);
  JobState& job = *traffic.job;
  const bool has_new_rules = job.senders != action.senders;
  if (has_new_rules) {
    engine_->Release(job.id);
    job.senders = std::move(action.senders);
  }
  if (job.senders.choice) KeepChosenPaths(job, &action.paths);
  if (!Send(traffic, std::move(action.paths)) && has_new_rules) Route(traffic);
  if (job.time_shift != action.time_shift) SetTimeShift(job, action.time_shift);
  job.level = action.level;
  const bool balances = action.balances_shares && QueuePairShares::HasSomethingToDo(*job.iteration);
  if (balances != (traffic.shares != nullptr)) SetBalancing(traffic, balances);
}

// Flows take the planned paths, as far as these are alive. Returns whether they take others than before.
bool TrafficInForce::Send(Traffic& traffic, std::vector<model::Path> planned) {
  std::vector<model::Path> broken;
  const auto is_dead = [this](LinkId link) { return std::ranges::binary_search(unnoticed_, link); };
  if (!unnoticed_.empty()) {
    for (const model::Path& path : planned) broken.push_back(traffic::BreakOff(path, is_dead));
  }
  if (unnoticed_.empty() || broken == planned) {
    traffic.planned.reset();
    broken = std::move(planned);
  } else {
    traffic.planned = std::move(planned);
  }
  if (traffic.job->paths == broken) return false;
  SetPaths(traffic, std::move(broken));
  return true;
}

const std::vector<model::Path>& TrafficInForce::PlannedPathsOf(JobId job) const {
  const Traffic& traffic = jobs_.at(job);
  return traffic.planned ? *traffic.planned : traffic.job->paths;
}

void TrafficInForce::SetPaths(Traffic& traffic, std::vector<model::Path> paths) {
  JobState& job = *traffic.job;
  engine_->Release(job.id);
  carried_->Settle(job, engine_->now());
  job.paths = std::move(paths);
  LowerYardstick(healthy_->yardstick(), *job.iteration, engine_->now(), job, engine_->delays());
  Route(traffic);
}

void TrafficInForce::SetTimeShift(JobState& job, const std::optional<traffic::TimeShift>& shift) {
  engine_->Release(job.id);
  job.time_shift = shift;
  job.shift_progress = {};
  // What it waits for is no longer true.
  if (std::exchange(job.waits_for_shift, false)) job.iteration_start = engine_->now();
}

void TrafficInForce::SetBalancing(Traffic& traffic, bool balances) {
  JobState& job = *traffic.job;
  engine_->Release(job.id);
  traffic.shares = balances ? std::make_unique<QueuePairShares>(&job, options_.seed) : nullptr;
  job.shares = traffic.shares.get();
  job.part_bytes.assign(balances ? job.transfers.size() : 0, 0);
  if (balances) {
    ++num_balanced_;
  } else {
    --num_balanced_;
  }
}

void TrafficInForce::SetHealth(const topology::LinkHealth& health, const std::vector<LinkId>& unnoticed) {
  capacities_ = PayloadCapacities(fabric_, health, options_.payload_share);
  unnoticed_ = unnoticed;
  for (auto& [id, traffic] : jobs_) {
    const bool may_break = traffic.planned.has_value() || !unnoticed_.empty();
    if (!may_break || !Send(traffic, PlannedPathsOf(id))) Route(traffic);
  }
}

SimTime TrafficInForce::NextLook() const {
  SimTime next = SimTime::Never();
  if (num_balanced_ == 0) return next;
  for (const auto& [id, traffic] : jobs_) {
    if (traffic.shares != nullptr) next = std::min(next, traffic.shares->next_look());
  }
  return next;
}

void TrafficInForce::Look() {
  const SimTime now = engine_->now();
  for (auto& [id, traffic] : jobs_) {
    if (traffic.shares == nullptr || traffic.shares->next_look() > now) continue;
    JobState& job = *traffic.job;
    engine_->Release(id);
    carried_->Settle(job, now);
    if (!traffic.shares->Look(now)) continue;
    model::Iteration shared = *job.iteration;
    for (const Transfer& transfer : job.transfers) {
      for (const uint32_t flow : transfer.flows) shared.flows[flow].bytes = Bytes(transfer.bytes);
    }
    LowerYardstick(healthy_->yardstick(), shared, now, job, engine_->delays());
    Route(traffic);
  }
}

void TrafficInForce::Wake() {
  if (num_balanced_ == 0) return;
  for (auto& [id, traffic] : jobs_) {
    if (traffic.shares != nullptr) traffic.shares->Wake(engine_->now());
  }
}

std::vector<RoutedJob> TrafficInForce::Routed() const {
  std::vector<RoutedJob> routed;
  routed.reserve(jobs_.size());
  for (const auto& [id, traffic] : jobs_) {
    if (traffic.job->iteration_start == SimTime::Never()) continue;
    routed.push_back({traffic.job, &traffic.routes, &traffic.demand});
  }
  return routed;
}

}  // namespace fairlead::sim

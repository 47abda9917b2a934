#include "sim/fwl_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "base/process_usage.h"
#include "fluid/flow_network.h"
#include "sim/fwl_routes.h"

namespace fairlead::sim {
namespace {

using fluid::FlowId;

constexpr uint32_t kNumRings = 8;

// Edges per ring; 0 when the job's flows don't look like rings.
uint32_t RingSize(const FwlWorkload& workload, const FwlJob& job) {
  if (job.num_flows == 0 || job.num_flows % kNumRings != 0) return 0;
  const uint32_t size = job.num_flows / kNumRings;
  const std::span<const FwlFlow> flows = workload.FlowsOf(job);
  for (uint32_t f = 0; f < job.num_flows; ++f) {
    if (flows[f].bytes != flows[size_t{f} / size * size].bytes) return 0;
  }
  return size;
}

// Which flows of the file are one flow of the network: rings in coupled detail. Ordered by job.
std::vector<FwlFlowRange> FlowRanges(const FwlWorkload& workload, FwlDetail detail) {
  std::vector<FwlFlowRange> ranges;
  ranges.reserve(workload.flows.size());
  for (const FwlJob& job : workload.jobs) {
    const uint32_t ring_size = detail == FwlDetail::kCoupled ? RingSize(workload, job) : 0;
    const uint32_t flows_each = std::max(ring_size, 1u);
    for (uint32_t f = 0; f < job.num_flows; f += flows_each) ranges.push_back({job.first_flow + f, flows_each});
  }
  return ranges;
}

class FwlSimulation {
 public:
  FwlSimulation(const FwlWorkload& workload, const FwlOptions& options)
      : FwlSimulation(workload, options, FlowRanges(workload, options.detail)) {}

  Result<FwlResult> Run() {
    std::vector<FlowId> completed;
    while (true) {
      const SimTime wake = wakes_.empty() ? SimTime::Never() : wakes_.top().first;
      const SimTime next = std::min(wake, network_.NextCompletion());
      if (next == SimTime::Never()) break;
      completed.clear();
      network_.AdvanceTo(next, &completed);
      for (const FlowId flow : completed) FinishMessage(flow);
      while (!wakes_.empty() && wakes_.top().first == next) {
        const uint32_t job = wakes_.top().second;
        wakes_.pop();
        StartFlows(job);
      }
    }
    return Summarize();
  }

 private:
  struct JobState {
    uint32_t first_flow = 0;  // of the network
    uint32_t num_flows = 0;
    uint32_t num_unfinished = 0;
    uint32_t iterations_left = 0;
  };
  // A flow of the network: a ring, a flow of the file, or a ring edge that sends messages.
  struct Sender {
    double message_bytes = 0;
    uint32_t job = 0;
    uint32_t next_in_ring = 0;
    uint32_t num_messages = 1;  // each iteration
    uint32_t num_sent = 0;      // in this iteration
    uint32_t num_allowed = 1;   // sent by the edge before, plus one
  };

  FwlSimulation(const FwlWorkload& workload, const FwlOptions& options, const std::vector<FwlFlowRange>& ranges)
      : FwlSimulation(workload, options, ranges, PlanFwlRoutes(workload, ranges)) {}

  FwlSimulation(const FwlWorkload& workload, const FwlOptions& options, const std::vector<FwlFlowRange>& ranges,
                const FwlRoutes& routes)
      : workload_(workload),
        options_(options),
        network_(std::vector<double>(routes.num_links, workload.capacity)),
        jobs_(workload.jobs.size()) {
    result_.iteration_ends_s.resize(workload.jobs.size());
    senders_.reserve(ranges.size());
    network_.Reserve(ranges.size(), routes.uses.size());
    for (uint32_t j = 0; j < jobs_.size(); ++j) AddJob(j, ranges, routes);
  }

  // Adds the flows of the next job: jobs come in order, and so do ranges.
  void AddJob(uint32_t index, const std::vector<FwlFlowRange>& ranges, const FwlRoutes& routes) {
    const FwlJob& job = workload_.jobs[index];
    JobState& state = jobs_[index];
    state.first_flow = static_cast<uint32_t>(senders_.size());
    for (size_t r = senders_.size(); r < ranges.size() && ranges[r].first < job.first_flow + job.num_flows; ++r) {
      senders_.push_back({});
      senders_.back().job = index;
      senders_.back().message_bytes = workload_.flows[ranges[r].first].bytes;
      network_.AddFlow(routes.RouteOf(r), options_.strict_priority ? job.priority : 0);
    }
    state.num_flows = static_cast<uint32_t>(senders_.size()) - state.first_flow;
    const uint32_t ring_size = options_.detail == FwlDetail::kStepwise ? RingSize(workload_, job) : 0;
    if (ring_size > 1) SplitIntoMessages(state, ring_size);
    if (job.num_flows == 0 || job.iterations == 0) return;
    state.iterations_left = job.iterations;
    wakes_.emplace(SimTime::FromSeconds(Seconds(job.start_s + job.compute_s)), index);
  }

  void SplitIntoMessages(const JobState& job, uint32_t ring_size) {
    for (uint32_t f = 0; f < job.num_flows; ++f) {
      Sender& sender = senders_[job.first_flow + f];
      sender.num_messages = 2 * (ring_size - 1);
      sender.message_bytes = std::floor(sender.message_bytes / sender.num_messages);
      sender.next_in_ring = job.first_flow + f / ring_size * ring_size + (f % ring_size + 1) % ring_size;
    }
  }

  void StartFlows(uint32_t index) {
    JobState& job = jobs_[index];
    job.num_unfinished = job.num_flows;
    for (uint32_t f = job.first_flow; f < job.first_flow + job.num_flows; ++f) {
      senders_[f].num_sent = 0;
      senders_[f].num_allowed = 1;
      network_.Start(FlowId(f), senders_[f].message_bytes);
    }
  }

  void FinishMessage(FlowId id) {
    ++result_.completions;
    Sender& sender = senders_[id.index()];
    ++sender.num_sent;
    if (sender.num_sent < sender.num_messages) {
      if (sender.num_sent < sender.num_allowed) network_.Start(id, sender.message_bytes);
      AllowNext(sender.next_in_ring);
      return;
    }
    if (--jobs_[sender.job].num_unfinished == 0) FinishIteration(sender.job);
  }

  // The edge before this one in the ring has sent a message.
  void AllowNext(uint32_t index) {
    Sender& sender = senders_[index];
    const bool waiting = sender.num_sent == sender.num_allowed;
    ++sender.num_allowed;
    if (waiting) network_.Start(FlowId(index), sender.message_bytes);
  }

  void FinishIteration(uint32_t index) {
    ++result_.iterations;
    JobState& job = jobs_[index];
    result_.iteration_ends_s[index].push_back(network_.now().seconds().value());
    if (--job.iterations_left == 0) return;
    wakes_.emplace(network_.now() + SimDuration::FromSeconds(Seconds(workload_.jobs[index].compute_s)), index);
  }

  Result<FwlResult> Summarize() {
    result_.end_s = network_.now().seconds().value();
    double sum = 0;
    int64_t num_jobs = 0;
    for (size_t j = 0; j < jobs_.size(); ++j) {
      if (jobs_[j].iterations_left > 0) {
        return Status(StatusCode::kFailedPrecondition,
                      fmt::format("job {}: {} iterations never end: a flow gets no bandwidth", workload_.jobs[j].id,
                                  jobs_[j].iterations_left));
      }
      const std::vector<double>& ends = result_.iteration_ends_s[j];
      if (ends.size() < 2) continue;
      sum += (ends.back() - workload_.jobs[j].start_s) / static_cast<double>(ends.size());
      ++num_jobs;
    }
    result_.mean_iteration_s = num_jobs > 0 ? sum / static_cast<double>(num_jobs) : result_.end_s;
    return std::move(result_);
  }

  using Wake = std::pair<SimTime, uint32_t>;  // when, job

  const FwlWorkload& workload_;
  const FwlOptions options_;
  fluid::FlowNetwork network_;
  std::vector<JobState> jobs_;                                          // [job]
  std::vector<Sender> senders_;                                         // [flow of the network]
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;  // jobs that compute
  FwlResult result_;
};

}  // namespace

Result<FwlDetail> ParseFwlDetail(std::string_view name) {
  if (name == "coupled") return FwlDetail::kCoupled;
  if (name == "edge") return FwlDetail::kEdge;
  if (name == "stepwise") return FwlDetail::kStepwise;
  return InvalidArgument(fmt::format("detail: expected coupled, edge or stepwise, found '{}'", name));
}

Result<FwlResult> RunFwl(const FwlWorkload& workload, const FwlOptions& options) {
  for (const FwlJob& job : workload.jobs) {
    if (options.strict_priority && job.priority >= fluid::FlowNetwork::kMaxLevels) {
      return InvalidArgument(fmt::format("job {}: expected a priority below {}, found {}", job.id,
                                         fluid::FlowNetwork::kMaxLevels, job.priority));
    }
  }
  const double cpu_start_s = CpuSeconds();
  FL_ASSIGN_OR_RETURN(FwlResult result, FwlSimulation(workload, options).Run());
  result.cpu_s = CpuSeconds() - cpu_start_s;
  return result;
}

}  // namespace fairlead::sim

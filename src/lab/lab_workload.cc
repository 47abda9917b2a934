#include "lab/lab_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <variant>

#include "base/random.h"
#include "controller/cluster_controller.h"
#include "lab/lab_operations.h"
#include "model/job_name.h"
#include "scheduling/placement_policy.h"
#include "topology/router.h"
#include "traffic/policy_registry.h"

namespace fairlead::lab {

namespace {

using model::FlowDemand;

// NCCL cuts what one step of a ring moves into slices, which are passed on as they come.
constexpr uint32_t kSlicesPerStep = 8;
constexpr uint16_t kFirstPort = 20'000;
constexpr size_t kMaxJobs = 10'000;

uint64_t ScaledBytes(Bytes bytes, double scale) {
  return std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(bytes.value() * scale)));
}

// Plans the workers of one job.
class JobPlanner {
 public:
  JobPlanner(const topology::Fabric& fabric, const LabPlan& plan, const PlacedJob& job)
      : fabric_(fabric), plan_(plan), job_(job), router_(fabric), operations_(job.name) {
    for (const GpuId gpu : job.placement.gpus) {
      const LabNodeId host(fabric.host_of(gpu).value());
      const auto [worker, is_new] = worker_of_.emplace(host, worker_of_.size());
      if (is_new) {
        planned_.workers.push_back({host, {}});
        planned_.workers.back().plan.num_gpus = 0;
      }
      ++planned_.workers[worker->second].plan.num_gpus;
    }
  }

  LabJob Plan() {
    planned_.name = job_.name;
    for (const model::CommunicationPhase& phase : job_.iteration.phases) AddPhase(phase);
    for (size_t w = 0; w < planned_.workers.size(); ++w) {
      TrainerPlan& trainer = planned_.workers[w].plan;
      trainer.job = job_.name;
      trainer.worker = static_cast<uint32_t>(w);
      trainer.num_workers = static_cast<uint32_t>(planned_.workers.size());
      trainer.work_flop =
          job_.iteration.work.value() * trainer.num_gpus / static_cast<double>(job_.placement.gpus.size());
      trainer.compute_s = (job_.iteration.compute_time + job_.iteration.bubble_time).value();
      trainer.start_s = job_.start_s;
      trainer.iterations = job_.num_iterations;
      trainer.listen_port = job_.listen_port;
      for (const NicId nic : plan_.nodes[planned_.workers[w].host].nics) {
        trainer.listen_addresses.push_back(FormatAddress(plan_.nics[nic].address));
      }
    }
    return std::move(planned_);
  }

 private:
  // A connection of the job: (NIC, NIC, number among the flows of this pair in a phase).
  using ConnectionKey = std::tuple<NicId, NicId, uint32_t>;
  struct ConnectionEnds {
    uint32_t at_source = 0;       // index into the plan of the sender
    uint32_t at_destination = 0;  // and of the receiver
  };

  size_t WorkerOf(GpuId gpu) const { return worker_of_.at(LabNodeId(fabric_.host_of(gpu).value())); }
  bool IsLocal(const FlowDemand& flow) const {
    return fabric_.host_of(flow.source) == fabric_.host_of(flow.destination);
  }

  void AddPhase(const model::CommunicationPhase& phase) {
    const std::span<const FlowDemand> flows(job_.iteration.flows.data() + phase.first_flow, phase.num_flows);
    const double local_s = LocalSeconds(flows);
    for (LabWorker& worker : planned_.workers) {
      worker.plan.phases.push_back({.name = phase.name,
                                    .start_fraction = phase.start_fraction,
                                    .blocks_compute = phase.blocks_compute,
                                    .local_s = local_s,
                                    .streams = {}});
    }
    std::map<uint32_t, std::vector<const FlowDemand*>> groups;
    for (const FlowDemand& flow : flows) {
      if (!IsLocal(flow)) groups[flow.group].push_back(&flow);
    }
    std::map<std::pair<NicId, NicId>, uint32_t> flows_of_pair;
    std::vector<HostFlow> host_flows;
    for (const auto& [group, members] : groups) AddGroup(members, &flows_of_pair, &host_flows);
    std::vector<TrainerPlan*> plans;
    for (LabWorker& worker : planned_.workers) plans.push_back(&worker.plan);
    operations_.AddPhase(phase.name, host_flows, plans);
  }

  // Seconds that the flows inside hosts take; the links inside hosts are shared only with GPUs of other jobs.
  double LocalSeconds(std::span<const FlowDemand> flows) const {
    std::map<LinkId, double> bytes;
    double seconds = 0;
    for (const FlowDemand& flow : flows) {
      if (!IsLocal(flow)) continue;
      for (const LinkId link : router_.FindCandidates(flow.source, flow.destination, 1).Path(0)) {
        bytes[link] += flow.bytes.value();
        seconds = std::max(seconds, bytes[link] / fabric_.capacity(link).value());
      }
    }
    return seconds;
  }

  // Number of hosts, when the flows lead around them in one circle.
  std::optional<uint32_t> RingLength(const std::vector<const FlowDemand*>& flows) const {
    std::map<size_t, size_t> next;
    for (const FlowDemand* flow : flows) {
      if (!next.emplace(WorkerOf(flow->source), WorkerOf(flow->destination)).second) return std::nullopt;
    }
    if (next.size() < 2) return std::nullopt;
    size_t at = next.begin()->first;
    for (size_t steps = 1; steps <= next.size(); ++steps) {
      const auto found = next.find(at);
      if (found == next.end()) return std::nullopt;
      at = found->second;
      if (at == next.begin()->first) return steps == next.size() ? std::optional(steps) : std::nullopt;
    }
    return std::nullopt;
  }

  void AddGroup(const std::vector<const FlowDemand*>& flows, std::map<std::pair<NicId, NicId>, uint32_t>* flows_of_pair,
                std::vector<HostFlow>* host_flows) {
    StreamPlan form{.pools = job_.num_queue_pairs > 1 && job_.queue_pair_bytes == QueuePairBytes::kShared,
                    .sends = {},
                    .receives = {}};
    if (const auto length = RingLength(flows)) {
      form.parts = 2 * (*length - 1) * kSlicesPerStep;
      form.lead = kSlicesPerStep;
    }
    std::map<size_t, StreamPlan> streams;  // [worker]
    for (const FlowDemand* flow : flows) {
      const NicId source = fabric_.nic_of(flow->source);
      const NicId destination = fabric_.nic_of(flow->destination);
      HostFlow host_flow{.group = flow->group,
                         .sender = WorkerOf(flow->source),
                         .receiver = WorkerOf(flow->destination),
                         .source = source,
                         .destination = destination,
                         .number = (*flows_of_pair)[{source, destination}],
                         .at_sender = {},
                         .at_receiver = {}};
      for (uint32_t q = 0; q < job_.num_queue_pairs; ++q) {
        const uint32_t number = (*flows_of_pair)[{source, destination}]++;
        const ConnectionEnds ends = ConnectionOf(*flow, {source, destination, number});
        const uint64_t bytes = ScaledBytes(flow->bytes / job_.num_queue_pairs, plan_.options.scale);
        streams.emplace(WorkerOf(flow->source), form).first->second.sends.push_back({ends.at_source, bytes});
        streams.emplace(WorkerOf(flow->destination), form)
            .first->second.receives.push_back({ends.at_destination, bytes});
        host_flow.bytes += bytes;
        host_flow.at_sender.push_back(ends.at_source);
        host_flow.at_receiver.push_back(ends.at_destination);
      }
      host_flows->push_back(std::move(host_flow));
    }
    for (auto& [worker, stream] : streams) {
      planned_.workers[worker].plan.phases.back().streams.push_back(std::move(stream));
    }
  }

  ConnectionEnds ConnectionOf(const FlowDemand& flow, const ConnectionKey& key) {
    const auto [found, is_new] = connections_.try_emplace(key);
    if (!is_new) return found->second;
    const size_t sender = WorkerOf(flow.source);
    const size_t receiver = WorkerOf(flow.destination);
    ConnectionPlan connection{.id = static_cast<uint32_t>(connections_.size() - 1),
                              .peer = static_cast<uint32_t>(receiver),
                              .is_outgoing = true,
                              .from = FormatAddress(plan_.nics[std::get<0>(key)].address),
                              .to = FormatAddress(plan_.nics[std::get<1>(key)].address),
                              .port = job_.listen_port};
    auto& at_source = planned_.workers[sender].plan.connections;
    found->second.at_source = static_cast<uint32_t>(at_source.size());
    at_source.push_back(connection);
    connection.peer = static_cast<uint32_t>(sender);
    connection.is_outgoing = false;
    auto& at_destination = planned_.workers[receiver].plan.connections;
    found->second.at_destination = static_cast<uint32_t>(at_destination.size());
    at_destination.push_back(connection);
    return found->second;
  }

  const topology::Fabric& fabric_;
  const LabPlan& plan_;
  const PlacedJob& job_;
  topology::Router router_;
  OperationPlanner operations_;
  std::map<LabNodeId, size_t> worker_of_;
  std::map<ConnectionKey, ConnectionEnds> connections_;
  LabJob planned_;
};

// Where the controller puts each job when all are submitted at once. [job]
Result<std::vector<model::Placement>> PlaceJobs(const sim::Scenario& scenario,
                                                const controller::IterationProvider& iterations) {
  FL_ASSIGN_OR_RETURN(const auto placement,
                      scheduling::CreatePlacementPolicy(scenario.placement, scenario.placement_seed));
  FL_ASSIGN_OR_RETURN(const auto policy, traffic::CreatePolicy("ecmp", scenario.policy_options));
  controller::ClusterController controller(scenario.fabric, *placement, *policy, iterations,
                                           scenario.simulation.controller);
  std::vector<controller::Event> events;
  for (const sim::ScenarioJob& job : scenario.jobs) events.emplace_back(controller::JobSubmitted{job.job});
  std::vector<model::Placement> placements(scenario.jobs.size());
  for (const controller::Action& action : controller.Handle(events)) {
    if (const auto* start = std::get_if<controller::StartJob>(&action)) {
      placements[start->job.index()] = start->placement;
    }
  }
  for (const sim::ScenarioJob& job : scenario.jobs) {
    if (!placements[job.job.id.index()].gpus.empty()) continue;
    return InvalidArgument(
        fmt::format("job {} finds no place beside the others: a lab runs all jobs of a scenario at "
                    "once. Take jobs out, or use a larger fabric",
                    job.job.name));
  }
  return placements;
}

// Keys that a simulation plays and real processes would not: without this a lab would pass over them.
Status CheckPlayable(const sim::Scenario& scenario) {
  const struct {
    bool is_there;
    std::string_view key;
    std::string_view instead;
  } keys[] = {
      {!scenario.allocations.empty(), "allocation", "sizes are fixed; `fairlead lab slurm` has them chosen"},
      {!scenario.migration.empty(), "migration", "workers stay where they were placed"},
      {!scenario.background.kv_transfers.empty(), "kv_transfers", "only jobs send"},
      {!scenario.background.checkpoints.empty(), "checkpoint_s", "only jobs send, to each other"},
      {!scenario.slow_gpus.empty(), "slow_gpus", "all trainers compute as fast as they are told"},
      {!scenario.link_events.empty(), "link_events", "`fairlead lab fault` cuts and repairs cables"},
  };
  for (const auto& key : keys) {
    if (!key.is_there) continue;
    return InvalidArgument(
        fmt::format("{}: expected none in a lab: {}. Take it out, or use `fairlead sim run`", key.key, key.instead));
  }
  return OkStatus();
}

// Jobs that are submitted together must not run in step: each begins somewhere in the first half second, or in the
// compute time of an iteration where that is longer.
double StartPhaseSeconds(const model::Iteration& iteration) {
  return std::max(0.5, (iteration.compute_time + iteration.bubble_time).value());
}

}  // namespace

LabJob PlanJob(const topology::Fabric& fabric, const LabPlan& plan, const PlacedJob& job) {
  return JobPlanner(fabric, plan, job).Plan();
}

void DrawCommunicatorIds(uint64_t draw, LabJob* job) {
  for (LabWorker& worker : job->workers) {
    for (CommunicatorPlan& communicator : worker.plan.communicators) {
      communicator.id = CombineHash(draw, communicator.id);
    }
  }
}

uint16_t ListenPortOf(JobId job) { return static_cast<uint16_t>(kFirstPort + job.index()); }

Result<LabJob> PlanJobAt(const sim::Scenario& scenario, const LabPlan& plan, const JobPlace& place) {
  model::Job job = scenario.jobs[place.job.index()].job;
  model::Placement placement;
  for (size_t w = 0; w < place.hosts.size(); ++w) {
    const HostId host(place.hosts[w].value());
    const uint32_t num_gpus = place.num_gpus[w];
    if (host.index() >= scenario.fabric.num_hosts() || scenario.fabric.num_gpus_of(host) < num_gpus) {
      return InvalidArgument(fmt::format("job {}: node {} is no host with {} GPUs", job.name, host.value(), num_gpus));
    }
    const uint32_t first = scenario.fabric.first_gpu(host).value();
    for (uint32_t g = 0; g < num_gpus; ++g) placement.gpus.emplace_back(first + g);
  }
  job.num_gpus = static_cast<uint32_t>(placement.gpus.size());
  FL_ASSIGN_OR_RETURN(model::Iteration iteration, sim::MakeIterationProvider(scenario)(job, placement));
  const PlacedJob placed{.name = job.name,
                         .placement = std::move(placement),
                         .iteration = std::move(iteration),
                         .num_queue_pairs = place.num_queue_pairs,
                         .listen_port = place.listen_port,
                         .num_iterations = place.num_iterations};
  return PlanJob(scenario.fabric, plan, placed);
}

Result<std::vector<LabJob>> PlanJobs(const sim::Scenario& scenario, const LabPlan& plan, uint64_t num_iterations,
                                     QueuePairBytes queue_pair_bytes) {
  FL_ASSIGN_OR_RETURN(const LabPlan expected, PlanLab(scenario.fabric, plan.options));
  if (!(expected == plan)) {
    return InvalidArgument(
        "the scenario's fabric is not the one that this lab was brought up with. Take the lab down and bring it up "
        "with this scenario: fairlead lab up SCENARIO.yaml");
  }
  if (scenario.jobs.empty() || scenario.jobs.size() > kMaxJobs) {
    return InvalidArgument(fmt::format("expected 1 to {} jobs, found {}", kMaxJobs, scenario.jobs.size()));
  }
  FL_RETURN_IF_ERROR(CheckPlayable(scenario));
  // Queue pairs of one flow of a ring stay together here, so splitting is left to JobPlanner.
  sim::Scenario whole = scenario;
  whole.qps_per_connection = 1;
  const controller::IterationProvider iterations = sim::MakeIterationProvider(whole);
  FL_ASSIGN_OR_RETURN(const auto placements, PlaceJobs(scenario, iterations));
  Random random(scenario.simulation.phase_seed);
  std::vector<LabJob> jobs;
  for (const sim::ScenarioJob& scenario_job : scenario.jobs) {
    const model::Job& job = scenario_job.job;
    // Here it is more than a name in a scenario: trainers get it as FAIRLEAD_JOB.
    FL_RETURN_IF_ERROR(model::CheckJobName(job.name, "name of a job in the lab", shm::kProcessJobNameBytesMax));
    FL_ASSIGN_OR_RETURN(model::Iteration iteration, iterations(job, placements[job.id.index()]));
    const double phase_s = scenario.simulation.random_phase ? random.Uniform(0, StartPhaseSeconds(iteration)) : 0;
    const PlacedJob placed{.name = job.name,
                           .placement = placements[job.id.index()],
                           .iteration = std::move(iteration),
                           .num_queue_pairs = scenario.qps_per_connection,
                           .queue_pair_bytes = queue_pair_bytes,
                           .listen_port = ListenPortOf(JobId(jobs.size())),
                           .start_s = job.arrival.seconds().value() + phase_s,
                           .num_iterations = num_iterations > 0 ? num_iterations : job.num_iterations};
    jobs.push_back(PlanJob(scenario.fabric, plan, placed));
  }
  return jobs;
}

}  // namespace fairlead::lab

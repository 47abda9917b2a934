#include "sim/hosts/host_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "agent/job_levels.h"
#include "base/check.h"
#include "traffic/c4p/path_catalogue.h"
#include "traffic/live_policy.h"

namespace fairlead::sim::hosts {

namespace {

// As the daemon measures (service/agent/host_agent_server.h).
constexpr SimDuration kSamplePeriod(20'000'000);
// Processes of a job that has its GPUs begin to open connections within this.
constexpr double kOpeningMs = 50;
// Until switches route around a cable.
constexpr SimDuration kConvergence(200'000'000);
// What changes within this takes effect together: a job may open thousands of connections in one moment.
constexpr SimDuration kTogether(1'000'000);
// The ports on which processes listen, by GPU of the host: a GPU has one job at a time.
constexpr uint16_t kFirstListeningPort = 10'000;
constexpr size_t kJobNameMax = 40;

// Seeds of parts that must not follow from each other.
enum Part : uint64_t { kKernel, kAgent, kController, kStreams, kProcesses };

VirtualControllerOptions ControllerOptions(const traffic::LivePolicy& policy, uint32_t num_levels) {
  VirtualControllerOptions options;
  options.policy = policy;
  options.traffic.version = "simulated";
  options.traffic.num_levels = num_levels;
  return options;
}

// Processes name their jobs with these (model/job_name.h); a scenario may use others.
std::string ProcessJobName(const model::Job& job, uint64_t run) {
  std::string name = job.name.substr(0, kJobNameMax);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return fmt::format("{}.{}.{}", name, job.id.value(), run);
}

}  // namespace

Result<std::unique_ptr<LiveTraffic>> CreateHostWorld(const topology::Fabric& fabric,
                                                     const LiveTrafficOptions& options) {
  FL_ASSIGN_OR_RETURN(const traffic::LivePolicy policy, traffic::FindLivePolicy(options.policy));
  if (options.num_levels < 1 || options.num_levels > traffic::kNumLiveLevels) {
    return InvalidArgument(fmt::format("levels: agents set traffic classes, of which there are {}; found {}",
                                       traffic::kNumLiveLevels, options.num_levels));
  }
  return std::unique_ptr<LiveTraffic>(std::make_unique<HostWorld>(fabric, policy, options));
}

HostWorld::HostWorld(const topology::Fabric& fabric, const traffic::LivePolicy& policy,
                     const LiveTrafficOptions& options)
    : fabric_(fabric),
      options_(options),
      network_(fabric, options.seed),
      kernels_(MakeKernels()),
      agents_(MakeAgents()),
      controller_(Seed(kController, 0), ControllerOptions(policy, options.num_levels),
                  {.queue = &queue_,
                   .network = &network_,
                   .sabotage = Sabotage::kNone,
                   .send = [this](controller::StreamId id, controller::ToAgent m) { streams_.Send(id, std::move(m)); },
                   .end = [this](controller::StreamId id) { streams_.EndByController(id); },
                   .died = [] {}}),
      streams_(&queue_, Seed(kStreams, 0), Sabotage::kNone, agents_, &controller_),
      random_(Seed(kProcesses, 0)),
      connections_(&random_, 0,
                   {.queue = &queue_,
                    .network = &network_,
                    .kernels = kernels_,
                    .agents = agents_,
                    .violate =
                        [](const Violation& violation) {
                          FL_CHECK_MSG(false, fmt::format("{}: {}", violation.law, violation.text));
                        },
                    .rerouted = [this](uint64_t connection) { MarkOwner(connection); }}) {
  controller_.Start();
  for (uint32_t h = 0; h < fabric_.num_hosts(); ++h) {
    agents_[h]->Start();
    streams_.Connect(h);
  }
}

uint64_t HostWorld::Seed(uint64_t part, uint64_t number) const {
  return CombineHash(CombineHash(options_.seed, part), number);
}

std::vector<std::unique_ptr<VirtualKernel>> HostWorld::MakeKernels() const {
  std::vector<std::unique_ptr<VirtualKernel>> kernels;
  for (uint32_t h = 0; h < fabric_.num_hosts(); ++h) {
    kernels.push_back(std::make_unique<VirtualKernel>(Seed(kKernel, h)));
  }
  return kernels;
}

std::vector<std::unique_ptr<VirtualAgent>> HostWorld::MakeAgents() {
  std::vector<std::unique_ptr<VirtualAgent>> agents;
  for (uint32_t h = 0; h < fabric_.num_hosts(); ++h) {
    const HostId host(h);
    agents.push_back(std::make_unique<VirtualAgent>(
        host, Seed(kAgent, h), VirtualAgent::Looking::kWhenSampled,
        VirtualAgent::Surroundings{
            .queue = &queue_,
            .network = &network_,
            .kernel = kernels_[h].get(),
            .sabotage = Sabotage::kNone,
            .answer = [this, host](const agent::AnswerProcess& answer) { connections_.TakeAnswer(host, answer); },
            .send = [this, h](controller::FromAgent message) { streams_.Send(h, std::move(message)); },
            .rules_changed = [this, host] { connections_.CheckPackets(host); },
            .classes_changed = [this] { MarkAll(); },
            .gpus_of = [this, host] { return GpusOf(host); }}));
  }
  return agents;
}

// ---- Jobs ----

void HostWorld::Start(const LiveJob& job) {
  const JobId id = job.job.id;
  FL_CHECK(!jobs_.contains(id));
  if (jobs_.empty()) next_sample_ = queue_.now() + kSamplePeriod;
  const uint64_t run = ++num_starts_;
  Job& mine = jobs_[id];
  mine.name = ProcessJobName(job.job, run);
  mine.run = run;
  mine.level = options_.num_levels - 1;
  mine.counters.job = id;
  mine.counters.flow_bytes.resize(job.iteration.flows.size());
  for (const GpuId gpu : job.placement.gpus) {
    ++mine.num_gpus[fabric_.host_of(gpu)];
    mine.pids[gpu] = ++num_pids_;
  }
  mine.num_gpus_in_all = static_cast<uint32_t>(job.placement.gpus.size());
  for (size_t f = 0; f < job.iteration.flows.size(); ++f) {
    const model::FlowDemand& flow = job.iteration.flows[f];
    mine.flows.push_back(
        {.source = flow.source, .destination = flow.destination, .connection = {}, .path = job.first_paths[f]});
    if (fabric_.host_of(flow.source) == fabric_.host_of(flow.destination)) continue;
    queue_.After(RandomMilliseconds(&random_, 0, kOpeningMs), [this, id, run, f] { Open(id, run, f); });
  }
}

void HostWorld::Open(JobId id, uint64_t run, size_t f) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.run != run) return;
  Job& job = found->second;
  Flow& flow = job.flows[f];
  const auto end_at = [&](GpuId gpu) {
    return ConnectionEnd{.host = fabric_.host_of(gpu), .nic = fabric_.nic_of(gpu), .pid = job.pids.at(gpu)};
  };
  const uint32_t listener = flow.destination.value() - fabric_.first_gpu(fabric_.host_of(flow.destination)).value();
  const uint64_t number =
      connections_.Open({.job = job.name,
                         .client = end_at(flow.source),
                         .server = end_at(flow.destination),
                         .destination_port = static_cast<uint16_t>(kFirstListeningPort + listener)});
  flow.connection = number;
  owners_[number] = id;
}

void HostWorld::End(JobId id) {
  const auto job = jobs_.find(id);
  FL_CHECK(job != jobs_.end());
  for (const Flow& flow : job->second.flows) {
    if (!flow.connection) continue;
    connections_.Close(*flow.connection);
    owners_.erase(*flow.connection);
  }
  jobs_.erase(job);
  changed_.erase(id);
}

// ---- Counters ----

std::vector<agent::GpuSums> HostWorld::GpusOf(HostId host) const {
  std::vector<agent::GpuSums> sums;
  for (const auto& [id, job] : jobs_) {
    const auto here = job.num_gpus.find(host);
    if (here == job.num_gpus.end()) continue;
    const double share = static_cast<double>(here->second) / job.num_gpus_in_all;
    sums.push_back({.job = job.name,
                    .num_gpus = here->second,
                    .flop = job.counters.flop * share,
                    .busy = job.counters.busy * static_cast<double>(here->second)});
  }
  return sums;
}

void HostWorld::Sample(SimTime now, std::span<const LiveCounters> counters) {
  queue_.AdvanceTo(now);
  next_sample_ = now + kSamplePeriod;
  std::set<HostId> hosts;
  for (const LiveCounters& counter : counters) {
    Job& job = jobs_.at(counter.job);
    job.counters = counter;
    for (const auto& [host, num_gpus] : job.num_gpus) hosts.insert(host);
    for (size_t f = 0; f < job.flows.size(); ++f) {
      const Flow& flow = job.flows[f];
      if (!flow.connection) continue;
      const ConnectionEnd& client = connections_.all()[*flow.connection].client;
      kernels_[client.host.index()]->SetBytesSent(client.inode, counter.flow_bytes[f].value());
    }
  }
  for (const HostId host : hosts) agents_[host.index()]->Sample();
}

// ---- Links and changes ----

void HostWorld::SetLink(LinkId link, bool is_up) {
  if (network_.IsUp(link) == is_up) return;
  network_.SetLink(link, is_up);
  queue_.After(kConvergence, [this] {
    network_.Converge();
    MarkAll();
  });
}

void HostWorld::Mark(JobId job) {
  if (changed_.empty()) changed_at_ = queue_.now() + kTogether;
  changed_.insert(job);
}

void HostWorld::MarkAll() {
  for (const auto& [id, job] : jobs_) Mark(id);
}

void HostWorld::MarkOwner(uint64_t connection) {
  const auto owner = owners_.find(connection);
  if (owner != owners_.end()) Mark(owner->second);
}

void HostWorld::AdvanceTo(SimTime limit) {
  queue_.RunUntil(limit, [this] { return !changed_.empty(); });
  limit = std::min(limit, changed_at());
  queue_.RunUntil(limit, [] { return false; });
  queue_.AdvanceTo(limit);
}

std::optional<model::Path> HostWorld::PathOf(const Flow& flow) const {
  if (!flow.connection || !connections_.all()[*flow.connection].is_established) return std::nullopt;
  const VirtualConnection& connection = connections_.all()[*flow.connection];
  return network_.RouteBetween(flow.source, flow.destination,
                               {.source = network_.AddressOf(connection.client.nic),
                                .destination = network_.AddressOf(connection.server.nic),
                                .source_port = connection.client.wire_port,
                                .destination_port = connection.destination_port});
}

// While a level changes, some sockets have the one before.
uint32_t HostWorld::LevelOf(const Job& job) const {
  std::optional<uint32_t> lowest;
  for (const Flow& flow : job.flows) {
    if (!flow.connection) continue;
    const ConnectionEnd& client = connections_.all()[*flow.connection].client;
    const VirtualSocket* socket = kernels_[client.host.index()]->Find(client.inode);
    if (socket == nullptr || !socket->traffic_class) continue;
    const uint32_t level = agent::LevelOf(*socket->traffic_class);
    lowest = std::max(lowest.value_or(level), level);
  }
  return std::min(lowest.value_or(options_.num_levels - 1), options_.num_levels - 1);
}

std::vector<LiveJobTraffic> HostWorld::TakeChanges() {
  std::map<std::string, std::string> reasons;
  std::vector<LiveJobTraffic> changes;
  for (const JobId id : std::exchange(changed_, {})) {
    Job& job = jobs_.at(id);
    bool is_changed = false;
    uint32_t num_moved = 0;
    for (Flow& flow : job.flows) {
      std::optional<model::Path> path = PathOf(flow);
      if (!path) continue;
      const bool was_open = std::exchange(flow.is_open, true);
      if (*path == flow.path) continue;
      flow.path = *std::move(path);
      is_changed = true;
      num_moved += was_open ? 1 : 0;
    }
    const uint32_t level = LevelOf(job);
    is_changed |= std::exchange(job.level, level) != level;
    if (!is_changed) continue;
    if (reasons.empty()) {
      for (const controller::JobOnFabric& known : controller_.core().Jobs()) reasons[known.name] = known.reason;
    }
    LiveJobTraffic change{.job = id, .paths = {}, .num_moved = num_moved, .level = level, .reason = reasons[job.name]};
    for (const Flow& flow : job.flows) change.paths.push_back(flow.path);
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace fairlead::sim::hosts

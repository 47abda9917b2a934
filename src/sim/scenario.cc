#include "sim/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/yaml_reader.h"
#include "collective/queue_pairs.h"
#include "collective/rail_forwarding.h"
#include "collective/rank_layout.h"
#include "scheduling/placement_policy.h"
#include "sim/scenario_allocation.h"
#include "sim/scenario_background.h"
#include "sim/scenario_health.h"
#include "sim/scenario_keys.h"
#include "sim/scenario_migration.h"
#include "sim/trace_jobs.h"
#include "topology/fabric_yaml.h"
#include "topology/lingjun_topology.h"
#include "topology/locality.h"
#include "traffic/live_policy.h"
#include "traffic/policy_registry.h"
#include "workload/workload_loader.h"

namespace fairlead::sim {

namespace {

// A scenario is written by people; more jobs than this is a trace.
constexpr int64_t kMaxJobs = 100'000;

std::string BesideScenario(const std::string& scenario_path, const std::string& file) {
  const std::filesystem::path path(file);
  if (path.is_absolute()) return file;
  return (std::filesystem::path(scenario_path).parent_path() / path).string();
}

Result<topology::Fabric> LoadScenarioFabric(YamlMap& root, const std::string& path,
                                            const ScenarioOverrides& overrides) {
  auto section = root.Map("fabric");
  const std::string file = root.String("fabric_file");
  if (!root.ok()) return root.Finish();
  if (overrides.topology_file) {
    const std::string& name = *overrides.topology_file;
    if (name.ends_with(".csv")) return topology::LoadLingjunTopology(name, {});
    return topology::LoadFabricFile(name);
  }
  if (section) {
    return topology::LoadFabric(
        *section, {.directory = std::filesystem::path(path).parent_path().string(), .max_links = overrides.max_links});
  }
  return topology::LoadFabricFile(BesideScenario(path, file));
}

void ReadParallelism(YamlMap& map, uint32_t num_gpus, ProfiledWork* work) {
  auto section = map.Map("parallelism");
  if (!section) return;
  model::Parallelism p;
  const auto size = [&](std::string_view key, int64_t fallback) {
    return static_cast<uint32_t>(section->Int(key, fallback, 1, num_gpus));  // more than GPUs of the job are refused
  };
  p.tensor = size("tensor", 1);
  p.pipeline = size("pipeline", 1);
  const uint64_t model_parallel = uint64_t{p.tensor} * p.pipeline;
  p.data = size("data", std::max<int64_t>(1, static_cast<int64_t>(num_gpus / model_parallel)));
  p.expert = size("expert", 1);
  p.zero_stage = static_cast<uint32_t>(section->Int("zero_stage"));
  p.micro_batches = static_cast<uint32_t>(section->Int("micro_batches"));
  if (num_gpus % model_parallel != 0 || p.data != num_gpus / model_parallel) {
    section->Fail("", fmt::format("expected tensor x pipeline x data = {} GPUs, found {} x {} x {}", num_gpus, p.tensor,
                                  p.pipeline, p.data));
  }
  if (!section->Finish().ok()) return;
  work->parallelism = p;
}

ProfiledWork ReadProfiledWork(YamlMap& map, const model::Job& job, const collective::ModelProfiles& profiles) {
  ProfiledWork work;
  work.profile = map.String("model");
  if (!work.profile.empty()) {
    if (const auto found = profiles.Find(work.profile); !found.ok()) map.Fail("model", found.status().message());
  }
  ReadParallelism(map, job.num_gpus, &work);
  if (map.Has("overlap_start")) work.options.overlap_start = map.Double("overlap_start");
  if (map.Has("gradient_bucket_mb")) {
    work.options.gradient_bucket = Bytes(map.Double("gradient_bucket_mb") * 1e6);
    if (map.Has("overlap_start")) map.Fail("gradient_bucket_mb", "not beside overlap_start: buckets begin when ready");
  }
  work.options.data_parallel = static_cast<collective::DataParallelAlgorithm>(map.Choice("data_parallel_algorithm"));
  return work;
}

collective::SimpleIterationSpec ReadSimpleWork(YamlMap& map) {
  collective::SimpleIterationSpec spec;
  spec.compute_time = Seconds(map.Double("compute_s"));
  spec.work = Flop(map.Double("work_tflop", 0) * 1e12);
  spec.size = Bytes(map.Double("size_mb") * 1e6);
  spec.start_fraction = map.Double("start_fraction");
  spec.blocks_compute = map.Bool("blocks_compute");
  spec.collective = static_cast<collective::CollectiveKind>(map.Choice("collective"));
  if (spec.compute_time.value() <= 0 && spec.size.value() <= 0) {
    map.Fail("", "an iteration needs time: compute_s or size_mb must be above 0");
  }
  return spec;
}

// workload: {simai: FILE} or {chakra: PATH}, relative to the scenario.
std::optional<ImportedWork> ReadImportedWork(YamlMap& map, const model::Job& job, const std::string& path,
                                             const topology::Fabric& fabric) {
  YamlMap section = map.RequiredMap("workload");
  const bool is_simai = section.Has("simai");
  const std::string file = section.String(is_simai ? "simai" : "chakra");
  ImportedWork work;
  work.options.flop_utilization = section.Double("flop_utilization");
  work.options.max_rounds = static_cast<uint32_t>(section.Int("rounds"));
  if (!section.Finish().ok()) return std::nullopt;
  const auto kind = is_simai ? workload::WorkloadKind::kSimai : workload::WorkloadKind::kChakra;
  auto sequence = workload::LoadWorkload(
      kind, BesideScenario(path, file),
      {.num_gpus = job.num_gpus, .gpu_peak = fabric.gpu_peak(), .memory_bandwidth = BytesPerSecond(0)});
  if (!sequence.ok()) {
    section.Fail("", sequence.status().message());
    return std::nullopt;
  }
  work.parallelism = ParallelismOf(*sequence, job.num_gpus).value();  // the loader has checked it
  work.sequence = std::make_shared<const collective::CollectiveSequence>(std::move(sequence).value());
  return work;
}

// hosts: [h0, h8]: where the ranks of a job have to be.
void ReadOwnHosts(YamlMap& map, const topology::Fabric& fabric, const std::vector<HostId>& reserved, model::Job* job) {
  if (!map.Has("hosts")) return;
  const auto hosts = ReadHostNames(map, "hosts", fabric);
  if (!hosts) return;
  for (const HostId host : *hosts) {
    if (std::ranges::binary_search(reserved, host)) {
      map.Fail("hosts", fmt::format("the host '{}' is one of storage or of kv_transfers", fabric.HostName(host)));
      return;
    }
  }
  job->hosts = *hosts;
  if (job->hosts.size() != scheduling::NumHosts(*job)) {
    map.Fail("hosts", fmt::format("expected {} (gpus {} / gpus_per_host {}), found {}", scheduling::NumHosts(*job),
                                  job->num_gpus, job->gpus_per_host, job->hosts.size()));
    return;
  }
  for (uint32_t i = 0; i < job->hosts.size(); ++i) {
    const uint32_t wanted = scheduling::RanksOnHost(*job, i);
    if (fabric.num_gpus_of(job->hosts[i]) >= wanted) continue;
    map.Fail("hosts", fmt::format("host '{}' has {} GPUs; expected at least {}", fabric.HostName(job->hosts[i]),
                                  fabric.num_gpus_of(job->hosts[i]), wanted));
    return;
  }
}

// GPUs of a job on each of its hosts where the scenario does not say: an equal part where it names hosts, else 8 or as
// many as there are.
int64_t DefaultGpusPerHost(YamlMap& map, const topology::Fabric& fabric, uint32_t num_gpus) {
  if (map.Has("hosts")) {
    const auto num_hosts = static_cast<int64_t>(std::max<size_t>(map.Strings("hosts").size(), 1));
    return (num_gpus + num_hosts - 1) / num_hosts;
  }
  return std::min<int64_t>({8, num_gpus, fabric.num_gpus_of(HostId(0u))});
}

// Jobs of one entry: `count` of them, alike but for name and id.
void ReadJob(YamlMap& map, const std::string& path, Scenario* scenario, std::set<std::string>* names) {
  ScenarioJob entry;
  model::Job& job = entry.job;
  job.num_gpus = static_cast<uint32_t>(map.Int("gpus"));
  job.gpus_per_host =
      static_cast<uint32_t>(map.Int("gpus_per_host", DefaultGpusPerHost(map, scenario->fabric, job.num_gpus)));
  job.name = map.String("name", fmt::format("job{}", scenario->jobs.size()));
  job.arrival = SimTime::FromSeconds(Seconds(map.Double("arrival_s")));
  job.num_iterations = static_cast<uint64_t>(map.Int("iterations"));
  ReadOwnHosts(map, scenario->fabric, scenario->simulation.controller.reserved_hosts, &job);
  const int64_t count = map.Int("count");
  if (!map.ok()) return;
  if (map.Has("model")) {
    ProfiledWork work = ReadProfiledWork(map, job, scenario->profiles);
    job.model_profile = work.profile;
    entry.work = std::move(work);
  } else if (map.Has("workload")) {
    auto work = ReadImportedWork(map, job, path, scenario->fabric);
    if (!work) return;
    job.model_profile = work->sequence->name;
    entry.work = std::move(*work);
  } else {
    entry.work = ReadSimpleWork(map);
  }
  ReadElasticity(map, *scenario, &entry);
  const std::optional<CheckpointWrites> checkpoints = ReadCheckpoint(map, entry, *scenario);
  if (!map.Finish().ok()) return;
  for (int64_t i = 0; i < count; ++i) {
    ScenarioJob copy = entry;
    copy.job.id = JobId(scenario->jobs.size());
    if (count > 1) copy.job.name = fmt::format("{}-{}", job.name, i);
    if (!names->insert(copy.job.name).second) {
      map.Fail("name", fmt::format("the job name '{}' appears twice", copy.job.name));
      return;
    }
    if (checkpoints) scenario->background.checkpoints[copy.job.id] = *checkpoints;
    scenario->jobs.push_back(std::move(copy));
    if (static_cast<int64_t>(scenario->jobs.size()) > kMaxJobs) {
      map.Fail("count", fmt::format("more than {} jobs", kMaxJobs));
      return;
    }
  }
}

// Hosts that could hold a full share of the job when the cluster is empty.
uint32_t UsableHosts(const Scenario& scenario, uint32_t gpus_per_host) {
  const topology::Fabric& fabric = scenario.fabric;
  uint32_t count = 0;
  for (size_t h = 0; h < fabric.num_hosts(); ++h) {
    const bool is_reserved = std::ranges::binary_search(scenario.simulation.controller.reserved_hosts, HostId(h));
    count += !is_reserved && fabric.num_gpus_of(HostId(h)) >= gpus_per_host ? 1 : 0;
  }
  return count;
}

// The clock counts whole nanoseconds and ends after 292 years: an iteration must be longer than the one, and alone far
// shorter than the other.
Status CheckIterationLength(const Scenario& scenario, const model::Job& job, const model::Iteration& iteration) {
  const Seconds own = iteration.compute_time + iteration.bubble_time;
  if (iteration.flows.empty() && SimDuration::FromSeconds(own).ns() <= 0) {
    return InvalidArgument(
        fmt::format("job {}: an iteration needs time: on {} GPUs it has neither flows nor a nanosecond of compute",
                    job.name, job.num_gpus));
  }
  BytesPerSecond slowest = scenario.fabric.capacity(LinkId(0));
  for (size_t l = 0; l < scenario.fabric.num_links(); ++l) {
    slowest = std::min(slowest, scenario.fabric.capacity(LinkId(l)));
  }
  Bytes bytes;
  for (const model::FlowDemand& flow : iteration.flows) bytes += flow.bytes;
  // One flow after the other over the slowest link: no path and no order takes longer.
  const double longest_s = own.value() + bytes.value() / (slowest.value() * scenario.simulation.goodput);
  if (longest_s <= kMaxSeconds) return OkStatus();
  return InvalidArgument(fmt::format("job {}: expected iterations of at most {:.0e} s, found up to {:.1e} s", job.name,
                                     kMaxSeconds, longest_s));
}

// Checks of a job before it is placed: does it fit the empty cluster, does its parallelism fit the job?
Status CheckJob(const Scenario& scenario, const ScenarioJob& entry) {
  const model::Job& job = entry.job;
  if (job.num_gpus > scenario.fabric.num_gpus()) {
    return InvalidArgument(fmt::format("job {}: expected at most the {} GPUs of the cluster, found {}", job.name,
                                       scenario.fabric.num_gpus(), job.num_gpus));
  }
  const uint32_t usable = UsableHosts(scenario, std::min(job.gpus_per_host, job.num_gpus));
  if (usable < scheduling::NumHosts(job)) {
    return InvalidArgument(fmt::format("job {}: needs {} hosts with {} GPUs each; the cluster has {}", job.name,
                                       scheduling::NumHosts(job), job.gpus_per_host, usable));
  }
  // Any GPUs will do to see whether the iteration can be built.
  model::Placement placement;
  if (!job.hosts.empty()) placement = *scheduling::PlaceOnOwnHosts(scheduling::GpuPool(scenario.fabric), job);
  for (size_t h = 0; h < scenario.fabric.num_hosts() && placement.gpus.size() < job.num_gpus; ++h) {
    const HostId host(h);
    if (scenario.fabric.num_gpus_of(host) < std::min(job.gpus_per_host, job.num_gpus)) continue;
    for (uint32_t g = 0; g < job.gpus_per_host && placement.gpus.size() < job.num_gpus; ++g) {
      placement.gpus.push_back(scenario.fabric.gpu(host, g));
    }
  }
  FL_ASSIGN_OR_RETURN(const model::Iteration iteration, MakeIterationProvider(scenario)(job, placement));
  return CheckIterationLength(scenario, job, iteration);
}

// The same at every size that the job may have.
Status CheckSizes(const Scenario& scenario, const ScenarioJob& entry) {
  FL_RETURN_IF_ERROR(CheckJob(scenario, entry));
  for (const uint32_t gpus : entry.job.elasticity.sizes) {
    ScenarioJob sized = entry;
    sized.job.num_gpus = gpus;
    FL_RETURN_IF_ERROR(CheckJob(scenario, sized));
  }
  return OkStatus();
}

void ReadJobs(YamlMap& root, const std::string& path, Scenario* scenario) {
  std::set<std::string> names;
  std::vector<YamlMap> entries = root.Maps("jobs");
  if (entries.empty()) root.Fail("jobs", "expected a list of at least one job");
  for (YamlMap& map : entries) {
    const size_t first = scenario->jobs.size();
    ReadJob(map, path, scenario, &names);
    if (!map.Finish().ok()) return;
    if (const Status status = CheckSizes(*scenario, scenario->jobs[first]); !status.ok()) {
      map.Fail("", status.message());
      return;
    }
  }
  if (const Status status = CheckTensorGroups(*scenario); !status.ok()) root.Fail("jobs", status.message());
  if (const Status status = CheckMigration(*scenario); !status.ok()) root.Fail("migration", status.message());
}

// A trace instead of jobs: the simulation covers its days, in bins of an hour.
void ReadTrace(YamlMap& map, const std::string& path, Scenario* scenario) {
  TraceSection section = ReadTraceSection(map, std::filesystem::path(path).parent_path().string());
  if (!map.Finish().ok()) return;
  auto mapped = MapTraceJobs(section.jobs, section.mapping, scenario->profiles, scenario->fabric);
  if (!mapped.ok()) {
    map.Fail("", mapped.status().message());
    return;
  }
  scenario->jobs = std::move(mapped->jobs);
  if (scenario->jobs.empty()) map.Fail("", "expected at least one job that uses GPUs and fits the cluster");
  for (auto* notes : {&section.notes, &mapped->notes}) {
    scenario->notes.insert(scenario->notes.end(), notes->begin(), notes->end());
  }
  SimulationOptions& options = scenario->simulation;
  options.extrapolate = true;
  options.end = SimTime::FromSeconds(Seconds(std::max(section.length_s, 1.0)));
  options.num_bins = static_cast<uint32_t>(std::clamp(section.length_s / 3600, 1.0, 1e4));
}

// Both directions of the cables of some nodes in the network.
template <typename IsOne>
std::vector<LinkId> CablesOf(const topology::Fabric& fabric, IsOne is_one) {
  std::vector<LinkId> links;
  for (size_t l = 0; l < fabric.num_links(); ++l) {
    const LinkId link(l);
    if (!topology::IsNetwork(fabric.tier(link))) continue;
    if (is_one(fabric.source(link)) || is_one(fabric.destination(link))) links.push_back(link);
  }
  return links;
}

std::vector<LinkId> ReadLinksOfEvent(YamlMap& map, const topology::Fabric& fabric) {
  if (map.Has("node")) {
    const std::string name = map.String("node");
    const NodeId node = fabric.FindNode(name);
    std::vector<LinkId> links = CablesOf(fabric, [&](NodeId one) { return one == node; });
    if (links.empty()) {
      map.Fail("node", fmt::format("there is no switch or NIC '{}'; expected a name like 'leaf0' or 'h0/nic0'", name));
    }
    return links;
  }
  if (map.Has("plane")) {
    const topology::SwitchPlanes planes = topology::FindPlanes(fabric);
    const int64_t plane = map.Int("plane");
    if (plane >= planes.num_planes) {
      map.Fail("plane",
               fmt::format("expected a number below {}, the number of planes, found {}", planes.num_planes, plane));
    }
    return CablesOf(fabric, [&](NodeId node) { return planes.plane_of[node] == plane; });
  }
  const std::string name = map.String("link");
  const bool both_directions = map.Bool("both_directions");
  const LinkId link = fabric.FindLink(name);
  if (!link.valid()) {
    map.Fail("link", fmt::format("there is no link '{}'; links are named like '{}'", name,
                                 fabric.LinkName(LinkId(fabric.num_links() - 1))));
    return {};
  }
  return both_directions ? std::vector{link, fabric.reverse(link)} : std::vector{link};
}

void ReadLinkEvents(YamlMap& root, Scenario* scenario) {
  for (YamlMap& map : root.Maps("link_events")) {
    const SimTime time = SimTime::FromSeconds(Seconds(map.Double("at_s")));
    const double health = map.Double("health");
    const std::vector<LinkId> links = ReadLinksOfEvent(map, scenario->fabric);
    if (!map.Finish().ok()) return;
    for (const LinkId link : links) scenario->link_events.push_back({time, link, health});
  }
}

void ReadPolicies(YamlMap& root, Scenario* scenario) {
  if (!root.Has("policies")) return;
  scenario->policies = root.Strings("policies");
  if (scenario->policies.empty()) root.Fail("policies", "expected at least one policy");
}

void ReadPathSelection(YamlMap& section, traffic::PathSelectionOptions* paths) {
  paths->unit = static_cast<traffic::PathUnit>(section.Choice("path_unit"));
  paths->congestion = static_cast<traffic::CongestionMeasure>(section.Choice("congestion_measure"));
}

void ReadTacclStarOptions(YamlMap& root, Scenario* scenario) {
  auto section = root.Map("taccl_star");
  if (!section) return;
  traffic::taccl_star::TacclStarOptions& options = scenario->policy_options.taccl_star;
  options.reading = static_cast<traffic::taccl_star::Reading>(section->Choice("reading"));
  options.levels = static_cast<traffic::LevelRule>(section->Choice("levels"));
  ReadPathSelection(*section, &options.paths);
  static_cast<void>(section->Finish());
}

// What NICs that take packets in order only leave of spraying has to be said.
void ReadReordering(YamlMap& section, traffic::spray::SprayOptions* options) {
  const bool has_losses = section.Has("loss_per_rtt");
  const bool takes_any_order = section.Bool("ooo_nic", !has_losses);
  if (has_losses) {
    const traffic::spray::GoBackN model = {section.Double("loss_per_rtt"), section.Double("bdp_packets")};
    options->efficiency = model.Efficiency();
    if (takes_any_order) section.Fail("loss_per_rtt", "not beside ooo_nic: true, under which NICs lose nothing");
    if (section.Has("efficiency")) section.Fail("efficiency", "not beside loss_per_rtt, from which it follows");
  } else if (!takes_any_order && !section.Has("efficiency")) {
    section.Fail("ooo_nic",
                 "spraying over NICs that take packets in order only sends most of them again: expected either "
                 "efficiency or loss_per_rtt and bdp_packets beside ooo_nic: false, found neither");
  }
}

void ReadSprayOptions(YamlMap& root, Scenario* scenario) {
  auto section = root.Map("spray");
  if (!section) return;
  traffic::spray::SprayOptions& options = scenario->policy_options.spray;
  options = traffic::spray::OptionsOf(static_cast<traffic::spray::Preset>(section->Choice("preset")));
  if (section->Has("split")) options.split = static_cast<traffic::spray::Split>(section->Choice("split"));
  options.efficiency = section->Double("efficiency", options.efficiency);
  options.paths = static_cast<uint32_t>(section->Int("paths", options.paths));
  options.detect = Seconds(section->Double("detect_us", options.detect.value() * 1e6) * 1e-6);
  options.remap = Seconds(section->Double("remap_s", options.remap.value()));
  options.reorder = Seconds(section->Double("reorder_us") * 1e-6);
  ReadReordering(*section, &options);
  static_cast<void>(section->Finish());
}

void ReadFlowletOptions(YamlMap& root, Scenario* scenario) {
  auto section = root.Map("flowlet");
  if (!section) return;
  traffic::flowlet::FlowletOptions& options = scenario->policy_options.flowlet;
  options.rule = static_cast<traffic::PathRule>(section->Choice("rule"));
  options.gap = Seconds(section->Double("gap_us") * 1e-6);
  options.remap = Seconds(section->Double("remap_us") * 1e-6);
  static_cast<void>(section->Finish());
}

void ReadMltcpOptions(YamlMap& root, Scenario* scenario) {
  auto section = root.Map("mltcp");
  if (!section) return;
  traffic::mltcp::MltcpOptions& options = scenario->policy_options.mltcp;
  options.slope = section->Double("slope");
  options.intercept = section->Double("intercept");
  options.progress = static_cast<traffic::mltcp::Progress>(section->Choice("progress"));
  static_cast<void>(section->Finish());
}

void ReadPacing(YamlMap& root, std::string_view policy, traffic::CoflowOptions* options) {
  auto section = root.Map(policy);
  if (!section) return;
  options->pacing = static_cast<traffic::Pacing>(section->Choice("pacing"));
  static_cast<void>(section->Finish());
}

// After the jobs, which it names.
void ReadFixedJobs(YamlMap& root, Scenario* scenario) {
  std::vector<traffic::fixed::Pin>& pins = scenario->policy_options.fixed.pins;
  for (YamlMap& map : root.Maps("fixed")) {
    traffic::fixed::Pin pin;
    const std::string name = map.String("job");
    const auto job = std::ranges::find(scenario->jobs, name, [](const ScenarioJob& entry) { return entry.job.name; });
    if (job == scenario->jobs.end()) {
      map.Fail("job", fmt::format("there is no job '{}'; the first is called '{}'", name,
                                  scenario->jobs.empty() ? "" : scenario->jobs.front().job.name));
      return;
    }
    pin.job = job->job.id;
    if (map.Has("path")) pin.path = static_cast<uint64_t>(map.Int("path"));
    if (map.Has("via")) {
      const std::string node = map.String("via");
      pin.via = scenario->fabric.FindNode(node);
      if (!pin.via.valid()) map.Fail("via", fmt::format("there is no switch '{}'", node));
      if (pin.path) map.Fail("via", "expected either path or via, found both");
    }
    pin.level = static_cast<uint32_t>(map.Int("level"));
    if (std::ranges::find(pins, pin.job, &traffic::fixed::Pin::job) != pins.end()) {
      map.Fail("job", fmt::format("the job '{}' appears twice", name));
    }
    if (!map.Finish().ok()) return;
    pins.push_back(pin);
  }
}

void ReadCassiniOptions(YamlMap& root, Scenario* scenario) {
  auto section = root.Map("cassini");
  if (!section) return;
  traffic::cassini::CassiniOptions& options = scenario->policy_options.cassini;
  options.min_score_gain = section->Double("min_score_gain");
  options.contended = static_cast<traffic::cassini::ContendedUpkeep>(section->Choice("contended"));
  options.loops = static_cast<traffic::cassini::LoopRule>(section->Choice("loops"));
  options.placements = static_cast<uint32_t>(section->Int("placements"));
  static_cast<void>(section->Finish());
}

void ReadCruxOptions(YamlMap& root, Scenario* scenario) {
  auto section = root.Map("crux");
  if (!section) return;
  traffic::crux::CruxOptions& crux = scenario->policy_options.crux;
  ReadPathSelection(*section, &crux.paths);
  crux.paths.hysteresis = section->Double("path_hysteresis");
  if (section->Has("max_moved_jobs")) crux.paths.max_moved_jobs = static_cast<uint32_t>(section->Int("max_moved_jobs"));
  const size_t correction = section->Choice("correction");
  crux.correction.paper_mode = correction == 1;
  crux.correction.enabled = correction != 2;
  crux.edge_weight = static_cast<traffic::crux::EdgeWeight>(section->Choice("edge_weight"));
  crux.level_hysteresis = section->Double("level_hysteresis");
  crux.fairness = section->Double("fairness");
  crux.starvation_guard = Seconds(section->Double("starvation_guard_s"));
  static_cast<void>(section->Finish());
}

void ReadC4pOptions(YamlMap& root, Scenario* scenario) {
  scenario->qps_per_connection = static_cast<uint32_t>(root.Int("qps_per_connection"));
  scenario->forwards_by_rail = root.Bool("pxn", !scenario->fabric.joins_rails());
  if (!scenario->fabric.joins_rails() && !scenario->forwards_by_rail) {
    root.Fail("pxn", "expected true: the rails of this fabric meet in hosts only");
  }
  auto section = root.Map("c4p");
  if (!section) return;
  scenario->policy_options.c4p.max_imbalance = section->Double("max_imbalance");
  static_cast<void>(section->Finish());
}

void ReadLatency(YamlMap& root, Scenario* scenario) {
  auto section = root.Map("latency");
  if (!section) return;
  scenario->latency = {.ends = Seconds(section->Double("ends_us") * 1e-6),
                       .hop = Seconds(section->Double("hop_us") * 1e-6)};
  static_cast<void>(section->Finish());
}

void ReadSimulationOptions(YamlMap& root, Scenario* scenario) {
  SimulationOptions& options = scenario->simulation;
  if (root.Has("simulate_s")) options.end = SimTime::FromSeconds(Seconds(root.Double("simulate_s")));
  options.extrapolate = root.Bool("extrapolate", options.extrapolate);
  options.aggregate_flows = root.Bool("aggregate_flows", options.aggregate_flows);
  options.goodput = root.Double("goodput");
  ReadLatency(root, scenario);
  if (root.Choice("congestion") == 1) options.dcqcn.emplace();
  if (const Status status = CheckCongestion(*scenario); !status.ok()) root.Fail("congestion", status.message());
  const size_t detail = root.Choice("detail");
  scenario->simulates_agents = detail > static_cast<size_t>(Detail::kEdge);
  if (!scenario->simulates_agents) options.detail = static_cast<Detail>(detail);
  if (scenario->simulates_agents && !root.Has("policies")) scenario->policies = {"ecmp", "crux+c4p"};
  options.random_phase = root.Bool("random_phase");
  options.phase_seed = static_cast<uint64_t>(root.Int("phase_seed"));
  options.controller.profile_jobs = root.Bool("profile_jobs");
  options.profiling_window = SimDuration::FromSeconds(Seconds(root.Double("profiling_window_s")));
  options.profiling_window_max = options.profiling_window * 8;
  if (root.Has("speed_report_s")) {
    const Seconds interval(root.Double("speed_report_s"));
    options.speed_report_interval = SimDuration::FromSeconds(interval);
    const Status status = CheckSpeedReports(*scenario);
    if (!status.ok()) root.Fail("speed_report_s", status.message());
  }
  options.controller.num_levels = static_cast<uint32_t>(root.Int("levels"));
  if (const Status status = CheckAgents(*scenario); !status.ok()) root.Fail("detail", status.message());
}

}  // namespace

Status CheckAgents(const Scenario& scenario) {
  if (!scenario.simulates_agents) return OkStatus();
  for (const std::string& name : scenario.policies) {
    const auto policy = traffic::FindLivePolicy(name);
    if (!policy.ok()) return InvalidArgument("agents are simulated: " + policy.status().message());
  }
  if (!scenario.background.is_empty() || !scenario.migration.empty()) {
    return InvalidArgument("agents are simulated: leave kv_transfers, checkpoint_s and migration out");
  }
  const controller::ControllerOptions& options = scenario.simulation.controller;
  if (options.profile_jobs) {
    return InvalidArgument("agents are simulated: they measure jobs themselves; leave profile_jobs out");
  }
  if (options.num_levels <= traffic::kNumLiveLevels) return OkStatus();
  return InvalidArgument(
      fmt::format("agents are simulated: they set traffic classes, of which there are {}; found {} levels",
                  traffic::kNumLiveLevels, options.num_levels));
}

Status CheckCongestion(const Scenario& scenario) {
  if (!scenario.simulation.dcqcn) return OkStatus();
  for (const std::string& name : scenario.policies) {
    if (!traffic::SendersHaveRules(name, scenario.policy_options)) continue;
    return InvalidArgument(fmt::format(
        "expected none with the policy '{}', whose senders do not share links alike; leave the key or the policy out, "
        "or turn its rules off (varys: {{pacing: none}}, mltcp: {{slope: 0}}, flowlet: {{gap_us: 1e9}})",
        name));
  }
  return OkStatus();
}

Status CheckPlacementChoice(const Scenario& scenario) {
  const std::vector<std::string_view> offering = scheduling::OfferingPolicyNames();
  for (const std::string& name : scenario.policies) {
    // What is wrong with options is said where the policy is made.
    const auto policy = traffic::CreatePolicy(name, scenario.policy_options);
    if (!policy.ok() || (*policy)->NumPlacements() == 1) continue;
    if (!scenario.allocations.empty()) {
      return InvalidArgument("expected placements: 1 beside allocation, which places jobs itself");
    }
    if (scenario.simulation.controller.profile_jobs) {
      return InvalidArgument("expected placements: 1 with profile_jobs: jobs are placed before they are known");
    }
    if (std::ranges::find(offering, scenario.placement) == offering.end()) {
      return InvalidArgument(
          fmt::format("expected placements: 1 with placement: {}, which has one of each job; {} "
                      "offer several",
                      scenario.placement, fmt::join(offering, " and ")));
    }
  }
  return OkStatus();
}

Status CheckSpeedReports(const Scenario& scenario) {
  const auto& interval = scenario.simulation.speed_report_interval;
  if (!interval.has_value() || interval->ns() > 0) return OkStatus();
  for (const std::string& name : scenario.policies) {
    FL_ASSIGN_OR_RETURN(const auto policy, traffic::CreatePolicy(name, scenario.policy_options));
    if (!policy->NeedsSpeeds()) continue;
    return InvalidArgument(fmt::format(
        "expected a time above 0, found 0 with the policy '{}', which decides by the speeds that are reported; leave "
        "the key out for reports every {:.0f} s, or leave the policy out",
        name, traffic::kSpeedReportInterval.seconds().value()));
  }
  return OkStatus();
}

namespace {

Result<Scenario> ReadScenario(const YamlDocument& document, const std::string& path,
                              const ScenarioOverrides& overrides) {
  YamlMap root = document.Root();
  root.Declare(kScenarioKeys);
  FL_RETURN_IF_ERROR(document.status());
  Scenario scenario;
  scenario.title = root.String("title");
  scenario.notes = root.Strings("notes");
  if (root.Has("profiles")) {
    const std::string directory = BesideScenario(path, root.String("profiles"));
    FL_RETURN_IF_ERROR(document.status());
    FL_ASSIGN_OR_RETURN(scenario.profiles, collective::LoadModelProfiles(directory));
  } else {
    scenario.profiles = collective::ModelProfiles::BuiltIn();
  }
  FL_ASSIGN_OR_RETURN(scenario.fabric, LoadScenarioFabric(root, path, overrides));
  FL_RETURN_IF_ERROR(document.status());

  scenario.placement = scheduling::PlacementPolicyNames()[root.Choice("placement")];
  scenario.placement_seed = static_cast<uint64_t>(root.Int("placement_seed"));
  scenario.num_seeds = static_cast<uint32_t>(root.Int("seeds"));
  scenario.first_seed = static_cast<uint64_t>(root.Int("seed"));
  if (root.Has("vary")) {
    const auto varied = ParseVariedSeeds(root.Strings("vary"));
    if (varied.ok())
      scenario.varied = *varied;
    else
      root.Fail("vary", varied.status().message());
  }
  ReadPolicies(root, &scenario);
  ReadAllocation(root, &scenario);
  ReadCruxOptions(root, &scenario);
  ReadC4pOptions(root, &scenario);
  ReadTacclStarOptions(root, &scenario);
  ReadSprayOptions(root, &scenario);
  ReadCassiniOptions(root, &scenario);
  ReadFlowletOptions(root, &scenario);
  ReadMltcpOptions(root, &scenario);
  ReadPacing(root, "sincronia", &scenario.policy_options.sincronia);
  ReadPacing(root, "varys", &scenario.policy_options.varys);
  auto trace = root.Map("trace");
  FL_RETURN_IF_ERROR(document.status());
  if (trace) ReadTrace(*trace, path, &scenario);
  ReadSimulationOptions(root, &scenario);
  ReadBackground(root, &scenario);
  ReadMigration(root, &scenario);
  FL_RETURN_IF_ERROR(document.status());
  if (const Status status = CheckPlacementChoice(scenario); !status.ok()) root.Fail("cassini", status.message());
  FL_RETURN_IF_ERROR(document.status());
  if (!trace) ReadJobs(root, path, &scenario);
  FL_RETURN_IF_ERROR(document.status());
  ReadFixedJobs(root, &scenario);
  ReadLinkEvents(root, &scenario);
  ReadHealth(root, &scenario);
  FL_RETURN_IF_ERROR(root.Finish());
  return scenario;
}

Status SetValues(const std::vector<std::string>& values, YamlDocument* document) {
  for (const std::string& value : values) {
    const size_t equals = value.find('=');
    if (equals == std::string::npos) {
      return InvalidArgument(fmt::format("--set {}: expected KEY=VALUE, as in fabric.leaves=4", value));
    }
    const std::string_view text = value;
    FL_RETURN_IF_ERROR(document->Set(text.substr(0, equals), text.substr(equals + 1), "--set " + value));
  }
  return OkStatus();
}

}  // namespace

Result<Scenario> LoadScenario(const std::string& path, const ScenarioOverrides& overrides) {
  FL_ASSIGN_OR_RETURN(YamlDocument document, YamlDocument::LoadFile(path));
  FL_RETURN_IF_ERROR(SetValues(overrides.values, &document));
  return ReadScenario(document, path, overrides);
}

Result<Scenario> ParseScenario(std::string_view text, const std::string& path, const ScenarioOverrides& overrides) {
  FL_ASSIGN_OR_RETURN(YamlDocument document, YamlDocument::Parse(text, path));
  FL_RETURN_IF_ERROR(SetValues(overrides.values, &document));
  return ReadScenario(document, path, overrides);
}

namespace {

Result<model::Iteration> BuildIterationOf(const Scenario& scenario, const model::Job& job,
                                          const model::Placement& placement) {
  const collective::RankLayout layout = collective::MakeRankLayout(placement, scenario.fabric);
  const auto& work = scenario.jobs[job.id.index()].work;
  const FlopPerSecond peak = scenario.fabric.gpu_peak();
  const uint32_t requested = scenario.jobs[job.id.index()].job.num_gpus;  // job.num_gpus may be another size
  if (const auto* simple = std::get_if<collective::SimpleIterationSpec>(&work)) {
    collective::SimpleIterationSpec spec = *simple;
    if (job.num_gpus != requested) spec.compute_time = spec.compute_time * requested / job.num_gpus;
    return collective::BuildSimpleIteration(spec, layout, peak);
  }
  if (const auto* imported = std::get_if<ImportedWork>(&work)) {
    return collective::BuildSequenceIteration(*imported->sequence, imported->parallelism, layout, peak,
                                              imported->options);
  }
  const auto& profiled = std::get<ProfiledWork>(work);
  FL_ASSIGN_OR_RETURN(const collective::ModelProfile* profile, scenario.profiles.Find(profiled.profile));
  model::Parallelism parallelism = profiled.parallelism
                                       ? *profiled.parallelism
                                       : collective::DefaultParallelism(*profile, job.num_gpus, job.gpus_per_host);
  if (job.num_gpus != requested) {
    FL_ASSIGN_OR_RETURN(parallelism, ResizeParallelism(parallelism, job.num_gpus));
  }
  return collective::BuildIteration(*profile, parallelism, layout, peak, profiled.options);
}

// Computes as long as its slowest GPU, for which the others wait.
void WaitForSlowGpus(const std::map<GpuId, double>& slow_gpus, const model::Placement& placement,
                     model::Iteration* iteration) {
  double slowest = 1;
  double sum = 0;
  for (const GpuId gpu : placement.gpus) {
    const auto slow = slow_gpus.find(gpu);
    const double times = slow != slow_gpus.end() ? slow->second : 1;
    slowest = std::max(slowest, times);
    sum += times;
  }
  if (slowest <= 1) return;
  const Seconds all = (iteration->compute_time + iteration->bubble_time) * slowest;
  iteration->compute_time = iteration->compute_time * (sum / static_cast<double>(placement.gpus.size()));
  iteration->bubble_time = all - iteration->compute_time;
}

}  // namespace

controller::IterationProvider MakeIterationProvider(const Scenario& scenario) {
  const auto router = scenario.latency ? std::make_shared<const topology::Router>(scenario.fabric) : nullptr;
  return [&scenario, router](const model::Job& job, const model::Placement& placement) -> Result<model::Iteration> {
    FL_ASSIGN_OR_RETURN(model::Iteration iteration, BuildIterationOf(scenario, job, placement));
    WaitForSlowGpus(scenario.slow_gpus, placement, &iteration);
    if (scenario.forwards_by_rail) collective::ForwardByRail(scenario.fabric, &iteration);
    collective::SplitIntoQueuePairs(scenario.qps_per_connection, scenario.fabric, &iteration);
    if (router != nullptr) collective::SetLatencies(*scenario.latency, *router, &iteration);
    return iteration;
  };
}

}  // namespace fairlead::sim

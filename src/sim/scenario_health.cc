#include "sim/scenario_health.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "execution/fault.h"

namespace fairlead::sim {
namespace {

// In the order of their names among the keys.
constexpr std::array kFaultKinds = {execution::FaultKind::kGpuHang, execution::FaultKind::kGpuMemoryError,
                                    execution::FaultKind::kSlowGpu};
constexpr std::array kStates = {controller::HostState::kUp, controller::HostState::kDraining,
                                controller::HostState::kIsolated, controller::HostState::kDown,
                                controller::HostState::kSpare};

HostId ReadHost(YamlMap& map, const topology::Fabric& fabric) {
  const std::string name = map.String("host");
  const HostId host = fabric.FindHost(name);
  if (map.ok() && !host.valid()) {
    map.Fail("host", fmt::format("there is no host '{}'; hosts are named like '{}'", name,
                                 fabric.HostName(HostId(fabric.num_hosts() - 1))));
  }
  return host;
}

void ReadFault(YamlMap& map, Scenario* scenario) {
  HostFault fault;
  fault.begin = SimTime::FromSeconds(Seconds(map.Double("at_s")));
  fault.host = ReadHost(map, scenario->fabric);
  fault.gpu = static_cast<uint32_t>(map.Int("gpu"));
  fault.kind = kFaultKinds.at(map.Choice("kind"));
  fault.magnitude = map.Double("magnitude");
  if (map.ok() && fault.gpu >= scenario->fabric.num_gpus_of(fault.host)) {
    map.Fail("gpu", fmt::format("expected one of the host's {} GPUs, counted from 0; found {}",
                                scenario->fabric.num_gpus_of(fault.host), fault.gpu));
  }
  const bool is_slow = fault.kind == execution::FaultKind::kSlowGpu;
  if (map.ok() && is_slow != (fault.magnitude > 1)) {
    map.Fail("magnitude", "expected a number above 1 for a slow_gpu, and none for other kinds");
  }
  if (map.Finish().ok()) scenario->simulation.host_faults.push_back(fault);
}

void ReadEvent(YamlMap& map, Scenario* scenario) {
  HostEvent event;
  event.time = SimTime::FromSeconds(Seconds(map.Double("at_s")));
  event.host = ReadHost(map, scenario->fabric);
  event.state = kStates.at(map.Choice("state"));
  if (map.Finish().ok()) scenario->simulation.host_events.push_back(event);
}

void ReadSlowGpus(YamlMap& map, Scenario* scenario) {
  const topology::Fabric& fabric = scenario->fabric;
  const HostId host = ReadHost(map, fabric);
  const double times = map.Double("times");
  const bool is_one = map.Has("gpu");
  const auto gpu = static_cast<uint32_t>(is_one ? map.Int("gpu") : 0);
  if (!map.Finish().ok()) return;
  if (gpu >= fabric.num_gpus_of(host)) {
    map.Fail("gpu", fmt::format("expected one of the host's {} GPUs, counted from 0; found {}",
                                fabric.num_gpus_of(host), gpu));
    return;
  }
  const uint32_t end = is_one ? gpu + 1 : fabric.num_gpus_of(host);
  for (uint32_t g = gpu; g < end; ++g) scenario->slow_gpus[fabric.gpu(host, g)] = times;
}

void ReadOptions(YamlMap& root, HealthOptions* health) {
  auto section = root.Map("health");
  if (!section) return;
  const auto duration = [&](std::string_view key) { return SimDuration::FromSeconds(Seconds(section->Double(key))); };
  health->has_diagnosis = section->Choice("diagnosis") == 1;
  health->timeout = duration("timeout_s");
  health->search = duration("search_s");
  health->repair_time = duration("repair_s");
  health->checkpoint_interval = duration("checkpoint_s");
  health->steering.max_cluster_share_per_day = section->Double("max_cluster_share_per_day");
  static_cast<void>(section->Finish());
}

}  // namespace

void ReadHealth(YamlMap& root, Scenario* scenario) {
  for (const std::string_view key : {"host_faults", "host_events"}) {
    if (!root.Has(key)) continue;
    if (scenario->allocations.empty()) root.Fail(key, "matters only where the scenario has the key allocation");
    if (scenario->simulates_agents) root.Fail(key, "expected none beside detail: agents");
  }
  if (root.Has("slow_gpus") && !scenario->allocations.empty()) {
    root.Fail("slow_gpus", "expected none beside allocation; host_faults of the kind slow_gpu are seen by it");
  }
  for (YamlMap& map : root.Maps("slow_gpus")) ReadSlowGpus(map, scenario);
  for (YamlMap& map : root.Maps("host_faults")) ReadFault(map, scenario);
  for (YamlMap& map : root.Maps("host_events")) ReadEvent(map, scenario);
  ReadOptions(root, &scenario->simulation.health);
}

}  // namespace fairlead::sim

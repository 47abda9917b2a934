#include "sim/scenario_background.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

namespace fairlead::sim {
namespace {

// Half-precision weights, and the optimizer's copies and two moments in single precision.
constexpr double kBytesPerParameter = 14;

void ReadLevel(YamlMap& map, const Scenario& scenario, uint32_t* level) {
  const uint32_t num_levels = scenario.simulation.controller.num_levels;
  *level = map.Has("level") ? static_cast<uint32_t>(map.Int("level")) : num_levels - 1;
  if (*level >= num_levels) {
    map.Fail("level", fmt::format("expected one of the {} levels, counted from 0; found {}", num_levels, *level));
  }
}

std::optional<Bytes> ReadBytesPerToken(YamlMap& map, const Scenario& scenario) {
  if (map.Has("bytes_per_token")) return Bytes(map.Double("bytes_per_token"));
  const auto profile = scenario.profiles.Find(map.String("model"));
  if (!profile.ok()) {
    map.Fail("model", profile.status().message());
    return std::nullopt;
  }
  const auto bytes = collective::KvBytesPerToken(**profile);
  if (!bytes) map.Fail("model", "expected a transformer: others keep no keys and values");
  return bytes;
}

void ReadKvTransfers(YamlMap& map, Scenario* scenario, std::set<std::string>* names) {
  KvTransfers transfers;
  transfers.name = map.String("name", fmt::format("kv{}", names->size()));
  const auto from = ReadHostNames(map, "from", scenario->fabric);
  const auto to = ReadHostNames(map, "to", scenario->fabric);
  transfers.per_s = map.Double("per_s");
  transfers.median_tokens = map.Double("tokens");
  transfers.sigma = map.Double("sigma");
  ReadLevel(map, *scenario, &transfers.level);
  const auto bytes = ReadBytesPerToken(map, *scenario);
  if (!map.Finish().ok() || !from || !to || !bytes) return;
  transfers.from = *from;
  transfers.to = *to;
  transfers.bytes_per_token = *bytes;
  if (std::ranges::find_first_of(*from, *to) != from->end()) {
    map.Fail("to", "expected other hosts than in `from`: what stays in a host needs no network");
  }
  if (!names->insert(transfers.name).second) {
    map.Fail("name", fmt::format("the name '{}' appears twice", transfers.name));
  }
  scenario->background.kv_transfers.push_back(std::move(transfers));
}

}  // namespace

std::optional<std::vector<HostId>> ReadHostNames(YamlMap& map, std::string_view key, const topology::Fabric& fabric) {
  std::vector<HostId> hosts;
  for (const std::string& name : map.Strings(key)) {
    const HostId host = fabric.FindHost(name);
    if (!host.valid()) {
      map.Fail(key, fmt::format("there is no host '{}'; hosts are named like '{}'", name,
                                fabric.HostName(HostId(fabric.num_hosts() - 1))));
      return std::nullopt;
    }
    if (std::count(hosts.begin(), hosts.end(), host) > 0) {
      map.Fail(key, fmt::format("the host '{}' appears twice; expected each once", name));
      return std::nullopt;
    }
    hosts.push_back(host);
  }
  if (hosts.empty() && map.ok()) map.Fail(key, "expected at least one host");
  return map.ok() ? std::optional(hosts) : std::nullopt;
}

void ReadBackground(YamlMap& root, Scenario* scenario) {
  for (const std::string_view key : {"storage", "kv_transfers"}) {
    if (!root.Has(key)) continue;
    if (!scenario->allocations.empty()) root.Fail(key, "expected none beside allocation, which has all hosts");
    if (scenario->simulates_agents) root.Fail(key, "expected none beside detail: agents");
  }
  if (auto section = root.Map("storage")) {
    const auto hosts = ReadHostNames(*section, "hosts", scenario->fabric);
    ReadLevel(*section, *scenario, &scenario->background.storage_level);
    if (section->Finish().ok() && hosts) scenario->background.storage = *hosts;
  }
  std::set<std::string> names;
  for (YamlMap& map : root.Maps("kv_transfers")) ReadKvTransfers(map, scenario, &names);
  scenario->simulation.controller.reserved_hosts = scenario->background.Hosts();
}

std::optional<CheckpointWrites> ReadCheckpoint(YamlMap& map, const ScenarioJob& job, const Scenario& scenario) {
  if (!map.Has("checkpoint_s")) return std::nullopt;
  CheckpointWrites writes;
  writes.interval = SimDuration::FromSeconds(Seconds(map.Double("checkpoint_s")));
  if (scenario.background.storage.empty()) map.Fail("checkpoint_s", "expected `storage`, whose hosts it is written to");
  if (map.Has("checkpoint_mb")) {
    writes.bytes = Bytes(map.Double("checkpoint_mb") * 1e6);
  } else if (const auto* work = std::get_if<ProfiledWork>(&job.work)) {
    const auto profile = scenario.profiles.Find(work->profile);
    if (profile.ok()) writes.bytes = Bytes(kBytesPerParameter * collective::Parameters(**profile));
  } else {
    map.Fail("checkpoint_s", "expected checkpoint_mb beside it: only jobs with a `model` have a size of their own");
  }
  return writes;
}

}  // namespace fairlead::sim

#include "topology/fabric_yaml.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/clos_fabrics.h"
#include "topology/lingjun_topology.h"
#include "topology/rail_fabric.h"

namespace fairlead::topology {

namespace {

constexpr double kMinSpeed = 1e-6;
constexpr double kMaxSpeed = 1e6;
constexpr double kMinScale = 1e-9;
constexpr double kMaxScale = 1e9;

uint32_t Count(YamlMap& map, std::string_view key, uint32_t fallback, uint32_t min = 1, uint32_t max = kMaxCount) {
  return static_cast<uint32_t>(map.Int(key, fallback, min, max));
}

uint32_t RequiredCount(YamlMap& map, std::string_view key, uint32_t min = 1) {
  return static_cast<uint32_t>(map.RequiredInt(key, min, kMaxCount));
}

// `speed` unless the key says otherwise.
void ReadGigabits(YamlMap& map, std::string_view key, BytesPerSecond* speed) {
  if (map.Has(key)) *speed = GigabitsPerSecond(map.Double(key, 0, kMinSpeed, kMaxSpeed));
}

void ReadGigabytes(YamlMap& map, std::string_view key, double min, BytesPerSecond* speed) {
  if (map.Has(key)) *speed = GigabytesPerSecond(map.Double(key, 0, min, kMaxSpeed));
}

void ReadHost(YamlMap& map, HostSpec* host) {
  auto section = map.Map("host");
  if (!section) return;
  host->gpus = Count(*section, "gpus", host->gpus, 1, 1024);
  host->gpu_model = section->String("gpu_model", host->gpu_model);
  host->gpu_peak = FlopPerSecond(section->Double("gpu_peak_tflops", host->gpu_peak.value() / 1e12, 1e-3, 1e9) * 1e12);
  ReadGigabytes(*section, "nvlink_gigabytes_per_s", 0, &host->nvlink_speed);
  host->sockets = Count(*section, "sockets", host->sockets, 1, 16);
  ReadGigabytes(*section, "socket_gigabytes_per_s", kMinSpeed, &host->socket_speed);
  host->pcie_switches = Count(*section, "pcie_switches", host->pcie_switches, 1, 1024);
  ReadGigabytes(*section, "pcie_gigabytes_per_s", kMinSpeed, &host->pcie_speed);
  host->nics = Count(*section, "nics", host->nics, 1, 1024);
  host->ports_per_nic = Count(*section, "ports_per_nic", host->ports_per_nic, 1, 16);
  ReadGigabits(*section, "port_gbps", &host->port_speed);
  (void)section->Finish();  // the document keeps the error
}

// `prefix` is "" for leaf to spine and "core_" for spine to core.
UplinkSpec ReadUplink(YamlMap& map, const std::string& prefix) {
  UplinkSpec uplink;
  uplink.parallel = Count(map, "parallel_" + prefix + "uplinks", 1, 1, 1024);
  const std::string speed_key = prefix + "uplink_gbps";
  const std::string oversubscription_key = prefix + "oversubscription";
  ReadGigabits(map, speed_key, &uplink.speed);
  uplink.oversubscription = map.Double(oversubscription_key, 1, 1e-3, 1e3);
  if (map.Has(speed_key) && map.Has(oversubscription_key)) {
    map.Fail(oversubscription_key, fmt::format("expected either this or {}, found both", speed_key));
  }
  return uplink;
}

CoreWiring ReadCoreWiring(YamlMap& map) {
  constexpr std::array<std::string_view, 2> kWirings = {"grouped", "full"};
  return map.Choice("core_wiring", 0, kWirings) == 0 ? CoreWiring::kGrouped : CoreWiring::kFull;
}

Result<Fabric> LoadClos(YamlMap& map, bool has_cores, bool double_sided, uint64_t max_links) {
  ClosSpec spec;
  spec.double_sided = double_sided;
  spec.leaves = RequiredCount(map, "leaves");
  spec.hosts_per_leaf = RequiredCount(map, "hosts_per_leaf");
  spec.spines = RequiredCount(map, "spines");
  spec.leaf_uplink = ReadUplink(map, "");
  if (has_cores) {
    spec.pods = double_sided ? Count(map, "pods", 1) : RequiredCount(map, "pods");
    spec.cores = double_sided ? Count(map, "cores", 0, 0) : RequiredCount(map, "cores");
    spec.core_wiring = ReadCoreWiring(map);
    spec.core_uplink = ReadUplink(map, "core_");
  }
  ReadHost(map, &spec.host);
  FL_RETURN_IF_ERROR(map.Finish());
  return BuildClos(spec, max_links);
}

Result<Fabric> LoadRail(YamlMap& map, uint64_t max_links) {
  RailSpec spec;
  spec.pods = Count(map, "pods", spec.pods);
  spec.segments = Count(map, "segments", spec.segments);
  spec.hosts_per_segment = RequiredCount(map, "hosts_per_segment");
  spec.rails_per_leaf = Count(map, "rails_per_leaf", spec.rails_per_leaf);
  spec.rail_groups = Count(map, "rail_groups", spec.rail_groups);
  spec.spines = RequiredCount(map, "spines");
  spec.cores = Count(map, "cores", 0, 0);
  spec.shared_planes = map.Bool("shared_planes", false);
  spec.core_wiring = ReadCoreWiring(map);
  spec.leaf_uplink = ReadUplink(map, "");
  spec.core_uplink = ReadUplink(map, "core_");
  ReadHost(map, &spec.host);
  FL_RETURN_IF_ERROR(map.Finish());
  return BuildRail(spec, max_links);
}

Result<Fabric> LoadLingjun(YamlMap& map, const FabricLoadOptions& load_options) {
  LingjunOptions options;
  const std::string file = map.RequiredString("file");
  constexpr std::array<std::string_view, 2> kReadings = {"per-pod", "global"};
  options.global_leaf_labels = map.Choice("leaf_labels", 0, kReadings) == 1;
  options.dual_homed = map.Bool("dual_homed", false);
  options.spines_per_pod = Count(map, "spines_per_pod", options.spines_per_pod);
  options.cores = Count(map, "cores", options.cores);
  options.core_wiring = ReadCoreWiring(map);
  options.leaf_uplink = ReadUplink(map, "");
  options.core_uplink = ReadUplink(map, "core_");
  ReadHost(map, &options.host);
  FL_RETURN_IF_ERROR(map.Finish());
  const std::filesystem::path path = std::filesystem::path(load_options.directory) / file;
  return LoadLingjunTopology(path.string(), options, load_options.max_links);
}

// Switches, hosts and cables by name. "a/nic0" is a NIC of host a.
class ExplicitLoader {
 public:
  ExplicitLoader(YamlMap& map, uint64_t max_links) : map_(map), builder_(max_links) {}

  Result<Fabric> Load() {
    ReadHost(map_, &host_);
    FL_RETURN_IF_ERROR(host_.Validate());
    AddSwitches();
    FL_RETURN_IF_ERROR(AddHosts());
    for (YamlMap& cable : map_.Maps("cables")) AddCable(cable);
    FL_RETURN_IF_ERROR(map_.Finish());
    return std::move(builder_).Build();
  }

 private:
  void AddSwitches() {
    auto switches = map_.Map("switches");
    if (!switches) return;
    for (const NodeKind kind : {NodeKind::kLeaf, NodeKind::kSpine, NodeKind::kCore}) {
      for (const std::string& name : switches->Strings(Name(kind))) nodes_[name] = builder_.AddSwitch(kind, name);
    }
    (void)switches->Finish();
  }

  Status AddHosts() {
    const std::vector<std::string> names = map_.Strings("hosts");
    // Before memory is taken: a short list of names can be many links.
    FL_RETURN_IF_ERROR(
        builder_.Reserve(host_, static_cast<double>(names.size()), static_cast<double>(nodes_.size()), 0));
    for (const std::string& name : names) {
      const HostId host = builder_.AddHost(host_, name);
      if (!builder_.error().ok()) return builder_.error();
      for (uint32_t n = 0; n < host_.nics; ++n) nodes_[fmt::format("{}/nic{}", name, n)] = builder_.nic(host, n);
    }
    return OkStatus();
  }

  NodeId FindEnd(YamlMap& cable, std::string_view key) {
    const std::string name = cable.RequiredString(key);
    const auto found = nodes_.find(name);
    if (found != nodes_.end()) return found->second;
    cable.Fail(key, fmt::format("expected the name of a switch or of a NIC such as 'host/nic0', found '{}'", name));
    return NodeId();
  }

  void AddCable(YamlMap& cable) {
    const NodeId from = FindEnd(cable, "from");
    const NodeId to = FindEnd(cable, "to");
    const uint32_t parallel = Count(cable, "parallel", 1, 1, 1024);
    BytesPerSecond speed = host_.port_speed;
    const bool has_nic = from.valid() && to.valid() && (builder_.IsNic(from) || builder_.IsNic(to));
    if (!has_nic && !cable.Has("gbps")) (void)cable.RequiredDouble("gbps", kMinSpeed, kMaxSpeed);
    ReadGigabits(cable, "gbps", &speed);
    if (!cable.Finish().ok()) return;
    for (uint32_t i = 0; i < parallel; ++i) builder_.AddCable(from, to, speed);
  }

  YamlMap& map_;
  FabricBuilder builder_;
  HostSpec host_;
  std::map<std::string, NodeId> nodes_;
};

// Entries of `links`: which cables have another speed.
class SpeedOverrides {
 public:
  explicit SpeedOverrides(YamlMap& map) : entries_(map.Maps("links")) {
    for (YamlMap& entry : entries_) {
      Override override;
      override.from = entry.RequiredString("from");
      override.to = entry.RequiredString("to");
      override.cable = Count(entry, "cable", 0, 1, 1024);
      override.speed = GigabitsPerSecond(entry.RequiredDouble("gbps", kMinSpeed, kMaxSpeed));
      (void)entry.Finish();
      overrides_.push_back(override);
    }
  }

  Result<Fabric> Apply(Fabric fabric) {
    std::vector<std::pair<LinkId, BytesPerSecond>> capacities;
    for (size_t i = 0; i < overrides_.size(); ++i) {
      FL_RETURN_IF_ERROR(Find(fabric, overrides_[i], &entries_[i], &capacities));
    }
    return std::move(fabric).WithCapacities(capacities);
  }

 private:
  struct Override {
    std::string from;
    std::string to;
    uint32_t cable = 0;  // which of parallel cables, from 1; 0 = all
    BytesPerSecond speed;
  };

  static Status Find(const Fabric& fabric, const Override& override, YamlMap* entry,
                     std::vector<std::pair<LinkId, BytesPerSecond>>* capacities) {
    const NodeId from = fabric.FindNode(override.from);
    const NodeId to = fabric.FindNode(override.to);
    for (const auto& [key, node] : {std::pair("from", from), std::pair("to", to)}) {
      if (!node.valid())
        entry->Fail(key, "no node of the fabric has this name; expected one like 'leaf0' or 'h0/nic0'");
    }
    if (!from.valid() || !to.valid()) return entry->Finish();
    uint32_t number = 0;
    const size_t old_size = capacities->size();
    for (const LinkId link : fabric.links_from(from)) {
      if (fabric.destination(link) != to) continue;
      if (++number != override.cable && override.cable != 0) continue;
      capacities->emplace_back(link, override.speed);
      capacities->emplace_back(fabric.reverse(link), override.speed);
    }
    if (capacities->size() > old_size) return OkStatus();
    entry->Fail("", fmt::format("expected an existing cable, found {} between '{}' and '{}'", number, override.from,
                                override.to));
    return entry->Finish();
  }

  std::vector<YamlMap> entries_;
  std::vector<Override> overrides_;
};

Fabric ScaleSpeeds(Fabric fabric, double scale) {
  std::vector<std::pair<LinkId, BytesPerSecond>> capacities;
  capacities.reserve(fabric.num_links());
  for (LinkId link(0u); link.index() < fabric.num_links(); link = LinkId(link.index() + 1)) {
    capacities.emplace_back(link, fabric.capacity(link) * scale);
  }
  return std::move(fabric).WithCapacities(capacities);
}

constexpr std::array<std::string_view, 6> kKinds = {"clos2",           "clos3",        "double-sided",
                                                    "rail-dual-plane", "lingjun-topo", "explicit"};

Result<Fabric> LoadKind(YamlMap& map, const FabricLoadOptions& options) {
  const std::string_view kind = kKinds[map.RequiredChoice("kind", kKinds)];
  if (!map.Has("kind")) return map.Finish();
  if (kind == "clos2") return LoadClos(map, false, false, options.max_links);
  if (kind == "clos3") return LoadClos(map, true, false, options.max_links);
  if (kind == "double-sided") return LoadClos(map, true, true, options.max_links);
  if (kind == "rail-dual-plane") return LoadRail(map, options.max_links);
  if (kind == "lingjun-topo") return LoadLingjun(map, options);
  return ExplicitLoader(map, options.max_links).Load();
}

}  // namespace

Result<Fabric> LoadFabric(YamlMap& map, const FabricLoadOptions& options) {
  SpeedOverrides overrides(map);
  const double scale = map.Double("speed_scale", 1, kMinScale, kMaxScale);
  Result<Fabric> fabric = LoadKind(map, options);
  if (!fabric.ok()) {
    // An error of the document has its line already; all others get the section's.
    map.Fail("", fabric.status().message());
    return map.Finish();
  }
  FL_ASSIGN_OR_RETURN(Fabric described, overrides.Apply(std::move(fabric).value()));
  if (scale == 1) return described;
  return ScaleSpeeds(std::move(described), scale);
}

Result<Fabric> LoadFabricFile(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::LoadFile(path));
  YamlMap root = document.Root();
  YamlMap section = root.RequiredMap("fabric");
  FL_RETURN_IF_ERROR(root.Finish());
  FabricLoadOptions options;
  options.directory = std::filesystem::path(path).parent_path().string();
  return LoadFabric(section, options);
}

}  // namespace fairlead::topology

#include "topology/fabric_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/clos_fabrics.h"
#include "topology/fabric_keys.h"
#include "topology/lingjun_topology.h"
#include "topology/rail_fabric.h"

namespace fairlead::topology {

namespace {

uint32_t Count(YamlMap& map, std::string_view key) { return static_cast<uint32_t>(map.Int(key)); }

// `count` unless the key says otherwise.
void ReadCount(YamlMap& map, std::string_view key, uint32_t* count) {
  *count = static_cast<uint32_t>(map.Int(key, *count));
}

void ReadGigabits(YamlMap& map, std::string_view key, BytesPerSecond* speed) {
  if (map.Has(key)) *speed = GigabitsPerSecond(map.Double(key));
}

void ReadGigabytes(YamlMap& map, std::string_view key, BytesPerSecond* speed) {
  if (map.Has(key)) *speed = GigabytesPerSecond(map.Double(key));
}

void ReadHost(YamlMap& map, HostSpec* host) {
  auto section = map.Map("host");
  if (!section) return;
  ReadCount(*section, "gpus", &host->gpus);
  host->gpu_model = section->String("gpu_model", host->gpu_model);
  host->gpu_peak = FlopPerSecond(section->Double("gpu_peak_tflops", host->gpu_peak.value() / 1e12) * 1e12);
  ReadGigabytes(*section, "nvlink_gigabytes_per_s", &host->nvlink_speed);
  ReadCount(*section, "sockets", &host->sockets);
  ReadGigabytes(*section, "socket_gigabytes_per_s", &host->socket_speed);
  ReadCount(*section, "pcie_switches", &host->pcie_switches);
  ReadGigabytes(*section, "pcie_gigabytes_per_s", &host->pcie_speed);
  ReadCount(*section, "nics", &host->nics);
  ReadCount(*section, "ports_per_nic", &host->ports_per_nic);
  ReadGigabits(*section, "port_gbps", &host->port_speed);
  (void)section->Finish();  // the document keeps the error
}

// `prefix` is "" for leaf to spine and "core_" for spine to core.
UplinkSpec ReadUplink(YamlMap& map, const std::string& prefix) {
  UplinkSpec uplink;
  uplink.parallel = Count(map, "parallel_" + prefix + "uplinks");
  const std::string speed_key = prefix + "uplink_gbps";
  const std::string oversubscription_key = prefix + "oversubscription";
  ReadGigabits(map, speed_key, &uplink.speed);
  uplink.oversubscription = map.Double(oversubscription_key);
  if (map.Has(speed_key) && map.Has(oversubscription_key)) {
    map.Fail(oversubscription_key, fmt::format("expected either this or {}, found both", speed_key));
  }
  return uplink;
}

CoreWiring ReadCoreWiring(YamlMap& map) {
  return map.Choice("core_wiring") == 0 ? CoreWiring::kGrouped : CoreWiring::kFull;
}

Result<Fabric> LoadClos(YamlMap& map, bool has_cores, bool double_sided, uint64_t max_links) {
  ClosSpec spec;
  spec.double_sided = double_sided;
  spec.leaves = Count(map, "leaves");
  spec.hosts_per_leaf = Count(map, "hosts_per_leaf");
  spec.spines = Count(map, "spines");
  spec.leaf_uplink = ReadUplink(map, "");
  if (has_cores) {
    spec.pods = Count(map, "pods");
    spec.cores = Count(map, "cores");
    spec.core_wiring = ReadCoreWiring(map);
    spec.core_uplink = ReadUplink(map, "core_");
  }
  ReadHost(map, &spec.host);
  FL_RETURN_IF_ERROR(map.Finish());
  return BuildClos(spec, max_links);
}

Result<Fabric> LoadRail(YamlMap& map, uint64_t max_links) {
  RailSpec spec;
  spec.pods = Count(map, "pods");
  spec.segments = Count(map, "segments");
  spec.hosts_per_segment = Count(map, "hosts_per_segment");
  spec.rails_per_leaf = Count(map, "rails_per_leaf");
  spec.rail_groups = Count(map, "rail_groups");
  spec.spines = Count(map, "spines");
  spec.cores = Count(map, "cores");
  spec.shared_planes = map.Bool("shared_planes");
  spec.rail_only = map.Bool("rail_only");
  spec.core_wiring = ReadCoreWiring(map);
  spec.leaf_uplink = ReadUplink(map, "");
  spec.core_uplink = ReadUplink(map, "core_");
  ReadHost(map, &spec.host);
  FL_RETURN_IF_ERROR(map.Finish());
  return BuildRail(spec, max_links);
}

Result<Fabric> LoadLingjun(YamlMap& map, const FabricLoadOptions& load_options) {
  LingjunOptions options;
  const std::string file = map.String("file");
  options.global_leaf_labels = map.Choice("leaf_labels") == 1;
  options.dual_homed = map.Bool("dual_homed");
  options.spines_per_pod = Count(map, "spines_per_pod");
  options.cores = Count(map, "cores");
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
    std::vector<YamlMap> others = map_.Maps("other_hosts");
    std::vector<std::pair<std::string, HostSpec>> hosts;
    HostSpec largest = host_;
    for (const std::string& name : names) hosts.emplace_back(name, host_);
    for (YamlMap& other : others) {
      HostSpec spec = host_;
      const std::string name = other.String("name");
      ReadCount(other, "gpus", &spec.gpus);
      ReadCount(other, "nics", &spec.nics);
      FL_RETURN_IF_ERROR(other.Finish());
      largest.gpus = std::max(largest.gpus, spec.gpus);
      largest.nics = std::max(largest.nics, spec.nics);
      hosts.emplace_back(name, spec);
    }
    // Before memory is taken: a short list of names can be many links.
    FL_RETURN_IF_ERROR(
        builder_.Reserve(largest, static_cast<double>(hosts.size()), static_cast<double>(nodes_.size()), 0));
    for (const auto& [name, spec] : hosts) {
      const HostId host = builder_.AddHost(spec, name);
      if (!builder_.error().ok()) return builder_.error();
      for (uint32_t n = 0; n < spec.nics; ++n) nodes_[fmt::format("{}/nic{}", name, n)] = builder_.nic(host, n);
    }
    return OkStatus();
  }

  NodeId FindEnd(YamlMap& cable, std::string_view key) {
    const std::string name = cable.String(key);
    const auto found = nodes_.find(name);
    if (found != nodes_.end()) return found->second;
    cable.Fail(key, fmt::format("expected the name of a switch or of a NIC such as 'host/nic0', found '{}'", name));
    return NodeId();
  }

  void AddCable(YamlMap& cable) {
    const NodeId from = FindEnd(cable, "from");
    const NodeId to = FindEnd(cable, "to");
    const uint32_t parallel = Count(cable, "parallel");
    BytesPerSecond speed = host_.port_speed;
    const bool has_nic = from.valid() && to.valid() && (builder_.IsNic(from) || builder_.IsNic(to));
    if (!has_nic && !cable.Has("gbps")) cable.Fail("", "the key 'gbps' is missing; between switches it is required");
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
      override.from = entry.String("from");
      override.to = entry.String("to");
      override.cable = Count(entry, "cable");
      override.speed = GigabitsPerSecond(entry.Double("gbps"));
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

Result<Fabric> LoadKind(YamlMap& map, const FabricLoadOptions& options) {
  const std::string_view kind = FabricKinds()[map.Choice("kind")];
  if (!map.ok()) return map.Finish();
  if (kind == "clos2") return LoadClos(map, false, false, options.max_links);
  if (kind == "clos3") return LoadClos(map, true, false, options.max_links);
  if (kind == "double-sided") return LoadClos(map, true, true, options.max_links);
  if (kind == "rail-dual-plane") return LoadRail(map, options.max_links);
  if (kind == "lingjun-topo") return LoadLingjun(map, options);
  return ExplicitLoader(map, options.max_links).Load();
}

}  // namespace

Result<Fabric> LoadFabric(YamlMap& map, const FabricLoadOptions& options) {
  map.Declare(kFabricKeys);
  SpeedOverrides overrides(map);
  const double scale = map.Double("speed_scale");
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
  root.Declare(kFabricFileKeys);
  YamlMap section = root.RequiredMap("fabric");
  FL_RETURN_IF_ERROR(root.Finish());
  return LoadFabric(section, {.directory = std::filesystem::path(path).parent_path().string()});
}

Result<Fabric> LoadFabricOf(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::LoadFile(path));
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  YamlMap root = document.Root();
  if (root.Has("fabric_file")) {
    const std::string file = root.RequiredString("fabric_file");
    if (!root.ok()) return root.Finish();
    return LoadFabricFile((folder / file).string());
  }
  if (!root.Has("fabric")) return LoadFabricFile(path);
  YamlMap section = root.RequiredMap("fabric");
  if (!root.ok()) return root.Finish();
  return LoadFabric(section, {.directory = folder.string()});
}

}  // namespace fairlead::topology

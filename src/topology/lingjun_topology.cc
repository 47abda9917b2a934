#include "topology/lingjun_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "base/csv_reader.h"
#include "topology/fabric_builder.h"

namespace fairlead::topology {

namespace {

// Labels become parts of names, "P10/S14->P10/spine0".
constexpr size_t kMaxLabelBytes = 256;

struct Host {
  std::string ip;
  uint32_t group = 0;
};
// Hosts with one ASW label.
struct Group {
  std::string name;
  std::vector<uint32_t> pods;  // one, unless leaf labels are global; ascending
};
// A PSW label.
struct Pod {
  std::string name;
  uint32_t core_layer = 0;
};
// What the file says, with labels numbered in order of appearance.
struct LabelledHosts {
  std::vector<Host> hosts;
  std::vector<Group> groups;
  std::vector<Pod> pods;
  std::vector<std::string> core_layers;  // DSW labels
};

uint32_t NumberOf(std::string_view label, std::map<std::string, uint32_t, std::less<>>* numbers) {
  const auto found = numbers->find(label);
  if (found != numbers->end()) return found->second;
  return numbers->emplace(label, static_cast<uint32_t>(numbers->size())).first->second;
}

// Reads the rows into a LabelledHosts.
class RowReader {
 public:
  RowReader(const LingjunOptions& options, uint64_t max_hosts) : options_(options), max_hosts_(max_hosts) {}

  Result<LabelledHosts> Read(CsvReader reader) {
    constexpr std::array<std::string_view, 4> kColumns = {"ip", "DSW", "PSW", "ASW"};
    std::array<size_t, 4> columns{};
    for (size_t i = 0; i < kColumns.size(); ++i) {
      FL_ASSIGN_OR_RETURN(columns[i], reader.Column(kColumns[i]));
    }
    while (reader.Next()) {
      std::array<std::string_view, 4> fields;
      for (size_t i = 0; i < columns.size(); ++i) {
        fields[i] = reader.field(columns[i]);
        FL_RETURN_IF_ERROR(CheckLabel(reader, kColumns[i], fields[i]));
      }
      FL_RETURN_IF_ERROR(AddRow(reader, fields[0], fields[1], fields[2], fields[3]));
    }
    FL_RETURN_IF_ERROR(reader.status());
    if (hosts_.hosts.empty())
      return InvalidArgument(reader.Where() + ": no host follows the header; expected one per row");
    return std::move(hosts_);
  }

 private:
  static Status CheckLabel(const CsvReader& reader, std::string_view column, std::string_view label) {
    if (label.empty()) return InvalidArgument(fmt::format("{}: {} is empty; expected a label", reader.Where(), column));
    if (label.size() <= kMaxLabelBytes && label.find_first_of("#/>\n") == std::string_view::npos) return OkStatus();
    return InvalidArgument(
        fmt::format("{}: {}: expected a label of at most {} bytes without '#', '/' and '>', found '{}'", reader.Where(),
                    column, kMaxLabelBytes, label.substr(0, 40)));
  }

  Status AddRow(const CsvReader& reader, std::string_view ip, std::string_view dsw, std::string_view psw,
                std::string_view asw) {
    const auto [earlier, is_new] = lines_.emplace(ip, reader.line());
    if (!is_new) {
      return InvalidArgument(
          fmt::format("{}: host '{}' is in two places, here and on line {}; expected one row per host", reader.Where(),
                      ip, earlier->second));
    }
    if (hosts_.hosts.size() >= max_hosts_) {
      return Status(StatusCode::kResourceExhausted,
                    fmt::format("{}: expected at most {} hosts", reader.Where(), max_hosts_));
    }
    const uint32_t core_layer = NumberOf(dsw, &core_layers_);
    if (core_layer == hosts_.core_layers.size()) hosts_.core_layers.emplace_back(dsw);
    const uint32_t pod = NumberOf(psw, &pods_);
    if (pod == hosts_.pods.size()) hosts_.pods.push_back({.name = std::string(psw), .core_layer = core_layer});
    if (hosts_.pods[pod].core_layer != core_layer) {
      return InvalidArgument(fmt::format("{}: PSW '{}' is under DSW '{}' here and under '{}' before; expected one",
                                         reader.Where(), psw, dsw, hosts_.core_layers[hosts_.pods[pod].core_layer]));
    }
    AddToGroup(ip, pod, options_.global_leaf_labels ? std::string(asw) : fmt::format("{}/{}", psw, asw));
    return OkStatus();
  }

  void AddToGroup(std::string_view ip, uint32_t pod, const std::string& name) {
    const uint32_t number = NumberOf(name, &groups_);
    if (number == hosts_.groups.size()) hosts_.groups.push_back({.name = name, .pods = {}});
    std::vector<uint32_t>& pods = hosts_.groups[number].pods;
    const auto place = std::lower_bound(pods.begin(), pods.end(), pod);
    if (place == pods.end() || *place != pod) pods.insert(place, pod);
    hosts_.hosts.push_back({.ip = std::string(ip), .group = number});
  }

  const LingjunOptions& options_;
  uint64_t max_hosts_;
  LabelledHosts hosts_;
  std::map<std::string, uint64_t, std::less<>> lines_;  // by ip
  std::map<std::string, uint32_t, std::less<>> core_layers_;
  std::map<std::string, uint32_t, std::less<>> pods_;
  std::map<std::string, uint32_t, std::less<>> groups_;
};

Status Validate(const LingjunOptions& options) {
  FL_RETURN_IF_ERROR(CheckCount("spines_per_pod", options.spines_per_pod, 1));
  FL_RETURN_IF_ERROR(CheckCount("cores", options.cores, 1));
  FL_RETURN_IF_ERROR(options.leaf_uplink.Validate());
  FL_RETURN_IF_ERROR(options.core_uplink.Validate());
  FL_RETURN_IF_ERROR(options.host.Validate());
  if (options.dual_homed && options.host.NumPorts() < 2) {
    return InvalidArgument("dual_homed: expected hosts with two ports or more, found one");
  }
  return OkStatus();
}

Status ReserveFor(const LabelledHosts& labels, const LingjunOptions& options, FabricBuilder* builder) {
  const double leaves_per_group = options.dual_homed ? 2 : 1;
  const double num_pods = static_cast<double>(labels.pods.size());
  double group_pods = 0;
  for (const Group& group : labels.groups) group_pods += static_cast<double>(group.pods.size());
  const double leaf_cables = leaves_per_group * group_pods * options.spines_per_pod * options.leaf_uplink.parallel;
  const double core_cables =
      num_pods * NumCoreCables(options.spines_per_pod, options.cores, options.core_wiring, options.core_uplink);
  const double num_switches = leaves_per_group * static_cast<double>(labels.groups.size()) +
                              num_pods * options.spines_per_pod +
                              static_cast<double>(labels.core_layers.size()) * options.cores;
  return builder->Reserve(options.host, static_cast<double>(labels.hosts.size()), num_switches,
                          leaf_cables + core_cables);
}

std::vector<NodeId> AddNamedSwitches(NodeKind kind, const std::string& prefix, uint32_t count, FabricBuilder* builder) {
  std::vector<NodeId> switches;
  for (uint32_t i = 0; i < count; ++i) switches.push_back(builder->AddSwitch(kind, fmt::format("{}{}", prefix, i)));
  return switches;
}

Result<Fabric> Build(const LabelledHosts& labels, const LingjunOptions& options, uint64_t max_links) {
  FabricBuilder builder(max_links);
  FL_RETURN_IF_ERROR(ReserveFor(labels, options, &builder));
  std::vector<std::vector<NodeId>> leaves_of_groups;
  for (const Group& group : labels.groups) {
    leaves_of_groups.push_back(options.dual_homed
                                   ? AddNamedSwitches(NodeKind::kLeaf, group.name + ".", 2, &builder)
                                   : std::vector<NodeId>{builder.AddSwitch(NodeKind::kLeaf, group.name)});
  }
  for (const Host& row : labels.hosts) {
    const HostId host = builder.AddHost(options.host, row.ip);
    builder.CablePorts(host, options.host, leaves_of_groups[row.group]);
  }
  std::vector<std::vector<NodeId>> spines_of_pods;
  for (const Pod& pod : labels.pods) {
    spines_of_pods.push_back(AddNamedSwitches(NodeKind::kSpine, pod.name + "/spine", options.spines_per_pod, &builder));
  }
  for (size_t g = 0; g < labels.groups.size(); ++g) {
    std::vector<NodeId> spines;
    for (const uint32_t pod : labels.groups[g].pods) {
      spines.insert(spines.end(), spines_of_pods[pod].begin(), spines_of_pods[pod].end());
    }
    WireLayers(leaves_of_groups[g], spines, options.leaf_uplink, &builder);
  }
  for (uint32_t layer = 0; layer < labels.core_layers.size(); ++layer) {
    std::vector<std::vector<NodeId>> spines;
    for (size_t p = 0; p < labels.pods.size(); ++p) {
      if (labels.pods[p].core_layer == layer) spines.push_back(spines_of_pods[p]);
    }
    const std::string prefix = labels.core_layers[layer] + "/core";
    WireCores(spines, AddNamedSwitches(NodeKind::kCore, prefix, options.cores, &builder), options.core_wiring,
              options.core_uplink, &builder);
  }
  return std::move(builder).Build();
}

Result<Fabric> Import(CsvReader reader, const std::string& name, const LingjunOptions& options, uint64_t max_links) {
  FL_RETURN_IF_ERROR(Validate(options));
  const uint64_t max_hosts = max_links / (2 * (options.host.NumInnerCables() + options.host.NumPorts()));
  FL_ASSIGN_OR_RETURN(const LabelledHosts labels, RowReader(options, max_hosts).Read(std::move(reader)));
  Result<Fabric> fabric = Build(labels, options, max_links);
  if (fabric.ok()) return fabric;
  return Status(fabric.status().code(), fmt::format("{}: {}", name, fabric.status().message()));
}

}  // namespace

Result<Fabric> LoadLingjunTopology(const std::string& path, const LingjunOptions& options, uint64_t max_links) {
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
  return Import(std::move(reader), path, options, max_links);
}

Result<Fabric> ReadLingjunTopology(std::unique_ptr<std::istream> stream, const std::string& name,
                                   const LingjunOptions& options, uint64_t max_links) {
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::FromStream(std::move(stream), name));
  return Import(std::move(reader), name, options, max_links);
}

}  // namespace fairlead::topology

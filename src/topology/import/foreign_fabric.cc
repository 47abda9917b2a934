#include "topology/import/foreign_fabric.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "base/yaml_reader.h"
#include "topology/explicit_fabric.h"
#include "topology/fabric_yaml.h"

namespace fairlead::topology {

namespace {

constexpr uint32_t kFar = std::numeric_limits<uint32_t>::max();
// The reader's range of speeds.
constexpr double kMinGbps = 1e-6;
constexpr double kMaxGbps = 1e6;

bool Fits(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const std::string& p) { return fnmatch(p.c_str(), name.c_str(), 0) == 0; });
}

// The commonest value; of equally common ones the greatest. `values` is not empty.
template <class T>
T Commonest(const std::vector<T>& values) {
  std::map<T, size_t> counts;
  for (const T& value : values) ++counts[value];
  auto best = counts.begin();
  for (auto i = counts.begin(); i != counts.end(); ++i) {
    if (i->second >= best->second) best = i;
  }
  return best->first;
}

// One cable that stays, its lower end first.
struct LaidCable {
  uint32_t lower = 0;  // device
  uint32_t nic = 0;    // of a host
  uint32_t upper = 0;
  std::string lower_port;
  std::string upper_port;
  double gbps = 0;
};

// Size        tables that each step fills for the next ones: [device], then hosts, then their NICs.
class FabricImporter {
 public:
  FabricImporter(ForeignNetwork network, const ImportOptions& options, const std::string& where)
      : network_(std::move(network)), options_(options), where_(where), num_devices_(network_.devices.size()) {}

  Result<ImportedFabric> Import(const std::string& origin) {
    NameDevices();
    LeaveOut();
    FL_RETURN_IF_ERROR(FindRoles());
    FindDistances();
    FindKinds();
    FL_RETURN_IF_ERROR(LayCables());
    FL_RETURN_IF_ERROR(NumberNics());
    FL_RETURN_IF_ERROR(DescribeHosts());
    FL_ASSIGN_OR_RETURN(const Fabric fabric, Build());
    FL_ASSIGN_OR_RETURN(ImportedFabric imported,
                        WriteImportedFabric(fabric, spec_, Comment(origin), options_.max_links));
    FL_RETURN_IF_ERROR(AddAddresses(&imported));
    imported.notes = std::move(network_.notes);
    return imported;
  }

 private:
  const std::string& NameOf(uint32_t device) const { return names_[device]; }
  void Note(std::string note) { network_.notes.push_back(std::move(note)); }
  Status Refuse(const std::string& message) const { return InvalidArgument(fmt::format("{}: {}", where_, message)); }

  // Fabrics want each name once: equal ones get a number, in the order of the file.
  void NameDevices() {
    std::set<std::string> taken;
    for (const ForeignDevice& device : network_.devices) {
      const std::string name = UsableDeviceName(device.name);
      std::string unique = name;
      for (size_t n = 2; !taken.insert(unique).second; ++n) unique = fmt::format("{}-{}", name, n);
      names_.push_back(std::move(unique));
    }
  }

  void LeaveOut() {
    is_left_out_.assign(num_devices_, 0);
    for (uint32_t d = 0; d < num_devices_; ++d) is_left_out_[d] = Fits(options_.without, NameOf(d)) ? 1 : 0;
    std::erase_if(network_.cables, [&](const ForeignCable& cable) {
      return is_left_out_[cable.a.device] != 0 || is_left_out_[cable.b.device] != 0;
    });
  }

  Status FindRoles() {
    for (uint32_t d = 0; d < num_devices_; ++d) {
      if (is_left_out_[d] != 0) continue;
      DeviceRole& role = network_.devices[d].role;
      if (Fits(options_.hosts, NameOf(d))) {
        role = DeviceRole::kHost;
      } else if (Fits(options_.switches, NameOf(d))) {
        role = DeviceRole::kSwitch;
      }
      if (role != DeviceRole::kUnknown) continue;
      return Refuse(
          fmt::format("'{0}': the file does not tell whether it is a host or a switch; say so with --hosts "
                      "'{0}' or --switches '{0}' (patterns such as 'leaf*' work too)",
                      NameOf(d)));
    }
    for (const ForeignCable& cable : network_.cables) {
      if (!IsHost(cable.a.device) || !IsHost(cable.b.device)) continue;
      return Refuse(
          fmt::format("a cable joins two hosts, {} ({}) and {} ({}); expected a switch at one end: name the switches "
                      "with --switches PATTERN, or leave a device out with --without NAME",
                      NameOf(cable.a.device), cable.a.name, NameOf(cable.b.device), cable.b.name));
    }
    return OkStatus();
  }

  bool IsHost(uint32_t device) const { return network_.devices[device].role == DeviceRole::kHost; }

  // Cables to the nearest host.
  void FindDistances() {
    std::vector<std::vector<uint32_t>> neighbours(num_devices_);
    for (const ForeignCable& cable : network_.cables) {
      neighbours[cable.a.device].push_back(cable.b.device);
      neighbours[cable.b.device].push_back(cable.a.device);
    }
    distances_.assign(num_devices_, kFar);
    std::deque<uint32_t> queue;
    for (uint32_t d = 0; d < num_devices_; ++d) {
      if (is_left_out_[d] != 0 || !IsHost(d)) continue;
      distances_[d] = 0;
      queue.push_back(d);
    }
    for (; !queue.empty(); queue.pop_front()) {
      for (const uint32_t next : neighbours[queue.front()]) {
        if (distances_[next] != kFar) continue;
        distances_[next] = distances_[queue.front()] + 1;
        queue.push_back(next);
      }
    }
  }

  // The kind of each device; kGpu means "not in the fabric", kNic for a host.
  void FindKinds() {
    constexpr std::array kLayers = {NodeKind::kNic, NodeKind::kLeaf, NodeKind::kSpine, NodeKind::kCore};
    kinds_.assign(num_devices_, NodeKind::kGpu);
    std::vector<std::string> far;
    for (uint32_t d = 0; d < num_devices_; ++d) {
      if (is_left_out_[d] != 0) continue;
      const auto layer = std::ranges::find_if(options_.layers, [&](const auto& entry) {
        return !IsHost(d) && fnmatch(entry.first.c_str(), NameOf(d).c_str(), 0) == 0;
      });
      if (layer != options_.layers.end()) {
        kinds_[d] = layer->second;
      } else if (distances_[d] < kLayers.size()) {
        kinds_[d] = kLayers[distances_[d]];
      } else {
        far.push_back(NameOf(d));
      }
    }
    if (far.empty()) return;
    Note(fmt::format("left out {}: further than three switches from any host, or without a cable", ListNames(far)));
  }

  Status LayCables() {
    std::vector<std::string> misfits;
    std::vector<std::string> unknown;
    for (const ForeignCable& cable : network_.cables) {
      const bool is_up = kinds_[cable.a.device] <= kinds_[cable.b.device];
      const ForeignPort& lower = is_up ? cable.a : cable.b;
      const ForeignPort& upper = is_up ? cable.b : cable.a;
      const NodeKind kind = kinds_[lower.device];
      if (kind == NodeKind::kGpu) continue;  // its device has a note
      const std::string name =
          fmt::format("{} ({}) - {} ({})", NameOf(lower.device), lower.name, NameOf(upper.device), upper.name);
      if (static_cast<int>(kinds_[upper.device]) != static_cast<int>(kind) + 1) {
        misfits.push_back(name);
        continue;
      }
      const double gbps = cable.gbps > 0 ? cable.gbps : options_.default_gbps;
      if (gbps <= 0) unknown.push_back(name);
      if (gbps > 0 && !(gbps >= kMinGbps && gbps <= kMaxGbps)) {
        return Refuse(fmt::format("{}: expected a speed in [{}, {}] Gb/s, found {}", name, kMinGbps, kMaxGbps, gbps));
      }
      laid_.push_back({.lower = lower.device,
                       .upper = upper.device,
                       .lower_port = lower.name,
                       .upper_port = upper.name,
                       .gbps = gbps});
      if (kind == NodeKind::kNic) laid_.back().nic = NicOf(lower);
    }
    if (!unknown.empty()) {
      return Refuse(fmt::format("{} of {} cables have no speed, such as {}; give it with --speed GBPS", unknown.size(),
                                laid_.size(), unknown.front()));
    }
    if (!misfits.empty()) {
      Note(
          fmt::format("left out {} cable(s) that do not lead from one layer to the next: {}; where a switch is in "
                      "the wrong layer, say which with --layer NAME=leaf, spine or core",
                      misfits.size(), ListNames(misfits, 3)));
    }
    return OkStatus();
  }

  // NICs get provisional numbers by their names, which NumberNics() puts in order.
  uint32_t NicOf(const ForeignPort& port) {
    const std::string name = options_.ports_per_nic == 0 && !port.nic.empty() ? port.nic : port.name;
    auto& nics = nics_[port.device];
    return nics.emplace(name, static_cast<uint32_t>(nics.size())).first->second;
  }

  Status NumberNics() {
    for (auto& [device, nics] : nics_) {
      std::vector<std::pair<std::string, uint32_t>> sorted(nics.begin(), nics.end());
      std::ranges::sort(sorted, [](const auto& a, const auto& b) { return NaturalLess(a.first, b.first); });
      const uint32_t per_nic = std::max(options_.ports_per_nic, 1u);
      std::vector<uint32_t>& numbers = nic_numbers_[device];
      numbers.resize(sorted.size());
      for (uint32_t i = 0; i < sorted.size(); ++i) {
        numbers[sorted[i].second] = i / per_nic;
        if (i % per_nic == 0) nic_names_[device].push_back(sorted[i].first);
      }
    }
    for (LaidCable& cable : laid_) {
      if (kinds_[cable.lower] == NodeKind::kNic) cable.nic = nic_numbers_[cable.lower][cable.nic];
    }
    std::ranges::sort(laid_, [&](const LaidCable& a, const LaidCable& b) {
      if (kinds_[a.lower] != kinds_[b.lower]) return kinds_[a.lower] < kinds_[b.lower];
      if (a.lower != b.lower) return NaturalLess(NameOf(a.lower), NameOf(b.lower));
      if (a.nic != b.nic) return a.nic < b.nic;
      if (kinds_[a.lower] == NodeKind::kNic && a.lower_port != b.lower_port)
        return NaturalLess(a.lower_port, b.lower_port);
      if (a.upper != b.upper) return NaturalLess(NameOf(a.upper), NameOf(b.upper));
      if (a.lower_port != b.lower_port) return NaturalLess(a.lower_port, b.lower_port);
      return NaturalLess(a.upper_port, b.upper_port);
    });
    return OkStatus();
  }

  // Hosts with a cable, and what is in most of them.
  Status DescribeHosts() {
    std::vector<std::string> uncabled;
    for (uint32_t d = 0; d < num_devices_; ++d) {
      if (kinds_[d] != NodeKind::kNic) continue;
      if (nic_numbers_.contains(d)) {
        hosts_.push_back(d);
      } else {
        uncabled.push_back(NameOf(d));
      }
    }
    if (!uncabled.empty()) Note(fmt::format("left out {}: no cable to a leaf", ListNames(uncabled)));
    if (hosts_.empty()) {
      return Refuse("no host has a cable to a switch; expected at least one. Name hosts with --hosts PATTERN");
    }
    std::ranges::sort(hosts_, [&](uint32_t a, uint32_t b) { return NaturalLess(NameOf(a), NameOf(b)); });
    std::vector<size_t> nics;
    std::vector<double> speeds;
    std::map<std::pair<uint32_t, uint32_t>, std::pair<uint32_t, double>> ports;  // of a NIC: how many, Gb/s
    for (const uint32_t host : hosts_) nics.push_back(nic_names_[host].size());
    for (const LaidCable& cable : laid_) {
      if (kinds_[cable.lower] != NodeKind::kNic) continue;
      speeds.push_back(cable.gbps);
      auto& [num_ports, gbps] = ports[{cable.lower, cable.nic}];
      ++num_ports;
      gbps += cable.gbps;
    }
    spec_ = options_.host;
    spec_.nics = static_cast<uint32_t>(Commonest(nics));
    spec_.ports_per_nic = 1;
    spec_.port_speed = GigabitsPerSecond(Commonest(speeds));
    double nic_gbps = 0;
    for (const auto& [nic, found] : ports) {
      spec_.ports_per_nic = std::max(spec_.ports_per_nic, found.first);
      nic_gbps = std::max(nic_gbps, found.second);
    }
    // PCIe must not be what limits a NIC of which only the port is known: x16 of the generation that carries it.
    while (spec_.pcie_speed.value() * 8 / 1e9 < nic_gbps) spec_.pcie_speed = spec_.pcie_speed * 2;
    if (Status valid = spec_.Validate(); !valid.ok()) return Refuse(valid.message());
    NoteUnequalHosts();
    return OkStatus();
  }

  void NoteUnequalHosts() {
    std::vector<std::string> unequal;
    for (const uint32_t host : hosts_) {
      const size_t nics = nic_names_[host].size();
      if (nics != spec_.nics) unequal.push_back(fmt::format("{} ({})", NameOf(host), nics));
    }
    if (unequal.empty()) return;
    Note(
        fmt::format("most hosts have {} NIC{}, others have another number: {}; leave hosts that do not train out with "
                    "--without PATTERN",
                    spec_.nics, spec_.nics == 1 ? "" : "s", ListNames(unequal)));
  }

  Result<Fabric> Build() {
    FabricBuilder builder(options_.max_links);
    FL_RETURN_IF_ERROR(builder.Reserve(spec_, static_cast<double>(hosts_.size()), static_cast<double>(num_devices_),
                                       static_cast<double>(laid_.size())));
    std::vector<NodeId> nodes(num_devices_);
    std::vector<uint32_t> switches(num_devices_);
    std::iota(switches.begin(), switches.end(), 0u);
    std::ranges::sort(switches, [&](uint32_t a, uint32_t b) { return NaturalLess(NameOf(a), NameOf(b)); });
    for (const uint32_t d : switches) {
      if (IsNetworkSwitch(kinds_[d])) nodes[d] = builder.AddSwitch(kinds_[d], NameOf(d));
    }
    for (const uint32_t d : hosts_) {
      HostSpec spec = spec_;
      spec.nics = static_cast<uint32_t>(nic_names_[d].size());
      const HostId host = builder.AddHost(spec, NameOf(d));
      for (uint32_t n = 0; n < spec.nics; ++n) nic_nodes_[{d, n}] = builder.nic(host, n);
    }
    for (const LaidCable& cable : laid_) {
      const NodeId lower =
          kinds_[cable.lower] == NodeKind::kNic ? nic_nodes_[{cable.lower, cable.nic}] : nodes[cable.lower];
      builder.AddCable(lower, nodes[cable.upper], GigabitsPerSecond(cable.gbps));
    }
    auto fabric = std::move(builder).Build();
    if (fabric.ok()) return fabric;
    return Status(fabric.status().code(),
                  fmt::format("{}: {}; is a report of a switch missing?", where_, fabric.status().message()));
  }

  std::string Comment(const std::string& origin) const {
    std::string comment = origin + "\nGPUs and PCIe of the hosts are assumptions; correct `host` where they differ.\n";
    for (const uint32_t host : hosts_) {
      comment += fmt::format("{}:", NameOf(host));
      const auto& names = nic_names_.at(host);
      for (size_t n = 0; n < names.size(); ++n) comment += fmt::format(" nic{} = {}", n, UsableDeviceName(names[n]));
      comment += "\n";
    }
    return comment;
  }

  Status AddAddresses(ImportedFabric* imported) {
    const Fabric& fabric = imported->fabric;
    // A switch may have one address at all of its ports, which then names none of them.
    for (const auto& [port, addresses] : network_.addresses) {
      for (const IpAddress& address : addresses) {
        const auto [entry, is_new] = is_one_port_.emplace(address, true);
        if (!is_new) entry->second = false;
      }
    }
    std::map<std::string, uint32_t> num_laid;  // between two nodes: parallel cables are numbered in this order
    std::map<std::string, bool> is_parallel;
    std::vector<std::string> names;
    for (const LaidCable& cable : laid_) {
      const std::string lower = kinds_[cable.lower] == NodeKind::kNic
                                    ? fmt::format("{}/nic{}", NameOf(cable.lower), cable.nic)
                                    : NameOf(cable.lower);
      names.push_back(fmt::format("{}->{}", lower, NameOf(cable.upper)));
      if (++num_laid[names.back()] > 1) is_parallel[names.back()] = true;
    }
    num_laid.clear();
    for (size_t i = 0; i < laid_.size(); ++i) {
      const uint32_t number = ++num_laid[names[i]];
      const LinkId up =
          fabric.FindLink(is_parallel.contains(names[i]) ? fmt::format("{}#{}", names[i], number) : names[i]);
      FL_CHECK(up.valid());
      FL_RETURN_IF_ERROR(AddPortAddresses(laid_[i], up, imported));
    }
    return OkStatus();
  }

  // A link ends at the interface that has the address.
  Status AddPortAddresses(const LaidCable& cable, LinkId up, ImportedFabric* imported) {
    const Fabric& fabric = imported->fabric;
    for (const IpAddress& address : AddressesOf(cable.lower, cable.lower_port)) {
      Status added;
      if (kinds_[cable.lower] == NodeKind::kNic) {
        const HostId host = fabric.FindHost(NameOf(cable.lower));
        added = imported->addresses.AddNic(address, fabric.nic(host, cable.nic));
      } else if (is_one_port_[address]) {
        added = imported->addresses.AddRouterInterface(address, fabric.reverse(up));
      }
      if (!added.ok())
        return Refuse(fmt::format("{} ({}): {}", NameOf(cable.lower), cable.lower_port, added.message()));
    }
    for (const IpAddress& address : AddressesOf(cable.upper, cable.upper_port)) {
      if (!is_one_port_[address]) continue;
      const Status added = imported->addresses.AddRouterInterface(address, up);
      if (!added.ok())
        return Refuse(fmt::format("{} ({}): {}", NameOf(cable.upper), cable.upper_port, added.message()));
    }
    return OkStatus();
  }

  std::vector<IpAddress> AddressesOf(uint32_t device, const std::string& port) const {
    const auto found = network_.addresses.find({device, port});
    return found == network_.addresses.end() ? std::vector<IpAddress>() : found->second;
  }

  ForeignNetwork network_;
  const ImportOptions& options_;
  const std::string& where_;
  const size_t num_devices_;
  std::vector<std::string> names_;   // [device]
  std::vector<char> is_left_out_;    // [device]
  std::vector<uint32_t> distances_;  // [device]
  std::vector<NodeKind> kinds_;      // [device]
  std::vector<LaidCable> laid_;      // in the order of the file
  std::vector<uint32_t> hosts_;      // with a cable, in order of their names
  HostSpec spec_;
  std::map<uint32_t, std::map<std::string, uint32_t>> nics_;   // of a host: provisional number by name
  std::map<uint32_t, std::vector<uint32_t>> nic_numbers_;      // of a host: number by provisional number
  std::map<uint32_t, std::vector<std::string>> nic_names_;     // of a host, by number
  std::map<std::pair<uint32_t, uint32_t>, NodeId> nic_nodes_;  // by host and number
  std::map<IpAddress, bool> is_one_port_;
};

}  // namespace

Result<ImportedFabric> BuildImportedFabric(ForeignNetwork network, const ImportOptions& options,
                                           const std::string& where, const std::string& origin) {
  return FabricImporter(std::move(network), options, where).Import(origin);
}

Result<ImportedFabric> WriteImportedFabric(const Fabric& fabric, const HostSpec& host, const std::string& comment,
                                           uint64_t max_links) {
  ImportedFabric imported;
  FL_ASSIGN_OR_RETURN(imported.yaml, WriteExplicitFabric(fabric, host, comment));
  if (imported.yaml.size() > YamlDocument::kMaxFileBytes) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("the fabric's file would have {} bytes; expected at most {}", imported.yaml.size(),
                              YamlDocument::kMaxFileBytes));
  }
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::Parse(imported.yaml, "the written fabric"));
  YamlMap root = document.Root();
  YamlMap section = root.RequiredMap("fabric");
  FL_RETURN_IF_ERROR(root.Finish());
  FabricLoadOptions options;
  options.max_links = max_links;
  FL_ASSIGN_OR_RETURN(imported.fabric, LoadFabric(section, options));
  return imported;
}

}  // namespace fairlead::topology

#include "topology/import/infragraph_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/whole_number.h"
#include "base/yaml_reader.h"

namespace fairlead::topology {

namespace {

constexpr int64_t kMaxCount = 10'000'000;

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<int64_t> ParseIndex(std::string_view text) {
  const std::optional<int64_t> index = ParseWhole<int64_t>(text);
  return index && *index >= -kMaxCount && *index <= kMaxCount ? index : std::nullopt;
}

// What the endpoints of an edge are made of: a name, and numbers in Python's notation: "leaf[0:4]", "leaf[3]", "leaf".
struct Slice {
  std::string name;
  std::vector<int64_t> numbers;
};

class InfragraphReader {
 public:
  InfragraphReader(YamlMap map, uint64_t max_cables) : map_(std::move(map)), max_cables_(max_cables) {}

  Result<ForeignNetwork> Read() {
    ReadDevices();
    ReadLinks();
    ReadInstances();
    for (const std::string& connection : map_.Strings("connections")) ReadConnection(connection);
    for (YamlMap& edge : map_.Maps("edges")) {
      if (!map_.ok()) break;
      ReadEdge(edge);
    }
    if (map_.ok() && is_too_large_) {
      return Status(StatusCode::kResourceExhausted,
                    fmt::format("{}: expected at most {} cables", map_.Where(""), max_cables_));
    }
    if (map_.ok() && network_.cables.empty())
      map_.Fail("", "no edges or connections; expected an infrastructure with cables");
    // Only errors: files may have keys that say nothing about cables.
    if (!map_.ok()) return map_.Finish();
    GuessRoles();
    return std::move(network_);
  }

 private:
  struct Device {
    DeviceRole role = DeviceRole::kUnknown;
    std::map<std::string, int64_t> counts;  // of components
  };
  struct Instance {
    std::string device;
    int64_t count = 0;  // 0: the file does not say
  };
  struct End {
    uint32_t device = 0;
    std::string port;
  };

  void ReadDevices() {
    for (YamlMap& entry : map_.Maps("devices")) {
      Device device;
      bool has_switch = false;
      bool has_compute = false;
      for (YamlMap& component : entry.Maps("components")) {
        const std::string name = component.RequiredString("name");
        device.counts[name] = component.Int("count", 1, 1, kMaxCount);
        const std::string kind = component.String("choice", component.String("type", ""));
        has_switch |= kind == "switch" || name == "asic" || name == "switch";
        has_compute |= kind == "xpu" || kind == "npu" || kind == "gpu" || kind == "nic";
        if (kind == "xpu" || kind == "npu" || kind == "gpu") device.role = DeviceRole::kHost;
      }
      // Hosts have switches inside too; a switch has no GPUs, but its ports may be called NICs.
      if (device.role == DeviceRole::kUnknown && (has_switch || has_compute)) {
        device.role = has_switch ? DeviceRole::kSwitch : DeviceRole::kHost;
      }
      devices_[entry.RequiredString("name")] = std::move(device);
    }
  }

  void ReadLinks() {
    for (YamlMap& link : map_.Maps("links")) {
      double& gbps = links_[link.RequiredString("name")];
      std::optional<YamlMap> bandwidth = link.Map("bandwidth");
      if (auto physical = link.Map("physical")) bandwidth = physical->Map("bandwidth");
      if (!bandwidth) continue;
      for (const std::string& key : bandwidth->Keys()) {
        // "gigabits_per_second", "giga_bits_per_second", "g_bits_per_second": versions differ.
        std::string unit = key;
        std::erase(unit, '_');
        const bool is_bits = unit == "gigabitspersecond" || unit == "gbitspersecond";
        const bool is_bytes = unit == "gigabytespersecond" || unit == "gbytespersecond";
        if (is_bits || is_bytes) gbps = bandwidth->RequiredDouble(key, 0, 1e6) * (is_bytes ? 8 : 1);
      }
    }
  }

  void ReadInstances() {
    for (YamlMap& entry : map_.Maps("instances")) {
      Instance instance{.device = entry.RequiredString("device"), .count = entry.Int("count", 0, 0, kMaxCount)};
      instances_[entry.RequiredString("name")] = std::move(instance);
    }
  }

  // server.0.nic.0.eth1.leaf.0.port.0
  void ReadConnection(const std::string& connection) {
    if (!map_.ok() || is_too_large_) return;
    const auto parts = Split(connection, '.');
    const auto refuse = [&](std::string_view expected) {
      map_.Fail("connections", fmt::format("'{}': expected {}", connection, expected));
    };
    if (parts.size() != 9) return refuse("INSTANCE.N.COMPONENT.N.LINK.INSTANCE.N.COMPONENT.N");
    for (const size_t i : {1, 3, 6, 8}) {
      const auto index = ParseIndex(parts[i]);
      if (!index || *index < 0) return refuse(fmt::format("a number from 0 instead of '{}'", parts[i]));
    }
    const double* gbps = FindLink(map_, "connections", std::string(parts[4]));
    if (gbps == nullptr) return;
    // Devices are numbered in the order in which they are named.
    const uint32_t near = DeviceOf(std::string(parts[0]), parts[1], parts[2]);
    const uint32_t far = DeviceOf(std::string(parts[5]), parts[6], parts[7]);
    AddCable({.device = near, .port = fmt::format("{}.{}", parts[2], parts[3])},
             {.device = far, .port = fmt::format("{}.{}", parts[7], parts[8])}, *gbps);
  }

  void ReadEdge(YamlMap& edge) {
    if (is_too_large_) return;
    YamlMap first = edge.RequiredMap("ep1");
    YamlMap second = edge.RequiredMap("ep2");
    const bool is_all_to_all =
        edge.String("scheme", edge.Bool("many2many", false) ? "many2many" : "one2one") == "many2many";
    const std::string scheme = edge.String("scheme", "one2one");
    if (scheme != "one2one" && scheme != "many2many") {
      return edge.Fail("scheme",
                       fmt::format("expected one2one or many2many, found '{}'; other schemes join no hosts with "
                                   "switches",
                                   scheme));
    }
    const double* gbps = FindLink(edge, "link", edge.RequiredString("link"));
    if (gbps == nullptr) return;
    const std::vector<End> from = ReadEnds(first);
    const std::vector<End> to = ReadEnds(second);
    if (!map_.ok() || is_too_large_) return;
    if (!is_all_to_all && from.size() != to.size()) {
      return edge.Fail("", fmt::format("one2one joins equally many ends; found {} and {}", from.size(), to.size()));
    }
    if (is_all_to_all &&
        static_cast<double>(from.size()) * static_cast<double>(to.size()) > static_cast<double>(max_cables_)) {
      is_too_large_ = true;
      return;
    }
    for (size_t i = 0; i < from.size(); ++i) {
      if (!is_all_to_all) AddCable(from[i], to[i], *gbps);
      for (size_t j = 0; is_all_to_all && j < to.size(); ++j) AddCable(from[i], to[j], *gbps);
    }
  }

  // Every component of every instance that the endpoint names, instance by instance.
  std::vector<End> ReadEnds(YamlMap& endpoint) {
    const std::string instance_text = endpoint.RequiredString("instance");
    const std::string component_text = endpoint.RequiredString("component");
    std::vector<End> ends;
    if (!map_.ok()) return ends;
    const std::string instance_name = instance_text.substr(0, instance_text.find('['));
    const auto instance = instances_.find(instance_name);
    if (instance == instances_.end()) {
      endpoint.Fail("instance", fmt::format("no instance is called '{}'", instance_name));
      return ends;
    }
    const auto slice = ReadSlice(endpoint, "instance", instance_text, instance->second.count);
    const auto ports = ReadComponents(endpoint, component_text, instance->second.device);
    if (!slice || !ports) return ends;
    if (static_cast<double>(slice->numbers.size()) * static_cast<double>(ports->size()) >
        static_cast<double>(max_cables_)) {
      is_too_large_ = true;
      return ends;
    }
    for (const int64_t number : slice->numbers) {
      for (const std::string& port : *ports) {
        ends.push_back({.device = DeviceOf(slice->name, fmt::format("{}", number), component_text), .port = port});
      }
    }
    return ends;
  }

  // "nic[0:2]" -> nic.0, nic.1. Devices made of devices have several parts: "card[0].port[0:2]".
  std::optional<std::vector<std::string>> ReadComponents(YamlMap& endpoint, const std::string& text,
                                                         const std::string& device) {
    std::vector<std::string> ports = {""};
    for (const std::string_view part : Split(text, '.')) {
      const std::string name(part.substr(0, part.find('[')));
      const auto known = devices_.find(device);
      int64_t count = 0;
      if (known != devices_.end()) {
        const auto component = known->second.counts.find(name);
        if (component != known->second.counts.end()) count = component->second;
      }
      std::vector<std::string> suffixes;
      if (part.find('[') == std::string_view::npos && count == 0) {
        suffixes.push_back(name);  // a name alone: nothing is known of its number
      } else {
        const auto slice = ReadSlice(endpoint, "component", std::string(part), count);
        if (!slice) return std::nullopt;
        for (const int64_t number : slice->numbers) suffixes.push_back(fmt::format("{}.{}", name, number));
      }
      if (static_cast<double>(ports.size()) * static_cast<double>(suffixes.size()) > static_cast<double>(max_cables_)) {
        is_too_large_ = true;
        return std::nullopt;
      }
      std::vector<std::string> longer;
      for (const std::string& port : ports) {
        for (const std::string& suffix : suffixes)
          longer.push_back(port.empty() ? suffix : fmt::format("{}.{}", port, suffix));
      }
      ports = std::move(longer);
    }
    return ports;
  }

  // Args: count: how many there are; 0: unknown.
  std::optional<Slice> ReadSlice(YamlMap& map, std::string_view key, const std::string& text, int64_t count) {
    const auto refuse = [&](const std::string& message) {
      map.Fail(key, fmt::format("'{}': {}", text, message));
      return std::nullopt;
    };
    const size_t open = text.find('[');
    Slice slice{.name = text.substr(0, open), .numbers = {}};
    std::string_view inner;
    if (open != std::string::npos) {
      if (text.back() != ']') return refuse("expected a name and numbers such as leaf[0:4] or leaf[3]");
      inner = std::string_view(text).substr(open + 1, text.size() - open - 2);
    }
    const bool is_all = open == std::string::npos;
    const auto parts = Split(is_all ? ":" : inner, ':');
    if (parts.size() > 3) return refuse("expected numbers as [first:end:step]");
    int64_t numbers[3] = {0, count, 1};
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].empty() && parts.size() > 1) continue;
      const auto number = ParseIndex(parts[i]);
      if (!number) return refuse(fmt::format("expected a number instead of '{}'", parts[i]));
      numbers[i] = *number;
      if (i < 2 && *number < 0) numbers[i] += count;  // from the end, as in Python
    }
    if (parts.size() == 1) numbers[1] = numbers[0] + 1;
    const bool needs_count = parts.size() > 1 && parts[1].empty();
    if (needs_count && count == 0) return refuse("the number of lines is missing; expected a count");
    if (numbers[2] < 1 || numbers[0] < 0 || numbers[1] <= numbers[0] || (count > 0 && numbers[1] > count)) {
      return refuse(count > 0 ? fmt::format("expected numbers below {}, from low to high", count)
                              : std::string("expected numbers from low to high"));
    }
    if (static_cast<uint64_t>((numbers[1] - numbers[0]) / numbers[2]) > max_cables_) {
      is_too_large_ = true;
      return std::nullopt;
    }
    for (int64_t n = numbers[0]; n < numbers[1]; n += numbers[2]) slice.numbers.push_back(n);
    return slice;
  }

  const double* FindLink(YamlMap& map, std::string_view key, const std::string& name) {
    const auto found = links_.find(name);
    if (found != links_.end()) return &found->second;
    map.Fail(key, fmt::format("no link is called '{}'; expected one of `links`", name));
    return nullptr;
  }

  uint32_t DeviceOf(const std::string& instance, std::string_view number, std::string_view component) {
    const auto [found, is_new] =
        numbers_.emplace(fmt::format("{}.{}", instance, number), static_cast<uint32_t>(network_.devices.size()));
    if (is_new) {
      DeviceRole role = DeviceRole::kUnknown;
      const auto known = instances_.find(instance);
      const auto device = devices_.find(known == instances_.end() ? instance : known->second.device);
      if (device != devices_.end()) role = device->second.role;
      network_.devices.push_back({.name = found->first, .role = role});
      has_nic_.push_back(0);
    }
    if (component.starts_with("nic")) has_nic_[found->second] = 1;
    return found->second;
  }

  void AddCable(const End& a, const End& b, double gbps) {
    using Name = std::pair<uint32_t, std::string>;
    if (network_.cables.size() >= max_cables_) {
      is_too_large_ = true;
      return;
    }
    const Name ends[2] = {{a.device, a.port}, {b.device, b.port}};
    if (!seen_.insert(std::minmax(ends[0], ends[1])).second) return;
    network_.cables.push_back({.a = {.device = a.device, .name = a.port, .nic = {}},
                               .b = {.device = b.device, .name = b.port, .nic = {}},
                               .gbps = gbps});
  }

  // Of devices that the file does not describe.
  void GuessRoles() {
    for (size_t d = 0; d < network_.devices.size(); ++d) {
      DeviceRole& role = network_.devices[d].role;
      if (role == DeviceRole::kUnknown) role = has_nic_[d] != 0 ? DeviceRole::kHost : DeviceRole::kSwitch;
    }
  }

  YamlMap map_;
  const uint64_t max_cables_;
  bool is_too_large_ = false;
  std::map<std::string, Device> devices_;
  std::map<std::string, double> links_;
  std::map<std::string, Instance> instances_;
  std::map<std::string, uint32_t> numbers_;  // of devices of the network, by name
  std::vector<char> has_nic_;                // [device of the network]
  std::set<std::pair<std::pair<uint32_t, std::string>, std::pair<uint32_t, std::string>>> seen_;
  ForeignNetwork network_;
};

}  // namespace

Result<ForeignNetwork> ReadInfragraph(std::string_view text, const std::string& where, uint64_t max_cables) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::Parse(text, where));
  YamlMap root = document.Root();
  if (auto inner = root.Map("infrastructure")) return InfragraphReader(*std::move(inner), max_cables).Read();
  FL_RETURN_IF_ERROR(document.status());
  return InfragraphReader(std::move(root), max_cables).Read();
}

}  // namespace fairlead::topology

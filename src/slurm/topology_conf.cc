#include "slurm/topology_conf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "model/job_name.h"
#include "slurm/host_list.h"
#include "slurm/node_conf.h"

namespace fairlead::slurm {
namespace {

using topology::Fabric;
using topology::NodeKind;

constexpr size_t kNumNamesMax = 1'000'000;
// The importer's limit of a cable's speed.
constexpr double kGbpsMax = 1e6;
// Leaf, spine and core, of which a fabric consists.
constexpr uint32_t kNumLayersMax = 3;

// ---- Writing ----

std::vector<NodeId> NeighboursAbove(const Fabric& fabric, NodeId node, NodeKind kind) {
  std::vector<NodeId> above;
  for (const LinkId link : fabric.links_from(node)) {
    if (fabric.kind(fabric.destination(link)) == kind) above.push_back(fabric.destination(link));
  }
  return above;
}

// The leaves of a host.
std::set<NodeId> LeavesOf(const Fabric& fabric, HostId host) {
  std::set<NodeId> leaves;
  for (uint32_t n = 0; n < fabric.num_nics_of(host); ++n) {
    const NodeId nic = fabric.node_of(fabric.nic(host, n));
    for (const NodeId leaf : NeighboursAbove(fabric, nic, NodeKind::kLeaf)) leaves.insert(leaf);
  }
  return leaves;
}

// A line to be: what is below it, and the switches that it stands for.
struct Line {
  std::vector<std::string> below;
  std::set<NodeId> switches;
};

class TreeWriter {
 public:
  explicit TreeWriter(const Fabric& fabric) : fabric_(fabric), hosts_(HostsInOrder(fabric)) {
    for (const HostId host : hosts_) taken_.insert(fabric.HostName(host));
  }

  std::string Write(std::string_view origin) {
    text_ = fmt::format(
        "# Slurm's topology.conf, for TopologyPlugin=topology/tree: which hosts are near one another in {}.\n"
        "# Made by `fairlead fabric export slurm`. A line is a distance: hosts at the same leaves (in each rail and\n"
        "# plane), pods that need no core switch, the whole.\n",
        model::PrintableText(origin));
    const std::vector<std::string> groups = WriteGroups();
    if (groups.size() == 1) return text_;
    const std::vector<std::string> pods = WritePods(groups);
    if (pods.size() == 1) return text_;
    Line top = {pods, {}};
    for (const NodeId core : fabric_.switches(NodeKind::kCore)) top.switches.insert(core);
    WriteLine("Switches", top, "cores");
    return text_;
  }

 private:
  // Names of lines are names of switches: each once, and none is a host's, so that the file can be a fabric again.
  std::string TakeName(const Line& line, const std::string& otherwise) {
    std::string name = otherwise;
    if (line.switches.size() == 1) {
      const std::string own = fabric_.NodeName(*line.switches.begin());
      if (IsListName(own)) name = own;
    }
    std::string unique = name;
    for (size_t n = 2; !taken_.insert(unique).second; ++n) unique = fmt::format("{}-{}", name, n);
    return unique;
  }

  std::string WriteLine(std::string_view key, const Line& line, const std::string& otherwise) {
    const std::string name = TakeName(line, otherwise);
    text_ += fmt::format("SwitchName={} {}={}\n", name, key, CompressHosts(line.below));
    return name;
  }

  // In the order of their first hosts.
  std::vector<std::string> WriteGroups() {
    std::vector<std::optional<size_t>> line_of(fabric_.num_leaf_groups());
    std::vector<Line> lines;
    for (const HostId host : hosts_) {
      std::optional<size_t>& line = line_of[fabric_.leaf_group(host)];
      if (!line.has_value()) {
        line = lines.size();
        lines.push_back({{}, LeavesOf(fabric_, host)});
        leaves_.push_back(lines.back().switches);
        pod_of_.push_back(fabric_.pod(host));
      }
      lines[*line].below.push_back(fabric_.HostName(host));
    }
    std::vector<std::string> names;
    for (const Line& line : lines) names.push_back(WriteLine("Nodes", line, fmt::format("group{}", names.size())));
    return names;
  }

  std::vector<std::string> WritePods(const std::vector<std::string>& groups) {
    std::vector<std::optional<size_t>> line_of(fabric_.num_pods());
    std::vector<Line> lines;
    for (size_t g = 0; g < groups.size(); ++g) {
      std::optional<size_t>& line = line_of[pod_of_[g]];
      if (!line.has_value()) {
        line = lines.size();
        lines.emplace_back();
      }
      lines[*line].below.push_back(groups[g]);
      for (const NodeId leaf : leaves_[g]) {
        for (const NodeId spine : NeighboursAbove(fabric_, leaf, NodeKind::kSpine)) lines[*line].switches.insert(spine);
      }
    }
    std::vector<std::string> names;
    for (const Line& line : lines) names.push_back(WriteLine("Switches", line, fmt::format("pod{}", names.size())));
    return names;
  }

  const Fabric& fabric_;
  std::vector<HostId> hosts_;             // in natural order of their names
  std::vector<std::set<NodeId>> leaves_;  // [group]
  std::vector<uint32_t> pod_of_;          // [group]
  std::set<std::string> taken_;
  std::string text_;
};

// ---- Reading ----

bool IsKey(std::string_view word, std::string_view key) {
  return std::ranges::equal(
      word, key, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b; });
}

struct SwitchLine {
  std::string name;
  bool has_nodes = false;
  std::vector<std::string> below;
  size_t line = 0;
};

class ConfReader {
 public:
  ConfReader(std::string_view text, const std::string& where, double host_gbps)
      : text_(text), where_(where), host_gbps_(host_gbps) {}

  Result<topology::ForeignNetwork> Read() {
    while (!text_.empty()) FL_RETURN_IF_ERROR(ReadLine());
    if (switches_.empty()) {
      return InvalidArgument(
          fmt::format("{}: no switch; expected Slurm's topology.conf for topology/tree, with lines such as "
                      "SwitchName=leaf0 Nodes=h[0-3]",
                      where_));
    }
    FL_RETURN_IF_ERROR(AddDevices());
    FL_RETURN_IF_ERROR(FindHeights());
    AddCables();
    network_.notes.push_back(
        fmt::format("{} says which hosts are near, not how they are cabled: each host has one NIC at its switch, and "
                    "switches carry upwards all that comes from below (1:1)",
                    where_));
    return std::move(network_);
  }

 private:
  Status Refuse(size_t line, const std::string& what) const {
    return InvalidArgument(fmt::format("{}:{}: {}", where_, line, what));
  }

  // One line of the file, without comment and end.
  std::string_view TakeLine() {
    const size_t end = std::min(text_.find('\n'), text_.size());
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    ++line_;
    line = line.substr(0, line.find('#'));
    const size_t last = line.find_last_not_of(" \t\r");
    return last == std::string_view::npos ? std::string_view() : line.substr(0, last + 1);
  }

  Status ReadLine() {
    std::string whole(TakeLine());
    const size_t line = line_;
    while (whole.ends_with('\\')) {  // goes on in the next one
      whole.pop_back();
      if (text_.empty()) break;
      whole += TakeLine();
    }
    SwitchLine found;
    found.line = line;
    std::string_view rest = whole;
    std::optional<std::string_view> name;
    for (;;) {
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r"), rest.size()));
      if (rest.empty()) break;
      const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r"));
      rest.remove_prefix(word.size());
      FL_RETURN_IF_ERROR(ReadWord(word, &name, &found));
    }
    if (!name.has_value() && found.below.empty()) return OkStatus();
    if (!name.has_value() || !IsListName(*name)) {
      return Refuse(line, fmt::format("expected SwitchName=NAME of letters, digits, '-', '_' and '.', found '{}'",
                                      model::PrintableText(name.value_or(whole))));
    }
    found.name = *name;
    if (found.below.empty()) {
      return Refuse(line, fmt::format("{}: expected Nodes=LIST or Switches=LIST, found neither", found.name));
    }
    switches_.push_back(std::move(found));
    return OkStatus();
  }

  Status ReadWord(std::string_view word, std::optional<std::string_view>* name, SwitchLine* found) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string_view key = word.substr(0, equals);
    std::string_view value = word.substr(std::min(equals + 1, word.size()));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    if (IsKey(key, "linkspeed")) return OkStatus();  // without a unit, and used by nobody
    if (IsKey(key, "switchname") && !name->has_value()) {
      *name = value;
      return OkStatus();
    }
    const bool has_nodes = IsKey(key, "nodes");
    if (!has_nodes && !IsKey(key, "switches")) {
      return Refuse(line_, fmt::format("expected SwitchName=, Nodes= or Switches=, found '{}'{}",
                                       model::PrintableText(word), AdviceOn(key)));
    }
    if (!found->below.empty()) {
      return Refuse(line_, fmt::format("expected one list for each switch, found '{}' behind another",
                                       model::PrintableText(word)));
    }
    Result<std::vector<std::string>> names = ExpandHosts(value);
    if (!names.ok()) return Refuse(line_, names.status().message());
    num_names_ += names->size();
    if (num_names_ > kNumNamesMax) return Refuse(line_, fmt::format("over {} names", kNumNamesMax));
    if (names->empty()) return Refuse(line_, fmt::format("expected names, found '{}'", model::PrintableText(word)));
    for (const std::string& one : *names) {
      if (IsListName(one) && one != "ALL") continue;
      return Refuse(
          line_, fmt::format("expected a list of names such as h[0-3,7], found '{}' in it", model::PrintableText(one)));
    }
    found->has_nodes = has_nodes;
    found->below = *std::move(names);
    return OkStatus();
  }

  static std::string_view AdviceOn(std::string_view key) {
    if (IsKey(key, "include")) return "; put what it includes into this file";
    if (IsKey(key, "blockname")) return "; that is of topology/block, and this reads files of topology/tree";
    return "";
  }

  Status AddDevices() {
    for (size_t s = 0; s < switches_.size(); ++s) {
      const auto [earlier, is_new] = switch_of_.emplace(switches_[s].name, s);
      if (is_new) continue;
      return Refuse(switches_[s].line, fmt::format("expected each switch once, found {} again, after line {}",
                                                   switches_[s].name, switches_[earlier->second].line));
    }
    for (const SwitchLine& one : switches_) {
      network_.devices.push_back({.name = one.name, .role = topology::DeviceRole::kSwitch});
    }
    for (const SwitchLine& one : switches_) {
      for (const std::string& name : one.below) {
        if (one.has_nodes) {
          const auto device = static_cast<uint32_t>(network_.devices.size());
          if (host_of_.emplace(name, device).second) {
            network_.devices.push_back({.name = name, .role = topology::DeviceRole::kHost});
          }
        } else if (!switch_of_.contains(name)) {
          return Refuse(one.line, fmt::format("{}: expected switches of this file, found {}, of which there is no "
                                              "line SwitchName={}",
                                              one.name, name, name));
        }
      }
    }
    return OkStatus();
  }

  // Of each switch: layers of switches below it. Few layers are allowed, so that many rounds are none.
  Status FindHeights() {
    heights_.assign(switches_.size(), 0);
    for (bool is_new = true; is_new;) {
      is_new = false;
      for (size_t s = 0; s < switches_.size(); ++s) {
        if (switches_[s].has_nodes) continue;
        for (const std::string& name : switches_[s].below) {
          const uint32_t height = heights_[switch_of_.at(name)] + 1;
          if (height <= heights_[s]) continue;
          if (height >= kNumLayersMax) {
            return Refuse(switches_[s].line,
                          fmt::format("{}: expected at most {} layers of switches, none below itself, found more; "
                                      "leave the lines of the uppermost out",
                                      switches_[s].name, kNumLayersMax));
          }
          heights_[s] = height;
          is_new = true;
        }
      }
    }
    return OkStatus();
  }

  void AddCable(uint32_t lower, uint32_t upper, double gbps) {
    const auto name = [this](uint32_t device) { return network_.devices[device].name; };
    network_.cables.push_back({.a = {.device = lower, .name = name(upper), .nic = {}},
                               .b = {.device = upper, .name = name(lower), .nic = {}},
                               .gbps = std::min(gbps, kGbpsMax)});
  }

  // From below, so that what each carries is known. A switch that is nearer to the top than others of its kind gets
  // switches in between: layers of a fabric are distances.
  void AddCables() {
    std::vector<double> carried(switches_.size(), 0);
    for (uint32_t height = 0; height < kNumLayersMax; ++height) {
      for (size_t s = 0; s < switches_.size(); ++s) {
        if (heights_[s] != height) continue;
        for (const std::string& name : switches_[s].below) {
          if (switches_[s].has_nodes) {
            AddCable(host_of_.at(name), static_cast<uint32_t>(s), host_gbps_);
            carried[s] += host_gbps_;
            continue;
          }
          const size_t lower = switch_of_.at(name);
          auto from = static_cast<uint32_t>(lower);
          for (uint32_t missing = heights_[lower] + 1; missing < height; ++missing) {
            const auto between = static_cast<uint32_t>(network_.devices.size());
            network_.devices.push_back(
                {.name = fmt::format("{}-above-{}", switches_[s].name, name), .role = topology::DeviceRole::kSwitch});
            AddCable(from, between, carried[lower]);
            from = between;
          }
          AddCable(from, static_cast<uint32_t>(s), carried[lower]);
          carried[s] += carried[lower];
        }
      }
    }
  }

  std::string_view text_;
  const std::string& where_;
  const double host_gbps_;
  size_t line_ = 0;
  size_t num_names_ = 0;
  std::vector<SwitchLine> switches_;
  std::map<std::string, size_t> switch_of_;  // [switches_]
  std::map<std::string, uint32_t> host_of_;  // device
  std::vector<uint32_t> heights_;            // [switches_]
  topology::ForeignNetwork network_;
};

}  // namespace

Result<std::string> WriteTopologyConf(const Fabric& fabric, std::string_view origin) {
  FL_RETURN_IF_ERROR(CheckHostNames(fabric, origin));
  return TreeWriter(fabric).Write(origin);
}

Result<topology::ForeignNetwork> ReadTopologyConf(std::string_view text, const std::string& where, double host_gbps) {
  return ConfReader(text, where, host_gbps).Read();
}

}  // namespace fairlead::slurm

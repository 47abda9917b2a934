#include "topology/import/ibnetdiscover_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/whole_number.h"

namespace fairlead::topology {

namespace {

// Data rate of one lane in Gb/s: the signal rate after 8b/10b (up to QDR) or 64b/66b.
struct LaneRate {
  std::string_view name;
  double gbps;
};
constexpr std::array<LaneRate, 9> kLaneRates = {{{"SDR", 2},
                                                 {"DDR", 4},
                                                 {"QDR", 8},
                                                 {"FDR10", 10},
                                                 {"FDR", 14.0625 * 64 / 66},
                                                 {"EDR", 25},
                                                 {"HDR", 50},
                                                 {"NDR", 100},
                                                 {"XDR", 200}}};

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// The first token; `text` continues after it.
std::string_view TakeWord(std::string_view* text) {
  *text = Trim(*text);
  const size_t end = std::min(text->find_first_of(" \t"), text->size());
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(end);
  return word;
}

// The text between the two characters at the front; `text` continues after them.
std::optional<std::string_view> TakeBetween(char open, char close, std::string_view* text) {
  *text = Trim(*text);
  if (text->empty() || text->front() != open) return std::nullopt;
  const size_t end = text->find(close, 1);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view inner = text->substr(1, end - 1);
  text->remove_prefix(end + 1);
  return inner;
}

// "4xHDR" -> 200; 0 where it is no speed.
double ParseSpeed(std::string_view word) {
  uint32_t lanes = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), lanes);
  if (error != std::errc() || lanes == 0 || lanes > 12 || end == word.data() + word.size() || *end != 'x') return 0;
  const std::string_view rate = word.substr(static_cast<size_t>(end + 1 - word.data()));
  const auto found = std::ranges::find(kLaneRates, rate, &LaneRate::name);
  return found == kLaneRates.end() ? 0 : lanes * found->gbps;
}

// The text in quotes of a comment, and the speed behind it.
struct Remark {
  std::string description;
  double gbps = 0;
};
Remark ReadRemark(std::string_view comment) {
  Remark remark;
  const size_t begin = comment.find('"');
  const size_t end = comment.rfind('"');
  if (begin != std::string_view::npos && end > begin) {
    remark.description = std::string(Trim(comment.substr(begin + 1, end - begin - 1)));
    comment.remove_prefix(end + 1);
  }
  for (std::string_view word = TakeWord(&comment); !word.empty(); word = TakeWord(&comment)) {
    if (const double gbps = ParseSpeed(word); gbps > 0) remark.gbps = gbps;
  }
  return remark;
}

// A node of the subnet: a switch, or an adapter of a host.
struct SubnetNode {
  std::string id;  // "S-b8599f0300fc6de4"
  std::string description;
  bool is_switch = false;
  bool is_ignored = false;
};
// One line of a port.
struct PortLine {
  uint32_t node = 0;
  uint32_t port = 0;
  uint32_t peer = 0;
  uint32_t peer_port = 0;
  double gbps = 0;
  size_t line = 0;
};

class SubnetReader {
 public:
  SubnetReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Result<ForeignNetwork> Read() {
    while (!text_.empty()) {
      const size_t end = std::min(text_.find('\n'), text_.size());
      ++line_;
      FL_RETURN_IF_ERROR(ReadLine(Trim(text_.substr(0, end))));
      text_.remove_prefix(std::min(end + 1, text_.size()));
    }
    if (lines_.empty()) {
      return InvalidArgument(fmt::format(
          "{}: no port with a cable; expected the output of ibnetdiscover, run on a host of the subnet as root",
          where_));
    }
    NameNodes();
    FL_RETURN_IF_ERROR(AddCables());
    return std::move(network_);
  }

 private:
  Status Refuse(size_t line, std::string_view expected) const {
    return InvalidArgument(fmt::format("{}:{}: {}", where_, line, expected));
  }

  Status ReadLine(std::string_view line) {
    if (line.empty() || line.front() == '#') return OkStatus();
    if (line.front() == '[') return ReadPort(line);
    std::string_view rest = line;
    const std::string_view word = TakeWord(&rest);
    if (word == "Switch" || word == "Ca" || word == "Rt") return ReadNode(word, rest);
    // Of a node: "vendid=0x2c9"; with -g also the content of each chassis.
    constexpr std::array<std::string_view, 4> kHeadings = {"Chassis", "Spine", "Line", "Internal"};
    if (word.find('=') != std::string_view::npos || std::ranges::find(kHeadings, word) != kHeadings.end()) {
      return OkStatus();
    }
    return Refuse(
        line_, fmt::format("expected a line of ibnetdiscover (Switch, Ca, [port], …), found '{}'", line.substr(0, 60)));
  }

  // Switch  36 "S-…"  # "description" base port 0 lid 48 lmc 0
  Status ReadNode(std::string_view kind, std::string_view rest) {
    (void)TakeWord(&rest);  // how many ports it has
    const auto id = TakeBetween('"', '"', &rest);
    if (!id || id->empty()) {
      return Refuse(line_, fmt::format("expected {} N \"ID\" # \"description\", found no ID in quotes", kind));
    }
    const uint32_t node = NodeOf(*id, kind == "Switch");
    const Remark remark = ReadRemark(rest);
    if (!remark.description.empty()) nodes_[node].description = remark.description;
    nodes_[node].is_switch = kind == "Switch";
    if (kind == "Rt") nodes_[node].is_ignored = true;
    current_ = node;
    return OkStatus();
  }

  // [1](port GUID)[ext 3]  "S-…"[24](port GUID)  # … 4xHDR
  Status ReadPort(std::string_view line) {
    constexpr std::string_view kExpected = "expected [port] \"ID\"[port] # …";
    if (!current_) return Refuse(line_, "a port appears before the first Switch or Ca; expected the whole output");
    const auto port = TakeBetween('[', ']', &line);
    (void)TakeBetween('(', ')', &line);
    (void)TakeBetween('[', ']', &line);
    const auto id = TakeBetween('"', '"', &line);
    const auto peer_port = TakeBetween('[', ']', &line);
    const auto number = port ? ParseWhole<uint32_t>(*port) : std::nullopt;
    const auto peer_number = peer_port ? ParseWhole<uint32_t>(*peer_port) : std::nullopt;
    if (!number || !id || id->empty() || !peer_number) return Refuse(line_, kExpected);
    const Remark remark = ReadRemark(line);
    const uint32_t peer = NodeOf(*id, id->starts_with('S'));
    // After a port of an adapter comes its own lid first, but the quotes are still the peer's.
    if (nodes_[peer].description.empty()) nodes_[peer].description = remark.description;
    lines_.push_back({.node = *current_,
                      .port = *number,
                      .peer = peer,
                      .peer_port = *peer_number,
                      .gbps = remark.gbps,
                      .line = line_});
    return OkStatus();
  }

  uint32_t NodeOf(std::string_view id, bool is_switch) {
    const auto [found, is_new] = numbers_.emplace(std::string(id), static_cast<uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({.id = std::string(id), .description = {}, .is_switch = is_switch});
    return found->second;
  }

  // "MF0;leaf1:MQM8700/U1" is leaf1; "MF0;director:CS7520/L01/U1" one of its many chips, director-L01-U1.
  static std::string SwitchName(const SubnetNode& node) {
    std::string_view name = node.description;
    const size_t semicolon = name.find(';');
    const size_t colon = name.find(':');
    if (semicolon == std::string_view::npos || colon == std::string_view::npos || colon < semicolon) {
      return std::string(name);
    }
    const std::string_view model = name.substr(colon + 1);
    const std::string_view place = model.substr(std::min(model.find('/'), model.size()));
    name = name.substr(semicolon + 1, colon - semicolon - 1);
    return place.empty() || place == "/U1" ? std::string(name) : fmt::format("{}{}", name, place);
  }

  // "node1 mlx5_0" is adapter mlx5_0 of host node1. Before a host has set it, the description is that of the product.
  static std::pair<std::string, std::string> HostAndAdapter(const SubnetNode& node) {
    std::string_view rest = node.description;
    const std::string_view host = TakeWord(&rest);
    const std::string_view adapter = TakeWord(&rest);
    const bool is_named = !host.empty() && host != "localhost" && Trim(rest).empty();
    if (!is_named) return {node.id, node.id};
    return {std::string(host), std::string(adapter.empty() ? node.id : adapter)};
  }

  void NameNodes() {
    std::map<std::string, size_t> switch_names;
    for (const SubnetNode& node : nodes_) switch_names[node.is_switch ? SwitchName(node) : ""] += 1;
    std::map<std::string, uint32_t> hosts;
    size_t num_ignored = 0;
    for (SubnetNode& node : nodes_) {
      if (node.description.find("Aggregation Node") != std::string::npos) node.is_ignored = true;
      num_ignored += node.is_ignored ? 1 : 0;
      if (node.is_ignored) {
        devices_.push_back(0);
        continue;
      }
      const auto next = static_cast<uint32_t>(network_.devices.size());
      if (node.is_switch) {
        const std::string name = SwitchName(node);
        const bool is_unique = !name.empty() && switch_names[name] == 1;
        network_.devices.push_back({.name = is_unique ? name : node.id, .role = DeviceRole::kSwitch});
        devices_.push_back(next);
        continue;
      }
      const auto [host, is_new] = hosts.emplace(HostAndAdapter(node).first, next);
      if (is_new) network_.devices.push_back({.name = host->first, .role = DeviceRole::kHost});
      devices_.push_back(host->second);
    }
    if (num_ignored > 0) {
      network_.notes.push_back(fmt::format("left out {} aggregation node(s) and router(s) of the subnet", num_ignored));
    }
  }

  ForeignPort PortOf(uint32_t node, uint32_t port) const {
    if (nodes_[node].is_switch) return {.device = devices_[node], .name = fmt::format("{}", port), .nic = {}};
    const std::string adapter = HostAndAdapter(nodes_[node]).second;
    return {.device = devices_[node], .name = fmt::format("{}/{}", adapter, port), .nic = adapter};
  }

  Status AddCables() {
    using End = std::pair<uint32_t, uint32_t>;
    std::map<End, std::pair<End, size_t>> peers;  // of each port: the other end, and the line that says so
    std::map<std::pair<End, End>, size_t> cables;
    for (const PortLine& line : lines_) {
      End near(line.node, line.port);
      End far(line.peer, line.peer_port);
      for (const auto& [from, to] : {std::pair(near, far), std::pair(far, near)}) {
        const auto [known, is_new] = peers.emplace(from, std::pair(to, line.line));
        if (is_new || known->second.first == to) continue;
        return Refuse(line.line, fmt::format("port {} of {} has another cable on line {}; expected one per port",
                                             from.second, nodes_[from.first].id, known->second.second));
      }
      if (nodes_[line.node].is_ignored || nodes_[line.peer].is_ignored) continue;
      const auto [known, is_new] = cables.emplace(std::minmax(near, far), network_.cables.size());
      if (is_new) {
        network_.cables.push_back(
            {.a = PortOf(line.node, line.port), .b = PortOf(line.peer, line.peer_port), .gbps = line.gbps});
        continue;
      }
      ForeignCable& cable = network_.cables[known->second];
      if (cable.gbps == 0 || (line.gbps > 0 && line.gbps < cable.gbps)) cable.gbps = line.gbps;
    }
    return OkStatus();
  }

  std::string_view text_;
  const std::string& where_;
  size_t line_ = 0;
  std::vector<SubnetNode> nodes_;
  std::map<std::string, uint32_t> numbers_;  // by id
  std::optional<uint32_t> current_;
  std::vector<PortLine> lines_;
  std::vector<uint32_t> devices_;  // [node]
  ForeignNetwork network_;
};

}  // namespace

Result<ForeignNetwork> ReadIbnetdiscover(std::string_view text, const std::string& where) {
  return SubnetReader(text, where).Read();
}

}  // namespace fairlead::topology

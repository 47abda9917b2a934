#include "topology/import/lldp_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/file_reader.h"

namespace fairlead::topology {

namespace {

using Json = nlohmann::json;

constexpr size_t kMaxReportBytes = size_t{64} << 20;
constexpr std::string_view kReportEnding = ".json";
constexpr std::string_view kAddressesEnding = ".addresses.json";

// Reports are a dozen deep. What is deeper is refused before anything recurses over it.
Json ParseShallow(const std::string& text) {
  constexpr int kMaxDepth = 64;
  bool is_too_deep = false;
  Json json = Json::parse(
      text,
      [&](int depth, Json::parse_event_t, Json&) {
        is_too_deep |= depth > kMaxDepth;
        return !is_too_deep;
      },
      false);
  return is_too_deep ? Json(Json::value_t::discarded) : json;
}

// json0 puts everything in lists, and texts into {"value": …}.
const Json& Unwrap(const Json& json) {
  const Json* inner = &json;
  while (inner->is_array() && !inner->empty()) inner = &inner->front();
  return *inner;
}
const Json* Find(const Json& object, const char* key) {
  const Json& inner = Unwrap(object);
  if (!inner.is_object()) return nullptr;
  const auto found = inner.find(key);
  return found == inner.end() ? nullptr : &*found;
}
std::string TextOf(const Json* json) {
  if (json == nullptr) return "";
  const Json* inner = &Unwrap(*json);
  if (const Json* value = Find(*inner, "value")) inner = &Unwrap(*value);
  if (inner->is_string()) return inner->get<std::string>();
  return inner->is_number_integer() ? inner->dump() : "";
}
std::string TextOf(const Json& object, const char* key) { return TextOf(Find(object, key)); }

bool ContainsWord(std::string_view text, std::string_view word) {
  return std::search(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) {
           const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
           return lower(a) == lower(b);
         }) != text.end();
}

// "100GbaseCR4 - …" -> 100, "1000BaseTFD" -> 1; 0 where it says no speed.
double ParseMedium(std::string_view medium) {
  double number = 0;
  const auto [end, error] = std::from_chars(medium.data(), medium.data() + medium.size(), number);
  if (error != std::errc() || !(number > 0) || number > 1e6) return 0;
  std::string_view rest = medium.substr(static_cast<size_t>(end - medium.data()));
  const bool is_giga = rest.starts_with('G');
  if (is_giga) rest.remove_prefix(1);
  if (rest.size() < 4 || !ContainsWord(rest.substr(0, 4), "base")) return 0;
  return is_giga ? number : number / 1000;
}

// What systems of switches, and then of hosts, call themselves.
DeviceRole RoleOf(std::string_view description, const Json& chassis) {
  constexpr std::array<std::string_view, 22> kSwitchSystems = {
      "SONiC",   "Cumulus", "Arista", "Cisco", "NX-OS",    "Juniper", "Junos", "Onyx",     "MLNX",   "Huawei", "H3C",
      "Comware", "OS10",    "FTOS",   "FBOSS", "SR Linux", "OcNOS",   "PicOS", "RouterOS", "Ruijie", "DENT",   "EXOS"};
  constexpr std::array<std::string_view, 5> kHostSystems = {"Linux", "Windows", "ESX", "FreeBSD", "Ubuntu"};
  const auto is_in = [&](std::string_view word) { return ContainsWord(description, word); };
  if (std::ranges::any_of(kSwitchSystems, is_in)) return DeviceRole::kSwitch;
  if (std::ranges::any_of(kHostSystems, is_in)) return DeviceRole::kHost;
  const Json* capabilities = Find(chassis, "capability");
  if (capabilities == nullptr) return DeviceRole::kUnknown;
  DeviceRole role = DeviceRole::kUnknown;
  const auto look = [&](const Json& capability) {
    const Json* enabled = Find(capability, "enabled");
    if (enabled == nullptr || !enabled->is_boolean() || !enabled->get<bool>()) return;
    const std::string type = TextOf(capability, "type");
    if (type == "Bridge" || type == "Router") role = DeviceRole::kSwitch;
    if (type == "Station" && role == DeviceRole::kUnknown) role = DeviceRole::kHost;
  };
  if (capabilities->is_array()) {
    for (const Json& capability : *capabilities) look(capability);
  } else {
    look(*capabilities);
  }
  return role;
}

// What a device says of the other end of one of its ports.
struct Neighbour {
  std::string device;  // that says it, as its file is named
  std::string port;
  std::string name;  // of the other; empty where it did not tell
  std::string id;    // of the other's chassis
  std::string port_id;
  std::string port_description;
  bool port_id_is_mac = false;
  bool port_id_is_interface = false;
  std::string aggregation;                 // of the other's port; empty: none
  DeviceRole role = DeviceRole::kUnknown;  // of the other
  double gbps = 0;
};

// Reads one report into neighbours.
class ReportReader {
 public:
  ReportReader(const LldpReport& report, std::vector<Neighbour>* neighbours)
      : report_(report), neighbours_(*neighbours) {}

  Status Read() {
    const Json document = ParseShallow(report_.neighbours);
    if (document.is_discarded()) return Refuse("", "not JSON; expected the output of `lldpctl -f json`");
    const Json* lldp = Find(document, "lldp");
    if (lldp == nullptr) return Refuse("", "no key 'lldp'; expected the output of `lldpctl -f json`");
    const Json* interfaces = Find(*lldp, "interface");
    if (interfaces == nullptr) return OkStatus();  // no neighbour seen yet
    if (interfaces->is_object()) return ReadInterfaces(*interfaces, "lldp.interface");
    if (!interfaces->is_array()) return Refuse("lldp.interface", "expected a list or an object of interfaces");
    size_t index = 0;
    for (const Json& entry : *interfaces) {
      FL_RETURN_IF_ERROR(ReadInterfaces(entry, fmt::format("lldp.interface[{}]", index++)));
    }
    return OkStatus();
  }

 private:
  Status Refuse(const std::string& path, std::string_view message) const {
    return InvalidArgument(fmt::format("{}: {}{}{}", report_.where, path, path.empty() ? "" : ": ", message));
  }

  // {"eth0": {…}, …}, or {"name": "eth0", …}.
  Status ReadInterfaces(const Json& json, const std::string& path) {
    if (!json.is_object()) return Refuse(path, "expected an object");
    const auto name = json.find("name");
    if (name != json.end() && name->is_string()) return ReadNeighbour(name->get<std::string>(), json, path);
    for (const auto& [port, neighbour] : json.items()) {
      // Several neighbours of one port are a list.
      const std::string inner = fmt::format("{}.{}", path, port);
      if (!neighbour.is_array()) {
        FL_RETURN_IF_ERROR(ReadNeighbour(port, neighbour, inner));
        continue;
      }
      for (const Json& one : neighbour) FL_RETURN_IF_ERROR(ReadNeighbour(port, one, inner));
    }
    return OkStatus();
  }

  Status ReadNeighbour(const std::string& port, const Json& json, const std::string& path) {
    const Json* chassis = Find(json, "chassis");
    const Json* far_port = Find(json, "port");
    if (chassis == nullptr || !Unwrap(*chassis).is_object()) return Refuse(path, "no 'chassis'; expected a neighbour");
    if (far_port == nullptr || !Unwrap(*far_port).is_object()) return Refuse(path, "no 'port'; expected a neighbour");
    Neighbour neighbour;
    neighbour.device = report_.device;
    neighbour.port = port;
    const Json* described = &Unwrap(*chassis);
    // {"leaf1": {"id": …}}, or its content.
    const bool is_bare = described->contains("id") && !TextOf(*described, "id").empty();
    if (!is_bare) {
      if (described->size() != 1 || !described->begin()->is_object()) {
        return Refuse(path + ".chassis", "expected one neighbour with an 'id'");
      }
      neighbour.name = described->begin().key();
      described = &*described->begin();
    } else {
      neighbour.name = TextOf(*described, "name");
    }
    neighbour.id = TextOf(*described, "id");
    if (neighbour.name.empty() && neighbour.id.empty()) return Refuse(path + ".chassis", "it has neither name nor id");
    neighbour.role = RoleOf(TextOf(*described, "descr"), *described);
    if (const Json* id = Find(*far_port, "id")) {
      neighbour.port_id = TextOf(id);
      neighbour.port_id_is_mac = TextOf(*id, "type") == "mac";
      neighbour.port_id_is_interface = TextOf(*id, "type") == "ifname";
    }
    neighbour.port_description = TextOf(*far_port, "descr");
    neighbour.aggregation = TextOf(*far_port, "aggregation");
    if (const Json* negotiated = Find(*far_port, "auto-negotiation")) {
      neighbour.gbps = ParseMedium(TextOf(*negotiated, "current"));
    }
    neighbours_.push_back(std::move(neighbour));
    return OkStatus();
  }

  const LldpReport& report_;
  std::vector<Neighbour>& neighbours_;
};

// Tells that "leaf1" and "leaf1.cluster.example" are one device.
class DeviceNames {
 public:
  void Add(const std::string& name) { full_names_[Label(name)].insert(name); }

  // The bare name where it is one device's, else the full one.
  Result<std::string> Find(const std::string& name) const {
    const std::string label = Label(name);
    const auto& names = full_names_.at(label);
    const bool has_bare = names.contains(label);
    const size_t num_full = names.size() - (has_bare ? 1 : 0);
    if (num_full <= 1) return label;
    if (name != label || !has_bare) return name;
    return InvalidArgument(
        fmt::format("'{}' may be {}; name its file after one of them", name, ListNames({names.begin(), names.end()})));
  }

 private:
  // Up to the domain; addresses and MACs have none.
  static std::string Label(const std::string& name) {
    const size_t dot = name.find('.');
    const bool is_number = std::ranges::all_of(name.substr(0, dot), [](char c) { return c >= '0' && c <= '9'; });
    return is_number || dot == 0 ? name : name.substr(0, dot);
  }

  std::map<std::string, std::set<std::string>> full_names_;  // by label
};

// "Ethernet12" -> "Ethernet#".
std::string ShapeOf(std::string_view port) {
  std::string shape;
  for (const char c : port) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit || shape.empty() || shape.back() != '#') shape += is_digit ? '#' : c;
  }
  return shape;
}

// A neighbour with devices as numbers.
struct Sighting {
  const Neighbour* neighbour = nullptr;
  uint32_t near = 0;
  uint32_t far = 0;
  bool is_named = false;  // the far port is named as the far device itself would name it
  bool is_matched = false;
};

class NetworkMaker {
 public:
  explicit NetworkMaker(std::vector<Neighbour> neighbours) : neighbours_(std::move(neighbours)) {}

  Result<ForeignNetwork> Make(const std::vector<LldpReport>& reports) {
    NameByChassis();
    DropNameless();
    FL_RETURN_IF_ERROR(NumberDevices(reports));
    See();
    MatchEnds();
    GroupBonds();
    FindRoles(reports);
    for (const LldpReport& report : reports) FL_RETURN_IF_ERROR(ReadAddresses(report));
    return std::move(network_);
  }

 private:
  // A device that has given its name once is known by its chassis.
  void NameByChassis() {
    std::map<std::string, std::string> names;
    for (const Neighbour& n : neighbours_) {
      if (!n.name.empty() && !n.id.empty()) names.emplace(n.id, n.name);
    }
    for (Neighbour& n : neighbours_) {
      const auto known = names.find(n.id);
      if (n.name.empty() && known != names.end()) n.name = known->second;
    }
  }

  // The firmware of a NIC speaks LLDP too, beside the daemon of its host, and has no name.
  void DropNameless() {
    std::set<std::pair<std::string, std::string>> named;
    for (const Neighbour& n : neighbours_) {
      if (!n.name.empty()) named.emplace(n.device, n.port);
    }
    std::erase_if(neighbours_, [&](const Neighbour& n) {
      return n.name.empty() && named.contains({n.device, n.port});
    });
    for (Neighbour& n : neighbours_) {
      if (n.name.empty()) n.name = n.id;
    }
  }

  Status NumberDevices(const std::vector<LldpReport>& reports) {
    for (const LldpReport& report : reports) names_.Add(report.device);
    for (const Neighbour& n : neighbours_) names_.Add(n.name);
    for (const LldpReport& report : reports) FL_RETURN_IF_ERROR(NumberOf(report.device).status());
    for (const Neighbour& n : neighbours_) {
      FL_ASSIGN_OR_RETURN(const uint32_t near, NumberOf(n.device));
      FL_ASSIGN_OR_RETURN(const uint32_t far, NumberOf(n.name));
      sightings_.push_back({.neighbour = &n, .near = near, .far = far});
    }
    return OkStatus();
  }

  Result<uint32_t> NumberOf(const std::string& device) {
    FL_ASSIGN_OR_RETURN(std::string name, names_.Find(device));
    const auto [found, is_new] = numbers_.emplace(name, static_cast<uint32_t>(network_.devices.size()));
    if (is_new) network_.devices.push_back({.name = std::move(name), .role = DeviceRole::kUnknown});
    return found->second;
  }

  // Drops duplicates, and notes what can't be a cable.
  void See() {
    std::map<std::pair<uint32_t, std::string>, std::vector<uint32_t>> seen;
    std::erase_if(sightings_, [&](const Sighting& s) {
      std::vector<uint32_t>& far = seen[{s.near, s.neighbour->port}];
      const bool is_known = std::ranges::find(far, s.far) != far.end();
      if (!is_known) far.push_back(s.far);
      return is_known || s.near == s.far;
    });
    // Some switches tell aliases of their ports; names that look like those in their own reports are none.
    std::set<std::pair<uint32_t, std::string>> shapes;
    for (const Sighting& s : sightings_) shapes.emplace(s.near, ShapeOf(s.neighbour->port));
    for (Sighting& s : sightings_) {
      s.is_named = s.neighbour->port_id_is_interface || shapes.contains({s.far, ShapeOf(s.neighbour->port_id)}) ||
                   shapes.contains({s.far, ShapeOf(s.neighbour->port_description)});
    }
    std::vector<std::string> shared;
    for (const auto& [port, far] : seen) {
      if (far.size() > 1) shared.push_back(fmt::format("{} ({})", network_.devices[port.first].name, port.second));
    }
    if (shared.empty()) return;
    network_.notes.push_back(fmt::format(
        "{} port(s) report several neighbours, and each is taken for a cable: {}; leave what is none out with "
        "--without NAME",
        shared.size(), ListNames(shared)));
  }

  static bool Names(const Sighting& sighting, const std::string& port) {
    return sighting.neighbour->port_id == port || sighting.neighbour->port_description == port;
  }

  // Both ends of a pair of devices may have reported the same cables. Where one names the port of the other this is
  // certain. Of the rest, those that name no port of the other match in order, as no port has two cables.
  void MatchEnds() {
    std::map<std::pair<uint32_t, uint32_t>, std::vector<Sighting*>> by_pair;
    for (Sighting& s : sightings_) by_pair[{s.near, s.far}].push_back(&s);
    for (auto& [pair, from_here] : by_pair) {
      const auto other = by_pair.find({pair.second, pair.first});
      if (other != by_pair.end() && pair.first > pair.second) continue;
      std::vector<Sighting*> from_there = other == by_pair.end() ? std::vector<Sighting*>() : other->second;
      const auto by_port = [](const Sighting* a, const Sighting* b) {
        return NaturalLess(a->neighbour->port, b->neighbour->port);
      };
      std::ranges::sort(from_here, by_port);
      std::ranges::sort(from_there, by_port);
      Match(from_here, from_there, 2);
      Match(from_here, from_there, 1);
      Match(from_here, from_there, 0);
      for (const Sighting* s : from_here) {
        if (!s->is_matched) AddCable(*s, nullptr);
      }
      for (const Sighting* s : from_there) {
        if (!s->is_matched) AddCable(*s, nullptr);
      }
    }
  }

  // Makes one cable of each two sightings of which at least `num_sides` name the port of the other.
  void Match(const std::vector<Sighting*>& here, const std::vector<Sighting*>& there, int num_sides) {
    std::multimap<std::string_view, Sighting*> by_name;  // of the ports there
    for (Sighting* b : there) {
      if (num_sides == 0 && b->is_named) continue;
      if (!b->is_matched) by_name.emplace(num_sides == 0 ? "" : std::string_view(b->neighbour->port), b);
    }
    // Where only the far side names the near port, it is found by that name instead.
    std::multimap<std::string_view, Sighting*> by_far_name;
    for (const auto& [port, b] : by_name) {
      if (num_sides != 1) break;
      by_far_name.emplace(b->neighbour->port_id, b);
      if (b->neighbour->port_description != b->neighbour->port_id)
        by_far_name.emplace(b->neighbour->port_description, b);
    }
    for (Sighting* a : here) {
      if (a->is_matched) continue;
      const auto take = [&](std::multimap<std::string_view, Sighting*>& index, std::string_view key) {
        const auto [first, last] = index.equal_range(key);
        for (auto i = first; i != last; ++i) {
          Sighting* b = i->second;
          if (b->is_matched || (num_sides == 2 && !Names(*b, a->neighbour->port))) continue;
          a->is_matched = b->is_matched = true;
          AddCable(*a, b);
          index.erase(i);
          return;
        }
      };
      if (num_sides == 0) {
        if (!a->is_named) take(by_name, "");
        continue;
      }
      take(by_name, a->neighbour->port_id);
      if (!a->is_matched) take(by_name, a->neighbour->port_description);
      if (!a->is_matched) take(by_far_name, a->neighbour->port);
    }
  }

  void AddCable(const Sighting& near, const Sighting* far) {
    const Neighbour& n = *near.neighbour;
    ForeignCable cable{.a = {.device = near.near, .name = n.port, .nic = {}},
                       .b = {.device = near.far, .name = {}, .nic = {}},
                       .gbps = n.gbps};
    if (far != nullptr) {
      cable.b.name = far->neighbour->port;
      const double other = far->neighbour->gbps;
      if (cable.gbps == 0 || (other > 0 && other < cable.gbps)) cable.gbps = other;
      if (!far->neighbour->aggregation.empty()) bonds_[{near.near, far->neighbour->aggregation}].insert(n.port);
    } else {
      // A MAC is not a name in use, but better than none.
      cable.b.name = n.port_id_is_mac && !n.port_description.empty() ? n.port_description : n.port_id;
      if (cable.b.name.empty()) cable.b.name = n.port_description;
      // Ports without a name still differ.
      if (cable.b.name.empty()) cable.b.name = fmt::format("to {} {}", network_.devices[near.near].name, n.port);
    }
    if (!n.aggregation.empty()) bonds_[{near.far, n.aggregation}].insert(cable.b.name);
    network_.cables.push_back(std::move(cable));
  }

  // A NIC is called like the first of its ports.
  void GroupBonds() {
    std::map<std::pair<uint32_t, std::string>, std::string> nics;
    for (const auto& [bond, ports] : bonds_) {
      const std::string first = *std::ranges::min_element(ports, NaturalLess);
      for (const std::string& port : ports) nics.emplace(std::pair(bond.first, port), first);
    }
    for (ForeignCable& cable : network_.cables) {
      for (ForeignPort* port : {&cable.a, &cable.b}) {
        const auto found = nics.find({port->device, port->name});
        if (found != nics.end()) port->nic = found->second;
      }
    }
  }

  void FindRoles(const std::vector<LldpReport>& reports) {
    std::vector<char> is_described(network_.devices.size(), 0);
    std::vector<char> has_other_neighbours(network_.devices.size(), 0);
    for (const Sighting& s : sightings_) {
      is_described[s.far] = 1;
      DeviceRole& role = network_.devices[s.far].role;
      if (role == DeviceRole::kUnknown) role = s.neighbour->role;
    }
    for (const ForeignCable& cable : network_.cables) {
      for (const auto& [mine, other] :
           {std::pair(cable.a.device, cable.b.device), std::pair(cable.b.device, cable.a.device)}) {
        if (network_.devices[other].role != DeviceRole::kSwitch) has_other_neighbours[mine] = 1;
      }
    }
    std::vector<std::string> taken;
    for (const LldpReport& report : reports) {
      const auto device = NumberOf(report.device);
      if (!device.ok() || is_described[*device] != 0 || has_other_neighbours[*device] != 0) continue;
      network_.devices[*device].role = DeviceRole::kHost;
      taken.push_back(network_.devices[*device].name);
    }
    if (taken.empty()) return;
    network_.notes.push_back(
        fmt::format("taken for hosts, as no neighbour describes them: {}; where one is a switch, say --switches NAME",
                    ListNames(taken)));
  }

  // Those of an interface, and of the bond or bridge that it is part of.
  Status ReadAddresses(const LldpReport& report) {
    if (report.addresses.empty()) return OkStatus();
    const auto refuse = [&](std::string_view message) {
      return InvalidArgument(
          fmt::format("{}: addresses: {}; expected the output of `ip -json address`", report.where, message));
    };
    const Json document = ParseShallow(report.addresses);
    if (!document.is_array()) return refuse("not a list in JSON");
    FL_ASSIGN_OR_RETURN(const uint32_t device, NumberOf(report.device));
    std::map<std::string, std::vector<IpAddress>> addresses;
    std::vector<std::pair<std::string, std::string>> masters;
    for (const Json& interface : document) {
      if (!interface.is_object()) return refuse("an entry is no object");
      const std::string name = TextOf(interface, "ifname");
      if (const std::string master = TextOf(interface, "master"); !master.empty()) masters.emplace_back(name, master);
      const auto list = interface.find("addr_info");
      if (name.empty() || list == interface.end() || !list->is_array()) continue;
      for (const Json& entry : *list) {
        if (!entry.is_object() || TextOf(entry, "scope") != "global") continue;
        auto address = ParseIpAddress(TextOf(entry, "local"));
        if (!address.ok()) return refuse(fmt::format("{}: {}", name, address.status().message()));
        addresses[name].push_back(*address);
      }
    }
    std::vector<std::pair<std::string, std::vector<IpAddress>>> inherited;
    for (const auto& [name, master] : masters) {
      if (addresses.contains(master)) inherited.emplace_back(name, addresses[master]);
    }
    for (auto& [name, list] : addresses) network_.addresses[{device, name}] = std::move(list);
    for (const auto& [name, list] : inherited) {
      auto& all = network_.addresses[{device, name}];
      all.insert(all.end(), list.begin(), list.end());
    }
    return OkStatus();
  }

  std::vector<Neighbour> neighbours_;
  DeviceNames names_;
  std::map<std::string, uint32_t> numbers_;
  std::vector<Sighting> sightings_;
  std::map<std::pair<uint32_t, std::string>, std::set<std::string>> bonds_;  // ports by device and aggregation
  ForeignNetwork network_;
};

}  // namespace

Result<ForeignNetwork> ReadLldp(const std::vector<LldpReport>& reports, const std::string& where) {
  std::vector<Neighbour> neighbours;
  for (const LldpReport& report : reports) FL_RETURN_IF_ERROR(ReportReader(report, &neighbours).Read());
  if (neighbours.empty()) {
    return InvalidArgument(fmt::format(
        "{}: no neighbour in {} report(s); expected the output of `lldpctl -f json`, half a minute after lldpd "
        "was started",
        where, reports.size()));
  }
  auto network = NetworkMaker(std::move(neighbours)).Make(reports);
  if (network.ok() || network.status().message().starts_with(where)) return network;
  return Status(network.status().code(), fmt::format("{}: {}", where, network.status().message()));
}

Result<std::vector<LldpReport>> SplitLldp(const std::string& text, const std::string& device,
                                          const std::string& where) {
  const Json document = ParseShallow(text);
  const auto refuse = [&](const std::string& found) {
    return InvalidArgument(
        fmt::format("{}: expected the output of `lldpctl -f json`, or an object with such a report for "
                    "each device, found {}",
                    where, found));
  };
  if (document.is_discarded()) return refuse("no JSON");
  if (!document.is_object()) return refuse("no object");
  std::vector<LldpReport> reports;
  if (document.contains("lldp")) {
    reports.push_back({.device = device, .neighbours = text, .addresses = {}, .where = where});
    return reports;
  }
  for (const auto& [name, report] : document.items()) {
    if (name.empty() || !report.is_object() || !report.contains("lldp")) {
      return refuse(fmt::format("'{}' without a key 'lldp'", name));
    }
    reports.push_back({.device = name,
                       .neighbours = report.dump(-1, ' ', false, Json::error_handler_t::replace),
                       .addresses = {},
                       .where = fmt::format("{}: {}", where, name)});
  }
  if (reports.empty()) return refuse("nothing");
  return reports;
}

Result<ForeignNetwork> LoadLldp(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    FL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxReportBytes));
    FL_ASSIGN_OR_RETURN(const auto reports, SplitLldp(text, fs::path(path).stem().string(), path));
    return ReadLldp(reports, path);
  }
  std::vector<std::string> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(kReportEnding) && !name.ends_with(kAddressesEnding)) files.push_back(name);
  }
  if (error) return Unavailable(fmt::format("{}: {}", path, error.message()));
  if (files.empty()) {
    return InvalidArgument(fmt::format(
        "{}: no report in this folder; expected a file DEVICE.json for each host and switch, from `lldpctl -f json`",
        path));
  }
  std::ranges::sort(files, NaturalLess);
  std::vector<LldpReport> reports;
  for (const std::string& file : files) {
    LldpReport report;
    report.device = file.substr(0, file.size() - kReportEnding.size());
    report.where = (fs::path(path) / file).string();
    FL_ASSIGN_OR_RETURN(report.neighbours, ReadWholeFile(report.where, kMaxReportBytes));
    const std::string addresses = (fs::path(path) / (report.device + std::string(kAddressesEnding))).string();
    if (fs::exists(addresses, error)) {
      FL_ASSIGN_OR_RETURN(report.addresses, ReadWholeFile(addresses, kMaxReportBytes));
    }
    reports.push_back(std::move(report));
  }
  return ReadLldp(reports, path);
}

}  // namespace fairlead::topology

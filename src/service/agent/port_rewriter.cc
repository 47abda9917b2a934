#include "service/agent/port_rewriter.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/shell_output.h"
#include "base/socket_address.h"
#include "service/steering/exec_hook.h"

namespace fairlead::service {

namespace {

using agent::RewriteRule;
using Direction = RewriteRule::Direction;
using Json = nlohmann::json;

// `add` of what is there already changes nothing, so elements stay; chains are filled again in the same transaction.
constexpr std::string_view kTable = R"(
add table inet fairlead_agent
add map inet fairlead_agent departure4 { type ipv4_addr . ipv4_addr . inet_service . inet_service : inet_service; }
add map inet fairlead_agent departure6 { type ipv6_addr . ipv6_addr . inet_service . inet_service : inet_service; }
add map inet fairlead_agent return4 { type ipv4_addr . ipv4_addr . inet_service . inet_service : inet_service; }
add map inet fairlead_agent return6 { type ipv6_addr . ipv6_addr . inet_service . inet_service : inet_service; }
add map inet fairlead_agent arrival4 { type ipv4_addr . ipv4_addr . inet_service . inet_service : inet_service; }
add map inet fairlead_agent arrival6 { type ipv6_addr . ipv6_addr . inet_service . inet_service : inet_service; }
add chain inet fairlead_agent depart { type route hook output priority -150; policy accept; }
add chain inet fairlead_agent unmark { type filter hook output priority -149; policy accept; }
add chain inet fairlead_agent arrive { type filter hook prerouting priority -300; policy accept; }
flush chain inet fairlead_agent depart
flush chain inet fairlead_agent unmark
flush chain inet fairlead_agent arrive
add rule inet fairlead_agent depart tcp sport set ip saddr . ip daddr . tcp sport . tcp dport map @departure4 meta mark set meta mark | 0x40000000
add rule inet fairlead_agent depart tcp sport set ip6 saddr . ip6 daddr . tcp sport . tcp dport map @departure6 meta mark set meta mark | 0x40000000
add rule inet fairlead_agent unmark meta mark & 0x40000000 != 0 meta mark set meta mark & 0xbfffffff
add rule inet fairlead_agent arrive tcp sport set ip saddr . ip daddr . tcp sport . tcp dport map @arrival4
add rule inet fairlead_agent arrive tcp sport set ip6 saddr . ip6 daddr . tcp sport . tcp dport map @arrival6
add rule inet fairlead_agent arrive tcp dport set ip daddr . ip saddr . tcp dport . tcp sport map @return4
add rule inet fairlead_agent arrive tcp dport set ip6 daddr . ip6 saddr . tcp dport . tcp sport map @return6
)";

// After all rules that lead anywhere; what counts is that a rule looks at ports.
constexpr std::string_view kPreference = "40000";

std::string FindProgram(std::string_view name) {
  for (const std::string_view folder : {"/usr/sbin/", "/sbin/"}) {
    std::string path = fmt::format("{}{}", folder, name);
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return std::string(name);
}

Status RunProgram(std::vector<std::string> command, std::string_view input) {
  const ExecHookOptions options{.command = std::move(command), .deadline = std::chrono::milliseconds(10'000)};
  const auto outcome = RunExecHook(options, input);
  if (!outcome.ok()) return Status(StatusCode::kFailedPrecondition, outcome.status().message());
  if (outcome->ok()) return OkStatus();
  const std::string first_line = outcome->output.substr(0, outcome->output.find('\n'));
  return Status(StatusCode::kFailedPrecondition,
                fmt::format("{}: {}", options.command.front(), outcome->timed_out ? "nothing in 10 s" : first_line));
}

Status RunNft(std::string_view script) { return RunProgram({FindProgram("nft"), "-f", "-"}, script); }

// Errors: of IPv4 only, as a kernel may be without IPv6.
Status SetPortRule(bool is_wanted) {
  Status status;
  for (const char* version : {"-6", "-4"}) {
    // A number, as `ip` knows the names of protocols only where /etc/protocols is.
    const auto change = [&](const char* verb) {
      return RunProgram({FindProgram("ip"), version, "rule", verb, "pref", std::string(kPreference), "ipproto",
                         std::to_string(IPPROTO_TCP), "sport", "1-65534", "lookup", "main"},
                        "");
    };
    while (change("del").ok()) continue;  // those of agents before
    if (is_wanted) status = change("add");
  }
  return status;
}

// Of a return the source is this host, as it is of the departure that it belongs to.
enum class Map : uint8_t { kDeparture, kReturn, kArrival };

Map MapOf(const RewriteRule& rule) { return rule.direction == Direction::kDeparture ? Map::kDeparture : Map::kArrival; }

std::string NameOf(Map map, const RewriteRule& rule) {
  constexpr std::array<std::string_view, 3> kNames = {"departure", "return", "arrival"};
  return fmt::format("{}{}", kNames[static_cast<size_t>(map)], rule.source.is_ipv4() ? 4 : 6);
}

std::string KeyOf(const RewriteRule& rule) {
  return fmt::format("{} . {} . {} . {}", rule.source.ToString(), rule.destination.ToString(), rule.from_port,
                     rule.destination_port);
}

// Elements of a batch: those that go are deleted first.
struct Script {
  std::string deletes;
  std::string adds;

  // Args: before, after: to which port; 0: none.
  void Change(Map map, const RewriteRule& rule, uint16_t before, uint16_t after) {
    if (before == after) return;
    const std::string name = NameOf(map, rule), key = KeyOf(rule);
    if (before != 0) deletes += fmt::format("delete element inet fairlead_agent {} {{ {} }}\n", name, key);
    if (after != 0) adds += fmt::format("add element inet fairlead_agent {} {{ {} : {} }}\n", name, key, after);
  }
  Status Run() const { return deletes.empty() && adds.empty() ? OkStatus() : RunNft(deletes + adds); }
};

// What comes back to a departure's port on the wire.
RewriteRule ReturnOf(RewriteRule departure, uint16_t wire_port) {
  departure.from_port = wire_port;
  return departure;
}

uint16_t PortIn(const std::map<RewriteRule, uint16_t>& rules, const RewriteRule& rule) {
  const auto known = rules.find(rule);
  return known == rules.end() ? uint16_t{0} : known->second;
}

// [{"concat": [source, destination, from port, destination port]}, to port]
std::optional<std::pair<RewriteRule, uint16_t>> ReadElement(const Json& element, Direction direction) {
  try {
    const Json& key = element.at(0).at("concat");
    const auto source = ParseIpAddress(key.at(0).get<std::string>());
    const auto destination = ParseIpAddress(key.at(1).get<std::string>());
    if (!source.ok() || !destination.ok()) return std::nullopt;
    return std::pair(RewriteRule{.direction = direction,
                                 .source = *source,
                                 .destination = *destination,
                                 .from_port = key.at(2).get<uint16_t>(),
                                 .destination_port = key.at(3).get<uint16_t>()},
                     element.at(1).get<uint16_t>());
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

Result<PortRewriter> PortRewriter::Open() {
  PortRewriter rewriter;
  FL_RETURN_IF_ERROR(RunNft(kTable));
  FL_RETURN_IF_ERROR(rewriter.ReadTable());
  FL_RETURN_IF_ERROR(rewriter.MendReturns());
  FL_RETURN_IF_ERROR(SetPortRule(true));
  return rewriter;
}

Status PortRewriter::ReadTable() {
  // Numbers, not names of services.
  const std::string text = OutputOf(FindProgram("nft") + " -n -j list table inet fairlead_agent 2>/dev/null");
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("nftables")) {
    return Status(StatusCode::kFailedPrecondition, "nft does not list the table that it has made");
  }
  for (const Json& entry : json["nftables"]) {
    if (!entry.contains("map") || !entry["map"].contains("elem")) continue;
    const std::string name = entry["map"].value("name", "");
    const Direction direction = name.starts_with("arrival") ? Direction::kArrival : Direction::kDeparture;
    for (const Json& element : entry["map"]["elem"]) {
      const auto rule = ReadElement(element, direction);
      if (!rule.has_value()) return Status(StatusCode::kFailedPrecondition, "nft lists elements that can't be read");
      if (name.starts_with("return")) {
        returns_.insert(*rule);
        continue;
      }
      rules_.insert(*rule);
      orphans_.insert(rule->first);
    }
  }
  return OkStatus();
}

// An agent of an older version has made none.
Status PortRewriter::MendReturns() {
  std::map<RewriteRule, uint16_t> wanted;
  for (const auto& [rule, port] : rules_) {
    if (rule.direction == Direction::kDeparture) wanted[ReturnOf(rule, port)] = rule.from_port;
  }
  Script script;
  for (const auto& [rule, port] : returns_) script.Change(Map::kReturn, rule, port, PortIn(wanted, rule));
  for (const auto& [rule, port] : wanted) {
    if (!returns_.contains(rule)) script.Change(Map::kReturn, rule, 0, port);
  }
  FL_RETURN_IF_ERROR(script.Run());
  returns_ = std::move(wanted);
  return OkStatus();
}

Status PortRewriter::Apply(std::span<const Change> changes) {
  std::map<RewriteRule, uint16_t> wanted;
  for (const Change& change : changes) wanted[change.rule] = change.to_port;
  Script script;
  std::map<RewriteRule, uint16_t> returns;  // that change
  for (const auto& [rule, port] : wanted) {
    const uint16_t before = PortIn(rules_, rule);
    script.Change(MapOf(rule), rule, before, port);
    if (before == port || rule.direction != Direction::kDeparture) continue;
    // A port that another connection has by now is that one's.
    const RewriteRule given_back = ReturnOf(rule, before);
    if (before != 0 && PortIn(returns_, given_back) == rule.from_port) returns.try_emplace(given_back, uint16_t{0});
    if (port != 0) returns[ReturnOf(rule, port)] = rule.from_port;
  }
  for (const auto& [rule, port] : returns) script.Change(Map::kReturn, rule, PortIn(returns_, rule), port);
  FL_RETURN_IF_ERROR(script.Run());
  for (const auto& [rule, port] : wanted) {
    orphans_.erase(rule);
    guards_.erase(rule);
    if (port == 0) {
      rules_.erase(rule);
    } else {
      rules_[rule] = port;
      Guard(rule, port);
    }
  }
  for (const auto& [rule, port] : returns) {
    if (port == 0) {
      returns_.erase(rule);
    } else {
      returns_[rule] = port;
    }
  }
  return OkStatus();
}

// A socket that is bound keeps connect() from choosing its port on its own. Where it can't be bound another process has
// it.
void PortRewriter::Guard(const RewriteRule& rule, uint16_t port) {
  if (rule.direction != Direction::kDeparture) return;
  const SocketAddress address(rule.source, port);
  Descriptor guard(socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(guard.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));  // probes from the port stay possible
  if (bind(guard.get(), address.get(), address.length()) == 0) guards_.insert_or_assign(rule, std::move(guard));
}

Status PortRewriter::ClearOrphans(const std::set<agent::SocketPair>& alive) {
  std::vector<Change> changes;
  for (const RewriteRule& rule : orphans_) {
    if (!alive.contains(EndsOf(rule, rules_.at(rule)))) changes.push_back({rule, 0});
  }
  return changes.empty() ? OkStatus() : Apply(changes);
}

Result<bool> PortRewriter::Close() {
  std::vector<Change> departures;
  for (const auto& [rule, port] : rules_) {
    if (rule.direction == Direction::kDeparture) departures.push_back({rule, 0});
  }
  FL_RETURN_IF_ERROR(Apply(departures));
  FL_RETURN_IF_ERROR(SetPortRule(false));
  if (!rules_.empty()) return false;
  FL_RETURN_IF_ERROR(RunNft("delete table inet fairlead_agent\n"));
  return true;
}

}  // namespace fairlead::service

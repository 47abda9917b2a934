#include "service/controller/host_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "base/whole_number.h"
#include "service/controller/finding_json.h"
#include "service/controller/list_pages.h"

namespace fairlead::service {
namespace {

using controller::HostCondition;
using controller::HostView;

// By how much they matter.
constexpr std::array<std::string_view, 5> kBadStates = {"isolated", "isolating", "in_doubt", "silent", "no_agent"};
constexpr std::array<std::string_view, 3> kGoodStates = {"spare", "reserved", "connected"};
constexpr std::string_view kNeedsLook = "needs_look";
// In the order of what matters.
constexpr uint32_t kRankOfNamed = kBadStates.size();
constexpr uint32_t kRankOfOthers = kRankOfNamed + 1;

// A host, and what is true of it.
struct ShownHost {
  const HostView* view = nullptr;
  uint32_t host = 0;
  std::string_view state;
  size_t num_findings = 0;

  uint32_t rank() const {
    const auto bad = std::ranges::find(kBadStates, state);
    if (bad != kBadStates.end()) return static_cast<uint32_t>(bad - kBadStates.begin());
    return num_findings > 0 ? kRankOfNamed : kRankOfOthers;
  }
};

bool IsOutOfUse(HostCondition condition) {
  return condition == HostCondition::kIsolated || condition == HostCondition::kIsolating ||
         condition == HostCondition::kInDoubt;
}

std::string_view StateOf(const HostView& host, HostCondition condition) {
  if (IsOutOfUse(condition)) return Name(condition);
  if (!host.is_connected) return host.last_message.ns() == 0 ? "no_agent" : "silent";
  const bool is_free = condition == HostCondition::kSpare || condition == HostCondition::kReserved;
  return is_free ? Name(condition) : "connected";
}

template <class Value>
Value ValueOr(const std::map<HostId, Value>& values, HostId host, Value otherwise) {
  const auto found = values.find(host);
  return found == values.end() ? otherwise : found->second;
}

std::vector<ShownHost> ShowAll(const std::vector<HostView>& views, const HostMarks& marks) {
  std::vector<ShownHost> shown;
  shown.reserve(views.size());
  for (const HostView& view : views) {
    const HostId host(static_cast<uint32_t>(shown.size()));
    shown.push_back({.view = &view,
                     .host = host.value(),
                     .state = StateOf(view, ValueOr(marks.conditions, host, HostCondition::kUnknown)),
                     .num_findings = ValueOr(marks.findings, host, size_t{0})});
  }
  return shown;
}

// Where a host stands in a list.
struct HostPlace {
  uint32_t rank = 0;
  uint32_t host = 0;

  friend auto operator<=>(const HostPlace&, const HostPlace&) = default;
};

std::optional<HostPlace> ReadHostPlace(std::string_view text) {
  const size_t colon = text.find(':');
  HostPlace place;
  const bool is_read = colon != std::string_view::npos && ParseWhole(text.substr(0, colon), &place.rank) &&
                       ParseWhole(text.substr(colon + 1), &place.host);
  if (!is_read || place.rank > kRankOfOthers) return std::nullopt;
  return place;
}

struct HostPageOptions {
  size_t limit = kDefaultPageSize;
  std::optional<HostPlace> after;
  bool is_worst_first = false;
  std::string state;  // empty: any
  std::string name;   // likewise
  std::string text;   // in lower case

  bool Wants(const ShownHost& it) const {
    if (!name.empty() && it.view->name != name) return false;
    if (state == kNeedsLook && it.rank() == kRankOfOthers) return false;
    if (!state.empty() && state != kNeedsLook && it.state != state) return false;
    return text.empty() || it.state.find(text) != std::string_view::npos ||
           LowerCase(it.view->name).find(text) != std::string::npos;
  }
  HostPlace PlaceOf(const ShownHost& it) const { return {is_worst_first ? it.rank() : 0, it.host}; }
};

Result<HostPageOptions> ReadHostOptions(const HttpQuery& query) {
  HostPageOptions options;
  for (const auto& [name, value] : query) {
    if (name == "limit") {
      FL_ASSIGN_OR_RETURN(options.limit, ReadPageSize(value));
    } else if (name == "after") {
      options.after = ReadHostPlace(value);
      if (!options.after) return ExpectedValue(name, value, "the 'next' of a page");
    } else if (name == "order") {
      if (value != "worst" && value != "fabric") return ExpectedValue(name, value, "worst or fabric");
      options.is_worst_first = value == "worst";
    } else if (name == "state") {
      const bool is_known = value == kNeedsLook || std::ranges::find(kBadStates, value) != kBadStates.end() ||
                            std::ranges::find(kGoodStates, value) != kGoodStates.end();
      if (!is_known) {
        return ExpectedValue(
            name, value,
            fmt::format("one of {}, {}, {}", kNeedsLook, fmt::join(kBadStates, ", "), fmt::join(kGoodStates, ", ")));
      }
      options.state = value;
    } else if (name == "name") {
      options.name = value;
    } else if (name == "text") {
      options.text = LowerCase(value);
    } else {
      return InvalidArgument(
          fmt::format("unknown parameter '{}'; known: limit, after, order, state, name, text", name));
    }
  }
  return options;
}

Json TotalsJson(const std::vector<ShownHost>& hosts) {
  size_t num_connected = 0, num_need_look = 0;
  std::map<std::string_view, size_t> num_in;
  for (const ShownHost& it : hosts) {
    num_connected += it.view->is_connected ? 1 : 0;
    num_need_look += it.rank() == kRankOfOthers ? 0 : 1;
    ++num_in[it.state];
  }
  Json states = Json::object();
  for (const auto& [state, count] : num_in) states[std::string(state)] = count;
  return {{"hosts", hosts.size()},
          {"connected", num_connected},
          {"need_look", num_need_look},
          {"states", std::move(states)}};
}

Json ToJson(const ShownHost& it) {
  const SimTime last = it.view->last_message;
  return {{"name", it.view->name},
          {"connected", it.view->is_connected},
          {"agent_version", it.view->agent_version},
          {"last_message_s", last.ns() == 0 ? Json() : Json(last.seconds().value())},
          {"state", it.state},
          {"findings", it.num_findings}};
}

}  // namespace

size_t HashOf(const HostMarks& marks) {
  uint64_t hash = marks.conditions.size();
  for (const auto& [host, condition] : marks.conditions) {
    hash = CombineHash(hash, uint64_t{host.value()} << 8 | static_cast<uint64_t>(condition));
  }
  for (const auto& [host, count] : marks.findings) hash = CombineHash(hash, uint64_t{host.value()} << 32 | count);
  return hash;
}

std::map<HostId, size_t> CountByHost(std::span<const controller::WatchedFinding> findings) {
  std::map<HostId, size_t> count;
  for (const controller::WatchedFinding& it : findings) {
    if (it.finding.cleared != SimTime::Never()) continue;
    for (const HostId host : HostsOf(it.finding)) ++count[host];
  }
  return count;
}

Result<Json> HostPageJson(const HostSource& source, const HttpQuery& query) {
  FL_ASSIGN_OR_RETURN(const HostPageOptions options, ReadHostOptions(query));
  const std::vector<HostView> views = source.look();
  const std::vector<ShownHost> hosts = ShowAll(views, source.marks());
  if (!options.name.empty() && std::ranges::find(views, options.name, &HostView::name) == views.end()) {
    return NotFound(fmt::format("no host '{}' in the fabric", options.name));
  }
  const auto page = PageOf(
      hosts, options.limit, options.after, [&](const ShownHost& it) { return options.Wants(it); },
      [&](const ShownHost& it) { return options.PlaceOf(it); });
  Json list = Json::array();
  for (const auto& [place, it] : page.items) list.push_back(ToJson(*it));
  return Json{{"total", page.total},
              {"next", page.next ? Json(fmt::format("{}:{}", page.next->rank, page.next->host)) : Json()},
              {"all", TotalsJson(hosts)},
              {"hosts", std::move(list)}};
}

HttpRoute MakeHostRoute(HostSource source) {
  HttpRoute route{.path = "/v1/hosts"};
  route.ask = [source = std::move(source)](const HttpQuery& query) { return HostPageJson(source, query); };
  return route;
}

}  // namespace fairlead::service

#include "service/controller/link_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/whole_number.h"
#include "service/controller/list_pages.h"
#include "traffic/path_messages.h"

namespace fairlead::service {
namespace {

using controller::LinkOnFabric;

constexpr size_t kNotUpMax = 50;
constexpr size_t kFullestMax = 10;
constexpr size_t kRowsMax = 24;
constexpr size_t kColumnsMax = 32;

bool IsUp(const LinkOnFabric& link) { return link.state == traffic::LinkState::kUp && link.health >= 1; }
bool IsIdle(const LinkOnFabric& link) { return link.num_queue_pairs == 0; }

// Load over what is left of the capacity; infinite: nothing is left, and somebody is on it.
double FullnessOf(const topology::Fabric& fabric, const LinkOnFabric& link) {
  if (link.load == 0) return 0;
  const double left = fabric.capacity(link.link).value() * link.health;
  return left > 0 ? link.load / left : std::numeric_limits<double>::infinity();
}

// Where a link stands in a list.
struct Place {
  uint32_t rank = 0;  // 0: down, 1: otherwise not up, 2: up
  double fullness = 0;
  uint32_t link = 0;

  friend bool operator<(const Place& a, const Place& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    if (a.fullness != b.fullness) return a.fullness > b.fullness;
    return a.link < b.link;
  }
};

Place PlaceOf(const topology::Fabric& fabric, const LinkOnFabric& link) {
  const bool is_down = link.state == traffic::LinkState::kDown || link.health <= 0;
  return {is_down ? 0u : (IsUp(link) ? 2u : 1u), FullnessOf(fabric, link), link.link.value()};
}

std::string WritePlace(const Place& place) { return fmt::format("{}:{}:{}", place.rank, place.fullness, place.link); }

std::optional<Place> ReadPlace(std::string_view text) {
  const size_t first = text.find(':'), last = text.rfind(':');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  Place place;
  const bool is_read = ParseWhole(text.substr(0, first), &place.rank) &&
                       ParseWhole(text.substr(first + 1, last - first - 1), &place.fullness) &&
                       ParseWhole(text.substr(last + 1), &place.link);
  if (!is_read || place.rank > 2 || !(place.fullness >= 0)) return std::nullopt;
  return place;
}

Json ToJson(const topology::Fabric& fabric, const LinkOnFabric& it) {
  return {{"name", fabric.LinkName(it.link)},
          {"from", fabric.NodeName(fabric.source(it.link))},
          {"to", fabric.NodeName(fabric.destination(it.link))},
          {"tier", topology::Name(fabric.tier(it.link))},
          {"capacity_bytes_per_s", fabric.capacity(it.link).value()},
          {"state", traffic::Name(it.state)},
          {"health", it.health},
          {"queue_pairs", it.num_queue_pairs},
          {"load", it.load}};
}

// Over all links, whatever is selected.
Json TotalsJson(const topology::Fabric& fabric, std::span<const LinkOnFabric> links) {
  size_t num_not_up = 0, num_in_use = 0;
  double fullest = 0;
  for (const LinkOnFabric& link : links) {
    num_not_up += IsUp(link) ? 0 : 1;
    num_in_use += IsIdle(link) ? 0 : 1;
    if (const double fullness = FullnessOf(fabric, link); std::isfinite(fullness))
      fullest = std::max(fullest, fullness);
  }
  return {{"links", links.size()}, {"not_up", num_not_up}, {"in_use", num_in_use}, {"fullest", fullest}};
}

// Which links are wanted, of all.
struct Selection {
  std::string state;  // empty: any
  bool has_idle = true;
  std::string tier;  // empty: any
  HostId host;       // an endpoint; invalid: any
  NodeId node;       // likewise
  LinkId beside;     // invalid: any
  std::string job;   // empty: any
  std::string text;  // in lower case

  bool Has(const topology::Fabric& fabric, const LinkOnFabric& link) const {
    if (!state.empty() && state != (state == "up" || state == "not_up" ? (IsUp(link) ? "up" : "not_up")
                                                                       : std::string_view(traffic::Name(link.state)))) {
      return false;
    }
    if (!has_idle && IsUp(link) && IsIdle(link)) return false;
    if (!tier.empty() && topology::Name(fabric.tier(link.link)) != tier) return false;
    const NodeId from = fabric.source(link.link), to = fabric.destination(link.link);
    if (host.valid() && fabric.host_of(from) != host && fabric.host_of(to) != host) return false;
    if (node.valid() && from != node && to != node) return false;
    if (beside.valid() && std::minmax(from, to) != std::minmax(fabric.source(beside), fabric.destination(beside))) {
      return false;
    }
    return text.empty() || LowerCase(fabric.LinkName(link.link)).find(text) != std::string::npos;
  }
};

struct PageOptions {
  size_t limit = kDefaultPageSize;
  std::optional<Place> after;
  bool is_worst_first = true;
  Selection selection;
};

Status SetSelection(const topology::Fabric& fabric, const std::string& name, const std::string& value,
                    Selection* selection) {
  constexpr std::array<std::string_view, 5> kStates = {"up", "not_up", "suspect", "down", "probation"};
  constexpr std::array kTiers = {topology::LinkTier::kHostLeaf, topology::LinkTier::kLeafSpine,
                                 topology::LinkTier::kSpineCore};
  if (name == "state") {
    if (std::ranges::find(kStates, value) == kStates.end()) {
      return ExpectedValue(name, value, fmt::format("one of {}", fmt::join(kStates, ", ")));
    }
    selection->state = value;
  } else if (name == "idle") {
    if (value != "true" && value != "false") return ExpectedValue(name, value, "true or false");
    selection->has_idle = value == "true";
  } else if (name == "tier") {
    if (std::ranges::none_of(kTiers, [&](topology::LinkTier tier) { return topology::Name(tier) == value; })) {
      return ExpectedValue(name, value, "one of host-leaf, leaf-spine, spine-core");
    }
    selection->tier = value;
  } else if (name == "endpoint") {
    selection->host = fabric.FindHost(value);
    selection->node = selection->host.valid() ? NodeId() : fabric.FindNode(value);
    if (!selection->host.valid() && !selection->node.valid()) {
      return NotFound(fmt::format("no host, NIC or switch '{}' in the fabric", value));
    }
  } else if (name == "beside") {
    selection->beside = fabric.FindLink(value);
    if (!selection->beside.valid()) return NotFound(fmt::format("no link '{}' in the fabric", value));
  } else if (name == "job") {
    selection->job = value;
  } else if (name == "text") {
    selection->text = LowerCase(value);
  } else {
    return InvalidArgument(
        fmt::format("unknown parameter '{}'; known: limit, after, order, state, idle, tier, endpoint, beside, job, "
                    "text",
                    name));
  }
  return OkStatus();
}

Result<PageOptions> ReadOptions(const topology::Fabric& fabric, const HttpQuery& query) {
  PageOptions options;
  for (const auto& [name, value] : query) {
    if (name == "limit") {
      FL_ASSIGN_OR_RETURN(options.limit, ReadPageSize(value));
    } else if (name == "after") {
      options.after = ReadPlace(value);
      if (!options.after) return ExpectedValue(name, value, "the 'next' of a page");
    } else if (name == "order") {
      if (value != "worst" && value != "fabric") return ExpectedValue(name, value, "worst or fabric");
      options.is_worst_first = value == "worst";
    } else {
      FL_RETURN_IF_ERROR(SetSelection(fabric, name, value, &options.selection));
    }
  }
  return options;
}

// [LinkId] whether it is on the job's paths.
std::vector<bool> LinksOfJob(const topology::Fabric& fabric, const LinkSource& source, const std::string& job) {
  std::vector<bool> is_used(fabric.num_links(), false);
  for (const controller::JobPaths& paths : source.paths()) {
    if (paths.name != job) continue;
    for (const LinkId link : paths.links) is_used[link.index()] = true;
  }
  return is_used;
}

Json WorstOf(const topology::Fabric& fabric, std::span<const LinkOnFabric> links, size_t count, const auto& is_wanted) {
  Json list = Json::array();
  const auto place_of = [&](const LinkOnFabric& link) { return PlaceOf(fabric, link); };
  for (const auto& [place, link] : FirstOf(links, count, is_wanted, place_of)) list.push_back(ToJson(fabric, *link));
  return list;
}

// The `count` nodes with the worst links.
std::set<NodeId> Choose(const std::map<NodeId, Place>& worst_of, size_t count) {
  std::vector<std::pair<Place, NodeId>> nodes;
  for (const auto& [node, place] : worst_of) nodes.emplace_back(place, node);
  std::ranges::sort(nodes, [](const auto& a, const auto& b) { return a.first < b.first; });
  nodes.resize(std::min(count, nodes.size()));
  std::set<NodeId> chosen;
  for (const auto& [place, node] : nodes) chosen.insert(node);
  return chosen;
}

// The switch below and the one above; both directions of a cable have the same.
std::pair<NodeId, NodeId> CellOf(const topology::Fabric& fabric, LinkId link) {
  const NodeId from = fabric.source(link), to = fabric.destination(link);
  return fabric.kind(from) < fabric.kind(to) ? std::pair(from, to) : std::pair(to, from);
}

Json MatrixJson(const topology::Fabric& fabric, std::span<const LinkOnFabric> links, topology::LinkTier tier) {
  std::map<NodeId, Place> rows, columns, columns_shown;
  const auto note = [](std::map<NodeId, Place>* worst_of, NodeId node, const Place& place) {
    const auto [known, is_new] = worst_of->try_emplace(node, place);
    if (!is_new && place < known->second) known->second = place;
  };
  for (const LinkOnFabric& link : links) {
    if (fabric.tier(link.link) != tier) continue;
    const auto [below, above] = CellOf(fabric, link.link);
    note(&rows, below, PlaceOf(fabric, link));
    note(&columns, above, PlaceOf(fabric, link));
  }
  const std::set<NodeId> chosen_rows = Choose(rows, kRowsMax);
  for (const LinkOnFabric& link : links) {
    if (fabric.tier(link.link) != tier) continue;
    const auto [below, above] = CellOf(fabric, link.link);
    if (chosen_rows.contains(below)) columns_shown.emplace(above, columns.at(above));
  }
  const std::set<NodeId> chosen_columns = Choose(columns_shown, kColumnsMax);
  std::map<std::pair<NodeId, NodeId>, Json> links_of;
  for (const LinkOnFabric& link : links) {
    if (fabric.tier(link.link) != tier) continue;
    const auto cell = CellOf(fabric, link.link);
    if (!chosen_rows.contains(cell.first) || !chosen_columns.contains(cell.second)) continue;
    links_of.try_emplace(cell, Json::array()).first->second.push_back(ToJson(fabric, link));
  }
  Json cells = Json::array();
  for (auto& [cell, list] : links_of) {
    cells.push_back(
        {{"below", fabric.NodeName(cell.first)}, {"above", fabric.NodeName(cell.second)}, {"links", std::move(list)}});
  }
  return {
      {"tier", topology::Name(tier)}, {"rows", rows.size()}, {"columns", columns.size()}, {"cells", std::move(cells)}};
}

}  // namespace

Result<Json> LinkPageJson(const topology::Fabric& fabric, const LinkSource& source, const HttpQuery& query) {
  FL_ASSIGN_OR_RETURN(const PageOptions options, ReadOptions(fabric, query));
  const Selection& selection = options.selection;
  std::vector<bool> is_of_job;
  if (!selection.job.empty()) is_of_job = LinksOfJob(fabric, source, selection.job);
  const std::vector<LinkOnFabric> links = source.look();
  const auto place_of = [&](const LinkOnFabric& link) {
    return options.is_worst_first ? PlaceOf(fabric, link) : Place{0, 0, link.link.value()};
  };
  const auto is_wanted = [&](const LinkOnFabric& link) {
    return (is_of_job.empty() || is_of_job[link.link.index()]) && selection.Has(fabric, link);
  };
  const auto page = PageOf(links, options.limit, options.after, is_wanted, place_of);
  Json list = Json::array();
  for (const auto& [place, link] : page.items) list.push_back(ToJson(fabric, *link));
  return Json{{"total", page.total},
              {"next", page.next ? Json(WritePlace(*page.next)) : Json()},
              {"all", TotalsJson(fabric, links)},
              {"links", std::move(list)}};
}

Json LinkOverviewJson(const topology::Fabric& fabric, std::span<const LinkOnFabric> links) {
  Json matrices = Json::array();
  for (const topology::LinkTier tier : {topology::LinkTier::kLeafSpine, topology::LinkTier::kSpineCore}) {
    Json matrix = MatrixJson(fabric, links, tier);
    if (!matrix["cells"].empty()) matrices.push_back(std::move(matrix));
  }
  return {{"all", TotalsJson(fabric, links)},
          {"not_up", WorstOf(fabric, links, kNotUpMax, [](const LinkOnFabric& link) { return !IsUp(link); })},
          {"fullest",
           WorstOf(fabric, links, kFullestMax, [](const LinkOnFabric& link) { return IsUp(link) && link.load > 0; })},
          {"matrices", std::move(matrices)}};
}

std::vector<HttpRoute> LinkRoutes(const topology::Fabric& fabric, const LinkSource& source) {
  HttpRoute pages{.path = "/v1/links"};
  pages.ask = [&fabric, source](const HttpQuery& query) { return LinkPageJson(fabric, source, query); };
  HttpRoute overview{.path = "/v1/links/overview"};
  overview.show = [&fabric, source] { return LinkOverviewJson(fabric, source.look()); };
  return {std::move(pages), std::move(overview)};
}

}  // namespace fairlead::service

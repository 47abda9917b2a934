#include "cli/fabric_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "report/json_value.h"
#include "report/number_format.h"
#include "report/text_table.h"

namespace fairlead::cli {

namespace {

using report::Align;
using report::FormatCount;
using report::FormatFixed;
using report::FormatLinkSpeed;
using report::Json;
using report::TextTable;
using topology::Fabric;
using topology::NodeKind;

constexpr const char* kLayerNames[] = {"hosts", "leaves", "spines", "cores"};

const char* LayerName(NodeKind kind) { return kLayerNames[static_cast<int>(kind) - static_cast<int>(NodeKind::kNic)]; }

report::TextColumn Left(std::string heading, std::string meaning = "") {
  return {.heading = std::move(heading), .align = Align::kLeft, .meaning = std::move(meaning)};
}
report::TextColumn Right(std::string heading, std::string meaning = "") {
  return {.heading = std::move(heading), .align = Align::kRight, .meaning = std::move(meaning)};
}

double Gigabits(BytesPerSecond speed) { return speed.value() * 8 / 1e9; }

// One thing that is unlike the rest.
struct OddityRow {
  std::string what;
  std::string found;
  std::string expected;
};

std::string Cables(uint32_t count) { return fmt::format("{} {}", FormatCount(count), count == 1 ? "cable" : "cables"); }

// Missing cables come first: they are what is looked for.
std::vector<OddityRow> RowsOf(const Fabric& fabric, const topology::CablingOddities& oddities) {
  std::vector<OddityRow> rows;
  for (const auto& oddity : oddities.counts) {
    const std::string upper = oddity.upper.valid() ? fabric.NodeName(oddity.upper) : "the layer above";
    rows.push_back(
        {fmt::format("{} to {}", fabric.NodeName(oddity.lower), upper), Cables(oddity.found), Cables(oddity.expected)});
  }
  for (const auto& oddity : oddities.hosts) {
    rows.push_back(
        {fmt::format("{} to leaves", fabric.HostName(oddity.host)), Cables(oddity.found), Cables(oddity.expected)});
  }
  for (const auto& oddity : oddities.nics) {
    rows.push_back({fabric.NodeName(oddity.nic), fmt::format("on {}", fabric.NodeName(oddity.found)),
                    fmt::format("on {}", fabric.NodeName(oddity.expected))});
  }
  for (const auto& oddity : oddities.speeds) {
    rows.push_back({fabric.LinkName(oddity.link), FormatLinkSpeed(fabric.capacity(oddity.link).value()),
                    FormatLinkSpeed(oddity.expected.value())});
  }
  return rows;
}

std::string Ratio(double ratio) { return FormatFixed(ratio, 2) + ":1"; }

std::string Oversubscription(const Fabric& fabric, const topology::LayerSummary& layer) {
  if (!layer.most_oversubscribed.valid()) return std::string(report::kUnknown);
  const std::string least = Ratio(layer.least_oversubscription);
  std::string greatest = Ratio(layer.greatest_oversubscription);
  if (least == greatest) return greatest;
  return fmt::format("{} to {} ({})", least, greatest, fabric.NodeName(layer.most_oversubscribed));
}

TextTable MakeLayerTable(const Fabric& fabric, const std::vector<topology::LayerSummary>& layers) {
  const std::string unknown(report::kUnknown);
  TextTable table({Left("layer"), Right("devices"), Right("cables up", "to the layer above"), Left("each"),
                   Right("together"), Left("oversubscription", "speed of a device's cables down to that of those up")});
  for (const auto& layer : layers) {
    uint64_t cables = 0;
    for (const auto& speed : layer.uplinks) cables += speed.num_cables;
    std::string each;
    for (const auto& speed : layer.uplinks) {
      each += each.empty() ? "" : ", ";
      if (layer.uplinks.size() > 1) each += fmt::format("{} x ", FormatCount(speed.num_cables));
      each += FormatLinkSpeed(speed.speed.value());
    }
    table.AddRow({LayerName(layer.kind), FormatCount(layer.num_devices), cables == 0 ? unknown : FormatCount(cables),
                  each.empty() ? unknown : each, cables == 0 ? unknown : FormatLinkSpeed(layer.capacity.value()),
                  Oversubscription(fabric, layer)});
  }
  return table;
}

std::string More(size_t total, size_t shown) {
  return total > shown ? fmt::format("and {} more; --rows 0 lists all\n", FormatCount(total - shown)) : "";
}

report::Document RenderSinglePoints(const Fabric& fabric, const std::vector<topology::SinglePoint>& points,
                                    size_t rows_max) {
  if (points.empty()) return "No single point of failure: losing any one switch or cable cuts off no host.\n";
  TextTable table({Left("lost"), Left("is a"), Right("hosts cut off")});
  const size_t shown = std::min(points.size(), rows_max);
  for (size_t i = 0; i < shown; ++i) {
    const auto& point = points[i];
    const bool is_switch = point.node.valid();
    table.AddRow({is_switch ? fabric.NodeName(point.node) : fabric.LinkName(point.link),
                  is_switch ? std::string(topology::Name(fabric.kind(point.node))) : "cable",
                  FormatCount(point.num_cut_hosts)});
  }
  return "Single points of failure: losing one cuts off hosts\n\n" + report::Document(std::move(table)) +
         More(points.size(), shown);
}

report::Document RenderOddities(const std::vector<OddityRow>& rows, size_t rows_max) {
  if (rows.empty())
    return "All cabling is regular: no cable is missing, slower or in another place than those like it.\n";
  TextTable table({Left("cabled unlike the rest"), Left("found"), Left("most have")});
  const size_t shown = std::min(rows.size(), rows_max);
  for (size_t i = 0; i < shown; ++i) table.AddRow({rows[i].what, rows[i].found, rows[i].expected});
  return report::Document(std::move(table)) + More(rows.size(), shown);
}

}  // namespace

FabricPicture LookAt(const Fabric& fabric) {
  return {.layers = topology::SummarizeLayers(fabric),
          .single_points = topology::FindSinglePoints(fabric),
          .oddities = topology::FindCablingOddities(fabric)};
}

report::Document RenderFabric(const Fabric& fabric, const FabricPicture& picture, const std::string& name,
                              size_t rows_max) {
  if (rows_max == 0) rows_max = SIZE_MAX;
  report::Document text =
      fmt::format("{}: {} hosts, {} GPUs\n\n", name, FormatCount(fabric.num_hosts()), FormatCount(fabric.num_gpus()));
  text += MakeLayerTable(fabric, picture.layers);
  text += "\n" + RenderSinglePoints(fabric, picture.single_points, rows_max);
  text += "\n" + RenderOddities(RowsOf(fabric, picture.oddities), rows_max);
  return text;
}

Json FabricJson(const Fabric& fabric, const FabricPicture& picture) {
  Json json = {{"hosts", fabric.num_hosts()},
               {"gpus", fabric.num_gpus()},
               {"layers", Json::array()},
               {"single_points", Json::array()},
               {"unlike", Json::array()}};
  for (const auto& layer : picture.layers) {
    Json uplinks = Json::array();
    for (const auto& speed : layer.uplinks)
      uplinks.push_back({{"cables", speed.num_cables}, {"gbps", Gigabits(speed.speed)}});
    Json entry = {{"layer", LayerName(layer.kind)},
                  {"devices", layer.num_devices},
                  {"uplinks", std::move(uplinks)},
                  {"uplink_gbps_total", Gigabits(layer.capacity)},
                  {"oversubscription", nullptr}};
    if (layer.most_oversubscribed.valid()) {
      entry["oversubscription"] = {{"least", layer.least_oversubscription},
                                   {"greatest", layer.greatest_oversubscription},
                                   {"greatest_at", fabric.NodeName(layer.most_oversubscribed)}};
    }
    json["layers"].push_back(std::move(entry));
  }
  for (const auto& point : picture.single_points) {
    json["single_points"].push_back(
        {{"name", point.node.valid() ? fabric.NodeName(point.node) : fabric.LinkName(point.link)},
         {"kind", point.node.valid() ? "switch" : "cable"},
         {"hosts_cut_off", point.num_cut_hosts}});
  }
  for (const auto& oddity : picture.oddities.counts) {
    json["unlike"].push_back({{"kind", "cables"},
                              {"from", fabric.NodeName(oddity.lower)},
                              {"to", report::NameOrNull(oddity.upper.valid() ? fabric.NodeName(oddity.upper) : "")},
                              {"found", oddity.found},
                              {"expected", oddity.expected}});
  }
  for (const auto& oddity : picture.oddities.hosts) {
    json["unlike"].push_back({{"kind", "host cables"},
                              {"from", fabric.HostName(oddity.host)},
                              {"to", nullptr},
                              {"found", oddity.found},
                              {"expected", oddity.expected}});
  }
  for (const auto& oddity : picture.oddities.nics) {
    json["unlike"].push_back({{"kind", "place"},
                              {"from", fabric.NodeName(oddity.nic)},
                              {"to", nullptr},
                              {"found", fabric.NodeName(oddity.found)},
                              {"expected", fabric.NodeName(oddity.expected)}});
  }
  for (const auto& oddity : picture.oddities.speeds) {
    json["unlike"].push_back({{"kind", "speed"},
                              {"from", fabric.NodeName(fabric.source(oddity.link))},
                              {"to", fabric.NodeName(fabric.destination(oddity.link))},
                              {"found", Gigabits(fabric.capacity(oddity.link))},
                              {"expected", Gigabits(oddity.expected)}});
  }
  return json;
}

}  // namespace fairlead::cli

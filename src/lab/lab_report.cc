#include "lab/lab_report.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <numeric>

#include "report/number_format.h"
#include "report/text_table.h"

namespace fairlead::lab {

namespace {

using report::Json;

uint64_t Retransmitted(const LabLook& look) {
  return std::accumulate(look.now.retransmitted_segments.begin(), look.now.retransmitted_segments.end(), uint64_t{0});
}

// Mb/s that one end sent in the interval.
double SentMbps(const LabLook& look, CableId cable, size_t end) {
  const uint64_t bytes = look.now.cables[cable][end].sent_bytes - look.before.cables[cable][end].sent_bytes;
  return static_cast<double>(bytes) * 8e-6 / look.interval_s;
}

std::string DescribeHealth(double health) {
  if (health <= 0) return "cut";
  return health == 1 ? "up" : fmt::format("{} left", report::FormatPercent(health));
}

}  // namespace

std::string DescribeLab(const LabState& state) {
  std::array<uint64_t, 4> counts{};
  for (const LabNode& node : state.plan.nodes) ++counts[static_cast<size_t>(node.role)];
  std::string text =
      fmt::format("lab '{}': {}, {} {}, {}", state.name, report::FormatCount(counts[0], "host"), counts[1],
                  counts[1] == 1 ? "leaf" : "leaves", report::FormatCount(counts[2], "spine"));
  if (counts[3] > 0) text += ", " + report::FormatCount(counts[3], "core");
  uint64_t num_cut = 0;
  uint64_t num_degraded = 0;
  for (const double health : state.health) {
    num_cut += health <= 0 ? 1 : 0;
    num_degraded += health > 0 && health != 1 ? 1 : 0;
  }
  text += "; " + report::FormatCount(state.plan.cables.size(), "cable");
  if (num_cut > 0) text += fmt::format(", {} cut", num_cut);
  if (num_degraded > 0) text += fmt::format(", {} degraded", num_degraded);
  return text + fmt::format("; process {}\n", state.keeper.pid);
}

report::Document RenderStatus(const LabState& state, const LabLook& look, bool all) {
  report::Document text = DescribeLab(state);
  text += fmt::format("{:g} of the speeds of {}; routes follow {} ms after a cable\n", state.plan.options.scale,
                      state.source, state.plan.options.convergence_ms);
  if (!state.has_own_hash_seeds) {
    text += "This kernel has one hash seed for all switches (before Linux 6.11): tiers choose alike.\n";
  }
  report::TextTable table({{"cable", report::Align::kLeft},
                           {"state", report::Align::kLeft},
                           {"Mb/s", report::Align::kRight, "", "the cable's speed in this lab"},
                           {"up", report::Align::kRight, "Mb/s now", "away from hosts"},
                           {"down", report::Align::kRight, "Mb/s now", "towards hosts"},
                           {"up", report::Align::kRight, "MB sent"},
                           {"down", report::Align::kRight, "MB sent"}});
  for (CableId cable(0u); cable.index() < state.plan.cables.size(); cable = CableId(cable.index() + 1)) {
    if (!all && state.plan.cables[cable].nic.valid()) continue;
    const auto& now = look.now.cables[cable];
    table.AddRow({CableName(state.plan, cable), DescribeHealth(state.health[cable]),
                  report::FormatShort(state.plan.cables[cable].bits_per_s / 1e6),
                  report::FormatFixed(SentMbps(look, cable, 0), 1), report::FormatFixed(SentMbps(look, cable, 1), 1),
                  report::FormatFixed(static_cast<double>(now[0].sent_bytes) / 1e6, 1),
                  report::FormatFixed(static_cast<double>(now[1].sent_bytes) / 1e6, 1)});
  }
  if (!table.empty()) text += "\n" + report::Document(std::move(table));
  return text + fmt::format("TCP segments sent again: {}\n", report::FormatCount(Retransmitted(look)));
}

Json StatusJson(const LabState& state, const LabLook& look) {
  const LabPlan& plan = state.plan;
  Json json = {{"lab", state.name},
               {"source", state.source},
               {"process", state.keeper.pid},
               {"own_hash_seeds", state.has_own_hash_seeds},
               {"scale", plan.options.scale},
               {"convergence_ms", plan.options.convergence_ms},
               {"nodes", Json::array()},
               {"cables", Json::array()},
               {"retransmitted_segments", Retransmitted(look)}};
  for (const LabNode& node : plan.nodes) {
    Json addresses = Json::array();
    for (const NicId nic : node.nics) addresses.push_back(FormatAddress(plan.nics[nic].address));
    json["nodes"].push_back({{"name", node.name},
                             {"role", Name(node.role)},
                             {"hash_seed", node.hash_seed},
                             {"addresses", std::move(addresses)}});
  }
  for (CableId cable(0u); cable.index() < plan.cables.size(); cable = CableId(cable.index() + 1)) {
    const auto& now = look.now.cables[cable];
    json["cables"].push_back({{"name", CableName(plan, cable)},
                              {"mbps", plan.cables[cable].bits_per_s / 1e6},
                              {"health", state.health[cable]},
                              {"sent_bytes", {now[0].sent_bytes, now[1].sent_bytes}},
                              {"sent_mbps", {SentMbps(look, cable, 0), SentMbps(look, cable, 1)}}});
  }
  return json;
}

}  // namespace fairlead::lab

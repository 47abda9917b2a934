// Where the bytes went.
#include <fmt/format.h>

#include <map>

#include "report/heat_map_figure.h"
#include "report/link_matrix.h"
#include "report/number_format.h"
#include "report/page_figures.h"

namespace fairlead::report {
namespace {

// "host to leaf links".
std::string TierTitle(topology::LinkTier tier) {
  switch (tier) {
    case topology::LinkTier::kNvlink:
      return "NVLink";
    case topology::LinkTier::kPcie:
      return "PCIe";
    case topology::LinkTier::kHostLeaf:
      return "Between hosts and leaves";
    case topology::LinkTier::kLeafSpine:
      return "Between leaves and spines";
    case topology::LinkTier::kSpineCore:
      return "Between spines and cores";
  }
  return "";
}

// Links of one tier that any first run used, each once, in id order.
std::vector<const sim::LinkResult*> LinksOfTier(const FigureInput& input, topology::LinkTier tier) {
  std::map<LinkId, const sim::LinkResult*> links;
  for (const PolicySummary& summary : input.summaries) {
    for (const sim::LinkResult& link : FirstRun(input.report, summary.policy).links) {
      if (link.tier == tier) links.emplace(link.id, &link);
    }
  }
  std::vector<const sim::LinkResult*> list;
  list.reserve(links.size());
  for (const auto& [id, link] : links) list.push_back(link);
  return list;
}

HeatPanel MakeLinkPanel(const sim::RunResult& run, const LinkMatrix& matrix) {
  std::map<LinkId, const sim::LinkResult*> measured;
  for (const sim::LinkResult& link : run.links) measured[link.id] = &link;
  HeatPanel panel;
  panel.heading = run.policy;
  for (const LinkCell& cell : matrix.cells) {
    const auto found = measured.find(cell.link->id);
    const double load = found == measured.end() ? 0 : found->second->utilization;
    std::string tooltip = fmt::format("{}: {}", cell.link->name, FormatPercent(load));
    if (found != measured.end()) tooltip += ", " + FormatCount(found->second->num_jobs, "job");
    panel.cells.push_back({cell.row, cell.column, load, std::move(tooltip), false});
  }
  return panel;
}

PageFigure DrawTier(const FigureInput& input, topology::LinkTier tier, const std::vector<const sim::LinkResult*>& links,
                    bool with_scale) {
  const LinkMatrix matrix = ArrangeLinks(links, tier);
  HeatMapFigure figure;
  figure.title = fmt::format("Link load: {}", TierTitle(tier));
  figure.description = fmt::format("Utilization of {} under each policy, one cell per link and direction.",
                                   FormatCount(links.size(), "link"));
  figure.row_labels = matrix.rows;
  figure.column_labels.assign(matrix.num_columns, "");
  figure.column_spans = matrix.spans;
  if (tier == topology::LinkTier::kHostLeaf) {
    // Few ports a leaf, and less to tell: wide and low.
    figure.cell_width_max = 30;
    figure.cells_height_max = 260;
    figure.num_tooltips_max = 2000;
  }
  if (with_scale) {
    figure.scale_label = "utilization";
    figure.scale_low = "0";
    figure.scale_high = "100 %";
  }
  for (const PolicySummary& summary : input.summaries) {
    figure.panels.push_back(MakeLinkPanel(FirstRun(input.report, summary.policy), matrix));
  }
  return {TierTitle(tier), Draw(figure), ""};
}

}  // namespace

std::vector<PageFigure> DrawLinkLoads(const FigureInput& input) {
  using topology::LinkTier;
  std::vector<PageFigure> figures;
  for (const LinkTier tier : {LinkTier::kLeafSpine, LinkTier::kSpineCore, LinkTier::kHostLeaf}) {
    const std::vector<const sim::LinkResult*> links = LinksOfTier(input, tier);
    if (!links.empty()) figures.push_back(DrawTier(input, tier, links, figures.empty()));
  }
  if (!figures.empty()) {
    figures.back().caption = fmt::format(
        "Bytes carried relative to capacity over the whole run, seed {}: a mean over seeds would hide collisions. One "
        "row per "
        "switch, one cell per cable and direction; pale cells carried nothing.",
        FirstRun(input.report, input.summaries.front().policy).seed);
  }
  return figures;
}

}  // namespace fairlead::report

// The network of a simulation: as a picture, and how full it was over time.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "report/figure_json.h"
#include "report/number_format.h"
#include "report/page_figures.h"
#include "report/svg_figure.h"
#include "report/topology_figure.h"

namespace fairlead::report {
namespace {

constexpr size_t kNumNetworksMax = 2;

PictureInput InputOf(const sim::RunResult& run, const topology::Fabric& fabric) {
  PictureInput input{.fabric = fabric, .conditions = std::vector<LinkCondition>(fabric.num_links()), .jobs = {}};
  std::map<JobId, std::vector<LinkId>> links_of;
  for (const sim::LinkResult& link : run.links) {
    if (link.id.index() >= fabric.num_links()) continue;
    input.conditions[link.id.index()].load = link.utilization;
    if (!link.utilization_over_time.empty()) input.load_over_time[link.id] = link.utilization_over_time;
    for (const JobId job : link.jobs) links_of[job].push_back(link.id);
  }
  for (const auto& [link, health] : run.unwell_links) {
    if (link.index() >= fabric.num_links()) continue;
    input.conditions[link.index()].health = health;
    input.conditions[link.index()].is_down = health <= 0;
  }
  std::vector<const sim::JobResult*> jobs;
  for (const sim::JobResult& job : run.jobs) jobs.push_back(&job);
  std::ranges::stable_sort(
      jobs, [](const sim::JobResult* a, const sim::JobResult* b) { return a->lost_gpu_hours > b->lost_gpu_hours; });
  for (const sim::JobResult* job : jobs) {
    const auto links = links_of.find(job->id);
    if (links == links_of.end()) continue;
    input.jobs.push_back({fmt::format("{} {}", job->id.value(), job->name), std::move(links->second)});
  }
  return input;
}

std::string DrawNetwork(const sim::RunResult& run, const topology::Fabric& fabric) {
  const auto picture = MakePicture(InputOf(run, fabric));
  if (!picture.ok() || picture->links.empty()) return "";
  const std::string load_label = "Utilization over the whole run";
  const std::string title = fmt::format("Network under {}", run.policy);
  const TopologyFigure figure{
      .title = title,
      .description = fmt::format("Hosts, leaves, spines and cores, and how full the cables between them were under {}.",
                                 run.policy),
      .load_label = load_label};
  return fmt::format(
      "<figure>\n<h3>{}</h3>\n<div data-picture=\"{}\" data-load-label=\"{}\" data-bin-s=\"{}\"></div>\n"
      "<div class=\"scroll-figure still\">{}</div>\n<figcaption>First draw. Where a cable stands for several, the "
      "fullest; "
      "paths of jobs are those that they had last.</figcaption>\n</figure>\n",
      EscapeMarkup(title), EscapeMarkup(FigureText(PictureJson(*picture))), EscapeMarkup(load_label),
      FigureText(FigureNumber(run.timeline.bin_s)), Draw(figure, *picture));
}

}  // namespace

std::vector<std::string> DrawNetworks(const FigureInput& input, const topology::Fabric& fabric) {
  std::vector<std::string> policies;
  if (input.comparisons.empty()) {
    for (const PolicySummary& summary : input.summaries) policies.push_back(summary.policy);
  } else {
    policies = {input.comparisons.front().baseline, input.comparisons.front().candidate};
  }
  policies.resize(std::min(policies.size(), kNumNetworksMax));
  std::vector<std::string> figures;
  for (const std::string& policy : policies) {
    std::string figure = DrawNetwork(FirstRun(input.report, policy), fabric);
    if (!figure.empty()) figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace fairlead::report

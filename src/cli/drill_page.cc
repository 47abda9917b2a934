// The page of `fairlead diag drill`.
#include <fmt/format.h>

#include <map>
#include <set>

#include "cli/drill_report.h"
#include "report/html_page.h"
#include "report/number_format.h"
#include "report/schedule_figure.h"
#include "report/svg_figure.h"
#include "version.h"

namespace fairlead::cli {

namespace {

using controller::SteeringAction;
using report::EscapeMarkup;
using report::ScheduleLane;
using sim::DrillRun;

void AddJob(const DrillRun& run, report::ScheduleFigure* figure) {
  for (size_t a = 0; a < 4; ++a) {
    const auto activity = static_cast<sim::JobActivity>(a);
    ScheduleLane lane{fmt::format("job: {}", Name(activity)), a, false, {}};
    for (const sim::JobStretch& stretch : run.stretches) {
      if (stretch.activity == activity) lane.blocks.push_back({SecondsOf(stretch.begin), SecondsOf(stretch.end), 1});
    }
    if (!lane.blocks.empty()) figure->lanes.push_back(std::move(lane));
  }
}

// When each action was carried out: [number] its step and the time of its answer.
std::map<SimTime, std::vector<controller::SteeringStep>> StepsDone(const DrillRun& run) {
  std::map<uint64_t, controller::SteeringStep> reported;
  std::map<SimTime, std::vector<controller::SteeringStep>> done;
  for (const controller::AuditEntry& entry : run.audit) {
    if (const auto* action = std::get_if<SteeringAction>(&entry.what)) {
      reported.insert_or_assign(action->number, action->step);
      continue;
    }
    const auto* answer = std::get_if<controller::StepDone>(&std::get<controller::SteeringEvent>(entry.what));
    if (answer != nullptr && answer->succeeded) done[entry.at].push_back(reported.at(answer->action));
  }
  return done;
}

void AddHosts(const DrillRun& run, report::ScheduleFigure* figure) {
  std::map<HostId, SimTime> broken;
  for (const sim::FaultStory& story : run.stories) {
    if (story.host.valid() && story.acted != SimTime::Never()) broken.try_emplace(story.host, story.acted);
  }
  std::map<HostId, SimTime> isolated;
  std::map<HostId, SimTime> joined;
  std::map<HostId, ScheduleLane> isolated_lanes;
  for (const auto& [at, steps] : StepsDone(run)) {
    for (const controller::SteeringStep& step : steps) {
      if (const auto* isolate = std::get_if<controller::IsolateHost>(&step)) isolated.try_emplace(isolate->host, at);
      if (const auto* take = std::get_if<controller::TakeSpare>(&step)) joined.try_emplace(take->spare, at);
      const auto* back = std::get_if<controller::ReturnHost>(&step);
      if (back == nullptr || !isolated.contains(back->host)) continue;
      isolated_lanes[back->host].blocks.push_back({SecondsOf(isolated.at(back->host)), SecondsOf(at), 1});
      isolated.erase(back->host);
    }
  }
  for (const auto& [host, at] : isolated) {
    isolated_lanes[host].blocks.push_back({SecondsOf(at), figure->end_s, 1});
  }
  const auto add = [&](const std::map<HostId, SimTime>& since, const char* what, size_t color) {
    for (const auto& [host, at] : since) {
      figure->lanes.push_back(
          {fmt::format("host {}: {}", host.value(), what), color, true, {{SecondsOf(at), figure->end_s, 1}}});
    }
  };
  add(broken, "faulty", 2);
  for (auto& [host, lane] : isolated_lanes) {
    lane.label = fmt::format("host {}: isolated", host.value());
    lane.color = 3;
    figure->lanes.push_back(std::move(lane));
  }
  add(joined, "of the job", 0);
}

std::string RenderRun(const DrillReport& report, const DrillRun& run, const char* title) {
  report::ScheduleFigure figure;
  figure.title = title;
  figure.description = "What the job does, and what is held against hosts, over time.";
  figure.end_s = SecondsOf(report.options.end);
  AddJob(run, &figure);
  AddHosts(run, &figure);
  std::string html = fmt::format("<section>\n<h2>{}</h2>\n", EscapeMarkup(title));
  html += report::RenderFigure(
      {title, Draw(figure),
       fmt::format("{} trained, {} lost; {} without progress.", report::FormatCount(run.num_iterations, "iteration"),
                   report::FormatCount(run.num_lost), report::FormatDuration(run.lost_s))},
      "");
  html +=
      "<div class=\"scroll\"><table>\n<thead><tr><th class=\"number-cell\">Second</th><th>What</th><th></th></tr>"
      "</thead>\n<tbody>\n";
  for (const sim::DrillEvent& event : run.events) {
    html += fmt::format("<tr><td class=\"number-cell\">{:.1f}</td><td>{}</td><td class=\"reason\">{}</td></tr>\n",
                        SecondsOf(event.at), EscapeMarkup(Name(event.kind)), EscapeMarkup(event.text));
  }
  return html + "</tbody></table></div>\n</section>\n";
}

}  // namespace

std::string RenderPage(const DrillReport& report, const std::string& command_line) {
  const std::string title =
      report.people
          ? fmt::format("{} saved", report::FormatDuration(report.people->lost_s - report.with_diagnosis.lost_s))
          : fmt::format("{} without progress", report::FormatDuration(report.with_diagnosis.lost_s));
  std::string body =
      fmt::format("<p class=\"kicker\">Drill</p>\n<h1>{}</h1>\n<p class=\"muted\">{} on {}, {} simulated.</p>\n",
                  EscapeMarkup(title), report::FormatCount(report.options.cluster.shape.NumRanks(), "rank"),
                  report::FormatCount(report.options.cluster.shape.NumHosts(), "host"),
                  report::FormatDuration(SecondsOf(report.options.end)));
  body += RenderRun(report, report.with_diagnosis, "With C4D");
  if (report.people) body += RenderRun(report, *report.people, "People alone");
  body += fmt::format("<section>\n<h2>How to reproduce</h2>\n<pre>{}</pre>\n<p>Fairlead {}.</p>\n</section>\n",
                      EscapeMarkup(command_line), EscapeMarkup(kVersion));
  return report::RenderPage(title, body);
}

}  // namespace fairlead::cli

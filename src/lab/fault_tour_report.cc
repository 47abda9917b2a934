#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "lab/fault_tour.h"
#include "lab/fault_verdict.h"
#include "report/bar_figure.h"
#include "report/html_page.h"
#include "report/number_format.h"
#include "report/svg_figure.h"
#include "report/text_table.h"

namespace fairlead::lab {

namespace {

using report::Align;
using report::Json;

std::string SecondsText(const std::optional<double>& seconds) {
  return seconds ? report::FormatFixed(*seconds, 1) : std::string(report::kUnknown);
}

std::string CulpritText(const wire::LiveFinding& finding) {
  return fmt::format("{}", fmt::join(finding.culprits, "; "));
}

// The finding that a row shows: its first one.
const wire::LiveFinding* ShownFinding(const TourStop& stop) {
  return stop.findings.empty() ? nullptr : &stop.findings.front();
}

std::string VerdictText(const TourStop& stop) {
  if (stop.is_right) return "right";
  return stop.findings.empty() ? "missed" : "wrong";
}

std::string DoneText(const TourStop& stop) {
  const wire::LiveFinding* finding = ShownFinding(stop);
  if (finding == nullptr) return std::string(report::kUnknown);
  return stop.was_restarted ? "restarted" : finding->action;
}

std::vector<std::string> RowOf(const TourStop& stop) {
  const wire::LiveFinding* finding = ShownFinding(stop);
  return {std::string(Name(stop.fault.kind)),
          NeedsFinding(stop.fault.kind) ? stop.host : std::string(report::kUnknown),
          finding != nullptr ? finding->syndrome : "none",
          finding != nullptr ? CulpritText(*finding) : std::string(report::kUnknown),
          VerdictText(stop),
          SecondsText(stop.found_s),
          DoneText(stop),
          SecondsText(stop.back_s)};
}

const std::vector<report::TextColumn>& Columns() {
  static const std::vector<report::TextColumn> kColumns = {
      {"fault", Align::kLeft},
      {"host", Align::kLeft},
      {"syndrome", Align::kLeft, "found", "hang or slow, in communication (comm) or outside of it (non_comm)"},
      {"culprit", Align::kLeft, "found"},
      {"verdict", Align::kLeft, "", "whether that is what was planted"},
      {"after s", Align::kRight, "", "seconds from the fault to its finding"},
      {"action", Align::kLeft, "", "what was done, or recommended"},
      {"back s", Align::kRight, "", "seconds from the fault until the job trains again"}};
  return kColumns;
}

template <class Value>
Json ValueOrNull(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

Json FindingJson(const wire::LiveFinding& finding) {
  return {{"id", finding.id},         {"syndrome", finding.syndrome}, {"culprits", finding.culprits},
          {"hosts", finding.hosts},   {"ranks", finding.ranks},       {"confidence", ValueOrNull(finding.confidence)},
          {"action", finding.action}, {"text", finding.text}};
}

Json FindingsJson(const std::vector<wire::LiveFinding>& findings) {
  Json list = Json::array();
  for (const wire::LiveFinding& finding : findings) list.push_back(FindingJson(finding));
  return list;
}

Json StopJson(const TourStop& stop) {
  const wire::LiveFinding* finding = ShownFinding(stop);
  return {{"fault", Name(stop.fault.kind)},
          {"job", stop.job},
          {"worker", stop.fault.worker},
          {"host", stop.host},
          {"right", stop.is_right},
          {"seconds", ValueOrNull(stop.found_s)},
          {"syndrome", finding != nullptr ? Json(finding->syndrome) : Json()},
          {"culprits", finding != nullptr ? Json(finding->culprits) : Json::array()},
          {"text", finding != nullptr ? Json(finding->text) : Json()},
          {"action", finding != nullptr ? Json(finding->action) : Json()},
          {"restarted", stop.was_restarted},
          {"back_s", ValueOrNull(stop.back_s)},
          {"lost_iterations", stop.lost_iterations},
          {"findings", FindingsJson(stop.findings)}};
}

size_t NumRight(const FaultTour& tour) {
  return static_cast<size_t>(
      std::count_if(tour.stops.begin(), tour.stops.end(), [](const TourStop& s) { return s.is_right; }));
}

std::string Summary(const FaultTour& tour) {
  std::string text = fmt::format("{} of {} right", NumRight(tour), tour.stops.size());
  if (!tour.unexpected.empty()) text += fmt::format("; {} findings where nothing was planted", tour.unexpected.size());
  return text + fmt::format("; {} workers, {} hosts, {:.0f} s", tour.num_workers, tour.num_hosts, tour.wall_s);
}

// Of faults that were found; empty: none was.
std::string DrawTimes(const FaultTour& tour) {
  report::BarFigure figure{.title = "Seconds from each fault to its finding, and until the job trained again",
                           .description = "Bars for each fault that was found.",
                           .y_label = "seconds",
                           .y_domain = {0, 1},
                           .series = {"found", "back"},
                           .mark_label = "",
                           .groups = {}};
  for (const TourStop& stop : tour.stops) {
    if (!stop.found_s) continue;
    figure.groups.push_back({.label = std::string(Name(stop.fault.kind)),
                             .values = {*stop.found_s, stop.back_s.value_or(std::numeric_limits<double>::quiet_NaN())},
                             .marks = {}});
    figure.y_domain.high = std::max({figure.y_domain.high, *stop.found_s * 1.1, stop.back_s.value_or(0) * 1.1});
  }
  return figure.groups.empty() ? "" : Draw(figure);
}

}  // namespace

report::Document RenderTour(const FaultTour& tour) {
  report::TextTable table(Columns());
  for (const TourStop& stop : tour.stops) table.AddRow(RowOf(stop));
  report::Document text = tour.title + "\n\n" + report::Document(std::move(table)) + "\n";
  for (const TourStop& stop : tour.stops) {
    if (!stop.findings.empty()) text += fmt::format("{}: {}\n", Name(stop.fault.kind), stop.findings.front().text);
    for (size_t i = 1; i < stop.findings.size(); ++i) text += fmt::format("  also: {}\n", stop.findings[i].text);
  }
  for (const wire::LiveFinding& finding : tour.unexpected) text += "unexpected: " + finding.text + "\n";
  return text + "\n" + Summary(tour) + "\n";
}

Json TourJson(const FaultTour& tour) {
  Json stops = Json::array();
  for (const TourStop& stop : tour.stops) stops.push_back(StopJson(stop));
  return {{"scenario", tour.title},
          {"hosts", tour.num_hosts},
          {"workers", tour.num_workers},
          {"wall_s", tour.wall_s},
          {"right", NumRight(tour)},
          {"of", tour.stops.size()},
          {"unexpected", FindingsJson(tour.unexpected)},
          {"stops", std::move(stops)}};
}

std::string TourPage(const FaultTour& tour) {
  std::string body = fmt::format("<h1>{}</h1>\n<p>{}</p>\n<table>\n<tr>", report::EscapeMarkup(tour.title),
                                 report::EscapeMarkup(Summary(tour)));
  for (const report::TextColumn& column : Columns()) body += fmt::format("<th>{}</th>", column.heading);
  body += "</tr>\n";
  for (const TourStop& stop : tour.stops) {
    body += "<tr>";
    for (const std::string& cell : RowOf(stop)) body += fmt::format("<td>{}</td>", report::EscapeMarkup(cell));
    body += "</tr>\n";
  }
  body += "</table>\n";
  if (const std::string times = DrawTimes(tour); !times.empty()) {
    body += report::RenderFigure({.heading = "How long it took",
                                  .svg = times,
                                  .caption = "From the fault to its finding, and until the job had done the next "
                                             "iteration; no second bar: nothing was restarted."},
                                 "h2");
  }
  body += "<h2>Log</h2>\n<ul>\n";
  for (const TourStop& stop : tour.stops) {
    for (const wire::LiveFinding& finding : stop.findings) {
      body += fmt::format("<li>{}: {}</li>\n", Name(stop.fault.kind), report::EscapeMarkup(finding.text));
    }
  }
  return report::RenderPage(tour.title, body + "</ul>\n");
}

}  // namespace fairlead::lab

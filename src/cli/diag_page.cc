// The page of `fairlead diag analyze`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "cli/diag_report.h"
#include "report/html_page.h"
#include "report/number_format.h"
#include "report/svg_figure.h"
#include "version.h"

namespace fairlead::cli {

namespace {

using model::Culprit;
using model::CulpritKind;
using model::Finding;
using report::EscapeMarkup;

// Ranks that send or receive through what a finding names.
void MarkCulprit(const Culprit& culprit, const model::JobLayout& layout, report::DelayMatrixFigure* figure) {
  if (culprit.kind == CulpritKind::kConnection) {
    figure->marked_pairs.emplace_back(culprit.rank.value(), culprit.peer.value());
    return;
  }
  for (uint32_t rank = 0; rank < layout.ranks.size(); ++rank) {
    const model::RankPlace& place = layout.ranks[rank];
    const bool is_nic = culprit.kind == CulpritKind::kNic || culprit.kind == CulpritKind::kNicSend ||
                        culprit.kind == CulpritKind::kNicReceive;
    const bool is_meant =
        (is_nic && place.nic == culprit.nic) || (culprit.kind == CulpritKind::kHost && place.host == culprit.host);
    if (is_meant && culprit.kind != CulpritKind::kNicReceive) figure->marked_sources.push_back(rank);
    if (is_meant && culprit.kind != CulpritKind::kNicSend) figure->marked_destinations.push_back(rank);
  }
}

report::PageFigure DrawDelays(const DiagReport& report) {
  report::DelayMatrixFigure figure;
  figure.title = "Time on the wire from rank to rank";
  // Host ids may be anything; lines of the figure are dense.
  std::map<HostId, uint32_t> hosts;
  for (const model::RankPlace& place : report.analysis.layout.ranks) hosts.try_emplace(place.host);
  for (auto& [host, line] : hosts) {
    line = static_cast<uint32_t>(figure.host_names.size());
    figure.host_names.push_back(HostName(host, report));
  }
  for (const model::RankPlace& place : report.analysis.layout.ranks) figure.host_of.push_back(hosts.at(place.host));
  figure.cells = report.analysis.delays;
  for (const Finding& finding : report.analysis.findings) {
    if (finding.syndrome != model::Syndrome::kCommSlow) continue;
    for (const Culprit& culprit : finding.culprits) MarkCulprit(culprit, report.analysis.layout, &figure);
  }
  return {figure.title, Draw(figure),
          "Seconds per byte over the median of all pairs; grey: no message was seen. Of several transfers in one cell, "
          "the slowest. Frames and dots mark what findings name."};
}

std::string RenderFindingRow(const Finding& finding, const DiagReport& report) {
  std::vector<std::string> culprits;
  for (const Culprit& culprit : finding.culprits) culprits.push_back(EscapeMarkup(CulpritName(culprit, report)));
  const auto seconds = [&](SimTime time) {
    if (time == SimTime::Never()) return std::string(report::kUnknown);
    return report::FormatDuration((time - report.analysis.begin).seconds().value());
  };
  return fmt::format(
      "<tr><td class=\"number-cell\">{}</td><td>{}</td><td class=\"name\">{}</td><td class=\"number-cell\">{}</td>"
      "<td class=\"number-cell\">{}</td><td>{}</td><td class=\"reason\">{}</td></tr>\n",
      finding.id.value(), EscapeMarkup(model::Name(finding.syndrome)), fmt::join(culprits, "<br>"),
      EscapeMarkup(seconds(finding.first_seen)), EscapeMarkup(seconds(finding.confirmed)),
      EscapeMarkup(model::Name(finding.action)), EscapeMarkup(finding.summary));
}

std::string RenderFindings(const DiagReport& report) {
  if (report.analysis.findings.empty()) return "<section>\n<h2>Findings</h2>\n<p>None.</p>\n</section>\n";
  std::string html =
      "<section>\n<h2>Findings</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>#</th><th>Syndrome</th>"
      "<th>Culprit</th><th class=\"number-cell\">Since</th><th class=\"number-cell\">Confirmed</th><th>Do</th>"
      "<th>Why</th></tr></thead>\n<tbody>\n";
  for (const Finding& finding : report.analysis.findings) html += RenderFindingRow(finding, report);
  return html + "</tbody></table></div>\n</section>\n";
}

}  // namespace

std::string RenderPage(const DiagReport& report, const std::string& command_line) {
  const RecordingAnalysis& analysis = report.analysis;
  const std::string title =
      analysis.findings.empty() ? "Nothing found" : report::FormatCount(analysis.findings.size(), "finding");
  std::string body =
      fmt::format("<p class=\"kicker\">Diagnosis</p>\n<h1>{}</h1>\n<p class=\"muted\">{} of {}, {} recorded.</p>\n",
                  EscapeMarkup(title), report::FormatCount(analysis.num_rank_reports, "report"),
                  report::FormatCount(analysis.layout.ranks.size(), "rank"),
                  report::FormatDuration((analysis.end - analysis.begin).seconds().value()));
  body += RenderFindings(report);
  if (analysis.waits) {
    const report::PageFigure figure = {analysis.waits->title, Draw(*analysis.waits),
                                       "Arrows lead to what is waited for. Nodes that wait for the same nodes, and for "
                                       "which the same nodes wait, are drawn as one."};
    body += "<section>\n<h2>What is stuck</h2>\n" + report::RenderFigure(figure, "h3") + "</section>\n";
  }
  if (!analysis.delays.empty()) {
    body += "<section>\n<h2>Transfers</h2>\n" + report::RenderFigure(DrawDelays(report), "h3") + "</section>\n";
  }
  if (!report.notes.empty()) {
    body += "<section>\n<h2>Assumptions</h2>\n<ul>\n";
    for (const std::string& note : report.notes) body += fmt::format("<li>{}</li>\n", EscapeMarkup(note));
    body += "</ul>\n</section>\n";
  }
  body += fmt::format("<section>\n<h2>How to reproduce</h2>\n<pre>{}</pre>\n<p>Fairlead {}.</p>\n</section>\n",
                      EscapeMarkup(command_line), EscapeMarkup(kVersion));
  return report::RenderPage(title, body);
}

}  // namespace fairlead::cli

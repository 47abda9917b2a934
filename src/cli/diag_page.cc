// The page of `fairlead diag analyze`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cli/diag_report.h"
#include "cli/finding_sheet.h"
#include "report/html_page.h"
#include "report/number_format.h"
#include "report/svg_figure.h"
#include "service/controller/finding_detail.h"
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

// Of each finding, the first of them; a recording with more has one that explains them.
std::string RenderProofs(const DiagReport& report) {
  constexpr size_t kFindingsMax = 8;
  std::string html;
  for (const Finding& finding : report.analysis.findings) {
    if (finding.id.index() >= kFindingsMax) break;
    const wire::FindingDetail detail = DetailOf(finding, report);
    const std::vector<report::PageFigure> figures = DrawProof(detail);
    if (figures.empty() && finding.candidates.empty()) continue;
    html += fmt::format("<section>\n<h2>Finding {}: {}</h2>\n", finding.id.value(), EscapeMarkup(finding.summary));
    html += RenderCandidates(detail, "h3");
    const std::vector<wire::NextStep> steps = service::TellApart(finding, NamesOf(report));
    if (!steps.empty()) html += "<h3>What tells them apart</h3>\n<ul>\n";
    for (const wire::NextStep& step : steps) html += "<li>" + RenderStep(step) + "</li>\n";
    if (!steps.empty()) html += "</ul>\n";
    for (const report::PageFigure& figure : figures) html += report::RenderFigure(figure, "h3");
    html += "</section>\n";
  }
  return html;
}

}  // namespace

wire::FindingDetail DetailOf(const model::Finding& finding, const DiagReport& report) {
  const auto proof = report.analysis.proofs.find(finding.id);
  const report::CulpritNames names = {.host = [&](HostId host) { return HostName(host, report); },
                                      .nic = [](NicId nic) { return fmt::format("nic {}", nic.value()); },
                                      .leaf = [](model::LeafId leaf) { return fmt::format("leaf {}", leaf.value()); }};
  return service::MakeDetail(
      fmt::format("{}", report.analysis.layout.job.valid() ? report.analysis.layout.job.value() : 0), finding,
      proof == report.analysis.proofs.end() ? std::nullopt : std::optional(proof->second), names);
}

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
  body += RenderProofs(report);
  const bool are_shown = std::ranges::any_of(analysis.proofs, [](const auto& p) { return !p.second.delays.empty(); });
  if (!analysis.delays.empty() && !are_shown) {
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

// The page of experiment_report.h.
#include <fmt/format.h>

#include <variant>

#include "experiment/experiment_report.h"
#include "report/html_page.h"
#include "report/number_format.h"
#include "report/svg_figure.h"
#include "version.h"

namespace fairlead::experiment {
namespace {

std::string NumberCell(const std::string& number, std::string_view style = "") {
  return fmt::format("<td class=\"number-cell{}\">{}</td>", style, report::TypographicNumber(number));
}

std::string TextCell(std::string_view style, std::string_view text) {
  return fmt::format("<td class=\"{}\">{}</td>", style, report::EscapeMarkup(text));
}

std::string RenderRow(const ResultRow& row) {
  const std::optional<bool> inside = row.inside();
  const std::string_view style = !inside ? "" : *inside ? " good" : " bad";
  std::string html = "<tr>" + TextCell("name", row.published.name) + TextCell("", row.published.unit);
  html += NumberCell(FormatValue(row.published.paper)) + NumberCell(FormatValue(row.ours), style);
  html += NumberCell(FormatBand(row.published)) + NumberCell(!inside ? "" : *inside ? "yes" : "no", style);
  return html + TextCell("reason", row.published.note) + "</tr>\n";
}

std::string RenderTable(const ExperimentResult& result) {
  std::string html =
      "<div class=\"scroll\"><table>\n<thead><tr><th>row</th><th>unit</th><th class=\"number-cell\">paper</th>"
      "<th class=\"number-cell\">ours</th><th class=\"number-cell\">band</th><th class=\"number-cell\">inside</th>"
      "<th>what differs</th></tr></thead>\n<tbody>\n";
  for (const ResultRow& row : result.rows) html += RenderRow(row);
  return html + "</tbody>\n</table></div>\n";
}

std::string RenderLines(const ResultTable& table) {
  std::string html = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (const std::string& column : table.columns) html += fmt::format("<th>{}</th>", report::EscapeMarkup(column));
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& line : table.lines) {
    html += "<tr>";
    for (const ResultTable::Cell& cell : line) {
      html += std::holds_alternative<double>(cell) ? NumberCell(FormatCell(cell)) : TextCell("", FormatCell(cell));
    }
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table></div>\n";
}

std::string RenderTables(const ExperimentResult& result) {
  std::string html;
  for (const ResultTable& table : result.tables) {
    const std::string title = report::EscapeMarkup(table.title);
    if (table.is_long) {
      html += fmt::format("<details>\n<summary>{}</summary>\n{}</details>\n", title, RenderLines(table));
    } else {
      html += fmt::format("<h3>{}</h3>\n{}", title, RenderLines(table));
    }
  }
  return html;
}

std::string RenderNotes(const ExperimentResult& result) {
  if (result.notes.empty()) return "";
  std::string html = "<h3>Notes</h3>\n<ul>\n";
  for (const std::string& note : result.notes) html += fmt::format("<li>{}</li>\n", report::EscapeMarkup(note));
  return html + "</ul>\n";
}

// The first sentence: how many of the numbers are as published.
std::string AnswerOf(std::span<const ExperimentResult> results) {
  size_t num_judged = 0;
  size_t num_inside = 0;
  for (const ExperimentResult& result : results) {
    for (const ResultRow& row : result.rows) {
      if (!row.inside()) continue;
      ++num_judged;
      num_inside += *row.inside() ? 1 : 0;
    }
  }
  if (num_judged == 0) return "No number is compared with a published band.";
  return fmt::format("{} of {} that have a band are inside it.", num_inside, report::FormatCount(num_judged, "number"));
}

std::string RenderSection(const ExperimentResult& result) {
  std::string html = fmt::format("<section>\n<h2>{}</h2>\n<p>{}</p>\n", report::EscapeMarkup(result.title),
                                 report::EscapeMarkup(result.source));
  html += fmt::format("<p class=\"muted\">{}, seed {}{}</p>\n", report::EscapeMarkup(result.name), result.seed,
                      result.is_reduced ? ", reduced: fewer cases than the full experiment" : "");
  if (result.is_partial) {
    html += "<p class=\"partial\">PARTIAL: stopped before the end; what is missing was not computed.</p>\n";
  }
  if (!result.answer.empty()) html += fmt::format("<p>{}</p>\n", report::EscapeMarkup(result.answer));
  html += RenderTable(result);
  html += RenderTables(result);
  for (const report::PageFigure& figure : result.figures) html += report::RenderFigure(figure, "h3");
  return html + RenderNotes(result) + "</section>\n";
}

}  // namespace

std::string RenderHtml(std::span<const ExperimentResult> results, const std::string& command) {
  const std::string title = results.size() == 1 ? results.front().title : fmt::format("{} experiments", results.size());
  std::string body = fmt::format(
      "<header>\n<p class=\"kicker\">Fairlead experiments</p>\n<h1>{}</h1>\n<p "
      "class=\"answer\">{}</p>\n</header>\n",
      report::EscapeMarkup(title), AnswerOf(results));
  for (const ExperimentResult& result : results) body += RenderSection(result);
  body += fmt::format("<section>\n<h2>How to reproduce</h2>\n<pre>{}</pre>\n<p>Fairlead {}.</p>\n</section>\n",
                      report::EscapeMarkup(command), report::EscapeMarkup(kVersion));
  return report::RenderPage(title, body);
}

}  // namespace fairlead::experiment

#include "cli/finding_sheet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "cli/fact_lines.h"
#include "report/delay_matrix_figure.h"
#include "report/line_figure.h"
#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/svg_figure.h"
#include "report/wait_graph_figure.h"

namespace fairlead::cli {

namespace {

using report::CleanText;
using report::Document;
using report::EscapeMarkup;
using report::LineFigure;
using report::PageFigure;
using wire::FindingDetail;
using wire::LiveBlock;

constexpr size_t kBlocksInText = 12;
constexpr size_t kWaitsInText = 12;
constexpr size_t kDelaysInText = 8;
constexpr size_t kThreadsInText = 6;  // kinds of a rank

std::string CostOf(const wire::LiveFinding& finding) {
  if (!finding.cost_share) return "";
  std::string text = report::FormatPercent(*finding.cost_share) + " of the job";
  if (finding.cost_gpu_hours) text += fmt::format(", {:.0f} GPU-hours a day", *finding.cost_gpu_hours);
  return text;
}

std::vector<std::pair<std::string, std::string>> FactsOf(const FindingDetail& detail, const MomentText& moment) {
  const wire::LiveFinding& finding = detail.finding;
  const auto at = [&](const std::optional<double>& seconds) { return seconds ? moment(*seconds) : ""; };
  return {{"finding", fmt::format("{}", finding.id)},
          {"job", finding.job},
          {"what", finding.text},
          {"syndrome", finding.syndrome},
          {"sub-cause", finding.sub_cause == "unknown" ? "" : finding.sub_cause},
          {"culprit", fmt::format("{}", fmt::join(finding.culprits, ", "))},
          {"hosts", fmt::format("{}", fmt::join(finding.hosts, ", "))},
          {"sure", finding.confidence ? report::FormatPercent(*finding.confidence) : std::string(report::kUnknown)},
          {"known from", fmt::format("{}", fmt::join(finding.signs, ", "))},
          {"costs", CostOf(finding)},
          {"advice", finding.action},
          {"suspected", at(finding.suspected_at_s)},
          {"since", at(finding.confirmed_at_s)},
          {"until", finding.cleared_at_s ? moment(*finding.cleared_at_s) : "it holds"}};
}

// Blocks until the finding was made, and after it.
struct BlockMedians {
  double before = 0;
  double since = 0;  // 0: none
};

double MedianSeconds(std::vector<double> seconds) {
  if (seconds.empty()) return 0;
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

// Args: suspected_at_s: until then the job was well.
BlockMedians MediansOf(const FindingDetail& detail) {
  std::vector<double> before;
  std::vector<double> since;
  const double from = detail.finding.suspected_at_s.value_or(detail.seen_at_s.value_or(0));
  for (const LiveBlock& block : detail.blocks) (block.at_s < from ? before : since).push_back(block.seconds);
  return {MedianSeconds(before), MedianSeconds(since)};
}

std::string IterationSentence(const FindingDetail& detail) {
  const BlockMedians medians = MediansOf(detail);
  if (medians.before == 0) return "";
  const std::string before = report::FormatDuration(medians.before);
  if (medians.since == 0) return fmt::format("A block of iterations took {}; none has ended since.", before);
  return fmt::format("A block of iterations took {} before it was suspected, and {} since: {:.2f} times as long.",
                     before, report::FormatDuration(medians.since), medians.since / medians.before);
}

std::string CandidateText(const wire::LiveCandidate& candidate) {
  std::string text = candidate.culprit + ": " + candidate.why;
  for (const std::string& evidence : candidate.evidence) text += "; " + evidence;
  return text;
}

constexpr const char* kCandidatesTitle = "One of these, and it is not known which";

Document CandidateLines(const FindingDetail& detail) {
  if (detail.finding.candidates.empty()) return {};
  std::string text = fmt::format("\n{}\n\n", kCandidatesTitle);
  for (const wire::LiveCandidate& candidate : detail.finding.candidates) {
    text += report::WrapText("  " + CleanText(CandidateText(candidate)), report::kTextWidth, 4);
  }
  return Document(text);
}

Document IterationTable(const FindingDetail& detail) {
  if (detail.blocks.empty()) return {};
  const bool has_own = std::ranges::any_of(detail.blocks, [](const LiveBlock& b) { return b.own_seconds.has_value(); });
  std::vector<report::TextColumn> columns = {
      {"from the moment", report::Align::kRight, "", "when the block was known, before or after the finding was made"},
      {"block", report::Align::kRight, "", "as many iterations in each"}};
  if (has_own) {
    columns.push_back({"accused", report::Align::kRight, "", "what the accused ranks did in it by themselves"});
    columns.push_back({"its like", report::Align::kRight, "", "the median of the others that do the same"});
  }
  report::TextTable table(columns);
  const size_t first = detail.blocks.size() - std::min(detail.blocks.size(), kBlocksInText);
  for (size_t i = first; i < detail.blocks.size(); ++i) {
    const LiveBlock& block = detail.blocks[i];
    std::vector<std::string> row = {fmt::format("{:+.0f} s", block.at_s - detail.seen_at_s.value_or(0)),
                                    report::FormatDuration(block.seconds)};
    const auto duration = [](const std::optional<double>& seconds) {
      return seconds ? report::FormatDuration(*seconds) : std::string(report::kUnknown);
    };
    if (has_own) {
      row.push_back(duration(block.own_seconds));
      row.push_back(duration(block.like_median_seconds));
    }
    table.AddRow(row);
  }
  const std::string sentence = IterationSentence(detail);
  return Document("\nIterations\n\n" + (sentence.empty() ? "" : "  " + sentence + "\n\n")) + Document(std::move(table));
}

std::string WaitLines(const FindingDetail& detail) {
  if (detail.waits.empty()) return "";
  std::string text = "\nWho waits for whom\n\n";
  size_t num_shown = 0;
  for (const wire::LiveWait& wait : detail.waits) {
    if (num_shown++ == kWaitsInText) {
      return text + fmt::format("  and {} more\n", detail.waits.size() - kWaitsInText);
    }
    const wire::LiveWaitNode& to = detail.wait_nodes[wait.to];
    text += fmt::format("  {} -> {}{}\n", CleanText(detail.wait_nodes[wait.from].label), CleanText(to.label),
                        to.is_culprit ? "   <- accused" : "");
  }
  return text;
}

// "4 x", "": how many threads.
std::string CountOf(const wire::LiveThreadGroup& group) {
  return group.count > 1 ? fmt::format("{} x", group.count) : "";
}

std::string PlaceOf(const wire::LiveThreadGroup& group) {
  return CleanText(group.place.empty() ? "(not in the kernel, or not known)" : group.place);
}

Document ThreadTable(const FindingDetail& detail) {
  Document document;
  for (const wire::LiveThreads& alike : detail.threads) {
    document +=
        Document(fmt::format("\nThreads of {}{}\n\n", CleanText(alike.ranks), alike.is_accused ? "   <- accused" : ""));
    report::TextTable table({{"", report::Align::kRight},
                             {"thread", report::Align::kLeft},
                             {"state", report::Align::kLeft},
                             {"in the kernel, innermost first", report::Align::kLeft}});
    for (size_t i = 0; i < std::min(alike.groups.size(), kThreadsInText); ++i) {
      const wire::LiveThreadGroup& group = alike.groups[i];
      table.AddRow({CountOf(group), CleanText(group.name), CleanText(group.state), PlaceOf(group)});
    }
    document += Document(std::move(table));
    if (alike.groups.size() > kThreadsInText) {
      document += Document(fmt::format("  and {} more kinds\n", alike.groups.size() - kThreadsInText));
    }
  }
  return document;
}

Document DelayTable(const FindingDetail& detail) {
  if (detail.delays.empty()) return {};
  std::vector<wire::LiveDelay> slowest = detail.delays;
  std::ranges::stable_sort(slowest, std::greater(), &wire::LiveDelay::ratio);
  slowest.resize(std::min(slowest.size(), kDelaysInText));
  report::TextTable table({{"from", report::Align::kLeft},
                           {"to", report::Align::kLeft},
                           {"time", report::Align::kRight, "", "for each message, times what is usual"},
                           {"accused", report::Align::kLeft}});
  const auto place = [&](uint32_t rank) {
    return fmt::format("rank {} on {}", rank, CleanText(detail.rank_hosts[rank]));
  };
  for (const wire::LiveDelay& delay : slowest) {
    table.AddRow({place(delay.source), place(delay.destination), fmt::format("{:.2f}x", delay.ratio),
                  delay.is_accused ? "yes" : ""});
  }
  return Document("\nThe slowest transfers\n\n") + Document(std::move(table));
}

// ---- Figures ----

LineFigure FigureOfBlocks(const char* title, const char* description) {
  LineFigure figure;
  figure.title = title;
  figure.description = description;
  figure.x_label = "seconds from when the finding was made";
  figure.y_label = "seconds";
  figure.height = 220;
  return figure;
}

// Axes over what happened before and after; a line where the finding was made.
std::string Finish(LineFigure figure) {
  double low = 0;
  double high = 0;
  double top = 0;
  for (const report::LineSeries& series : figure.series) {
    for (const report::Point& point : series.points) {
      low = std::min(low, point.x);
      high = std::max(high, point.x);
      if (point.y < std::numeric_limits<double>::infinity()) top = std::max(top, point.y);
    }
    for (const double value : series.band_high) top = std::max(top, value);
  }
  figure.x_domain = {low, std::max(high, 1.0)};
  figure.y_domain = {0, top * 1.1};
  figure.x_ticks = report::PlanTicks(figure.x_domain, 8, " s");
  figure.y_ticks = report::PlanTicks(figure.y_domain, 5);
  figure.series.push_back(
      {.label = "found", .color = 7, .points = {{0, 0}, {0, top * 1.1}}, .band_low = {}, .band_high = {}});
  return Draw(figure);
}

PageFigure DrawIterations(const FindingDetail& detail) {
  LineFigure figure = FigureOfBlocks("Iterations", "How long blocks of iterations took, around the moment");
  report::LineSeries series{.label = "block", .color = 0, .points = {}, .band_low = {}, .band_high = {}};
  for (const LiveBlock& block : detail.blocks) {
    series.points.push_back({block.at_s - detail.seen_at_s.value_or(0), block.seconds});
  }
  figure.series.push_back(std::move(series));
  return {figure.title, Finish(figure),
          "As many iterations in each block; a block is drawn when all of it was known. " + IterationSentence(detail)};
}

PageFigure DrawOwnTimes(const FindingDetail& detail) {
  LineFigure figure = FigureOfBlocks("The accused against its like",
                                     "What the accused ranks did by themselves in each block, and the others");
  report::LineSeries accused{.label = "accused", .color = 1, .points = {}, .band_low = {}, .band_high = {}};
  report::LineSeries like{.label = "its like", .color = 0, .points = {}, .band_low = {}, .band_high = {}};
  for (const LiveBlock& block : detail.blocks) {
    const double x = block.at_s - detail.seen_at_s.value_or(0);
    if (block.own_seconds) accused.points.push_back({x, *block.own_seconds});
    if (!block.like_median_seconds) continue;
    like.points.push_back({x, *block.like_median_seconds});
    like.band_low.push_back(block.like_low_seconds.value_or(*block.like_median_seconds));
    like.band_high.push_back(block.like_high_seconds.value_or(*block.like_median_seconds));
  }
  figure.series.push_back(std::move(like));
  figure.series.push_back(std::move(accused));
  return {figure.title, Finish(figure),
          "Computing and the host's work, without waits for others. The band holds the middle half of the others."};
}

PageFigure DrawWaits(const FindingDetail& detail) {
  report::WaitGraphFigure figure;
  figure.title = "Who waits for whom";
  figure.description =
      "Arrows lead from ranks and operations that wait to those that they wait for; what the finding names is framed.";
  for (uint32_t i = 0; i < detail.wait_nodes.size(); ++i) {
    const wire::LiveWaitNode& node = detail.wait_nodes[i];
    model::WaitNode drawn{.ranks = {}, .label = node.label, .num_operations = 1, .is_culprit = node.is_culprit};
    if (!node.is_operation) drawn.ranks = {model::RankId(i)};  // whichever: its label says which
    figure.waits.nodes.push_back(std::move(drawn));
  }
  for (const wire::LiveWait& wait : detail.waits) figure.waits.edges.emplace_back(wait.from, wait.to);
  figure.num_nodes_max = std::max<size_t>(2, detail.wait_nodes.size());
  return {
      figure.title, Draw(figure),
      "Arrows lead to what is waited for. Nodes that wait for the same nodes, and for which the same nodes wait, are "
      "drawn as one."};
}

PageFigure DrawDelays(const FindingDetail& detail) {
  report::DelayMatrixFigure figure;
  figure.title = "Time for a message, from rank to rank";
  std::map<std::string, uint32_t> lines;
  for (const std::string& host : detail.rank_hosts) {
    const auto [line, is_new] = lines.try_emplace(host, static_cast<uint32_t>(figure.host_names.size()));
    if (is_new) figure.host_names.push_back(host);
    figure.host_of.push_back(line->second);
  }
  // A rank of which all that it sends, or receives, is accused is framed.
  struct Line {
    size_t num = 0;
    size_t num_accused = 0;
    bool is_framed() const { return num >= 2 && num_accused == num; }
  };
  std::map<uint32_t, Line> sources;
  std::map<uint32_t, Line> destinations;
  for (const wire::LiveDelay& delay : detail.delays) {
    figure.cells.push_back({delay.source, delay.destination, std::max(delay.ratio, 1e-9)});
    for (Line* line : {&sources[delay.source], &destinations[delay.destination]}) {
      ++line->num;
      line->num_accused += delay.is_accused ? 1 : 0;
    }
  }
  for (const auto& [rank, line] : sources) {
    if (line.is_framed()) figure.marked_sources.push_back(rank);
  }
  for (const auto& [rank, line] : destinations) {
    if (line.is_framed()) figure.marked_destinations.push_back(rank);
  }
  for (const wire::LiveDelay& delay : detail.delays) {
    const bool is_framed = sources.at(delay.source).is_framed() || destinations.at(delay.destination).is_framed();
    if (delay.is_accused && !is_framed) figure.marked_pairs.emplace_back(delay.source, delay.destination);
  }
  std::string caption =
      "Times what is usual; of several transfers in one cell, the slowest. Frames and dots mark what is accused.";
  if (detail.delays_left_out > 0) {
    caption += fmt::format(" {} faster pairs are left out.", report::FormatCount(detail.delays_left_out));
  }
  return {figure.title, Draw(figure), caption};
}

// ---- The page ----

std::string RenderFacts(const FindingDetail& detail, const MomentText& moment) {
  std::string html = "<table>\n<tbody>\n";
  for (const auto& [label, value] : FactsOf(detail, moment)) {
    if (value.empty() || label == "what") continue;
    html += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", EscapeMarkup(label), EscapeMarkup(value));
  }
  return html + "</tbody></table>\n";
}

std::string RenderThreads(const FindingDetail& detail) {
  if (detail.threads.empty()) return "";
  std::string html =
      "<section>\n<h2>Where their threads are</h2>\n<p class=\"muted\">As the kernels of their hosts say. Ranks whose "
      "first threads are in the same place are shown as one; the first line of each is that thread.</p>\n";
  for (const wire::LiveThreads& alike : detail.threads) {
    html += fmt::format("<h3>{}{}</h3>\n<table>\n<tbody>\n", EscapeMarkup(alike.ranks),
                        alike.is_accused ? " (accused)" : "");
    for (const wire::LiveThreadGroup& group : alike.groups) {
      html += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td><code>{}</code></td></tr>\n", CountOf(group),
                          EscapeMarkup(group.name), EscapeMarkup(group.state), EscapeMarkup(PlaceOf(group)));
    }
    html += "</tbody></table>\n";
  }
  return html + "</section>\n";
}

std::string RenderList(const char* title, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  std::string html = fmt::format("<section>\n<h2>{}</h2>\n<ul>\n", title);
  for (const std::string& item : items) html += "<li>" + item + "</li>\n";
  return html + "</ul>\n</section>\n";
}

std::string PastText(const wire::PastFinding& past, const MomentText& moment) {
  return fmt::format("{}: finding {} of {}{}: {}", past.confirmed_at_s ? moment(*past.confirmed_at_s) : "suspected",
                     past.id, past.job, past.cleared_at_s ? "" : " (holds)", past.text);
}

}  // namespace

Document DescribeFinding(const FindingDetail& detail, const MomentText& moment) {
  FactLines facts;
  for (const auto& [label, value] : FactsOf(detail, moment)) {
    if (!value.empty()) facts.Add(label, value);
  }
  for (const std::string& evidence : detail.finding.evidence) facts.Add("evidence", evidence);
  Document document = facts.Take();
  document += CandidateLines(detail);
  document += IterationTable(detail);
  document += Document(WaitLines(detail));
  document += ThreadTable(detail);
  document += DelayTable(detail);
  if (!detail.history.empty()) {
    std::string text = "\nFound about these hosts before\n\n";
    for (const wire::PastFinding& past : detail.history)
      text += report::WrapText("  " + CleanText(PastText(past, moment)), report::kTextWidth, 4);
    document += Document(text);
  }
  if (!detail.next.empty()) {
    std::string text = "\nNext\n\n";
    for (const wire::NextStep& step : detail.next)
      text += fmt::format("  {}\n      {}\n", CleanText(step.command), step.shows);
    document += Document(text);
  }
  return document;
}

std::vector<PageFigure> DrawProof(const FindingDetail& detail) {
  std::vector<PageFigure> figures;
  if (detail.blocks.size() >= 2) figures.push_back(DrawIterations(detail));
  const auto has_own = [](const LiveBlock& block) { return block.own_seconds.has_value(); };
  if (std::ranges::count_if(detail.blocks, has_own) >= 2) figures.push_back(DrawOwnTimes(detail));
  if (!detail.waits.empty()) figures.push_back(DrawWaits(detail));
  if (!detail.delays.empty()) figures.push_back(DrawDelays(detail));
  return figures;
}

std::string RenderCandidates(const FindingDetail& detail, const char* heading) {
  if (detail.finding.candidates.empty()) return "";
  std::string html = fmt::format("<section>\n<{0}>{1}</{0}>\n<ul>\n", heading, kCandidatesTitle);
  for (const wire::LiveCandidate& candidate : detail.finding.candidates) {
    html += "<li>" + EscapeMarkup(CandidateText(candidate)) + "</li>\n";
  }
  return html + "</ul>\n</section>\n";
}

std::string RenderStep(const wire::NextStep& step) {
  return fmt::format("<code>{}</code><br>{}", EscapeMarkup(step.command), EscapeMarkup(step.shows));
}

std::string RenderFindingPage(const FindingDetail& detail, const MomentText& moment, const std::string& source) {
  std::string body = fmt::format("<p class=\"kicker\">Finding {}</p>\n<h1>{}</h1>\n<p class=\"muted\">{}</p>\n",
                                 detail.finding.id, EscapeMarkup(detail.finding.text), EscapeMarkup(source));
  body += RenderFacts(detail, moment);
  std::vector<std::string> evidence;
  for (const std::string& one : detail.finding.evidence) evidence.push_back(EscapeMarkup(one));
  body += RenderList("Evidence", evidence);
  body += RenderCandidates(detail, "h2");
  for (const PageFigure& figure : DrawProof(detail)) {
    body +=
        fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", EscapeMarkup(figure.heading), RenderFigure(figure, ""));
  }
  body += RenderThreads(detail);
  std::vector<std::string> history;
  for (const wire::PastFinding& past : detail.history) history.push_back(EscapeMarkup(PastText(past, moment)));
  body += RenderList("Found about these hosts before", history);
  std::vector<std::string> next;
  for (const wire::NextStep& step : detail.next) next.push_back(RenderStep(step));
  body += RenderList("Next", next);
  return report::RenderPage(detail.finding.text, body);
}

}  // namespace fairlead::cli

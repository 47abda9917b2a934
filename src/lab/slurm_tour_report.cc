#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/slurm_tour.h"
#include "report/host_schedule_figure.h"
#include "report/html_page.h"
#include "report/number_format.h"
#include "report/svg_figure.h"
#include "report/text_table.h"

namespace fairlead::lab {

namespace {

using report::Align;
using report::Json;

std::string Tenths(double seconds) { return report::FormatFixed(seconds, 1); }

std::string ShownCompletion(const SlurmTourRun& run, const SlurmTourJob& job) {
  return (job.ended_s ? "" : "> ") + Tenths(run.CompletionSeconds(job));
}

// "2 → 6 → 3": hosts of each run.
std::string ShownSizes(const SlurmTourJob& job) {
  std::vector<size_t> sizes;
  for (const SlurmTourSpan& span : job.spans) sizes.push_back(span.hosts.size());
  return sizes.empty() ? std::string(report::kUnknown) : fmt::format("{}", fmt::join(sizes, " → "));
}

std::string ShownWait(const SlurmTourJob& job) {
  return job.spans.empty() ? std::string(report::kUnknown) : Tenths(job.spans.front().begin_s - job.submitted_s);
}

const std::vector<report::TextColumn>& JobColumns() {
  static const std::vector<report::TextColumn> kColumns = {
      {"job", Align::kLeft},
      {"came", Align::kRight, "", "seconds after the first job"},
      {"hosts", Align::kRight, "plain Slurm", "as its owner asked; with Fairlead: of each run"},
      {"waited", Align::kRight, "plain Slurm", "seconds until it ran first"},
      {"done", Align::kRight, "plain Slurm",
       "seconds from submission to end; >: it never ended, and was cancelled then"},
      {"hosts", Align::kLeft, "with Fairlead"},
      {"waited", Align::kRight, "with Fairlead"},
      {"done", Align::kRight, "with Fairlead"}};
  return kColumns;
}

std::vector<std::vector<std::string>> JobRows(const SlurmTour& tour) {
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < tour.plain.jobs.size(); ++i) {
    const SlurmTourJob& plain = tour.plain.jobs[i];
    const SlurmTourJob& ours = tour.fairlead.jobs[i];
    rows.push_back({plain.name, Tenths(plain.submitted_s), fmt::format("{}", plain.asked), ShownWait(plain),
                    ShownCompletion(tour.plain, plain), ShownSizes(ours), ShownWait(ours),
                    ShownCompletion(tour.fairlead, ours)});
  }
  rows.push_back({"mean", "", "", "",
                  (tour.plain.HaveAllEnded() ? "" : "> ") + Tenths(tour.plain.MeanCompletionSeconds()), "", "",
                  (tour.fairlead.HaveAllEnded() ? "" : "> ") + Tenths(tour.fairlead.MeanCompletionSeconds())});
  return rows;
}

// The answer, in one sentence.
std::string Answer(const SlurmTour& tour) {
  const double plain_s = tour.plain.MeanCompletionSeconds();
  const double ours_s = tour.fairlead.MeanCompletionSeconds();
  const double change = plain_s > 0 ? ours_s / plain_s - 1 : 0;
  return fmt::format("With Fairlead the {} jobs took {} s on average, with plain Slurm {}{} s: {:.0f} % {}.",
                     tour.plain.jobs.size(), Tenths(ours_s), tour.plain.HaveAllEnded() ? "" : "at least ",
                     Tenths(plain_s), 100 * std::abs(change), change < 0 ? "less" : "more");
}

std::string FrozenText(const SlurmTourRun& run) {
  const std::string name = run.has_fairlead ? "With Fairlead" : "Plain Slurm";
  if (!run.freeze) return name + ": nothing hung, because the job had ended before.";
  const SlurmTourFreeze& freeze = *run.freeze;
  std::string text = fmt::format("{}: after {} s the process of {} on {} hung, as if its GPU had. ", name,
                                 Tenths(freeze.at_s), freeze.job, freeze.host);
  if (!run.has_fairlead) {
    return text + (run.HaveAllEnded()
                       ? "The job ended all the same."
                       : "Slurm saw its processes and did nothing; the job hung until it was cancelled.");
  }
  const auto after = [](const std::optional<double>& seconds) {
    return seconds ? Tenths(*seconds) + " s" : std::string("never");
  };
  return text +
         fmt::format("Seconds later: found {}, isolated {}, the job's next iteration {} ({} iterations done again).",
                     after(freeze.found_s), after(freeze.isolated_s), after(freeze.back_s), freeze.lost_iterations);
}

std::vector<std::string> Notes(const SlurmTour& tour) {
  std::vector<std::string> notes = {FrozenText(tour.plain), FrozenText(tour.fairlead)};
  if (tour.fairlead.freeze && !tour.fairlead.freeze->finding.empty()) {
    notes.push_back("Finding: " + tour.fairlead.freeze->finding);
  }
  for (const std::string& text : tour.fairlead.wrong_findings) notes.push_back("Wrong finding: " + text);
  notes.push_back(
      fmt::format("With Fairlead jobs were started again {} times, and {} was kept as a spare; plain Slurm "
                  "had it for jobs.",
                  tour.fairlead.NumRestarts(), tour.spare));
  return notes;
}

Json ValueOrNothing(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json RunJson(const SlurmTourRun& run) {
  Json jobs = Json::array();
  for (const SlurmTourJob& job : run.jobs) {
    Json spans = Json::array();
    for (const SlurmTourSpan& span : job.spans) {
      spans.push_back({{"hosts", span.hosts}, {"begin_s", span.begin_s}, {"end_s", span.end_s}});
    }
    jobs.push_back({{"job", job.name},
                    {"number", job.number},
                    {"asked_hosts", job.asked},
                    {"least_hosts", job.least},
                    {"most_hosts", job.most},
                    {"submitted_s", job.submitted_s},
                    {"ended_s", ValueOrNothing(job.ended_s)},
                    {"completion_s", run.CompletionSeconds(job)},
                    {"spans", std::move(spans)}});
  }
  Json freeze;
  if (run.freeze) {
    freeze = {{"job", run.freeze->job},
              {"host", run.freeze->host},
              {"at_s", run.freeze->at_s},
              {"found_s", ValueOrNothing(run.freeze->found_s)},
              {"isolated_s", ValueOrNothing(run.freeze->isolated_s)},
              {"back_s", ValueOrNothing(run.freeze->back_s)},
              {"lost_iterations", run.freeze->lost_iterations},
              {"finding", run.freeze->finding}};
  }
  return {{"mean_completion_s", run.MeanCompletionSeconds()},
          {"all_ended", run.HaveAllEnded()},
          {"restarts", run.NumRestarts()},
          {"length_s", run.length_s},
          {"jobs", std::move(jobs)},
          {"freeze", std::move(freeze)},
          {"wrong_findings", run.wrong_findings}};
}

std::string DrawRun(const SlurmTour& tour, const SlurmTourRun& run) {
  report::HostScheduleFigure figure{.title = run.has_fairlead ? "With Fairlead" : "Plain Slurm",
                                    .description = "Which job ran on which host, over time.",
                                    .end_s = std::max(tour.plain.length_s, tour.fairlead.length_s),
                                    .hosts = tour.hosts,
                                    .jobs = {},
                                    .runs = {},
                                    .closures = {},
                                    .marks = {}};
  const auto row = [&](const std::string& host) {
    return static_cast<size_t>(std::ranges::find(tour.hosts, host) - tour.hosts.begin());
  };
  double spare_until_s = run.length_s;
  for (size_t job = 0; job < run.jobs.size(); ++job) {
    figure.jobs.push_back(run.jobs[job].name);
    for (const SlurmTourSpan& span : run.jobs[job].spans) {
      report::HostScheduleRun drawn{.job = job, .hosts = {}, .begin_s = span.begin_s, .end_s = span.end_s};
      for (const std::string& host : span.hosts) {
        if (row(host) < tour.hosts.size()) drawn.hosts.push_back(row(host));
        if (host == tour.spare) spare_until_s = std::min(spare_until_s, span.begin_s);
      }
      figure.runs.push_back(std::move(drawn));
    }
  }
  if (run.has_fairlead) figure.closures.push_back({row(tour.spare), 0, spare_until_s, "spare"});
  if (run.freeze) {
    const SlurmTourFreeze& freeze = *run.freeze;
    figure.marks.push_back({row(freeze.host), freeze.at_s, "hangs"});
    if (freeze.isolated_s) {
      figure.closures.push_back({row(freeze.host), freeze.at_s + *freeze.isolated_s, run.length_s, "isolated"});
    }
  }
  return Draw(figure);
}

}  // namespace

report::Document RenderSlurmTour(const SlurmTour& tour) {
  report::TextTable table(JobColumns());
  for (auto& row : JobRows(tour)) table.AddRow(std::move(row));
  report::Document text = Answer(tour) + "\n\n" + report::Document(std::move(table)) + "\n";
  for (const std::string& note : Notes(tour)) text += note + "\n";
  return text + fmt::format("\n{}: {} hosts, {:.0f} s in all; nothing of the lab is left\n", tour.title,
                            tour.hosts.size(), tour.wall_s);
}

Json SlurmTourJson(const SlurmTour& tour) {
  return {{"scenario", tour.title},
          {"hosts", tour.hosts},
          {"spare", tour.spare},
          {"wall_s", tour.wall_s},
          {"right", tour.IsAllRight()},
          {"plain", RunJson(tour.plain)},
          {"fairlead", RunJson(tour.fairlead)}};
}

std::string SlurmTourPage(const SlurmTour& tour) {
  std::string body = fmt::format("<p class=\"kicker\">fairlead lab slurm</p>\n<h1>{}</h1>\n<p>{}</p>\n",
                                 report::EscapeMarkup(tour.title), report::EscapeMarkup(Answer(tour)));
  for (const SlurmTourRun* run : {&tour.plain, &tour.fairlead}) {
    body += report::RenderFigure({.heading = run->has_fairlead ? "With Fairlead" : "Plain Slurm",
                                  .svg = DrawRun(tour, *run),
                                  .caption = FrozenText(*run)},
                                 "h2");
  }
  body += "<h2>Jobs</h2>\n<div class=\"scroll\"><table>\n<thead><tr>";
  for (const report::TextColumn& column : JobColumns()) {
    body +=
        fmt::format("<th{}>{}</th>", column.align == Align::kRight ? " class=\"number-cell\"" : "",
                    report::EscapeMarkup(column.group.empty() ? column.heading : column.group + ": " + column.heading));
  }
  body += "</tr></thead>\n";
  for (const auto& row : JobRows(tour)) {
    body += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      body += fmt::format("<td{}>{}</td>", JobColumns()[i].align == Align::kRight ? " class=\"number-cell\"" : "",
                          report::EscapeMarkup(row[i]));
    }
    body += "</tr>\n";
  }
  body += "</table></div>\n<h2>What happened</h2>\n<ul>\n";
  for (const std::string& note : Notes(tour)) body += fmt::format("<li>{}</li>\n", report::EscapeMarkup(note));
  body += fmt::format(
      "</ul>\n<p class=\"muted\">Slurm, its jobs, their connections, the agents and the controller were real; {} hosts "
      "were network namespaces of one machine, GPUs were simulated. Seconds count from submission to end; waiting "
      "counts.</p>\n",
      tour.hosts.size());
  return report::RenderPage(tour.title, body);
}

}  // namespace fairlead::lab

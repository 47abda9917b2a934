#include "cli/trace_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/text_table.h"
#include "trace/concurrency.h"

namespace fairlead::cli {

namespace {

using report::Align;
using trace::FitRow;

// Distances are shares; errors are shown in per cent, distances of laws as they are.
std::string FormatDistance(const FitRow& row, double value) {
  if (!std::isfinite(value)) return std::string(report::kUnknown);
  return row.measure == trace::FitMeasure::kRelativeError ? report::FormatPercent(value) : fmt::format("{:.3f}", value);
}

std::string FormatValue(double value) { return std::isfinite(value) ? report::FormatShort(value) : std::string(); }

bool IsDay(const FitRow& row) { return row.marginal == "arrivals" && row.quantity.starts_with("day "); }

// All rows but those of single days, of which the worst represents all.
std::vector<FitRow> SelectRows(const trace::GoodnessOfFit& fit) {
  std::vector<FitRow> rows;
  const FitRow* worst = nullptr;
  for (const FitRow& row : fit.rows) {
    if (IsDay(row) && (worst == nullptr || row.distance > worst->distance)) worst = &row;
  }
  for (const FitRow& row : fit.rows) {
    if (IsDay(row) && &row != worst) continue;
    rows.push_back(row);
    if (IsDay(row)) rows.back().quantity = "worst day, " + row.quantity;
  }
  return rows;
}

std::string Verdict(const FitRow& row) {
  if (!row.is_judged) return "not judged";
  return row.is_inside() ? "inside" : "OUTSIDE";
}

// The reasons why rows were not judged, each once.
std::string RenderUnjudged(const trace::GoodnessOfFit& fit) {
  std::vector<std::string> notes;
  for (const FitRow& row : fit.rows) {
    if (!row.is_judged && std::find(notes.begin(), notes.end(), row.note) == notes.end()) notes.push_back(row.note);
  }
  std::string text;
  for (const std::string& note : notes) text += fmt::format("Not judged: {}.\n", note);
  return text;
}

}  // namespace

std::string RenderTraceSummary(const trace::Trace& trace) {
  uint64_t num_gpu_jobs = 0;
  double last_end_s = 0;
  for (const trace::TraceJob& job : trace.jobs) {
    num_gpu_jobs += job.gpus > 0;
    last_end_s = std::max(last_end_s, job.submit_s + job.duration_s);
  }
  const uint32_t num_days = trace::NumDays(trace.jobs);
  std::string text = fmt::format("{}: {}, {} with GPUs, submitted in {}; the last one ends after {}.\n",
                                 report::CleanText(trace.title), report::FormatCount(trace.jobs.size(), "job"),
                                 report::FormatCount(num_gpu_jobs), report::FormatCount(num_days, "day"),
                                 report::FormatDuration(last_end_s));
  if (num_days == 0) return text;
  const trace::Concurrency c = trace::MeasureConcurrency(trace.jobs, num_days * trace::kSecondsPerDay);
  text +=
      fmt::format("At once: {} GPU jobs and {} GPUs on average, at most {} and {}.\n", report::FormatShort(c.jobs_mean),
                  report::FormatShort(c.gpus_mean), report::FormatCount(c.jobs_max), report::FormatCount(c.gpus_max));
  return text;
}

report::Document RenderFit(const trace::GoodnessOfFit& fit) {
  report::TextTable table({{"marginal", Align::kLeft, "", "which property of the jobs"},
                           {"quantity", Align::kLeft},
                           {"published", Align::kRight},
                           {"trace", Align::kRight},
                           {"unit", Align::kLeft},
                           {"distance", Align::kRight, "",
                            "relative error in %; for distributions Kolmogorov-Smirnov, for labels total variation"},
                           {"band", Align::kRight, "", "largest distance that is accepted"},
                           {"", Align::kLeft}});
  for (const FitRow& row : SelectRows(fit)) {
    table.AddRow({row.marginal, row.quantity, FormatValue(row.published), FormatValue(row.ours), row.unit,
                  FormatDistance(row, row.distance), FormatDistance(row, row.band), Verdict(row)});
  }
  report::Document text = std::move(table);
  text += RenderUnjudged(fit);
  text += fmt::format("{} of {} judged rows are inside the acceptance bands of {}.\n",
                      fit.num_judged() - fit.num_outside(), fit.num_judged(), fit.profile);
  return text;
}

report::Json FitToJson(const trace::GoodnessOfFit& fit) {
  report::Json rows = report::Json::array();
  for (const FitRow& row : fit.rows) {
    rows.push_back({{"marginal", row.marginal},
                    {"quantity", row.quantity},
                    {"unit", row.unit},
                    {"published", report::NumberOrNull(row.published)},
                    {"ours", report::NumberOrNull(row.ours)},
                    {"measure", trace::FitMeasureName(row.measure)},
                    {"distance", report::NumberOrNull(row.distance)},
                    {"band", row.band},
                    {"inside", row.is_judged ? report::Json(row.is_inside()) : report::Json(nullptr)},
                    {"note", row.note}});
  }
  return {{"trace", fit.trace},           {"against", fit.profile}, {"jobs", fit.num_jobs},
          {"gpu_jobs", fit.num_gpu_jobs}, {"days", fit.num_days},   {"outside", fit.num_outside()},
          {"rows", std::move(rows)}};
}

report::Document RenderCleaning(const trace::CleaningReport& report) {
  report::Document text = fmt::format(
      "Read {} of job.csv and {} of worker.csv{}; kept {}, {} of them with GPUs.\n",
      report::FormatCount(report.num_job_rows, "row"), report::FormatCount(report.num_worker_rows, "row"),
      report.num_hosts > 0 ? fmt::format(", {} of topo.csv", report::FormatCount(report.num_hosts, "host")) : "",
      report::FormatCount(report.num_jobs, "job"), report::FormatCount(report.num_gpu_jobs));
  report::TextTable table({{"what", Align::kLeft},
                           {"count", Align::kRight},
                           {"public", Align::kRight, "", "count in the public files, where it is known"},
                           {"what was done", Align::kLeft},
                           {"first", Align::kLeft, "", "an example"}});
  for (const trace::TrapText& trap : trace::TrapTexts()) {
    const uint64_t count = report.count(trap.trap);
    if (count == 0) continue;
    table.AddRow({fmt::format("{}: {}", trap.unit, trap.what), report::FormatCount(count),
                  trap.published ? report::FormatCount(*trap.published) : "", std::string(trap.rule),
                  report.examples[static_cast<size_t>(trap.trap)]});
  }
  if (!table.empty()) text += std::move(table);
  for (const std::string& variants : report.case_variants) {
    text += fmt::format("Labels that differ only in case are kept apart: {}.\n", report::CleanText(variants));
  }
  return text;
}

report::Json CleaningToJson(const trace::CleaningReport& report) {
  report::Json traps = report::Json::array();
  for (const trace::TrapText& trap : trace::TrapTexts()) {
    traps.push_back({{"what", trap.what},
                     {"unit", trap.unit},
                     {"count", report.count(trap.trap)},
                     {"published", trap.published ? report::Json(*trap.published) : report::Json(nullptr)},
                     {"rule", trap.rule},
                     {"example", report::NameOrNull(report.examples[static_cast<size_t>(trap.trap)])}});
  }
  return {{"job_rows", report.num_job_rows}, {"worker_rows", report.num_worker_rows},
          {"hosts", report.num_hosts},       {"jobs", report.num_jobs},
          {"gpu_jobs", report.num_gpu_jobs}, {"rdma_pods", report.num_rdma_pods},
          {"traps", std::move(traps)},       {"case_variants", report.case_variants}};
}

}  // namespace fairlead::cli

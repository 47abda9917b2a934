#include "trace/scenario_export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace fairlead::trace {

namespace {

std::string Quote(std::string_view text) {
  std::string quoted(1, '"');
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

bool IsThere(const TraceJob& job, const ScenarioExportOptions& options) {
  return job.submit_s < options.to_s && job.submit_s + job.duration_s > options.from_s;
}

// The part of a job that lies behind the begin of the stretch, on its clock.
TraceJob Shift(TraceJob job, double from_s) {
  const double end_s = job.submit_s + job.duration_s;
  job.submit_s = std::max(job.submit_s - from_s, 0.0);
  job.duration_s = end_s - from_s - job.submit_s;
  return job;
}

std::string RenderHead(const Trace& trace, const ScenarioExportOptions& options) {
  std::string yaml = fmt::format("title: {}\nnotes:\n",
                                 Quote(fmt::format("{}: seconds {} to {}", trace.title, options.from_s, options.to_s)));
  for (const std::string& note : trace.notes) yaml += fmt::format("  - {}\n", Quote(note));
  yaml +=
      "  - \"Assumed: the model of each label; jobs start when they are submitted and hold their GPUs as long "
      "as they "
      "did in the trace.\"\n";
  yaml += fmt::format("fabric_file: {}\nplacement: {}\npolicies: [{}]\nseeds: {}\n", Quote(options.fabric_file),
                      options.placement, fmt::join(options.policies, ", "), options.num_seeds);
  return yaml;
}

std::string RenderTraceSection(const std::vector<TraceJob>& jobs, const TraceProfile& profile,
                               const ScenarioExportOptions& options) {
  std::string yaml = fmt::format("trace:\n  file: {}\n  window: {{from_s: 0, to_s: {}}}\n", Quote(options.trace_file),
                                 options.to_s - options.from_s);
  std::set<std::string_view> labels;
  for (const TraceJob& job : jobs) labels.insert(job.model);
  std::string models;
  for (const ModelCount& model : profile.models) {
    if (model.stands_for.empty() || !labels.contains(model.name)) continue;
    models += fmt::format("    - {{label: {}, model: {}}}\n", Quote(model.name), Quote(model.stands_for));
  }
  if (!models.empty()) yaml += "  models:\n" + models;
  return yaml + fmt::format("  spread:\n    - models: [{}]\n", fmt::join(profile.unlabelled_stand_ins, ", "));
}

}  // namespace

Result<ScenarioExport> ExportScenario(const Trace& trace, const TraceProfile& profile,
                                      const ScenarioExportOptions& options) {
  if (!(options.from_s >= 0 && options.to_s > options.from_s && options.to_s <= kMaxSeconds)) {
    return InvalidArgument(
        fmt::format("expected a stretch with 0 <= from < to, found {} to {} s", options.from_s, options.to_s));
  }
  if (profile.unlabelled_stand_ins.empty()) {
    return InvalidArgument(
        fmt::format("the trace profile {} has no unlabelled_stand_ins; add model profiles to it", profile.name));
  }
  ScenarioExport result;
  for (const TraceJob& job : trace.jobs) {
    if (!IsThere(job, options)) continue;
    if (job.gpus == 0) {
      ++result.num_jobs_without_gpus;
      continue;
    }
    result.jobs.push_back(Shift(job, options.from_s));
  }
  SortJobs(&result.jobs);
  result.yaml = RenderHead(trace, options) + RenderTraceSection(result.jobs, profile, options);
  if (!result.jobs.empty()) return result;
  return InvalidArgument(fmt::format(
      "{}: no GPU job is there between {} and {} s; the trace has {} jobs, the first submitted at {} s, the "
      "last at {} s",
      trace.title, options.from_s, options.to_s, trace.jobs.size(),
      trace.jobs.empty() ? 0.0 : trace.jobs.front().submit_s, trace.jobs.empty() ? 0.0 : trace.jobs.back().submit_s));
}

}  // namespace fairlead::trace

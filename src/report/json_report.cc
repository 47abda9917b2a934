#include "report/json_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace fairlead::report {
namespace {

// Utilizations over time are kept as float; more digits than this would only be noise.
constexpr double kSeriesSteps = 1e6;

template <class Numbers>
Json SeriesToJson(const Numbers& numbers) {
  Json array = Json::array();
  for (const auto number : numbers) {
    array.push_back(NumberOrNull(std::round(static_cast<double>(number) * kSeriesSteps) / kSeriesSteps));
  }
  return array;
}

Json ProfilingErrorToJson(const std::optional<sim::ProfilingError>& error) {
  if (!error) return nullptr;
  return {{"window_s", NumberOrNull(error->window_s)},
          {"iteration_time", NumberOrNull(error->iteration_time)},
          {"work", NumberOrNull(error->work)},
          {"bytes", NumberOrNull(error->bytes)}};
}

Json ControlToJson(const sim::ControlChange& change) {
  return {{"time_s", NumberOrNull(change.time_s)}, {"jobs_started", change.jobs_started},
          {"jobs_ended", change.jobs_ended},       {"links_changed", change.links_changed},
          {"path_changes", change.path_changes},   {"level_changes", change.level_changes}};
}

Json AllocationToJson(const sim::AllocationResult& allocation) {
  Json sizes = Json::array();
  for (const sim::SizeChange& change : allocation.sizes) {
    sizes.push_back({{"time_s", NumberOrNull(change.time_s)}, {"gpus", change.num_gpus}, {"reason", change.reason}});
  }
  return {{"sizes", std::move(sizes)},
          {"waited_s", NumberOrNull(allocation.waited_s)},
          {"restarts", allocation.num_restarts},
          {"stops", allocation.num_stops},
          {"held_gpu_s", NumberOrNull(allocation.held_gpu_s)},
          {"busy_gpu_s", NumberOrNull(allocation.busy_gpu_s)}};
}

Json JobToJson(const sim::JobResult& job) {
  Json json = {{"id", job.id.value()},
               {"gpus", job.num_gpus},
               {"iterations", NumberOrNull(job.iterations)},
               {"iteration_s", NumberOrNull(job.iteration_s)},
               {"slowdown", NumberOrNull(job.slowdown)},
               {"jct_s", job.finished ? NumberOrNull(job.end_s - job.arrival_s) : Json(nullptr)},
               {"level", job.level},
               {"bounding_link", NameOrNull(job.bounding_link)},
               {"name", job.name},
               {"model", job.model},
               {"arrival_s", NumberOrNull(job.arrival_s)},
               {"start_s", job.start_s < 0 ? Json(nullptr) : NumberOrNull(job.start_s)},
               {"end_s", NumberOrNull(job.end_s)},
               {"finished", job.finished},
               {"solo_iteration_s", NumberOrNull(job.solo_iteration_s)},
               {"compute_s", NumberOrNull(job.compute_s)},
               {"gpu_hours_lost", NumberOrNull(GpuHoursLost(job))},
               {"gpu_intensity", NumberOrNull(job.gpu_intensity)},
               {"priority_rank", job.priority_rank},
               {"profiling_error", ProfilingErrorToJson(job.profiling_error)},
               {"reason", job.reason}};
  if (job.cnps) json["cnps"] = NumberOrNull(*job.cnps);
  if (job.allocation) json["allocation"] = AllocationToJson(*job.allocation);
  return json;
}

Json LinkToJson(const sim::LinkResult& link) {
  Json json = {{"id", link.id.value()},
               {"tier", topology::Name(link.tier)},
               {"utilization", NumberOrNull(link.utilization)},
               {"name", link.name},
               {"capacity_bytes_per_s", NumberOrNull(link.capacity_bytes_per_s)},
               {"jobs", link.num_jobs}};
  if (!link.utilization_over_time.empty()) json["utilization_over_time"] = SeriesToJson(link.utilization_over_time);
  return json;
}

Json ContentionToJson(const sim::ContentionResult& contention) {
  return {{"victim", contention.victim.value()},
          {"culprit", contention.culprit.value()},
          {"link", contention.link.value()},
          {"link_name", contention.link_name},
          {"shared_s", NumberOrNull(contention.shared_s)},
          {"lost_s", NumberOrNull(contention.lost_s)},
          {"yielded", contention.yielded}};
}

Json TimelineToJson(const sim::Timeline& timeline) {
  return {{"bin_s", NumberOrNull(timeline.bin_s)},
          {"gpu_busy", SeriesToJson(timeline.gpu_busy)},
          {"network_load", SeriesToJson(timeline.network_load)},
          {"running_jobs", timeline.running_jobs}};
}

template <class Items, class Convert>
Json ArrayOf(const Items& items, Convert convert) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(convert(item));
  return array;
}

Json RunToJson(const sim::RunResult& run) {
  Json json = {{"policy", run.policy},
               {"seed", run.seed},
               {"event_hash", fmt::format("{:016x}", run.event_hash)},
               {"partial", run.partial},
               {"simulated_s", NumberOrNull(run.simulated_s)},
               {"wall_s", NumberOrNull(run.wall_s)},
               {"peak_rss_mb", NumberOrNull(run.peak_rss_mb)},
               {"fast_forward_fraction", NumberOrNull(run.fast_forward_fraction)},
               {"gpu_utilization",
                {{"busy", NumberOrNull(run.busy)},
                 {"flop_weighted", NumberOrNull(run.flop_weighted)},
                 {"vs_ideal", NumberOrNull(run.vs_ideal)}}},
               {"jobs", ArrayOf(run.jobs, JobToJson)},
               {"links", ArrayOf(run.links, LinkToJson)},
               {"fast_forward_error_bound", NumberOrNull(run.fast_forward_error_bound)},
               {"slowdown", {{"mean", NumberOrNull(run.mean_slowdown)}, {"p99", NumberOrNull(run.p99_slowdown)}}},
               {"gpu_hours_lost", NumberOrNull(run.gpu_hours_lost)},
               {"path_changes", run.path_changes},
               {"level_changes", run.level_changes},
               {"num_plans", run.num_plans},
               {"control", ArrayOf(run.control, ControlToJson)},
               {"colliding_links", run.colliding_links},
               {"contention", ArrayOf(run.contention, ContentionToJson)},
               {"timeline", TimelineToJson(run.timeline)}};
  if (run.congestion_loss) json["congestion_loss"] = NumberOrNull(*run.congestion_loss);
  if (!run.allocation.empty()) json["allocation"] = run.allocation;
  return json;
}

Json SpreadToJson(const Spread& spread) {
  if (!spread.known()) return nullptr;
  return {{"mean", spread.mean},
          {"min", spread.min},
          {"max", spread.max},
          {"deviation", spread.deviation},
          {"runs", spread.count}};
}

Json SummaryToJson(const PolicySummary& summary) {
  return {{"policy", summary.policy},
          {"seeds", summary.seeds},
          {"partial_runs", summary.num_partial},
          {"gpu_utilization",
           {{"busy", SpreadToJson(summary.busy)},
            {"flop_weighted", SpreadToJson(summary.flop_weighted)},
            {"vs_ideal", SpreadToJson(summary.vs_ideal)}}},
          {"mean_slowdown", SpreadToJson(summary.mean_slowdown)},
          {"p99_slowdown", SpreadToJson(summary.p99_slowdown)},
          {"gpu_hours_lost_per_day", SpreadToJson(summary.gpu_hours_lost_per_day)},
          {"colliding_links", SpreadToJson(summary.colliding_links)},
          {"hottest_link_utilization", SpreadToJson(summary.hottest_utilization)}};
}

Json ChangeToJson(const JobChange& job) {
  return {{"id", job.id.value()},
          {"slowdown_before", job.slowdown_before > 0 ? NumberOrNull(job.slowdown_before) : Json(nullptr)},
          {"slowdown_after", job.slowdown_after > 0 ? NumberOrNull(job.slowdown_after) : Json(nullptr)},
          {"gpu_hours_won_per_day", NumberOrNull(job.gpu_hours_won_per_day)},
          {"yielded_s", NumberOrNull(job.yielded_s)}};
}

Json ComparisonToJson(const PolicyComparison& comparison) {
  return {{"baseline", comparison.baseline.policy},
          {"candidate", comparison.candidate.policy},
          {"paired_seeds", comparison.num_pairs},
          {"busy_gain", SpreadToJson(comparison.busy_gain)},
          {"flop_weighted_gain", SpreadToJson(comparison.flop_weighted_gain)},
          {"vs_ideal_gain", SpreadToJson(comparison.vs_ideal_gain)},
          {"gpu_hours_won_per_day", SpreadToJson(comparison.gpu_hours_won_per_day)},
          {"facts", ExplainDifference(comparison)},
          {"jobs", ArrayOf(comparison.jobs, ChangeToJson)}};
}

Json FailedRunToJson(const sim::FailedRun& run) {
  return {{"policy", run.policy}, {"seed", run.seed}, {"message", run.message}, {"reproduce", run.reproduce}};
}

}  // namespace

Json NumberOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json NameOrNull(const std::string& name) { return name.empty() ? Json(nullptr) : Json(name); }

Json ToJson(const sim::SimulationReport& report) {
  const std::vector<PolicySummary> summaries = SummarizePolicies(report);
  return {{"scenario", report.scenario},
          {"version", report.version},
          {"runs", ArrayOf(report.runs, RunToJson)},
          {"fabric", report.fabric_summary},
          {"notes", report.notes},
          {"failed_runs", ArrayOf(report.failed_runs, FailedRunToJson)},
          {"summary", ArrayOf(summaries, SummaryToJson)},
          {"comparisons", ArrayOf(CompareWithBaseline(report, summaries), ComparisonToJson)}};
}

std::string Dump(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n'; }

std::string RenderJson(const sim::SimulationReport& report) { return Dump(ToJson(report)); }

}  // namespace fairlead::report

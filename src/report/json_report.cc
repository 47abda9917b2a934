#include "report/json_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/policy_comparison.h"
#include "report/run_summary.h"

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

Json MigrationsToJson(const sim::JobMigrations& migrations) {
  Json moves = Json::array();
  for (const sim::WorkerMove& move : migrations.moves) {
    moves.push_back({{"time_s", NumberOrNull(move.time_s)}, {"gpus", move.num_gpus}, {"reason", move.reason}});
  }
  return {{"moves", std::move(moves)}, {"stopped_s", NumberOrNull(migrations.stopped_s)}};
}

Json LossesToJson(const std::vector<sim::LossResult>& losses) {
  Json array = Json::array();
  for (const sim::LossResult& loss : losses) array.push_back(ToJson(loss));
  return array;
}

// Null where the job never began.
Json SlowdownToJson(double slowdown) { return slowdown > 0 ? NumberOrNull(slowdown) : Json(nullptr); }

Json JobToJson(const sim::JobResult& job) {
  Json json = {{"id", job.id.value()},
               {"gpus", job.num_gpus},
               {"iterations", NumberOrNull(job.iterations)},
               {"iteration_s", NumberOrNull(job.iteration_s)},
               {"slowdown", SlowdownToJson(job.slowdown)},
               {"jct_s", job.finished ? NumberOrNull(job.end_s - job.arrival_s) : Json(nullptr)},
               {"level", job.level},
               {"bounding_link", NameOrNull(job.bounding_link)},
               {"work", NumberOrNull(job.work)},
               {"state", sim::JobConditionName(job.condition)},
               {"slowdown_is_bound", IsBound(job)},
               {"lost_s", NumberOrNull(job.lost_s)},
               {"lost_gpu_hours", NumberOrNull(job.lost_gpu_hours)},
               {"lost_to", LossesToJson(job.lost_to)},
               {"stalled_s", NumberOrNull(job.stalled_s)},
               {"held_s", NumberOrNull(job.held_s)},
               {"name", job.name},
               {"model", job.model},
               {"arrival_s", NumberOrNull(job.arrival_s)},
               {"start_s", job.start_s < 0 ? Json(nullptr) : NumberOrNull(job.start_s)},
               {"end_s", NumberOrNull(job.end_s)},
               {"finished", job.finished},
               {"solo_iteration_s", NumberOrNull(job.solo_iteration_s)},
               {"compute_s", NumberOrNull(job.compute_s)},
               {"gpu_intensity", NumberOrNull(job.gpu_intensity)},
               {"priority_rank", job.priority_rank},
               {"profiling_error", ProfilingErrorToJson(job.profiling_error)},
               {"reason", job.reason}};
  if (job.cnps) json["cnps"] = NumberOrNull(*job.cnps);
  if (job.queue_wait_s) json["queue_wait_s"] = NumberOrNull(*job.queue_wait_s);
  if (job.allocation) json["allocation"] = AllocationToJson(*job.allocation);
  if (job.migrations) {
    json["migrations"] = MigrationsToJson(*job.migrations);
  }
  return json;
}

Json LinkToJson(const sim::LinkResult& link) {
  Json json = {{"id", link.id.value()},
               {"tier", topology::Name(link.tier)},
               {"utilization", NumberOrNull(link.utilization)},
               {"name", link.name},
               {"capacity_bytes_per_s", NumberOrNull(link.capacity_bytes_per_s)},
               {"jobs", link.num_jobs}};
  if (link.queue) {
    json["queue_bytes"] = NumberOrNull(link.queue->mean_bytes);
    json["queue_bytes_most"] = NumberOrNull(link.queue->most_bytes);
  }
  if (!link.utilization_over_time.empty()) json["utilization_over_time"] = SeriesToJson(link.utilization_over_time);
  return json;
}

Json TimelineToJson(const sim::Timeline& timeline) {
  return {{"bin_s", NumberOrNull(timeline.bin_s)},
          {"gpu_busy", SeriesToJson(timeline.gpu_busy)},
          {"held_gpu_s", SeriesToJson(timeline.held_gpu_s)},
          {"network_load", SeriesToJson(timeline.network_load)},
          {"running_jobs", timeline.running_jobs}};
}

template <class Items, class Convert>
Json ArrayOf(const Items& items, Convert convert) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(convert(item));
  return array;
}

// Null: it did not happen.
Json MomentOrNull(double time_s) { return time_s < 0 ? Json(nullptr) : NumberOrNull(time_s); }

Json FaultToJson(const sim::FaultResult& fault) {
  return {{"host", fault.host_name},
          {"kind", fault.kind},
          {"began_s", NumberOrNull(fault.began_s)},
          {"hit_s", MomentOrNull(fault.hit_s)},
          {"found_s", MomentOrNull(fault.found_s)},
          {"isolated_s", MomentOrNull(fault.isolated_s)},
          {"resumed_s", MomentOrNull(fault.resumed_s)},
          {"back_s", MomentOrNull(fault.back_s)},
          {"jobs_hit", fault.num_jobs_hit}};
}

Json HealthToJson(const sim::HealthResult& health) {
  return {{"faults", ArrayOf(health.faults, FaultToJson)},
          {"hung_gpu_s", NumberOrNull(health.hung_gpu_s)},
          {"repeated_gpu_s", NumberOrNull(health.repeated_gpu_s)},
          {"restarted_gpu_s", NumberOrNull(health.restarted_gpu_s)},
          {"slowed_gpu_s", NumberOrNull(health.slowed_gpu_s)},
          {"away_gpu_s", NumberOrNull(health.away_gpu_s)},
          {"failures", health.num_failures},
          {"isolations", health.num_isolations},
          {"wrong_isolations", health.num_wrong_isolations}};
}

Json BackgroundToJson(const sim::BackgroundResult& stream) {
  return {{"name", stream.name},
          {"messages", stream.num_messages},
          {"unfinished", stream.num_unfinished},
          {"skipped", stream.num_skipped},
          {"gigabytes", NumberOrNull(stream.gigabytes)},
          {"mean_s", NumberOrNull(stream.mean_s)},
          {"p50_s", NumberOrNull(stream.p50_s)},
          {"p99_s", NumberOrNull(stream.p99_s)},
          {"max_s", NumberOrNull(stream.max_s)},
          {"mean_slowdown", NumberOrNull(stream.mean_slowdown)}};
}

Json MigrationToJson(const sim::MigrationResult& migration) {
  return {{"plans", migration.num_plans},
          {"unrelieved", migration.num_unrelieved},
          {"moved_jobs", migration.moved_jobs},
          {"moved_gpus", migration.moved_gpus},
          {"stopped_s", NumberOrNull(migration.stopped_s)},
          {"lost_gpu_hours", NumberOrNull(migration.lost_gpu_hours)}};
}

Json PlacementChoicesToJson(const traffic::PlacementCounters& choices) {
  const auto mean = [&](double sum) {
    return choices.num_choices == 0 ? Json(nullptr) : NumberOrNull(sum / static_cast<double>(choices.num_choices));
  };
  return {{"choices", choices.num_choices},     {"candidates", choices.num_candidates},
          {"loops", choices.num_looped},        {"cut_off", choices.num_cut_off},
          {"fallbacks", choices.num_fallbacks}, {"changed", choices.num_changed},
          {"mean_score", mean(choices.score)},  {"mean_first_score", mean(choices.first_score)}};
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
               {"draw", run.draw},
               {"phase_seed", run.phase_seed},
               {"placement_seed", run.placement_seed},
               {"mean_slowdown", SlowdownToJson(run.mean_slowdown)},
               {"worst_slowdown", SlowdownToJson(run.worst_slowdown)},
               {"p99_slowdown", run.p99_slowdown ? NumberOrNull(*run.p99_slowdown) : Json(nullptr)},
               {"slowdowns_are_bounds", run.slowdowns_are_bounds},
               {"stalled_jobs", run.num_stalled},
               {"cut_off_jobs", run.num_cut_off},
               {"gpu_hours_lost", NumberOrNull(run.gpu_hours_lost)},
               {"path_changes", run.path_changes},
               {"level_changes", run.level_changes},
               {"num_plans", run.num_plans},
               {"control", ArrayOf(run.control, ControlToJson)},
               {"colliding_links", run.colliding_links},
               {"timeline", TimelineToJson(run.timeline)}};
  if (run.congestion_loss) json["congestion_loss"] = NumberOrNull(*run.congestion_loss);
  if (!run.allocation.empty()) json["allocation"] = run.allocation;
  if (run.health) json["health"] = HealthToJson(*run.health);
  if (!run.background.empty()) json["background"] = ArrayOf(run.background, BackgroundToJson);
  if (run.migration) json["migration"] = MigrationToJson(*run.migration);
  if (run.placement_choices) json["placement_choices"] = PlacementChoicesToJson(*run.placement_choices);
  return json;
}

Json SpreadToJson(const Spread& spread) {
  if (!spread.known()) return nullptr;
  return {{"mean", spread.mean},
          {"min", spread.min},
          {"max", spread.max},
          {"deviation", spread.deviation},
          {"low", spread.has_interval() ? Json(spread.low()) : Json(nullptr)},
          {"high", spread.has_interval() ? Json(spread.high()) : Json(nullptr)},
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
          {"worst_slowdown", SpreadToJson(summary.worst_slowdown)},
          {"p99_slowdown", SpreadToJson(summary.p99_slowdown)},
          {"stalled_jobs", SpreadToJson(summary.num_stalled)},
          {"cut_off_jobs", SpreadToJson(summary.num_cut_off)},
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

std::vector<std::string> NotesOf(const sim::SimulationReport& report) {
  std::vector<std::string> notes = report.notes;
  notes.insert(notes.end(), report.doubts.begin(), report.doubts.end());
  return notes;
}

Json GoalToJson(const PolicyComparison& comparison, const GoalChange& change) {
  const bool compared = change.verdict != Verdict::kNotCompared;
  const bool has_interval = compared && change.difference.has_interval();
  return {{"policy", comparison.candidate},
          {"against", comparison.baseline},
          {"goal", GoalName(change.goal)},
          {"difference", compared ? NumberOrNull(change.difference.mean) : Json(nullptr)},
          {"low", has_interval ? NumberOrNull(change.difference.low()) : Json(nullptr)},
          {"high", has_interval ? NumberOrNull(change.difference.high()) : Json(nullptr)},
          {"verdict", VerdictName(change.verdict)}};
}

Json GoalsToJson(const std::vector<PolicyComparison>& comparisons) {
  Json array = Json::array();
  for (const PolicyComparison& comparison : comparisons) {
    for (const GoalChange& change : comparison.goals) array.push_back(GoalToJson(comparison, change));
  }
  return array;
}

Json TradeToJson(const PolicyComparison& comparison) {
  return {{"policy", comparison.candidate},
          {"against", comparison.baseline},
          {"paired_draws", comparison.num_pairs},
          {"draws_compared_in_part", comparison.num_pairs_in_part},
          {"left_out", comparison.left_out},
          {"in_a_line", SummarizeTrade(comparison)},
          {"facts", ExplainDifference(comparison)},
          {"gpu_hours_won_per_day", SpreadToJson(comparison.gpu_hours_won_per_day)},
          {"jobs", ArrayOf(comparison.jobs, ChangeToJson)}};
}

Json FailedRunToJson(const sim::FailedRun& run) {
  return {{"policy", run.policy},
          {"draw", run.draw},
          {"seed", run.seed},
          {"message", run.message},
          {"reproduce", run.reproduce}};
}

}  // namespace

Json ToJson(const sim::LossResult& loss) {
  return {{"kind", sim::LossCauseName(loss.cause)},
          {"job", loss.culprit.valid() ? Json(loss.culprit.value()) : Json(nullptr)},
          {"link", NameOrNull(loss.link_name)},
          {"gpu_hours", NumberOrNull(loss.gpu_hours)},
          {"lost_s", NumberOrNull(loss.lost_s)}};
}

Json ToJson(const sim::SimulationReport& report) {
  const std::vector<PolicySummary> summaries = SummarizePolicies(report);
  const std::vector<PolicyComparison> comparisons = CompareWithBaseline(report, summaries);
  return {{"scenario", report.scenario},
          {"version", report.version},
          {"runs", ArrayOf(report.runs, RunToJson)},
          {"comparison", GoalsToJson(comparisons)},
          {"vary", report.varied},
          {"fabric", report.fabric_summary},
          {"notes", NotesOf(report)},
          {"failed_runs", ArrayOf(report.failed_runs, FailedRunToJson)},
          {"summary", ArrayOf(summaries, SummaryToJson)},
          {"trades", ArrayOf(comparisons, TradeToJson)}};
}

std::string RenderJson(const sim::SimulationReport& report) { return Dump(ToJson(report)); }

}  // namespace fairlead::report

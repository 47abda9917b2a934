#include "cli/sched/sched_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "cli/sched/sched_settings.h"
#include "report/json_value.h"
#include "report/number_format.h"
#include "report/text_table.h"

namespace fairlead::cli {

namespace {

using report::Align;
using report::Json;
using sim::Spread;

std::string Whole(double value) { return report::FormatFixed(value, 0); }

Json ToJson(const Spread& spread) {
  Json json = Json::object();
  for (const auto& [name, value] :
       {std::pair("mean", spread.mean), std::pair("p50", spread.p50), std::pair("p95", spread.p95),
        std::pair("p99", spread.p99), std::pair("max", spread.max)}) {
    json[name] = spread.count > 0 ? report::NumberOrNull(value) : Json();
  }
  return json;
}

Json OptionalNumber(const std::optional<double>& value) { return value ? report::NumberOrNull(*value) : Json(); }

void AddJobs(const sim::ElasticResult& result, size_t workload, const sim::ElasticCluster& cluster, Json* jobs) {
  const std::vector<double> unfairness = sim::FinishTimeUnfairness(result, cluster);
  for (size_t j = 0; j < result.jobs.size(); ++j) {
    const sim::ElasticJobResult& job = result.jobs[j];
    Json row = {{"id", job.name},
                {"workload", workload},
                {"gpus", job.requested_gpus},
                {"submit_s", job.submission_s},
                {"first_start_s", OptionalNumber(job.first_start_s)},
                {"end_s", OptionalNumber(job.completion_s)},
                {"jct_s", job.completion_s ? report::NumberOrNull(job.jct_s()) : Json()},
                {"wait_s", job.waited_s},
                {"restarts", job.num_restarts},
                {"stops", job.num_stops},
                {"failures", job.num_failures},
                {"gpu_hours", job.attained_gpu_s / 3600},
                {"rho", unfairness[j] > 0 ? Json(unfairness[j]) : Json()}};
    if (!job.tenant.empty()) row["tenant"] = job.tenant;
    jobs->push_back(std::move(row));
  }
}

Json ToJson(const SchedRun& run, const sim::ElasticCluster& cluster) {
  const sim::ElasticSummary& s = run.summary;
  Json json = {{"policy", run.policy}, {"jct_s", ToJson(s.jct_s)}, {"first_wait_s", ToJson(s.first_wait_s)}};
  json["first_wait_by_gpus_s"] = Json::array();
  for (size_t c = 0; c < sim::kSizeClasses.size(); ++c) {
    if (s.first_wait_by_size_s[c].count == 0) continue;
    Json row = ToJson(s.first_wait_by_size_s[c]);
    row["gpus"] = sim::kSizeClasses[c];
    row["jobs"] = s.first_wait_by_size_s[c].count;
    json["first_wait_by_gpus_s"].push_back(std::move(row));
  }
  json["wait_s"] = ToJson(s.wait_s);
  json["restarts"] = ToJson(s.restarts);
  json["stops"] = ToJson(s.stops);
  json["lost_gpu_hours"] = s.lost_gpu_hours;
  json["fairness"] = {{"mean_rho", s.unfairness.mean},
                      {"p95_rho", s.unfairness.p95},
                      {"max_rho", s.unfairness.max},
                      {"share_above_1", s.unfair_share}};
  json["forecast_error"] = Json::array();
  for (size_t i = 0; i < sim::kForecastShares.size(); ++i) {
    Json row = ToJson(s.forecast_error[i]);
    row["after"] = sim::kForecastShares[i];
    row["jobs"] = s.forecast_error[i].count;
    json["forecast_error"].push_back(std::move(row));
  }
  json["makespan_s"] = s.makespan_s;
  json["gpu_hours"] = s.gpu_hours;
  json["gpu_utilization"] = s.gpu_utilization;
  json["decisions"] =
      std::accumulate(run.results.begin(), run.results.end(), uint64_t{0},
                      [](uint64_t sum, const sim::ElasticResult& result) { return sum + result.num_decisions; });
  json["wall_s"] = run.wall_s;
  json["unfinished"] = s.unfinished;
  json["jobs"] = Json::array();
  for (size_t w = 0; w < run.results.size(); ++w) AddJobs(run.results[w], w, cluster, &json["jobs"]);
  return json;
}

report::TextTable TableOf(const SchedReport& report) {
  report::TextTable table({{"policy", Align::kLeft},
                           {"mean", Align::kRight, "completion, s", "JCT, from submission to end"},
                           {"p50", Align::kRight, "completion, s", "nearest rank"},
                           {"p95", Align::kRight, "completion, s"},
                           {"p99", Align::kRight, "completion, s"},
                           {"p95", Align::kRight, "first wait, s", "from submission to the first start"},
                           {"max", Align::kRight, "first wait, s"},
                           {"mean", Align::kRight, "restarts", "after the first start, each job"},
                           {"max", Align::kRight, "restarts"},
                           {"lost", Align::kRight, "GPU-hours", "in restarts, and of training undone by failures"},
                           {"max", Align::kRight, "rho", "completion over that with a fair share of the cluster"},
                           {"above 1", Align::kRight, "rho", "share of jobs worse off than with their share"}});
  for (const SchedRun& run : report.runs) {
    const sim::ElasticSummary& s = run.summary;
    table.AddRow({run.policy, Whole(s.jct_s.mean), Whole(s.jct_s.p50), Whole(s.jct_s.p95), Whole(s.jct_s.p99),
                  Whole(s.first_wait_s.p95), Whole(s.first_wait_s.max), report::FormatFixed(s.restarts.mean, 2),
                  Whole(s.restarts.max), report::FormatFixed(s.lost_gpu_hours, 1),
                  report::FormatFixed(s.unfairness.max, 2), report::FormatPercent(s.unfair_share)});
  }
  return table;
}

// How far off predictions of ends were.
report::TextTable ForecastsOf(const SchedReport& report) {
  report::TextTable table(
      {{"policy", Align::kLeft},
       {"jobs", Align::kRight, "after 25 %", "of a job's time; how many were predicted by then"},
       {"p50", Align::kRight, "after 25 %", "error of the predicted end, either way, relative to the time left"},
       {"p95", Align::kRight, "after 25 %"},
       {"jobs", Align::kRight, "after 50 %"},
       {"p50", Align::kRight, "after 50 %"},
       {"p95", Align::kRight, "after 50 %"},
       {"jobs", Align::kRight, "after 75 %"},
       {"p50", Align::kRight, "after 75 %"},
       {"p95", Align::kRight, "after 75 %"}});
  for (const SchedRun& run : report.runs) {
    std::vector<std::string> row = {run.policy};
    for (const Spread& error : run.summary.forecast_error) {
      row.push_back(fmt::format("{}", error.count));
      row.push_back(error.count > 0 ? report::FormatPercent(error.p50) : "");
      row.push_back(error.count > 0 ? report::FormatPercent(error.p95) : "");
    }
    table.AddRow(std::move(row));
  }
  return table;
}

// What each tenant got.
report::TextTable TenantsOf(const SchedReport& report) {
  report::TextTable table({{"policy", Align::kLeft},
                           {"tenant", Align::kLeft},
                           {"jobs", Align::kRight, "", "those that ended count for completion"},
                           {"mean", Align::kRight, "completion, s"},
                           {"p95", Align::kRight, "completion, s", "nearest rank"},
                           {"mean", Align::kRight, "first wait, s"},
                           {"max", Align::kRight, "first wait, s"},
                           {"GPU-hours", Align::kRight, "", "held"}});
  for (const SchedRun& run : report.runs) {
    for (const auto& [name, tenant] : sim::SummarizeTenants(run.results)) {
      table.AddRow({run.policy, name.empty() ? "(none)" : name, fmt::format("{}", tenant.num_jobs),
                    Whole(tenant.jct_s.mean), Whole(tenant.jct_s.p95), Whole(tenant.first_wait_s.mean),
                    Whole(tenant.first_wait_s.max), report::FormatFixed(tenant.gpu_hours, 1)});
    }
  }
  return table;
}

}  // namespace

std::string TitleOf(const SchedReport& report) {
  if (report.workloads.size() == 1) return report.workloads.front();
  return fmt::format("{} and {} more", report.workloads.front(), report.workloads.size() - 1);
}

std::string DescribePlace(const SchedReport& report) {
  const std::string cluster = DescribeCluster(report.cluster);
  if (!report.mtbf_h) return cluster;
  return fmt::format("{}, each of which fails every {:g} h on the average, for {:g} h", cluster, *report.mtbf_h,
                     report.repair_h);
}

report::Document RenderSched(const SchedReport& report) {
  report::Document text = fmt::format("{} ({}): {} on {}; policies know {}\n\n", TitleOf(report), report.layout,
                                      report::FormatCount(report.num_jobs, "job"), DescribePlace(report), report.known);
  if (report.num_passed_over > 0) {
    text += fmt::format("{} without GPUs or time skipped\n\n", report::FormatCount(report.num_passed_over, "job"));
  }
  text += TableOf(report);
  text += "\n";
  text += ForecastsOf(report);
  if (report.has_tenants) {
    text += "\n";
    text += TenantsOf(report);
  }
  for (const SchedRun& run : report.runs) {
    const auto& unfinished = run.summary.unfinished;
    if (unfinished.empty()) continue;
    text += fmt::format("{}: {} did not end, the first is {}\n", run.policy,
                        report::FormatCount(unfinished.size(), "job"), unfinished.front());
  }
  return text;
}

namespace {

// Of one group: its numbers; of several types: null for what differs, and each under "types".
Json ClusterJson(const sim::ElasticCluster& cluster) {
  if (cluster.groups.size() == 1) {
    return {{"nodes", cluster.groups.front().num_nodes}, {"gpus_per_node", cluster.groups.front().gpus_per_node}};
  }
  Json json = {{"nodes", cluster.num_nodes()}, {"gpus_per_node", Json()}, {"types", Json::array()}};
  for (const sim::NodeGroup& group : cluster.groups) {
    json["types"].push_back(
        {{"name", group.gpu_type}, {"nodes", group.num_nodes}, {"gpus_per_node", group.gpus_per_node}});
  }
  return json;
}

}  // namespace

std::string RenderSchedJson(const SchedReport& report) {
  Json json = {{"workload", report.workloads.size() == 1 ? Json(report.workloads.front()) : Json()},
               {"workloads", report.workloads},
               {"layout", report.layout},
               {"known", report.known},
               {"mtbf_h", report.mtbf_h ? Json(*report.mtbf_h) : Json()},
               {"repair_h", report.mtbf_h ? Json(report.repair_h) : Json()},
               {"cluster", ClusterJson(report.cluster)},
               {"num_jobs", report.num_jobs},
               {"num_passed_over", report.num_passed_over},
               {"runs", Json::array()}};
  for (const SchedRun& run : report.runs) json["runs"].push_back(ToJson(run, report.cluster));
  return report::Dump(json);
}

}  // namespace fairlead::cli

#include "slurm/engine_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "slurm/state_names.h"

namespace fairlead::slurm {
namespace {

report::Json JobsJson(const std::vector<Job>& jobs) {
  report::Json json = report::Json::array();
  for (const Job& job : jobs) {
    json.push_back({{"job", job.id},
                    {"name", model::JobKey(IdentityOf(job))},
                    {"owner", job.owner},
                    {"state", NameOf(job.state)},
                    {"held", job.is_held},
                    {"restarts", job.num_restarts},
                    {"nodes", job.num_nodes},
                    {"hosts", job.hosts}});
  }
  return json;
}

report::Json SizesJson(const std::vector<ElasticView>& sizes) {
  report::Json json = report::Json::array();
  for (const ElasticView& view : sizes) {
    json.push_back({{"job", view.job},
                    {"nodes_min", view.nodes_min},
                    {"nodes_max", view.nodes_max},
                    {"nodes", view.num_nodes},
                    {"steps", view.steps.has_value() ? report::Json(*view.steps) : report::Json()},
                    {"steps_done", view.steps_done},
                    {"node_seconds", view.node_seconds},
                    {"restarts", view.num_restarts},
                    {"restart_cost_s", view.restart_cost.value()},
                    {"reason", view.reason}});
  }
  return json;
}

report::Json ActionsJson(const std::vector<StepOrders::UnderwayStep>& actions) {
  report::Json json = report::Json::array();
  for (const StepOrders::UnderwayStep& step : actions) {
    json.push_back({{"action", step.order.action},
                    {"step", controller::Name(step.order.step)},
                    {"attempt", step.order.attempt},
                    {"message", step.message}});
  }
  return json;
}

}  // namespace

report::Json ToJson(const EngineView& view) {
  const Readings::Shown& readings = view.readings;
  const bool has_read = readings.numbers.readings > readings.numbers.failures;
  return {{"acts", view.acts},
          {"answers", readings.numbers.answers},
          {"error", readings.status.ok() ? report::Json() : report::Json(readings.status.message())},
          {"read_at_s", has_read ? report::Json(readings.read_at.seconds().value()) : report::Json()},
          {"period_s", std::chrono::duration<double>(view.period).count()},
          {"hosts_not_in_fabric", readings.numbers.hosts_not_in_fabric},
          {"jobs_stopped", readings.numbers.jobs_stopped},
          {"actions", ActionsJson(view.actions)},
          {"sizes", SizesJson(view.sizes)},
          {"jobs", JobsJson(readings.state == nullptr ? std::vector<Job>() : readings.state->jobs)}};
}

Result<report::Json> AccountJson(uint32_t job, const ClusterState* state, const std::optional<JobAccount>& account) {
  const Job* seen = state == nullptr ? nullptr : FindJob(state->jobs, job);
  // A number that is somebody else's now: what was done was done to another job.
  const bool is_its = account.has_value() && (seen == nullptr || seen->owner == account->owner);
  if (seen == nullptr && !is_its) {
    return NotFound(fmt::format("Slurm shows no job {}, and nothing was done to one", job));
  }
  report::Json json = {{"job", job}, {"owner", seen != nullptr ? seen->owner : account->owner}};
  if (seen != nullptr) {
    json["state"] = NameOf(seen->state);
    json["held"] = seen->is_held;
    json["restarts"] = seen->num_restarts;
    json["hosts"] = seen->hosts;
    json["pending_reason"] = seen->reason;
  }
  json["left_out"] = is_its ? account->num_left_out : 0;
  json["entries"] = report::Json::array();
  if (!is_its) return json;
  for (const AccountEntry& entry : account->entries) {
    json["entries"].push_back({{"time_s", entry.at_s}, {"kind", entry.kind}, {"text", entry.text}});
  }
  return json;
}

}  // namespace fairlead::slurm

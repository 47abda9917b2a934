#include "sim/scenario_migration.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "collective/model_profile.h"
#include "scheduling/defragmentation_policy.h"

namespace fairlead::sim {
namespace {

// Of a gradient in the buffer of a job that is given by plain numbers.
constexpr double kGradientBytes = 2;

// Nothing: the work comes from a file that does not say.
std::optional<double> ParametersOf(const Scenario& scenario, const ScenarioJob& entry) {
  if (const auto* simple = std::get_if<collective::SimpleIterationSpec>(&entry.work)) {
    return simple->size.value() / kGradientBytes;
  }
  const auto* profiled = std::get_if<ProfiledWork>(&entry.work);
  if (profiled == nullptr) return std::nullopt;
  return collective::Parameters(*scenario.profiles.Find(profiled->profile).value());
}

Status CheckRacks(const topology::Fabric& fabric) {
  if (fabric.num_leaf_groups() < 2 || fabric.switches(topology::NodeKind::kSpine).empty() ||
      !fabric.switches(topology::NodeKind::kCore).empty()) {
    return InvalidArgument(
        fmt::format("expected a fabric of racks under spines; found {} racks, {} spines and {} core switches",
                    fabric.num_leaf_groups(), fabric.switches(topology::NodeKind::kSpine).size(),
                    fabric.switches(topology::NodeKind::kCore).size()));
  }
  for (size_t h = 1; h < fabric.num_hosts(); ++h) {
    if (fabric.num_gpus_of(HostId(h)) == fabric.num_gpus_of(HostId(0))) continue;
    return InvalidArgument(fmt::format("expected hosts with as many GPUs each; found {} and {}",
                                       fabric.num_gpus_of(HostId(0)), fabric.num_gpus_of(HostId(h))));
  }
  return OkStatus();
}

Status CheckMovable(const Scenario& scenario, const ScenarioJob& entry) {
  const model::Job& job = entry.job;
  const uint32_t per_host = scenario.fabric.num_gpus_of(HostId(0));
  if (!job.hosts.empty()) {
    return InvalidArgument(fmt::format("job {}: expected no hosts of its own: its workers may change them", job.name));
  }
  const bool has_whole_hosts = job.gpus_per_host == per_host && job.num_gpus % per_host == 0;
  if (job.num_gpus > job.gpus_per_host && !has_whole_hosts) {
    return InvalidArgument(
        fmt::format("job {}: expected one host or whole hosts of {} GPUs, found {} GPUs, {} on each host", job.name,
                    per_host, job.num_gpus, job.gpus_per_host));
  }
  if (scenario.worker_bytes_per_parameter == 0 || ParametersOf(scenario, entry)) return OkStatus();
  return InvalidArgument(fmt::format(
      "job {}: its parameters are not known, so neither is what migrates; expected a model, plain numbers, or `cost: "
      "published-simulation`",
      job.name));
}

}  // namespace

void ReadMigration(YamlMap& root, Scenario* scenario) {
  auto section = root.Map("migration");
  if (!section) return;
  for (const std::string_view key : {"allocation", "trace", "profile_jobs"}) {
    if (root.Has(key)) root.Fail("migration", fmt::format("expected none beside {}", key));
  }
  if (scenario->simulates_agents) root.Fail("migration", "expected none beside detail: agents");
  controller::MigrationOptions& options = scenario->simulation.controller.migration;
  scenario->migration = scheduling::DefragmentationPolicyNames()[section->Choice("policy")];
  if (section->Has("max_rings")) options.max_rings = static_cast<uint32_t>(section->Int("max_rings"));
  const bool is_free = section->Choice("cost") == 1;
  for (const std::string_view key : {"bytes_per_parameter", "restart_s"}) {
    if (is_free && section->Has(key)) section->Fail(key, "expected none where migration costs nothing");
  }
  if (!is_free) {
    scenario->worker_bytes_per_parameter = section->Double("bytes_per_parameter");
    options.restart_time = SimDuration::FromSeconds(Seconds(section->Double("restart_s")));
  }
  if (!section->Finish().ok()) return;
  if (const Status status = CheckRacks(scenario->fabric); !status.ok()) root.Fail("migration", status.message());
}

Status CheckMigration(const Scenario& scenario) {
  if (scenario.migration.empty()) return OkStatus();
  FL_RETURN_IF_ERROR(CheckRacks(scenario.fabric));
  for (const ScenarioJob& entry : scenario.jobs) FL_RETURN_IF_ERROR(CheckMovable(scenario, entry));
  return OkStatus();
}

std::function<Bytes(const model::Job&)> MakeWorkerStates(const Scenario& scenario) {
  if (scenario.worker_bytes_per_parameter == 0) return nullptr;
  return [&scenario](const model::Job& job) {
    // A flow has bytes, even that of a job without a buffer.
    const double parameters = std::max(1.0, ParametersOf(scenario, scenario.jobs[job.id.index()]).value());
    return Bytes(scenario.worker_bytes_per_parameter * parameters / job.num_gpus);
  };
}

}  // namespace fairlead::sim

#include "sim/scenario_allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "scheduling/allocation_registry.h"
#include "scheduling/policy_settings.h"

namespace fairlead::sim {
namespace {

constexpr uint32_t kMaxSizes = 256;  // each of them is profiled
constexpr std::string_view kKeys[] = {"sizes",     "min_gpus",    "max_gpus",         "epochs", "iterations_per_epoch",
                                      "restart_s", "predictable", "predictable_after"};

uint32_t GpusPerHost(const topology::Fabric& fabric) {
  uint32_t most = 0;
  for (size_t h = 0; h < fabric.num_hosts(); ++h) most = std::max(most, fabric.num_gpus_of(HostId(h)));
  return most;
}

// The sizes from min_gpus to max_gpus at which the work can be split.
std::vector<uint32_t> ListSizes(const ScenarioJob& entry, uint32_t least, uint32_t most) {
  std::vector<uint32_t> sizes;
  const auto* profiled = std::get_if<ProfiledWork>(&entry.work);
  for (uint32_t gpus = least; gpus <= most; ++gpus) {
    if (profiled == nullptr || !profiled->parallelism || ResizeParallelism(*profiled->parallelism, gpus).ok())
      sizes.push_back(gpus);
  }
  return sizes;
}

std::vector<uint32_t> ReadSizes(YamlMap& map, const Scenario& scenario, const ScenarioJob& entry) {
  const auto cluster = static_cast<int64_t>(scenario.fabric.num_gpus());
  const auto asked = static_cast<int64_t>(entry.job.num_gpus);
  if (!map.Has("sizes")) {
    const auto least = static_cast<uint32_t>(map.Int("min_gpus", asked, 1, asked));
    const auto most = static_cast<uint32_t>(map.Int("max_gpus", asked, asked, std::max(asked, cluster)));
    if (most - least >= kMaxSizes) {
      map.Fail("max_gpus", fmt::format("expected at most {} sizes from min_gpus on; list fewer with sizes", kMaxSizes));
      return {};
    }
    return ListSizes(entry, least, most);
  }
  if (map.Has("min_gpus") || map.Has("max_gpus")) {
    map.Fail("sizes", "expected either sizes, or min_gpus and max_gpus; found both");
    return {};
  }
  std::vector<uint32_t> sizes;
  for (const int64_t size : map.Ints("sizes", 1, std::max(asked, cluster))) {
    if (!sizes.empty() && sizes.back() >= size) {
      map.Fail("sizes", fmt::format("expected ascending numbers of GPUs; found {} after {}", size, sizes.back()));
    }
    sizes.push_back(static_cast<uint32_t>(size));
  }
  if (!std::ranges::binary_search(sizes, entry.job.num_gpus)) {
    map.Fail("sizes", fmt::format("expected the {} GPUs that the job asks for (gpus) among them", asked));
  }
  return sizes;
}

// A number of iterations, or of epochs.
void ReadLength(YamlMap& map, model::Job* job) {
  const bool has_epochs = map.Has("epochs") || map.Has("iterations_per_epoch");
  if (has_epochs) {
    const int64_t epochs = map.Int("epochs");
    const int64_t per_epoch = map.Int("iterations_per_epoch");
    if (job->num_iterations > 0) map.Fail("epochs", "expected either iterations or epochs; found both");
    job->num_iterations = static_cast<uint64_t>(epochs * per_epoch);
  }
  if (job->num_iterations == 0) map.Fail("", "allocation is for jobs that end: expected iterations, or epochs");
}

void ReadPredictability(YamlMap& map, model::Elasticity* elasticity) {
  if (map.Has("predictable") && map.Has("predictable_after")) {
    map.Fail("predictable", "expected either predictable or predictable_after; found both");
  }
  elasticity->predictable_after = map.Double("predictable_after");
  if (!map.Bool("predictable")) elasticity->predictable_after.reset();
}

// Which parallelism the job has at the size that it asks for.
void FixParallelism(const Scenario& scenario, ScenarioJob* entry) {
  auto* profiled = std::get_if<ProfiledWork>(&entry->work);
  if (profiled == nullptr || profiled->parallelism) return;
  const auto profile = scenario.profiles.Find(profiled->profile);
  if (!profile.ok()) return;  // has been reported
  profiled->parallelism = collective::DefaultParallelism(**profile, entry->job.num_gpus, entry->job.gpus_per_host);
}

// Numbers outside their ranges are found where policies are made.
void ReadSettings(YamlMap& root, Scenario* scenario) {
  if (!root.Has("allocation_settings")) return;
  auto settings =
      scheduling::ParsePolicySettings(root.Strings("allocation_settings"), scenario->allocations, "setting");
  if (!settings.ok()) return root.Fail("allocation_settings", std::string(settings.status().message()));
  for (const std::string& name : scenario->allocations) {
    const auto created = scheduling::CreateAllocationPolicy(name, 1, scheduling::SettingsOf(*settings, name));
    if (!created.ok()) root.Fail("allocation_settings", std::string(created.status().message()));
  }
  scenario->allocation_settings = std::move(settings).value();
}

}  // namespace

void ReadAllocation(YamlMap& root, Scenario* scenario) {
  scenario->learns_speeds = root.Bool("learn_speeds");
  if (!root.Has("allocation")) {
    if (root.Has("allocation_settings")) {
      root.Fail("allocation_settings", "matters only where the scenario has the key allocation");
    }
    return;
  }
  scenario->allocations = root.Strings("allocation");
  if (scenario->allocations.empty()) root.Fail("allocation", "expected at least one allocation policy");
  for (const std::string& name : scenario->allocations) {
    if (std::ranges::count(scenario->allocations, name) > 1) {
      root.Fail("allocation", fmt::format("{} appears twice; expected each once", name));
    }
  }
  ReadSettings(root, scenario);
  if (root.Has("placement")) {
    root.Fail("placement", "expected no placement beside allocation, which chooses the hosts; leave one out");
  }
  if (root.Has("trace")) root.Fail("trace", "expected jobs: those of a trace have no amount of work to allocate for");
  if (root.Has("profile_jobs")) root.Fail("profile_jobs", "expected none beside allocation, which profiles every size");
}

void ReadElasticity(YamlMap& map, const Scenario& scenario, ScenarioJob* entry) {
  if (scenario.allocations.empty()) {
    for (const std::string_view key : kKeys) {
      if (map.Has(key)) map.Fail(key, "matters only where the scenario has the key allocation");
    }
    return;
  }
  for (const std::string_view key : {"hosts", "gpus_per_host"}) {
    if (map.Has(key)) map.Fail(key, "expected none: allocation chooses the hosts");
  }
  model::Job& job = entry->job;
  job.gpus_per_host = GpusPerHost(scenario.fabric);
  FixParallelism(scenario, entry);
  ReadLength(map, &job);
  job.elasticity.sizes = ReadSizes(map, scenario, *entry);
  job.elasticity.restart_cost = SimDuration::FromSeconds(Seconds(map.Double("restart_s")));
  ReadPredictability(map, &job.elasticity);
  if (std::holds_alternative<ImportedWork>(entry->work) && job.elasticity.sizes.size() > 1) {
    map.Fail("", "a workload file is for one number of GPUs: expected no sizes");
  }
}

Status CheckTensorGroups(const Scenario& scenario) {
  if (scenario.allocations.empty()) return OkStatus();
  for (const ScenarioJob& entry : scenario.jobs) {
    const auto* profiled = std::get_if<ProfiledWork>(&entry.work);
    const uint32_t tensor = profiled != nullptr && profiled->parallelism ? profiled->parallelism->tensor : 1;
    if (tensor == 1) continue;
    for (size_t h = 0; h < scenario.fabric.num_hosts(); ++h) {
      if (scenario.fabric.num_gpus_of(HostId(h)) % tensor == 0) continue;
      return InvalidArgument(fmt::format("job {}: expected hosts whose GPUs are a multiple of its tensor size {}",
                                         entry.job.name, tensor));
    }
    for (const ScenarioJob& other : scenario.jobs) {
      for (const uint32_t gpus : other.job.elasticity.sizes) {
        if (gpus % tensor == 0) continue;
        return InvalidArgument(fmt::format(
            "job {}: with allocation its tensor groups of {} could be torn between hosts by job {}, which runs on {} "
            "GPUs; expected sizes of all jobs to be multiples of {}",
            entry.job.name, tensor, other.job.name, gpus, tensor));
      }
    }
  }
  return OkStatus();
}

Result<model::Parallelism> ResizeParallelism(const model::Parallelism& base, uint32_t num_gpus) {
  const uint32_t model_parallel = base.tensor * base.pipeline;
  const uint64_t batch = uint64_t{base.data} * base.micro_batches;
  const uint32_t data = num_gpus / model_parallel;
  if (num_gpus % model_parallel != 0 || data == 0 || batch % data != 0 || data % base.expert != 0) {
    return InvalidArgument(fmt::format(
        "{} GPUs can't hold tensor {} x pipeline {} x replicas that divide the {} micro-batches of an iteration, in "
        "groups of {} experts",
        num_gpus, base.tensor, base.pipeline, batch, base.expert));
  }
  model::Parallelism resized = base;
  resized.data = data;
  resized.micro_batches = static_cast<uint32_t>(batch / data);
  return resized;
}

}  // namespace fairlead::sim

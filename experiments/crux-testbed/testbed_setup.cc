#include "experiments/crux-testbed/testbed_setup.h"

#include <fmt/format.h>

#include "base/yaml_reader.h"

namespace fairlead::experiments::crux_testbed {
namespace {

constexpr double kLongestBlockS = 1000;
constexpr int64_t kMostHosts = 1'000'000;

TestbedModel ReadModel(YamlMap& map) {
  TestbedModel model;
  model.compute_time = Seconds(map.RequiredDouble("compute_s", 1e-6, kLongestBlockS));
  model.communication_time = Seconds(map.RequiredDouble("communication_s", 0, kLongestBlockS));
  model.start_fraction = map.RequiredDouble("start_fraction", 0, 1);
  model.gpu_rate = FlopPerSecond(1e12 * map.RequiredDouble("tflops", 1e-3, 1e6));
  return model;
}

std::vector<uint32_t> ReadNumbers(YamlMap& map, std::string_view key, int64_t max) {
  std::vector<uint32_t> numbers;
  for (const int64_t number : map.Ints(key, 0, max)) numbers.push_back(static_cast<uint32_t>(number));
  if (numbers.empty()) map.Fail(key, "expected at least one number");
  return numbers;
}

TestbedJob ReadJob(YamlMap& map) {
  TestbedJob job;
  job.model = map.RequiredString("model");
  job.hosts = ReadNumbers(map, "hosts", kMostHosts);
  job.gpus = ReadNumbers(map, "gpus", 7);
  return job;
}

Result<TestbedCase> ReadCase(YamlMap& map, const TestbedSetup& setup) {
  TestbedCase result;
  result.name = map.RequiredString("name");
  result.group = map.RequiredString("group");
  const auto group = setup.groups.find(result.group);
  if (group == setup.groups.end()) map.Fail("group", fmt::format("there is no group '{}'", result.group));
  for (YamlMap& job : map.Maps("jobs")) {
    result.jobs.push_back(ReadJob(job));
    const std::string& model = result.jobs.back().model;
    if (group != setup.groups.end() && !group->second.contains(model)) {
      job.Fail("model", fmt::format("the group '{}' has no model '{}'", result.group, model));
    }
    FL_RETURN_IF_ERROR(job.Finish());
  }
  FL_RETURN_IF_ERROR(map.Finish());
  return result;
}

}  // namespace

Result<TestbedSetup> ParseTestbedSetup(std::string_view yaml, const std::string& name) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::Parse(yaml, name));
  YamlMap root = document.Root();
  TestbedSetup setup;
  setup.connections_per_gpu = static_cast<uint32_t>(root.RequiredInt("connections_per_gpu", 1, 64));
  YamlMap groups = root.RequiredMap("groups");
  for (auto& [group, models] : groups.NamedMaps()) {
    for (auto& [model, map] : models.NamedMaps()) {
      setup.groups[group][model] = ReadModel(map);
      FL_RETURN_IF_ERROR(map.Finish());
    }
    FL_RETURN_IF_ERROR(models.Finish());
  }
  FL_RETURN_IF_ERROR(groups.Finish());
  for (YamlMap& map : root.Maps("cases")) {
    FL_ASSIGN_OR_RETURN(TestbedCase read, ReadCase(map, setup));
    setup.cases.push_back(std::move(read));
  }
  FL_RETURN_IF_ERROR(root.Finish());
  return setup;
}

}  // namespace fairlead::experiments::crux_testbed

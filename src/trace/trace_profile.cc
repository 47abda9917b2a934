#include "trace/trace_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "base/nearest_word.h"
#include "base/yaml_reader.h"
#include "trace/embedded_trace_profiles.h"
#include "trace/trace.h"

namespace fairlead::trace {

double SizeTable::NumJobs() const { return std::accumulate(counts.begin(), counts.end(), 0.0); }

uint32_t SizeTable::Quantile(double p) const {
  const double wanted = p * NumJobs();
  double sum = 0;
  for (size_t i = 0; i < gpus.size(); ++i) {
    sum += counts[i];
    if (sum >= wanted * (1 - 1e-12) && counts[i] > 0) return gpus[i];
  }
  return gpus.back();
}

double SizeTable::Cdf(double size) const {
  double sum = 0;
  for (size_t i = 0; i < gpus.size() && gpus[i] <= size; ++i) sum += counts[i];
  return sum / NumJobs();
}

std::vector<double> TraceProfile::DrawnHourWeights() const {
  std::vector<double> weights = hour_weights;
  for (double& weight : weights) weight = std::max(weight, hour_weight_floor);
  return weights;
}

namespace {

Status CheckRange(std::string_view what, double value, double min, double max, bool open_below = false) {
  if (value >= min && value <= max && !(open_below && value == min)) return OkStatus();
  return InvalidArgument(
      fmt::format("{}: expected a number in {}{}, {}], found {}", what, open_below ? "(" : "[", min, max, value));
}

}  // namespace

Status GeneratorOptions::Validate() const {
  FL_RETURN_IF_ERROR(CheckRange("days", days, 0, 3650));
  FL_RETURN_IF_ERROR(CheckRange("load", load, 0, 1000, true));
  FL_RETURN_IF_ERROR(CheckRange("burst_fraction", burst_fraction, 0, 1));
  FL_RETURN_IF_ERROR(CheckRange("burst_mean", burst_mean, 1, 1e6));
  FL_RETURN_IF_ERROR(CheckRange("burst_window_s", burst_window_s, 0, 3600, true));
  FL_RETURN_IF_ERROR(CheckRange("tail_scale", tail_scale, 0, 10, true));
  FL_RETURN_IF_ERROR(CheckRange("tail_knee", tail_knee, 0, 0.9999));
  FL_RETURN_IF_ERROR(CheckRange("rank_correlation", rank_correlation, -1, 1));
  FL_RETURN_IF_ERROR(CheckRange("jobs_limit", jobs_limit, 0, 1e9));
  FL_RETURN_IF_ERROR(CheckRange("gpus_limit", gpus_limit, 0, 1e12));
  FL_RETURN_IF_ERROR(CheckRange("fragmentation", fragmentation, 0, 1));
  return CheckRange("draws_max", draws_max, 1, 10000);
}

namespace {

constexpr double kMaxCount = 1e7;
constexpr double kMaxMinutes = kMaxSeconds / 60;

SizeTable ReadSizes(YamlMap& map, uint32_t min_gpus) {
  SizeTable table;
  for (const int64_t size : map.Ints("gpus", min_gpus, kMaxGpusPerJob))
    table.gpus.push_back(static_cast<uint32_t>(size));
  table.counts = map.Doubles("counts", 0, kMaxCount);
  if (table.gpus.size() != table.counts.size()) {
    map.Fail("counts",
             fmt::format("expected as many numbers as gpus has, {}, found {}", table.gpus.size(), table.counts.size()));
  } else if (std::adjacent_find(table.gpus.begin(), table.gpus.end(), std::greater_equal<>()) != table.gpus.end()) {
    map.Fail("gpus", "expected sizes in strictly ascending order");
  }
  return table;
}

SizeTable ReadGpuSizes(YamlMap& root, std::string_view key) {
  YamlMap map = root.RequiredMap(key);
  SizeTable table = ReadSizes(map, 1);
  if (table.NumJobs() <= 0) map.Fail("counts", "expected at least one job");
  static_cast<void>(map.Finish());
  return table;
}

std::vector<ModelCount> ReadModels(YamlMap& root) {
  std::vector<ModelCount> models;
  std::set<std::string> names;
  for (YamlMap& map : root.Maps("models")) {
    ModelCount model;
    model.name = map.RequiredString("name");
    model.jobs = map.RequiredDouble("jobs", 0, kMaxCount);
    model.stands_for = map.String("stands_for", "");
    if (map.Has("gpus")) model.sizes = ReadSizes(map, 0);
    if (map.Has("gpus") && model.sizes.NumJobs() <= 0) map.Fail("counts", "expected at least one job");
    if (!ValidateJob({.id = "j", .model = model.name}).ok()) map.Fail("name", "expected one line of printable text");
    if (!names.insert(model.name).second) map.Fail("name", fmt::format("the model '{}' appears twice", model.name));
    if (!map.Finish().ok()) break;
    models.push_back(std::move(model));
  }
  double num_jobs = 0;
  for (const ModelCount& model : models) num_jobs += model.jobs;
  if (num_jobs <= 0) root.Fail("models", "expected at least one model with jobs");
  return models;
}

PublishedConcurrency ReadConcurrency(YamlMap& root) {
  YamlMap map = root.RequiredMap("concurrency");
  PublishedConcurrency concurrency;
  concurrency.jobs_mean = map.RequiredDouble("jobs_mean", 1e-6, kMaxCount);
  concurrency.jobs_max = map.RequiredDouble("jobs_max", 1e-6, kMaxCount);
  concurrency.gpus_mean = map.RequiredDouble("gpus_mean", 1e-6, 1e12);
  concurrency.gpus_max = map.RequiredDouble("gpus_max", 1e-6, 1e12);
  concurrency.daily_jobs = map.Doubles("daily_jobs", 0, kMaxCount);
  concurrency.daily_gpus = map.Doubles("daily_gpus", 0, 1e12);
  static_cast<void>(map.Finish());
  return concurrency;
}

GeneratorOptions ReadGenerator(YamlMap& root) {
  GeneratorOptions options;
  auto map = root.Map("generator");
  if (!map) return options;
  options.burst_fraction = map->Double("burst_fraction", options.burst_fraction, 0, 1);
  options.burst_mean = map->Double("burst_mean", options.burst_mean, 1, 1e6);
  options.burst_window_s = map->Double("burst_window_s", options.burst_window_s, 0, 3600);
  options.tail_scale = map->Double("tail_scale", options.tail_scale, 0, 10);
  options.tail_knee = map->Double("tail_knee", options.tail_knee, 0, 0.9999);
  options.rank_correlation = map->Double("rank_correlation", options.rank_correlation, -1, 1);
  options.jobs_limit = map->Double("jobs_limit", options.jobs_limit, 0, 1e9);
  options.gpus_limit = map->Double("gpus_limit", options.gpus_limit, 0, 1e12);
  options.fragmentation = map->Double("fragmentation", options.fragmentation, 0, 1);
  if (const Status valid = options.Validate(); !valid.ok()) map->Fail("", valid.message());
  static_cast<void>(map->Finish());
  return options;
}

RunTimeLaw ReadRunTimes(YamlMap& root) {
  YamlMap map = root.RequiredMap("run_time_minutes");
  auto law = RunTimeLaw::Create(map.Doubles("probabilities", 0, 1), map.Doubles("values", 1e-6, kMaxMinutes));
  if (!law.ok()) map.Fail("", law.status().message());
  static_cast<void>(map.Finish());
  return law.ok() ? *law : RunTimeLaw();
}

void CheckArrivals(const TraceProfile& profile, YamlMap& root) {
  const auto sum = [](const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0); };
  if (profile.arrivals_per_day.size() > 3650 || sum(profile.arrivals_per_day) <= 0) {
    root.Fail("arrivals_per_day", "expected the jobs of each of 1 to 3650 days, not all 0");
  }
  if (profile.hour_weights.size() != 24 || sum(profile.DrawnHourWeights()) <= 0) {
    root.Fail("arrival_hour_weights", "expected 24 numbers, not all 0");
  }
  if (profile.gpu_jobs > profile.jobs) root.Fail("gpu_jobs", "expected at most `jobs`");
}

Result<TraceProfile> ReadProfile(const YamlDocument& document) {
  YamlMap root = document.Root();
  TraceProfile profile;
  profile.name = root.RequiredString("name");
  profile.source = root.Strings("source");
  profile.first_day = root.RequiredString("first_day");
  profile.jobs = root.RequiredDouble("jobs", 1, kMaxCount);
  profile.gpu_jobs = root.RequiredDouble("gpu_jobs", 0, kMaxCount);
  profile.arrivals_per_day = root.Doubles("arrivals_per_day", 0, kMaxCount);
  profile.hour_weights = root.Doubles("arrival_hour_weights", 0, kMaxCount);
  profile.hour_weight_floor = root.Double("hour_weight_floor", 0, 0, kMaxCount);
  profile.run_time_minutes = ReadRunTimes(root);
  profile.gpus_per_job = ReadGpuSizes(root, "gpus_per_job");
  profile.models = ReadModels(root);
  profile.unlabelled_stand_ins = root.Strings("unlabelled_stand_ins");
  profile.unlisted_model_sizes = ReadGpuSizes(root, "unlisted_model_sizes");
  profile.concurrency = ReadConcurrency(root);
  profile.generator = ReadGenerator(root);
  CheckArrivals(profile, root);
  FL_RETURN_IF_ERROR(root.Finish());
  FL_RETURN_IF_ERROR(document.status());
  return profile;
}

}  // namespace

Result<TraceProfile> LoadTraceProfileFile(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::LoadFile(path));
  return ReadProfile(document);
}

Result<TraceProfile> ParseTraceProfile(std::string_view text, const std::string& name) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::Parse(text, name));
  return ReadProfile(document);
}

namespace {

std::string_view NameOf(const EmbeddedTraceProfile& file) {
  return file.file_name.substr(0, file.file_name.size() - std::string_view(".yaml").size());
}

}  // namespace

std::vector<std::string> BuiltInTraceProfiles() {
  std::vector<std::string> names;
  for (const EmbeddedTraceProfile& file : EmbeddedTraceProfiles()) names.emplace_back(NameOf(file));
  return names;
}

Result<TraceProfile> BuiltInTraceProfile(std::string_view name) {
  for (const EmbeddedTraceProfile& file : EmbeddedTraceProfiles()) {
    if (NameOf(file) == name) return ParseTraceProfile(file.text, std::string(file.file_name));
  }
  return NotFound(UnknownName("trace profile", name, BuiltInTraceProfiles()));
}

}  // namespace fairlead::trace

#include "sim/trace_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "base/random.h"
#include "collective/rank_layout.h"
#include "scheduling/placement_policy.h"
#include "trace/neutral_trace.h"
#include "trace/trace_generator.h"

namespace fairlead::sim {

namespace {

constexpr uint32_t kAnySize = std::numeric_limits<uint32_t>::max();

struct Skipped {
  size_t without_gpus = 0;
  size_t without_duration = 0;
  size_t too_large = 0;
  size_t not_divisible = 0;

  std::vector<std::string> Describe(size_t num_kept) const {
    std::vector<std::string> notes = {fmt::format("{} jobs of the trace are simulated.", num_kept)};
    const auto add = [&notes](size_t count, std::string_view why) {
      if (count > 0) notes.push_back(fmt::format("{} jobs of the trace are left out: {}.", count, why));
    };
    add(without_gpus, "they use no GPU");
    add(without_duration, "they end at the instant at which they start");
    add(too_large, "the cluster can't hold them even when it is empty");
    add(not_divisible, "their model can't be divided among their GPUs");
    return notes;
  }
};

// Hosts with at least this many GPUs, [GPUs].
std::vector<uint32_t> CountHostsBySize(const topology::Fabric& fabric) {
  std::vector<uint32_t> count(1);
  for (size_t h = 0; h < fabric.num_hosts(); ++h) {
    const uint32_t gpus = fabric.num_gpus_of(HostId(h));
    if (count.size() <= gpus) count.resize(gpus + 1);
    for (uint32_t g = 0; g <= gpus; ++g) ++count[g];
  }
  return count;
}

// What a GPU can send when all GPUs of its host do.
BytesPerSecond NetworkSpeedPerGpu(const topology::Fabric& fabric) {
  BytesPerSecond speed;
  const HostId host(0u);
  for (uint32_t n = 0; n < fabric.num_nics_of(host); ++n) {
    const NodeId nic = fabric.node_of(fabric.nic(host, n));
    for (const LinkId link : fabric.links_from(nic)) {
      if (topology::IsNetwork(fabric.tier(link))) speed += fabric.capacity(link);
    }
  }
  return speed * (1.0 / fabric.num_gpus_of(host));
}

class TraceMapper {
 public:
  TraceMapper(const TraceMapping& mapping, const collective::ModelProfiles& profiles, const topology::Fabric& fabric)
      : mapping_(mapping),
        profiles_(profiles),
        fabric_(fabric),
        network_speed_(NetworkSpeedPerGpu(fabric)),
        hosts_by_size_(CountHostsBySize(fabric)) {}

  Status Check() const;
  void Map(const trace::TraceJob& source);
  TraceJobs Take() {
    jobs_.notes = skipped_.Describe(jobs_.jobs.size());
    return std::move(jobs_);
  }

 private:
  const std::string* FindModel(const trace::TraceJob& source) const;
  bool Fits(const model::Job& job) const;
  // Share of an iteration that the job spends on the network when alone; nothing when the model can't be divided so.
  std::optional<double> NetworkShare(const model::Job& job);

  const TraceMapping& mapping_;
  const collective::ModelProfiles& profiles_;
  const topology::Fabric& fabric_;
  BytesPerSecond network_speed_;  // of one GPU
  std::vector<uint32_t> hosts_by_size_;
  std::map<std::tuple<std::string, uint32_t, uint32_t>, std::optional<double>> shares_;
  TraceJobs jobs_;
  Skipped skipped_;
};

Status TraceMapper::Check() const {
  for (const auto& [label, model] : mapping_.models) FL_RETURN_IF_ERROR(profiles_.Find(model).status());
  for (const ModelSpread& spread : mapping_.spread) {
    for (const std::string& model : spread.models) FL_RETURN_IF_ERROR(profiles_.Find(model).status());
  }
  const bool takes_all = !mapping_.spread.empty() && mapping_.spread.back().max_gpus == kAnySize;
  return takes_all ? OkStatus() : InvalidArgument("spread: expected a last entry without max_gpus, for all other jobs");
}

const std::string* TraceMapper::FindModel(const trace::TraceJob& source) const {
  const auto labelled = mapping_.models.find(source.model);
  if (labelled != mapping_.models.end()) return &labelled->second;
  const auto spread = std::find_if(mapping_.spread.begin(), mapping_.spread.end(),
                                   [&](const ModelSpread& entry) { return source.gpus <= entry.max_gpus; });
  uint64_t hash = mapping_.seed;
  for (const char c : source.id) hash = CombineHash(hash, static_cast<unsigned char>(c));
  return &spread->models[hash % spread->models.size()];
}

bool TraceMapper::Fits(const model::Job& job) const {
  const uint32_t share = std::min(job.gpus_per_host, job.num_gpus);
  return share < hosts_by_size_.size() && scheduling::NumHosts(job) <= hosts_by_size_[share];
}

std::optional<double> TraceMapper::NetworkShare(const model::Job& job) {
  const auto [entry, is_new] = shares_.try_emplace({job.model_profile, job.num_gpus, job.gpus_per_host});
  if (!is_new) return entry->second;
  const collective::ModelProfile& profile = **profiles_.Find(job.model_profile);
  const uint32_t per_host = std::min(job.gpus_per_host, job.num_gpus);
  collective::RankLayout layout = collective::MakeRegularLayout(scheduling::NumHosts(job), per_host);
  layout.ranks.resize(job.num_gpus);
  const auto iteration = collective::BuildIteration(
      profile, collective::DefaultParallelism(profile, job.num_gpus, job.gpus_per_host), layout, fabric_.gpu_peak());
  if (!iteration.ok()) return entry->second;
  std::map<GpuId, double> sent;
  double most = 0;
  for (const model::FlowDemand& flow : iteration->flows) {
    if (flow.source.value() / per_host == flow.destination.value() / per_host) continue;
    most = std::max(most, sent[flow.source] += flow.bytes.value());
  }
  const double seconds = most / network_speed_.value();
  const double compute = (iteration->compute_time + iteration->bubble_time).value();
  entry->second = seconds / (seconds + compute);
  return entry->second;
}

void TraceMapper::Map(const trace::TraceJob& source) {
  if (source.gpus == 0) return void(++skipped_.without_gpus);
  ScenarioJob entry;
  model::Job& job = entry.job;
  job.id = JobId(jobs_.jobs.size());
  job.name = source.id;
  job.num_gpus = source.gpus;
  job.gpus_per_host = source.gpus_per_host;
  job.arrival = SimTime::FromSeconds(Seconds(source.submit_s));
  job.hold_time = SimDuration::FromSeconds(Seconds(source.duration_s));
  if (job.hold_time.ns() <= 0) return void(++skipped_.without_duration);
  if (!Fits(job)) return void(++skipped_.too_large);
  job.model_profile = *FindModel(source);
  const auto share = NetworkShare(job);
  if (!share) return void(++skipped_.not_divisible);
  job.network_share = *share;
  entry.work = ProfiledWork{.profile = job.model_profile, .parallelism = {}, .options = {}};
  jobs_.jobs.push_back(std::move(entry));
}

// The jobs that arrive in [from, to), with the clock at 0 at `from`.
std::vector<trace::TraceJob> CutWindow(const std::vector<trace::TraceJob>& jobs, double from_s, double to_s) {
  std::vector<trace::TraceJob> cut;
  for (const trace::TraceJob& job : jobs) {
    if (job.submit_s < from_s || job.submit_s >= to_s) continue;
    cut.push_back(job);
    cut.back().submit_s -= from_s;
  }
  return cut;
}

std::vector<trace::TraceJob> Generate(YamlMap& section, std::vector<std::string>* notes) {
  const std::string name = section.String("profile");
  const auto seed = static_cast<uint64_t>(section.Int("seed"));
  const auto days = static_cast<uint32_t>(section.Int("days"));
  if (!section.Finish().ok()) return {};
  const auto profile = trace::BuiltInTraceProfile(name);
  if (!profile.ok()) {
    section.Fail("profile", profile.status().message());
    return {};
  }
  trace::GeneratorOptions options = profile->generator;
  options.seed = seed;
  options.days = days;
  auto generated = trace::GenerateTrace(*profile, options);
  if (!generated.ok()) {
    section.Fail("", generated.status().message());
    return {};
  }
  *notes = generated->notes;
  return std::move(generated->jobs);
}

std::vector<trace::TraceJob> Load(YamlMap& section, const std::string& directory, std::vector<std::string>* notes) {
  const std::filesystem::path file = section.String("file");
  auto loaded = trace::LoadNeutralTrace(file.is_absolute() ? file.string() : (directory / file).string());
  if (!loaded.ok()) {
    section.Fail("file", loaded.status().message());
    return {};
  }
  *notes = loaded->notes;
  return std::move(loaded->jobs);
}

TraceMapping ReadMapping(YamlMap& section) {
  TraceMapping mapping;
  mapping.seed = static_cast<uint64_t>(section.Int("seed"));
  for (YamlMap& entry : section.Maps("models")) {
    const std::string label = entry.String("label");
    if (!mapping.models.try_emplace(label, entry.String("model")).second) {
      entry.Fail("label", fmt::format("the label '{}' appears twice", label));
    }
    if (!entry.Finish().ok()) return mapping;
  }
  for (YamlMap& entry : section.Maps("spread")) {
    ModelSpread spread;
    spread.max_gpus = static_cast<uint32_t>(entry.Int("max_gpus", kAnySize));
    spread.models = entry.Strings("models");
    if (spread.models.empty()) entry.Fail("models", "expected at least one model");
    if (!mapping.spread.empty() && spread.max_gpus <= mapping.spread.back().max_gpus) {
      entry.Fail("max_gpus", "expected ascending sizes, the last entry without max_gpus");
    }
    if (!entry.Finish().ok()) return mapping;
    mapping.spread.push_back(std::move(spread));
  }
  return mapping;
}

}  // namespace

Result<TraceJobs> MapTraceJobs(const std::vector<trace::TraceJob>& trace, const TraceMapping& mapping,
                               const collective::ModelProfiles& profiles, const topology::Fabric& fabric) {
  TraceMapper mapper(mapping, profiles, fabric);
  FL_RETURN_IF_ERROR(mapper.Check());
  for (const trace::TraceJob& job : trace) mapper.Map(job);
  return mapper.Take();
}

TraceSection ReadTraceSection(YamlMap& section, const std::string& directory) {
  TraceSection result;
  auto generate = section.Map("generate");
  if (!section.ok()) return result;
  result.jobs = generate ? Generate(*generate, &result.notes) : Load(section, directory, &result.notes);
  result.length_s = trace::NumDays(result.jobs) * trace::kSecondsPerDay;
  if (auto window = section.Map("window")) {
    const double from_s = window->Double("from_s");
    const double to_s = window->Double("to_s");
    if (to_s <= from_s) window->Fail("to_s", "expected an end after from_s");
    if (!window->Finish().ok()) return result;
    result.jobs = CutWindow(result.jobs, from_s, to_s);
    result.length_s = to_s - from_s;
  }
  result.mapping = ReadMapping(section);
  return result;
}

}  // namespace fairlead::sim

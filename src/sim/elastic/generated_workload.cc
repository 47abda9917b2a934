#include "sim/elastic/generated_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "sim/elastic/workload_draws.h"

namespace fairlead::sim {
namespace {

struct Kind {
  std::string_view name;
  BatchLimits limits;
  uint32_t num_epochs;
  uint32_t max_gpus;
  double pass_base_s;  // of a pass with an empty batch
  double pass_per_sample_s;
  double sync_in_node_s;  // per doubling of GPUs
  double sync_between_s;  // of the second node; each further doubling adds a fifth
  double iterations;      // per epoch at the first batch
  double noise;           // variance over square of gradients, first epoch
  double frequency;       // share of jobs
};

constexpr Kind kKinds[] = {
    {"vision-small", {128, 4096, 32, 1024}, 60, 0, 0.02, 2e-4, 0.003, 0.03, 400, 6, 0.38},
    {"vision-large", {256, 8192, 16, 128}, 60, 0, 0.05, 4e-3, 0.01, 0.09, 5000, 12, 0.03},
    {"speech", {32, 512, 8, 64}, 50, 0, 0.1, 5e-3, 0.03, 0.2, 350, 8, 0.15},
    {"detection", {16, 256, 4, 16}, 40, 0, 0.1, 4e-2, 0.06, 0.25, 500, 6, 0.08},
    {"language", {16, 512, 4, 16}, 4, 0, 0.15, 7e-2, 0.02, 0.3, 4000, 10, 0.06},
    {"recommender", {512, 32768, 64, 32768}, 12, 1, 0.004, 6e-7, 0.001, 0.01, 9000, 40, 0.30},
};
constexpr uint64_t kDeclaredErrorStream = 0xdec1;
constexpr uint32_t kMostPerNode = 4;
constexpr double kNoiseGrowth = 20;  // over a run
const std::vector<uint32_t> kLargeNodes = {6, 8, 12, 16};

PassTime TimeOf(const Kind& kind, double num_nodes, double num_gpus, double local_batch) {
  const double compute = kind.pass_base_s + kind.pass_per_sample_s * local_batch;
  double sync = kind.sync_in_node_s * std::log2(num_gpus);
  if (num_nodes > 1) sync += kind.sync_between_s * (1 + 0.2 * std::log2(num_nodes));
  return {compute + sync, sync};
}

std::vector<double> LocalBatches(const BatchLimits& limits) {
  std::vector<double> batches;
  for (double batch = limits.local_min; batch < limits.local_max; batch *= 2) batches.push_back(batch);
  batches.push_back(limits.local_max);
  return batches;
}

// All placements of up to four nodes, each once under rotation.
std::set<GpusPerNode> SmallPlacements() {
  std::set<GpusPerNode> placements;
  std::vector<GpusPerNode> open = {{}};
  while (!open.empty()) {
    const GpusPerNode placement = open.back();
    open.pop_back();
    for (uint32_t g = 1; g <= kMostPerNode; ++g) {
      GpusPerNode longer = placement;
      longer.push_back(g);
      placements.insert(SmallestRotation(longer));
      if (longer.size() < 4) open.push_back(std::move(longer));
    }
  }
  return placements;
}

void AddSpeeds(const Kind& kind, ProfileTables* tables) {
  for (const GpusPerNode& placement : SmallPlacements()) {
    double num_gpus = 0;
    for (const uint32_t g : placement) num_gpus += g;
    for (const double batch : LocalBatches(kind.limits)) {
      tables->placements.push_back(
          {placement, batch, TimeOf(kind, static_cast<double>(placement.size()), num_gpus, batch)});
    }
  }
  for (const uint32_t num_nodes : kLargeNodes) {
    for (uint32_t per_node = 1; per_node <= kMostPerNode; ++per_node) {
      const double num_gpus = num_nodes * per_node;
      for (const double batch : LocalBatches(kind.limits)) {
        const double nodes = num_nodes;
        tables->scalability.push_back({nodes, num_gpus, batch, TimeOf(kind, nodes, num_gpus, batch)});
      }
    }
  }
}

// Iterations at a larger batch: those at the first one, less by what the batch gains.
void AddConvergence(const Kind& kind, ProfileTables* tables) {
  for (uint32_t batch = kind.limits.first; batch <= kind.limits.max; batch *= 2) {
    const double scale = static_cast<double>(batch) / kind.limits.first;
    double iterations = 0;
    for (uint32_t e = 0; e < kind.num_epochs; ++e) {
      const double noise = kind.noise * (1 + kNoiseGrowth * e / kind.num_epochs);
      iterations += kind.iterations * (noise / scale + 1) / (noise + 1);
      tables->validations[batch].push_back({kind.iterations * (e + 1), iterations, 1, noise});
    }
  }
}

}  // namespace

Result<ProfileSet> GenerateProfiles(uint64_t seed) {
  ProfileSet profiles;
  Random random(seed);
  for (Kind kind : kKinds) {
    for (double* constant : {&kind.pass_base_s, &kind.pass_per_sample_s, &kind.sync_in_node_s, &kind.sync_between_s,
                             &kind.iterations, &kind.noise}) {
      *constant *= random.Uniform(0.8, 1.2);
    }
    ProfileTables tables;
    tables.name = kind.name;
    tables.limits = kind.limits;
    tables.num_epochs = kind.num_epochs;
    tables.max_gpus = kind.max_gpus;
    AddSpeeds(kind, &tables);
    AddConvergence(kind, &tables);
    FL_ASSIGN_OR_RETURN(ApplicationProfile profile, ApplicationProfile::Create(std::move(tables)));
    profiles.emplace(kind.name, std::move(profile));
  }
  return profiles;
}

Status GeneratedWorkloadOptions::Validate() const {
  if (num_jobs > 0 && arrivals_s > 0 && predictable_share >= 0 && predictable_share <= 1) return OkStatus();
  return InvalidArgument(fmt::format(
      "generated workload: {} jobs within {} s, {} of them predictable; expected jobs, time, and a share of 0 to 1",
      num_jobs, arrivals_s, predictable_share));
}

Result<std::vector<ElasticJobSpec>> GenerateWorkload(const ProfileSet& profiles,
                                                     const GeneratedWorkloadOptions& options) {
  FL_RETURN_IF_ERROR(options.Validate());
  Random random(options.seed);
  std::vector<ElasticJobSpec> jobs;
  for (const double arrival : DrawArrivals(options.num_jobs, options.arrivals_s, &random)) {
    const Kind& kind = DrawKind(kKinds, &random);
    const auto profile = profiles.find(std::string(kind.name));
    if (profile == profiles.end()) {
      return InvalidArgument(fmt::format("generated workload: no profile of '{}'; pass GenerateProfiles()", kind.name));
    }
    ElasticJobSpec job;
    job.name = fmt::format("{}-{}", kind.name, jobs.size());
    job.submission_s = std::floor(arrival);
    job.profile = &profile->second;
    // Between a quarter of the largest batch and all of it, in powers of two; GPUs likewise.
    job.global_batch = kind.limits.max >> random.Below(3);
    const uint32_t most = profile->second.MaxGpus(job.global_batch);
    job.requested_gpus = std::min(most, 4u << random.Below(3));
    if (!options.predictable_at_once) job.predictable_after = random.Uniform(0.05, 0.9);
    jobs.push_back(std::move(job));
  }
  DrawUnpredictable(options.predictable_share, options.seed, &jobs);
  return jobs;
}

void DrawUnpredictable(double predictable_share, uint64_t seed, std::vector<ElasticJobSpec>* jobs) {
  Random random(seed);
  // Drawn for every job, so that a larger share keeps all the predictable jobs of a smaller one.
  for (ElasticJobSpec& job : *jobs) {
    if (random.Uniform() >= predictable_share) job.predictable_after.reset();
  }
}

void DrawDeclaredErrors(double most, uint64_t seed, std::vector<ElasticJobSpec>* jobs) {
  Random random(CombineHash(seed, kDeclaredErrorStream));
  for (ElasticJobSpec& job : *jobs) job.declared_factor = std::pow(most, random.Uniform(-1, 1));
}

}  // namespace fairlead::sim

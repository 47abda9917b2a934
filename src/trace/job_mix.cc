#include "trace/job_mix.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>

namespace fairlead::trace {

namespace {

// Represents all labels without their own sizes.
constexpr size_t kUnlisted = std::numeric_limits<size_t>::max();

struct Cell {
  JobKind kind;
  double weight = 0;
};

std::vector<Cell> MakeTable(const TraceProfile& profile) {
  std::vector<Cell> table;
  double unlisted_jobs = 0, listed_gpu_jobs = 0, all_jobs = 0;
  for (size_t m = 0; m < profile.models.size(); ++m) {
    const ModelCount& model = profile.models[m];
    all_jobs += model.jobs;
    if (model.sizes.gpus.empty()) unlisted_jobs += model.jobs;
    // The sizes of a label are known for as many of its jobs as the table has, or for a sample of them.
    const double scale = model.sizes.gpus.empty() ? 0 : model.jobs / model.sizes.NumJobs();
    for (size_t i = 0; i < model.sizes.gpus.size(); ++i) {
      table.push_back({{model.sizes.gpus[i], m}, model.sizes.counts[i] * scale});
      if (model.sizes.gpus[i] > 0) listed_gpu_jobs += model.sizes.counts[i] * scale;
    }
  }
  const double gpu_jobs = profile.gpu_jobs / profile.jobs * all_jobs;
  const double unlisted_gpu_jobs = std::clamp(gpu_jobs - listed_gpu_jobs, 0.0, unlisted_jobs);
  const SizeTable& sizes = profile.unlisted_model_sizes;
  table.push_back({{0, kUnlisted}, unlisted_jobs - unlisted_gpu_jobs});
  for (size_t i = 0; i < sizes.gpus.size(); ++i) {
    table.push_back({{sizes.gpus[i], kUnlisted}, sizes.counts[i] / sizes.NumJobs() * unlisted_gpu_jobs});
  }
  return table;
}

// Indices of `weights`, `count` of them in ascending order, each as often as its weight says, give or take one.
std::vector<size_t> SampleSystematically(std::span<const double> weights, size_t count, Random* random) {
  const double step = std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(count);
  const double start = random->Uniform();
  std::vector<size_t> sample;
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    while (sample.size() < count && (static_cast<double>(sample.size()) + start) * step < sum) sample.push_back(i);
  }
  // Rounding may leave the very last one open.
  while (sample.size() < count) sample.push_back(weights.size() - 1);
  return sample;
}

// Gives the jobs of unlisted labels a label each.
void NameUnlisted(const TraceProfile& profile, std::vector<JobKind>* kinds, Random* random) {
  std::vector<double> weights;
  for (const ModelCount& model : profile.models) weights.push_back(model.sizes.gpus.empty() ? model.jobs : 0);
  const auto count = static_cast<size_t>(
      std::count_if(kinds->begin(), kinds->end(), [](const JobKind& kind) { return kind.model == kUnlisted; }));
  if (count == 0) return;
  std::vector<size_t> models = SampleSystematically(weights, count, random);
  random->Shuffle(std::span(models));
  auto next = models.begin();
  for (JobKind& kind : *kinds) {
    if (kind.model == kUnlisted) kind.model = *next++;
  }
}

}  // namespace

std::vector<JobKind> DrawJobKinds(const TraceProfile& profile, size_t count, Random* random) {
  if (count == 0) return {};
  const std::vector<Cell> table = MakeTable(profile);
  std::vector<double> weights;
  weights.reserve(table.size());
  for (const Cell& cell : table) weights.push_back(cell.weight);
  std::vector<JobKind> kinds;
  for (const size_t cell : SampleSystematically(weights, count, random)) kinds.push_back(table[cell].kind);
  NameUnlisted(profile, &kinds, random);
  random->Shuffle(std::span(kinds));
  return kinds;
}

}  // namespace fairlead::trace

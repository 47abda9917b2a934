#include "sim/elastic/batch_choice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace fairlead::sim {
namespace {

constexpr int kNumBatches = 50;

}  // namespace

double GainOf(const GradientStats& stats, double scale) {
  const double noise = stats.var / scale + stats.sqr;
  return noise > 0 ? (stats.var + stats.sqr) / noise : 1;
}

BatchMenu::BatchMenu(const ApplicationProfile& profile, const GpusPerNode& placement) {
  const BatchLimits& limits = profile.limits();
  const uint32_t num_gpus = std::accumulate(placement.begin(), placement.end(), 0u);
  const double least = std::max<double>(limits.first, double{1} * limits.local_min * num_gpus);
  const double most = limits.max;
  if (least > most) return;
  uint32_t before = 0;
  for (int i = 0; i < kNumBatches; ++i) {
    const auto batch = static_cast<uint32_t>(std::lround(least * std::pow(most / least, i / (kNumBatches - 1.0))));
    if (batch == before) continue;
    before = batch;
    BatchOption option;
    option.split = SplitBatch(limits, num_gpus, batch, SingleGpuRule::kLargeBatches);
    if (option.split.local_batch < limits.local_min || option.split.local_batch > limits.local_max) continue;
    const auto pass = profile.QueryPass(placement, option.split.local_batch);
    if (!pass) continue;
    option.batch = option.split.GlobalBatch(num_gpus);
    option.pass = *pass;
    option.iteration_s = IterationSeconds(*pass, option.split.num_accumulations);
    options_.push_back(option);
  }
}

std::optional<BatchChoice> BatchMenu::Best(const ApplicationProfile& profile, uint32_t epoch) const {
  std::optional<BatchChoice> best;
  for (const BatchOption& option : options_) {
    const double scale = option.batch / profile.limits().first;
    const double goodput = GainOf(profile.QueryGradients(option.batch, epoch), scale) / option.iteration_s;
    if (!best || goodput > best->goodput) best = BatchChoice{option, goodput};
  }
  return best;
}

BatchMenus::BatchMenus(const ApplicationProfile& profile, const ElasticCluster& cluster) {
  const uint32_t most = std::min(profile.MaxGpus(profile.limits().max), cluster.most_gpus_of_type());
  for (uint32_t gpus = 1; gpus <= std::max(1u, most); ++gpus) {
    dense_.emplace_back(profile, DensePlacement(gpus, cluster.groups.front().gpus_per_node));
    std::vector<double>& seconds = seconds_.emplace_back();
    for (uint32_t epoch = 0; epoch < profile.num_epochs(); ++epoch) {
      const auto best = dense_.back().Best(profile, epoch);
      seconds.push_back(best ? 1 / best->goodput : 0);
    }
  }
}

void LetJobsChooseBatches(const ElasticCluster& cluster, std::vector<ElasticJobSpec>* jobs) {
  std::map<const ApplicationProfile*, std::shared_ptr<const BatchMenus>> menus;
  for (ElasticJobSpec& job : *jobs) {
    if (job.profile == nullptr) continue;
    auto& own = menus[job.profile];
    if (own == nullptr) own = std::make_shared<const BatchMenus>(*job.profile, cluster);
    job.batch_menus = own;
  }
}

}  // namespace fairlead::sim

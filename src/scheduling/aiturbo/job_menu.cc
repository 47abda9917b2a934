#include "scheduling/aiturbo/job_menu.h"

#include <algorithm>
#include <array>

#include "scheduling/job_sizes.h"

namespace fairlead::scheduling::aiturbo {
namespace {

Resources ResourcesOf(const PsWorkerConfig& config) { return {config.num_gpus, config.num_cores()}; }

// What a GPU and a core of the cluster cost during one walk.
struct Prices {
  double gpu = 0;
  double core = 0;

  double Of(const PsWorkerConfig& config) const { return gpu * config.num_gpus + core * config.num_cores(); }
};

// A little of each price always: what is free would be taken without end.
std::array<Prices, 3> WalkPrices(const Resources& total) {
  constexpr double kCheap = 0.05;
  const double gpu = 1 / std::max<double>(static_cast<double>(total.num_gpus), 1);
  const double core = 1 / std::max<double>(static_cast<double>(total.num_cores), 1);
  return {{{gpu, kCheap * core}, {kCheap * gpu, core}, {gpu, core}}};
}

constexpr std::array kIncreases = {UnitOperation::kAddPs, UnitOperation::kAddWorker, UnitOperation::kAddPsCore,
                                   UnitOperation::kAddWorkerCore, UnitOperation::kAddGpu};

class Walk {
 public:
  Walk(const PsWorkerJob& job, const Prices& prices, const Resources& total)
      : job_(job), prices_(prices), total_(total) {}

  // The configurations after each move, `from` included.
  std::vector<PsWorkerConfig> Run(const PsWorkerConfig& from) {
    std::vector<PsWorkerConfig> visited;
    std::optional<PsWorkerConfig> here = from;
    while (here && ResourcesOf(*here).Fits(total_)) {
      visited.push_back(*here);
      here = NextMove(*here);
    }
    return visited;
  }

 private:
  std::optional<PsWorkerConfig> NextMove(const PsWorkerConfig& here) {
    now_s_ = job_.iteration_s(here);
    best_saving_ = 0;
    best_.reset();
    for (const UnitOperation first : kIncreases) {
      const auto once = Apply(first, here, job_.limits);
      if (!once) continue;
      Weigh(here, *once);
      if (first != UnitOperation::kAddWorker) continue;
      // A worker often pays only with its GPU, or with a server.
      for (const UnitOperation second : {UnitOperation::kAddGpu, UnitOperation::kAddPs}) {
        if (const auto twice = Apply(second, *once, job_.limits)) Weigh(here, *twice);
      }
    }
    return best_;
  }

  void Weigh(const PsWorkerConfig& here, const PsWorkerConfig& there) {
    const double saved = (now_s_ - job_.iteration_s(there)) / (prices_.Of(there) - prices_.Of(here));
    if (!(saved > best_saving_)) return;
    best_saving_ = saved;
    best_ = there;
  }

  const PsWorkerJob& job_;
  const Prices prices_;
  const Resources total_;
  double now_s_ = 0;
  double best_saving_ = 0;
  std::optional<PsWorkerConfig> best_;
};

// Another choice is faster with no more of either resource.
bool IsBeaten(std::span<const JobSize> all, const JobSize& size) {
  return std::ranges::any_of(all, [&](const JobSize& other) {
    return other.iteration_s > 0 && other.iteration_s < size.iteration_s && other.resources().Fits(size.resources());
  });
}

}  // namespace

JobMenu::JobMenu(const AllocationJob& job, const Resources& total) : job_(&job), requested_(job.requested) {
  if (job.has_configs()) {
    WalkConfigs(total);
  } else {
    current_ = FindCurrentSize(job);
  }
  FindUseful(total);
}

void JobMenu::WalkConfigs(const Resources& total) {
  const PsWorkerJob& job = *job_->ps_worker;
  requested_ = AddConfig(job.config);
  if (job_->is_running()) current_ = requested_;
  if (!job_->is_predictable && job_->is_running()) return;
  const auto with_gpu = Apply(UnitOperation::kAddGpu, job.limits.min, job.limits);
  for (const Prices& prices : WalkPrices(total)) {
    Walk walk(job, prices, total);
    for (const PsWorkerConfig& config : walk.Run(job.limits.min)) AddConfig(config);
    if (!with_gpu) continue;
    for (const PsWorkerConfig& config : walk.Run(*with_gpu)) AddConfig(config);
  }
}

uint32_t JobMenu::AddConfig(const PsWorkerConfig& config) {
  const auto known = std::ranges::find(configs_, config);
  if (known != configs_.end()) return static_cast<uint32_t>(known - configs_.begin());
  configs_.push_back(config);
  own_sizes_.push_back({config.num_gpus, config.num_cores(), job_->ps_worker->iteration_s(config)});
  return static_cast<uint32_t>(configs_.size() - 1);
}

std::optional<PsWorkerConfig> JobMenu::config(uint32_t choice) const {
  if (configs_.empty()) return std::nullopt;
  return configs_[choice];
}

void JobMenu::FindUseful(const Resources& total) {
  const auto all = sizes();
  double least_s = 0;  // of listed sizes so far: they ascend, so only smaller ones can beat one
  for (uint32_t k = 0; k < all.size(); ++k) {
    if (all[k].iteration_s <= 0 || !all[k].resources().Fits(total)) continue;
    const bool is_beaten = configs_.empty() ? least_s > 0 && all[k].iteration_s >= least_s : IsBeaten(all, all[k]);
    if (is_beaten) continue;
    least_s = all[k].iteration_s;
    useful_.push_back(k);
  }
}

std::vector<JobMenu> BuildMenus(const AllocationSnapshot& snapshot) {
  const Resources total = TotalCapacity(snapshot);
  std::vector<JobMenu> menus;
  menus.reserve(snapshot.jobs.size());
  for (const AllocationJob& job : snapshot.jobs) menus.emplace_back(job, total);
  return menus;
}

}  // namespace fairlead::scheduling::aiturbo

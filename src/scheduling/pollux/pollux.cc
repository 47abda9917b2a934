#include "scheduling/pollux/pollux.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <vector>

#include "base/random.h"
#include "scheduling/job_sizes.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::pollux {
namespace {

constexpr double kFloor = 1e-3;
constexpr double kRestartS = 30;
constexpr uint64_t kSwapsPerJob = 20;
constexpr uint64_t kMostSwaps = 20000;

double GoodputOf(const AllocationJob& job, uint32_t size) {
  if (!job.goodput.empty()) return job.goodput[size];
  if (job.sizes[size].iteration_s > 0) return 1 / job.sizes[size].iteration_s;
  // Before anything is known of a job, it is taken to be as fast as it is large.
  const bool is_known = std::ranges::any_of(job.sizes, [](const JobSize& s) { return s.iteration_s > 0; });
  return is_known ? 0 : static_cast<double>(job.sizes[size].num_gpus);
}

// Sizes are counted from 1 here; 0 = the job waits.
class Search {
 public:
  Search(const AllocationSnapshot& snapshot, const ServiceOrder& order, const PolluxOptions& options)
      : snapshot_(snapshot), order_(order), room_(TotalCapacity(snapshot)) {
    const uint64_t num_jobs = std::max<uint64_t>(snapshot.jobs.size(), 1);
    const uint64_t fair_gpus = (room_.num_gpus + num_jobs - 1) / num_jobs;
    for (const AllocationJob& job : snapshot.jobs) {
      const Resources fair{std::max<uint64_t>(fair_gpus, 1), room_.num_cores};
      const auto last = static_cast<uint32_t>(job.sizes.size() - 1);
      fair_goodputs_.push_back(GoodputOf(job, FindLargestFitting(job, fair, last).value_or(0)));
      current_.push_back(FindCurrentSize(job) ? *FindCurrentSize(job) + 1 : 0);
      most_.push_back(MostOf(job, options));
    }
    given_.assign(snapshot.jobs.size(), 0);
  }

  void KeepRunning() {
    for (const uint32_t j : order_) {
      if (Fits(j, current_[j])) Give(j, current_[j]);
    }
  }

  void Grow() {
    std::priority_queue<Offer> offers;
    const auto offer = [&](uint32_t place) {
      if (const auto best = BestGrowth(place)) offers.push(*best);
    };
    for (uint32_t place = 0; place < order_.size(); ++place) offer(place);
    while (!offers.empty()) {
      const Offer top = offers.top();
      offers.pop();
      const uint32_t j = order_[top.place];
      if (Fits(j, top.given)) Give(j, top.given);
      offer(top.place);
    }
  }

  void Swap(uint64_t seed) {
    if (order_.size() < 2) return;
    Random random(seed);
    const uint64_t num_swaps = std::min(kMostSwaps, kSwapsPerJob * order_.size());
    for (uint64_t i = 0; i < num_swaps; ++i) {
      const uint32_t giver = order_[random.Below(order_.size())];
      const uint32_t taker = order_[random.Below(order_.size())];
      if (giver != taker) TrySwap(giver, taker, &random);
    }
  }

  Resources ResourcesOf(uint32_t j, uint32_t given) const {
    return given == 0 ? Resources{} : Job(j).sizes[given - 1].resources();
  }
  uint32_t given(uint32_t j) const { return given_[j]; }
  double Value(uint32_t j) const { return 1 / Badness(j, given_[j]); }

 private:
  struct Offer {
    double gain;
    uint32_t place;
    uint32_t given;
    bool operator<(const Offer& b) const { return gain != b.gain ? gain < b.gain : place > b.place; }
  };

  // The larger size by which badness falls most per GPU: not only the next one, as five GPUs may be slower than four,
  // and eight faster.
  std::optional<Offer> BestGrowth(uint32_t place) const {
    const uint32_t j = order_[place];
    Offer best{0, place, given_[j]};
    const double now = Badness(j, given_[j]);
    for (uint32_t given = given_[j] + 1; given <= most_[j] && Fits(j, given); ++given) {
      const double gain = (now - Badness(j, given)) / Units(j, given);
      if (gain <= best.gain) continue;
      best.gain = gain;
      best.given = given;
    }
    if (best.given == given_[j]) return std::nullopt;
    return best;
  }

  const AllocationJob& Job(uint32_t j) const { return snapshot_.jobs[j]; }

  static uint32_t MostOf(const AllocationJob& job, const PolluxOptions& options) {
    const auto all = static_cast<uint32_t>(job.sizes.size());
    const auto below = std::ranges::upper_bound(job.sizes, options.most_gpus, {}, &JobSize::num_gpus);
    const auto limited = std::max<uint32_t>(1, static_cast<uint32_t>(below - job.sizes.begin()));
    return std::min(options.most_growth > 0 ? CountSizesUpToDouble(job) : all, limited);
  }

  bool Fits(uint32_t j, uint32_t given) const { return ResourcesOf(j, given).Fits(room_ + ResourcesOf(j, given_[j])); }
  void Give(uint32_t j, uint32_t given) {
    room_ = room_ + ResourcesOf(j, given_[j]) - ResourcesOf(j, given);
    given_[j] = given;
  }
  // What a larger size takes more, in GPUs (cores where it takes none).
  double Units(uint32_t j, uint32_t given) const {
    const Resources more = ResourcesOf(j, given) - ResourcesOf(j, given_[j]);
    return static_cast<double>(more.num_gpus > 0 ? more.num_gpus : more.num_cores);
  }

  // 1 / x.
  double Badness(uint32_t j, uint32_t given) const {
    double value = 0;
    if (given > 0 && fair_goodputs_[j] > 0) value = GoodputOf(Job(j), given - 1) / fair_goodputs_[j];
    if (given != current_[j] && current_[j] != 0) {
      const double age_s = (snapshot_.now - Job(j).submission).seconds().value();
      value *= std::max(age_s - kRestartS * Job(j).num_restarts, 0.0) / (age_s + kRestartS);
    }
    return 1 / (value + kFloor);
  }

  // The giver falls to any smaller size, the taker takes the best that then fits.
  void TrySwap(uint32_t giver, uint32_t taker, Random* random) {
    if (given_[giver] == 0 || given_[taker] == most_[taker]) return;
    const uint32_t had = given_[giver];
    const uint32_t took = given_[taker];
    const double before = Badness(giver, had) + Badness(taker, took);
    Give(giver, static_cast<uint32_t>(random->Below(had)));
    for (uint32_t given = took + 1; given <= most_[taker] && Fits(taker, given); ++given) {
      if (Badness(taker, given) < Badness(taker, given_[taker])) Give(taker, given);
    }
    if (Badness(giver, given_[giver]) + Badness(taker, given_[taker]) < before) return;
    Give(taker, took);
    Give(giver, had);
  }

  const AllocationSnapshot& snapshot_;
  const ServiceOrder& order_;
  Resources room_;
  std::vector<double> fair_goodputs_;  // [jobs]
  std::vector<uint32_t> current_;      // [jobs]
  std::vector<uint32_t> most_;         // [jobs]
  std::vector<uint32_t> given_;        // [jobs]
};

class Pollux : public AllocationPolicy {
 public:
  explicit Pollux(const PolluxOptions& options) : options_(options) {}
  std::string_view name() const override { return "pollux"; }

 private:
  AllocationPlan Plan(const AllocationSnapshot& snapshot) const override {
    AllocationPlan plan = BeginPlan(snapshot);
    const ServiceOrder order = BySubmission(snapshot);
    Search search(snapshot, order, options_);
    search.KeepRunning();
    search.Grow();
    search.Swap(CombineHash(options_.seed, static_cast<uint64_t>(snapshot.now.ns())));
    search.Grow();
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) {
      plan.jobs[j].resources = search.ResourcesOf(j, search.given(j));
      plan.jobs[j].reason.score = search.Value(j);
      RememberLargestSize(snapshot.jobs[j], &plan.jobs[j].memory);
    }
    FinishPlan(snapshot, order, PlacingOrder::kSmallestFirst, &plan);
    plan.next_wake_up = snapshot.now + SimDuration::FromSeconds(Seconds(options_.round_s));
    return plan;
  }

  const PolluxOptions options_;
};

}  // namespace

std::unique_ptr<AllocationPolicy> CreatePollux(const PolluxOptions& options) {
  return std::make_unique<Pollux>(options);
}

}  // namespace fairlead::scheduling::pollux

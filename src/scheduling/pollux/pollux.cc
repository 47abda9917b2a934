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
  Search(const AllocationSnapshot& snapshot, const ServiceOrder& order)
      : snapshot_(snapshot), order_(order), room_(TotalCapacity(snapshot)) {
    const uint64_t fair_gpus = snapshot.jobs.empty() ? 0 : room_.num_gpus / snapshot.jobs.size();
    for (const AllocationJob& job : snapshot.jobs) {
      const Resources fair{std::max<uint64_t>(fair_gpus, 1), room_.num_cores};
      const auto last = static_cast<uint32_t>(job.sizes.size() - 1);
      fair_goodputs_.push_back(GoodputOf(job, FindLargestFitting(job, fair, last).value_or(0)));
      current_.push_back(FindCurrentSize(job) ? *FindCurrentSize(job) + 1 : 0);
    }
    given_.assign(snapshot.jobs.size(), 0);
  }

  void KeepRunning() {
    for (const uint32_t j : order_) {
      if (Fits(j, current_[j])) Give(j, current_[j]);
    }
  }

  void Grow() {
    struct Offer {
      double gain;
      uint32_t place;
      bool operator<(const Offer& b) const { return gain != b.gain ? gain < b.gain : place > b.place; }
    };
    std::priority_queue<Offer> offers;
    const auto offer = [&](uint32_t place) {
      const uint32_t j = order_[place];
      if (given_[j] == Job(j).sizes.size()) return;
      const double gain = Badness(j, given_[j]) - Badness(j, given_[j] + 1);
      if (gain > 0) offers.push({gain / Units(j, given_[j] + 1), place});
    };
    for (uint32_t place = 0; place < order_.size(); ++place) offer(place);
    while (!offers.empty()) {
      const uint32_t place = offers.top().place;
      offers.pop();
      const uint32_t j = order_[place];
      if (!Fits(j, given_[j] + 1)) continue;
      Give(j, given_[j] + 1);
      offer(place);
    }
  }

  void Swap(uint64_t seed) {
    if (order_.size() < 2) return;
    Random random(seed);
    const uint64_t num_swaps = std::min(kMostSwaps, kSwapsPerJob * order_.size());
    for (uint64_t i = 0; i < num_swaps; ++i) {
      const uint32_t giver = order_[random.Below(order_.size())];
      const uint32_t taker = order_[random.Below(order_.size())];
      if (giver != taker) TrySwap(giver, taker);
    }
  }

  Resources ResourcesOf(uint32_t j, uint32_t given) const {
    return given == 0 ? Resources{} : Job(j).sizes[given - 1].resources();
  }
  uint32_t given(uint32_t j) const { return given_[j]; }
  double Value(uint32_t j) const { return 1 / Badness(j, given_[j]); }

 private:
  const AllocationJob& Job(uint32_t j) const { return snapshot_.jobs[j]; }

  bool Fits(uint32_t j, uint32_t given) const { return ResourcesOf(j, given).Fits(room_ + ResourcesOf(j, given_[j])); }
  void Give(uint32_t j, uint32_t given) {
    room_ = room_ + ResourcesOf(j, given_[j]) - ResourcesOf(j, given);
    given_[j] = given;
  }
  // What the next size takes, in GPUs (cores where it takes none).
  double Units(uint32_t j, uint32_t given) const {
    const Resources more = ResourcesOf(j, given) - ResourcesOf(j, given - 1);
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

  void TrySwap(uint32_t giver, uint32_t taker) {
    if (given_[giver] == 0 || given_[taker] == Job(taker).sizes.size()) return;
    const double before = Badness(giver, given_[giver]) + Badness(taker, given_[taker]);
    const double after = Badness(giver, given_[giver] - 1) + Badness(taker, given_[taker] + 1);
    if (after >= before) return;
    Give(giver, given_[giver] - 1);
    if (Fits(taker, given_[taker] + 1)) {
      Give(taker, given_[taker] + 1);
    } else {
      Give(giver, given_[giver] + 1);
    }
  }

  const AllocationSnapshot& snapshot_;
  const ServiceOrder& order_;
  Resources room_;
  std::vector<double> fair_goodputs_;  // [jobs]
  std::vector<uint32_t> current_;      // [jobs]
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
    Search search(snapshot, order);
    search.KeepRunning();
    search.Grow();
    search.Swap(CombineHash(options_.seed, static_cast<uint64_t>(snapshot.now.ns())));
    search.Grow();
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) {
      plan.jobs[j].resources = search.ResourcesOf(j, search.given(j));
      plan.jobs[j].reason.score = search.Value(j);
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

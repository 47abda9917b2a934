#include "scheduling/aiturbo/congestion_price.h"

#include <algorithm>

#include "scheduling/job_sizes.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::aiturbo {
namespace {

constexpr int kPartSteps = 6;  // of the bisection for a: to 1/64

double PartOf(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

class Market {
 public:
  Market(const AllocationSnapshot& snapshot, std::span<const JobMenu> menus, double price_factor)
      : snapshot_(snapshot),
        menus_(menus),
        price_factor_(price_factor),
        total_(TotalCapacity(snapshot)),
        by_submission_(BySubmission(snapshot)),
        choices_(menus.size()) {}

  std::vector<uint32_t> Clear() {
    size_t low = 0;
    size_t high = menus_.size();
    while (low < high) {
      const size_t middle = (low + high) / 2;
      ChooseAll(middle);
      if (CountLeftOver() <= middle) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    ChooseAll(low);
    return std::move(choices_);
  }

 private:
  // With the part of GPUs in the price that balances demand.
  void ChooseAll(size_t num_waiting) {
    CongestionPrice price{price_factor_ * static_cast<double>(num_waiting), 1};
    if (Choose(price) >= 0) return;
    price.gpu_part = 0;
    if (Choose(price) <= 0) return;
    double low = 0;
    double high = 1;
    for (int i = 0; i < kPartSteps; ++i) {
      price.gpu_part = (low + high) / 2;
      (Choose(price) > 0 ? low : high) = price.gpu_part;
    }
  }

  // Returns by what part of the cluster more GPUs than cores are asked for.
  double Choose(const CongestionPrice& price) {
    Resources demand;
    for (size_t j = 0; j < menus_.size(); ++j) {
      // Who doesn't know how much is left can't tell whether a change would pay.
      const auto stays = snapshot_.jobs[j].is_predictable ? std::nullopt : menus_[j].current();
      choices_[j] = stays ? *stays : ChooseSize(menus_[j], price, total_);
      demand = demand + menus_[j].size(choices_[j]).resources();
    }
    return PartOf(demand.num_gpus, total_.num_gpus) - PartOf(demand.num_cores, total_.num_cores);
  }

  // Jobs that find no room when all take their choice, shortest remaining service first.
  size_t CountLeftOver() const {
    std::vector<std::pair<double, uint32_t>> order;
    order.reserve(by_submission_.size());
    for (const uint32_t j : by_submission_) {
      const JobSize& size = menus_[j].size(choices_[j]);
      order.emplace_back(RemainingSeconds(snapshot_.jobs[j], size) * snapshot_.units.Of(size.resources()), j);
    }
    std::ranges::stable_sort(order, {}, &std::pair<double, uint32_t>::first);
    Resources room = total_;
    size_t num_left_over = 0;
    for (const auto& [service, j] : order) {
      const Resources wanted = menus_[j].size(choices_[j]).resources();
      if (wanted.Fits(room)) {
        room = room - wanted;
      } else {
        ++num_left_over;
      }
    }
    return num_left_over;
  }

  const AllocationSnapshot& snapshot_;
  const std::span<const JobMenu> menus_;
  const double price_factor_;
  const Resources total_;
  const ServiceOrder by_submission_;
  std::vector<uint32_t> choices_;  // [jobs]
};

}  // namespace

double CongestionPrice::Of(const Resources& resources, const Resources& total) const {
  return 1 + num_waiting * (gpu_part * PartOf(resources.num_gpus, total.num_gpus) +
                            (1 - gpu_part) * PartOf(resources.num_cores, total.num_cores));
}

uint32_t ChooseSize(const JobMenu& menu, const CongestionPrice& price, const Resources& total) {
  uint32_t best = menu.requested();
  double least = 0;
  for (const uint32_t k : menu.useful()) {
    const JobSize& size = menu.size(k);
    const double cost = size.iteration_s * price.Of(size.resources(), total);
    if (least > 0 && cost >= least) continue;
    least = cost;
    best = k;
  }
  return best;
}

std::vector<uint32_t> PriceSizes(const AllocationSnapshot& snapshot, std::span<const JobMenu> menus,
                                 double price_factor) {
  return Market(snapshot, menus, price_factor).Clear();
}

}  // namespace fairlead::scheduling::aiturbo

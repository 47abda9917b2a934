#include "scheduling/aiturbo/congestion_price.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "scheduling/job_sizes.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::aiturbo {
namespace {

constexpr int kPartSteps = 6;  // of the bisection for a: to 1/64

double PartOf(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Returns the index of the first choice of least cost. Args: among: not empty.
size_t FindCheapest(const JobMenu& menu, std::span<const uint32_t> among, const CongestionPrice& price,
                    const Resources& total, double change_s) {
  size_t best = 0;
  double least = 0;
  for (size_t i = 0; i < among.size(); ++i) {
    const JobSize& size = menu.size(among[i]);
    const double seconds = size.iteration_s + (among[i] == menu.current() ? 0 : change_s);
    const double cost = seconds * price.Of(size.resources(), total);
    if (i > 0 && cost >= least) continue;
    least = cost;
    best = i;
  }
  return best;
}

class Market {
 public:
  Market(const AllocationSnapshot& snapshot, std::span<const JobMenu> menus, double price_factor)
      : snapshot_(snapshot),
        menus_(menus),
        price_factor_(price_factor),
        total_(TotalCapacity(snapshot)),
        by_submission_(BySubmission(snapshot)),
        choices_(menus.size()) {
    for (const JobMenu& menu : menus) limits_.push_back({0, menu.useful().size()});
  }

  std::vector<uint32_t> Clear() {
    size_t low = 0;
    size_t high = menus_.size();
    while (low < high) {
      const size_t middle = (low + high) / 2;
      ChooseAll(middle);
      const bool is_enough = CountLeftOver() <= middle;
      (is_enough ? high : low) = is_enough ? middle : middle + 1;
      Narrow(is_enough);
    }
    ChooseAll(low);
    return std::move(choices_);
  }

 private:
  // Of a menu's useful choices.
  struct Limits {
    size_t first = 0;
    size_t end = 0;
    size_t chosen = 0;  // where only GPUs have a price
  };

  // What is left of the bisection has a price above that of now, or below it: larger, or smaller, choices are out. That
  // holds while only GPUs have a price and choices ascend in them.
  void Narrow(bool is_enough) {
    for (size_t j = 0; j < menus_.size(); ++j) {
      Limits& limits = limits_[j];
      if (!menus_[j].is_ascending() || limits.chosen >= limits.end) continue;
      if (is_enough) {
        limits.first = limits.chosen;
      } else {
        limits.end = limits.chosen + 1;
      }
    }
  }

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
      choices_[j] = stays ? *stays : ChooseOf(j, price);
      demand = demand + menus_[j].size(choices_[j]).resources();
    }
    return PartOf(demand.num_gpus, total_.num_gpus) - PartOf(demand.num_cores, total_.num_cores);
  }

  double ChangeSeconds(size_t j) const {
    const AllocationJob& job = snapshot_.jobs[j];
    return job.is_predictable ? job.restart_cost_s / std::max(1.0, job.remaining_iterations) : 0;
  }

  uint32_t ChooseOf(size_t j, const CongestionPrice& price) {
    const std::vector<uint32_t>& useful = menus_[j].useful();
    if (useful.empty()) return menus_[j].requested();
    if (price.gpu_part < 1) return ChooseSize(menus_[j], price, total_, ChangeSeconds(j));
    Limits& limits = limits_[j];
    limits.chosen =
        limits.first + FindCheapest(menus_[j], std::span(useful).subspan(limits.first, limits.end - limits.first),
                                    price, total_, ChangeSeconds(j));
    return useful[limits.chosen];
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
  std::vector<Limits> limits_;     // [jobs]
};

}  // namespace

double CongestionPrice::Of(const Resources& resources, const Resources& total) const {
  return 1 + num_waiting * (gpu_part * PartOf(resources.num_gpus, total.num_gpus) +
                            (1 - gpu_part) * PartOf(resources.num_cores, total.num_cores));
}

uint32_t ChooseSize(const JobMenu& menu, const CongestionPrice& price, const Resources& total, double change_s) {
  const std::vector<uint32_t>& useful = menu.useful();
  return useful.empty() ? menu.requested() : useful[FindCheapest(menu, useful, price, total, change_s)];
}

std::vector<uint32_t> PriceSizes(const AllocationSnapshot& snapshot, std::span<const JobMenu> menus,
                                 double price_factor) {
  return Market(snapshot, menus, price_factor).Clear();
}

}  // namespace fairlead::scheduling::aiturbo

// The discrete algorithm of DCQCN stepped through time: slow, and the oracle of the fixed point in dcqcn.h. For tests.
//
// Reference   Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, Algorithm 1 and section 3.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/random.h"
#include "fluid/dcqcn.h"

namespace fairlead::fluid {

// One sender and the receiver that answers it: cuts, alpha, fast recovery, additive and hyper increase.
class DcqcnSender {
 public:
  DcqcnSender(double rate, double line_rate, const DcqcnOptions& options, Random* random)
      : options_(options), line_rate_(line_rate), rate_(rate), target_(rate), random_(random) {
    cnp_clock_ = options.cnp_interval.value() * random->Uniform();
    alpha_clock_ = options.alpha_timer.value() * random->Uniform();
    ResetRecovery();
  }

  double rate() const { return rate_; }
  double target() const { return target_; }

  // Packets are marked independently of each other. Returns whether a CNP came.
  bool Step(double dt, double marking) {
    const double packets = rate_ * dt / options_.packet.value();
    marked_ |= random_->Uniform() < -std::expm1(packets * std::log1p(-marking));
    if ((timer_ -= dt) <= 0) Recover(&timer_, options_.rate_timer.value(), &timer_rounds_);
    if ((counter_ -= rate_ * dt) <= 0) Recover(&counter_, options_.byte_counter.value(), &counter_rounds_);
    bool cnp = false;
    if ((cnp_clock_ -= dt) <= 0) {
      cnp_clock_ += options_.cnp_interval.value();
      cnp = std::exchange(marked_, false);
      if (cnp) Cut();
    }
    if ((alpha_clock_ -= dt) <= 0) {
      alpha_clock_ += options_.alpha_timer.value();
      alpha_ += kGain * ((notified_ ? 1 : 0) - alpha_);
      notified_ = false;
    }
    return cnp;
  }

 private:
  static constexpr double kGain = 1.0 / 256;
  static constexpr double kHyperIncrease = 400e6 / 8;

  void ResetRecovery() {
    timer_ = options_.rate_timer.value();
    counter_ = options_.byte_counter.value();
    timer_rounds_ = counter_rounds_ = 0;
  }

  void Cut() {
    notified_ = true;
    target_ = rate_;
    rate_ *= 1 - alpha_ / 2;
    ResetRecovery();
  }

  void Recover(double* clock, double period, double* rounds) {
    *clock += period;
    *rounds += 1;
    if (std::min(timer_rounds_, counter_rounds_) > options_.recovery_rounds) {
      target_ += kHyperIncrease;
    } else if (std::max(timer_rounds_, counter_rounds_) > options_.recovery_rounds) {
      target_ += options_.additive_increase.value();
    }
    target_ = std::min(target_, line_rate_);
    rate_ = (rate_ + target_) / 2;
  }

  DcqcnOptions options_;
  double line_rate_;  // bytes/s, as the next two
  double rate_;
  double target_;
  double alpha_ = 1;
  // Time or bytes left until the next event.
  double timer_ = 0;
  double counter_ = 0;
  double cnp_clock_ = 0;
  double alpha_clock_ = 0;
  double timer_rounds_ = 0;  // since the last cut
  double counter_rounds_ = 0;
  bool marked_ = false;    // a packet, in this CNP interval
  bool notified_ = false;  // by a CNP, in this interval of the alpha timer
  Random* random_;
};

// Means over time and flows.
struct DcqcnMeasured {
  double marking = 0;
  double cnps_per_second_per_flow = 0;
  double rate_over_target = 0;
  double used = 0;  // share of the capacity that link() reports as carried
};

// Equal flows on one link, for `seconds` after half a second to settle in.
// Args  link(sum of rates, dt): what the link does for a time step, a pair of the marking probability and the rate that
//       it carries. All rates in bytes/s.
// Cost  O(flows * seconds / dt).
template <class Link>
DcqcnMeasured SimulateDcqcn(size_t num_flows, double capacity, double dt, double seconds, Link link) {
  Random random(1);
  const double fair = capacity / static_cast<double>(num_flows);
  std::vector<DcqcnSender> senders;
  for (size_t i = 0; i < num_flows; ++i) senders.emplace_back(fair, capacity, DcqcnOptions(), &random);

  DcqcnMeasured sums;
  double rates = 0;
  double targets = 0;
  const int settle_in = static_cast<int>(0.5 / dt);
  const int steps = static_cast<int>(seconds / dt);
  for (int step = -settle_in; step < steps; ++step) {
    double rate = 0;
    for (const DcqcnSender& sender : senders) rate += sender.rate();
    const auto [marking, carried] = link(rate, dt);
    int cnps = 0;
    for (DcqcnSender& sender : senders) cnps += sender.Step(dt, marking) ? 1 : 0;
    if (step < 0) continue;
    sums.marking += marking;
    sums.cnps_per_second_per_flow += cnps;
    sums.used += carried / capacity;
    rates += rate;
    for (const DcqcnSender& sender : senders) targets += sender.target();
  }
  return {.marking = sums.marking / steps,
          .cnps_per_second_per_flow = sums.cnps_per_second_per_flow / seconds / static_cast<double>(num_flows),
          .rate_over_target = rates / targets,
          .used = sums.used / steps};
}

}  // namespace fairlead::fluid

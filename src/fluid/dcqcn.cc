#include "fluid/dcqcn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/check.h"

namespace fairlead::fluid {
namespace {

Status CheckOption(bool valid, std::string_view name, std::string_view expected, double found) {
  if (valid && std::isfinite(found)) return OkStatus();
  return InvalidArgument(fmt::format("dcqcn: {}: expected {}, found {}", name, expected, found));
}

Status CheckPositive(std::string_view name, double found) { return CheckOption(found > 0, name, "> 0", found); }

// What happens to one flow at a marking probability; see the notation in the header.
struct FlowTerms {
  double cut;       // a
  double alpha;     // alpha
  double recovery;  // b + d
  double climb;     // c + e
};

FlowTerms ComputeTerms(double marking, double packets_per_second, const DcqcnOptions& options) {
  const double log_clean = std::log1p(-marking);  // of a packet that isn't marked
  const double counter = options.byte_counter / options.packet;
  const double timer = options.rate_timer.value() * packets_per_second;
  const double by_counter = marking / std::expm1(-log_clean * counter);
  const double by_timer = marking / std::expm1(-log_clean * timer);
  return {.cut = -std::expm1(log_clean * options.cnp_interval.value() * packets_per_second),
          .alpha = -std::expm1(log_clean * options.alpha_timer.value() * packets_per_second),
          .recovery = by_counter + by_timer,
          .climb = by_counter * std::exp(log_clean * options.recovery_rounds * counter) +
                   by_timer * std::exp(log_clean * options.recovery_rounds * timer)};
}

// The marking probability at which what cuts take from the target rate is what additive increase gives.
double FindMarking(double packets_per_second, const DcqcnOptions& options) {
  const double interval = options.cnp_interval.value();
  const double increase = options.additive_increase.value() / options.packet.value();
  double low = std::log(1e-18);
  double high = std::log1p(-1e-12);
  for (int i = 0; i < 64; ++i) {
    const double middle = (low + high) / 2;
    const FlowTerms terms = ComputeTerms(std::exp(middle), packets_per_second, options);
    const double up = interval * interval * increase * packets_per_second * terms.recovery * terms.climb;
    (terms.cut * terms.cut * terms.alpha < up ? low : high) = middle;
  }
  return std::exp(low);
}

// The part of a hole in the traffic that the queue doesn't fill: E[max(0, hole - q)] / hole, q exponential.
double Unfilled(double hole, double mean_queue) {
  if (mean_queue == 0) return 1;
  const double ratio = hole / mean_queue;
  return 1 + std::expm1(-ratio) / ratio;
}

}  // namespace

Status DcqcnOptions::Validate() const {
  FL_RETURN_IF_ERROR(CheckPositive("packet", packet.value()));
  FL_RETURN_IF_ERROR(CheckPositive("cnp_interval", cnp_interval.value()));
  FL_RETURN_IF_ERROR(CheckPositive("alpha_timer", alpha_timer.value()));
  FL_RETURN_IF_ERROR(CheckPositive("rate_timer", rate_timer.value()));
  FL_RETURN_IF_ERROR(CheckPositive("byte_counter", byte_counter.value()));
  FL_RETURN_IF_ERROR(CheckPositive("recovery_rounds", recovery_rounds));
  FL_RETURN_IF_ERROR(CheckPositive("additive_increase", additive_increase.value()));
  FL_RETURN_IF_ERROR(CheckOption(min_threshold.value() >= 0, "min_threshold", ">= 0", min_threshold.value()));
  FL_RETURN_IF_ERROR(
      CheckOption(max_threshold > min_threshold, "max_threshold", "> min_threshold", max_threshold.value()));
  return CheckOption(max_marking > 0 && max_marking <= 1, "max_marking", "a probability in (0, 1]", max_marking);
}

DcqcnOperatingPoint SolveDcqcn(double capacity, double num_flows, const DcqcnOptions& options) {
  FL_CHECK(capacity > 0 && num_flows >= 0 && options.Validate().ok());
  if (num_flows <= 1) return {};
  const double interval = options.cnp_interval.value();
  const double rate = capacity / num_flows;
  const double packets_per_second = rate / options.packet.value();
  const double marking = FindMarking(packets_per_second, options);
  const FlowTerms terms = ComputeTerms(marking, packets_per_second, options);
  const double cuts_per_second = terms.cut / interval;

  const double gap = terms.cut * terms.alpha / (interval * terms.recovery) * options.packet.value();
  const double hole = gap / cuts_per_second;
  const double idle = gap / (rate + gap);  // of a link without a queue
  const Bytes queue = options.min_threshold +
                      (options.max_threshold - options.min_threshold) * std::min(1.0, marking / options.max_marking);
  return {.marking_probability = marking,
          .cnps_per_second_per_flow = cuts_per_second,
          .queue = std::min(queue, options.max_threshold / 2),
          .efficiency = 1 - idle * Unfilled(hole, queue.value()),
          .synchronized_efficiency = 1 - idle * Unfilled(hole * num_flows, queue.value())};
}

}  // namespace fairlead::fluid

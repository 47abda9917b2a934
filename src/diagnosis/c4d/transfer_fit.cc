#include "diagnosis/c4d/transfer_fit.h"

#include <algorithm>
#include <utility>

namespace fairlead::diagnosis::c4d {

namespace {

// Fewer messages are too few to spare the slowest.
constexpr uint64_t kTrimMin = 8;
// A report of fewer messages does not tell whether one is slower than the others.
constexpr uint64_t kUnevenMessagesMin = 4;
constexpr double kUnevenFactor = 2;
// Beyond the usual ratio.
constexpr double kUnusualFactor = 1.3;
// Fewer reports do not tell what is usual.
constexpr uint32_t kUsualReportsMin = 8;
// Least relative variance of mean sizes that a slope can be read from.
constexpr double kSizeVarianceMin = 0.04;

}  // namespace

void SlowestRatios::Add(double ratio) {
  ++reports_;
  auto value = static_cast<float>(ratio);
  for (float& kept : greatest_) {
    if (value > kept) std::swap(value, kept);
  }
}

void SlowestRatios::Add(const SlowestRatios& others) {
  const uint32_t reports = reports_ + others.reports_;
  for (const float value : others.greatest_) Add(value);
  reports_ = reports;
}

double SlowestRatios::usual() const { return reports_ < kUsualReportsMin ? 0 : greatest_.back(); }

void TransferFit::Add(const model::ConnectionRecord& record, SimDuration added_min, double usual_ratio,
                      double usual_seconds) {
  const double seconds = record.wire_time.seconds().value();
  const double slowest = record.wire_time_max.seconds().value();
  if (record.messages == 0 || record.bytes == 0 || !(seconds > 0) || slowest < 0 || slowest > seconds) return;
  const double bytes = static_cast<double>(record.bytes) / static_cast<double>(record.messages);
  messages_ += record.messages;
  slowest_ = std::max(slowest_, slowest);
  sum_bytes_ += static_cast<double>(record.bytes);
  sum_seconds_ += seconds;
  sum_bytes_2_ += static_cast<double>(record.bytes) * bytes;
  sum_product_ += bytes * seconds;
  if (record.messages < kUnevenMessagesMin || slowest >= seconds) return;
  ++reports_;
  const double others = (seconds - slowest) / static_cast<double>(record.messages - 1);
  const double ratio = slowest / others;
  slowest_ratios_.Add(ratio);
  const double expected = std::max(others, usual_seconds * bytes);
  const double beyond_usual = slowest / expected;
  const bool is_uneven = usual_ratio > 0 && beyond_usual >= std::max(kUnevenFactor, kUnusualFactor * usual_ratio) &&
                         slowest - others >= added_min.seconds().value();
  uneven_reports_ += is_uneven ? 1 : 0;
  uneven_seconds_ += is_uneven ? slowest - expected : 0;
}

double TransferFit::SecondsOf(double bytes) const {
  const auto messages = static_cast<double>(messages_);
  const double mean_bytes = sum_bytes_ / messages;
  const double mean_seconds = sum_seconds_ / messages;
  // How much less it is without the slowest, which is not always the one of a report that a slope could tell.
  const double trim =
      messages_ >= kTrimMin && slowest_ < sum_seconds_ ? (sum_seconds_ - slowest_) / (messages - 1) / mean_seconds : 1;
  const double variance = sum_bytes_2_ / messages - mean_bytes * mean_bytes;
  if (variance >= kSizeVarianceMin * mean_bytes * mean_bytes) {
    const double slope = (sum_product_ / messages - mean_bytes * mean_seconds) / variance;
    const double fitted = mean_seconds + slope * (bytes - mean_bytes);
    if (slope >= 0 && fitted > 0) return trim * fitted;
  }
  return trim * mean_seconds * bytes / mean_bytes;
}

}  // namespace fairlead::diagnosis::c4d

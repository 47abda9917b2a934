#include "diagnosis/c4d/transfer_fit.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/statistics.h"

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
// Fewer reports do not tell how much they differ.
constexpr uint32_t kErrorReportsMin = 3;
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
  const auto messages = static_cast<double>(record.messages);
  const double bytes = static_cast<double>(record.bytes) / messages;
  const Report report{.messages = messages, .bytes = bytes, .seconds = seconds / messages};
  bytes_[num_reports_ % kReportsKept] = static_cast<float>(report.bytes);
  seconds_[num_reports_ % kReportsKept] = static_cast<float>(report.seconds);
  ++num_reports_;
  all_.Add(report);
  if (slowest > slowest_) slowest_report_ = report;
  slowest_ = std::max(slowest_, slowest);
  if (record.messages < kUnevenMessagesMin || slowest >= seconds) return;
  ++reports_;
  const double others = (seconds - slowest) / (messages - 1);
  const double ratio = slowest / others;
  slowest_ratios_.Add(ratio);
  const double expected = std::max(others, usual_seconds * bytes);
  const double beyond_usual = slowest / expected;
  const bool is_uneven = usual_ratio > 0 && beyond_usual >= std::max(kUnevenFactor, kUnusualFactor * usual_ratio) &&
                         slowest - others >= added_min.seconds().value();
  uneven_reports_ += is_uneven ? 1 : 0;
  uneven_seconds_ += is_uneven ? slowest - expected : 0;
}

void TransferFit::Sums::Add(const Report& report, double sign) {
  const double w = sign * report.messages;
  messages += w;
  bytes += w * report.bytes;
  seconds += w * report.seconds;
  bytes_2 += w * report.bytes * report.bytes;
  product += w * report.bytes * report.seconds;
  seconds_2 += w * report.seconds * report.seconds;
}

double TransferFit::Sums::Slope() const {
  const double mean_bytes = bytes / messages;
  const double variance = bytes_2 / messages - mean_bytes * mean_bytes;
  if (variance >= kSizeVarianceMin * mean_bytes * mean_bytes) {
    const double slope = (product / messages - mean_bytes * seconds / messages) / variance;
    if (slope >= 0) return slope;
  }
  return seconds / bytes;
}

double TransferFit::Typical() const {
  const uint32_t kept = std::min<uint32_t>(num_reports_, kReportsKept);
  if (kept < kErrorReportsMin) return 1;
  const double mean_seconds = all_.seconds / all_.messages;
  const double slope = all_.Slope();
  std::array<double, kReportsKept> ratios;
  for (uint32_t i = 0; i < kept; ++i) {
    const double fitted = mean_seconds + slope * (bytes_[i] - mean_bytes());
    ratios[i] = seconds_[i] / std::max(fitted, mean_seconds / 8);
  }
  return std::min(1.0, MedianInPlace(std::span(ratios).first(kept)));
}

double TransferFit::SecondsOf(double bytes) const {
  const double mean_seconds = all_.seconds / all_.messages;
  // How much less it is without the slowest, which is not always the one of a report that a slope could tell.
  const double trim = all_.messages >= kTrimMin && slowest_ < all_.seconds
                          ? (all_.seconds - slowest_) / (all_.messages - 1) / mean_seconds
                          : 1;
  const double fitted = mean_seconds + all_.Slope() * (bytes - mean_bytes());
  return std::min(trim, Typical()) * (fitted > 0 ? fitted : mean_seconds * bytes / mean_bytes());
}

double TransferFit::LogError() const {
  if (num_reports_ < kErrorReportsMin) return 0;
  Sums sums = all_;
  if (all_.messages >= kTrimMin && slowest_report_.messages > 1) {
    const double others = slowest_report_.messages - 1;
    sums.Add(slowest_report_, -1);
    sums.Add({.messages = others,
              .bytes = slowest_report_.bytes,
              .seconds = (slowest_report_.messages * slowest_report_.seconds - slowest_) / others});
  }
  const double mean_bytes = sums.bytes / sums.messages;
  const double mean_seconds = sums.seconds / sums.messages;
  const double slope = sums.Slope();
  const double unexplained = sums.seconds_2 / sums.messages - mean_seconds * mean_seconds -
                             2 * slope * (sums.product / sums.messages - mean_bytes * mean_seconds) +
                             slope * slope * (sums.bytes_2 / sums.messages - mean_bytes * mean_bytes);
  return std::sqrt(std::max(0.0, unexplained) / (num_reports_ - 1)) / mean_seconds;
}

}  // namespace fairlead::diagnosis::c4d

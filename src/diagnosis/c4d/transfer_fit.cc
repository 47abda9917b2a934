#include "diagnosis/c4d/transfer_fit.h"

namespace fairlead::diagnosis::c4d {

namespace {

// Fewer messages are too few to spare the slowest.
constexpr uint64_t kTrimMin = 8;
// Least relative variance of mean sizes that a slope can be read from.
constexpr double kSizeVarianceMin = 0.04;

}  // namespace

void TransferFit::Add(const model::ConnectionRecord& record) {
  double seconds = record.wire_time.seconds().value();
  const double slowest = record.wire_time_max.seconds().value();
  if (record.messages == 0 || record.bytes == 0 || !(seconds > 0) || slowest < 0 || slowest > seconds) return;
  const auto messages = static_cast<double>(record.messages);
  const double bytes = static_cast<double>(record.bytes) / messages;
  double weight = messages;
  if (record.messages >= kTrimMin && slowest < seconds) {
    seconds -= slowest;
    weight -= 1;
  }
  messages_ += record.messages;
  sum_weight_ += weight;
  sum_bytes_ += weight * bytes;
  sum_seconds_ += seconds;
  sum_bytes_2_ += weight * bytes * bytes;
  sum_product_ += bytes * seconds;
}

double TransferFit::SecondsOf(double bytes) const {
  const double mean_bytes = sum_bytes_ / sum_weight_;
  const double mean_seconds = sum_seconds_ / sum_weight_;
  const double variance = sum_bytes_2_ / sum_weight_ - mean_bytes * mean_bytes;
  if (variance >= kSizeVarianceMin * mean_bytes * mean_bytes) {
    const double slope = (sum_product_ / sum_weight_ - mean_bytes * mean_seconds) / variance;
    const double fitted = mean_seconds + slope * (bytes - mean_bytes);
    if (slope >= 0 && fitted > 0) return fitted;
  }
  return mean_seconds * bytes / mean_bytes;
}

}  // namespace fairlead::diagnosis::c4d

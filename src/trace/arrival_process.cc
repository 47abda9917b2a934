#include "trace/arrival_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trace/trace.h"

namespace fairlead::trace {

namespace {

constexpr double kSecondsPerHour = 3600;

// The day of the profile used for day `day` of the trace: beyond the end the last full weeks repeat.
size_t ProfileDay(const TraceProfile& profile, size_t day) {
  const size_t num_days = profile.num_days();
  if (day < num_days) return day;
  const size_t weeks = num_days >= 7 ? num_days / 7 * 7 : num_days;
  return num_days - weeks + (day - num_days) % weeks;
}

// Moments of one day, drawn by the weights of its hours.
class DayProfile {
 public:
  explicit DayProfile(const std::vector<double>& weights) : ends_(weights.size()) {
    std::partial_sum(weights.begin(), weights.end(), ends_.begin());
  }

  double DrawSecond(Random* random) const {
    const double x = random->Uniform() * ends_.back();
    const auto hour = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), x) - ends_.begin());
    const double begin = hour == 0 ? 0 : ends_[hour - 1];
    return (static_cast<double>(hour) + (x - begin) / (ends_[hour] - begin)) * kSecondsPerHour;
  }

 private:
  std::vector<double> ends_;
};

// Size of a batch: 1, 2, … with the given mean.
size_t DrawBatchSize(double mean, Random* random) {
  if (mean <= 1) return 1;
  return 1 + static_cast<size_t>(std::log1p(-random->Uniform()) / std::log1p(-1 / mean));
}

void AddDay(double begin_s, size_t count, const DayProfile& day, const GeneratorOptions& options, Random* random,
            std::vector<double>* arrivals) {
  const auto add = [&](double second) {
    arrivals->push_back(begin_s + std::floor(std::min(second, kSecondsPerDay - 1)));
  };
  auto in_batches = static_cast<size_t>(std::llround(options.burst_fraction * static_cast<double>(count)));
  const size_t alone = count - in_batches;
  while (in_batches > 0) {
    const size_t size = std::min(in_batches, DrawBatchSize(options.burst_mean, random));
    const double first = day.DrawSecond(random);
    for (size_t i = 0; i < size; ++i) add(first + random->Uniform() * options.burst_window_s);
    in_batches -= size;
  }
  for (size_t i = 0; i < alone; ++i) add(day.DrawSecond(random));
}

}  // namespace

std::string CountDays(uint32_t num_days) { return fmt::format("{} {}", num_days, num_days == 1 ? "day" : "days"); }

uint32_t NumTraceDays(const TraceProfile& profile, const GeneratorOptions& options) {
  return options.days > 0 ? options.days : profile.num_days();
}

std::vector<double> DrawArrivals(const TraceProfile& profile, const GeneratorOptions& options, Random* random) {
  const DayProfile hours(profile.DrawnHourWeights());
  std::vector<double> arrivals;
  for (size_t day = 0; day < NumTraceDays(profile, options); ++day) {
    const double count = profile.arrivals_per_day[ProfileDay(profile, day)] * options.load;
    AddDay(static_cast<double>(day) * kSecondsPerDay, static_cast<size_t>(std::llround(count)), hours, options, random,
           &arrivals);
  }
  std::sort(arrivals.begin(), arrivals.end());
  return arrivals;
}

}  // namespace fairlead::trace

#include "agent/period_estimator.h"

#include <kissfft/kiss_fftr.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <numbers>
#include <numeric>
#include <vector>

#include "base/check.h"

namespace fairlead::agent {

namespace {

// How far a maximum of the autocorrelation may be from where the spectrum says, as a share.
constexpr double kNearby = 0.1;
// Of the mean: what sums of floats are off by.
constexpr double kRounding = 1e-5;

struct FreeFft {
  void operator()(kiss_fftr_state* state) const { kiss_fftr_free(state); }
};
using Fft = std::unique_ptr<kiss_fftr_state, FreeFft>;

size_t NextPowerOfTwo(size_t n) {
  size_t power = 2;
  while (power < n) power *= 2;
  return power;
}

// |transform|^2 of the series, zero padded to `length` (even); [frequency] 0 .. length/2.
std::vector<float> PowerSpectrum(std::span<const float> series, size_t length) {
  std::vector<float> padded(length, 0.0f);
  std::copy(series.begin(), series.end(), padded.begin());
  std::vector<kiss_fft_cpx> transform(length / 2 + 1);
  const Fft fft(kiss_fftr_alloc(static_cast<int>(length), 0, nullptr, nullptr));
  FL_CHECK(fft != nullptr);
  kiss_fftr(fft.get(), padded.data(), transform.data());
  std::vector<float> power(transform.size());
  for (size_t i = 0; i < power.size(); ++i) {
    power[i] = transform[i].r * transform[i].r + transform[i].i * transform[i].i;
  }
  return power;
}

// [lag] correlation of the series with itself, as a fraction of that at lag 0; lags up to half the length.
std::vector<double> Autocorrelation(std::span<const float> series) {
  const size_t length = NextPowerOfTwo(2 * series.size());
  const std::vector<float> power = PowerSpectrum(series, length);
  std::vector<kiss_fft_cpx> transform(power.size());
  for (size_t i = 0; i < power.size(); ++i) transform[i] = {power[i], 0.0f};
  std::vector<float> sums(length);
  const Fft inverse(kiss_fftr_alloc(static_cast<int>(length), 1, nullptr, nullptr));
  FL_CHECK(inverse != nullptr);
  kiss_fftri(inverse.get(), transform.data(), sums.data());
  std::vector<double> correlation(series.size() / 2 + 1);
  const double at_zero = double{sums[0]} / static_cast<double>(series.size());
  for (size_t lag = 0; lag < correlation.size(); ++lag) {
    const double mean = double{sums[lag]} / static_cast<double>(series.size() - lag);
    correlation[lag] = at_zero > 0 ? mean / at_zero : 0;
  }
  return correlation;
}

// Whether all bins are the same but for rounding. Args: after RemoveMean.
bool IsFlat(std::span<const float> centred, std::span<const float> series) {
  const auto largest = [](std::span<const float> values) {
    float most = 0;
    for (const float value : values) most = std::max(most, std::abs(value));
    return most;
  };
  return largest(centred) <= kRounding * largest(series);
}

std::vector<float> RemoveMean(std::span<const float> series) {
  const double mean = std::accumulate(series.begin(), series.end(), 0.0) / static_cast<double>(series.size());
  std::vector<float> centred(series.begin(), series.end());
  for (float& value : centred) value -= static_cast<float>(mean);
  return centred;
}

// Mean over `width` bins around each, width odd; ends are shorter.
std::vector<float> Smooth(std::span<const float> series, size_t width) {
  std::vector<double> sums(series.size() + 1);
  for (size_t i = 0; i < series.size(); ++i) sums[i + 1] = sums[i] + series[i];
  std::vector<float> smooth(series.size());
  for (size_t i = 0; i < series.size(); ++i) {
    const size_t from = i - std::min(i, width / 2);
    const size_t to = std::min(series.size(), i + width / 2 + 1);
    smooth[i] = static_cast<float>((sums[to] - sums[from]) / static_cast<double>(to - from));
  }
  return smooth;
}

// Periods in bins, from local maxima of the spectrum and their multiples.
std::vector<double> FindCandidates(std::span<const float> centred) {
  std::vector<float> windowed(centred.begin(), centred.end());
  const auto n = static_cast<double>(windowed.size());
  for (size_t i = 0; i < windowed.size(); ++i) {
    windowed[i] *= static_cast<float>(0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / n));
  }
  const size_t length = NextPowerOfTwo(2 * windowed.size());
  const std::vector<float> power = PowerSpectrum(windowed, length);
  const float greatest = *std::max_element(power.begin(), power.end());
  std::vector<double> candidates;
  if (greatest <= 0) return candidates;
  for (size_t i = 1; i + 1 < power.size(); ++i) {
    if (power[i] < kPeakShare * greatest || power[i] < power[i - 1] || power[i] <= power[i + 1]) continue;
    const double period = static_cast<double>(length) / static_cast<double>(i);
    for (int multiple = 1; multiple <= kMaxMultiple; ++multiple) candidates.push_back(period * multiple);
  }
  std::sort(candidates.begin(), candidates.end());
  return candidates;
}

// A maximum of the autocorrelation. Few periods are whole numbers of bins, so it may lie between two lags.
struct Peak {
  double lag = 0;  // in bins; 0: none
  double correlation = 0;
};

// The lag of the greatest correlation within `slack` (a share) of `lag`; 0 when that is not a maximum inside.
size_t NearbyMaximum(const std::vector<double>& correlation, double lag, double slack) {
  const auto from = static_cast<size_t>(std::max(1.0, lag * (1 - slack)));
  const auto to = static_cast<size_t>(lag * (1 + slack)) + 1;
  if (to + 1 >= correlation.size()) return 0;
  const auto best = std::max_element(correlation.begin() + static_cast<ptrdiff_t>(from),
                                     correlation.begin() + static_cast<ptrdiff_t>(to) + 1);
  const auto at = static_cast<size_t>(best - correlation.begin());
  return at > from && at < to ? at : 0;
}

// The correlation at a lag between bins: a Lanczos kernel over kTaps lags on either side.
double Interpolate(const std::vector<double>& correlation, double lag) {
  constexpr int kTaps = 4;
  const auto below = static_cast<int>(std::floor(lag));
  double sum = 0;
  double weights = 0;
  for (int at = below - kTaps + 1; at <= below + kTaps; ++at) {
    const auto mirrored = static_cast<size_t>(std::abs(at));  // an autocorrelation is even
    if (mirrored >= correlation.size()) continue;
    const double x = std::numbers::pi * (lag - at);
    const double weight = std::abs(x) < 1e-9 ? 1 : std::sin(x) * std::sin(x / kTaps) * kTaps / (x * x);
    sum += weight * correlation[mirrored];
    weights += weight;
  }
  return sum / weights;
}

Peak NearbyPeak(const std::vector<double>& correlation, double lag, double slack) {
  const size_t maximum = NearbyMaximum(correlation, lag, slack);
  if (maximum == 0) return {};
  constexpr int kSteps = 16;  // a bin
  Peak peak{static_cast<double>(maximum), correlation[maximum]};
  for (int step = -kSteps / 2; step <= kSteps / 2; ++step) {
    const double between = static_cast<double>(maximum) + static_cast<double>(step) / kSteps;
    const double value = Interpolate(correlation, between);
    if (value > peak.correlation) peak = {between, value};
  }
  return peak;
}

class Estimator {
 public:
  Estimator(std::span<const float> series, double resolution)
      : resolution_(resolution), centred_(RemoveMean(series)), is_flat_(IsFlat(centred_, series)) {}

  std::optional<PeriodEstimate> Run(Seconds bin);

 private:
  // Of the series smoothed over about kSmoothShare of the period; widths are powers of two plus one, so few differ.
  const std::vector<double>& SmoothedAutocorrelation(double period);
  Peak FindMostCorrelated();
  Peak FindShortestNotWorse(const Peak& than, double tolerance);
  bool IsCoarse() const { return resolution_ > kCoarseBins; }
  bool IsCertain(const Peak& peak);
  double Sharpen(const Peak& peak);

  double resolution_;            // in bins
  std::vector<double> periods_;  // candidates, ascending
  std::vector<float> centred_;
  bool is_flat_;
  std::map<size_t, std::vector<double>> by_width_;
};

const std::vector<double>& Estimator::SmoothedAutocorrelation(double period) {
  const size_t width = NextPowerOfTwo(static_cast<size_t>(period * kSmoothShare) + 1) / 2 * 2 + 1;
  const auto [entry, is_new] = by_width_.try_emplace(width);
  if (is_new) entry->second = Autocorrelation(Smooth(centred_, width));
  return entry->second;
}

double Estimator::Sharpen(const Peak& peak) {
  const std::vector<double>& correlation = SmoothedAutocorrelation(peak.lag);
  double period = peak.lag;
  for (size_t k = 2; period * static_cast<double>(k) * 1.05 < static_cast<double>(correlation.size()); ++k) {
    // The further out, the less a period may be off for its multiple to be still recognised.
    const size_t at = NearbyMaximum(correlation, period * static_cast<double>(k), 0.2 / static_cast<double>(k));
    if (at == 0 || correlation[at] < 0.5 * peak.correlation) break;
    period = static_cast<double>(at) / static_cast<double>(k);
  }
  return period;
}

// Each candidate under its own smoothing.
Peak Estimator::FindMostCorrelated() {
  Peak best{0, kMinCorrelation};
  for (const double period : periods_) {
    const std::vector<double>& correlation = SmoothedAutocorrelation(period);
    const Peak peak = NearbyPeak(correlation, period, kNearby);
    if (peak.lag > 0 && peak.correlation > best.correlation) best = peak;
  }
  return best;
}

// All candidates under the smoothing of `than`: multiples of a period gain from a wider one.
Peak Estimator::FindShortestNotWorse(const Peak& than, double tolerance) {
  const std::vector<double>& correlation = SmoothedAutocorrelation(than.lag);
  const double reference = Interpolate(correlation, than.lag);
  for (const double period : periods_) {
    const Peak peak = NearbyPeak(correlation, period, kNearby);
    if (peak.lag > 0 && peak.correlation >= reference * (1 - tolerance - kToleranceBins / peak.lag)) return peak;
  }
  return than;
}

// Where counters are read rarely a multiple of the period may repeat better than the period by far.
bool Estimator::IsCertain(const Peak& peak) {
  return peak.lag >= kMinResolutions * resolution_ && peak.correlation >= kMinCoarseCorrelation &&
         FindShortestNotWorse(peak, kCoarseTolerance).lag >= peak.lag * (1 - kNearby);
}

std::optional<PeriodEstimate> Estimator::Run(Seconds bin) {
  if (is_flat_) return std::nullopt;
  periods_ = FindCandidates(centred_);
  std::erase_if(periods_, [this](double period) {
    return period < 3 || period * kMinPeriods > static_cast<double>(centred_.size());
  });
  Peak best = FindMostCorrelated();
  if (best.lag <= 0) return std::nullopt;
  for (;;) {
    const Peak shorter = FindShortestNotWorse(best, kTolerance);
    // Its own smoothing is narrower, and may tell more periods apart.
    if (shorter.lag >= best.lag * (1 - kNearby)) break;
    best = shorter;
  }
  if (IsCoarse() && !IsCertain(best)) return std::nullopt;
  return PeriodEstimate{.period = bin * Sharpen(best), .correlation = best.correlation};
}

}  // namespace

std::optional<PeriodEstimate> EstimatePeriod(std::span<const float> series, Seconds bin, Seconds resolution) {
  FL_CHECK(bin.value() > 0);
  if (series.size() < 16) return std::nullopt;
  return Estimator(series, resolution / bin).Run(bin);
}

}  // namespace fairlead::agent

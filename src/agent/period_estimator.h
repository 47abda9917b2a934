// How long is an iteration of a job of which only the traffic is seen?
//
// Problem     Training repeats itself, so its traffic has a period. The strongest frequency need not be it: narrow
//             bursts have strong harmonics, and gradient accumulation sends g bursts per iteration (P/2, P/g); twice
//             the period is a period too.
// Method      1. remove the mean, Hann window, power spectrum (FFT);
//             2. candidates: the periods of local maxima with at least kPeakShare of the greatest one's power, and
//                their multiples up to kMaxMultiple (a weak fundamental under strong bursts);
//             3. autocorrelation (FFT, zero padded, per overlapping bin) of the series smoothed over kSmoothShare of
//                the candidate, so that jitter does not hide it; each candidate is moved to the maximum nearby, between
//                bins too (Lanczos): a period of 20.75 bins would lose to its fourfold, which is a whole number;
//             4. from the best candidate on: the shortest one that, under the same smoothing, is within kTolerance +
//                kToleranceBins / period of it takes its place, until none is shorter;
//             5. it is sharpened on its multiples: the k-th maximum of the autocorrelation, divided by k;
//             6. where counters were read rarely it must be kMinResolutions times as long as that takes, repeat at
//                kMinCoarseCorrelation, and no shorter candidate may come within kCoarseTolerance of it.
// Cost        O(n log n) for n bins, and O(n) per distinct width of smoothing.
// Guarantees  nothing is returned unless at least kMinPeriods fit and the autocorrelation reaches kMinCorrelation.
// Limits      iterations that alternate by 3 % of the period and more may be taken for two or four together; bursts
//             with equal gaps, the one between iterations too, are iterations.
// Differs     the page takes the longest of the spectral peaks within 5 % of the best autocorrelation. Multiples of the
//             true period are as good, so we add multiples to the candidates and take the shortest.
// Reference   Cao et al., Crux, SIGCOMM 2024, section 5: "the main period of the traffic series by Fourier transform".
#pragma once

#include <optional>
#include <span>

#include "base/units.h"

namespace fairlead::agent {

struct PeriodEstimate {
  Seconds period;
  double correlation = 0;  // of the series with itself one period later, -1..1
};

inline constexpr double kPeakShare = 0.3;
inline constexpr int kMaxMultiple = 8;
inline constexpr double kSmoothShare = 0.05;
// Iterations that alternate by some per cent repeat best after two or four of them; the first of g equal bursts, which
// must not pass for an iteration, loses about 1/g.
inline constexpr double kTolerance = 0.08;
// Bursts narrower than a bin fall into one or two of them, in turns.
inline constexpr double kToleranceBins = 0.5;
inline constexpr double kMinPeriods = 2.5;
// Counters that are read less often than once in so many bins are coarse: what is seen in them must be clearer.
inline constexpr double kCoarseBins = 1.6;
inline constexpr double kMinResolutions = 4;
inline constexpr double kMinCoarseCorrelation = 0.65;
inline constexpr double kCoarseTolerance = 0.4;
inline constexpr double kMinCorrelation = 0.3;

// Args: series [bin], bytes of each bin, >= 0, finite; bin > 0; resolution: >= 0: how long before a bin that happened
// which it counts: where counters were read less often than once a bin.
std::optional<PeriodEstimate> EstimatePeriod(std::span<const float> series, Seconds bin,
                                             Seconds resolution = Seconds(0));

}  // namespace fairlead::agent

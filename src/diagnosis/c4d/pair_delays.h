// Which pairs of ranks does a window show to be slow, which healthy?
//
// Notation    pair: all connections from one rank to another on one plane;  x: slow_transfer_detector.h, mean of these
// Method      a pair is slow on its own (three sigma of the differences between pairs, three standard errors of its
//             reports, and the least effects), as part of a row or column that ScoreDelays names, or lossy: the slowest
//             messages of its reports are, more often than those of most connections, much slower than any before. It
//             is healthy well below the least effect.
// Cost        O(connections log connections).
// Guarantees  a pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/c4d/connection_delays.h"
#include "diagnosis/c4d/measured_connections.h"
#include "diagnosis/c4d/slow_elements.h"
#include "diagnosis/c4d/slow_options.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

// What is lossy has this share of uneven reports beyond normal, at least.
inline constexpr double kUnevenShareMin = 0.25;

struct PairDelay {
  Transfer transfer;
  double x = 0;
  double added_seconds = 0;  // to each message
  double added_busy = 0;     // seconds of the window, of the connection with the most
  double error_2 = 0;        // square of the standard error of x
  double uneven = 0;         // share of uneven reports beyond normal, of the worst connection
  double beyond_like = 0;    // connection_delays.h, of the worst connection
  uint32_t samples = 0;
};

// Args: delays: of these samples; num_ranks: of the job; window_seconds: 0: not known.
// Returns: ascending by (source, destination, plane); without those of which no x is known.
std::vector<PairDelay> JudgePairs(std::span<const ConnectionSample> samples, const ConnectionDelays& delays,
                                  size_t num_ranks, double window_seconds, const SlowOptions& options);

// Whether the pair that the sample is of was judged to be slow. Args: pairs, ascending as above.
bool IsOfSlowPair(const ConnectionSample& sample, std::span<const PairDelay> pairs);

}  // namespace fairlead::diagnosis::c4d

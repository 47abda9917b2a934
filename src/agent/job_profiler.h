// The profile of a job, derived from the counters of its hosts over a window in which no traffic had precedence over
// it.
//
// Notation    P -> iteration_time (EstimatePeriod of the series of traffic or of computing, whichever repeats better: a
//             job that sends nearly always still computes in turns);  N = length / P iterations in the window
// Method      W = FLOP / N; bytes of a connection / N; C = P - stalled / N, where `stalled` is the time in which GPUs
//             waited for the network. The network was busy for a/N per iteration (bins with traffic), of which all but
//             stalled/N was hidden behind compute: s = 1 - (a - stalled) / (N*C).
// Guarantees  for a job that behaves like the model of section 4.2, exact up to the part of an iteration by which the
//             window is longer than whole iterations: an error of at most 1/N.
// Reference   Cao et al., Crux, SIGCOMM 2024, section 5 (profiling).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "model/measured_profile.h"

namespace fairlead::agent {

// Differences of counters between the two ends of the window.
struct WindowCounters {
  Seconds length;
  Flop flop;                      // all GPUs
  Seconds stalled;                // mean over GPUs: waiting for communication that leaves the host
  std::vector<Bytes> flow_bytes;  // [flow]; 0 for connections that stay inside a host
  std::vector<float> series;      // bytes in each bin of the window, all flows together
  Seconds bin;
  std::vector<float> busy_series = {};  // seconds of computing in each bin, all GPUs together; empty: not known
  // How long counters were not read, where it was long: what they say may be that much older. 0: once a bin.
  Seconds resolution = Seconds(0);
  Seconds busy_resolution = Seconds(0);
};

// Nothing when no period shows itself: the window is too short, or the job has not begun. A job without traffic has no
// period either; see IsSilent.
std::optional<model::MeasuredProfile> MeasureProfile(const WindowCounters& counters);

// No byte left a host.
bool IsSilent(const WindowCounters& counters);

// The window counts as one iteration of unknown period: for a job that never communicates, whose intensity is infinite
// for any iteration, and for one in which no period can be seen; the intensity is correct for both.
model::MeasuredProfile WholeWindowProfile(const WindowCounters& counters);

}  // namespace fairlead::agent

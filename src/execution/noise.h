// What differs from one run to the next: jitter of times, clocks of hosts, and the fate of reports on their way.
#pragma once

#include <array>
#include <cstdint>

#include "base/sim_time.h"
#include "base/status.h"

namespace fairlead::execution {

// Defaults are those of a healthy cluster. Raising a value makes the diagnosis harder.
struct NoiseOptions {
  double compute_cv = 0.02;  // coefficient of variation of computing times; 0: none; at most 1
  double wire_cv = 0.1;      // of the time a message takes on the network
  double loading_cv = 0.2;   // of loading times
  // Differences that last for the whole job: between GPUs, and between connections (cables, paths, neighbours).
  double gpu_cv = 0.01;
  double connection_cv = 0.03;
  // Host threads that pause now and then (garbage collection, page faults, neighbours): probability for each rank and
  // iteration, and mean length.
  double hiccup = 0.0001;
  SimDuration hiccup_mean{100'000'000};
  // Traffic of others: probability that a connection is 1.5 to 3 times as slow during one operation.
  double congestion = 0.001;
  // Clocks of hosts: offset uniform within +-, and how fast they run away from the true time.
  SimDuration clock_offset_max{5'000'000};
  double clock_drift_ppm_max = 10;
  // Reports: arrival is `delay_min` + exponential after the report's time.
  SimDuration report_period{1'000'000'000};
  SimDuration delay_min{1'000'000};
  SimDuration delay_jitter{10'000'000};
  double lost = 0;           // probability that a report never arrives
  double duplicated = 0;     // probability that it arrives twice
  double delayed = 0;        // probability that it is held back, up to `delayed_max`: it arrives after later ones
  double truncated = 0;      // probability that the end of its lists is missing
  double contradicting = 0;  // probability that a copy follows that takes back some of what it says
  SimDuration delayed_max{4'000'000'000};
  // What the agents of hosts can see.
  bool shows_stopped = false;  // processes stopped by a signal
  bool shows_symptoms = true;  // HostSymptoms of planted faults

  // Errors: InvalidArgument names the field, what it must be and what it is.
  Status Validate() const;
};

// Random factors with mean 1 and a given coefficient of variation (log-normal), out of a table: a few ns each.
class NoiseTable {
 public:
  NoiseTable(double coefficient_of_variation, uint64_t seed);

  double Next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return factors_[state_ >> (64 - kBits)];
  }

 private:
  static constexpr int kBits = 12;
  std::array<float, size_t{1} << kBits> factors_;
  uint64_t state_;
};

}  // namespace fairlead::execution

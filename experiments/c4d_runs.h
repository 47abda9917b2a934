// One simulated job with planted faults, watched by a C4D master, which the experiments of C4D repeat thousands of
// times.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/sim_time.h"
#include "diagnosis/c4d/c4d_options.h"
#include "execution/expected_finding.h"
#include "execution/fault.h"
#include "execution/job_shape.h"
#include "execution/noise.h"
#include "model/finding.h"

namespace fairlead::experiments {

struct WatchedJob {
  execution::JobShape shape;
  execution::NoiseOptions noise;
  std::vector<execution::Fault> faults;
  uint64_t seed = 1;
};

struct WatchedRun {
  // Confirmed ones, in that order. Those that another one explains are left out.
  std::vector<model::Finding> findings;
  std::vector<std::optional<SimTime>> acted;  // [fault] when it first changed anything; nothing: it did not
  uint64_t iterations = 0;
  double iteration_s = 0;  // median; 0: fewer than two
};

// Simulates the job up to `end`; the master examines it once a second. It ends `linger` after the first finding, so
// that a wrong one beside it is seen.
WatchedRun Watch(const WatchedJob& job, SimTime end, SimDuration linger = SimDuration(20'000'000'000));

// Jobs of 4 to 1,024 ranks of all kinds of parallelism, most of them small, with noise from little to twice the usual
// and some reports lost, late or twice.
WatchedJob DrawJob(Random& random);

// How a run with one fault went.
enum class Judgement : uint8_t {
  kRight,           // the first finding is right, and no other component was named
  kMissed,          // no finding
  kWrongSyndrome,   // the first finding names the culprit of something else
  kWrongCulprit,    // the first finding names an innocent component
  kInnocentBeside,  // right at first, but later an innocent component was named as well
  kNoneNamed,       // seen, but the first finding names no component
};
inline constexpr size_t kNumJudgements = 6;

// Whether it names only what is at fault, or cannot be told from it, whatever the syndrome.
bool IsRight(const execution::ExpectedFinding& expected, const model::Finding& finding);

// Silence is right where nothing has to be found.
Judgement Judge(const execution::ExpectedFinding& expected, const WatchedRun& run);

}  // namespace fairlead::experiments

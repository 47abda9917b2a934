#include "sim/chaos/fault.h"

#include <algorithm>

#include "base/random.h"

namespace fairlead::sim::chaos {

namespace {

constexpr double kLongest = 12;  // seconds
constexpr double kLongestJump = 7'200;

}  // namespace

std::vector<FaultKind> AllFaultKinds() {
  std::vector<FaultKind> kinds;
  for (size_t k = 0; k < kFaultNames.size(); ++k) kinds.push_back(static_cast<FaultKind>(k));
  return kinds;
}

std::vector<Fault> DrawFaults(uint64_t seed, std::span<const FaultKind> kinds, double per_second, SimTime end) {
  Random random(seed);
  std::vector<Fault> faults;
  if (kinds.empty() || per_second <= 0) return faults;
  const double end_s = end.seconds().value();
  for (double at = random.Exponential(1 / per_second); at < end_s; at += random.Exponential(1 / per_second)) {
    Fault fault;
    fault.at = SimTime::FromSeconds(Seconds(at));
    fault.kind = kinds[random.Below(kinds.size())];
    fault.target = static_cast<uint32_t>(random.Below(1u << 16));
    // Short ones more often than long ones.
    const double lasts = std::min(end_s - at, random.Uniform() * random.Uniform() * kLongest);
    fault.lasts = SimDuration::FromSeconds(Seconds(lasts));
    if (fault.kind == FaultKind::kClock || fault.kind == FaultKind::kSkew) {
      fault.amount = SimDuration::FromSeconds(Seconds(random.Uniform(-kLongestJump, kLongestJump))).ns();
    } else if (fault.kind == FaultKind::kWrite) {
      fault.amount = static_cast<int64_t>(random.Below(2));
    }
    faults.push_back(fault);
  }
  return faults;
}

}  // namespace fairlead::sim::chaos

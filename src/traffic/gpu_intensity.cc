#include "traffic/gpu_intensity.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace fairlead::traffic {
namespace {

// s of the single-block model: the earliest start, moved towards 1 by the share of communication that stops compute.
double ComputeStartFraction(const model::Iteration& iteration, const JobTraffic& traffic) {
  double first_start = 1;
  Seconds overlapping;
  Seconds blocking;
  for (size_t p = 0; p < iteration.phases.size(); ++p) {
    if (traffic.phases[p].is_private) continue;
    const model::CommunicationPhase& phase = iteration.phases[p];
    if (phase.blocks_compute) {
      blocking += traffic.phases[p].time;
    } else {
      overlapping += traffic.phases[p].time;
      first_start = std::min(first_start, phase.start_fraction);
    }
  }
  if (blocking.value() <= 0) return first_start;
  return (first_start * overlapping + blocking) / (overlapping + blocking);
}

}  // namespace

Seconds JobProfile::solo_time() const {
  return std::max(compute_time, start_fraction * compute_time + communication_time + latency);
}

JobProfile ComputeProfile(JobId id, const model::Iteration& iteration, const JobTraffic& traffic) {
  FL_CHECK(traffic.phases.size() == iteration.phases.size());
  JobProfile profile;
  profile.id = id;
  profile.work = iteration.work;
  profile.compute_time = iteration.compute_time + iteration.bubble_time;
  for (size_t p = 0; p < iteration.phases.size(); ++p) {
    if (!traffic.phases[p].is_private) profile.latency += iteration.phases[p].latency;
    const bool adds_to_compute = traffic.phases[p].is_private && iteration.phases[p].blocks_compute;
    if (adds_to_compute) profile.compute_time += traffic.phases[p].time;
  }
  profile.communication_time = traffic.communication_time;
  profile.start_fraction = ComputeStartFraction(iteration, traffic);
  profile.network_bytes = traffic.network_bytes;
  profile.intensity = profile.communicates() ? profile.work / profile.communication_time
                                             : FlopPerSecond(std::numeric_limits<double>::infinity());
  return profile;
}

}  // namespace fairlead::traffic

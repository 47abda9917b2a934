// Which hosts' clocks differ, by the order in which their reports have arrived: recordings have no instants of arrival.
//
// Method      the host whose first report bears the median instant is the reference. What arrives between two of its
//             reports was made before the later one; and of many, one was made just before it arrived.
// Limits      differences are exact to the reference's period of reports; below kSameClock clocks count as one.
#pragma once

#include <map>
#include <span>

#include "base/ids.h"
#include "base/sim_time.h"

namespace fairlead::telemetry {

struct HostReportInstant {
  HostId host;
  SimTime at;  // on the host's clock
};

inline constexpr SimDuration kSameClock(2'000'000'000);

// Args: reports, in order of arrival. Cost: O(reports * log hosts + hosts * reports of the reference).
// Returns: by how much clocks are ahead of the reference; behind: < 0. Only of hosts whose clocks are not the same.
std::map<HostId, SimDuration> FindOtherClocks(std::span<const HostReportInstant> reports);

}  // namespace fairlead::telemetry

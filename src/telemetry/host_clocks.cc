#include "telemetry/host_clocks.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

namespace fairlead::telemetry {
namespace {

struct Bounds {
  std::optional<SimDuration> least;
  std::optional<SimDuration> greatest;
  std::optional<SimTime> unbounded;  // the latest instant since the reference reported
};

template <class T>
void RaiseTo(std::optional<T>& value, T least) {
  value = value.has_value() ? std::max(*value, least) : least;
}

std::optional<HostId> FindReference(std::span<const HostReportInstant> reports) {
  std::set<HostId> seen;
  std::vector<HostReportInstant> first;
  for (const HostReportInstant& report : reports) {
    if (seen.insert(report.host).second) first.push_back(report);
  }
  if (first.empty()) return std::nullopt;
  const auto median = first.begin() + static_cast<std::ptrdiff_t>((first.size() - 1) / 2);
  std::ranges::nth_element(first, median, {}, &HostReportInstant::at);
  return median->host;
}

}  // namespace

std::map<HostId, SimDuration> FindOtherClocks(std::span<const HostReportInstant> reports) {
  const std::optional<HostId> reference = FindReference(reports);
  std::map<HostId, Bounds> hosts;
  std::optional<SimTime> now;  // on the clock of the reference
  for (const HostReportInstant& report : reports) {
    if (report.host == reference) {
      RaiseTo(now, report.at);
      for (auto& [host, bounds] : hosts) {
        if (bounds.unbounded.has_value()) RaiseTo(bounds.least, *bounds.unbounded - *now);
        bounds.unbounded.reset();
      }
    } else {
      Bounds& bounds = hosts[report.host];
      RaiseTo(bounds.unbounded, report.at);
      if (now.has_value()) RaiseTo(bounds.greatest, report.at - *now);
    }
  }
  std::map<HostId, SimDuration> ahead;
  for (const auto& [host, bounds] : hosts) {
    if (bounds.least > kSameClock) ahead[host] = *bounds.least;
    if (bounds.greatest.has_value() && SimDuration() - *bounds.greatest > kSameClock) ahead[host] = *bounds.greatest;
  }
  return ahead;
}

}  // namespace fairlead::telemetry

#include "traffic/c4p/link_watch.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace fairlead::traffic::c4p {

LinkWatch::LinkWatch(size_t num_links, const LinkHealthOptions& health, const AttributionOptions& attribution)
    : tracker_(num_links, health), attribution_(attribution), capacity_left_(num_links, 1.0) {}

std::vector<LinkStateChanged> LinkWatch::Observe(SimTime now, std::span<const ProbeResult> probes,
                                                 std::span<const QuietLinks::QuietLink> quiet) {
  Attribution round = AttributeLosses(probes, tracker_.num_links(), attribution_);
  // Packets that should have crossed it and did not are lost to it, whichever way they took.
  for (const QuietLinks::QuietLink& link : quiet) {
    const auto num_missing = static_cast<uint64_t>(std::ceil(link.num_missing));
    round.observations.push_back({.link = link.link, .sent = num_missing, .lost = num_missing, .rtt = Seconds(0)});
  }
  return Describe(tracker_.ObserveRound(now, round.observations).value());
}

Result<std::vector<LinkStateChanged>> LinkWatch::Report(SimTime now, const LinkReported& report) {
  if (!(report.health >= 0 && report.health <= 1)) {
    return InvalidArgument(fmt::format("c4p: report of {} on link {}: health: expected 0 to 1, found {}", report.source,
                                       report.link.value(), report.health));
  }
  if (report.health == 0) {
    FL_ASSIGN_OR_RETURN(const std::vector<LinkChange> changes, tracker_.ReportDown(now, report.link, report.source));
    return Describe(changes);
  }
  FL_ASSIGN_OR_RETURN(const std::vector<LinkChange> changes, tracker_.ReportUp(now, report.link, report.source));
  const double before = std::exchange(capacity_left_[report.link], report.health);
  std::vector<LinkStateChanged> changed = Describe(changes);
  if (changed.empty() && before != report.health) {
    const LinkState now_in = state(report.link);
    changed.push_back(
        {.link = report.link,
         .from = now_in,
         .to = now_in,
         .health = report.health,
         .reason = fmt::format("{} reports {:.3g} % of the capacity left", report.source, 100 * report.health)});
  }
  return changed;
}

double LinkWatch::HealthOf(LinkId link) const {
  switch (UseOf(state(link))) {
    case LinkUse::kFirstChoice:
      return capacity_left_[link];
    case LinkUse::kLastResort:
      return capacity_left_[link] * kLastResort;
    case LinkUse::kNever:
      break;
  }
  return 0;
}

std::vector<LinkStateChanged> LinkWatch::Describe(const std::vector<LinkChange>& changes) const {
  std::vector<LinkStateChanged> described;
  for (const LinkChange& change : changes) {
    const double left = UseOf(change.to) == LinkUse::kNever ? 0 : capacity_left_[change.link];
    described.push_back(
        {.link = change.link, .from = change.from, .to = change.to, .health = left, .reason = change.reason});
  }
  return described;
}

}  // namespace fairlead::traffic::c4p

#include "sim/run_engine.h"

#include <algorithm>

namespace fairlead::sim {
namespace {

std::optional<CongestionPoints> MakeCongestionPoints(const topology::Fabric& fabric,
                                                     const std::optional<fluid::DcqcnOptions>& dcqcn) {
  if (!dcqcn) return std::nullopt;
  return CongestionPoints(FindMarkingLinks(fabric), *dcqcn);
}

}  // namespace

RunEngine::RunEngine(const topology::Fabric& fabric, const IdVector<LinkId, double>& healthy, const Options& options)
    : end_(options.end),
      busy_gpu_seconds_(options.end, options.num_bins),
      congestion_points_(MakeCongestionPoints(fabric, options.dcqcn)),
      domains_(fabric.num_links(),
               {.fast_forward = options.fast_forward,
                .extrapolate = options.extrapolate,
                .aggregates = options.aggregates,
                .follows_delays = true,
                .healthy_capacities = &healthy,
                .congestion = congestion_points_ ? &*congestion_points_ : nullptr,
                .carried = options.carried,
                .recorder = options.recorder},
               &busy_gpu_seconds_, &delays_) {}

void RunEngine::Rebuild(std::span<const RoutedJob> running, const IdVector<LinkId, double>& capacities) {
  if (watch_->is_stopped()) return;  // domains may have been left at different instants
  domains_.Rebuild(running, capacities, now_, *watch_);
}

std::vector<JobId> RunEngine::Advance(SimTime limit) {
  watch_->SetScope(now_, limit, FractionAt(now_), FractionAt(limit));
  now_ = domains_.AdvanceUntilFinishOr(limit, *watch_);
  std::vector<JobId> finished = domains_.FinishedJobs();
  for (const JobId id : finished) Release(id);
  return finished;
}

void RunEngine::Finish() {
  const SimTime reached = domains_.ReleaseAll(now_, FractionAt(now_), *watch_);
  if (watch_->is_stopped()) now_ = std::max(reached, last_event_);
}

}  // namespace fairlead::sim

#include "traffic/crux/crux_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "traffic/gpu_intensity.h"
#include "traffic/crux/priority_assignment.h"
#include "traffic/default_paths.h"
#include "traffic/link_traffic.h"

namespace fairlead::traffic::crux {
namespace {

// One event's re-scheduling, from snapshot to plan. Jobs that take part are indexed apart from the snapshot's jobs.
class Rescheduling {
 public:
  Rescheduling(const TrafficSnapshot& snapshot, const CruxOptions& options)
      : snapshot_(snapshot), options_(options), links_(MakeLinkTable(snapshot)), meter_(links_) {}

  TrafficPlan Run() {
    ProfileJobs();
    if (options_.select_paths) SelectNewPaths();
    order_ = AssignPriorities(profiles_, options_.correction);
    AssignLevels();
    for (uint32_t p = 0; p < participants_.size(); ++p) Explain(p);
    return std::move(plan_);
  }

 private:
  void ProfileJobs();
  void LeaveOut(JobPlan* job, const JobTraffic& traffic) const;
  void SelectNewPaths();
  ContentionDag BuildContentionDag();
  void AssignLevels();
  void Explain(uint32_t participant);

  const JobView& view(uint32_t participant) const { return snapshot_.jobs[participants_[participant]]; }
  JobPlan& plan(uint32_t participant) { return plan_.jobs[participants_[participant]]; }

  const TrafficSnapshot& snapshot_;
  const CruxOptions& options_;
  const LinkTable links_;
  LinkTrafficMeter meter_;
  TrafficPlan plan_;
  std::vector<uint32_t> participants_;  // [participant] -> index in the snapshot
  std::vector<JobProfile> profiles_;    // [participant]
  std::vector<LinkId> bounding_links_;  // [participant]
  PriorityOrder order_;                 // of participants
};

void Rescheduling::ProfileJobs() {
  plan_.jobs.reserve(snapshot_.jobs.size());
  for (uint32_t j = 0; j < snapshot_.jobs.size(); ++j) {
    const JobView& job = snapshot_.jobs[j];
    JobPlan& mine = plan_.jobs.emplace_back();
    mine.id = job.id;
    mine.paths = DefaultPaths(snapshot_, job);
    const JobTraffic traffic = meter_.Measure(*job.iteration, mine.paths);
    const JobProfile profile = ComputeProfile(job.id, *job.iteration, traffic);
    if (!profile.communicates()) {
      LeaveOut(&mine, traffic);
      continue;
    }
    participants_.push_back(j);
    profiles_.push_back(profile);
    bounding_links_.push_back(traffic.bounding_link);
  }
}

void Rescheduling::LeaveOut(JobPlan* job, const JobTraffic& traffic) const {
  const bool cut_off = std::any_of(job->paths.begin(), job->paths.end(), [](const auto& path) { return path.empty(); });
  job->level = 0;
  if (cut_off) {
    job->reason = "no path left for its traffic: takes no part until links recover; level 0";
  } else if (traffic.phases.empty()) {
    job->reason = "does not communicate: infinite intensity, shares no link; level 0";
  } else {
    job->reason = "never leaves NVLink: infinite intensity, shares no link; level 0";
  }
}

void Rescheduling::SelectNewPaths() {
  std::vector<PathRequest> requests;
  requests.reserve(participants_.size());
  for (uint32_t p = 0; p < participants_.size(); ++p) {
    requests.push_back(
        {profiles_[p].id, profiles_[p].intensity.value(), profiles_[p].solo_time(), view(p).iteration->flows, view(p).paths});
  }
  const auto candidates = [this](const model::FlowDemand& flow) {
    return snapshot_.router->FindCandidates(flow.source, flow.destination, options_.max_candidates);
  };
  PathSelection selection = SelectPaths(requests, links_, candidates, options_.paths);
  for (uint32_t p = 0; p < participants_.size(); ++p) plan(p).paths = std::move(selection.paths[p]);
}

ContentionDag Rescheduling::BuildContentionDag() {
  std::vector<JobTraffic> traffic;
  std::vector<const JobTraffic*> by_rank;
  traffic.reserve(participants_.size());
  for (const uint32_t p : order_.by_rank) {
    traffic.push_back(meter_.Measure(*view(p).iteration, plan(p).paths));
    by_rank.push_back(&traffic.back());
  }
  const std::vector<std::vector<uint32_t>> contention = FindContention(by_rank, links_);
  ContentionDag dag;
  dag.num_jobs = static_cast<uint32_t>(by_rank.size());
  for (uint32_t upper = 0; upper < dag.num_jobs; ++upper) {
    const double weight = profiles_[order_.by_rank[upper]].intensity.value();
    for (const uint32_t lower : contention[upper]) {
      if (upper < lower) dag.edges.push_back({upper, lower, weight});
    }
  }
  return dag;
}

void Rescheduling::AssignLevels() {
  std::vector<uint32_t> levels(participants_.size());
  if (options_.compress) {
    const ContentionDag dag = BuildContentionDag();
    levels = CompressPriorities(dag, snapshot_.num_levels, options_.compression, snapshot_.random_seed).levels;
  } else {
    for (uint32_t rank = 0; rank < levels.size(); ++rank) levels[rank] = std::min(rank, snapshot_.num_levels - 1);
  }
  for (uint32_t p = 0; p < participants_.size(); ++p) {
    plan(p).priority_rank = order_.jobs[p].rank;
    plan(p).level = levels[order_.jobs[p].rank];
  }
}

std::string ExplainFactor(const PriorityOrder& order, uint32_t participant, JobId reference) {
  const CorrectionFactor& correction = order.jobs[participant].correction;
  if (participant == order.reference) return "correction factor 1 (reference job)";
  const std::string factor = correction.factor.has_value() ? fmt::format("{:.3g}", *correction.factor) : "undefined, 1";
  return fmt::format("correction factor {} (d_r {:.3g} s, d_j {:.3g} s against job {})", factor,
                     correction.reference_gain.value(), correction.job_gain.value(), reference.value());
}

size_t CountDifferent(std::span<const model::Path> before, std::span<const model::Path> after) {
  size_t count = 0;
  for (size_t f = 0; f < after.size(); ++f) count += before[f] != after[f] ? 1 : 0;
  return count;
}

void Rescheduling::Explain(uint32_t participant) {
  const JobProfile& profile = profiles_[participant];
  const JobView& before = view(participant);
  JobPlan& mine = plan(participant);
  mine.reason =
      fmt::format("intensity {:.3g} FLOP/s ({:.3g} FLOP per {:.3g} s on {}), {}; rank {} of {}, level {} of {}",
                  profile.intensity.value(), profile.work.value(), profile.communication_time.value(),
                  snapshot_.router->fabric().LinkName(bounding_links_[participant]),
                  ExplainFactor(order_, participant, profiles_[order_.reference].id), mine.priority_rank,
                  profiles_.size(), mine.level, snapshot_.num_levels);
  if (before.paths.empty()) {
    mine.reason += fmt::format("; {} new paths", mine.paths.size());
  } else if (const size_t moved = CountDifferent(before.paths, mine.paths); moved > 0) {
    mine.reason += fmt::format("; {} of {} paths changed", moved, mine.paths.size());
  }
  const auto cut_off =
      std::count_if(mine.paths.begin(), mine.paths.end(), [](const auto& path) { return path.empty(); });
  if (cut_off > 0) mine.reason += fmt::format("; {} flows cut off by failures", cut_off);
}

}  // namespace

CruxPolicy::CruxPolicy(CruxOptions options) : options_(std::move(options)) { FL_CHECK(options_.Validate().ok()); }

TrafficPlan CruxPolicy::Plan(const TrafficSnapshot& snapshot) const {
  FL_CHECK(snapshot.router != nullptr && snapshot.num_levels >= 1);
  return Rescheduling(snapshot, options_).Run();
}

}  // namespace fairlead::traffic::crux

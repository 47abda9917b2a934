#include "traffic/crux/crux_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "traffic/crux/certain_order.h"
#include "traffic/crux/fairness.h"
#include "traffic/crux/level_stability.h"
#include "traffic/crux/order_gain.h"
#include "traffic/crux/priority_assignment.h"
#include "traffic/job_survey.h"
#include "traffic/link_traffic.h"

namespace fairlead::traffic::crux {
namespace {

// One event's re-scheduling, from snapshot to plan.
class Rescheduling {
 public:
  // Args: num_levels that the plan may use.
  Rescheduling(const TrafficSnapshot& snapshot, const CruxOptions& options, const PathChooser* paths,
               uint32_t num_levels, CorrectionCache* corrections, PlanMemory* memory)
      : snapshot_(snapshot),
        options_(options),
        paths_(paths),
        num_levels_(num_levels),
        corrections_(corrections),
        memory_(memory),
        links_(MakeLinkTable(snapshot)) {}

  TrafficPlan Run() {
    survey_ = SurveyJobs(snapshot_, links_, memory_);
    if (options_.select_paths) SelectNewPaths();
    AssignRanks();
    AssignLevels();
    for (uint32_t p = 0; p < survey_.size(); ++p) Explain(p);
    return std::move(survey_.plan);
  }

 private:
  void SelectNewPaths();
  void AssignRanks();
  ContentionDag BuildContentionDag() const;
  void WeighEdgesByGain(ContentionDag* dag) const;
  std::vector<uint32_t> CompressLevels() const;
  void AssignLevels();
  void Explain(uint32_t participant);
  std::string ExplainFairness(uint32_t participant) const;

  const JobView& view(uint32_t participant) const { return survey_.view(snapshot_, participant); }

  const TrafficSnapshot& snapshot_;
  const CruxOptions& options_;
  const PathChooser* const paths_;
  const uint32_t num_levels_;
  CorrectionCache* const corrections_;
  PlanMemory* const memory_;  // may be null
  const LinkTable links_;
  JobSurvey survey_;
  std::vector<double> losses_;   // [participant]
  std::vector<uint32_t> lifts_;  // [participant], levels
  PriorityOrder order_;          // of participants
};

void Rescheduling::SelectNewPaths() {
  std::vector<double> intensities;
  intensities.reserve(survey_.size());
  for (const JobProfile& profile : survey_.profiles) intensities.push_back(profile.intensity.value());
  if (paths_ != nullptr) {
    paths_->ChoosePaths(snapshot_, links_, intensities, &survey_);
  } else {
    SelectSurveyedPaths(snapshot_, links_, intensities, options_.paths, options_.max_candidates, &survey_, memory_);
  }
}

void Rescheduling::AssignRanks() {
  order_ = AssignPrioritiesCached(survey_.profiles, corrections_);
  for (uint32_t p = 0; p < survey_.size(); ++p) losses_.push_back(LossOf(view(p).relative_speed));
  MixInLosses(survey_.profiles, losses_, options_.fairness, &order_);
  std::vector<double> uncertainties;
  std::vector<uint32_t> levels;
  for (uint32_t p = 0; p < survey_.size(); ++p) {
    uncertainties.push_back(view(p).priority_uncertainty);
    levels.push_back(view(p).paths.empty() ? num_levels_ : view(p).level);
  }
  KeepOrderWhereUncertain(uncertainties, levels, &order_);
}

ContentionDag Rescheduling::BuildContentionDag() const {
  const std::vector<std::vector<uint32_t>> contention =
      FindSurveyedContention(snapshot_, links_, survey_, order_.by_rank, memory_);
  ContentionDag dag;
  dag.num_jobs = static_cast<uint32_t>(survey_.size());
  size_t num_ends = 0;
  for (const std::vector<uint32_t>& others : contention) num_ends += others.size();
  dag.edges.reserve(num_ends / 2);
  for (uint32_t upper = 0; upper < dag.num_jobs; ++upper) {
    const double weight = survey_.profiles[order_.by_rank[upper]].intensity.value();
    for (const uint32_t lower : contention[upper]) {
      if (upper < lower) dag.edges.push_back({upper, lower, weight});
    }
  }
  if (options_.edge_weight == EdgeWeight::kGain) WeighEdgesByGain(&dag);
  return dag;
}

void Rescheduling::WeighEdgesByGain(ContentionDag* dag) const {
  std::vector<OrderedJob> jobs;
  for (const uint32_t p : order_.by_rank) {
    jobs.push_back({.num_gpus = view(p).num_gpus,
                    .iteration = view(p).iteration,
                    .paths = survey_.plan_of(p).paths,
                    .is_period_known = survey_.profiles[p].is_period_known});
  }
  WeighByGain(jobs, links_, dag);
}

std::vector<uint32_t> Rescheduling::CompressLevels() const {
  const ContentionDag dag = BuildContentionDag();
  std::vector<uint32_t> levels =
      CompressPriorities(dag, num_levels_, options_.compression, snapshot_.random_seed).levels;
  // Levels in force may be lifted ones, which are no basis for the next.
  if (options_.starvation_guard.value() > 0) return levels;
  std::vector<std::optional<uint32_t>> in_force;
  std::vector<double> uncertainties;
  for (const uint32_t p : order_.by_rank) {
    const JobView& job = view(p);
    uncertainties.push_back(job.priority_uncertainty);
    in_force.push_back(job.paths.empty() ? std::nullopt : std::optional(job.level));
  }
  KeepLevelsInForce(dag, in_force, uncertainties, num_levels_, options_.level_hysteresis, &levels);
  return levels;
}

void Rescheduling::AssignLevels() {
  const std::vector<uint32_t> levels = options_.compress ? CompressLevels() : std::vector<uint32_t>();
  lifts_.resize(survey_.size());
  for (uint32_t p = 0; p < survey_.size(); ++p) {
    JobPlan& mine = survey_.plan_of(p);
    mine.priority_rank = order_.jobs[p].rank;
    mine.priority = order_.jobs[p].priority;
    mine.level = options_.compress ? levels[mine.priority_rank] : mine.priority_rank;
    lifts_[p] = IsLifted(view(p).starved_for, options_.starvation_guard) ? mine.level : 0;
    mine.level -= lifts_[p];
  }
}

std::string ExplainFactor(const PriorityOrder& order, uint32_t participant, JobId reference, bool is_comparable) {
  const CorrectionFactor& correction = order.jobs[participant].correction;
  if (participant == order.reference) return "correction factor 1 (reference job)";
  if (!is_comparable) return "correction factor 1 (iterations not seen)";
  const std::string factor = correction.factor.has_value() ? fmt::format("{:.3g}", *correction.factor) : "undefined, 1";
  return fmt::format("correction factor {} (d_r {:.3g} s, d_j {:.3g} s against job {})", factor,
                     correction.reference_gain.value(), correction.job_gain.value(), reference.value());
}

std::string Rescheduling::ExplainFairness(uint32_t participant) const {
  if (options_.fairness == 0) return "";
  return fmt::format(", {:.3g} % of its speed lost: priority {:.3g} FLOP/s at fairness {:.3g}",
                     100 * losses_[participant], order_.jobs[participant].priority.value(), options_.fairness);
}

void Rescheduling::Explain(uint32_t participant) {
  const JobProfile& profile = survey_.profiles[participant];
  const JobProfile& reference = survey_.profiles[order_.reference];
  JobPlan& mine = survey_.plan_of(participant);
  mine.reason = fmt::format(
      "intensity {:.3g} FLOP/s ({:.3g} FLOP per {:.3g} s on {}), {}{}; rank {} of {}, level {} of {}",
      profile.intensity.value(), profile.work.value(), profile.communication_time.value(),
      snapshot_.router->fabric().LinkName(survey_.traffic[participant]->bounding_link),
      ExplainFactor(order_, participant, reference.id, profile.is_period_known && reference.is_period_known),
      ExplainFairness(participant), mine.priority_rank, survey_.size(), mine.level, num_levels_);
  if (lifts_[participant] > 0) {
    mine.reason += fmt::format("; lifted {} levels: {:.3g} s behind {:.0f} % of its speed alone, guard {:.3g} s",
                               lifts_[participant], view(participant).starved_for.value(), 100 * kStarvedBelow,
                               options_.starvation_guard.value());
  }
  mine.reason += DescribePathChanges(view(participant), mine, survey_.keeps_paths[participant] != 0);
}

}  // namespace

CruxPolicy::CruxPolicy(CruxOptions options, std::string_view name, std::unique_ptr<const PathChooser> paths)
    : name_(name), options_(std::move(options)), paths_(std::move(paths)), corrections_(options_.correction) {
  FL_CHECK(options_.Validate().ok());
}

uint32_t CruxPolicy::NumLevels(uint32_t hardware_levels, size_t num_jobs) const {
  return options_.compress ? hardware_levels : std::max(hardware_levels, static_cast<uint32_t>(num_jobs));
}

TrafficPlan CruxPolicy::Plan(const TrafficSnapshot& snapshot) const { return PlanWith(snapshot, nullptr); }

TrafficPlan CruxPolicy::PlanAgain(const TrafficSnapshot& snapshot, PlanMemory* memory) const {
  memory->Begin(snapshot);
  return PlanWith(snapshot, memory);
}

TrafficPlan CruxPolicy::PlanWith(const TrafficSnapshot& snapshot, PlanMemory* memory) const {
  FL_CHECK(snapshot.router != nullptr && snapshot.num_levels >= 1);
  const uint32_t num_levels = NumLevels(snapshot.num_levels, snapshot.jobs.size());
  return Rescheduling(snapshot, options_, paths_.get(), num_levels, &corrections_, memory).Run();
}

}  // namespace fairlead::traffic::crux

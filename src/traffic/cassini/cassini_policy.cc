#include "traffic/cassini/cassini_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/disjoint_sets.h"
#include "traffic/cassini/affinity_graph.h"
#include "traffic/cassini/contended_links.h"
#include "traffic/cassini/job_circle.h"
#include "traffic/cassini/placement_score.h"
#include "traffic/job_survey.h"

namespace fairlead::traffic::cassini {
namespace {

// Shifts with this score keep all bursts apart.
constexpr double kCompatible = 0.999;

std::vector<ContendedLink> FindContendedLinks(const JobSurvey& survey, const LinkTable& links) {
  std::vector<LinkUse> uses;
  for (uint32_t p = 0; p < survey.size(); ++p) AppendLinkUses(p, *survey.traffic[p], links, &uses);
  return FindContendedLinks(std::move(uses));
}

// Jobs that contended links join, and these links without those that are asked for the same as another one.
struct Component {
  std::vector<uint32_t> jobs;  // ascending
  std::vector<ContendedLink> links;
};

std::vector<Component> FindComponents(std::vector<ContendedLink> links, size_t num_jobs) {
  DisjointSets sets(num_jobs);
  for (const ContendedLink& link : links) {
    for (const LinkDemand& user : link.users) sets.Join(link.users.front().job, user.job);
  }
  std::map<uint32_t, Component> by_first_job;
  std::map<std::vector<LinkDemand>, LinkId> seen;
  for (ContendedLink& link : links) {
    Component& component = by_first_job[sets.Find(link.users.front().job)];
    for (const LinkDemand& user : link.users) component.jobs.push_back(user.job);
    if (seen.emplace(link.users, link.link).second) component.links.push_back(std::move(link));
  }
  std::vector<Component> components;
  for (auto& [first_job, component] : by_first_job) {
    std::sort(component.jobs.begin(), component.jobs.end());
    component.jobs.erase(std::unique(component.jobs.begin(), component.jobs.end()), component.jobs.end());
    components.push_back(std::move(component));
  }
  return components;
}

std::vector<const JobProfile*> ProfilesOf(const JobSurvey& survey, const Component& component) {
  std::vector<const JobProfile*> profiles;
  for (const uint32_t job : component.jobs) profiles.push_back(&survey.profiles[job]);
  return profiles;
}

// The circle of one component, and its jobs' shifts on it. `stretch` >= 1: periods are as many times as long as alone.
class ComponentCircle {
 public:
  ComponentCircle(const JobSurvey& survey, const Component& component, double stretch)
      : survey_(survey), component_(component), circle_(ProfilesOf(survey, component), stretch) {
    CollectLinks();
    alignment_ = AlignJobs(circle_.perimeter(), static_cast<uint32_t>(component.jobs.size()), links_);
    for (uint32_t link = 0; link < links_.size(); ++link) {
      before_ += ScoreOf(link, false) / static_cast<double>(links_.size());
      after_ += ScoreOf(link, true) / static_cast<double>(links_.size());
    }
  }

  // Mean scores of the links that join jobs, without shifts and with them; 0 where none do.
  double before() const { return before_; }
  double after() const { return after_; }
  bool joins_jobs() const { return !links_.empty(); }
  uint32_t num_dropped_edges() const { return alignment_.num_dropped_edges; }
  // The longest that jobs need one of the links for in a period, as a fraction of the period.
  double GreatestLoad() const;

  // Shifts for all jobs that fit, and why: what `judged`, the circle of periods as they are alone, says of them.
  void Apply(ShiftUpkeep upkeep, const ComponentCircle& judged, JobSurvey* survey) const;
  // Why there are none.
  void ExplainNoShift(std::string_view why, JobSurvey* survey) const;

 private:
  void CollectLinks();
  double ScoreOf(uint32_t link, bool is_shifted) const;
  // For every job whether a link joins it to another.
  std::vector<uint8_t> FindJoined() const;

  const JobSurvey& survey_;
  const Component& component_;
  JobCircle circle_;                 // of component.jobs
  std::vector<AffinityLink> links_;  // of the jobs that fit; their jobs are indices of component.jobs
  Alignment alignment_;
  double before_ = 0;
  double after_ = 0;
};

void ComponentCircle::CollectLinks() {
  for (const ContendedLink& link : component_.links) {
    AffinityLink here;
    for (const LinkDemand& user : link.users) {
      const auto found = std::lower_bound(component_.jobs.begin(), component_.jobs.end(), user.job);
      const auto index = static_cast<uint32_t>(found - component_.jobs.begin());
      if (!circle_.Fits(index)) continue;
      here.jobs.push_back(index);
      here.bursts.push_back(circle_.BurstOf(index, user.demand));
    }
    if (here.jobs.size() >= 2) links_.push_back(std::move(here));
  }
}

double ComponentCircle::ScoreOf(uint32_t link, bool is_shifted) const {
  const AffinityLink& here = links_[link];
  std::vector<uint32_t> shifts(here.jobs.size(), 0);
  for (size_t i = 0; i < shifts.size() && is_shifted; ++i) shifts[i] = alignment_.shifts[here.jobs[i]];
  return Score(circle_.perimeter(), here.bursts, shifts);
}

std::vector<uint8_t> ComponentCircle::FindJoined() const {
  std::vector<uint8_t> joined(component_.jobs.size(), 0);
  for (const AffinityLink& link : links_) {
    for (const uint32_t index : link.jobs) joined[index] = 1;
  }
  return joined;
}

double ComponentCircle::GreatestLoad() const {
  double greatest = 0;
  for (const AffinityLink& link : links_) {
    double load = 0;
    for (size_t i = 0; i < link.jobs.size(); ++i) {
      const JobProfile& profile = survey_.profiles[component_.jobs[link.jobs[i]]];
      load += link.bursts[i].demand * (profile.communication_time / profile.solo_time());
    }
    greatest = std::max(greatest, load);
  }
  return greatest;
}

void ComponentCircle::Apply(ShiftUpkeep upkeep, const ComponentCircle& judged, JobSurvey* survey) const {
  constexpr std::array<std::string_view, 3> kUpkeep = {"each in its turn", "put right where it drifts", "once"};
  const std::vector<uint8_t> joined = FindJoined();
  for (uint32_t index = 0; index < component_.jobs.size(); ++index) {
    JobPlan& mine = survey->plan_of(component_.jobs[index]);
    const SimDuration period = circle_.PeriodOf(index);
    if (joined[index] == 0) {
      mine.reason =
          fmt::format("period {:.4g} s finds no partner on a circle of {:.4g} s within {:.0f} %: no shift",
                      circle_.WantedPeriod(index).value(), circle_.length().value(), 100 * JobCircle::kTolerance);
      continue;
    }
    mine.time_shift =
        TimeShift{.period = period,
                  .offset = SimDuration(alignment_.shifts[index] * circle_.slot_ns() % period.ns()),
                  .tolerance = SimDuration(std::llround(JobCircle::kTolerance * static_cast<double>(period.ns()))),
                  .upkeep = upkeep};
    mine.reason = fmt::format(
        "interleaved with {} other jobs: every {:.4g} s, shifted by {:.4g} s, {}; score {:.3g} -> {:.3g} on {} links; "
        "{} "
        "of {} affinity edges dropped",
        component_.jobs.size() - 1, period.seconds().value(), mine.time_shift->offset.seconds().value(),
        kUpkeep[static_cast<size_t>(upkeep)], judged.before_, judged.after_, links_.size(),
        alignment_.num_dropped_edges, alignment_.num_edges);
  }
}

void ComponentCircle::ExplainNoShift(std::string_view why, JobSurvey* survey) const {
  for (const uint32_t job : component_.jobs) {
    survey->plan_of(job).reason = fmt::format("{}: no shift; score {:.3g} -> {:.3g} on {} links that join {} jobs", why,
                                              before_, after_, links_.size(), component_.jobs.size());
  }
}

void ShiftComponent(const Component& component, const CassiniOptions& options, JobSurvey* survey) {
  const ComponentCircle alone(*survey, component, 1);
  if (!alone.joins_jobs()) {
    alone.Apply(ShiftUpkeep::kNever, alone, survey);  // says of each that it has no partner
    return;
  }
  if (options.loops == LoopRule::kNoShift && alone.num_dropped_edges() > 0) {
    alone.ExplainNoShift("the wishes of links contradict each other", survey);
    return;
  }
  if (alone.after() - alone.before() < options.min_score_gain) {
    alone.ExplainNoShift(fmt::format("gains less than {:.3g}", options.min_score_gain), survey);
    return;
  }
  if (alone.after() >= kCompatible) {
    alone.Apply(ShiftUpkeep::kDrift, alone, survey);
    return;
  }
  const ShiftUpkeep upkeep =
      options.contended == ContendedUpkeep::kGrid ? ShiftUpkeep::kEverySlot : ShiftUpkeep::kNever;
  const double load = alone.GreatestLoad();
  if (load <= 1) {
    alone.Apply(upkeep, alone, survey);
  } else {
    ComponentCircle(*survey, component, load).Apply(upkeep, alone, survey);
  }
}

}  // namespace

Status CassiniOptions::Validate() const {
  if (!(min_score_gain >= 0 && min_score_gain <= 1)) {
    return InvalidArgument(
        fmt::format("cassini: min_score_gain: expected a number in [0, 1], found {}", min_score_gain));
  }
  if (placements < 1 || placements > kMostPlacements) {
    return InvalidArgument(
        fmt::format("cassini: placements: expected a number in [1, {}], found {}", kMostPlacements, placements));
  }
  return OkStatus();
}

CassiniPolicy::CassiniPolicy(CassiniOptions options) : options_(options) { FL_CHECK(options_.Validate().ok()); }

TrafficPlan CassiniPolicy::Plan(const TrafficSnapshot& snapshot) const {
  const LinkTable links = MakeLinkTable(snapshot);
  JobSurvey survey = SurveyJobs(snapshot, links);
  for (size_t p = 0; p < survey.size(); ++p) survey.plan_of(p).reason = "no contended link on its paths: no shift";
  for (const Component& component : FindComponents(FindContendedLinks(survey, links), survey.size())) {
    ShiftComponent(component, options_, &survey);
  }
  for (size_t p = 0; p < survey.size(); ++p) {
    JobPlan& mine = survey.plan_of(p);
    mine.reason += DescribePathChanges(survey.view(snapshot, p), mine);
  }
  return std::move(survey.plan);
}

PlacementChoice CassiniPolicy::ChoosePlacement(const TrafficSnapshot& snapshot,
                                               std::span<const JobView> candidates) const {
  return cassini::ChoosePlacement(snapshot, candidates);
}

}  // namespace fairlead::traffic::cassini

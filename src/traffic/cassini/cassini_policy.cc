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
#include "traffic/job_survey.h"

namespace fairlead::traffic::cassini {
namespace {

constexpr int64_t kQuantumNs = 1'000'000;
constexpr uint32_t kMostSlots = 50'000;
// How far an iteration may begin from its instant, and a period be stretched; of the period.
constexpr double kTolerance = 0.05;
// No job waits longer than this for the right instant of an iteration; its circle can't be expressed in nanoseconds.
constexpr Seconds kLongestIteration(1e6);
// Shifts with this score keep all bursts apart.
constexpr double kCompatible = 0.999;
// What rounding leaves of a full link, and of a whole number of slots.
constexpr double kRounding = 1e-6;

// What one job asks of a link while it communicates, as a fraction of the link. Jobs are participants of the survey.
struct LinkDemand {
  uint32_t job = 0;
  double demand = 0;

  friend auto operator<=>(const LinkDemand&, const LinkDemand&) = default;
};

// A link that can't carry all its users' bursts at once.
struct ContendedLink {
  LinkId link;
  std::vector<LinkDemand> users;  // by job
};

std::vector<ContendedLink> FindContendedLinks(const JobSurvey& survey, const LinkTable& links) {
  std::vector<std::pair<LinkId, LinkDemand>> all;
  for (uint32_t p = 0; p < survey.size(); ++p) {
    const JobTraffic& traffic = *survey.traffic[p];
    for (const LinkBytes& use : traffic.links) {
      all.push_back({use.link, {p, use.bytes / links.capacity(use.link) / traffic.communication_time}});
    }
  }
  std::sort(all.begin(), all.end());
  std::vector<ContendedLink> contended;
  for (auto first = all.begin(); first != all.end();) {
    double demand = 0;
    ContendedLink here{first->first, {}};
    for (; first != all.end() && first->first == here.link; ++first) {
      here.users.push_back(first->second);
      demand += first->second.demand;
    }
    if (demand > 1 + kRounding) contended.push_back(std::move(here));
  }
  return contended;
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

// The circle of one component, and its jobs' bursts on it. `stretch` >= 1: periods are as many times as long as alone.
class ComponentCircle {
 public:
  ComponentCircle(const JobSurvey& survey, const Component& component, double stretch)
      : survey_(survey), component_(component), stretch_(stretch) {
    ChoosePerimeter();
    for (const uint32_t job : component.jobs) bursts_.push_back(MakeBurst(survey.profiles[job]));
    CollectLinks();
    alignment_ = AlignJobs(perimeter_, static_cast<uint32_t>(bursts_.size()), links_);
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
  void ChoosePerimeter();
  uint32_t SlotsOf(Seconds time) const { return static_cast<uint32_t>(std::llround(time.value() / slot_s())); }
  Seconds WantedPeriod(const JobProfile& profile) const { return stretch_ * profile.solo_time(); }
  uint32_t PeriodSlots(const JobProfile& profile) const {
    const Seconds wanted = std::min(WantedPeriod(profile), kLongestIteration);
    return std::max(1u, static_cast<uint32_t>(std::ceil(wanted.value() / slot_s() - kRounding)));
  }
  Burst MakeBurst(const JobProfile& profile) const;
  bool Fits(uint32_t index) const;
  void CollectLinks();
  double ScoreOf(uint32_t link, bool is_shifted) const;
  // For every job whether a link joins it to another.
  std::vector<uint8_t> FindJoined() const;
  SimDuration PeriodOf(uint32_t index) const {
    return SimDuration(int64_t{perimeter_} * slot_ns_ / bursts_[index].repeats);
  }
  double slot_s() const { return static_cast<double>(slot_ns_) * 1e-9; }

  const JobSurvey& survey_;
  const Component& component_;
  double stretch_;
  int64_t slot_ns_ = kQuantumNs;
  uint32_t perimeter_ = 1;
  std::vector<Burst> bursts_;        // [index in component.jobs]
  std::vector<AffinityLink> links_;  // of the jobs that fit; their jobs are such indices
  Alignment alignment_;
  double before_ = 0;
  double after_ = 0;
};

void ComponentCircle::ChoosePerimeter() {
  Seconds longest;
  for (const uint32_t job : component_.jobs) longest = std::max(longest, WantedPeriod(survey_.profiles[job]));
  longest = std::min(longest, kLongestIteration);
  slot_ns_ = kQuantumNs * std::max<int64_t>(1, static_cast<int64_t>(std::ceil(longest.value() / 50 - kRounding)));
  std::vector<uint32_t> periods;
  for (const uint32_t job : component_.jobs) periods.push_back(PeriodSlots(survey_.profiles[job]));
  perimeter_ = FindPerimeter(periods, kMostSlots);
}

Burst ComponentCircle::MakeBurst(const JobProfile& profile) const {
  Burst burst;
  burst.repeats = perimeter_ / PeriodSlots(profile);
  burst.begin = SlotsOf(std::min(profile.start_fraction * profile.compute_time, kLongestIteration));
  burst.length =
      std::clamp(SlotsOf(std::min(profile.communication_time, kLongestIteration)), 1u, perimeter_ / burst.repeats);
  return burst;
}

bool ComponentCircle::Fits(uint32_t index) const {
  const Seconds wanted = WantedPeriod(survey_.profiles[component_.jobs[index]]);
  return wanted <= kLongestIteration && PeriodOf(index).seconds() <= (1 + kTolerance) * wanted;
}

void ComponentCircle::CollectLinks() {
  for (const ContendedLink& link : component_.links) {
    AffinityLink here;
    for (const LinkDemand& user : link.users) {
      const auto found = std::lower_bound(component_.jobs.begin(), component_.jobs.end(), user.job);
      const auto index = static_cast<uint32_t>(found - component_.jobs.begin());
      if (!Fits(index)) continue;
      here.jobs.push_back(index);
      here.bursts.push_back(bursts_[index]);
      here.bursts.back().demand = user.demand;
    }
    if (here.jobs.size() >= 2) links_.push_back(std::move(here));
  }
}

double ComponentCircle::ScoreOf(uint32_t link, bool is_shifted) const {
  const AffinityLink& here = links_[link];
  std::vector<uint32_t> shifts(here.jobs.size(), 0);
  for (size_t i = 0; i < shifts.size() && is_shifted; ++i) shifts[i] = alignment_.shifts[here.jobs[i]];
  return Score(perimeter_, here.bursts, shifts);
}

std::vector<uint8_t> ComponentCircle::FindJoined() const {
  std::vector<uint8_t> joined(bursts_.size(), 0);
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
  for (uint32_t index = 0; index < bursts_.size(); ++index) {
    JobPlan& mine = survey->plan_of(component_.jobs[index]);
    const SimDuration period = PeriodOf(index);
    if (joined[index] == 0) {
      mine.reason = fmt::format("period {:.4g} s finds no partner on a circle of {:.4g} s within {:.0f} %: no shift",
                                WantedPeriod(survey_.profiles[component_.jobs[index]]).value(), perimeter_ * slot_s(),
                                100 * kTolerance);
      continue;
    }
    mine.time_shift = TimeShift{.period = period,
                                .offset = SimDuration(alignment_.shifts[index] * slot_ns_ % period.ns()),
                                .tolerance = SimDuration(std::llround(kTolerance * static_cast<double>(period.ns()))),
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
  if (min_score_gain >= 0 && min_score_gain <= 1) return OkStatus();
  return InvalidArgument(fmt::format("cassini: min_score_gain: expected a number in [0, 1], found {}", min_score_gain));
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

}  // namespace fairlead::traffic::cassini

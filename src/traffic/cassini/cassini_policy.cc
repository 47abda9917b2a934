#include "traffic/cassini/cassini_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

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
    const JobTraffic& traffic = survey.traffic[p];
    for (const LinkBytes& use : traffic.links) {
      all.push_back({use.link, {p, use.bytes / links.capacity[use.link] / traffic.communication_time}});
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

// The circle of one component, and its jobs' bursts on it.
class ComponentCircle {
 public:
  ComponentCircle(const JobSurvey& survey, const Component& component) : survey_(survey), component_(component) {
    ChoosePerimeter();
    for (const uint32_t job : component.jobs) bursts_.push_back(MakeBurst(survey.profiles[job]));
    CollectLinks();
    alignment_ = AlignJobs(perimeter_, static_cast<uint32_t>(bursts_.size()), links_);
  }

  void Explain(const topology::Fabric& fabric, JobSurvey* survey) const;

 private:
  struct LinkScores {
    LinkId link;
    double before = 1;
    double after = 1;
  };

  void ChoosePerimeter();
  uint32_t SlotsOf(Seconds time) const { return static_cast<uint32_t>(std::llround(time.value() / slot_s())); }
  uint32_t PeriodSlots(const JobProfile& profile) const {
    const Seconds solo = std::min(profile.solo_time(), kLongestIteration);
    return std::max(1u, static_cast<uint32_t>(std::ceil(solo.value() / slot_s() - kRounding)));
  }
  Burst MakeBurst(const JobProfile& profile) const;
  bool Fits(uint32_t index) const;
  void CollectLinks();
  LinkScores ScoresOf(uint32_t link) const;
  std::vector<LinkScores> WorstLinks() const;
  SimDuration PeriodOf(uint32_t index) const {
    return SimDuration(int64_t{perimeter_} * slot_ns_ / bursts_[index].repeats);
  }
  double slot_s() const { return static_cast<double>(slot_ns_) * 1e-9; }

  const JobSurvey& survey_;
  const Component& component_;
  int64_t slot_ns_ = kQuantumNs;
  uint32_t perimeter_ = 1;
  std::vector<Burst> bursts_;        // [index in component.jobs]
  std::vector<AffinityLink> links_;  // of the jobs that fit; their jobs are such indices
  std::vector<LinkId> link_ids_;     // [link of links_]
  Alignment alignment_;
};

void ComponentCircle::ChoosePerimeter() {
  Seconds longest;
  for (const uint32_t job : component_.jobs) longest = std::max(longest, survey_.profiles[job].solo_time());
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
  const Seconds solo = survey_.profiles[component_.jobs[index]].solo_time();
  return solo <= kLongestIteration && PeriodOf(index).seconds() <= (1 + kTolerance) * solo;
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
    if (here.jobs.size() < 2) continue;
    links_.push_back(std::move(here));
    link_ids_.push_back(link.link);
  }
}

ComponentCircle::LinkScores ComponentCircle::ScoresOf(uint32_t link) const {
  const AffinityLink& here = links_[link];
  std::vector<uint32_t> shifts;
  for (const uint32_t index : here.jobs) shifts.push_back(alignment_.shifts[index]);
  return {link_ids_[link], Score(perimeter_, here.bursts, std::vector<uint32_t>(shifts.size(), 0)),
          Score(perimeter_, here.bursts, shifts)};
}

// For every job the link that would be worst without shifts; an invalid one for a job that is left alone.
std::vector<ComponentCircle::LinkScores> ComponentCircle::WorstLinks() const {
  std::vector<LinkScores> worst(bursts_.size());
  for (uint32_t link = 0; link < links_.size(); ++link) {
    const LinkScores scores = ScoresOf(link);
    for (const uint32_t index : links_[link].jobs) {
      if (!worst[index].link.valid() || scores.before < worst[index].before) worst[index] = scores;
    }
  }
  return worst;
}

void ComponentCircle::Explain(const topology::Fabric& fabric, JobSurvey* survey) const {
  const std::vector<LinkScores> worst = WorstLinks();
  for (uint32_t index = 0; index < bursts_.size(); ++index) {
    JobPlan& mine = survey->plan_of(component_.jobs[index]);
    const SimDuration period = PeriodOf(index);
    if (!worst[index].link.valid()) {
      mine.reason = fmt::format("period {:.4g} s finds no partner on a circle of {:.4g} s within {:.0f} %: no shift",
                                survey_.profiles[component_.jobs[index]].solo_time().value(), perimeter_ * slot_s(),
                                100 * kTolerance);
      continue;
    }
    const auto stretched = static_cast<double>(period.ns());
    mine.time_shift = TimeShift{.period = period,
                                .offset = SimDuration(alignment_.shifts[index] * slot_ns_ % period.ns()),
                                .tolerance = SimDuration(std::llround(kTolerance * stretched))};
    mine.reason = fmt::format(
        "interleaved with {} other jobs: every {:.4g} s, shifted by {:.4g} s; score {:.3g} -> {:.3g} on {}; {} of {} "
        "affinity edges dropped",
        component_.jobs.size() - 1, period.seconds().value(), mine.time_shift->offset.seconds().value(),
        worst[index].before, worst[index].after, fabric.LinkName(worst[index].link), alignment_.num_dropped_edges,
        alignment_.num_edges);
  }
}

}  // namespace

TrafficPlan CassiniPolicy::Plan(const TrafficSnapshot& snapshot) const {
  const LinkTable links = MakeLinkTable(snapshot);
  JobSurvey survey = SurveyJobs(snapshot, links);
  for (size_t p = 0; p < survey.size(); ++p) survey.plan_of(p).reason = "no contended link on its paths: no shift";
  for (const Component& component : FindComponents(FindContendedLinks(survey, links), survey.size())) {
    ComponentCircle(survey, component).Explain(snapshot.router->fabric(), &survey);
  }
  for (size_t p = 0; p < survey.size(); ++p) {
    JobPlan& mine = survey.plan_of(p);
    mine.reason += DescribePathChanges(survey.view(snapshot, p), mine);
  }
  return std::move(survey.plan);
}

}  // namespace fairlead::traffic::cassini

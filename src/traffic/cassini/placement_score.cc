#include "traffic/cassini/placement_score.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/disjoint_sets.h"
#include "traffic/cassini/job_circle.h"
#include "traffic/cassini/unified_circle.h"

namespace fairlead::traffic::cassini {
namespace {

// Scores that differ by less are equal.
constexpr double kScoreTie = 1e-9;

bool IsCutOff(const JobPlan& plan) {
  return std::any_of(plan.paths.begin(), plan.paths.end(), [](const model::Path& path) { return path.empty(); });
}

// How much a job asks of a link beside the first of its users, in millionths.
struct JobShare {
  uint32_t job = 0;
  int64_t share = 0;

  friend auto operator<=>(const JobShare&, const JobShare&) = default;
};

std::vector<JobShare> SharesOf(const std::vector<LinkDemand>& users) {
  std::vector<JobShare> shares;
  for (const LinkDemand& user : users) {
    shares.push_back({user.job, std::llround(1e6 * user.demand / users.front().demand)});
  }
  return shares;
}

// With the best shifts of those that their circle holds. Args: profiles: [user].
double ScoreOfLink(const std::vector<LinkDemand>& users, std::vector<const JobProfile*> profiles) {
  const JobCircle circle(std::move(profiles), 1);
  std::vector<Burst> bursts;
  for (size_t u = 0; u < users.size(); ++u) {
    const double demand = users[u].demand;
    bursts.push_back(circle.Fits(u) ? circle.BurstOf(u, demand) : circle.MeanBurstOf(u, demand));
  }
  return Score(circle.perimeter(), bursts, FindShifts(circle.perimeter(), bursts));
}

}  // namespace

uint32_t CountLoops(const std::vector<ContendedLink>& links, uint32_t num_jobs) {
  DisjointSets trees(num_jobs + links.size());
  std::set<std::vector<JobShare>> seen;
  uint32_t num_loops = 0;
  for (uint32_t l = 0; l < links.size(); ++l) {
    if (!seen.insert(SharesOf(links[l].users)).second) continue;
    const uint32_t node = num_jobs + l;
    for (const LinkDemand& user : links[l].users) {
      if (trees.Find(user.job) == trees.Find(node)) ++num_loops;
      trees.Join(user.job, node);
    }
  }
  return num_loops;
}

PlacementScorer::PlacementScorer(const TrafficSnapshot& running)
    : running_(running), links_(MakeLinkTable(running_)), survey_(SurveyJobs(running_, links_)) {
  for (uint32_t p = 0; p < survey_.size(); ++p) AppendLinkUses(p, *survey_.traffic[p], links_, &uses_);
  std::sort(uses_.begin(), uses_.end());
  contended_ = FindContendedLinks(uses_);
  num_loops_ = CountLoops(contended_, static_cast<uint32_t>(survey_.size()));
}

std::vector<LinkDemand> PlacementScorer::UsersWith(const LinkUse& arriving) const {
  std::vector<LinkDemand> users;
  for (auto use = std::lower_bound(uses_.begin(), uses_.end(), LinkUse{arriving.link, {}});
       use != uses_.end() && use->link == arriving.link; ++use) {
    users.push_back(use->by);
  }
  users.push_back(arriving.by);
  return users;
}

uint32_t PlacementScorer::CountLoopsWith(const std::vector<LinkUse>& uses) const {
  std::set<LinkId> own;
  std::vector<ContendedLink> all;
  for (const LinkUse& use : uses) {
    own.insert(use.link);
    if (std::vector<LinkDemand> users = UsersWith(use); IsContended(users)) all.push_back({use.link, std::move(users)});
  }
  for (const ContendedLink& link : contended_) {
    if (!own.contains(link.link)) all.push_back(link);
  }
  return CountLoops(all, static_cast<uint32_t>(survey_.size()) + 1);
}

PlacementScore PlacementScorer::Score(const JobView& candidate) const {
  FL_CHECK(candidate.paths.empty());
  TrafficSnapshot alone = running_;
  alone.jobs = std::span(&candidate, 1);
  const JobSurvey survey = SurveyJobs(alone, links_);
  PlacementScore score;
  score.is_cut_off = IsCutOff(survey.plan.jobs.front());
  if (survey.size() == 0) return score;
  std::vector<LinkUse> uses;
  AppendLinkUses(static_cast<uint32_t>(survey_.size()), *survey.traffic.front(), links_, &uses);
  std::erase_if(uses, [&](const LinkUse& use) { return !links_.can_be_shared(use.link); });
  score.num_links = static_cast<uint32_t>(uses.size());
  std::map<std::vector<LinkDemand>, double> known;  // links with the same users have the same score
  double lost = 0;
  for (const LinkUse& use : uses) {
    const std::vector<LinkDemand> users = UsersWith(use);
    if (!IsContended(users)) continue;
    ++score.num_contended;
    const auto [found, is_new] = known.try_emplace(users, 0);
    if (is_new) {
      std::vector<const JobProfile*> profiles;
      for (size_t u = 0; u + 1 < users.size(); ++u) profiles.push_back(&survey_.profiles[users[u].job]);
      profiles.push_back(&survey.profiles.front());
      found->second = ScoreOfLink(users, std::move(profiles));
    }
    lost += 1 - found->second;
  }
  if (score.num_contended == 0) return score;
  score.score = 1 - lost / static_cast<double>(score.num_links);
  score.closes_loop = CountLoopsWith(uses) > num_loops_;
  return score;
}

PlacementChoice ChoosePlacement(const TrafficSnapshot& running, std::span<const JobView> candidates) {
  FL_CHECK(!candidates.empty());
  const PlacementScorer scorer(running);
  PlacementChoice choice;
  std::optional<double> best;
  for (uint32_t c = 0; c < candidates.size(); ++c) {
    const PlacementScore score = scorer.Score(candidates[c]);
    if (c == 0) choice.score = choice.first_score = score.score;
    choice.num_cut_off += score.is_cut_off ? 1 : 0;
    choice.num_looped += score.closes_loop && !score.is_cut_off ? 1 : 0;
    if (score.is_left_out() || (best && score.score <= *best + kScoreTie)) continue;
    best = choice.score = score.score;
    choice.candidate = c;
  }
  return choice;
}

}  // namespace fairlead::traffic::cassini

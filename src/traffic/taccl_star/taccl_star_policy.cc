#include "traffic/taccl_star/taccl_star_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/check.h"
#include "traffic/job_survey.h"

namespace fairlead::traffic::taccl_star {
namespace {

// How far a job sends.
struct Distance {
  uint32_t tiers = 0;  // of network switches that its farthest flow crosses
  double byte_hops = 0;
};

uint32_t TierOf(topology::LinkTier tier) {
  if (!topology::IsNetwork(tier)) return 0;
  return static_cast<uint32_t>(tier) - static_cast<uint32_t>(topology::LinkTier::kHostLeaf) + 1;
}

// Equal-cost paths cross the same tiers, so it doesn't matter on which of them the job was measured.
Distance DistanceOf(const JobTraffic& traffic, const LinkTable& links) {
  Distance distance;
  distance.byte_hops = traffic.network_bytes.value();
  for (const LinkBytes& use : traffic.links) distance.tiers = std::max(distance.tiers, TierOf(links.tier(use.link)));
  return distance;
}

// Participants ascend by id, so a stable sort breaks ties by id.
std::vector<uint32_t> FarthestFirst(std::span<const Distance> distances) {
  std::vector<uint32_t> order(distances.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (distances[a].tiers != distances[b].tiers) return distances[a].tiers > distances[b].tiers;
    return distances[a].byte_hops > distances[b].byte_hops;
  });
  return order;
}

}  // namespace

Status TacclStarOptions::Validate() const {
  FL_RETURN_IF_ERROR(paths.Validate());
  if (max_candidates < 1) return InvalidArgument("taccl-star: max_candidates: expected >= 1, found 0");
  return OkStatus();
}

TacclStarPolicy::TacclStarPolicy(TacclStarOptions options) : options_(options) { FL_CHECK(options_.Validate().ok()); }

TrafficPlan TacclStarPolicy::Plan(const TrafficSnapshot& snapshot) const {
  constexpr std::array<std::string_view, 4> kFarthest = {"its host", "its leaf", "spines", "cores"};
  const LinkTable links = MakeLinkTable(snapshot);
  JobSurvey survey = SurveyJobs(snapshot, links);
  std::vector<double> precedence;
  std::vector<Distance> distances;
  for (size_t p = 0; p < survey.size(); ++p) {
    precedence.push_back(-static_cast<double>(survey.view(snapshot, p).arrival_order));
    distances.push_back(DistanceOf(*survey.traffic[p], links));
  }
  PathSelectionOptions paths = options_.paths;
  if (options_.reading == Reading::kArrivals) paths.max_moved_jobs = 0;
  SelectSurveyedPaths(snapshot, links, precedence, paths, options_.max_candidates, &survey);
  SetRankedLevels(FarthestFirst(distances), options_.levels, snapshot.num_levels, &survey);
  for (size_t p = 0; p < survey.size(); ++p) {
    JobPlan& mine = survey.plan_of(p);
    mine.reason = fmt::format("farthest first: sends {:.3g} byte hops as far as {}; rank {} of {}, level {} of {}{}",
                              distances[p].byte_hops, kFarthest[distances[p].tiers], mine.priority_rank, survey.size(),
                              mine.level, snapshot.num_levels, DescribePathChanges(survey.view(snapshot, p), mine));
  }
  return std::move(survey.plan);
}

}  // namespace fairlead::traffic::taccl_star

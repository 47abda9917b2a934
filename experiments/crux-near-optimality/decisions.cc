#include "experiments/crux-near-optimality/decisions.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/check.h"
#include "traffic/crux/crux_policy.h"
#include "traffic/crux/priority_compression.h"
#include "traffic/gpu_intensity.h"
#include "traffic/level_groups.h"
#include "traffic/link_traffic.h"
#include "traffic/sincronia/sincronia_policy.h"
#include "traffic/taccl_star/taccl_star_policy.h"
#include "traffic/varys/varys_policy.h"

namespace fairlead::experiments::crux_near_optimality {
namespace {

using traffic::PathUnit;
using traffic::TrafficPolicy;

std::unique_ptr<TrafficPolicy> MakePolicy(Method method, bool select_paths) {
  switch (method) {
    case Method::kCrux:
    case Method::kIntensity: {
      traffic::crux::CruxOptions options;
      options.correction.enabled = method == Method::kCrux;
      options.select_paths = select_paths;
      options.paths.unit = PathUnit::kJob;
      return std::make_unique<traffic::crux::CruxPolicy>(options);
    }
    case Method::kTacclStar: {
      traffic::taccl_star::TacclStarOptions options;
      options.reading = traffic::taccl_star::Reading::kAll;  // the paths in force are those of nobody's choice
      options.paths.unit = PathUnit::kJob;
      return std::make_unique<traffic::taccl_star::TacclStarPolicy>(options);
    }
    case Method::kSincronia:
      return std::make_unique<traffic::sincronia::SincroniaPolicy>();
    case Method::kVarys:
      return std::make_unique<traffic::varys::VarysPolicy>();
    case Method::kWorst:
      break;
  }
  FL_CHECK_MSG(false, "no policy");
  return nullptr;
}

traffic::LinkTable HealthyLinks(const topology::Router& router) {
  traffic::TrafficSnapshot snapshot;
  snapshot.router = &router;
  return traffic::MakeLinkTable(snapshot);
}

bool LeavesItsHost(const RandomCase& decided, size_t job) {
  return std::ranges::any_of(decided.jobs[job].paths[0], [&](const model::Path& path) {
    return std::ranges::any_of(path, [&](LinkId link) { return topology::IsNetwork(decided.fabric.tier(link)); });
  });
}

}  // namespace

std::string_view Name(Method method) {
  static constexpr std::array<std::string_view, kNumMethods> kNames = {
      "crux", "taccl-star", "sincronia", "varys", "crux without correction", "worst"};
  return kNames[static_cast<size_t>(method)];
}

Decisions::Decisions(const RandomCase& decided)
    : decided_(&decided), router_(decided.fabric), links_(HealthyLinks(router_)) {
  for (uint32_t j = 0; j < kNumJobs; ++j) {
    if (LeavesItsHost(decided, j)) participants_.push_back(j);
  }
}

traffic::TrafficPlan Decisions::Plan(const TrafficPolicy& policy, const PathChoice& choice) const {
  std::vector<traffic::JobView> views;
  for (uint32_t j = 0; j < kNumJobs; ++j) {
    traffic::JobView& view = views.emplace_back();
    view.id = JobId(j);
    view.num_gpus = decided_->jobs[j].num_gpus;
    view.arrival_order = j;
    view.iteration = &decided_->jobs[j].iteration;
    view.paths = decided_->PathsOf(choice, j);
  }
  traffic::TrafficSnapshot snapshot;
  snapshot.router = &router_;
  snapshot.jobs = views;
  snapshot.num_levels = kNumLevels;
  snapshot.random_seed = decided_->seed;
  return policy.Plan(snapshot);
}

PathChoice Decisions::ChoosePaths(Method method) const {
  FL_CHECK(method != Method::kSincronia && method != Method::kVarys);
  // The paths in force only give each job its communication time, the same on both switches.
  const traffic::TrafficPlan plan = Plan(*MakePolicy(method, true), PathChoice{});
  PathChoice choice{};
  for (size_t j = 0; j < kNumJobs; ++j) {
    choice[j] = plan.jobs[j].paths == decided_->jobs[j].paths[0] ? 0 : 1;
    FL_CHECK(plan.jobs[j].paths == decided_->PathsOf(choice, j));
  }
  return choice;
}

JobOrder Decisions::OrderJobs(Method method, const PathChoice& choice) const {
  const traffic::TrafficPlan plan = Plan(*MakePolicy(method, false), choice);
  JobOrder order = participants_;
  std::ranges::sort(order, {}, [&](uint32_t j) { return plan.jobs[j].priority_rank; });
  return order;
}

std::vector<std::pair<uint32_t, uint32_t>> Decisions::SharingPairs(const JobOrder& order,
                                                                   const PathChoice& choice) const {
  std::vector<std::span<const model::Path>> by_rank;
  for (const uint32_t j : order) by_rank.emplace_back(decided_->PathsOf(choice, j));
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  const auto contention = traffic::FindContention(by_rank, links_);
  for (uint32_t upper = 0; upper < order.size(); ++upper) {
    for (const uint32_t lower : contention[upper]) {
      if (upper < lower) pairs.emplace_back(order[upper], order[lower]);
    }
  }
  return pairs;
}

Levels Decisions::CompressAsCrux(const JobOrder& order, const PathChoice& choice) const {
  traffic::LinkTrafficMeter meter(links_);
  const auto rank_of = [&](uint32_t job) {
    return static_cast<uint32_t>(std::ranges::find(order, job) - order.begin());
  };
  traffic::crux::ContentionDag dag;
  dag.num_jobs = static_cast<uint32_t>(order.size());
  for (const auto& [upper, lower] : SharingPairs(order, choice)) {
    const model::Iteration& iteration = decided_->jobs[upper].iteration;
    const auto profile =
        traffic::ComputeProfile(JobId(upper), iteration, meter.Measure(iteration, decided_->PathsOf(choice, upper)));
    dag.edges.push_back({rank_of(upper), rank_of(lower), profile.intensity.value()});
  }
  Levels levels{};
  if (order.empty()) return levels;
  const auto compression = CompressPriorities(dag, kNumLevels, {}, decided_->seed);
  for (size_t rank = 0; rank < order.size(); ++rank) {
    levels[order[rank]] = static_cast<uint8_t>(compression.levels[rank]);
  }
  return levels;
}

Levels Decisions::CompressOrder(Method method, const JobOrder& order, const PathChoice& choice) const {
  if (method == Method::kCrux || method == Method::kIntensity) return CompressAsCrux(order, choice);
  const traffic::LevelRule rule =
      method == Method::kSincronia ? traffic::LevelRule::kTopRanks : traffic::LevelRule::kEqualGroups;
  Levels levels{};
  for (size_t rank = 0; rank < order.size(); ++rank) {
    levels[order[rank]] = static_cast<uint8_t>(traffic::LevelOfRank(rule, rank, order.size(), kNumLevels));
  }
  return levels;
}

}  // namespace fairlead::experiments::crux_near_optimality

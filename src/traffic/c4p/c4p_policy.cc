#include "traffic/c4p/c4p_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/check.h"
#include "traffic/job_survey.h"

namespace fairlead::traffic::c4p {
namespace {

std::string Describe(const JobView& job, const JobPlan& plan, const topology::Fabric& fabric) {
  size_t connections = 0;
  size_t queue_pairs = 0;
  std::set<model::Path> paths;
  for (size_t f = 0; f < plan.paths.size(); ++f) {
    const model::FlowDemand& flow = job.iteration->flows[f];
    if (fabric.host_of(flow.source) == fabric.host_of(flow.destination)) continue;
    connections += flow.queue_pair == 0 ? 1 : 0;
    ++queue_pairs;
    if (!plan.paths[f].empty()) paths.insert(plan.paths[f]);
  }
  return fmt::format("{} connections of {} queue pairs on {} paths, evenly over links; one level for all jobs",
                     connections, queue_pairs, paths.size());
}

}  // namespace

C4pPolicy::C4pPolicy(BalancingOptions options, std::string_view name) : name_(name), paths_(options) {}

TrafficPlan C4pPolicy::Plan(const TrafficSnapshot& snapshot) const {
  FL_CHECK(snapshot.router != nullptr);
  const LinkTable links = MakeLinkTable(snapshot);
  JobSurvey survey = SurveyJobs(snapshot, links);
  paths_.ChoosePaths(snapshot, links, {}, &survey);
  for (size_t p = 0; p < survey.size(); ++p) {
    JobPlan& mine = survey.plan_of(p);
    mine.reason = Describe(survey.view(snapshot, p), mine, snapshot.router->fabric()) +
                  DescribePathChanges(survey.view(snapshot, p), mine);
  }
  return std::move(survey.plan);
}

}  // namespace fairlead::traffic::c4p

#include "traffic/sincronia/sincronia_policy.h"

#include <fmt/format.h>

#include "traffic/job_survey.h"
#include "traffic/sincronia/bssi_order.h"

namespace fairlead::traffic::sincronia {
namespace {

std::vector<std::vector<LinkLoad>> LoadsOf(const JobSurvey& survey, const LinkTable& links) {
  std::vector<std::vector<LinkLoad>> coflows(survey.size());
  for (size_t p = 0; p < survey.size(); ++p) {
    for (const LinkBytes& use : survey.traffic[p]->links) {
      coflows[p].push_back({use.link.value(), use.bytes / links.capacity(use.link) / Seconds(1)});
    }
  }
  return coflows;
}

}  // namespace

TrafficPlan SincroniaPolicy::Plan(const TrafficSnapshot& snapshot) const {
  const LinkTable links = MakeLinkTable(snapshot);
  JobSurvey survey = SurveyJobs(snapshot, links);
  SetRankedLevels(FindBssiOrder(LoadsOf(survey, links)), LevelRule::kTopRanks, snapshot.num_levels, &survey);
  SetTurns(options_.pacing, snapshot.num_levels, &survey);
  for (size_t p = 0; p < survey.size(); ++p) {
    JobPlan& mine = survey.plan_of(p);
    mine.reason = fmt::format("bottleneck order: needs {} for {:.3g} s; rank {} of {}, level {} of {}{}{}",
                              snapshot.router->fabric().LinkName(survey.traffic[p]->bounding_link),
                              survey.traffic[p]->communication_time.value(), mine.priority_rank, survey.size(),
                              mine.level, snapshot.num_levels, DescribePacing(options_.pacing),
                              DescribePathChanges(survey.view(snapshot, p), mine));
  }
  return std::move(survey.plan);
}

}  // namespace fairlead::traffic::sincronia

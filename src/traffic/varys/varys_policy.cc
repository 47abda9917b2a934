#include "traffic/varys/varys_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "traffic/job_survey.h"

namespace fairlead::traffic::varys {
namespace {

// Participants ascend by id, so a stable sort breaks ties by id.
std::vector<uint32_t> SmallestBottleneckFirst(const JobSurvey& survey) {
  std::vector<uint32_t> order(survey.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return survey.traffic[a]->communication_time < survey.traffic[b]->communication_time;
  });
  return order;
}

}  // namespace

TrafficPlan VarysPolicy::Plan(const TrafficSnapshot& snapshot) const {
  JobSurvey survey = SurveyJobs(snapshot, MakeLinkTable(snapshot));
  SetRankedLevels(SmallestBottleneckFirst(survey), LevelRule::kEqualGroups, snapshot.num_levels, &survey);
  SetTurns(options_.pacing, snapshot.num_levels, &survey);
  for (size_t p = 0; p < survey.size(); ++p) {
    JobPlan& mine = survey.plan_of(p);
    mine.reason = fmt::format("smallest bottleneck first: {:.3g} s on {}; rank {} of {}, level {} of {}{}{}",
                              survey.traffic[p]->communication_time.value(),
                              snapshot.router->fabric().LinkName(survey.traffic[p]->bounding_link), mine.priority_rank,
                              survey.size(), mine.level, snapshot.num_levels, DescribePacing(options_.pacing),
                              DescribePathChanges(survey.view(snapshot, p), mine));
  }
  return std::move(survey.plan);
}

}  // namespace fairlead::traffic::varys

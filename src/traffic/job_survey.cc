#include "traffic/job_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "traffic/candidate_finder.h"
#include "traffic/default_paths.h"
#include "traffic/path_upkeep.h"

namespace fairlead::traffic {
namespace {

std::string_view WhyLeftOut(const JobPlan& job, const JobTraffic& traffic) {
  const bool cut_off = std::any_of(job.paths.begin(), job.paths.end(), [](const auto& path) { return path.empty(); });
  if (cut_off) return "no path left for its traffic: takes no part until links recover; level 0";
  if (traffic.phases.empty()) return "does not communicate: infinite intensity, shares no link; level 0";
  return "never leaves NVLink: infinite intensity, shares no link; level 0";
}

size_t CountDifferent(std::span<const model::Path> before, std::span<const model::Path> after) {
  size_t count = 0;
  for (size_t f = 0; f < after.size(); ++f) count += before[f] != after[f] ? 1 : 0;
  return count;
}

// Measures jobs that are not in the memory, if there is one.
class SurveyMeter {
 public:
  SurveyMeter(const LinkTable& links, PlanMemory* memory) : meter_(links), memory_(memory) {}

  std::shared_ptr<const JobTraffic> Find(const JobView& job, std::span<const model::Path> paths) const {
    return memory_ == nullptr ? nullptr : memory_->traffic().Find(job.id, *job.iteration, paths);
  }
  std::shared_ptr<const JobTraffic> Measure(const JobView& job, std::span<const model::Path> paths) {
    auto traffic = std::make_shared<const JobTraffic>(meter_.Measure(*job.iteration, paths));
    if (memory_ != nullptr) memory_->traffic().Remember(job.id, *job.iteration, paths, traffic);
    return traffic;
  }

 private:
  LinkTrafficMeter meter_;
  PlanMemory* const memory_;
};

bool HasAllInForce(const JobView& job) {
  return std::none_of(job.paths.begin(), job.paths.end(), [](const model::Path& path) { return path.empty(); });
}

}  // namespace

JobSurvey SurveyJobs(const TrafficSnapshot& snapshot, const LinkTable& links, PlanMemory* memory) {
  JobSurvey survey;
  SurveyMeter meter(links, memory);
  survey.plan.jobs.reserve(snapshot.jobs.size());
  for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) {
    const JobView& job = snapshot.jobs[j];
    JobPlan& mine = survey.plan.jobs.emplace_back();
    mine.id = job.id;
    // Paths that are remembered are healthy: the memory is of this health.
    std::shared_ptr<const JobTraffic> traffic = HasAllInForce(job) ? meter.Find(job, job.paths) : nullptr;
    if (traffic != nullptr) {
      mine.paths.assign(job.paths.begin(), job.paths.end());
    } else {
      mine.paths = DefaultPaths(snapshot, job);
      traffic = meter.Measure(job, mine.paths);
    }
    JobProfile profile = ComputeProfile(job.id, *job.iteration, *traffic);
    profile.is_period_known = job.is_period_known;
    if (!profile.communicates()) {
      mine.reason = WhyLeftOut(mine, *traffic);
      continue;
    }
    survey.participants.push_back(j);
    survey.traffic.push_back(std::move(traffic));
    survey.profiles.push_back(profile);
  }
  survey.keeps_paths.assign(survey.size(), 0);
  return survey;
}

void SelectSurveyedPaths(const TrafficSnapshot& snapshot, const LinkTable& links, std::span<const double> precedence,
                         const PathSelectionOptions& options, uint32_t max_candidates, JobSurvey* survey,
                         PlanMemory* memory) {
  FL_CHECK(precedence.size() == survey->size());
  std::vector<PathRequest> requests;
  requests.reserve(survey->size());
  for (size_t p = 0; p < survey->size(); ++p) {
    const JobView& job = survey->view(snapshot, p);
    requests.push_back({job.id, precedence[p], survey->profiles[p].solo_time(), job.iteration->flows, job.paths,
                        HasAllInForce(job) ? survey->traffic[p] : nullptr});
  }
  CandidateFinder finder(*snapshot.router, max_candidates);
  const auto candidates = [&](const model::FlowDemand& flow) { return finder.Find(flow); };
  SelectionMemory* const selected = memory == nullptr ? nullptr : &memory->selection();
  if (options.max_moved_jobs.has_value()) {
    auto changed = KeepPaths(requests, links, candidates, options, selected);
    for (size_t p = 0; p < survey->size(); ++p) {
      survey->keeps_paths[p] = changed[p].has_value() ? 0 : 1;
      if (changed[p].has_value()) survey->plan_of(p).paths = *std::move(changed[p]);
    }
    return;
  }
  PathSelection selection = SelectPaths(requests, links, candidates, options, selected);
  for (size_t p = 0; p < survey->size(); ++p) survey->plan_of(p).paths = std::move(selection.paths[p]);
}

std::vector<std::vector<uint32_t>> FindSurveyedContention(const TrafficSnapshot& snapshot, const LinkTable& links,
                                                          const JobSurvey& survey, std::span<const uint32_t> order,
                                                          PlanMemory* memory) {
  if (memory == nullptr) {
    std::vector<std::span<const model::Path>> paths;
    paths.reserve(order.size());
    for (const uint32_t p : order) paths.emplace_back(survey.plan_of(p).paths);
    return FindContention(paths, links);
  }
  // The traffic on these paths is what the next survey asks for, if they come into force.
  SurveyMeter meter(links, memory);
  std::vector<MeetingMemory::Job> jobs;
  jobs.reserve(order.size());
  for (const uint32_t p : order) {
    const JobView& job = survey.view(snapshot, p);
    const std::vector<model::Path>& paths = survey.plan_of(p).paths;
    auto traffic = survey.keeps_paths[p] != 0 ? survey.traffic[p] : meter.Find(job, paths);
    if (traffic == nullptr) traffic = meter.Measure(job, paths);
    jobs.push_back({job.id, std::move(traffic)});
  }
  return memory->meetings().Find(jobs, links);
}

void SetRankedLevels(std::span<const uint32_t> by_rank, LevelRule rule, uint32_t num_levels, JobSurvey* survey) {
  FL_CHECK(by_rank.size() == survey->size());
  for (uint32_t rank = 0; rank < by_rank.size(); ++rank) {
    JobPlan& mine = survey->plan_of(by_rank[rank]);
    mine.priority_rank = rank;
    mine.level = LevelOfRank(rule, rank, by_rank.size(), num_levels);
  }
}

std::string DescribePathChanges(const JobView& before, const JobPlan& after, bool keeps_paths) {
  std::string text;
  if (keeps_paths) {
    // Nothing to say.
  } else if (before.paths.empty()) {
    text = fmt::format("; {} new paths", after.paths.size());
  } else if (const size_t moved = CountDifferent(before.paths, after.paths); moved > 0) {
    text = fmt::format("; {} of {} paths changed", moved, after.paths.size());
  }
  const auto cut_off =
      std::count_if(after.paths.begin(), after.paths.end(), [](const auto& path) { return path.empty(); });
  if (cut_off > 0) text += fmt::format("; {} flows cut off by failures", cut_off);
  return text;
}

}  // namespace fairlead::traffic

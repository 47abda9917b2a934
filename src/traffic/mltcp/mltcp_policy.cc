#include "traffic/mltcp/mltcp_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "traffic/job_survey.h"

namespace fairlead::traffic::mltcp {
namespace {

constexpr double kMostBetweenS = 1e-3;
constexpr double kPartOfT = 0.01;
constexpr double kJitterPartOfIteration = 1e-3;

SimDuration AtLeastOneNs(double seconds) {
  return SimDuration(std::max<int64_t>(1, SimDuration::FromSeconds(Seconds(seconds)).ns()));
}

// By its place among arrivals, so that other ids change nothing.
TimeShift DrawJitter(const JobView& job, double iteration_s, uint64_t seed) {
  const SimDuration period = AtLeastOneNs(kJitterPartOfIteration * iteration_s);
  Random random(CombineHash(seed, job.arrival_order));
  return {.period = period,
          .offset = SimDuration(static_cast<int64_t>(random.Below(static_cast<uint64_t>(period.ns())))),
          .tolerance = {},
          .upkeep = ShiftUpkeep::kNever};
}

}  // namespace

Status MltcpOptions::Validate() const {
  if (!(slope >= 0 && slope <= 1e6)) {
    return InvalidArgument(fmt::format("mltcp: slope: expected 0 .. 1e6, found {}", slope));
  }
  if (!(intercept >= 1e-3 && intercept <= 1e6)) {
    return InvalidArgument(fmt::format("mltcp: intercept: expected 1e-3 .. 1e6, found {}", intercept));
  }
  return OkStatus();
}

TrafficPlan MltcpPolicy::Plan(const TrafficSnapshot& snapshot) const {
  JobSurvey survey = SurveyJobs(snapshot, MakeLinkTable(snapshot));
  for (size_t p = 0; p < survey.size(); ++p) {
    const JobView& view = survey.view(snapshot, p);
    const JobProfile& profile = survey.profiles[p];
    JobPlan& mine = survey.plan_of(p);
    mine.reason = fmt::format("weight {} x share sent + {}", options_.slope, options_.intercept);
    if (options_.slope > 0) {
      const double sending_s = profile.communication_time.value();
      mine.senders.aggressiveness = {.slope = options_.slope,
                                     .intercept = options_.intercept,
                                     .counts_job = options_.progress == Progress::kJob,
                                     .most_between = AtLeastOneNs(std::min(kMostBetweenS, kPartOfT * sending_s))};
      // Unknown while a link of it is down.
      if (const double iteration_s = profile.solo_time().value(); std::isfinite(iteration_s)) {
        mine.time_shift = DrawJitter(view, iteration_s, snapshot.random_seed);
        mine.reason += fmt::format("; begins up to {:.3g} ms late: {:.3g} ms after the clock's multiples of that",
                                   mine.time_shift->period.seconds().value() * 1e3,
                                   mine.time_shift->offset.seconds().value() * 1e3);
      }
    }
    mine.reason += DescribePathChanges(view, mine);
  }
  return std::move(survey.plan);
}

}  // namespace fairlead::traffic::mltcp

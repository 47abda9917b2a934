#include "traffic/coflow_pacing.h"

namespace fairlead::traffic {

void SetTurns(Pacing pacing, uint32_t num_levels, JobSurvey* survey) {
  if (pacing == Pacing::kNone) return;
  const bool has_level_for_each = survey->size() <= num_levels;
  for (size_t p = 0; p < survey->size(); ++p) {
    JobPlan& mine = survey->plan_of(p);
    mine.senders.turn = {.pacing = pacing, .group = has_level_for_each ? 0 : mine.level, .rank = mine.priority_rank};
  }
}

const char* DescribePacing(Pacing pacing) {
  switch (pacing) {
    case Pacing::kNone:
      return "";
    case Pacing::kMadd:
      return "; flows paced to end together";
    case Pacing::kMaddAndBackfill:
      return "; flows paced to end together, then what is left shared out";
  }
  return "";
}

}  // namespace fairlead::traffic

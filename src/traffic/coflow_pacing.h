// Rates of coflows beside the order that a policy gives them: options of Varys and Sincronia, and who is paced with
// whom.
#pragma once

#include <cstdint>

#include "traffic/job_survey.h"
#include "traffic/sender_rules.h"

namespace fairlead::traffic {

struct CoflowOptions {
  // kNone: strict levels alone, and fair shares inside a level. kMadd: hosts send no faster than their coflow's last
  // flow needs, which leaves links to others. kMaddAndBackfill: and then share out what is left.
  Pacing pacing = Pacing::kNone;
};

// Gives the participants their turns, in the order of their ranks; nothing where they are not paced. Where the fabric
// has a level for each of them, the order of the hosts is the whole order. Where it has fewer, levels come first, in
// switches, and hosts pace inside a level.
// Args     survey: with ranks and levels set; num_levels: those of the fabric, >= 1.
void SetTurns(Pacing pacing, uint32_t num_levels, JobSurvey* survey);

// For reasons: "; flows paced to end together"; empty where they are not paced.
const char* DescribePacing(Pacing pacing);

}  // namespace fairlead::traffic

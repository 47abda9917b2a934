// What Sia's simulator holds for true of its applications, beside their profiles.
//
// Method      each application trains slower than its profile says, and restarts cost what they cost; policies are
//             told other costs of restarts, those that its policy uses. Moves between nodes of a type are free.
// Reference   Jayaram Subramanya et al., Sia, SOSP 2023: the simulator's constants.
#pragma once

#include <vector>

#include "sim/elastic/elastic_simulation.h"
#include "sim/elastic/elastic_workload.h"

namespace fairlead::sim {

// Applications that it does not know, by name of the profile: restarts of 30 s, no slowdown.
void ApplySiaRules(std::vector<ElasticJobSpec>* jobs);
void ApplySiaRules(ElasticOptions* options);

}  // namespace fairlead::sim

// How reports name why a job lost time.
#pragma once

#include <string_view>

#include "sim/run_result.h"

namespace fairlead::report {

// "its own flows", "failed or weakened links": follows "lost … to".
std::string_view CausePhrase(sim::LossCause cause);

// A word or two, for a table: "other job", "own flows", "higher level", …
std::string_view CauseLabel(sim::LossCause cause);

}  // namespace fairlead::report

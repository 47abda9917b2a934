#include "sim/run_result.h"

namespace fairlead::sim {

std::string_view JobConditionName(JobCondition condition) {
  switch (condition) {
    case JobCondition::kNeverStarted:
      return "never_started";
    case JobCondition::kRan:
      return "ran";
    case JobCondition::kStalled:
      return "stalled";
    case JobCondition::kCutOff:
      break;
  }
  return "cut_off";
}

}  // namespace fairlead::sim

#include "sim/loss_cause.h"

namespace fairlead::sim {

std::string_view LossCauseName(LossCause cause) {
  switch (cause) {
    case LossCause::kJob:
      return "job";
    case LossCause::kSelf:
      return "self";
    case LossCause::kLevel:
      return "level";
    case LossCause::kCapacity:
      return "capacity";
    case LossCause::kRestart:
      return "restart";
    case LossCause::kProfiling:
      return "profiling";
    case LossCause::kBackground:
      return "background";
    case LossCause::kShift:
      return "shift";
    case LossCause::kReordering:
      return "reordering";
    case LossCause::kNotAttributed:
      break;
  }
  return "not_attributed";
}

}  // namespace fairlead::sim

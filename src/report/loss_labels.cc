#include "report/loss_labels.h"

#include "base/check.h"

namespace fairlead::report {

std::string_view CausePhrase(sim::LossCause cause) {
  switch (cause) {
    case sim::LossCause::kJob:
      return "jobs that share its links";
    case sim::LossCause::kSelf:
      return "its own flows, which are in each other's way";
    case sim::LossCause::kLevel:
      return "more important jobs";
    case sim::LossCause::kCapacity:
      return "failed or weakened links";
    case sim::LossCause::kRestart:
      return "restarts";
    case sim::LossCause::kProfiling:
      return "the profiling of jobs";
    case sim::LossCause::kBackground:
      return "checkpoints and traffic of inference";
    case sim::LossCause::kShift:
      return "waiting for its time shift";
    case sim::LossCause::kReordering:
      return "packets out of order";
    case sim::LossCause::kNotAttributed:
      return "what the run can't name";
  }
  FL_CHECK(false);
  return "";
}

std::string_view CauseLabel(sim::LossCause cause) {
  switch (cause) {
    case sim::LossCause::kJob:
      return "shares";
    case sim::LossCause::kSelf:
      return "self";
    case sim::LossCause::kLevel:
      return "yields";
    case sim::LossCause::kCapacity:
      return "capacity";
    case sim::LossCause::kRestart:
      return "restart";
    case sim::LossCause::kProfiling:
      return "profiling";
    case sim::LossCause::kBackground:
      return "background";
    case sim::LossCause::kShift:
      return "shift";
    case sim::LossCause::kReordering:
      return "reordering";
    case sim::LossCause::kNotAttributed:
      return "not named";
  }
  FL_CHECK(false);
  return "";
}

}  // namespace fairlead::report

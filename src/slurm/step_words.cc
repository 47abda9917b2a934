#include "slurm/step_words.h"

#include <fmt/format.h>

#include "slurm/host_list.h"

namespace fairlead::slurm {

std::string WordsOfStep(const StepOrder& order, const StepProgress& progress) {
  using Kind = StepProgress::Kind;
  if (progress.kind != Kind::kDone && progress.kind != Kind::kRefused) return "";
  std::string what;
  if (std::holds_alternative<controller::IsolateHost>(order.step)) what = fmt::format("{} is isolated", order.host);
  if (std::holds_alternative<controller::StopJob>(order.step)) what = "stopped, to be restarted on other hosts";
  if (std::holds_alternative<controller::RestartJob>(order.step)) {
    what = fmt::format("restarted on {}", CompressHosts(order.hosts));
  }
  if (what.empty()) return "";
  if (progress.kind == Kind::kRefused) return fmt::format("not done: {}: {}", what, progress.message);
  return order.reason.empty() ? what : fmt::format("{}: {}", what, order.reason);
}

}  // namespace fairlead::slurm

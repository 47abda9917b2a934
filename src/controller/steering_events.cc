#include "controller/steering_events.h"

#include <fmt/format.h>

#include <array>

namespace fairlead::controller {

namespace {

struct Describer {
  std::string operator()(const IsolateHost& step) const { return fmt::format("isolate host {}", step.host.value()); }
  std::string operator()(const StopJob& step) const { return fmt::format("stop job {}", step.job.value()); }
  std::string operator()(const TakeSpare& step) const {
    return fmt::format("take host {} for host {} of job {}", step.spare.value(), step.replaces.value(),
                       step.job.value());
  }
  std::string operator()(const RestartJob& step) const {
    return fmt::format("restart job {} on {} hosts from its newest complete checkpoint", step.job.value(),
                       step.hosts.size());
  }
  std::string operator()(const TestHost& step) const { return fmt::format("test host {}", step.host.value()); }
  std::string operator()(const ReturnHost& step) const { return fmt::format("return host {}", step.host.value()); }
  std::string operator()(const Advise& step) const {
    return fmt::format("advice about job {}: {}", step.job.value(), model::Name(step.action));
  }
  std::string operator()(const AskOperator& step) const {
    if (step.job.valid()) return fmt::format("an operator has to look at job {}", step.job.value());
    return fmt::format("an operator has to look at host {}", step.host.value());
  }
  std::string operator()(const ExcuseJob& step) const {
    if (step.until == SimTime::Never()) return fmt::format("job {} is not judged", step.job.value());
    return fmt::format("job {} is not judged until {:.0f} s", step.job.value(), step.until.seconds().value());
  }
};

}  // namespace

std::string_view Name(const SteeringStep& step) {
  static constexpr std::array<std::string_view, std::variant_size_v<SteeringStep>> kNames = {
      "isolate_host", "stop_job", "take_spare",   "restart_job", "test_host",
      "return_host",  "advise",   "ask_operator", "excuse_job"};
  return kNames.at(step.index());
}

std::string Describe(const SteeringStep& step) { return std::visit(Describer(), step); }

bool IsAnswered(const SteeringStep& step) {
  return !std::holds_alternative<Advise>(step) && !std::holds_alternative<AskOperator>(step) &&
         !std::holds_alternative<ExcuseJob>(step);
}

}  // namespace fairlead::controller

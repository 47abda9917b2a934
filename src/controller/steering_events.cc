#include "controller/steering_events.h"

#include <fmt/format.h>

#include <array>

namespace fairlead::controller {

namespace {

struct Describer {
  const SteeringNames& names;

  std::string operator()(const IsolateHost& step) const { return "isolate host " + names.Of(step.host); }
  std::string operator()(const StopJob& step) const { return "stop job " + names.Of(step.job); }
  std::string operator()(const TakeSpare& step) const {
    return fmt::format("take host {} for host {} of job {}", names.Of(step.spare), names.Of(step.replaces),
                       names.Of(step.job));
  }
  std::string operator()(const RestartJob& step) const {
    if (step.hosts.empty()) return fmt::format("restart job {} where its allocator puts it", names.Of(step.job));
    return fmt::format("restart job {} on {} hosts from its newest complete checkpoint", names.Of(step.job),
                       step.hosts.size());
  }
  std::string operator()(const TestHost& step) const { return "test host " + names.Of(step.host); }
  std::string operator()(const ReturnHost& step) const { return "return host " + names.Of(step.host); }
  std::string operator()(const Advise& step) const {
    return fmt::format("advice about job {}: {}", names.Of(step.job), model::Name(step.action));
  }
  std::string operator()(const AskOperator& step) const {
    if (step.job.valid()) return "an operator has to look at job " + names.Of(step.job);
    return "an operator has to look at host " + names.Of(step.host);
  }
  std::string operator()(const ExcuseJob& step) const {
    if (step.until == SimTime::Never()) return fmt::format("job {} is not judged", names.Of(step.job));
    return fmt::format("job {} is not judged until {:.0f} s", names.Of(step.job), step.until.seconds().value());
  }
};

template <class IdType>
std::string NameOf(IdType id, const std::function<std::string(IdType)>& look_up) {
  std::string name = look_up ? look_up(id) : "";
  return name.empty() ? std::to_string(id.value()) : name;
}

}  // namespace

std::string_view Name(const SteeringStep& step) {
  static constexpr std::array<std::string_view, std::variant_size_v<SteeringStep>> kNames = {
      "isolate_host", "stop_job", "take_spare",   "restart_job", "test_host",
      "return_host",  "advise",   "ask_operator", "excuse_job"};
  return kNames.at(step.index());
}

std::string SteeringNames::Of(HostId id) const { return NameOf(id, host); }

std::string SteeringNames::Of(JobId id) const { return NameOf(id, job); }

std::string Describe(const SteeringStep& step, const SteeringNames& names) {
  return std::visit(Describer{names}, step);
}

bool IsAnswered(const SteeringStep& step) {
  return !std::holds_alternative<Advise>(step) && !std::holds_alternative<AskOperator>(step) &&
         !std::holds_alternative<ExcuseJob>(step);
}

}  // namespace fairlead::controller

#include "cli/steering_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace fairlead::cli {
namespace {

using controller::SteeringMode;

SteeringMode ModeOf(const std::string& name) {
  for (const SteeringMode mode : {SteeringMode::kRecommend, SteeringMode::kAct}) {
    if (controller::Name(mode) == name) return mode;
  }
  return SteeringMode::kObserve;
}

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
}

void AddLimitOptions(CLI::App* command, SteeringCommandOptions* options) {
  command->add_option("--max-hosts-per-hour", options->max_hosts_per_job_hour, "Hosts of a job isolated in an hour")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  command
      ->add_option("--max-job-share", options->max_job_share, "Share of a job's hosts isolated in a day, at least one")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command
      ->add_option("--max-cluster-share", options->max_cluster_share,
                   "Share of all hosts isolated in a day, at least one")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--hold-off", options->hold_off_s, "Seconds after a restart in which a job is left alone")
      ->check(CLI::Range(0.0, 86'400.0))
      ->capture_default_str();
  command->add_option("--min-confidence", options->min_confidence, "Findings of less are not acted upon")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
}

}  // namespace

void AddSteeringOptions(CLI::App* command, SteeringCommandOptions* options) {
  command
      ->add_option("--steer", options->mode,
                   "What is done about findings: observe tells them, recommend says what it would do, act does it")
      ->check(CLI::IsMember({"observe", "recommend", "act"}))
      ->capture_default_str();
  command
      ->add_option("--hook", options->hook,
                   "Program with arguments that carries actions out: JSON on its input, exit code back")
      ->type_name("COMMAND");
  command->add_option("--hook-deadline", options->hook_deadline_s, "Seconds after which it is ended")
      ->check(CLI::Range(0.1, 86'400.0))
      ->capture_default_str();
  command
      ->add_option("--hook-long-deadline", options->hook_long_deadline_s,
                   "The same where it restarts a job or tests a host")
      ->check(CLI::Range(0.1, 86'400.0))
      ->capture_default_str();
  command->add_option("--spare", options->spares, "Host that may take the place of another; repeatable")
      ->type_name("HOST");
  AddLimitOptions(command, options);
  command
      ->add_option("--health-events", options->health_events,
                   "Tell a receiver of NVSentinel's health events: unix:PATH or HOST:PORT")
      ->type_name("ADDRESS");
  command->add_flag("--health-events-act", options->health_events_act,
                    "It may drain and restart hosts by them; otherwise it is asked to keep them only");
}

Result<service::LiveActionsOptions> ToLiveActionsOptions(const SteeringCommandOptions& options,
                                                         bool is_insecure_allowed) {
  service::LiveActionsOptions actions;
  controller::SteeringOptions& steering = actions.steering.steering;
  steering.mode = ModeOf(options.mode);
  steering.max_hosts_per_job_hour = options.max_hosts_per_job_hour;
  steering.max_job_share_per_day = options.max_job_share;
  steering.max_cluster_share_per_day = options.max_cluster_share;
  steering.hold_off = SimDuration::FromSeconds(Seconds(options.hold_off_s));
  steering.min_confidence = options.min_confidence;
  service::HookWorkersOptions& hook = actions.steering.hook;
  hook.command = CLI::detail::split_up(options.hook);
  if (hook.command.empty() && !options.hook.empty()) return InvalidArgument("--hook: expected a program");
  hook.deadline = Milliseconds(options.hook_deadline_s);
  hook.long_deadline = Milliseconds(options.hook_long_deadline_s);
  // Programs may wait for one another a little: an attempt is given up well after its program is.
  const auto at_least = [](SimDuration usual, double deadline_s) {
    return std::max(usual, SimDuration::FromSeconds(Seconds(2 * deadline_s)));
  };
  steering.attempts.deadline = at_least(steering.attempts.deadline, options.hook_deadline_s);
  steering.attempts.restart_deadline = at_least(steering.attempts.restart_deadline, options.hook_long_deadline_s);
  steering.attempts.test_deadline = at_least(steering.attempts.test_deadline, options.hook_long_deadline_s);
  actions.steering.spares = options.spares;
  actions.health_receiver.address = options.health_events;
  actions.health_receiver.is_insecure_allowed = is_insecure_allowed;
  actions.health.may_be_acted_upon = options.health_events_act;
  return actions;
}

}  // namespace fairlead::cli

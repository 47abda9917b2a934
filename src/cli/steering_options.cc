#include "cli/steering_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/named_choice.h"

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
  command
      ->add_option("--max-hosts-per-hour", options->max_hosts_per_job_hour, "Most hosts of one job isolated in an hour")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  command
      ->add_option("--max-job-share", options->max_job_share,
                   "Largest share of a job's hosts isolated in a day; at least one host")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command
      ->add_option("--max-cluster-share", options->max_cluster_share,
                   "Largest share of all hosts isolated in a day; at least one host")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--hold-off", options->hold_off_s, "Seconds after a restart during which a job is left alone")
      ->check(CLI::Range(0.0, 86'400.0))
      ->capture_default_str();
  command->add_option("--min-confidence", options->min_confidence, "Minimum confidence of a finding to act on")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
}

constexpr std::string_view kTestByChecks = "checks";

void AddTestOptions(CLI::App* command, SteeringCommandOptions* options) {
  command
      ->add_option(
          "--test-hosts", options->test_hosts,
          "Who tests isolated hosts: backend is the hook or the scheduler, checks are the controller's own, as "
          "of check-node")
      ->check(OneOf({"backend", std::string(kTestByChecks)}))
      ->capture_default_str();
  command
      ->add_option("--test-passes", options->test_passes,
                   "Checks in a row that a host passes before it returns, with --test-hosts checks")
      ->check(CLI::Range(1, 10))
      ->capture_default_str();
  command->add_option("--test-pause", options->test_pause_s, "Seconds from one of these checks to the next")
      ->check(CLI::Range(0.0, 604'800.0))
      ->capture_default_str();
  command->add_option("--test-burn-in", options->test_burn_in_s, "Seconds of burn-in in each of them")
      ->check(CLI::Range(0.0, 600.0))
      ->capture_default_str();
}

}  // namespace

void AddSteeringOptions(CLI::App* command, SteeringCommandOptions* options) {
  command
      ->add_option(
          "--steer", options->mode,
          "What to do about findings: observe reports them, recommend also proposes actions, act carries them out")
      ->check(OneOf({"observe", "recommend", "act"}))
      ->capture_default_str();
  command
      ->add_option("--hook", options->hook,
                   "Program that carries out actions: JSON on its standard input, result as exit code")
      ->type_name("COMMAND");
  command->add_option("--hook-deadline", options->hook_deadline_s, "Seconds after which the hook is killed")
      ->check(CLI::Range(0.1, 86'400.0))
      ->capture_default_str();
  command
      ->add_option("--hook-long-deadline", options->hook_long_deadline_s,
                   "The same for restarting a job or testing a host")
      ->check(CLI::Range(0.1, 86'400.0))
      ->capture_default_str();
  command->add_option("--spare", options->spares, "Spare host that may replace another")->type_name("HOST");
  AddTestOptions(command, options);
  AddLimitOptions(command, options);
  command
      ->add_option("--health-events", options->health_events, "Send NVSentinel health events to unix:PATH or HOST:PORT")
      ->type_name("ADDRESS");
  command->add_flag("--health-events-act", options->health_events_act,
                    "Let NVSentinel drain and restart hosts on these events; default: events are for the record only");
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
  if (options.test_hosts == kTestByChecks) {
    controller::CheckedReturnOptions& checks = actions.steering.checked_return.emplace();
    checks.passes = options.test_passes;
    checks.pause = SimDuration::FromSeconds(Seconds(options.test_pause_s));
    checks.burn_in = SimDuration::FromSeconds(Seconds(options.test_burn_in_s));
    steering.attempts.test_deadline =
        std::max(steering.attempts.test_deadline, checks.LongestTest() + SimDuration(60'000'000'000));
  }
  actions.steering.spares = options.spares;
  actions.health_receiver.address = options.health_events;
  actions.health_receiver.is_insecure_allowed = is_insecure_allowed;
  actions.health.may_be_acted_upon = options.health_events_act;
  return actions;
}

}  // namespace fairlead::cli

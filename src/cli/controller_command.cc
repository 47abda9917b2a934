// fairlead controller: gives the connections of running jobs their paths and levels.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>

#include "base/descriptor_limit.h"
#include "cli/command.h"
#include "cli/daemon_config.h"
#include "cli/named_choice.h"
#include "cli/slurm_options.h"
#include "cli/steering_options.h"
#include "service/controller/controller_daemon.h"
#include "service/service_notifier.h"
#include "traffic/live_policy.h"
#include "version.h"

namespace fairlead::cli {
namespace {

struct ControllerCommandOptions {
  service::ControllerDaemonOptions daemon;
  double heartbeat_s = 5;
  double lease_s = 60;
  double probe_s = 5;
  double rtt_tolerance_ms = 1;
  SteeringCommandOptions steering;
  SlurmCommandOptions slurm;
  std::string log_level = "info";
};

void StartLog(const std::string& level) {
  auto log = spdlog::stderr_logger_mt("controller");
  log->set_level(spdlog::level::from_str(level));
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l: %v");
  spdlog::set_default_logger(std::move(log));
}

int RunController(const ControllerCommandOptions& options) {
  const std::atomic<bool>& stop = StopRequested();
  // Sockets whose other end is gone show it by errors.
  std::signal(SIGPIPE, SIG_IGN);
  StartLog(options.log_level);
  spdlog::info("{}", DescribeRaisedDescriptorLimit());
  service::ControllerDaemonOptions daemon_options = options.daemon;
  daemon_options.fabric_file = FindInputFile(options.daemon.fabric_file);
  daemon_options.core.version = kVersion;
  daemon_options.core.heartbeat_period = SimDuration::FromSeconds(Seconds(options.heartbeat_s));
  daemon_options.core.lease_ttl = SimDuration::FromSeconds(Seconds(options.lease_s));
  daemon_options.paths.probe_period = SimDuration::FromSeconds(Seconds(options.probe_s));
  daemon_options.paths.health.min_rtt_excess = Seconds(options.rtt_tolerance_ms * 1e-3);
  auto actions = ToLiveActionsOptions(options.steering, daemon_options.server.is_insecure_allowed);
  if (!actions.ok()) return ReportError(actions.status());
  daemon_options.actions = std::move(actions).value();
  auto engine = ToSchedulerEngine(options.slurm);
  if (!engine.ok()) return ReportError(engine.status());
  daemon_options.start_engine = std::move(engine).value();
  service::ServiceNotifier notifier = service::ServiceNotifier::FromEnvironment();
  auto daemon = service::ControllerDaemon::Start(daemon_options);
  if (!daemon.ok()) return ReportError(daemon.status());
  for (const std::string& address : (*daemon)->addresses()) {
    const bool is_plain = !daemon_options.server.tls.is_set();
    spdlog::info("listening to agents on {}{}", address, is_plain ? ", plaintext" : "");
  }
  if (!(*daemon)->http_address().empty()) spdlog::info("page and metrics on http://{}/", (*daemon)->http_address());
  if (daemon_options.server.is_insecure_allowed && !daemon_options.server.tls.is_set()) {
    spdlog::warn("--insecure: anyone who reaches these addresses can impersonate any host");
  }
  spdlog::info("findings: mode {}{}", options.steering.mode,
               !options.slurm.engine.empty()   ? ", carried out by Slurm"
               : options.steering.hook.empty() ? ""
                                               : ", carried out by " + options.steering.hook);
  if (options.steering.mode == "act" && daemon_options.audit_file.empty()) {
    spdlog::warn("--steer act without --audit: actions are recorded in this log only");
  }
  if (daemon_options.store == "memory") spdlog::warn("--store memory: all is forgotten when this process ends");
  notifier.Ready();
  while (!stop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    (*daemon)->LogChanges();
    if (!notifier.has_watchdog()) continue;
    (*daemon)->WaitUntilAlive();
    notifier.Beat(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
  }
  notifier.Stopping();
  spdlog::info("stopping");
  return kExitOk;
}

void AddAgentOptions(CLI::App* command, ControllerCommandOptions* options) {
  auto& server = options->daemon.server;
  command->add_option("--listen", server.listen, "Address that agents connect to: unix:PATH or HOST:PORT")
      ->required()
      ->type_name("ADDRESS");
  command->add_option("--tls-ca", server.tls.ca, "CA certificates that agents' certificates are signed by")
      ->type_name("FILE");
  command->add_option("--tls-certificate,--tls-cert", server.tls.certificate, "Certificate of this controller")
      ->type_name("FILE");
  command->add_option("--tls-key", server.tls.key, "Its private key")->type_name("FILE");
  command
      ->add_option("--tls-revoked", server.tls.revoked,
                   "List of certificates not accepted any more (fairlead cert revoke)")
      ->type_name("FILE");
  command->add_flag("--insecure", server.is_insecure_allowed,
                    "Allow plaintext from other machines: anyone on the network can then impersonate any host");
  command->add_option("--heartbeat", options->heartbeat_s, "Seconds between heartbeats of an agent")
      ->check(CLI::Range(0.05, 3600.0))
      ->capture_default_str();
  command
      ->add_option("--lease", options->lease_s, "Seconds without a heartbeat after which a host's paths are released")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  command->add_option("--probe-period", options->probe_s, "Seconds between probe rounds over all links")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command
      ->add_option("--rtt-tolerance-ms", options->rtt_tolerance_ms,
                   "Milliseconds of extra probe delay before a link counts as degraded")
      ->check(CLI::Range(0.0, 60'000.0))
      ->capture_default_str();
}

void AddHttpOptions(CLI::App* command, ControllerCommandOptions* options) {
  auto& daemon = options->daemon;
  command->add_option("--http", daemon.http, "Serve the web page, JSON and metrics here; default: no HTTP")
      ->type_name("HOST:PORT");
  command
      ->add_option("--http-read-token-file", daemon.http_roles.read_token_file,
                   "Require the token in FILE for reading; default: reading from this machine only")
      ->type_name("FILE");
  command
      ->add_option("--http-operator-token-file", daemon.http_roles.operator_token_file,
                   "Tokens in FILE that allow changes, one in each line: NAME: TOKEN")
      ->type_name("FILE");
  command
      ->add_option("--http-host", daemon.http_roles.host_names,
                   "Name by which a gateway on loopback may be called, such as that of a proxy; default: its addresses")
      ->type_name("NAME");
  command->add_flag("--http-operator-open", daemon.http_roles.is_operator_open,
                    "Allow changes from this machine without a token");
  command
      ->add_option("--job-owners", daemon.job_owners_file,
                   "Map of users to the names of jobs that may be stopped and restarted; only its owner may write it")
      ->type_name("FILE");
  command
      ->add_option("--audit", daemon.audit_file,
                   "Append every action of operators and steering to FILE, one line of JSON each")
      ->type_name("FILE");
  command
      ->add_option("--record", daemon.recordings.folder,
                   "Keep the telemetry of jobs in FOLDER, for `fairlead diag analyze`")
      ->type_name("FOLDER");
  command
      ->add_option("--record-space", daemon.recordings.bytes_max,
                   "Space for telemetry, such as 500MB or 20GB; the oldest goes first")
      ->transform(CLI::AsSizeValue(true).description(""))
      ->type_name("SIZE")
      ->default_str("1GB");
  command
      ->add_option("--otlp", daemon.otlp.url,
                   "Send a trace of each incident that is over to a collector of OpenTelemetry, such as "
                   "http://collector:4318/v1/traces (OTLP/HTTP, JSON)")
      ->type_name("URL");
  command
      ->add_option("--otlp-ca", daemon.otlp.ca, "CA certificates of an https collector; default: those of the system")
      ->type_name("FILE")
      ->needs("--otlp");
}

}  // namespace

void AddControllerCommand(CLI::App& app, Invocation* invocation) {
  auto options = std::make_shared<ControllerCommandOptions>();
  CLI::App* command = app.add_subcommand("controller",
                                         "Run the cluster's controller: assign paths and priorities to the connections "
                                         "of running jobs, and diagnose faults.");
  auto& daemon = options->daemon;
  command->add_option("--fabric", daemon.fabric_file, "The fabric, as a YAML file")->required()->type_name("FILE");
  command->add_option("--addresses", daemon.addresses_file, "Addresses of its NICs and routers, as a JSON file")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--store", daemon.store, "Where state is kept over restarts: sqlite:PATH, or memory (lost on exit)")
      ->capture_default_str();
  command->add_flag("--restore", daemon.restore_copy,
                    "If the store is damaged, continue from its last good copy and keep the damaged file");
  command
      ->add_option(
          "--policy", daemon.policy,
          "Traffic policy for running jobs: ecmp (no control), c4p (paths), crux-levels (priorities), crux+c4p (both)")
      ->check(OneOf(traffic::LivePolicyNames()))
      ->capture_default_str();
  AddAgentOptions(command, options.get());
  AddHttpOptions(command, options.get());
  AddSteeringOptions(command, &options->steering);
  AddSlurmOptions(command, &options->slurm);
  command->add_option("--log-level", options->log_level, "Log level")
      ->check(OneOf({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  command->footer(
      "Example: fairlead controller --fabric fabric.yaml --addresses addresses.json --store sqlite:fairlead.db\n       "
      "    --listen unix:/run/fairlead.sock --http 127.0.0.1:8080\nRuns until SIGTERM or Ctrl-C. After a crash or kill "
      "-9 it resumes from its store.");
  AddDaemonConfig(command, "FAIRLEAD_CONTROLLER");
  command->callback([options, invocation] { invocation->exit_code = RunController(*options); });
}

}  // namespace fairlead::cli

// fairlead agent run: the agent of a host.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor_limit.h"
#include "cli/command.h"
#include "cli/daemon_config.h"
#include "cli/named_choice.h"
#include "report/json_value.h"
#include "report/printable_text.h"
#include "service/agent/dcgm_source.h"
#include "service/agent/gpu_counter_files.h"
#include "service/agent/gpu_meter.h"
#include "service/agent/host_agent_server.h"
#include "service/agent/nvml.h"
#include "service/agent/symptom_watch.h"
#include "service/service_notifier.h"
#include "service/streams/certificate_watch.h"
#include "service/streams/client_link.h"
#include "service/streams/controller_client.h"
#include "version.h"

namespace fairlead::cli {

namespace {

struct AgentRunOptions {
  std::string host;
  std::vector<std::string> nics;
  service::ControllerClientOptions client;
  service::HostAgentServerOptions server;
  uint32_t answer_deadline_ms = 15;
  double window_s = 10;
  bool keeps_ports = false;
  std::string gpu_counters;  // folder; empty: none
  std::string gpu_meter = "auto";
  bool ignores_symptoms = false;
  std::string dcgm;
  std::string burn_in;  // program; empty: none
  std::string json;
};

// NVML where this host has GPUs: one without is none that has lost its driver.
Result<std::shared_ptr<const service::nvml::Library>> LoadNvml(const AgentRunOptions& options,
                                                               const service::HostAgentServerOptions& server) {
  const std::shared_ptr<const service::nvml::Library> kNone;
  if (options.gpu_meter == "none") return kNone;
  auto nvml = service::nvml::Library::Load();
  if (nvml.ok()) return nvml;
  if (options.gpu_meter == "nvml") {
    return Status(StatusCode::kFailedPrecondition, fmt::format("--gpu-meter nvml: {}", nvml.status().message()));
  }
  if (nvml.status().code() != StatusCode::kNotFound) {
    server.log(fmt::format("GPUs are not looked at: {}", nvml.status().message()));
  }
  return kNone;
}

// Newer texts of the exporter, for one reader; empty: there is none.
using TakeDcgm = std::function<std::string()>;

TakeDcgm ReaderOf(const std::shared_ptr<const service::DcgmSource>& source) {
  if (source == nullptr) return {};
  return [source, seen = std::make_shared<uint64_t>(0)] { return source->TakeNewer(seen.get()); };
}

Result<std::shared_ptr<const service::DcgmSource>> StartDcgm(const AgentRunOptions& options) {
  if (options.dcgm.empty()) return std::shared_ptr<const service::DcgmSource>();
  auto started = service::DcgmSource::Start(options.dcgm);
  if (!started.ok()) return InvalidArgument("--dcgm: " + started.status().message());
  return std::shared_ptr<const service::DcgmSource>(std::move(*started));
}

Status MeasureGpus(const AgentRunOptions& options, const std::shared_ptr<const service::nvml::Library>& nvml,
                   TakeDcgm take_dcgm, service::HostAgentServerOptions* server) {
  if (!options.gpu_counters.empty()) {
    server->read_gpus = [folder = options.gpu_counters](service::JobIdentifier* jobs, SimTime at) {
      return service::ReadGpuCounters(folder, jobs, at);
    };
    return OkStatus();
  }
  if (nvml == nullptr) return OkStatus();
  service::GpuMeterOptions of_meter;
  of_meter.take_dcgm = std::move(take_dcgm);
  auto started = service::GpuMeter::Start(nvml, of_meter);
  if (!started.ok()) {
    if (options.gpu_meter == "nvml") return started.status();
    server->log(fmt::format("jobs have no level by GPU intensity: {}", started.status().message()));
    return OkStatus();
  }
  server->log((*started)->Describe());
  server->read_gpus = [meter = std::shared_ptr(std::move(*started))](service::JobIdentifier* jobs, SimTime at) {
    return Result<std::vector<agent::GpuSums>>(meter->Read(jobs, at));
  };
  return OkStatus();
}

void WatchSymptoms(const AgentRunOptions& options, const std::shared_ptr<const service::nvml::Library>& nvml,
                   const std::shared_ptr<const service::DcgmSource>& dcgm, service::HostAgentServerOptions* server) {
  if (options.ignores_symptoms) return;
  service::SymptomWatchOptions of_watch{.nvml = nvml};
  if (dcgm != nullptr) {
    of_watch.take_dcgm = [dcgm, take = ReaderOf(dcgm), log = server->log, was_ok = std::make_shared<bool>(true)] {
      const Status status = dcgm->status();
      if (std::exchange(*was_ok, status.ok()) && !status.ok()) log("DCGM's metrics are missing: " + status.message());
      return take();
    };
  }
  auto watch = std::make_shared<service::SymptomWatch>(of_watch);
  if (!watch->kernel_log_status().ok()) {
    server->log(fmt::format("device errors are not seen: {}", watch->kernel_log_status().message()));
  }
  server->read_symptoms = [watch] { return watch->Look(); };
}

Result<std::vector<IpAddress>> ReadNics(const std::vector<std::string>& texts) {
  if (texts.size() == 1 && texts.front() == "auto") {
    std::vector<IpAddress> addresses = service::ListNicAddresses();
    if (addresses.empty()) return InvalidArgument("--nic auto: no interface of this host is up and has an address");
    return addresses;
  }
  std::vector<IpAddress> addresses;
  for (const std::string& text : texts) {
    FL_ASSIGN_OR_RETURN(addresses.emplace_back(), ParseIpAddress(text));
  }
  return addresses;
}

// Numbers of connections must differ over restarts and hosts, so the kernel draws.
uint64_t DrawSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

// What jobs have computed, as far as their processes still run.
nlohmann::ordered_json GpuWorkJson(const service::HostAgentServerOptions& server) {
  auto jobs = nlohmann::ordered_json::array();
  if (!server.read_gpus) return jobs;
  service::JobIdentifier identifier;
  const auto sums = server.read_gpus(&identifier, SimTime());
  if (!sums.ok()) return jobs;
  for (const agent::GpuSums& job : *sums) {
    jobs.push_back(
        {{"job", job.job}, {"gpus", job.num_gpus}, {"flop", job.flop.value()}, {"busy_s", job.busy.value()}});
  }
  return jobs;
}

Status WriteCounts(const AgentRunOptions& options, const service::HostAgentServerOptions& server,
                   const service::HostAgentCounts& counts) {
  const nlohmann::ordered_json json = {{"host", options.host},
                                       {"questions", counts.num_questions},
                                       {"steered", counts.num_steered},
                                       {"class_only", counts.num_classed},
                                       {"left_alone", counts.num_left},
                                       {"moves", counts.num_moves},
                                       {"probe_orders", counts.num_orders},
                                       {"rejected", counts.num_rejected},
                                       {"gpu_work", GpuWorkJson(server)}};
  return WriteOutput(options.json, json.dump(2) + "\n");
}

Status Run(AgentRunOptions options) {
  if (!options.json.empty()) FL_RETURN_IF_ERROR(PrepareOutputFolder(options.json));
  if (!options.server.state_path.empty()) FL_RETURN_IF_ERROR(PrepareOutputFolder(options.server.state_path));
  if (!options.server.health_path.empty()) FL_RETURN_IF_ERROR(PrepareOutputFolder(options.server.health_path));
  service::HostAgentServerOptions& server = options.server;
  FL_ASSIGN_OR_RETURN(server.agent.nics, ReadNics(options.nics));
  server.agent.host = options.host;
  server.agent.version = kVersion;
  server.agent.answer_deadline = SimDuration(int64_t{options.answer_deadline_ms} * 1'000'000);
  server.agent.meter.bin = server.sample_period;
  server.agent.meter.window = SimDuration::FromSeconds(Seconds(options.window_s));
  server.agent.random_seed = DrawSeed();
  server.rewrites_ports = !options.keeps_ports;
  server.log = [host = options.host](const std::string& text) {
    fmt::print(stderr, "fairlead agent {}: {}\n", host, report::CleanText(text));
  };
  if (!options.burn_in.empty()) server.burn_in = {options.burn_in};
  server.log(DescribeRaisedDescriptorLimit());
  FL_ASSIGN_OR_RETURN(const auto nvml, LoadNvml(options, server));
  FL_ASSIGN_OR_RETURN(const auto dcgm, StartDcgm(options));
  FL_RETURN_IF_ERROR(MeasureGpus(options, nvml, ReaderOf(dcgm), &server));
  WatchSymptoms(options, nvml, dcgm, &server);
  options.client.random_seed = DrawSeed();
  const std::atomic<bool>& stop = StopRequested();
  service::ServiceNotifier notifier = service::ServiceNotifier::FromEnvironment();
  service::CertificateWatch certificate(options.client.tls);
  server.alive = [&] {
    notifier.Beat(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
    if (const auto warning = certificate.Look(std::time(nullptr))) server.log(*warning);
  };
  FL_ASSIGN_OR_RETURN(auto client, service::ControllerClient::Start(options.client));
  service::ClientLink link(std::move(client));
  FL_ASSIGN_OR_RETURN(const auto agent, service::HostAgentServer::Open(server, &link));
  server.log(fmt::format("listens at {}, asks {}", server.socket.path, options.client.address));
  notifier.Ready();
  agent->Run(stop);
  notifier.Stopping();
  return options.json.empty() ? OkStatus() : WriteCounts(options, server, agent->counts());
}

}  // namespace

void AddAgentRunCommand(CLI::App* agent, Invocation* invocation) {
  auto options = std::make_shared<AgentRunOptions>();
  options->server.socket.path = "/run/fairlead/agent.sock";
  CLI::App* run = agent->add_subcommand(
      "run", "Run the agent of this host: assign paths to its training processes, probe paths, move connections.");
  run->add_option("--controller", options->client.address, "Address of the controller: HOST:PORT or unix:PATH")
      ->required()
      ->type_name("ADDRESS");
  run->add_option("--host", options->host, "Name of this host in the fabric file")->required()->type_name("NAME");
  run->add_option("--nic", options->nics, "Address of a training NIC, once for each; auto: all interfaces that are up")
      ->default_val(std::vector<std::string>{"auto"})
      ->type_name("ADDRESS");
  run->add_option("--socket", options->server.socket.path, "Socket for training processes")
      ->type_name("PATH")
      ->capture_default_str();
  run->add_option("--group", options->server.socket.group,
                  "Group allowed to use the socket; default: every user of this host")
      ->type_name("GROUP");
  run->add_option("--state", options->server.state_path, "File in which the agent keeps its state over restarts")
      ->type_name("FILE");
  run->add_option(
         "--gpu-meter", options->gpu_meter,
         "How the work of jobs on GPUs is measured: nvml (with --dcgm where GPUs have no counters); none; auto: "
         "nvml where this host has GPUs")
      ->check(OneOf({"auto", "nvml", "none"}))
      ->capture_default_str();
  run->add_flag("--no-symptoms", options->ignores_symptoms,
                "Do not read this host's kernel log and the state of its GPUs and NICs");
  run->add_option("--dcgm", options->dcgm,
                  "DCGM exporter of this host, for errors of GPUs, and for the work of those without counters of their "
                  "own: its file, or http://127.0.0.1:9400/metrics")
      ->type_name("SOURCE");
  run->add_option("--burn-in", options->burn_in,
                  "Program that tests this host's GPUs for a number of seconds, its argument, and prints a score last "
                  "(check-node --burn-in)")
      ->type_name("PROGRAM");
  run->add_option("--gpu-counters", options->gpu_counters, "Folder with counters of emulated GPUs (labs)")
      ->type_name("FOLDER");
  run->add_option("--segments", options->server.segments,
                  "Folder with the shared-memory segments of the profiler plugin; empty: watch none")
      ->type_name("FOLDER")
      ->default_val("/dev/shm");
  run->add_option("--health-file", options->server.health_path,
                  "File to which findings about this host are written, for `agent check`")
      ->type_name("FILE");
  run->add_option("--answer-deadline-ms", options->answer_deadline_ms,
                  "Longest time a process waits for its port, in milliseconds")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  run->add_option("--probes-per-second", options->server.agent.probes.probes_per_second, "Most probes sent per second")
      ->check(CLI::Range(1.0, 1e9))
      ->capture_default_str();
  run->add_option("--window-s", options->window_s, "Seconds over which jobs are measured")
      ->check(CLI::Range(1.0, 600.0))
      ->capture_default_str();
  run->add_flag("--keep-ports", options->keeps_ports,
                "Never rewrite ports; established connections then cannot be moved");
  run->add_option("--tls-ca", options->client.tls.ca, "Certificate of the cluster's authority")->type_name("FILE");
  run->add_option("--tls-certificate,--tls-cert", options->client.tls.certificate, "Certificate of this host")
      ->type_name("FILE");
  run->add_option("--tls-key", options->client.tls.key, "Its key")->type_name("FILE");
  run->add_option("--tls-revoked", options->client.tls.revoked,
                  "List of certificates not accepted any more (fairlead cert revoke); a controller on it is left")
      ->type_name("FILE");
  run->add_option("--controller-name", options->client.controller_name, "Name in the controller's certificate")
      ->type_name("NAME");
  run->add_flag("--insecure", options->client.is_insecure_allowed,
                "Allow plaintext to a controller on another machine");
  run->add_option("--json", options->json, "On exit, write a summary as JSON to FILE; - prints it")->type_name("FILE");
  run->footer(
      "Example: fairlead agent run --controller 10.1.0.9:7070 --host h0 --nic 10.0.0.1 --state "
      "/var/lib/fairlead/agent");
  AddDaemonConfig(run, "FAIRLEAD_AGENT");
  run->callback([options, invocation] {
    const Status status = Run(*options);
    invocation->exit_code = status.ok() ? kExitOk : ReportError(status);
  });
}

}  // namespace fairlead::cli

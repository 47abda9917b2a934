#include "service/controller/controller_daemon.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include "base/file_reader.h"
#include "diagnosis/c4d/c4d_diagnosis.h"
#include "service/controller/controller_metrics.h"
#include "service/controller/controller_store.h"
#include "service/controller/event_list.h"
#include "service/controller/finding_json.h"
#include "service/controller/host_routes.h"
#include "service/controller/incident_traces.h"
#include "service/controller/job_owner_file.h"
#include "service/controller/job_trace.h"
#include "service/controller/kept_history.h"
#include "service/controller/link_routes.h"
#include "service/controller/list_watch.h"
#include "service/controller/node_check_routes.h"
#include "service/controller/topology_routes.h"
#include "service/controller/traffic_json.h"
#include "service/http/http_gateway.h"
#include "service/steering/audit_log.h"
#include "service/streams/certificate_watch.h"
#include "service/streams/controller_loop.h"
#include "service/streams/endpoint.h"
#include "store/locked_store.h"
#include "topology/address_book.h"
#include "topology/fabric_yaml.h"
#include "topology/place_names.h"
#include "traffic/c4p/c4p_master.h"
#include "traffic/live_policy.h"

namespace fairlead::service {
namespace {

constexpr SimDuration kNewsPeriod = SimDuration(2'000'000'000);

Result<topology::AddressBook> LoadAddresses(const std::string& path, const topology::Fabric& fabric) {
  const Result<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return Status(text.status().code(), "--addresses: " + text.status().message());
  return topology::ReadAddressBook(*text, path, fabric);
}

}  // namespace

// In the order in which they need one another; taken down from the end.
//
// Size        its members are the daemon's parts, each with a state of its own, and the locks between their threads.
class ControllerDaemon::Parts {
 public:
  Parts(const ControllerDaemonOptions& options, topology::Fabric fabric)
      : options_(options), fabric_(std::move(fabric)), certificate_(options.server.tls) {}
  ~Parts();

  Status Begin();
  std::vector<std::string> addresses() const { return server_->addresses(); }
  std::string http_address() const { return gateway_ == nullptr ? "" : gateway_->address(); }
  void LogChanges();
  void WaitUntilAlive() {
    loop_->Ask([] {});
    diagnosis_->Ask([](const controller::JobWatch&) { return 0; });
  }

 private:
  std::vector<std::string> HostNames() const;
  Status BuildCore();
  Status BuildEngine();
  Status BuildActions();
  Status BuildDiagnosis();
  void Watch(controller::WatchInput&& input);
  Status BuildGateway();
  GatewaySource MakeSource();
  void Note(SimTime time, const controller::Noted& note);
  void LookAtCluster(SimTime now);
  Result<Json> TraceOf(const std::string& job);
  void WatchLists(const GatewaySource& source);
  HostSource MakeHostSource();
  NetworkSource MakeNetworkSource();
  NodeCheckSource MakeCheckSource();
  controller::HostCheckSource MakeHostChecks();
  uint64_t BeginCheck(controller::NodeCheckRequest request);
  std::string Metrics();
  void LookAtCertificate();
  Status BuildIncidents(std::unique_ptr<OtlpHttp> collector);
  // Writes a line where there is a file for it. Errors: it can't be written.
  Status Audit(const Json& line);
  Status ReportLink(const std::string& name, double health, bool both_directions, const std::string& who);
  // What `look` makes of the core, between two batches.
  template <class Look>
  auto Ask(const Look& look) {
    std::optional<decltype(look(*core_))> answer;
    loop_->Ask([&] { answer = look(*core_); });
    return *std::move(answer);
  }

  const ControllerDaemonOptions options_;
  const topology::Fabric fabric_;
  topology::AddressBook addresses_;
  std::unique_ptr<store::Store> store_;
  std::optional<traffic::c4p::C4pMaster> paths_;
  std::unique_ptr<traffic::TrafficPolicy> policy_;
  std::optional<controller::TrafficController> core_;
  EventList events_;
  std::mutex audit_mutex_;
  std::optional<AuditLog> audit_;
  std::unique_ptr<ControllerServer> server_;
  std::unique_ptr<ControllerLoop> loop_;
  std::unique_ptr<SchedulerEngine> engine_;  // none: null
  std::unique_ptr<LiveActions> actions_;
  // It and the loop use each other: the one that starts first or ends last finds nothing here.
  std::mutex diagnosis_mutex_;
  std::unique_ptr<DiagnosisLoop> diagnosis_;
  std::mutex certificate_mutex_;
  CertificateWatch certificate_;
  KeptHistory history_{fabric_};
  std::unique_ptr<IncidentTraces> incidents_;  // no collector: null
  std::unique_ptr<HttpGateway> gateway_;
  std::optional<ListWatch> list_watch_;
  Status logged_store_status_;
  std::atomic<uint64_t> num_checks_ = 0;
};

Status ControllerDaemon::Parts::BuildCore() {
  FL_ASSIGN_OR_RETURN(addresses_, LoadAddresses(options_.addresses_file, fabric_));
  FL_RETURN_IF_ERROR(options_.core.Validate());
  FL_ASSIGN_OR_RETURN(const traffic::LivePolicy live, traffic::FindLivePolicy(options_.policy));
  policy_ = traffic::CreateLevelPolicy(live);
  FL_ASSIGN_OR_RETURN(auto store, OpenControllerStore(options_.store, options_.restore_copy));
  store_ = std::make_unique<store::LockedStore>(std::move(store));
  FL_ASSIGN_OR_RETURN(const uint32_t starts, CountStart(store_.get()));
  traffic::c4p::C4pOptions paths = options_.paths;
  paths.lease_ttl = options_.core.lease_ttl;
  paths.epoch_base = uint64_t{starts} << 32;
  paths.chooses_paths = live.chooses_paths;
  FL_RETURN_IF_ERROR(paths.Validate());
  paths_.emplace(fabric_, paths);
  controller::TrafficControllerOptions core = options_.core;
  core.sets_levels = live.sets_levels;
  core_.emplace(fabric_, addresses_, *paths_, *policy_, core);
  FL_ASSIGN_OR_RETURN(const auto records, LoadRecords(*store_));
  return core_->Restore(records);
}

Status ControllerDaemon::Parts::Begin() {
  std::unique_ptr<OtlpHttp> collector;
  if (!options_.otlp.url.empty()) {
    FL_ASSIGN_OR_RETURN(collector, OtlpHttp::Open(options_.otlp));
  }
  FL_RETURN_IF_ERROR(BuildCore());
  if (!options_.audit_file.empty()) {
    FL_ASSIGN_OR_RETURN(audit_, AuditLog::Open(options_.audit_file));
  }
  FL_ASSIGN_OR_RETURN(server_, ControllerServer::Start(options_.server));
  loop_ = std::make_unique<ControllerLoop>(
      ControllerLoopOptions{},
      [this](SimTime clock, std::span<const controller::TrafficInput> inputs) { return core_->Handle(clock, inputs); },
      [this](SimTime clock, const controller::Noted& note) { Note(clock, note); }, *store_, *server_,
      [this](controller::WatchInput&& input) { Watch(std::move(input)); });
  FL_RETURN_IF_ERROR(BuildDiagnosis());
  FL_RETURN_IF_ERROR(history_.Restore(SteadyUnixTime(), *store_));
  if (collector != nullptr) FL_RETURN_IF_ERROR(BuildIncidents(std::move(collector)));
  return options_.http.empty() ? OkStatus() : BuildGateway();
}

std::vector<std::string> ControllerDaemon::Parts::HostNames() const {
  std::vector<std::string> names;
  for (uint32_t host = 0; host < fabric_.num_hosts(); ++host) names.emplace_back(fabric_.HostName(HostId(host)));
  return names;
}

Status ControllerDaemon::Parts::BuildEngine() {
  if (!options_.start_engine) return OkStatus();
  SchedulerSurroundings surroundings;
  surroundings.store = store_.get();
  surroundings.fabric = &fabric_;
  surroundings.acts = options_.actions.steering.steering.mode == controller::SteeringMode::kAct;
  surroundings.note = [this](SimTime time, const controller::Noted& note) { Note(time, note); };
  surroundings.iteration_times = [this] {
    std::map<std::string, Seconds> times;
    for (const controller::JobOnFabric& job : Ask([](const auto& core) { return core.Jobs(); })) {
      if (job.iteration_time.has_value()) times[job.name] = *job.iteration_time;
    }
    return times;
  };
  surroundings.slurm_jobs = [this] {
    std::map<std::string, std::set<uint32_t>> jobs;
    for (const controller::HostView& host : Ask([](const auto& core) { return core.Hosts(); })) {
      if (host.slurm_jobs.has_value()) jobs[host.name] = {host.slurm_jobs->begin(), host.slurm_jobs->end()};
    }
    return jobs;
  };
  surroundings.excuse = [this](const auto& is_meant, SimDuration length) {
    const std::lock_guard lock(diagnosis_mutex_);
    if (diagnosis_ == nullptr) return;
    for (const controller::WatchedJob& job : diagnosis_->Ask([](const auto& watch) { return watch.Jobs(); })) {
      const auto identity = model::ParseJobKey(job.name);
      if (identity.has_value() && is_meant(*identity)) diagnosis_->Excuse(job.id, SteadyUnixTime() + length);
    }
  };
  FL_ASSIGN_OR_RETURN(engine_, options_.start_engine(std::move(surroundings)));
  return OkStatus();
}

Status ControllerDaemon::Parts::BuildActions() {
  std::vector<std::string> host_names = HostNames();
  SteeringSurroundings surroundings;
  surroundings.store = store_.get();
  surroundings.job_name = [this](JobId job) {
    const std::lock_guard lock(diagnosis_mutex_);
    if (diagnosis_ == nullptr) return std::string();
    return diagnosis_->Ask([&](const controller::JobWatch& watch) { return watch.JobName(job); });
  };
  surroundings.excuse = [this](JobId job, SimTime until) {
    const std::lock_guard lock(diagnosis_mutex_);
    if (diagnosis_ != nullptr) diagnosis_->Excuse(job, until);
  };
  if (audit_) {
    surroundings.audit = [this](const Json& line) { return Audit(line); };
  }
  surroundings.note = [this](SimTime time, const controller::Noted& note) { Note(time, note); };
  surroundings.checks = MakeHostChecks();
  if (engine_ != nullptr) {
    surroundings.make_backend = [this](controller::SteeringNames names) {
      return engine_->MakeBackend(std::move(names));
    };
  }
  FL_ASSIGN_OR_RETURN(
      actions_, LiveActions::Start(SteadyUnixTime(), options_.actions, std::move(host_names), std::move(surroundings)));
  return OkStatus();
}

Status ControllerDaemon::Parts::BuildDiagnosis() {
  FL_RETURN_IF_ERROR(options_.c4d.Validate());
  FL_RETURN_IF_ERROR(BuildEngine());
  FL_RETURN_IF_ERROR(BuildActions());
  DiagnosisLoop::Outputs outputs;
  outputs.judge = [this](HostId host, const controller::HostJudged& judged) {
    loop_->Put(controller::JudgementChanged{host, judged});
  };
  outputs.ask = [this](const controller::SlowEndQuestion& question) { loop_->Put(question); };
  outputs.listener = [this](SimTime clock, const controller::Noted& note) { Note(clock, note); };
  outputs.steer = [this](SimTime clock, std::span<const controller::SteeringEvent> events) {
    actions_->Handle(clock, events);
  };
  DiagnosisLoopOptions loop = options_.diagnosis;
  if (!options_.job_owners_file.empty()) {
    FL_ASSIGN_OR_RETURN(const controller::JobOwnerMap map, LoadJobOwnerMap(options_.job_owners_file));
    loop.watch.may_act_on = [map](const model::JobIdentity& job) { return map.MayActOn(job); };
  }
  if (engine_ != nullptr) {
    loop.watch.may_act_on = [this, by_map = loop.watch.may_act_on](const model::JobIdentity& job) {
      return (!by_map || by_map(job)) && engine_->MayActOn(job);
    };
    loop.watch.may_run_on = [this](const model::JobIdentity& job, HostId host) { return engine_->MayRunOn(job, host); };
    loop.watch.host_choice = [this](const model::JobIdentity& job) {
      return engine_->ChoosesSizeOf(job) ? controller::HostChoice::kSize : controller::HostChoice::kRestart;
    };
  }
  auto make_diagnosis = diagnosis::c4d::DiagnoseByC4d(options_.c4d, topology::NamePlaces(fabric_));
  if (!options_.recordings.folder.empty()) {
    FL_ASSIGN_OR_RETURN(make_diagnosis, RecordTelemetry(options_.recordings, std::move(make_diagnosis)));
  }
  auto diagnosis = std::make_unique<DiagnosisLoop>(loop, fabric_, std::move(make_diagnosis), std::move(outputs),
                                                   [this](controller::JobWatch& watch) { actions_->Prepare(watch); });
  const std::lock_guard lock(diagnosis_mutex_);
  diagnosis_ = std::move(diagnosis);
  return OkStatus();
}

void ControllerDaemon::Parts::Watch(controller::WatchInput&& input) {
  const std::lock_guard lock(diagnosis_mutex_);
  if (diagnosis_ != nullptr) diagnosis_->Put(std::move(input));
}

ControllerDaemon::Parts::~Parts() {
  gateway_.reset();
  std::unique_ptr<DiagnosisLoop> diagnosis;
  {
    const std::lock_guard lock(diagnosis_mutex_);
    diagnosis = std::move(diagnosis_);
  }
}

Status ControllerDaemon::Parts::BuildGateway() {
  FL_ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint(options_.http));
  FL_ASSIGN_OR_RETURN(const HttpRoles roles, HttpRoles::Load(options_.http_roles, endpoint.is_local()));
  const GatewaySource source = MakeSource();
  WatchLists(source);
  FL_ASSIGN_OR_RETURN(gateway_, HttpGateway::Start(endpoint, roles, source));
  return OkStatus();
}

void ControllerDaemon::Parts::WatchLists(const GatewaySource& source) {
  const auto hash_of = [](const std::function<Json()>& make) { return [make] { return HashOf(make()); }; };
  std::vector<WatchedList> lists = {
      {"jobs", hash_of(source.jobs)},
      {"findings", hash_of(source.findings)},
      {"hosts", [source = MakeHostSource()] { return CombineHash(HashOf(source.look()), HashOf(source.marks())); }},
      {"links", [this] { return HashOf(Ask([](const auto& core) { return core.Links(); })); }},
      {"events", hash_of(source.events)},
      {"steering", hash_of([this] { return actions_->steering().ToJson(); })}};
  list_watch_.emplace(std::move(lists), source.events, kNewsPeriod);
}

Status ControllerDaemon::Parts::BuildIncidents(std::unique_ptr<OtlpHttp> collector) {
  IncidentTraces::Surroundings surroundings;
  surroundings.findings = [this] { return diagnosis_->Ask([](const auto& watch) { return watch.Findings(); }); };
  surroundings.detail = [this](model::FindingId finding) {
    return diagnosis_->Ask([&](const auto& watch) { return FindingDetailOf(watch, finding, fabric_); });
  };
  surroundings.steering = [this] { return actions_->steering().ToJson(); };
  surroundings.note = [this](bool is_warning, const std::string& text) {
    Note(SteadyUnixTime(),
         {.severity = is_warning ? controller::Noted::Severity::kWarning : controller::Noted::Severity::kInfo,
          .subject = "incident traces",
          .text = text});
  };
  FL_ASSIGN_OR_RETURN(incidents_, IncidentTraces::Start(std::move(collector), options_.incident_traces, store_.get(),
                                                        std::move(surroundings)));
  return OkStatus();
}

Status ControllerDaemon::Parts::Audit(const Json& line) {
  if (!audit_) return OkStatus();
  const std::lock_guard lock(audit_mutex_);
  return audit_->Write(line);
}

void ControllerDaemon::Parts::LookAtCluster(SimTime now) {
  if (!history_.IsDue(now)) return;
  const SteeringNumbers steering = actions_->steering().numbers();
  const auto isolated = steering.hosts.find(controller::HostCondition::kIsolated);
  const double gpus_per_host =
      fabric_.num_hosts() == 0 ? 0 : static_cast<double>(fabric_.num_gpus()) / static_cast<double>(fabric_.num_hosts());
  const auto findings = diagnosis_->Ask([](const auto& watch) { return watch.Findings(); });
  ClusterFigures figures;
  std::vector<controller::JobOnFabric> jobs;
  std::vector<controller::LinkOnFabric> links;
  loop_->Ask([&] {
    jobs = core_->Jobs();
    links = core_->Links();
    figures = FiguresOf(jobs, findings, links, core_->Hosts(), isolated == steering.hosts.end() ? 0 : isolated->second,
                        gpus_per_host);
    for (const uint64_t moves : paths_->counters().moves) figures.path_changes += static_cast<double>(moves);
  });
  for (const auto& [step, count] : steering.begun) figures.actions += static_cast<double>(count);
  const std::vector<store::Change> changes = history_.Add(now, figures, jobs, links);
  // A minute of the history is not worth an alarm: that the store fails is told by those who need it.
  if (!changes.empty()) (void)store_->Apply(changes);
}

Result<Json> ControllerDaemon::Parts::TraceOf(const std::string& job) {
  constexpr size_t kFindingsMax = 20;
  JobPast past{.name = job, .looks = history_.LooksOf(job), .findings = {}};
  past.findings = diagnosis_->Ask([&](const auto& watch) { return FindingsOfJob(watch, job, fabric_, kFindingsMax); });
  past.events = events_.ToJson()["events"];
  past.log = actions_->steering().ToJson().value("log", Json::array());
  return JobTrace(past, SteadyUnixTime());
}

GatewaySource ControllerDaemon::Parts::MakeSource() {
  GatewaySource source;
  source.health = [this] {
    FL_RETURN_IF_ERROR(loop_->store_status());
    Status steering = actions_->steering().status();
    return steering.ok() ? server_->status() : steering;
  };
  source.routes = actions_->Routes();
  if (engine_ != nullptr) std::ranges::move(engine_->Routes(), std::back_inserter(source.routes));
  source.routes.push_back(NodeCheckRoute(MakeCheckSource()));
  source.routes.push_back(TopologyRoute(fabric_, MakeNetworkSource()));
  std::ranges::move(
      LinkRoutes(fabric_, {.look = [this] { return Ask([](const auto& core) { return core.Links(); }); },
                           .paths = [this] { return Ask([](const auto& core) { return core.Paths(); }); }}),
      std::back_inserter(source.routes));
  source.routes.push_back(MakeHostRoute(MakeHostSource()));
  source.jobs = [this] { return JobsJson(Ask([](const auto& core) { return core.Jobs(); }), fabric_); };
  source.connections = [this](const std::string& job, size_t limit) {
    return ConnectionsJson(Ask([](const auto& core) { return core.QueuePairs(); }), fabric_, job, limit);
  };
  source.findings = [this] {
    return FindingsJson(diagnosis_->Ask([](const auto& watch) { return watch.Findings(); }), fabric_);
  };
  source.finding = [this](uint32_t number) {
    return diagnosis_->Ask([&](const auto& watch) { return FindingJson(watch, model::FindingId(number), fabric_); });
  };
  source.job_trace = [this](const std::string& job) { return TraceOf(job); };
  source.events = [this] { return events_.ToJson(); };
  HttpRoute history{.path = "/v1/history"};
  history.show = [this] { return history_.ToJson(); };
  source.routes.push_back(std::move(history));
  source.metrics = [this] { return Metrics(); };
  source.report_link = [this](const std::string& link, double health, bool both_directions, const std::string& who) {
    return ReportLink(link, health, both_directions, who);
  };
  return source;
}

HostSource ControllerDaemon::Parts::MakeHostSource() {
  HostSource source;
  source.look = [this] { return Ask([](const auto& core) { return core.Hosts(); }); };
  source.marks = [this] {
    return HostMarks{.conditions = actions_->steering().conditions(),
                     .findings = CountByHost(diagnosis_->Ask([](const auto& watch) { return watch.Findings(); }))};
  };
  return source;
}

NetworkSource ControllerDaemon::Parts::MakeNetworkSource() {
  NetworkSource source;
  source.look = [this] {
    return Ask([](const auto& core) { return NetworkSnapshot{core.Links(), core.Paths(), core.Jobs()}; });
  };
  source.remember = [this](std::optional<int64_t> at_s) { return history_.Remember(at_s); };
  return source;
}

NodeCheckSource ControllerDaemon::Parts::MakeCheckSource() {
  NodeCheckSource source;
  source.fabric = &fabric_;
  source.show = [this] { return Ask([this](const auto& core) { return NodeChecksJson(core.Checks(), fabric_); }); };
  source.find_fault = [this](const controller::NodeCheckRequest& request) {
    return Ask([&](const auto& core) { return core.FindFault(request); });
  };
  source.audit = [this](const controller::NodeCheckRequest& request) {
    Json hosts = Json::array();
    for (const HostId host : request.hosts) hosts.push_back(fabric_.HostName(host));
    return Audit(Json{{"at_s", std::time(nullptr)},
                      {"kind", "operator"},
                      {"who", request.who},
                      {"action", "check hosts"},
                      {"hosts", std::move(hosts)},
                      {"while_training", request.while_training}});
  };
  source.begin = [this](const controller::NodeCheckRequest& request) { return BeginCheck(request); };
  return source;
}

uint64_t ControllerDaemon::Parts::BeginCheck(controller::NodeCheckRequest request) {
  request.number = ++num_checks_;
  loop_->Put(controller::NodeCheckRequested{request});
  return request.number;
}

// For steering's thread, which the loop never waits for.
controller::HostCheckSource ControllerDaemon::Parts::MakeHostChecks() {
  controller::HostCheckSource checks;
  checks.begin = [this](HostId host, SimDuration burn_in) -> Result<uint64_t> {
    controller::NodeCheckRequest request;
    request.hosts = {host};
    request.burn_in_length = burn_in;
    request.who = "steering";
    const std::string fault = Ask([&](const auto& core) { return core.FindFault(request); });
    if (!fault.empty()) return Unavailable(fault);
    return BeginCheck(std::move(request));
  };
  checks.find = [this](uint64_t number, HostId host) {
    return Ask([&](const auto& core) { return controller::FindCheckedHost(core.Checks(), number, host); });
  };
  return checks;
}

void ControllerDaemon::Parts::Note(SimTime time, const controller::Noted& note) {
  events_.Add(time, note);
  const auto level = note.severity == controller::Noted::Severity::kWarning ? spdlog::level::warn : spdlog::level::info;
  spdlog::log(level, "{}: {}", note.subject, note.text);
}

std::string ControllerDaemon::Parts::Metrics() {
  ControllerSnapshot snapshot;
  loop_->Ask([&] {
    snapshot.hosts = core_->Hosts();
    snapshot.jobs = core_->Jobs();
    snapshot.links = core_->Links();
    snapshot.paths = paths_->counters();
  });
  diagnosis_->Ask([&](const controller::JobWatch& watch) {
    snapshot.watched_jobs = watch.Jobs();
    snapshot.findings = watch.Findings();
    snapshot.watch = watch.counters();
    return 0;
  });
  snapshot.diagnosis = diagnosis_->counters();
  snapshot.steering = actions_->steering().numbers();
  snapshot.health_events = actions_->health_events();
  if (incidents_ != nullptr) snapshot.incident_traces = incidents_->counters();
  if (engine_ != nullptr) snapshot.scheduler = engine_->numbers();
  snapshot.version = options_.core.version;
  snapshot.streams = server_->counters();
  snapshot.loop = loop_->counters();
  {
    const std::lock_guard lock(certificate_mutex_);
    snapshot.certificate_expires_s = certificate_.expires_s();
  }
  snapshot.is_store_ok = loop_->store_status().ok();
  return WriteMetrics(snapshot, fabric_);
}

Status ControllerDaemon::Parts::ReportLink(const std::string& name, double health, bool both_directions,
                                           const std::string& who) {
  const LinkId link = fabric_.FindLink(name);
  if (!link.valid() || !topology::IsNetwork(fabric_.tier(link))) {
    return NotFound(fmt::format("no link '{}' in the network; names are those of /v1/links", name));
  }
  spdlog::info("operator at {} set the health of {} to {}{}", who, fabric_.LinkName(link), health,
               both_directions ? ", both directions" : "");
  FL_RETURN_IF_ERROR(Audit(Json{{"at_s", std::time(nullptr)},
                                {"kind", "operator"},
                                {"who", who},
                                {"action", "report link"},
                                {"link", fabric_.LinkName(link)},
                                {"health", health},
                                {"both_directions", both_directions}}));
  const std::string source = "operator at " + who;
  loop_->Put(controller::LinkHealthReported{.link = link, .health = health, .source = source});
  if (both_directions) {
    loop_->Put(controller::LinkHealthReported{.link = fabric_.reverse(link), .health = health, .source = source});
  }
  return OkStatus();
}

void ControllerDaemon::Parts::LogChanges() {
  LookAtCertificate();
  const SimTime now = SteadyUnixTime();
  LookAtCluster(now);
  if (incidents_ != nullptr) incidents_->Look(now);
  if (gateway_ != nullptr) {
    list_watch_->Tick(now, gateway_->HasListeners(),
                      [this](const std::string& event, const Json& data) { gateway_->Publish(event, data); });
  }
  const Status status = loop_->store_status();
  if (status == logged_store_status_) return;
  if (status.ok()) {
    spdlog::warn("the store can be written again; agents are answered");
  } else {
    spdlog::error("the store can't be written, so no agent is answered until it can: {}", status.message());
  }
  logged_store_status_ = status;
}

// A warning is an event, for the page and whoever reads its events.
void ControllerDaemon::Parts::LookAtCertificate() {
  const std::lock_guard lock(certificate_mutex_);
  const std::optional<std::string> warning = certificate_.Look(std::time(nullptr));
  if (!warning.has_value()) return;
  Note(SteadyUnixTime(),
       {.severity = controller::Noted::Severity::kWarning, .subject = "certificate", .text = *warning});
}

ControllerDaemon::ControllerDaemon(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

ControllerDaemon::~ControllerDaemon() = default;

Result<std::unique_ptr<ControllerDaemon>> ControllerDaemon::Start(const ControllerDaemonOptions& options) {
  FL_ASSIGN_OR_RETURN(topology::Fabric fabric, topology::LoadFabricFile(options.fabric_file));
  auto parts = std::make_unique<Parts>(options, std::move(fabric));
  FL_RETURN_IF_ERROR(parts->Begin());
  return std::unique_ptr<ControllerDaemon>(new ControllerDaemon(std::move(parts)));
}

std::vector<std::string> ControllerDaemon::addresses() const { return parts_->addresses(); }

std::string ControllerDaemon::http_address() const { return parts_->http_address(); }

void ControllerDaemon::LogChanges() { parts_->LogChanges(); }
void ControllerDaemon::WaitUntilAlive() { parts_->WaitUntilAlive(); }

}  // namespace fairlead::service

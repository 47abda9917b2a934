#include "slurm/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file_writer.h"
#include "base/whole_number.h"
#include "report/json_value.h"
#include "service/controller/diagnosis_loop.h"
#include "slurm/intention_records.h"
#include "slurm/progress_file.h"

namespace fairlead::slurm {
namespace {

using Severity = controller::Noted::Severity;

constexpr std::string_view NameOf(JobState state) {
  switch (state) {
    case JobState::kPending:
      return "pending";
    case JobState::kConfiguring:
      return "configuring";
    case JobState::kRunning:
      return "running";
    case JobState::kSuspended:
      return "suspended";
    case JobState::kCompleting:
      return "completing";
    case JobState::kEnded:
      break;
  }
  return "ended";
}

SimTime UnixTime() {
  return SimTime(std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
}

// A job's processes are ended until Slurm's KillWait is over, 30 s by default, and what is seen of them comes later.
constexpr SimDuration kEndOfJob(60'000'000'000);

// Of "job 7" and "job 7 progress".
std::optional<uint32_t> NumberOfSubject(std::string_view subject) {
  constexpr std::string_view kJob = "job ";
  if (!subject.starts_with(kJob)) return std::nullopt;
  subject.remove_prefix(kJob.size());
  return ParseWhole<uint32_t>(subject.substr(0, subject.find(' ')));
}

bool IsLong(const controller::SteeringStep& step) {
  return std::holds_alternative<controller::RestartJob>(step) || std::holds_alternative<controller::TestHost>(step);
}

}  // namespace

Status EngineOptions::Validate() const {
  if (period.count() <= 0) return InvalidArgument("--slurm-period: expected more than 0 s");
  if (!spares.empty() && !spares.starts_with(kOurReservations)) {
    return InvalidArgument(
        fmt::format("--slurm-spares: expected a name that begins with {}: others are not changed; found '{}'",
                    kOurReservations, spares));
  }
  for (const std::string_view taken : {"fairlead_job_", "fairlead_test_"}) {
    if (spares.starts_with(taken))
      return InvalidArgument(fmt::format("--slurm-spares: {}… is for jobs and tests", taken));
  }
  return elastic.jobs.Validate();
}

// ---- Of steering's thread ----

class Engine::Backend final : public controller::ActionBackend {
 public:
  Backend(Engine* engine, controller::SteeringNames names) : engine_(*engine), names_(std::move(names)) {}

  std::string_view name() const override { return "slurm"; }
  void Begin(SimTime, const controller::SteeringAction& action) override {
    StepOrder order;
    order.action = action.number;
    order.attempt = action.attempt;
    order.step = action.step;
    order.host = HostOf(action.step);
    if (const auto* restart = std::get_if<controller::RestartJob>(&action.step)) {
      for (const HostId host : restart->hosts) order.hosts.push_back(names_.Of(host));
    }
    if (action.job.valid()) order.job = names_.Of(action.job);
    order.reason =
        action.finding.valid() ? fmt::format("finding {}: {}", action.finding.value(), action.reason) : action.reason;
    engine_.Put(std::move(order));
  }
  std::vector<controller::SteeringEvent> TakeOutcomes(SimTime) override { return engine_.TakeOutcomes(); }

 private:
  std::string HostOf(const controller::SteeringStep& step) const {
    if (const auto* isolate = std::get_if<controller::IsolateHost>(&step)) return names_.Of(isolate->host);
    if (const auto* take = std::get_if<controller::TakeSpare>(&step)) return names_.Of(take->spare);
    if (const auto* test = std::get_if<controller::TestHost>(&step)) return names_.Of(test->host);
    if (const auto* back = std::get_if<controller::ReturnHost>(&step)) return names_.Of(back->host);
    return "";
  }

  Engine& engine_;
  controller::SteeringNames names_;
};

std::unique_ptr<controller::ActionBackend> Engine::MakeBackend(controller::SteeringNames names) {
  return std::make_unique<Backend>(this, std::move(names));
}

void Engine::Put(StepOrder order) {
  const auto patience = IsLong(order.step) ? options_.long_patience : options_.patience;
  const uint64_t action = order.action;
  {
    const std::lock_guard lock(mutex_);
    waiting_[action] = {std::move(order), Clock::now() + patience, ""};
  }
  changed_.notify_all();
}

std::vector<controller::SteeringEvent> Engine::TakeOutcomes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(outcomes_, {});
}

// ---- For observers ----

bool Engine::MayActOn(const model::JobIdentity& job) const {
  const uint32_t number = JobNumberOf(job);
  if (number == 0) return false;
  const std::lock_guard lock(mutex_);
  const Job* found = state_.has_value() ? FindJob(state_->jobs, number) : nullptr;
  // One that has begun since is looked at before anything is done to it.
  return found == nullptr || (found->owner == job.owner && found->is_single);
}

service::SchedulerNumbers Engine::numbers() const {
  const std::lock_guard lock(mutex_);
  service::SchedulerNumbers numbers = numbers_;
  numbers.actions_under_way = waiting_.size();
  return numbers;
}

std::vector<service::HttpRoute> Engine::Routes() {
  return {{.path = "/v1/slurm", .show = [this] { return ToJson(); }}};
}

nlohmann::ordered_json Engine::ToJson() const {
  const std::lock_guard lock(mutex_);
  report::Json jobs = report::Json::array();
  if (state_.has_value()) {
    for (const Job& job : state_->jobs) {
      jobs.push_back({{"job", job.id},
                      {"name", model::JobKey(IdentityOf(job))},
                      {"owner", job.owner},
                      {"state", NameOf(job.state)},
                      {"held", job.is_held},
                      {"restarts", job.num_restarts},
                      {"nodes", job.num_nodes},
                      {"hosts", job.hosts}});
    }
  }
  report::Json sizes = report::Json::array();
  for (const ElasticView& view : sized_) {
    sizes.push_back({{"job", view.job},
                     {"nodes_min", view.nodes_min},
                     {"nodes_max", view.nodes_max},
                     {"nodes", view.num_nodes},
                     {"steps", view.steps.has_value() ? report::Json(*view.steps) : report::Json()},
                     {"steps_done", view.steps_done},
                     {"node_seconds", view.node_seconds},
                     {"restarts", view.num_restarts},
                     {"restart_cost_s", view.restart_cost.value()},
                     {"reason", view.reason}});
  }
  report::Json actions = report::Json::array();
  for (const auto& [number, waiting] : waiting_) {
    actions.push_back({{"action", number},
                       {"step", controller::Name(waiting.order.step)},
                       {"attempt", waiting.order.attempt},
                       {"message", waiting.message}});
  }
  return {
      {"acts", surroundings_.acts},
      {"answers", numbers_.answers},
      {"error", reading_status_.ok() ? report::Json() : report::Json(reading_status_.message())},
      {"read_at_s", numbers_.readings > numbers_.failures ? report::Json(read_at_.seconds().value()) : report::Json()},
      {"period_s", std::chrono::duration<double>(options_.period).count()},
      {"hosts_not_in_fabric", numbers_.hosts_not_in_fabric},
      {"jobs_stopped", numbers_.jobs_stopped},
      {"actions", std::move(actions)},
      {"sizes", std::move(sizes)},
      {"jobs", std::move(jobs)}};
}

// ---- The thread ----

Result<std::unique_ptr<service::SchedulerEngine>> Engine::Start(EngineOptions options,
                                                                service::SchedulerSurroundings surroundings) {
  FL_RETURN_IF_ERROR(options.Validate());
  const topology::Fabric& fabric = *surroundings.fabric;
  for (size_t h = 0; h < fabric.num_hosts(); ++h) options.steps.fabric_hosts.push_back(fabric.HostName(HostId(h)));
  options.steps.spares = options.spares;
  options.steps.test_program = options.test_program;
  // An order's turn is short, and its last word is not.
  options.steps.writer.num_looks_max = std::min(options.steps.writer.num_looks_max, 10u);
  FL_ASSIGN_OR_RETURN(const auto recorded, ReadIntentions(*surroundings.store));
  FL_ASSIGN_OR_RETURN(const auto stopped, ReadStopped(*surroundings.store));
  std::unique_ptr<Engine> engine(new Engine(options, std::move(surroundings)));
  engine->numbers_.jobs_stopped = stopped.size();
  FL_RETURN_IF_ERROR(engine->StartElastic());
  if (!engine->surroundings_.acts) {
    for (const auto& [number, operation] : recorded) {
      engine->Note(
          Severity::kWarning, "slurm",
          fmt::format("{} was under way when an earlier controller ended, and is left as it is", Describe(operation)));
    }
    for (const StopJob& stop : stopped) {
      engine->Note(Severity::kWarning, SubjectOf(stop),
                   "was stopped by an earlier controller, and is held: scontrol release");
    }
  } else if (!options.alive_file.empty()) {
    engine->Note(Severity::kInfo, "slurm",
                 "elastic jobs that are held are started, as --alive-file says that somebody does");
  }
  Engine* const running = engine.get();
  engine->thread_ = std::thread([running] { running->Run(); });
  return std::unique_ptr<service::SchedulerEngine>(std::move(engine));
}

Engine::Engine(const EngineOptions& options, service::SchedulerSurroundings surroundings)
    : options_(options),
      surroundings_(std::move(surroundings)),
      programs_(options.programs != nullptr ? *options.programs : real_programs_),
      reader_(&programs_),
      steps_(std::make_unique<SteeringSteps>(&programs_, surroundings_.store, options.steps)) {
  for (size_t i = 0; i < options.steps.fabric_hosts.size(); ++i) hosts_[options.steps.fabric_hosts[i]] = HostId(i);
  clock_ = options_.clock ? options_.clock : service::SteadyUnixTime;
}

Status Engine::StartElastic() {
  if (options_.elastic.jobs.partitions.empty()) return OkStatus();
  if (!surroundings_.acts) {
    Note(Severity::kInfo, "elastic jobs", "sizes are chosen with --steer act only");
    return OkStatus();
  }
  ElasticSources sources;
  sources.read_job = [this](uint32_t job) { return reader_.ReadJob(job); };
  sources.read_steps = [this](const Job& job, const ElasticWish& wish) { return ReadSteps(job, wish); };
  sources.read_checkpoint_time = [](const Job& job, const ElasticWish& wish) {
    return TimeOfFile(wish.checkpoint_file, job.owner);
  };
  sources.note = [this](const std::string& subject, const Status& status) { NoteOnce(subject, status); };
  ElasticOrderListeners listeners;
  listeners.changed = [this](uint32_t job, const std::string& text) {
    Note(Severity::kInfo, fmt::format("job {}", job), text);
    const std::lock_guard lock(mutex_);
    ++numbers_.size_changes;
  };
  listeners.stopping = [this](uint32_t job) {
    if (!surroundings_.excuse) return;
    surroundings_.excuse([job](const model::JobIdentity& identity) { return JobNumberOf(identity) == job; }, kEndOfJob);
  };
  FL_ASSIGN_OR_RETURN(elastic_, ElasticOrders::Create(*surroundings_.fabric, options_.elastic, &programs_,
                                                      surroundings_.store, std::move(sources), std::move(listeners)));
  return OkStatus();
}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Engine::Run() {
  Clock::time_point next_reading = Clock::now();
  for (;;) {
    if (Clock::now() >= next_reading) {
      Read();
      next_reading = Clock::now() + options_.period;
    }
    TakeTurns();
    TakeElasticTurns();
    std::unique_lock lock(mutex_);
    if (is_over_) return;
    const bool is_idle = waiting_.empty() && (elastic_ == nullptr || elastic_->is_idle());
    const auto until = is_idle ? next_reading : std::min(next_reading, Clock::now() + options_.turn);
    const size_t num_waiting = waiting_.size();
    changed_.wait_until(lock, until, [&] { return is_over_ || waiting_.size() > num_waiting; });
    if (is_over_) return;
  }
}

void Engine::Note(Severity severity, std::string subject, std::string text) const {
  if (surroundings_.note) surroundings_.note(UnixTime(), {severity, std::move(subject), std::move(text)});
}

// One event when it begins, and one when it is over.
void Engine::NoteOnce(const std::string& subject, const Status& status) {
  if (status.ok()) {
    if (faults_.erase(subject) > 0) Note(Severity::kInfo, subject, "goes on");
  } else if (faults_.insert(subject).second) {
    Note(Severity::kWarning, subject, status.message());
  }
}

void Engine::Read() {
  const Clock::time_point begin = Clock::now();
  Result<ClusterState> state = reader_.ReadAll();
  const Status status = state.ok() ? OkStatus() : state.status();
  NoteOnce("slurm", status.ok()
                        ? status
                        : Status(status.code(), "no reading, so no job and no host is touched until there is one: " +
                                                    status.message()));
  {
    const std::lock_guard lock(mutex_);
    reading_status_ = status;
    numbers_.answers = status.ok();
    ++numbers_.readings;
    numbers_.failures += status.ok() ? 0 : 1;
    numbers_.reading += Seconds(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  if (state.ok()) Look(*std::move(state));
}

void Engine::Look(ClusterState state) {
  TellUnknownHosts(state);
  std::erase_if(faults_, [&state](const std::string& subject) {
    const std::optional<uint32_t> job = NumberOfSubject(subject);
    return job.has_value() && FindJob(state.jobs, *job) == nullptr;
  });
  OfferSpares(state);
  {
    const std::lock_guard lock(mutex_);
    numbers_.jobs.clear();
    for (const Job& job : state.jobs) ++numbers_.jobs[std::string(NameOf(job.state))];
    numbers_.hosts_not_in_fabric = noted_hosts_.size();
    read_at_ = UnixTime();
    state_ = std::move(state);
  }
  if (!surroundings_.acts) return;
  CleanUp();
  LookAtElastic();
  StartHeldJobs();
  WriteAliveFile();
}

// ---- Elastic jobs ----

StepsSeen Engine::ReadSteps(const Job& job, const ElasticWish& wish) const {
  StepsSeen seen;
  if (const auto found = iteration_times_.find(job.id); found != iteration_times_.end()) {
    seen.iteration_time = found->second;
  }
  if (wish.progress_file.empty()) return seen;
  const Result<double> steps = ReadProgressFile(wish.progress_file, job.owner);
  if (steps.ok()) {
    seen.done = *steps;
  } else if (steps.status().code() != StatusCode::kNotFound) {
    seen.fault = steps.status().message();
  }
  return seen;
}

// Those of steps that are under way, and those that are stopped until the next step.
std::set<uint32_t> Engine::SteeredJobs() const {
  std::set<uint32_t> jobs;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, waiting] : waiting_) {
      const auto identity = model::ParseJobKey(waiting.order.job);
      if (identity.has_value()) jobs.insert(JobNumberOf(*identity));
    }
  }
  const auto stopped = ReadStopped(*surroundings_.store);
  if (stopped.ok()) {
    for (const StopJob& stop : *stopped) jobs.insert(stop.job);
  }
  return jobs;
}

void Engine::LookAtElastic() {
  if (elastic_ == nullptr) return;
  iteration_times_.clear();
  if (surroundings_.iteration_times) {
    for (const auto& [key, time] : surroundings_.iteration_times()) {
      const auto identity = model::ParseJobKey(key);
      if (identity.has_value() && JobNumberOf(*identity) != 0) iteration_times_[JobNumberOf(*identity)] = time;
    }
  }
  ClusterState state;
  {
    const std::lock_guard lock(mutex_);
    state = *state_;
  }
  elastic_->Look(state, SteeredJobs(), clock_());
  const std::lock_guard lock(mutex_);
  sized_ = elastic_->Views();
  numbers_.jobs_sized = sized_.size();
  numbers_.jobs_sized_waiting = static_cast<uint64_t>(std::ranges::count(sized_, 0u, &ElasticView::num_nodes));
}

void Engine::TakeElasticTurns() {
  if (elastic_ != nullptr && !elastic_->is_idle()) elastic_->TakeTurns(SteeredJobs(), clock_());
}

void Engine::TellUnknownHosts(const ClusterState& state) {
  std::set<std::string> unknown;
  for (const Node& node : state.nodes) {
    if (!hosts_.contains(node.name)) unknown.insert(node.name);
  }
  std::vector<std::string> news;
  std::ranges::set_difference(unknown, noted_hosts_, std::back_inserter(news));
  for (const std::string& host : news) {
    Note(Severity::kWarning, "host " + host,
         "is a node of Slurm and not in the fabric: it and its jobs are not touched");
  }
  noted_hosts_ = std::move(unknown);
}

void Engine::OfferSpares(const ClusterState& state) {
  std::set<std::string> free;
  for (const Reservation& reservation : state.reservations) {
    if (options_.spares.empty() || reservation.name != options_.spares) continue;
    free.insert(reservation.hosts.begin(), reservation.hosts.end());
  }
  for (const Node& node : state.nodes) {
    if (!node.is_up || node.is_drained || node.is_busy) free.erase(node.name);
  }
  std::erase_if(free, [this](const std::string& host) { return !hosts_.contains(host); });
  // Each is offered when it becomes one: one that a step could not take stays in doubt.
  const std::lock_guard lock(mutex_);
  for (const std::string& host : free) {
    if (!offered_.contains(host)) outcomes_.emplace_back(controller::SpareOffered{hosts_.at(host)});
  }
  offered_ = std::move(free);
}

// Whether an order of ours about the size of that job is under way.
bool Engine::IsSized(const std::string& subject) const {
  const std::optional<uint32_t> job = NumberOfSubject(subject);
  return elastic_ != nullptr && job.has_value() && elastic_->IsUnderway(*job);
}

void Engine::CleanUp() {
  std::set<std::string> busy;
  std::vector<Reservation> reservations;
  {
    const std::lock_guard lock(mutex_);
    reservations = state_->reservations;
    for (const auto& [number, waiting] : waiting_) {
      const auto identity = model::ParseJobKey(waiting.order.job);
      if (identity.has_value()) busy.insert(fmt::format("job {}", JobNumberOf(*identity)));
      if (!waiting.order.host.empty()) busy.insert("host " + waiting.order.host);
    }
  }
  std::map<std::string, Clock::time_point> seen;
  const auto now = Clock::now();
  const auto is_left = [&](const std::string& subject) {
    // A reservation is of the job or the host in its name.
    std::string about = subject;
    for (const auto& [prefix, kind] :
         {std::pair("reservation fairlead_job_", "job "), std::pair("reservation fairlead_test_", "host ")}) {
      if (subject.starts_with(prefix)) about = kind + subject.substr(std::string_view(prefix).size());
    }
    if (busy.contains(about) || IsSized(about)) return false;
    const auto before = seen_left_.find(subject);
    const auto since = before == seen_left_.end() ? now : before->second;
    seen[subject] = since;
    return now - since >= options_.left_after;
  };
  const auto notes = steps_->CleanUp(reservations, is_left);
  NoteOnce("slurm clean-up", notes.ok() ? OkStatus() : notes.status());
  if (!notes.ok()) return;
  seen_left_ = std::move(seen);
  for (const std::string& what : *notes) Note(Severity::kWarning, "slurm", what);
  const auto stopped = ReadStopped(*surroundings_.store);
  const std::lock_guard lock(mutex_);
  if (stopped.ok()) numbers_.jobs_stopped = stopped->size();
}

// Those that are held by us and get no size: held when they were submitted, because the alive file says that somebody
// starts them, or by an earlier controller.
void Engine::StartHeldJobs() {
  if (options_.alive_file.empty() && elastic_ == nullptr) return;
  std::vector<Job> held;
  {
    const std::lock_guard lock(mutex_);
    for (const Job& job : state_->jobs) {
      const auto mark = ReadElasticMark(job.admin_comment);
      const bool is_sized = elastic_ != nullptr && elastic_->Takes(job);
      if (job.is_held && mark.has_value() && mark->is_held && !is_sized) held.push_back(job);
    }
  }
  for (const Job& job : held) {
    const std::string id = std::to_string(job.id);
    const std::string mark = MarkReleased(job.admin_comment);
    Result<std::string> answer = programs_.Run({"scontrol", "release", id});
    // Then without the word: should its user hold it now, it is his.
    if (answer.ok()) answer = programs_.Run({"scontrol", "update", "JobId=" + id, "AdminComment=" + mark});
    NoteOnce("job " + id, answer.ok() ? OkStatus() : answer.status());
    if (answer.ok()) Note(Severity::kInfo, "job " + id, "is released, at the size that it asks for");
  }
}

void Engine::WriteAliveFile() {
  if (options_.alive_file.empty()) return;
  NoteOnce("alive file",
           WriteFileAtomically(options_.alive_file, fmt::format("{}\n", std::time(nullptr)), Outlives::kProcess));
}

void Engine::TakeTurns() {
  std::vector<Waiting> turns;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, waiting] : waiting_) turns.push_back(waiting);
  }
  for (Waiting& turn : turns) {
    {
      const std::lock_guard lock(mutex_);
      if (is_over_) return;
    }
    Result<StepProgress> progress = steps_->Go(turn.order);
    StepProgress said = progress.ok() ? *std::move(progress)
                                      : StepProgress{StepProgress::Kind::kUnderway, progress.status().message(), {}};
    // An error may pass: Slurm, or the store, is away.
    if (said.kind == StepProgress::Kind::kUnderway && Clock::now() >= turn.until) {
      said = {StepProgress::Kind::kFailed, "not within its time: " + said.message, {}};
    }
    End(turn.order, said);
  }
}

void Engine::End(const StepOrder& order, const StepProgress& progress) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(order.action);
  // Otherwise a newer attempt of the same action has come.
  const bool is_same = found != waiting_.end() && found->second.order.attempt == order.attempt;
  if (progress.kind == StepProgress::Kind::kUnderway) {
    if (is_same) found->second.message = progress.message;
    return;
  }
  const bool is_done = progress.kind == StepProgress::Kind::kDone;
  const bool is_final = progress.kind == StepProgress::Kind::kRefused;
  ++numbers_.actions[is_done ? "done" : is_final ? "refused" : "failed"];
  outcomes_.emplace_back(controller::StepDone{.action = order.action,
                                              .attempt = order.attempt,
                                              .succeeded = is_done,
                                              .is_final = is_final,
                                              .message = progress.message});
  if (const auto* test = std::get_if<controller::TestHost>(&order.step); test != nullptr && progress.is_healthy) {
    outcomes_.emplace_back(controller::HostTested{test->host, *progress.is_healthy});
  }
  if (is_same) waiting_.erase(found);
}

}  // namespace fairlead::slurm

#include "slurm/engine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file_writer.h"
#include "base/whole_number.h"
#include "service/controller/diagnosis_loop.h"
#include "slurm/engine_json.h"
#include "slurm/held_jobs.h"
#include "slurm/intention_records.h"
#include "slurm/order_backend.h"
#include "slurm/size_words.h"
#include "slurm/step_words.h"

namespace fairlead::slurm {
namespace {

using Severity = controller::Noted::Severity;

// A look, a step, a look, and one more.
constexpr uint32_t kNumCommentLooksMax = 4;

// Two controllers that act on one Slurm, each with a store of its own, would take what the other one has begun for the
// doing of somebody else. The file beside it, as that is replaced with each reading; the lock ends with its holder.
Result<Descriptor> LockAliveFile(const std::string& alive_file) {
  const std::string path = alive_file + ".lock";
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const auto fault = [&](const std::string& what) {
    return Status(StatusCode::kFailedPrecondition, fmt::format("--alive-file: {}: {}", path, what));
  };
  if (!file.is_open()) return fault(std::strerror(errno));
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) return fault(std::strerror(errno));
  return fault("another controller acts on this Slurm; end it, or start this one without --steer act");
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

// ---- The start ----

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
  Descriptor lock;
  if (surroundings.acts && !options.alive_file.empty()) {
    FL_ASSIGN_OR_RETURN(lock, LockAliveFile(options.alive_file));
  }
  std::unique_ptr<Engine> engine(new Engine(options, std::move(surroundings)));
  engine->alive_lock_ = std::move(lock);
  engine->readings_.SetJobsStopped(stopped.size());
  FL_ASSIGN_OR_RETURN(engine->accounts_, JobAccounts::Create(&engine->programs_, engine->surroundings_.store,
                                                             {.pause = options.steps.writer.pause,
                                                              .num_looks_max = kNumCommentLooksMax,
                                                              .sleep = options.steps.writer.sleep}));
  FL_RETURN_IF_ERROR(engine->StartSizing());
  engine->TellLeft(recorded, stopped);
  Engine* const running = engine.get();
  engine->thread_ = std::thread([running] { running->Run(); });
  return std::unique_ptr<service::SchedulerEngine>(std::move(engine));
}

Engine::Engine(const EngineOptions& options, service::SchedulerSurroundings surroundings)
    : options_(options),
      surroundings_(std::move(surroundings)),
      programs_(options.programs != nullptr ? *options.programs : real_programs_),
      reader_(&programs_),
      notes_(surroundings_.note),
      orders_({.long_steps = options.long_patience, .others = options.patience}),
      steps_(&programs_, surroundings_.store, options.steps),
      hosts_(options.steps.fabric_hosts, options.spares),
      left_(SimDuration(std::chrono::nanoseconds(options.left_after).count())),
      lost_(SimDuration(std::chrono::nanoseconds(options.lost_after).count())) {}

Status Engine::StartSizing() {
  if (options_.elastic.jobs.partitions.empty()) return OkStatus();
  if (!surroundings_.acts) {
    notes_.Tell(Severity::kInfo, "elastic jobs", "sizes are chosen with --steer act only");
    return OkStatus();
  }
  FL_ASSIGN_OR_RETURN(sizing_, ElasticSizing::Create(
                                   options_.elastic, &surroundings_, &programs_, &notes_,
                                   [this](uint32_t job, const std::string& text) {
                                     Account(job, std::nullopt, {.kind = "size", .text = text});
                                   },
                                   [this] { return Now(); }));
  return OkStatus();
}

void Engine::TellLeft(const std::vector<std::pair<uint64_t, Operation>>& recorded,
                      const std::vector<StopJob>& stopped) {
  if (!surroundings_.acts) {
    for (const auto& [number, operation] : recorded) {
      notes_.Tell(
          Severity::kWarning, "slurm",
          fmt::format("{} was under way when an earlier controller ended, and is left as it is", Describe(operation)));
    }
    for (const StopJob& stop : stopped) {
      notes_.Tell(Severity::kWarning, SubjectOf(stop),
                  "was stopped by an earlier controller, and is held: scontrol release");
    }
  } else if (!options_.alive_file.empty()) {
    notes_.Tell(Severity::kInfo, "slurm",
                "elastic jobs that are held are started, as --alive-file says that somebody does");
  }
}

Engine::~Engine() {
  orders_.Stop();
  if (thread_.joinable()) thread_.join();
}

// ---- For others ----

std::unique_ptr<controller::ActionBackend> Engine::MakeBackend(controller::SteeringNames names) {
  return std::make_unique<OrderBackend>(&orders_, std::move(names));
}

bool Engine::MayActOn(const model::JobIdentity& job) const {
  const uint32_t number = JobNumberOf(job);
  if (number == 0) return false;
  const auto state = readings_.state();
  const Job* found = state != nullptr ? FindJob(state->jobs, number) : nullptr;
  // One that has begun since is looked at before anything is done to it.
  return found == nullptr || (found->owner == job.owner && found->is_single);
}

bool Engine::MayRunOn(const model::JobIdentity& job, HostId host) const {
  const uint32_t number = JobNumberOf(job);
  return number == 0 || readings_.places()->MayRunOn(number, job.owner, surroundings_.fabric->HostName(host));
}

bool Engine::ChoosesSizeOf(const model::JobIdentity& job) const {
  return sizing_ != nullptr && MayActOn(job) && sizing_->Has(JobNumberOf(job));
}

service::SchedulerNumbers Engine::numbers() const {
  service::SchedulerNumbers numbers = readings_.shown().numbers;
  StepOrders::Counts orders = orders_.counts();
  numbers.actions_under_way = orders.underway;
  numbers.actions = std::move(orders.ended);
  if (sizing_ == nullptr) return numbers;
  const ElasticSizing::Sizes sizes = sizing_->sizes();
  numbers.jobs_sized = sizes.jobs.size();
  numbers.jobs_sized_waiting = static_cast<uint64_t>(std::ranges::count(sizes.jobs, 0u, &ElasticView::num_nodes));
  numbers.size_changes = sizes.num_changes;
  return numbers;
}

std::vector<service::HttpRoute> Engine::Routes() {
  return {{.path = "/v1/slurm",
           .show =
               [this] {
                 return ToJson({.acts = surroundings_.acts,
                                .period = options_.period,
                                .readings = readings_.shown(),
                                .actions = orders_.Underway(),
                                .sizes = sizing_ == nullptr ? std::vector<ElasticView>() : sizing_->sizes().jobs});
               }},
          {.path = "/v1/slurm/account", .ask = [this](const service::HttpQuery& query) -> Result<report::Json> {
             const auto given = query.find("job");
             const auto job = given == query.end() ? std::nullopt : ParseWhole<uint32_t>(given->second);
             if (!job.has_value()) return InvalidArgument("expected ?job=NUMBER, its number in Slurm");
             return AccountJson(*job, readings_.state().get(), accounts_->Of(*job));
           }}};
}

// ---- The thread ----

void Engine::Run() {
  Clock::time_point next_reading = Clock::now();
  for (;;) {
    if (Clock::now() >= next_reading) {
      Read();
      next_reading = Clock::now() + options_.period;
    }
    TakeTurns();
    if (sizing_ != nullptr && !sizing_->is_idle()) sizing_->TakeTurns(SteeredJobs());
    const bool is_sizing = sizing_ != nullptr && !sizing_->is_idle();
    const Clock::time_point next_turn = std::min(next_reading, Clock::now() + options_.turn);
    if (!orders_.Wait(is_sizing ? next_turn : next_reading, next_turn)) return;
  }
}

void Engine::Read() {
  const Clock::time_point begin = Clock::now();
  Result<ClusterState> state = reader_.ReadAll();
  const Status status = state.ok() ? OkStatus() : state.status();
  notes_.TellOnce("slurm",
                  status.ok()
                      ? status
                      : Status(status.code(),
                               "no reading, so no job and no host is touched until there is one: " + status.message()),
                  EndAbsence(status.ok()));
  const Seconds length(std::chrono::duration<double>(Clock::now() - begin).count());
  if (!state.ok()) {
    readings_.Note(status, length);
    return;
  }
  const auto shown = std::make_shared<const ClusterState>(*std::move(state));
  for (const std::string& host : hosts_.TakeNewUnknown(*shown)) {
    notes_.Tell(Severity::kWarning, "host " + host,
                "is a node of Slurm and not in the fabric: it and its jobs are not touched");
  }
  notes_.ForgetOtherJobs(shown->jobs);
  std::vector<controller::SteeringEvent> spares;
  for (const HostId host : hosts_.TakeNewSpares(*shown)) spares.emplace_back(controller::SpareOffered{host});
  orders_.Report(std::move(spares));
  const auto before = readings_.state();
  // Whoever sees that Slurm answers sees what it says, too.
  readings_.Show(shown, hosts_.num_unknown(), UnixTime());
  readings_.Note(status, length);
  if (before != nullptr) TellLiveChanges(*before, *shown);
  const std::vector<LostRun> lost = FindLostRuns(*shown);
  if (surroundings_.acts) Look(*shown, lost);
}

void Engine::TellLiveChanges(const ClusterState& before, const ClusterState& now) {
  for (const auto& [job, text] : WordsOfLiveChanges(before, now)) {
    notes_.Tell(Severity::kInfo, fmt::format("job {}", job), text);
    Account(job, std::nullopt, {.kind = "size", .text = text});
  }
}

std::vector<LostRun> Engine::FindLostRuns(const ClusterState& state) {
  if (!surroundings_.slurm_jobs) return {};
  const SimTime now = Now();
  std::vector<LostRun> lost = lost_.Look(state.jobs, surroundings_.slurm_jobs(), now);
  for (const LostRun& run : lost) {
    if (!run.is_news) continue;
    notes_.Tell(Severity::kWarning, fmt::format("job {}", run.job),
                WordsOfLostRun(run, *FindJob(state.jobs, run.job), now));
  }
  return lost;
}

SimTime Engine::Now() const { return options_.clock ? options_.clock() : service::SteadyUnixTime(); }

std::string Engine::EndAbsence(bool answers) {
  if (!answers && !away_since_.has_value()) away_since_ = Now();
  if (!answers || !away_since_.has_value()) return "";
  const SimDuration absence = Now() - *std::exchange(away_since_, std::nullopt);
  left_.Skip(absence);
  lost_.Forget();
  return fmt::format("answers again after {:.0f} s; nothing was touched meanwhile", absence.seconds().value());
}

void Engine::Look(const ClusterState& state, const std::vector<LostRun>& lost) {
  CleanUp(state);
  if (sizing_ != nullptr) sizing_->Look(state, SteeredJobs(), lost);
  if (!options_.alive_file.empty() || sizing_ != nullptr) {
    const std::set<uint32_t> steered = SteeredJobs();
    // One that runs needs no mark.
    const auto is_kept = [&](const Job& job) {
      const bool is_sized = sizing_ != nullptr && sizing_->Takes(job);
      return steered.contains(job.id) || (is_sized && (!job.has_hosts() || sizing_->IsUnderway(job.id)));
    };
    ReleaseHeldJobs(state.jobs, is_kept, &programs_, &notes_);
  }
  WriteAliveFile();
  const Status told = accounts_->TellComments(state.jobs);
  notes_.TellOnce("job comments", told);
}

void Engine::CleanUp(const ClusterState& state) {
  const std::set<std::string> busy = orders_.Subjects();
  const SimTime now = Now();
  const auto is_left = [&](const std::string& subject) {
    const std::string about = JobOrHostOf(subject);
    const std::optional<uint32_t> job = JobOfSubject(about);
    const bool is_sized = sizing_ != nullptr && job.has_value() && sizing_->IsUnderway(*job);
    return !busy.contains(about) && !is_sized && left_.Note(subject, now);
  };
  const auto notes = steps_.CleanUp(state, is_left);
  notes_.TellOnce("slurm clean-up", notes.ok() ? OkStatus() : notes.status());
  left_.EndLook(notes.ok());
  if (!notes.ok()) return;
  for (const std::string& what : *notes) notes_.Tell(Severity::kWarning, "slurm", what);
  const auto stopped = ReadStopped(*surroundings_.store);
  if (stopped.ok()) readings_.SetJobsStopped(stopped->size());
}

void Engine::WriteAliveFile() {
  if (options_.alive_file.empty()) return;
  notes_.TellOnce("alive file", WriteFileAtomically(options_.alive_file, fmt::format("{}\n", std::time(nullptr)),
                                                    Outlives::kProcess));
}

void Engine::TakeTurns() {
  for (const StepOrders::UnderwayStep& turn : orders_.Underway()) {
    if (orders_.is_over()) return;
    Result<StepProgress> progress = steps_.Go(turn.order);
    // An error may pass: Slurm, or the store, is away.
    StepProgress said = progress.ok() ? *std::move(progress)
                                      : StepProgress{StepProgress::Kind::kUnderway, progress.status().message(), {}};
    AccountForStep(turn.order, said);
    orders_.Take(turn, std::move(said), Clock::now());
  }
}

void Engine::Account(uint32_t job, std::optional<uint32_t> owner, AccountEntry entry) {
  const auto state = readings_.state();
  const Job* seen = state == nullptr ? nullptr : FindJob(state->jobs, job);
  if (!owner.has_value() && seen != nullptr) owner = seen->owner;
  // One that has ended, and is requeued.
  if (const auto known = accounts_->Of(job); !owner.has_value() && known.has_value()) owner = known->owner;
  if (!owner.has_value()) return;  // it is gone, and with it who would ask
  entry.at_s = UnixTime().seconds().value();
  notes_.TellOnce("job accounts", accounts_->Add(job, *owner, std::move(entry)));
}

void Engine::AccountForStep(const StepOrder& order, const StepProgress& progress) {
  const auto identity = model::ParseJobKey(order.job);
  const uint32_t job = identity.has_value() ? JobNumberOf(*identity) : 0;
  const std::string words = WordsOfStep(order, progress);
  if (job == 0 || words.empty()) return;
  Account(
      job, identity->owner,
      {.kind = "health", .text = words, .action = fmt::format("{} {}", order.action, controller::Name(order.step))});
}

std::set<uint32_t> Engine::SteeredJobs() const {
  std::set<uint32_t> jobs = orders_.Jobs();
  const auto stopped = ReadStopped(*surroundings_.store);
  if (stopped.ok()) {
    for (const StopJob& stop : *stopped) jobs.insert(stop.job);
  }
  // Of orders that are gone on with after a pause.
  const auto recorded = ReadIntentions(*surroundings_.store);
  if (recorded.ok()) {
    for (const auto& [number, operation] : *recorded) {
      if (const auto* stop = std::get_if<StopJob>(&operation)) jobs.insert(stop->job);
    }
  }
  return jobs;
}

}  // namespace fairlead::slurm

#include "slurm/steering_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string_view>

#include "base/printable_ascii.h"
#include "base/whole_number.h"
#include "service/steering/exec_hook.h"
#include "slurm/engine_notes.h"
#include "slurm/host_list.h"
#include "slurm/intention_records.h"
#include "slurm/job_wish.h"
#include "slurm/progress_file.h"

namespace fairlead::slurm {
namespace {

using Kind = StepProgress::Kind;

constexpr std::string_view kJobReservations = "fairlead_job_";
constexpr std::string_view kTestReservations = "fairlead_test_";
constexpr char kTestName[] = "fairlead-test";
constexpr int kTestTimedOut = 124;  // as timeout(1) has it
constexpr std::chrono::minutes kTestDeadline(14);
// slurmctld saves what changes within seconds. What is not as it was left after so long, somebody has changed.
constexpr int64_t kRememberedAfterS = 60;

StepProgress Done(std::string message) { return {Kind::kDone, std::move(message), {}}; }
StepProgress Underway(std::string message) { return {Kind::kUnderway, std::move(message), {}}; }
StepProgress Failed(std::string message) { return {Kind::kFailed, std::move(message), {}}; }
StepProgress Refused(std::string message) { return {Kind::kRefused, std::move(message), {}}; }
// What has failed for good is not tried again.
StepProgress Final(StepProgress progress) {
  if (progress.kind == Kind::kFailed) progress.kind = Kind::kRefused;
  return progress;
}

store::Change ReturnedNow(const std::string& host) { return {ReturnedKey(host), std::to_string(std::time(nullptr))}; }

std::string JobReservation(uint32_t job) { return fmt::format("{}{}", kJobReservations, job); }

// A name of nodes that is no list, range or word of Slurm's.
bool IsOneHost(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name != "ALL" && name[0] != '-' && std::ranges::all_of(name, is_plain);
}

// What srun returns is its own exit code where it could not begin, or was cut off: the test's stands in its last line.
Result<int> RunBySrun(const std::string& program, const std::string& host, const std::string& reservation,
                      const std::atomic<bool>& stop) {
  constexpr std::string_view kEnd = "fairlead-test ended with ";
  service::ExecHookOptions options;
  options.command = {"srun",        "--reservation=" + reservation,
                     "-w",          host,
                     "-N1",         "-n1",
                     "--exclusive", "--immediate=60",
                     "--time=12",   fmt::format("--job-name={}", kTestName),
                     "--chdir=/",   "sh",
                     "-c",          fmt::format("\"$0\"; echo; echo {}$?", kEnd),
                     program};
  options.deadline = kTestDeadline;
  options.stop = &stop;
  FL_ASSIGN_OR_RETURN(const service::ExecHookOutcome outcome, service::RunExecHook(options, ""));
  const size_t end = outcome.output.rfind(kEnd);
  const std::string_view said =
      end == std::string::npos ? "" : std::string_view(outcome.output).substr(end + kEnd.size());
  const auto code = ParseWhole<int>(said.substr(0, said.find('\n')));
  if (code.has_value()) return *code;
  // On a host that is well it would have ended.
  if (outcome.timed_out || outcome.output.find("DUE TO TIME LIMIT") != std::string::npos) return kTestTimedOut;
  return Unavailable(
      fmt::format("the test of {} did not come to its end: {}", host, PrintableAscii(outcome.output.substr(0, 300))));
}

}  // namespace

uint32_t JobNumberOf(const model::JobIdentity& job) {
  constexpr std::string_view kName = "slurm-";
  if (!job.is_owner_verified) return 0;
  if (job.slurm_job != 0) return job.slurm_job;
  if (!job.name.starts_with(kName)) return 0;
  uint32_t number = 0;
  const char* end = job.name.data() + job.name.size();
  const auto [stop, error] = std::from_chars(job.name.data() + kName.size(), end, number);
  return error == std::errc() && stop == end ? number : 0;
}

SteeringSteps::SteeringSteps(Programs* programs, store::Store* store, SteeringStepOptions options)
    : programs_(*programs),
      store_(*store),
      options_(std::move(options)),
      fabric_hosts_(options_.fabric_hosts.begin(), options_.fabric_hosts.end()),
      reader_(programs),
      writer_(programs, store, options_.writer) {}

SteeringSteps::~SteeringSteps() { is_over_ = true; }

Result<StepProgress> SteeringSteps::Go(const StepOrder& order) {
  const controller::SteeringStep& step = order.step;
  const bool is_about_host =
      !std::holds_alternative<controller::StopJob>(step) && !std::holds_alternative<controller::RestartJob>(step);
  if (is_about_host && !IsOneHost(order.host)) return Refused(fmt::format("'{}' is no name of a node", order.host));
  const bool returns = std::holds_alternative<controller::ReturnHost>(step);
  if (is_about_host && !returns) FL_RETURN_IF_ERROR(ForgetReturn(order.host));
  if (std::holds_alternative<controller::IsolateHost>(step)) return Isolate(order);
  if (std::holds_alternative<controller::StopJob>(step)) return Stop(order);
  if (std::holds_alternative<controller::TakeSpare>(step)) return TakeSpare(order);
  if (std::holds_alternative<controller::RestartJob>(step)) return Restart(order);
  if (std::holds_alternative<controller::TestHost>(step)) return Test(order);
  if (returns) return Return(order);
  return Refused("Slurm has no such step");
}

Result<SteeringSteps::CheckedJob> SteeringSteps::CheckJob(const StepOrder& order) {
  const auto refuse = [](std::string why) { return CheckedJob{std::nullopt, std::move(why), ""}; };
  const auto identity = model::ParseJobKey(order.job);
  if (!identity.has_value() || !identity->is_owner_verified) return refuse("the job's owner is not verified");
  const uint32_t number = JobNumberOf(*identity);
  if (number == 0) return refuse(fmt::format("job {} is no job of Slurm", order.job));
  const Result<Job> job = reader_.ReadJobLine(number);
  if (job.status().code() == StatusCode::kNotFound) return refuse(fmt::format("Slurm has no job {}", number));
  if (!job.ok()) return job.status();
  if (job->owner != identity->owner) {
    return refuse(fmt::format("job {} is of user {}, and processes of user {} call themselves by it", number,
                              job->owner, identity->owner));
  }
  for (const std::string& host : job->hosts) {
    if (!fabric_hosts_.contains(host))
      return refuse(fmt::format("job {} has {}, which is not in the fabric", number, host));
  }
  FL_ASSIGN_OR_RETURN(const Job details, reader_.ReadJob(number));
  const Result<JobWish> wish = ReadJobWish(details.comment);
  if (!wish.ok()) return refuse(fmt::format("job {}: {}", number, wish.status().message()));
  if (const std::string why = WhyNotRequeue(*wish, job->num_restarts); !why.empty()) {
    return refuse(fmt::format("job {}: {}", number, why));
  }
  return CheckedJob{*job, "", details.comment};
}

Result<bool> SteeringSteps::WaitsForCheckpoint(const Job& job, const std::string& comment) {
  const Result<ElasticWish> wish = ReadElasticWish(comment);
  if (!wish.ok() || wish->checkpoint_file.empty() || wish->progress_file.empty()) return false;
  const auto time_of = [&](const std::string& path) {
    return options_.file_time ? options_.file_time(path, job.owner) : TimeOfFile(path, job.owner);
  };
  const SimTime now = options_.now ? options_.now() : UnixTime();
  const auto asked = asked_.find(job.id);
  if (asked == asked_.end() || asked->second.num_restarts != job.num_restarts) {
    const std::optional<SimTime> steps = time_of(wish->progress_file);
    if (!steps.has_value() || now - *steps > options_.steps_go_on_within) return false;  // hangs: it would write none
    const std::optional<SimTime> before = time_of(wish->checkpoint_file);
    const auto answer = programs_.Run({"scancel", "--batch", "--signal=USR1", std::to_string(job.id)});
    if (answer.status().code() == StatusCode::kUnavailable) return answer.status();
    if (!answer.ok()) return false;  // it does not run any more
    asked_[job.id] = {job.num_restarts, now, before};
    return true;
  }
  const std::optional<SimTime> written = time_of(wish->checkpoint_file);
  const bool is_written = written.has_value() && written != asked->second.before;
  return !is_written && now - asked->second.at < options_.checkpoint_patience;
}

Result<std::optional<Operation>> SteeringSteps::FindRecorded(const std::string& subject) const {
  FL_ASSIGN_OR_RETURN(const auto recorded, ReadIntentions(store_));
  for (const auto& [number, operation] : recorded) {
    if (SubjectOf(operation) == subject) return std::optional<Operation>(operation);
  }
  return std::optional<Operation>();
}

Result<std::optional<StopJob>> SteeringSteps::FindStopped(uint32_t job) const {
  FL_ASSIGN_OR_RETURN(const auto all, ReadStopped(store_));
  const auto found = std::ranges::find(all, job, &StopJob::job);
  return found == all.end() ? std::nullopt : std::optional<StopJob>(*found);
}

Result<StepProgress> SteeringSteps::Carry(const Operation& operation, std::span<const store::Change> when_done) {
  FL_ASSIGN_OR_RETURN(const auto recorded, FindRecorded(SubjectOf(operation)));
  std::string message;
  // Of a step that was given up meanwhile.
  if (recorded.has_value() && IntentionText(*recorded) != IntentionText(operation)) {
    FL_RETURN_IF_ERROR(writer_.Abandon(*recorded, &message));
  }
  FL_ASSIGN_OR_RETURN(const Outcome outcome, writer_.Carry(operation, when_done));
  switch (outcome.kind) {
    case Outcome::Kind::kDone:
      return Done(outcome.message);
    case Outcome::Kind::kUnderway:
      return Underway(outcome.message);
    case Outcome::Kind::kGivenUp:
      break;
  }
  return Failed(outcome.message);
}

// ---- Reservations ----

// Reservations name their users.
std::string SteeringSteps::UserName(uint32_t user) const {
  if (options_.user_name) return options_.user_name(user);
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(size_t{16} * 1024);
  if (getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return "";
  return found->pw_name;
}

Result<std::optional<Reservation>> SteeringSteps::FindReservation(const std::string& name) {
  FL_ASSIGN_OR_RETURN(const std::vector<Reservation> all, reader_.ReadReservations());
  const auto found = std::ranges::find(all, name, &Reservation::name);
  return found == all.end() ? std::nullopt : std::optional<Reservation>(*found);
}

Result<StepProgress> SteeringSteps::ChangeReservation(const std::string& name, const std::vector<std::string>& in,
                                                      const std::vector<std::string>& out, const std::string& user) {
  FL_ASSIGN_OR_RETURN(const auto now, FindReservation(name));
  SetReservation wish = {.name = name, .hosts = {}, .users = {user}};
  if (now.has_value()) {
    wish.hosts = now->hosts;
    wish.users = now->users;
  }
  for (const std::string& host : in) {
    if (!Contains(wish.hosts, host)) wish.hosts.push_back(host);
  }
  std::erase_if(wish.hosts, [&out](const std::string& host) { return Contains(out, host); });
  return Carry(wish);
}

Result<StepProgress> SteeringSteps::TakeAgain(uint32_t job, const std::vector<std::string>& hosts,
                                              const std::string& user) {
  FL_ASSIGN_OR_RETURN(const std::vector<Reservation> all, reader_.ReadReservations());
  const auto guard = std::ranges::find(all, JobReservation(job), &Reservation::name);
  const bool is_kept = guard == all.end() ? user.empty() : std::ranges::all_of(hosts, [&](const std::string& host) {
    return Contains(guard->hosts, host);
  });
  if (!is_kept) {
    FL_ASSIGN_OR_RETURN(StepProgress in, ChangeReservation(JobReservation(job), hosts, {}, user));
    if (in.kind == Kind::kUnderway) return in;
  }
  const auto spares = std::ranges::find(all, options_.spares, &Reservation::name);
  const bool has_some = spares != all.end() && std::ranges::any_of(hosts, [&](const std::string& host) {
                          return Contains(spares->hosts, host);
                        });
  return has_some ? ChangeReservation(options_.spares, {}, hosts, "") : Done("");
}

Result<StepProgress> SteeringSteps::LeaveReservationOf(uint32_t job, uint32_t owner, StepProgress before) {
  FL_ASSIGN_OR_RETURN(StepProgress left, Carry(LeaveReservation{JobReservation(job), job, owner}));
  if (left.kind == Kind::kUnderway) return left;
  if (left.kind != Kind::kDone) before.message += "; " + left.message;
  return before;
}

// ---- Steps ----

Result<StepProgress> SteeringSteps::Isolate(const StepOrder& order) {
  const Result<Node> node = reader_.ReadNode(order.host);
  if (node.status().code() == StatusCode::kNotFound) return Refused(fmt::format("Slurm has no node {}", order.host));
  if (!node.ok()) return node.status();
  const DrainHost drain = {order.host, order.reason};
  // Done, or begun: the job was looked at then.
  FL_ASSIGN_OR_RETURN(const auto recorded, FindRecorded(SubjectOf(drain)));
  if (node->is_drained && !node->reason.starts_with(kOurReason)) return Carry(drain);  // and whoever did ends it
  if (node->is_drained || recorded.has_value()) return Drain(drain);
  FL_ASSIGN_OR_RETURN(const CheckedJob checked, CheckJob(order));
  if (!checked.job.has_value()) return Refused(checked.refusal);
  if (!Contains(checked.job->hosts, order.host)) {
    return Refused(fmt::format("job {} does not run on {}", checked.job->id, order.host));
  }
  const Result<StopJob> stop = MakeStopJob(*checked.job);
  if (!stop.ok()) return Refused(stop.status().message());
  return Drain(drain);
}

Result<StepProgress> SteeringSteps::Drain(const DrainHost& drain) {
  const store::Change isolated = {IsolatedKey(drain.host), fmt::format("{} {}", std::time(nullptr), drain.reason)};
  return Carry(drain, {&isolated, 1});
}

Result<StepProgress> SteeringSteps::Stop(const StepOrder& order) {
  const auto identity = model::ParseJobKey(order.job);
  const uint32_t number = identity.has_value() ? JobNumberOf(*identity) : 0;
  FL_ASSIGN_OR_RETURN(const auto stopped, FindStopped(number));
  if (stopped.has_value()) return Done(fmt::format("job {} is stopped", number));
  FL_ASSIGN_OR_RETURN(const auto recorded, FindRecorded(fmt::format("job {}", number)));
  if (recorded.has_value() && std::holds_alternative<StopJob>(*recorded)) {
    FL_ASSIGN_OR_RETURN(StepProgress progress, Carry(*recorded));
    return Final(std::move(progress));
  }
  FL_ASSIGN_OR_RETURN(const CheckedJob checked, CheckJob(order));
  if (!checked.job.has_value()) return Refused(checked.refusal);
  const Result<StopJob> stop = MakeStopJob(*checked.job);
  if (!stop.ok()) return Refused(stop.status().message());
  FL_ASSIGN_OR_RETURN(const bool waits, WaitsForCheckpoint(*checked.job, checked.comment));
  if (waits) return Underway(fmt::format("job {} is asked for a checkpoint", number));
  // Its hosts are free for a moment, and somebody may wait for them. Those that are drained are free for nobody.
  std::vector<std::string> kept;
  for (const std::string& host : checked.job->hosts) {
    FL_ASSIGN_OR_RETURN(const Node node, reader_.ReadNode(host));
    if ((node.is_up || node.is_unknown) && !node.is_drained) kept.push_back(host);
  }
  std::string note;
  const std::string user = UserName(checked.job->owner);
  if (!user.empty() && !kept.empty()) {
    FL_ASSIGN_OR_RETURN(const StepProgress guard, ChangeReservation(JobReservation(number), kept, {}, user));
    if (guard.kind != Kind::kDone) note = "; its hosts are not reserved: " + guard.message;
  }
  FL_ASSIGN_OR_RETURN(StepProgress progress, Carry(*stop));
  asked_.erase(number);
  progress.message += note;
  return Final(std::move(progress));
}

Result<StepProgress> SteeringSteps::TakeSpare(const StepOrder& order) {
  const Result<Node> node = reader_.ReadNode(order.host);
  if (node.status().code() == StatusCode::kNotFound) return Refused(fmt::format("Slurm has no node {}", order.host));
  if (!node.ok()) return node.status();
  if (node->is_unknown) return Underway(fmt::format("Slurm has not heard of {} yet", order.host));
  if (!node->is_up || node->is_drained) return Refused(fmt::format("{} is not open to jobs", order.host));
  if (node->is_busy) return Refused(fmt::format("{} has other jobs", order.host));
  const auto identity = model::ParseJobKey(order.job);
  const uint32_t number = identity.has_value() ? JobNumberOf(*identity) : 0;
  std::string message = order.host + " is taken";
  FL_ASSIGN_OR_RETURN(const auto guard, FindReservation(JobReservation(number)));
  if (guard.has_value()) {
    FL_ASSIGN_OR_RETURN(const StepProgress in, ChangeReservation(guard->name, {order.host}, {}, ""));
    if (in.kind != Kind::kDone) message += "; it is not reserved: " + in.message;
  }
  if (!options_.spares.empty()) {
    FL_ASSIGN_OR_RETURN(const auto spares, FindReservation(options_.spares));
    if (spares.has_value() && Contains(spares->hosts, order.host)) {
      FL_ASSIGN_OR_RETURN(StepProgress out, ChangeReservation(options_.spares, {}, {order.host}, ""));
      if (out.kind != Kind::kDone) return out;
    }
  }
  return Done(message);
}

Result<StepProgress> SteeringSteps::Restart(const StepOrder& order) {
  const auto identity = model::ParseJobKey(order.job);
  const uint32_t number = identity.has_value() ? JobNumberOf(*identity) : 0;
  if (number == 0) return Refused(fmt::format("job {} is no job of Slurm", order.job));
  const Result<Job> job = reader_.ReadJobLine(number);
  if (job.status().code() == StatusCode::kNotFound) return Refused(fmt::format("Slurm has no job {}", number));
  if (!job.ok()) return job.status();
  const uint32_t owner = identity->owner;
  FL_ASSIGN_OR_RETURN(const auto recorded, FindRecorded(fmt::format("job {}", number)));
  const auto* place = recorded.has_value() ? std::get_if<PlaceJob>(&*recorded) : nullptr;
  FL_ASSIGN_OR_RETURN(const auto stopped, FindStopped(number));
  if (place == nullptr && !stopped.has_value()) {
    const bool runs = job->has_hosts() && std::set(job->hosts.begin(), job->hosts.end()) ==
                                              std::set(order.hosts.begin(), order.hosts.end());
    if (!runs) return Refused(fmt::format("job {} is not stopped by us", number));
    return LeaveReservationOf(number, owner,
                              Done(fmt::format("job {} runs on {}", number, fmt::join(job->hosts, ","))));
  }
  if (!job->has_hosts()) {
    const std::string user = place != nullptr && !place->reservation.empty() ? UserName(owner) : "";
    FL_ASSIGN_OR_RETURN(StepProgress taken, TakeAgain(number, place != nullptr ? place->hosts : order.hosts, user));
    if (taken.kind != Kind::kDone) return taken;
  }
  PlaceJob made;
  if (place != nullptr) {
    made = *place;
  } else {
    const Result<PlaceJob> planned = MakePlaceJob(*stopped, *job, order.hosts);
    if (!planned.ok()) return Refused(planned.status().message());
    made = *planned;
    FL_ASSIGN_OR_RETURN(const auto guard, FindReservation(JobReservation(number)));
    const bool has_all = guard.has_value() && std::ranges::all_of(order.hosts, [&guard](const std::string& host) {
                           return Contains(guard->hosts, host);
                         });
    if (has_all) made.reservation = guard->name;
    // A job outside of it would wait for its own hosts.
    if (guard.has_value() && !has_all) {
      FL_ASSIGN_OR_RETURN(const StepProgress gone, Carry(LeaveReservation{guard->name, number, owner}));
      if (gone.kind != Kind::kDone) return gone;
    }
  }
  FL_ASSIGN_OR_RETURN(StepProgress progress, Carry(made));
  if (progress.kind == Kind::kUnderway) return progress;
  return LeaveReservationOf(number, owner, Final(std::move(progress)));
}

Result<StepProgress> SteeringSteps::Test(const StepOrder& order) {
  const std::string& host = order.host;
  const std::string reservation = fmt::format("{}{}", kTestReservations, host);
  if (options_.test_program.empty()) return Refused(fmt::format("no test is set up: {} stays isolated", host));
  if (const auto test = tests_.find(host); test != tests_.end()) {
    if (test->second.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return Underway("the test runs");
    FL_ASSIGN_OR_RETURN(StepProgress end, EndTest(order, test->second.get()));
    if (end.kind != Kind::kUnderway) tests_.erase(test);
    return end;
  }
  FL_ASSIGN_OR_RETURN(const Node node, reader_.ReadNode(host));
  FL_ASSIGN_OR_RETURN(const auto begun, FindReservation(reservation));
  if (!begun.has_value()) {
    FL_ASSIGN_OR_RETURN(const auto isolated, store_.List(IsolatedKey(host)));
    const bool is_forgotten =
        std::ranges::any_of(isolated, [&host](const auto& record) { return record.key == IsolatedKey(host); });
    if (!node.is_drained && is_forgotten) return Underway(fmt::format("{} is isolated once more", host));
    if (!node.is_drained) return Refused(fmt::format("{} is not isolated", host));
    if (!node.reason.starts_with(kOurReason)) return Refused(fmt::format("{} was drained by somebody else", host));
    if (node.is_busy) return Underway(fmt::format("jobs still run on {}", host));
  }
  FL_RETURN_IF_ERROR(ForgetIsolation(host));
  FL_ASSIGN_OR_RETURN(StepProgress reserved, ChangeReservation(reservation, {host}, {}, UserName(geteuid())));
  if (reserved.kind != Kind::kDone) return reserved;
  FL_ASSIGN_OR_RETURN(StepProgress opened, Carry(slurm::ReturnHost{host}));
  if (opened.kind != Kind::kDone) return opened;
  tests_[host] = std::async(std::launch::async, [this, host, reservation]() -> Result<int> {
                   if (options_.run_test) return options_.run_test(host, reservation, is_over_);
                   return RunBySrun(options_.test_program, host, reservation, is_over_);
                 }).share();
  return Underway("the test begins");
}

Result<StepProgress> SteeringSteps::EndTest(const StepOrder& order, const Result<int>& exit_code) {
  const bool is_well = exit_code.ok() && *exit_code == 0;
  const char* const found = is_well ? "tested: well" : exit_code.ok() ? "tested: not well" : "its test was cut off";
  // First drained, then let out of the reservation: nothing starts there in between.
  FL_ASSIGN_OR_RETURN(StepProgress drained, Carry(DrainHost{order.host, found}));
  if (drained.kind != Kind::kDone) return drained;
  FL_ASSIGN_OR_RETURN(StepProgress gone,
                      Carry(SetReservation{fmt::format("{}{}", kTestReservations, order.host), {}, {}}));
  if (gone.kind != Kind::kDone) return gone;
  if (!exit_code.ok()) return Failed(exit_code.status().message());
  StepProgress done = Done(is_well ? "passed its test" : fmt::format("its test ended with {}", *exit_code));
  done.is_healthy = is_well;
  return done;
}

Result<StepProgress> SteeringSteps::Return(const StepOrder& order) {
  const Result<Node> node = reader_.ReadNode(order.host);
  if (node.status().code() == StatusCode::kNotFound) return Refused(fmt::format("Slurm has no node {}", order.host));
  if (!node.ok()) return node.status();
  if (node->is_drained && !node->reason.starts_with(kOurReason)) {
    return Refused(fmt::format("{} was drained by somebody else: {}", order.host, node->reason));
  }
  FL_RETURN_IF_ERROR(ForgetIsolation(order.host));
  std::string note;
  if (!options_.spares.empty() && node->is_drained) {
    FL_ASSIGN_OR_RETURN(const StepProgress in,
                        ChangeReservation(options_.spares, {order.host}, {}, UserName(geteuid())));
    if (in.kind != Kind::kDone) note = fmt::format("; it is not in {}: {}", options_.spares, in.message);
  }
  const store::Change returned = ReturnedNow(order.host);
  FL_ASSIGN_OR_RETURN(StepProgress progress, Carry(slurm::ReturnHost{order.host}, {&returned, 1}));
  progress.message += note;
  return progress;
}

// ---- What Slurm has forgotten ----

Status SteeringSteps::ForgetRecord(const std::string& key) {
  FL_ASSIGN_OR_RETURN(const auto records, store_.List(key));
  if (std::ranges::none_of(records, [&key](const auto& record) { return record.key == key; })) return OkStatus();
  const store::Change change = {key, std::nullopt};
  return store_.Apply({&change, 1});
}

Status SteeringSteps::RepeatIsolations(std::vector<std::string>* notes) {
  FL_ASSIGN_OR_RETURN(const auto records, store_.List(IsolatedKey("")));
  for (const auto& record : records) {
    const std::string host = record.key.substr(IsolatedKey("").size());
    const size_t blank = std::min(record.value.find(' '), record.value.size());
    const auto at = ParseWhole<int64_t>(std::string_view(record.value).substr(0, blank));
    const Result<Node> node = reader_.ReadNode(host);
    if (!node.ok() && node.status().code() != StatusCode::kNotFound) return node.status();
    const bool is_kept = node.ok() && at.has_value() && std::time(nullptr) - *at <= kRememberedAfterS;
    if (!is_kept) FL_RETURN_IF_ERROR(ForgetIsolation(host));
    if (!is_kept || node->is_drained) continue;
    const std::string reason = record.value.substr(std::min(blank + 1, record.value.size()));
    FL_ASSIGN_OR_RETURN(const StepProgress drained, Carry(DrainHost{host, reason}));
    if (drained.kind == Kind::kDone) notes->push_back(host + " is isolated once more: Slurm had forgotten it");
  }
  return OkStatus();
}

Status SteeringSteps::ReleaseForgotten(const ClusterState& state, std::vector<std::string>* notes) {
  FL_ASSIGN_OR_RETURN(const auto released, ReadReleased(store_));
  std::vector<store::Change> remembered;
  for (const ReleasedJob& one : released) {
    if (std::time(nullptr) - one.at > kRememberedAfterS)
      remembered.push_back({ReleasedKey(one.stop.job), std::nullopt});
  }
  if (!remembered.empty()) FL_RETURN_IF_ERROR(store_.Apply(remembered));
  std::map<uint32_t, const StopJob*> stops;  // [job that was released]
  for (const ReleasedJob& one : released) stops[one.stop.job] = &one.stop;
  std::vector<const Job*> ours;
  for (const Job& job : state.jobs) {
    const auto stop = job.is_held ? stops.find(job.id) : stops.end();
    // Whoever stops it again, requeues it again.
    const bool is_forgotten = stop != stops.end() && stop->second->owner == job.owner &&
                              stop->second->num_restarts + 1 == job.num_restarts && !IsHeldByOthers(job);
    if (is_forgotten || job.admin_comment == kStoppedMark) ours.push_back(&job);
  }
  if (ours.empty() && released.empty()) return OkStatus();  // nearly always
  FL_ASSIGN_OR_RETURN(const auto recorded, ReadIntentions(store_));
  FL_ASSIGN_OR_RETURN(const auto stopped, ReadStopped(store_));
  std::set<std::string> under_way;
  for (const auto& [number, operation] : recorded) under_way.insert(SubjectOf(operation));
  for (const StopJob& stop : stopped) under_way.insert(SubjectOf(stop));
  const auto is_under_way = [&](uint32_t job) { return under_way.contains(fmt::format("job {}", job)); };
  for (const Job* job : ours) {
    if (!is_under_way(job->id)) FL_RETURN_IF_ERROR(LetGo(job->id, notes));
  }
  std::set<std::string> reservations;
  for (const Reservation& reservation : state.reservations) reservations.insert(reservation.name);
  for (const ReleasedJob& one : released) {
    const std::string name = JobReservation(one.stop.job);
    if (!reservations.contains(name) || is_under_way(one.stop.job)) continue;
    FL_ASSIGN_OR_RETURN(const StepProgress gone, Carry(LeaveReservation{name, one.stop.job, one.stop.owner}));
    if (gone.kind == Kind::kDone) notes->push_back(fmt::format("reservation {} is deleted", name));
  }
  return OkStatus();
}

Status SteeringSteps::LetGo(uint32_t id, std::vector<std::string>* notes) {
  const Result<Job> job = reader_.ReadJobLine(id);
  if (job.status().code() == StatusCode::kNotFound) return OkStatus();
  if (!job.ok()) return job.status();
  if (IsHeldByOthers(*job)) return OkStatus();
  FL_ASSIGN_OR_RETURN(const StepProgress left, Carry(LeaveReservation{JobReservation(id), id, job->owner}));
  if (left.kind != Kind::kDone) return OkStatus();
  for (const Command& command : PlanLetGo(*job)) {
    const auto answer = programs_.Run(command);
    if (answer.status().code() == StatusCode::kUnavailable) return answer.status();
    if (!answer.ok()) return OkStatus();  // it has changed since: the next look will tell
  }
  if (job->is_held) notes->push_back(fmt::format("job {} is released: Slurm had forgotten that", id));
  return OkStatus();
}

Status SteeringSteps::EndLeftTests(const std::vector<Job>& jobs, std::vector<std::string>* notes) {
  const auto may_be_test = [this](const Job& job) {
    return job.owner == geteuid() && job.has_hosts() && job.hosts.size() == 1 && !tests_.contains(job.hosts[0]);
  };
  if (options_.test_program.empty() || std::ranges::none_of(jobs, may_be_test)) return OkStatus();
  FL_ASSIGN_OR_RETURN(const std::vector<Job> tests, reader_.ReadJobsOf(geteuid(), kTestName));
  for (const Job& job : tests) {
    if (!may_be_test(job)) continue;
    const auto answer = programs_.Run({"scancel", std::to_string(job.id)});
    if (answer.status().code() == StatusCode::kUnavailable) return answer.status();
    if (answer.ok())
      notes->push_back(fmt::format("job {}, a test of {} that nobody waits for, is ended", job.id, job.hosts[0]));
  }
  return OkStatus();
}

Status SteeringSteps::RepeatReturns(const std::vector<Reservation>& reservations, std::vector<std::string>* notes) {
  FL_ASSIGN_OR_RETURN(const auto records, store_.List(ReturnedKey("")));
  for (const auto& record : records) {
    const std::string host = record.key.substr(ReturnedKey("").size());
    const auto at = ParseWhole<int64_t>(record.value);
    const bool is_kept = at.has_value() && std::time(nullptr) - *at <= kRememberedAfterS;
    FL_RETURN_IF_ERROR(is_kept ? RepeatReturn(host, reservations, notes) : ForgetReturn(host));
  }
  return OkStatus();
}

Status SteeringSteps::RepeatReturn(const std::string& host, const std::vector<Reservation>& reservations,
                                   std::vector<std::string>* notes) {
  const std::string test = fmt::format("{}{}", kTestReservations, host);
  bool is_tested = false;
  bool is_spare = options_.spares.empty();
  for (const Reservation& one : reservations) {
    is_tested |= one.name == test;
    is_spare |= one.name == options_.spares && std::ranges::find(one.hosts, host) != one.hosts.end();
  }
  const Result<Node> node = reader_.ReadNode(host);
  if (node.status().code() == StatusCode::kNotFound) return ForgetReturn(host);
  if (!node.ok()) return node.status();
  if (tests_.contains(host) || (is_spare && !is_tested && !node->is_drained)) return OkStatus();
  // What others have done to it since is no forgetting.
  const bool is_open = !node->is_drained && !is_tested;
  if ((node->is_drained && !node->reason.starts_with(kOurReason)) || (node->is_busy && is_open)) {
    return ForgetReturn(host);
  }
  if (node->is_busy) {  // by what had ended: until that has ended again
    const store::Change returned = ReturnedNow(host);
    return store_.Apply({&returned, 1});
  }
  // First drained, then let out of the reservation: nothing starts there in between.
  FL_ASSIGN_OR_RETURN(const StepProgress drained, Carry(DrainHost{host, "tested: well"}));
  if (drained.kind != Kind::kDone) return OkStatus();
  if (is_tested) {
    FL_ASSIGN_OR_RETURN(const StepProgress gone, Carry(SetReservation{test, {}, {}}));
    if (gone.kind != Kind::kDone) return OkStatus();
  }
  StepOrder again;
  again.step = controller::ReturnHost{};
  again.host = host;
  FL_ASSIGN_OR_RETURN(const StepProgress returned, Return(again));
  if (returned.kind == Kind::kDone) notes->push_back(host + " is returned once more: Slurm had forgotten it");
  return OkStatus();
}

// ---- What is left ----

Result<std::vector<std::string>> SteeringSteps::CleanUp(const ClusterState& state, const IsLeft& is_left) {
  std::vector<std::string> notes;
  FL_RETURN_IF_ERROR(ReleaseForgotten(state, &notes));
  FL_RETURN_IF_ERROR(EndLeftTests(state.jobs, &notes));
  FL_RETURN_IF_ERROR(RepeatIsolations(&notes));
  FL_RETURN_IF_ERROR(RepeatReturns(state.reservations, &notes));
  FL_ASSIGN_OR_RETURN(const auto recorded, ReadIntentions(store_));
  for (const auto& [number, operation] : recorded) {
    if (!is_left(SubjectOf(operation))) continue;
    std::string message;
    FL_RETURN_IF_ERROR(writer_.Abandon(operation, &message));
    notes.push_back(fmt::format("{}: {}", Describe(operation), message));
  }
  FL_ASSIGN_OR_RETURN(const auto stopped, ReadStopped(store_));
  for (const StopJob& stop : stopped) {
    if (is_left(SubjectOf(stop))) FL_RETURN_IF_ERROR(CleanUpStop(stop, &notes));
  }
  for (const Reservation& reservation : state.reservations) {
    if (is_left("reservation " + reservation.name))
      FL_RETURN_IF_ERROR(CleanUpReservation(reservation, is_left, &notes));
  }
  return notes;
}

Status SteeringSteps::CleanUpStop(const StopJob& stop, std::vector<std::string>* notes) {
  FL_ASSIGN_OR_RETURN(const StepProgress left, Carry(LeaveReservation{JobReservation(stop.job), stop.job, stop.owner}));
  if (left.kind != Kind::kDone) return OkStatus();
  std::string message;
  FL_RETURN_IF_ERROR(writer_.ReleaseStopped(stop, &message));
  notes->push_back(message + ": nobody has placed it");
  return OkStatus();
}

Status SteeringSteps::CleanUpReservation(const Reservation& reservation, const IsLeft& is_left,
                                         std::vector<std::string>* notes) {
  const std::string_view name = reservation.name;
  const auto number_after = [name](std::string_view prefix) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
    return error == std::errc() && end == name.data() + name.size() ? number : 0;
  };
  if (name.starts_with(kTestReservations)) {
    const std::string host(name.substr(kTestReservations.size()));
    if (reservation.hosts != std::vector<std::string>{host} || tests_.contains(host)) return OkStatus();
    FL_ASSIGN_OR_RETURN(const StepProgress drained, Carry(DrainHost{host, "its test was cut off"}));
    if (drained.kind != Kind::kDone) return OkStatus();
    FL_ASSIGN_OR_RETURN(const StepProgress gone, Carry(SetReservation{reservation.name, {}, {}}));
    if (gone.kind == Kind::kDone) notes->push_back(host + " is isolated again: its test was cut off");
  } else if (const uint32_t number = name.starts_with(kJobReservations) ? number_after(kJobReservations) : 0;
             number != 0) {
    FL_ASSIGN_OR_RETURN(const auto stopped, FindStopped(number));
    FL_ASSIGN_OR_RETURN(const auto now, FindReservation(reservation.name));
    if (stopped.has_value() || !now.has_value() || !is_left(fmt::format("job {}", number))) return OkStatus();
    const Result<Job> job = reader_.ReadJobLine(number);
    if (!job.ok() && job.status().code() != StatusCode::kNotFound) return job.status();
    FL_ASSIGN_OR_RETURN(const StepProgress gone,
                        Carry(LeaveReservation{reservation.name, number, job.ok() ? job->owner : 0}));
    if (gone.kind == Kind::kDone) notes->push_back(fmt::format("reservation {} is deleted", name));
  }
  return OkStatus();
}

}  // namespace fairlead::slurm

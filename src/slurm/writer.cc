#include "slurm/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <thread>
#include <utility>

#include "slurm/intention_records.h"

namespace fairlead::slurm {
namespace {

// A thing that Slurm does not have is a thing that is missing, not an error.
template <class Thing>
Status Take(Result<Thing> found, std::optional<Thing>* thing) {
  if (!found.ok()) return found.status().code() == StatusCode::kNotFound ? OkStatus() : found.status();
  *thing = *std::move(found);
  return OkStatus();
}

}  // namespace

Writer::Writer(Programs* programs, store::Store* store, const WriterOptions& options)
    : programs_(*programs), store_(*store), reader_(programs), options_(options) {
  if (!options_.sleep) options_.sleep = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); };
}

Result<Outcome> Writer::Carry(const Operation& operation, std::span<const store::Change> when_done) {
  FL_ASSIGN_OR_RETURN(const auto recorded, ReadIntentions(store_));
  for (const auto& [earlier, other] : recorded) {
    if (SubjectOf(other) != SubjectOf(operation)) continue;
    if (IntentionText(other) == IntentionText(operation)) return Go(earlier, operation, when_done);
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("can't {}: {} is under way", Describe(operation), Describe(other)));
  }
  const uint64_t number = NextIntention(recorded);
  const store::Change change = {IntentionKey(number), IntentionText(operation)};
  FL_RETURN_IF_ERROR(store_.Apply({&change, 1}));
  return Go(number, operation, when_done);
}

Result<std::vector<Writer::Resumed>> Writer::Resume() {
  FL_ASSIGN_OR_RETURN(const auto recorded, ReadIntentions(store_));
  std::vector<Resumed> resumed;
  for (const auto& [number, operation] : recorded) {
    FL_ASSIGN_OR_RETURN(Outcome outcome, Go(number, operation, {}));
    resumed.push_back({operation, std::move(outcome)});
  }
  return resumed;
}

Result<Outcome> Writer::Go(uint64_t number, const Operation& operation, std::span<const store::Change> when_done) {
  uint32_t num_refusals = 0;
  uint32_t num_steps = 0;
  std::string message;
  for (uint32_t look = 0; look < options_.num_looks_max; ++look) {
    FL_ASSIGN_OR_RETURN(const Observation seen, Look(operation));
    const Step step = PlanStep(operation, seen);
    message = step.message;
    switch (step.kind) {
      case Step::Kind::kDone:
        return End(number, operation, {Outcome::Kind::kDone, message}, when_done);
      case Step::Kind::kGiveUp:
        return End(number, operation, {Outcome::Kind::kGivenUp, message}, {});
      case Step::Kind::kWait:
        options_.sleep(options_.pause);
        break;
      case Step::Kind::kRun:
        if (++num_steps > options_.num_steps_max) {
          return End(number, operation, {Outcome::Kind::kGivenUp, message + ", again and again, without effect"}, {});
        }
        FL_ASSIGN_OR_RETURN(const bool is_refused, RunAll(step.commands, &message));
        if (!is_refused) break;
        if (++num_refusals > options_.num_refusals_max) {
          return End(number, operation, {Outcome::Kind::kGivenUp, message}, {});
        }
        options_.sleep(options_.pause);
        break;
    }
  }
  return Outcome{Outcome::Kind::kUnderway, message};
}

Result<bool> Writer::RunAll(const std::vector<Command>& commands, std::string* refusal) {
  for (const Command& command : commands) {
    const Result<std::string> answer = programs_.Run(command);
    if (answer.ok()) continue;
    if (answer.status().code() == StatusCode::kUnavailable) return answer.status();
    *refusal = answer.status().message();
    return true;
  }
  return false;
}

Result<Outcome> Writer::End(uint64_t number, const Operation& operation, Outcome outcome,
                            std::span<const store::Change> when_done) {
  bool is_held = false;
  bool has_released = false;
  if (outcome.kind == Outcome::Kind::kGivenUp) {
    FL_ASSIGN_OR_RETURN(const Observation seen, Look(operation));
    const std::vector<Command> release = PlanRelease(operation, seen);
    std::string refusal;
    FL_ASSIGN_OR_RETURN(is_held, RunAll(release, &refusal));
    has_released = !release.empty() && !is_held;
    if (is_held) outcome.message += fmt::format("; it stays held: {}", refusal);
  }
  std::vector<store::Change> changes(when_done.begin(), when_done.end());
  changes.push_back({IntentionKey(number), std::nullopt});
  const auto* stop = std::get_if<StopJob>(&operation);
  const auto* place = std::get_if<PlaceJob>(&operation);
  if (stop != nullptr && outcome.kind == Outcome::Kind::kDone) {
    changes.push_back({StoppedKey(stop->job), IntentionText(operation)});
  }
  if (place != nullptr && !is_held) FL_RETURN_IF_ERROR(ForgetStop(place->job, &changes));
  // One that was stopped, and is taken back.
  if (stop != nullptr && outcome.kind == Outcome::Kind::kGivenUp && has_released) {
    changes.push_back({ReleasedKey(stop->job), ReleasedText({*stop, std::time(nullptr)})});
  }
  FL_RETURN_IF_ERROR(store_.Apply(changes));
  return outcome;
}

Status Writer::ForgetStop(uint32_t job, std::vector<store::Change>* changes) const {
  FL_ASSIGN_OR_RETURN(const auto all, ReadStopped(store_));
  const auto stop = std::ranges::find(all, job, &StopJob::job);
  if (stop == all.end()) return OkStatus();
  changes->push_back({StoppedKey(job), std::nullopt});
  changes->push_back({ReleasedKey(job), ReleasedText({*stop, std::time(nullptr)})});
  return OkStatus();
}

Status Writer::Abandon(const Operation& operation, std::string* message) {
  FL_ASSIGN_OR_RETURN(const auto recorded, ReadIntentions(store_));
  for (const auto& [number, other] : recorded) {
    if (IntentionText(other) != IntentionText(operation)) continue;
    FL_ASSIGN_OR_RETURN(const Outcome outcome, End(number, operation, {Outcome::Kind::kGivenUp, "taken back"}, {}));
    *message = outcome.message;
  }
  return OkStatus();
}

Status Writer::AbandonSubject(const std::string& subject) {
  FL_ASSIGN_OR_RETURN(const auto recorded, ReadIntentions(store_));
  for (const auto& [number, operation] : recorded) {
    std::string message;
    if (SubjectOf(operation) == subject) FL_RETURN_IF_ERROR(Abandon(operation, &message));
  }
  return OkStatus();
}

Status Writer::ReleaseStopped(const StopJob& stopped, std::string* message) {
  FL_ASSIGN_OR_RETURN(const Observation seen, Look(stopped));
  const std::vector<Command> commands = PlanRelease(stopped, seen);
  *message = commands.empty() ? fmt::format("job {} is not held any more", stopped.job)
                              : fmt::format("job {} is released", stopped.job);
  std::string refusal;
  FL_ASSIGN_OR_RETURN(const bool is_refused, RunAll(commands, &refusal));
  if (is_refused) return {StatusCode::kFailedPrecondition, refusal};
  std::vector<store::Change> changes;
  FL_RETURN_IF_ERROR(ForgetStop(stopped.job, &changes));
  return changes.empty() ? OkStatus() : store_.Apply(changes);
}

Result<Observation> Writer::Look(const Operation& operation) {
  Observation seen;
  if (const auto host = HostOf(operation)) FL_RETURN_IF_ERROR(Take(reader_.ReadNode(*host), &seen.node));
  if (const auto job = JobOf(operation)) FL_RETURN_IF_ERROR(Take(reader_.ReadJobLine(*job), &seen.job));
  if (std::holds_alternative<SetComment>(operation) && seen.job.has_value() && seen.job->is_single) {
    std::optional<std::string> comment;
    FL_RETURN_IF_ERROR(Take(reader_.ReadComment(seen.job->id), &comment));
    if (!comment.has_value()) seen.job.reset();
    if (comment.has_value()) seen.job->comment = *std::move(comment);
  }
  if (const auto name = ReservationOf(operation)) {
    FL_ASSIGN_OR_RETURN(const auto reservations, reader_.ReadReservations());
    for (const Reservation& one : reservations) {
      if (one.name == *name) seen.reservation = one;
    }
  }
  return seen;
}

}  // namespace fairlead::slurm

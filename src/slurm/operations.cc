#include "slurm/operations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/overloaded.h"
#include "base/printable_ascii.h"
#include "base/whole_number.h"
#include "slurm/job_comment.h"
#include "slurm/job_wish.h"

namespace fairlead::slurm {
namespace {

constexpr size_t kReasonBytesMax = 180;
// What a requeued job waits for: long enough for the old credential to be over, which the same second's is not.
constexpr char kStartSoon[] = "StartTime=now+2";

Step Run(std::vector<Command> commands, std::string message) {
  return {Step::Kind::kRun, std::move(commands), std::move(message)};
}
Step Wait(std::string message) { return {Step::Kind::kWait, {}, std::move(message)}; }
Step IsSo(std::string message) { return {Step::Kind::kDone, {}, std::move(message)}; }
Step GiveUp(std::string message) { return {Step::Kind::kGiveUp, {}, std::move(message)}; }

std::string Joined(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ",")); }

bool IsSubset(const std::vector<std::string>& some, const std::vector<std::string>& all) {
  return std::ranges::all_of(some, [&all](const auto& one) { return std::ranges::find(all, one) != all.end(); });
}

bool AreSame(const std::vector<std::string>& left, const std::vector<std::string>& right) {
  return std::set(left.begin(), left.end()) == std::set(right.begin(), right.end());
}

std::string ReasonText(std::string_view reason) {
  std::string text = PrintableAscii(fmt::format("{} {}", kOurReason, reason.substr(0, kReasonBytesMax)));
  std::ranges::replace(text, '"', '?');
  return text;
}

// ---- Hosts ----

Step PlanDrain(const DrainHost& drain, const std::optional<Node>& node) {
  if (!node.has_value()) return GiveUp(fmt::format("Slurm has no node {}", drain.host));
  if (node->is_drained) return IsSo(fmt::format("{} is drained: {}", drain.host, node->reason));
  return Run({{"scontrol", "update", "NodeName=" + drain.host, "State=DRAIN", "Reason=" + ReasonText(drain.reason)}},
             fmt::format("drain {}", drain.host));
}

Step PlanReturn(const ReturnHost& back, const std::optional<Node>& node) {
  if (!node.has_value()) return GiveUp(fmt::format("Slurm has no node {}", back.host));
  if (!node->is_drained) return IsSo(fmt::format("{} is open to jobs", back.host));
  if (!node->reason.starts_with(kOurReason)) {
    return GiveUp(fmt::format("{} was drained by somebody else: {}", back.host, node->reason));
  }
  return Run({{"scontrol", "update", "NodeName=" + back.host, "State=RESUME"}}, fmt::format("resume {}", back.host));
}

// ---- Jobs ----

// Why the job of that number is not the one that was meant, or is none any more; empty: it is.
std::string WhyNot(const std::optional<Job>& job, uint32_t id, uint32_t owner) {
  if (!job.has_value()) return fmt::format("Slurm has no job {} any more", id);
  if (job->owner != owner) return fmt::format("job {} is of user {} now, not of {}", id, job->owner, owner);
  if (job->state == JobState::kEnded) return fmt::format("job {} has ended", id);
  return "";
}

uint32_t MostNodes(const PlaceJob& place) { return std::max(place.num_nodes, place.num_nodes_max); }

bool IsAsWanted(const PlaceJob& place, const Job& job) {
  const bool is_size = job.num_nodes >= place.num_nodes && job.num_nodes <= MostNodes(place);
  return is_size && job.hosts.size() == job.num_nodes && IsSubset(place.hosts, job.hosts) &&
         std::ranges::none_of(place.excluded_hosts, [&job](const auto& host) {
           return std::ranges::find(job.hosts, host) != job.hosts.end();
         });
}

Command UpdateCommand(const PlaceJob& place) {
  Command command = {"scontrol",
                     "update",
                     fmt::format("JobId={}", place.job),
                     fmt::format("NumNodes={}-{}", place.num_nodes, MostNodes(place)),
                     fmt::format("NumTasks={}", uint64_t{place.num_nodes} * place.tasks_per_node),
                     fmt::format("NumCPUs={}", uint64_t{place.num_nodes} * place.cpus_per_node),
                     "ReqNodeList=" + Joined(place.hosts),
                     "ExcNodeList=" + Joined(place.excluded_hosts),
                     kStartSoon};
  if (!place.reservation.empty()) command.push_back("ReservationName=" + place.reservation);
  return command;
}

Command CommentCommand(const Job& job, const std::string& admin_comment) {
  return {"scontrol", "update", fmt::format("JobId={}", job.id), "AdminComment=" + admin_comment};
}

Command UnmarkCommand(const Job& job) {
  return CommentCommand(job, job.admin_comment == kStoppedMark ? "" : MarkReleased(job.admin_comment));
}

// The job is held by us, or runs and is to be: it is marked first, so that no hold of ours is without its mark. What
// others have written there is theirs, and stays.
std::vector<Command> HoldCommands(const Job& job) {
  const bool is_elastic = ReadElasticMark(job.admin_comment).has_value();
  std::vector<Command> commands;
  if (is_elastic && !IsMarkedHeld(job)) commands.push_back(CommentCommand(job, MarkHeld(job.admin_comment)));
  if (job.admin_comment.empty()) commands.push_back(CommentCommand(job, kStoppedMark));
  commands.push_back({"scontrol", job.state == JobState::kPending ? "hold" : "requeuehold", std::to_string(job.id)});
  return commands;
}

// The job gets going. What says that we hold it goes last: should we die in between, fairlead-watchdog finds it.
std::vector<Command> ReleaseCommands(const Job& job) {
  std::vector<Command> commands = {{"scontrol", "release", std::to_string(job.id)}};
  if (IsMarkedHeld(job)) commands.push_back(UnmarkCommand(job));
  return commands;
}

Step PlanPending(const PlaceJob& place, const Job& job) {
  const std::string id = std::to_string(job.id);
  if (IsHeldByOthers(job)) return GiveUp(fmt::format("somebody else holds job {}", id));
  if (job.is_held) {
    // All of it again where only the first was done: StartTime is not to be seen.
    std::vector<Command> commands = {UpdateCommand(place)};
    std::ranges::move(ReleaseCommands(job), std::back_inserter(commands));
    return Run(std::move(commands), fmt::format("release job {} for {} nodes", id, place.num_nodes));
  }
  if (IsMarkedHeld(job)) {
    return Run({UnmarkCommand(job)}, fmt::format("job {} is released", id));
  }
  // Whoever released it, slurmctld may have forgotten the update. Of one that ran squeue shows the nodes that it had, so
  // its tasks tell whether it was updated.
  const bool is_updated = job.num_tasks == place.num_nodes * place.tasks_per_node &&
                          AreSame(job.required_hosts, place.hosts) && AreSame(job.excluded_hosts, place.excluded_hosts);
  if (is_updated) {
    return Wait(fmt::format("job {} waits for {} nodes: {}", id, place.num_nodes, job.reason));
  }
  return Run(HoldCommands(job), fmt::format("hold job {}", id));
}

Step PlanPlace(const PlaceJob& place, const std::optional<Job>& seen) {
  if (const std::string fault = WhyNot(seen, place.job, place.owner); !fault.empty()) return GiveUp(fault);
  const Job& job = *seen;
  if (!job.is_single) return GiveUp(fmt::format("job {} is several", job.id));
  if (job.state == JobState::kCompleting) return Wait(fmt::format("job {} is being ended", job.id));
  if (job.state == JobState::kPending) return PlanPending(place, job);
  const bool is_as_wanted = IsAsWanted(place, job);
  if (is_as_wanted && IsMarkedHeld(job)) return Run({UnmarkCommand(job)}, fmt::format("job {} is released", job.id));
  if (is_as_wanted) return IsSo(fmt::format("job {} runs on {}", job.id, Joined(job.hosts)));
  const bool is_other = place.was_pending || job.num_restarts != place.num_restarts;
  if (is_other) {
    return GiveUp(fmt::format("job {} was started by somebody else, on {}", job.id, Joined(job.hosts)));
  }
  if (!job.may_requeue) return GiveUp(fmt::format("job {} may not be requeued", job.id));
  return Run(HoldCommands(job), fmt::format("stop job {}", job.id));
}

Step PlanStop(const StopJob& stop, const std::optional<Job>& seen) {
  if (const std::string fault = WhyNot(seen, stop.job, stop.owner); !fault.empty()) return GiveUp(fault);
  const Job& job = *seen;
  const std::string id = std::to_string(job.id);
  if (!job.is_single) return GiveUp(fmt::format("job {} is several", id));
  if (job.state == JobState::kCompleting) return Wait(fmt::format("job {} is being ended", id));
  const bool is_other = job.num_restarts > stop.num_restarts + 1 ||
                        (job.num_restarts > stop.num_restarts && job.state != JobState::kPending);
  if (is_other) return GiveUp(fmt::format("job {} was started by somebody else", id));
  if (job.state == JobState::kPending) {
    if (IsHeldByOthers(job)) return GiveUp(fmt::format("somebody else holds job {}", id));
    if (job.is_held) return IsSo(fmt::format("job {} is stopped", id));
    return GiveUp(fmt::format("job {} waits in the queue of Slurm", id));
  }
  if (!job.may_requeue) return GiveUp(fmt::format("job {} may not be requeued", id));
  return Run(HoldCommands(job), fmt::format("stop job {}", id));
}

Step PlanHold(const HoldJob& hold, const std::optional<Job>& seen) {
  if (const std::string fault = WhyNot(seen, hold.job, hold.owner); !fault.empty()) return GiveUp(fault);
  const Job& job = *seen;
  const std::string id = std::to_string(job.id);
  if (job.state == JobState::kCompleting) return Wait(fmt::format("job {} is being ended", id));
  const bool is_pending = job.state == JobState::kPending;
  const bool is_ours = IsMarkedHeld(job);
  const bool is_firm = is_pending && job.is_held && is_ours && !job.may_be_released_by_its_user();
  if (is_firm) return IsSo(fmt::format("job {} waits, held", id));
  if (IsHeldByOthers(job)) return GiveUp(fmt::format("somebody else holds job {}", id));
  if (!is_pending && job.num_restarts != hold.num_restarts) {
    return GiveUp(fmt::format("job {} was started by somebody else", id));
  }
  if (!is_pending && !job.may_requeue) return GiveUp(fmt::format("job {} may not be requeued", id));
  std::vector<Command> commands = HoldCommands(job);
  // Its user may release what was only requeued to be held.
  if (!is_pending) commands.push_back({"scontrol", "hold", id});
  return Run(std::move(commands), fmt::format("hold job {}", id));
}

// Whether that is what holds it: once more, and by nobody else since.
bool IsRequeuedBy(const RequeueJob& order, const Job& job) {
  return job.is_requeued_held() && job.num_restarts == order.num_restarts + 1;
}

Step PlanRequeue(const RequeueJob& order, const std::optional<Job>& seen) {
  const std::string id = std::to_string(order.job);
  if (!seen.has_value()) return GiveUp(fmt::format("Slurm has no job {} any more", id));
  const Job& job = *seen;
  if (job.owner != order.owner)
    return GiveUp(fmt::format("job {} is of user {} now, not of {}", id, job.owner, order.owner));
  if (job.state == JobState::kCompleting) return Wait(fmt::format("job {} is being ended", id));
  if (job.state == JobState::kEnded) {
    const bool is_same_end = job.num_restarts == order.num_restarts && job.end == order.end;
    if (!is_same_end) return GiveUp(fmt::format("job {} has run again, and ended", id));
    if (!job.may_requeue) return GiveUp(fmt::format("job {} may not be requeued", id));
    return Run({{"scontrol", "requeuehold", id}}, fmt::format("requeue job {}", id));
  }
  // Somebody has started it meanwhile, or a slurmctld has forgotten that it has ended.
  if (!job.is_held) return IsSo(fmt::format("job {} is not held", id));
  if (IsMarkedHeld(job)) return IsSo(fmt::format("job {} waits, held", id));
  if (!IsRequeuedBy(order, job) || !ReadElasticMark(job.admin_comment).has_value())
    return GiveUp(fmt::format("somebody else holds job {}", id));
  return Run({CommentCommand(job, MarkHeld(job.admin_comment)), {"scontrol", "hold", id}},
             fmt::format("mark job {}", id));
}

Step PlanNice(const SetNice& order, const std::optional<Job>& job) {
  if (const std::string fault = WhyNot(job, order.job, order.owner); !fault.empty()) return GiveUp(fault);
  if (job->nice == order.nice) return IsSo(fmt::format("job {} has nice {}", order.job, order.nice));
  return Run({{"scontrol", "update", fmt::format("JobId={}", order.job), fmt::format("Nice={}", order.nice)}},
             fmt::format("nice of job {}", order.job));
}

Step PlanComment(const SetComment& order, const std::optional<Job>& job) {
  if (const std::string fault = WhyNot(job, order.job, order.owner); !fault.empty()) return GiveUp(fault);
  if (!job->is_single) return GiveUp(fmt::format("job {} is several", order.job));
  const std::optional<std::string> wanted = CommentWithAccount(job->comment, order.text);
  if (!wanted.has_value()) return GiveUp(fmt::format("the comment of job {} has no room", order.job));
  if (*wanted == job->comment) return IsSo(fmt::format("job {} has it in its comment", order.job));
  return Run({{"scontrol", "update", fmt::format("JobId={}", order.job), "Comment=" + *wanted}},
             fmt::format("write the comment of job {}", order.job));
}

// What it has on each node now it gets on each again.
template <class Change>
void SetShares(const Job& job, Change* change) {
  const auto on_each = [&job](uint32_t of_all) { return std::max(1u, (of_all + job.num_nodes - 1) / job.num_nodes); };
  change->tasks_per_node = job.tasks_per_node != 0 ? job.tasks_per_node : on_each(job.num_tasks);
  change->cpus_per_node = job.tasks_per_node != 0 ? job.tasks_per_node * job.cpus_per_task
                                                  : std::max(on_each(job.num_cpus), change->tasks_per_node);
}

// ---- Reservations ----

Step PlanReservation(const SetReservation& wish, const std::optional<Reservation>& now) {
  if (!wish.name.starts_with(kOurReservations)) return GiveUp(fmt::format("{} is no reservation of ours", wish.name));
  const std::string name = "ReservationName=" + wish.name;
  if (wish.hosts.empty()) {
    if (!now.has_value()) return IsSo(fmt::format("no reservation {}", wish.name));
    return Run({{"scontrol", "delete", name}}, fmt::format("delete {}", wish.name));
  }
  const std::string nodes = "Nodes=" + Joined(wish.hosts);
  const std::string users = "Users=" + Joined(wish.users);
  if (!now.has_value()) {
    return Run({{"scontrol", "create", "reservation", name, "StartTime=now", "Duration=UNLIMITED", nodes, users,
                 "Flags=IGNORE_JOBS,OVERLAP"}},
               fmt::format("create {}", wish.name));
  }
  if (AreSame(now->hosts, wish.hosts) && AreSame(now->users, wish.users)) {
    return IsSo(fmt::format("{} has {}", wish.name, Joined(wish.hosts)));
  }
  return Run({{"scontrol", "update", name, nodes, users}}, fmt::format("change {}", wish.name));
}

Step PlanLeave(const LeaveReservation& leave, const Observation& seen) {
  if (!leave.name.starts_with(kOurReservations)) return GiveUp(fmt::format("{} is no reservation of ours", leave.name));
  if (!seen.reservation.has_value()) return IsSo(fmt::format("no reservation {}", leave.name));
  std::vector<Command> commands;
  if (WhyNot(seen.job, leave.job, leave.owner).empty()) {
    if (seen.job->state == JobState::kCompleting) return Wait(fmt::format("job {} is being ended", leave.job));
    commands.push_back({"scontrol", "update", fmt::format("JobId={}", leave.job), "ReservationName="});
  }
  commands.push_back({"scontrol", "delete", "ReservationName=" + leave.name});
  return Run(std::move(commands), fmt::format("delete {}", leave.name));
}

}  // namespace

bool IsMarkedHeld(const Job& job) {
  const auto mark = ReadElasticMark(job.admin_comment);
  return job.admin_comment == kStoppedMark || (mark.has_value() && mark->is_held);
}

bool IsHeldByOthers(const Job& job) {
  const bool is_markable = job.admin_comment.empty() || ReadElasticMark(job.admin_comment).has_value();
  return job.is_held && !job.is_held_by_slurm() && is_markable && !IsMarkedHeld(job);
}

std::vector<Command> PlanLetGo(const Job& job) {
  if (job.is_held) return ReleaseCommands(job);
  return IsMarkedHeld(job) ? std::vector<Command>{UnmarkCommand(job)} : std::vector<Command>();
}

Step PlanStep(const Operation& operation, const Observation& seen) {
  return std::visit(Overloaded{[&](const DrainHost& drain) { return PlanDrain(drain, seen.node); },
                               [&](const ReturnHost& back) { return PlanReturn(back, seen.node); },
                               [&](const PlaceJob& place) { return PlanPlace(place, seen.job); },
                               [&](const StopJob& stop) { return PlanStop(stop, seen.job); },
                               [&](const HoldJob& hold) { return PlanHold(hold, seen.job); },
                               [&](const RequeueJob& order) { return PlanRequeue(order, seen.job); },
                               [&](const SetNice& order) { return PlanNice(order, seen.job); },
                               [&](const SetComment& order) { return PlanComment(order, seen.job); },
                               [&](const SetReservation& wish) { return PlanReservation(wish, seen.reservation); },
                               [&](const LeaveReservation& leave) { return PlanLeave(leave, seen); }},
                    operation);
}

std::optional<uint32_t> JobOf(const Operation& operation) {
  return std::visit(Overloaded{[](const PlaceJob& place) { return std::optional(place.job); },
                               [](const StopJob& stop) { return std::optional(stop.job); },
                               [](const HoldJob& hold) { return std::optional(hold.job); },
                               [](const RequeueJob& order) { return std::optional(order.job); },
                               [](const SetNice& order) { return std::optional(order.job); },
                               [](const SetComment& order) { return std::optional(order.job); },
                               [](const LeaveReservation& leave) { return std::optional(leave.job); },
                               [](const auto&) { return std::optional<uint32_t>(); }},
                    operation);
}

std::optional<std::string> HostOf(const Operation& operation) {
  return std::visit(Overloaded{[](const DrainHost& drain) { return std::optional(drain.host); },
                               [](const ReturnHost& back) { return std::optional(back.host); },
                               [](const auto&) { return std::optional<std::string>(); }},
                    operation);
}

std::optional<std::string> ReservationOf(const Operation& operation) {
  return std::visit(Overloaded{[](const SetReservation& wish) { return std::optional(wish.name); },
                               [](const LeaveReservation& leave) { return std::optional(leave.name); },
                               [](const auto&) { return std::optional<std::string>(); }},
                    operation);
}

// A job that leaves its reservation may be changed otherwise meanwhile.
std::string SubjectOf(const Operation& operation) {
  if (const auto reservation = ReservationOf(operation)) return "reservation " + *reservation;
  if (const auto host = HostOf(operation)) return "host " + *host;
  // Beside whatever else is done to the job.
  if (const auto* comment = std::get_if<SetComment>(&operation)) return fmt::format("job {} comment", comment->job);
  return fmt::format("job {}", JobOf(operation).value());
}

std::optional<uint32_t> JobOfSubject(std::string_view subject) {
  constexpr std::string_view kJob = "job ";
  if (!subject.starts_with(kJob)) return std::nullopt;
  subject.remove_prefix(kJob.size());
  return ParseWhole<uint32_t>(subject.substr(0, subject.find(' ')));
}

std::vector<Command> PlanRelease(const Operation& operation, const Observation& seen) {
  if (!seen.job.has_value() || !seen.job->is_held) return {};
  const Job& job = *seen.job;
  const auto* place = std::get_if<PlaceJob>(&operation);
  const auto* stop = std::get_if<StopJob>(&operation);
  const auto* hold = std::get_if<HoldJob>(&operation);
  const bool is_placed = place != nullptr && WhyNot(job, place->job, place->owner).empty() && !IsHeldByOthers(job);
  // One that was submitted held is not held by the operation.
  const bool is_waiting = hold != nullptr && WhyNot(job, hold->job, hold->owner).empty() && IsMarkedHeld(job) &&
                          !job.may_be_released_by_its_user();
  // With as many restarts as before, or without a mark, it is held by somebody else.
  const bool is_stopped = stop != nullptr && WhyNot(job, stop->job, stop->owner).empty() &&
                          job.num_restarts > stop->num_restarts && !IsHeldByOthers(job);
  const auto* requeue = std::get_if<RequeueJob>(&operation);
  const bool is_requeued = requeue != nullptr && WhyNot(job, requeue->job, requeue->owner).empty() &&
                           (IsMarkedHeld(job) || IsRequeuedBy(*requeue, job));
  if (!is_placed && !is_stopped && !is_waiting && !is_requeued) return {};
  return ReleaseCommands(job);
}

Result<PlaceJob> MakePlaceJob(const Job& job, uint32_t num_nodes, std::vector<std::string> hosts,
                              std::vector<std::string> excluded_hosts) {
  const auto fault = [&job](std::string_view what) {
    return Status(StatusCode::kFailedPrecondition, fmt::format("job {} can't be placed: {}", job.id, what));
  };
  const bool is_pending = job.state == JobState::kPending;
  if (!job.is_single) return fault("it is an array, or heterogeneous");
  if (job.state == JobState::kEnded || job.state == JobState::kCompleting) return fault("it ends, or has ended");
  if (!is_pending && !job.may_requeue) return fault("it may not be requeued (--requeue)");
  const auto mark = ReadElasticMark(job.admin_comment);
  if (is_pending && !job.is_held && !mark.has_value()) return fault("it waits in the queue of Slurm");
  const bool is_ours = mark.has_value() && (mark->is_held || job.is_held_by_slurm());
  if (is_pending && job.is_held && !is_ours) return fault("somebody else holds it");
  if (num_nodes == 0 || job.num_nodes == 0) return fault("it needs a node at least");
  if (hosts.size() > num_nodes) return fault("more hosts are named than it is to have");
  for (const std::string& host : hosts) {
    if (std::ranges::find(excluded_hosts, host) != excluded_hosts.end()) return fault(host + " is named and excluded");
  }
  PlaceJob place = {.job = job.id,
                    .owner = job.owner,
                    .num_restarts = job.num_restarts,
                    .was_pending = is_pending,
                    .was_queued = is_pending && !job.is_held,
                    .num_nodes = num_nodes,
                    .hosts = std::move(hosts),
                    .excluded_hosts = std::move(excluded_hosts),
                    .reservation = {}};
  SetShares(job, &place);
  return place;
}

Result<HoldJob> MakeHoldJob(const Job& job) {
  const auto fault = [&job](std::string_view what) {
    return Status(StatusCode::kFailedPrecondition, fmt::format("job {} can't be held: {}", job.id, what));
  };
  if (!job.is_single) return fault("it is an array, or heterogeneous");
  const auto mark = ReadElasticMark(job.admin_comment);
  if (!mark.has_value()) return fault("it is not elastic");
  if (job.state == JobState::kEnded || job.state == JobState::kCompleting) return fault("it ends, or has ended");
  if (IsHeldByOthers(job)) return fault("somebody else holds it");
  if (job.has_hosts() && !job.may_requeue) return fault("it may not be requeued (--requeue)");
  return HoldJob{job.id, job.owner, job.num_restarts};
}

Result<RequeueJob> MakeRequeueJob(const Job& job) {
  const auto fault = [&job](std::string_view what) {
    return Status(StatusCode::kFailedPrecondition, fmt::format("job {} can't be requeued: {}", job.id, what));
  };
  if (!job.is_single) return fault("it is an array, or heterogeneous");
  if (!ReadElasticMark(job.admin_comment).has_value()) return fault("it is not elastic");
  if (job.state != JobState::kEnded) return fault("it has not ended");
  if (!job.may_requeue) return fault("it may not be requeued (--requeue)");
  return RequeueJob{job.id, job.owner, job.num_restarts, job.end};
}

Result<StopJob> MakeStopJob(const Job& job) {
  const auto fault = [&job](std::string_view what) {
    return Status(StatusCode::kFailedPrecondition, fmt::format("job {} can't be stopped: {}", job.id, what));
  };
  if (!job.is_single) return fault("it is an array, or heterogeneous");
  if (!job.has_hosts() || job.num_nodes == 0) return fault("it does not run");
  if (!job.may_requeue) return fault("it may not be requeued (--requeue)");
  StopJob stop = {.job = job.id, .owner = job.owner, .num_restarts = job.num_restarts, .num_nodes = job.num_nodes};
  SetShares(job, &stop);
  return stop;
}

Result<PlaceJob> MakePlaceJob(const StopJob& stopped, const Job& job, std::vector<std::string> hosts) {
  const auto fault = [&stopped](std::string_view what) {
    return Status(StatusCode::kFailedPrecondition, fmt::format("job {} can't be placed: {}", stopped.job, what));
  };
  if (const std::string why = WhyNot(job, stopped.job, stopped.owner); !why.empty()) return fault(why);
  if (job.num_restarts != stopped.num_restarts + 1) return fault("somebody else has started it since");
  if (hosts.size() != stopped.num_nodes) {
    return fault(fmt::format("it had {} nodes, and is to get {}", stopped.num_nodes, hosts.size()));
  }
  return PlaceJob{.job = job.id,
                  .owner = job.owner,
                  .num_restarts = job.num_restarts,
                  .was_pending = true,
                  .num_nodes = stopped.num_nodes,
                  .tasks_per_node = stopped.tasks_per_node,
                  .cpus_per_node = stopped.cpus_per_node,
                  .hosts = std::move(hosts),
                  .excluded_hosts = {},
                  .reservation = {}};
}

std::string Describe(const Operation& operation) {
  return std::visit(
      Overloaded{
          [](const DrainHost& drain) { return fmt::format("drain {}", drain.host); },
          [](const ReturnHost& back) { return fmt::format("return {}", back.host); },
          [](const PlaceJob& place) { return fmt::format("place job {} on {} nodes", place.job, place.num_nodes); },
          [](const StopJob& stop) { return fmt::format("stop job {}", stop.job); },
          [](const HoldJob& hold) { return fmt::format("hold job {}", hold.job); },
          [](const RequeueJob& order) { return fmt::format("requeue job {}", order.job); },
          [](const SetNice& order) { return fmt::format("give job {} nice {}", order.job, order.nice); },
          [](const SetComment& order) { return fmt::format("write the comment of job {}", order.job); },
          [](const LeaveReservation& leave) { return fmt::format("take job {} out of {}", leave.job, leave.name); },
          [](const SetReservation& wish) {
            return fmt::format("reserve {} hosts as {}", wish.hosts.size(), wish.name);
          }},
      operation);
}

}  // namespace fairlead::slurm

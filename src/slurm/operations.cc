#include "slurm/operations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace fairlead::slurm {
namespace {

constexpr size_t kReasonBytesMax = 180;
// What a requeued job waits for: long enough for the old credential to be over, which the same second's is not.
constexpr char kStartSoon[] = "StartTime=now+2";

Step Run(std::vector<Command> commands, std::string message) {
  return {Step::Kind::kRun, std::move(commands), std::move(message)};
}
Step Wait(std::string message) { return {Step::Kind::kWait, {}, std::move(message)}; }
Step Done(std::string message) { return {Step::Kind::kDone, {}, std::move(message)}; }
Step GiveUp(std::string message) { return {Step::Kind::kGiveUp, {}, std::move(message)}; }

std::string Joined(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ",")); }

bool IsSubset(const std::vector<std::string>& some, const std::vector<std::string>& all) {
  return std::ranges::all_of(some, [&all](const auto& one) { return std::ranges::find(all, one) != all.end(); });
}

bool AreSame(const std::vector<std::string>& left, const std::vector<std::string>& right) {
  return std::set(left.begin(), left.end()) == std::set(right.begin(), right.end());
}

std::string ReasonText(std::string_view reason) {
  std::string text = fmt::format("{} {}", kOurReason, reason.substr(0, kReasonBytesMax));
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~' || c == '"'; }, '?');
  return text;
}

// ---- Hosts ----

Step PlanDrain(const DrainHost& drain, const std::optional<Node>& node) {
  if (!node.has_value()) return GiveUp(fmt::format("Slurm has no node {}", drain.host));
  if (node->is_drained) return Done(fmt::format("{} is drained: {}", drain.host, node->reason));
  return Run({{"scontrol", "update", "NodeName=" + drain.host, "State=DRAIN", "Reason=" + ReasonText(drain.reason)}},
             fmt::format("drain {}", drain.host));
}

Step PlanReturn(const ReturnHost& back, const std::optional<Node>& node) {
  if (!node.has_value()) return GiveUp(fmt::format("Slurm has no node {}", back.host));
  if (!node->is_drained) return Done(fmt::format("{} is open to jobs", back.host));
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

bool IsAsWanted(const PlaceJob& place, const Job& job) {
  return job.num_nodes == place.num_nodes && job.hosts.size() == place.num_nodes && IsSubset(place.hosts, job.hosts) &&
         std::ranges::none_of(place.excluded_hosts, [&job](const auto& host) {
           return std::ranges::find(job.hosts, host) != job.hosts.end();
         });
}

Command UpdateCommand(const PlaceJob& place, const Job& job) {
  Command command = {"scontrol",
                     "update",
                     fmt::format("JobId={}", place.job),
                     fmt::format("NumNodes={0}-{0}", place.num_nodes),
                     fmt::format("NumTasks={}", uint64_t{place.num_nodes} * place.tasks_per_node),
                     fmt::format("NumCPUs={}", uint64_t{place.num_nodes} * place.cpus_per_node),
                     "ReqNodeList=" + Joined(place.hosts),
                     "ExcNodeList=" + Joined(place.excluded_hosts),
                     kStartSoon};
  if (!place.reservation.empty()) command.push_back("ReservationName=" + place.reservation);
  if (job.admin_comment == kStoppedMark) command.emplace_back("AdminComment=");
  return command;
}

Step PlanPending(const PlaceJob& place, const Job& job) {
  const std::string id = std::to_string(job.id);
  if (job.is_held) {
    // Both again where only the first was done: StartTime is not to be seen.
    return Run({UpdateCommand(place, job), {"scontrol", "release", id}},
               fmt::format("release job {} for {} nodes", id, place.num_nodes));
  }
  // One that was held when it was decided has been released since. Of one that ran squeue shows the nodes that it had,
  // so its tasks tell whether it was updated.
  const bool is_updated = place.was_pending || (job.num_tasks == place.num_nodes * place.tasks_per_node &&
                                                AreSame(job.required_hosts, place.hosts) &&
                                                AreSame(job.excluded_hosts, place.excluded_hosts));
  if (is_updated) {
    return Wait(fmt::format("job {} waits for {} nodes: {}", id, place.num_nodes, job.reason));
  }
  return Run({{"scontrol", "hold", id}}, fmt::format("hold job {}", id));
}

Step PlanPlace(const PlaceJob& place, const std::optional<Job>& seen) {
  if (const std::string fault = WhyNot(seen, place.job, place.owner); !fault.empty()) return GiveUp(fault);
  const Job& job = *seen;
  if (!job.is_single) return GiveUp(fmt::format("job {} is several", job.id));
  if (job.state == JobState::kCompleting) return Wait(fmt::format("job {} is being ended", job.id));
  if (job.state == JobState::kPending) return PlanPending(place, job);
  if (IsAsWanted(place, job)) return Done(fmt::format("job {} runs on {}", job.id, Joined(job.hosts)));
  const bool is_other = place.was_pending || job.num_restarts != place.num_restarts;
  if (is_other) {
    return GiveUp(fmt::format("job {} was started by somebody else, on {}", job.id, Joined(job.hosts)));
  }
  if (!job.may_requeue) return GiveUp(fmt::format("job {} may not be requeued", job.id));
  return Run({{"scontrol", "requeuehold", std::to_string(job.id)}}, fmt::format("stop job {}", job.id));
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
    // Ours is marked, but where others have written something.
    if (job.is_held && job.admin_comment.empty()) return GiveUp(fmt::format("somebody else holds job {}", id));
    if (job.is_held) return Done(fmt::format("job {} is stopped", id));
    return GiveUp(fmt::format("job {} waits in the queue of Slurm", id));
  }
  if (!job.may_requeue) return GiveUp(fmt::format("job {} may not be requeued", id));
  std::vector<Command> commands;
  // First, so that no job is held without it. What others have written there is theirs.
  if (job.admin_comment.empty()) {
    commands.push_back({"scontrol", "update", "JobId=" + id, fmt::format("AdminComment={}", kStoppedMark)});
  }
  commands.push_back({"scontrol", "requeuehold", id});
  return Run(std::move(commands), fmt::format("stop job {}", id));
}

Step PlanNice(const SetNice& order, const std::optional<Job>& job) {
  if (const std::string fault = WhyNot(job, order.job, order.owner); !fault.empty()) return GiveUp(fault);
  if (job->nice == order.nice) return Done(fmt::format("job {} has nice {}", order.job, order.nice));
  return Run({{"scontrol", "update", fmt::format("JobId={}", order.job), fmt::format("Nice={}", order.nice)}},
             fmt::format("nice of job {}", order.job));
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
    if (!now.has_value()) return Done(fmt::format("no reservation {}", wish.name));
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
    return Done(fmt::format("{} has {}", wish.name, Joined(wish.hosts)));
  }
  return Run({{"scontrol", "update", name, nodes, users}}, fmt::format("change {}", wish.name));
}

Step PlanLeave(const LeaveReservation& leave, const Observation& seen) {
  if (!leave.name.starts_with(kOurReservations)) return GiveUp(fmt::format("{} is no reservation of ours", leave.name));
  if (!seen.reservation.has_value()) return Done(fmt::format("no reservation {}", leave.name));
  std::vector<Command> commands;
  if (WhyNot(seen.job, leave.job, leave.owner).empty()) {
    if (seen.job->state == JobState::kCompleting) return Wait(fmt::format("job {} is being ended", leave.job));
    commands.push_back({"scontrol", "update", fmt::format("JobId={}", leave.job), "ReservationName="});
  }
  commands.push_back({"scontrol", "delete", "ReservationName=" + leave.name});
  return Run(std::move(commands), fmt::format("delete {}", leave.name));
}

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace

Step PlanStep(const Operation& operation, const Observation& seen) {
  return std::visit(Overloaded{[&](const DrainHost& drain) { return PlanDrain(drain, seen.node); },
                               [&](const ReturnHost& back) { return PlanReturn(back, seen.node); },
                               [&](const PlaceJob& place) { return PlanPlace(place, seen.job); },
                               [&](const StopJob& stop) { return PlanStop(stop, seen.job); },
                               [&](const SetNice& order) { return PlanNice(order, seen.job); },
                               [&](const SetReservation& wish) { return PlanReservation(wish, seen.reservation); },
                               [&](const LeaveReservation& leave) { return PlanLeave(leave, seen); }},
                    operation);
}

std::string SubjectOf(const Operation& operation) {
  return std::visit(Overloaded{[](const DrainHost& drain) { return "host " + drain.host; },
                               [](const ReturnHost& back) { return "host " + back.host; },
                               [](const PlaceJob& place) { return fmt::format("job {}", place.job); },
                               [](const StopJob& stop) { return fmt::format("job {}", stop.job); },
                               [](const SetNice& order) { return fmt::format("job {}", order.job); },
                               [](const SetReservation& wish) { return "reservation " + wish.name; },
                               [](const LeaveReservation& leave) { return "reservation " + leave.name; }},
                    operation);
}

std::vector<Command> PlanRelease(const Operation& operation, const Observation& seen) {
  if (!seen.job.has_value() || !seen.job->is_held) return {};
  const Job& job = *seen.job;
  const auto* place = std::get_if<PlaceJob>(&operation);
  const auto* stop = std::get_if<StopJob>(&operation);
  const bool is_placed = place != nullptr && WhyNot(job, place->job, place->owner).empty();
  // With as many restarts as before, or without a mark, it is held by somebody else.
  const bool is_stopped = stop != nullptr && WhyNot(job, stop->job, stop->owner).empty() &&
                          job.num_restarts > stop->num_restarts && !job.admin_comment.empty();
  if (!is_placed && !is_stopped) return {};
  const std::string id = std::to_string(job.id);
  std::vector<Command> commands = {{"scontrol", "release", id}};
  if (job.admin_comment == kStoppedMark) commands.push_back({"scontrol", "update", "JobId=" + id, "AdminComment="});
  return commands;
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
  const bool is_ours = job.admin_comment.starts_with("fairlead:v1 ") && job.admin_comment.ends_with(" held");
  if (is_pending && !job.is_held) return fault("it waits in the queue of Slurm");
  if (is_pending && !is_ours) return fault("somebody else holds it");
  if (num_nodes == 0 || job.num_nodes == 0) return fault("it needs a node at least");
  if (hosts.size() > num_nodes) return fault("more hosts are named than it is to have");
  for (const std::string& host : hosts) {
    if (std::ranges::find(excluded_hosts, host) != excluded_hosts.end()) return fault(host + " is named and excluded");
  }
  PlaceJob place = {.job = job.id,
                    .owner = job.owner,
                    .num_restarts = job.num_restarts,
                    .was_pending = is_pending,
                    .num_nodes = num_nodes,
                    .hosts = std::move(hosts),
                    .excluded_hosts = std::move(excluded_hosts),
                    .reservation = {}};
  SetShares(job, &place);
  return place;
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
          [](const SetNice& order) { return fmt::format("give job {} nice {}", order.job, order.nice); },
          [](const LeaveReservation& leave) { return fmt::format("take job {} out of {}", leave.job, leave.name); },
          [](const SetReservation& wish) {
            return fmt::format("reserve {} hosts as {}", wish.hosts.size(), wish.name);
          }},
      operation);
}

}  // namespace fairlead::slurm

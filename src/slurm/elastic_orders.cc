#include "slurm/elastic_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "slurm/host_list.h"
#include "slurm/intention_records.h"
#include "slurm/size_words.h"

namespace fairlead::slurm {
namespace {

// That the job is to have.
std::vector<std::string> HostsOf(const Operation& operation) {
  const auto* place = std::get_if<PlaceJob>(&operation);
  return place == nullptr ? std::vector<std::string>() : place->hosts;
}

}  // namespace

Result<std::unique_ptr<ElasticOrders>> ElasticOrders::Create(const topology::Fabric& fabric,
                                                             ElasticOrderOptions options, Programs* programs,
                                                             store::Store* store, ElasticSources sources,
                                                             ElasticOrderListeners listeners) {
  FL_ASSIGN_OR_RETURN(auto jobs, ElasticJobs::Create(fabric, options.jobs, store, std::move(sources)));
  FL_ASSIGN_OR_RETURN(const auto recorded, ReadIntentions(*store));
  FL_ASSIGN_OR_RETURN(const auto stopped, ReadStopped(*store));
  std::unique_ptr<ElasticOrders> orders(
      new ElasticOrders(fabric, std::move(options), programs, store, std::move(jobs), std::move(listeners)));
  for (const auto& [number, operation] : recorded) {
    const bool is_sizing = std::holds_alternative<PlaceJob>(operation) || std::holds_alternative<HoldJob>(operation) ||
                           std::holds_alternative<RequeueJob>(operation);
    // A job that steering has stopped is steering's to place.
    const bool is_steered = is_sizing && std::ranges::any_of(stopped, [job = JobOf(operation)](const StopJob& stop) {
                              return stop.job == job;
                            });
    if (is_sizing && !is_steered) orders->resumed_.push_back(operation);
  }
  return orders;
}

ElasticOrders::ElasticOrders(const topology::Fabric& fabric, ElasticOrderOptions options, Programs* programs,
                             store::Store* store, std::unique_ptr<ElasticJobs> jobs, ElasticOrderListeners listeners)
    : fabric_(fabric),
      options_(std::move(options)),
      listeners_(std::move(listeners)),
      programs_(*programs),
      writer_(programs, store, options_.writer),
      jobs_(std::move(jobs)) {}

void ElasticOrders::Begin(Operation operation, SimTime now, bool is_carried) {
  const uint32_t job = *JobOf(operation);
  orders_[job] = {std::move(operation), now + options_.patience, num_orders_++, is_carried};
}

void ElasticOrders::StopLost(const ClusterState& state, const std::vector<LostRun>& lost,
                             const std::set<uint32_t>& steered, SimTime now) {
  for (const LostRun& run : lost) {
    const auto order = orders_.find(run.job);
    if (steered.contains(run.job) || (order != orders_.end() && order->second.is_carried)) continue;
    std::optional<Operation> stop = jobs_->StopLost(run.job, run.since);
    const Job* job = FindJob(state.jobs, run.job);
    if (!stop.has_value() || job == nullptr) continue;
    const std::string why = WordsOfLostRun(run, *job, now) + ": it is stopped and placed anew";
    listeners_.changed(run.job, why);
    Account(run.job, why);
    Begin(*std::move(stop), now, true);
  }
}

void ElasticOrders::Look(const ClusterState& state, const std::set<uint32_t>& steered, SimTime now,
                         const std::vector<LostRun>& lost) {
  for (Operation& operation : std::exchange(resumed_, {})) Begin(std::move(operation), now, true);
  BusyJobs busy;
  for (const uint32_t job : LeaveLostHosts(state)) busy[job];
  for (const uint32_t job : steered) busy[job];
  for (const auto& [job, order] : orders_) busy[job] = HostsOf(order.operation);
  jobs_->Look(state, busy, now);
  const std::vector<Operation> decided = jobs_->Decide(now);
  for (const ElasticJobs::News& news : jobs_->TakeNews()) {
    listeners_.changed(news.job, news.text);
    Account(news.job, news.text);
  }
  for (const Operation& operation : decided) {
    const uint32_t id = *JobOf(operation);
    const Job* job = FindJob(state.jobs, id);
    // What is held is to be held more firmly: nothing changes for the job.
    if (std::holds_alternative<HoldJob>(operation) && job != nullptr && job->is_held) continue;
    Account(id, DescribeDecision(operation, jobs_->ReasonOf(id), decided, state, fabric_));
    listeners_.changed(id, Describe(operation) + ": " + jobs_->ReasonOf(id));
  }
  for (const Operation& operation : decided) Begin(operation, now);
  StopLost(state, lost, steered, now);
  for (ElasticJobs::Requeue& requeue : jobs_->TakeRequeues()) {
    const uint32_t job = requeue.operation.job;
    listeners_.changed(job, requeue.why);
    Account(job, requeue.why);
    Begin(std::move(requeue.operation), now, true);
  }
  FindWaits(state);
}

bool ElasticOrders::Leaves(uint32_t job, const std::string& host) const {
  const auto order = orders_.find(job);
  return order != orders_.end() && !Contains(HostsOf(order->second.operation), host);
}

void ElasticOrders::FindWaits(const ClusterState& state) {
  std::map<std::string, uint32_t> holders;  // [host]
  for (const Job& job : state.jobs) {
    if (!job.occupies_hosts()) continue;
    for (const std::string& host : job.hosts) {
      if (Leaves(job.id, host)) holders[host] = job.id;
    }
  }
  for (auto& [job, order] : orders_) {
    order.waits_for.clear();
    for (const std::string& host : HostsOf(order.operation)) {
      if (const auto holder = holders.find(host); holder != holders.end()) order.waits_for.insert(holder->second);
    }
    order.waits_for.erase(job);
  }
}

bool ElasticOrders::Waits(const Order& order, const std::function<bool(const Order&)>& is_one) const {
  return std::ranges::any_of(order.waits_for, [&](uint32_t job) {
    const auto other = orders_.find(job);
    return other != orders_.end() && is_one(other->second);
  });
}

std::string ElasticOrders::WhyLost(const PlaceJob& place, const ClusterState& state) const {
  const auto is_chosen = [&place](const std::string& host) { return Contains(place.hosts, host); };
  for (const std::string& host : place.hosts) {
    if (std::ranges::find(state.nodes, host, &Node::name) == state.nodes.end()) return "Slurm has no node " + host;
  }
  for (const Node& node : state.nodes) {
    const bool is_open = (node.is_up || node.is_unknown) && !node.is_drained;
    if (is_chosen(node.name) && !is_open) return fmt::format("{} is not open", node.name);
  }
  for (const Reservation& reservation : state.reservations) {
    const auto host = std::ranges::find_if(reservation.hosts, is_chosen);
    if (reservation.is_active && reservation.name != place.reservation && host != reservation.hosts.end()) {
      return fmt::format("{} is in {}", *host, reservation.name);
    }
  }
  for (const Job& job : state.jobs) {
    // One that ends leaves its hosts, too.
    if (!job.has_hosts() || job.id == place.job) continue;
    const auto host =
        std::ranges::find_if(job.hosts, [&](const std::string& one) { return is_chosen(one) && !Leaves(job.id, one); });
    if (host != job.hosts.end()) return fmt::format("job {} has {}", job.id, *host);
  }
  return "";
}

std::set<uint32_t> ElasticOrders::LeaveLostHosts(const ClusterState& state) {
  std::set<uint32_t> left;
  for (auto order = orders_.begin(); order != orders_.end();) {
    const uint32_t id = order->first;
    const auto* place = std::get_if<PlaceJob>(&order->second.operation);
    const Job* job = FindJob(state.jobs, id);
    // One that is being stopped is left to its turn.
    const bool is_stopping = order->second.is_carried && job != nullptr && job->state != JobState::kPending;
    const bool waits = place != nullptr && job != nullptr && !is_stopping;
    const bool depends = waits && job->has_dependency;
    const std::string lost = depends ? "it waits for other jobs" : waits ? WhyLost(*place, state) : "";
    std::string message;
    if (lost.empty() || !writer_.Abandon(order->second.operation, &message).ok()) {
      ++order;
      continue;
    }
    const std::string why = lost + ": its nodes are decided anew";
    listeners_.changed(id, why);
    Account(id, why);
    order = orders_.erase(order);
    left.insert(id);
  }
  return left;
}

void ElasticOrders::TakeTurns(const std::set<uint32_t>& steered, SimTime now) {
  for (auto order = orders_.begin(); order != orders_.end();) {
    const auto [job, is_over] = std::pair(order->first, steered.contains(order->first));
    // What of it is under way is taken back by steering's step, which wants another thing of the job.
    if (is_over || TakeTurn(job, &order->second, now)) {
      order = orders_.erase(order);
    } else {
      ++order;
    }
  }
  for (Operation& operation : std::exchange(given_back_, {})) Begin(std::move(operation), now);
}

void ElasticOrders::TellMissingCheckpoint(uint32_t job, const std::string& why) {
  const std::string missing = fmt::format("{}: it is stopped without a checkpoint", why);
  listeners_.changed(job, missing);
  Account(job, missing);
}

bool ElasticOrders::WaitForCheckpoint(uint32_t job, Order* order, SimTime now) {
  if (!jobs_->WritesCheckpoints(job, order->asked_at.value_or(now))) {
    if (order->asked_at.has_value()) TellMissingCheckpoint(job, "would write no checkpoint any more");
    return true;
  }
  if (!order->asked_at.has_value()) {
    order->checkpoint_before = jobs_->CheckpointTime(job);
    const auto asked = programs_.Run({"scancel", "--batch", "--signal=USR1", std::to_string(job)});
    if (asked.ok()) order->asked_at = now;
    if (asked.ok() || asked.status().code() == StatusCode::kUnavailable) return false;
    return true;  // it does not run any more
  }
  const std::optional<SimTime> written = jobs_->CheckpointTime(job);
  if (written.has_value() && written != order->checkpoint_before) return true;
  if (now - *order->asked_at < options_.checkpoint_patience) return false;
  TellMissingCheckpoint(job, fmt::format("wrote no checkpoint within {:.0f} s of being asked",
                                         options_.checkpoint_patience.seconds().value()));
  return true;
}

bool ElasticOrders::IsReady(uint32_t job, Order* order, SimTime now) {
  const bool waits =
      Waits(*order, [order](const Order& other) { return other.number < order->number && !other.is_carried; });
  return !waits && WaitForCheckpoint(job, order, now);
}

bool ElasticOrders::TakeTurn(uint32_t job, Order* order, SimTime now) {
  if (!order->is_carried) {
    if (!IsReady(job, order, now)) return false;
    order->is_carried = true;
    order->until = now + options_.patience;
    if (jobs_->Runs(job)) listeners_.stopping(job);
  }
  const Result<Outcome> outcome = writer_.Carry(order->operation);
  if (outcome.ok() && outcome->kind == Outcome::Kind::kDone) return true;
  if (outcome.ok() && outcome->kind == Outcome::Kind::kGivenUp) {
    Fail(order->operation, outcome->message, now);
    return true;
  }
  // Another order about the job is recorded: not ours to go on with.
  if (outcome.status().code() == StatusCode::kFailedPrecondition) return true;
  // Slurm is away: its jobs can't be waited for meanwhile. Nor can it give what others have yet to leave.
  const bool is_away = outcome.status().code() == StatusCode::kUnavailable;
  if (is_away || Waits(*order, [](const Order&) { return true; })) order->until = now + options_.patience;
  if (now < order->until) return false;
  std::string message;
  // Slurm, or the store, is away: an order is under way until that is over.
  if (!writer_.Abandon(order->operation, &message).ok()) return false;
  Fail(order->operation,
       fmt::format("not within {:.0f} s: {}", options_.patience.seconds().value(),
                   outcome.ok() ? outcome->message : outcome.status().message()),
       now);
  return true;
}

void ElasticOrders::Fail(const Operation& operation, const std::string& why, SimTime now) {
  const uint32_t job = *JobOf(operation);
  const bool is_requeue = std::holds_alternative<RequeueJob>(operation);
  const std::string what = (is_requeue ? "it was not requeued: " : "its size was not changed: ") + why;
  listeners_.changed(job, what);
  Account(job, what);
  if (auto back = jobs_->Fail(job, why, now)) given_back_.push_back(*std::move(back));
}

}  // namespace fairlead::slurm

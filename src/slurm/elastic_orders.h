// Carries out what is decided about elastic jobs (elastic_jobs.h), beside what steering does.
//
//     reading of Slurm --> ElasticJobs --> orders under way --> Writer, a little further with each turn
//
// Problem     decisions are for all jobs at once and take seconds to minutes each to be carried out; meanwhile other
//             jobs come and go, steering may stop one of these jobs, hosts may be taken by others, and the controller
//             may be killed.
// Method      each order is about one job, and goes on for itself; orders take turns. Jobs under an order, and those
//             that steering is at, are pinned: others are decided about at any time, without what the pinned ones hold
//             and are promised. So only orders of one decision can be after the same host: a job that still has it is
//             moved by an earlier order as a rule (room is made before it is taken), and as long as that one waits for
//             a checkpoint the later one waits, too, without having touched its job.
//             An order that comes to no end within its patience is taken back: its job is released, and what it gets
//             is decided anew. Time in which others have yet to leave its hosts does not count. An order whose hosts
//             are lost is taken back at once: drained, down, reserved, or taken by a job that does not leave them.
//             A job whose run is lost (lost_runs.h) is stopped at once, without a checkpoint, as nobody would write
//             one, and what it gets is decided anew.
//             One that Slurm has ended itself is requeued, and what it gets is decided anew, too.
//             A job that steering turns to is left to it at once. Orders of an earlier controller go on. A job that has
//             named its checkpoint's file, and would write one, is asked for it (SIGUSR1 to its batch script) before it
//             is stopped, and stopped once that file is newer, or nothing would come of waiting.
// Guarantees  an order that has failed leaves no job held. A job that is not sized any more is given back to Slurm with
//             the range of nodes that it asked for.
// Thread      one at a time, that of steering's steps: both write to one store.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "slurm/elastic_jobs.h"
#include "slurm/lost_runs.h"
#include "slurm/operations.h"
#include "slurm/programs.h"
#include "slurm/writer.h"

namespace fairlead::slurm {

struct ElasticOrderOptions {
  ElasticOptions jobs;
  // > 0. How long a job may take to be stopped and to run again while Slurm answers: longer than Slurm's KillWait.
  SimDuration patience = SimDuration(180'000'000'000);
  // > 0. How long a job may take to write a checkpoint before it is stopped without one.
  SimDuration checkpoint_patience = SimDuration(600'000'000'000);
  // Of a turn: few looks, so that no job holds up the others.
  // slurmctld's log, which says which runs it could not launch (launch_log.h); empty: nobody knows.
  std::string slurm_log = {};
  WriterOptions writer = {.pause = std::chrono::milliseconds(50), .num_looks_max = 6, .sleep = {}};
};

struct ElasticOrderListeners {
  // A change of a job, for people.
  std::function<void(uint32_t job, const std::string& text)> changed;
  // For the account of the job (job_accounts.h): what was decided, why, and what it loses to whom. May be empty.
  std::function<void(uint32_t job, const std::string& text)> account = {};
  // The job is stopped now: its processes end because of that.
  std::function<void(uint32_t job)> stopping;
};

class ElasticOrders {
 public:
  // What the pointers point to must outlive it. Errors: those of ElasticJobs::Create() and ReadIntentions().
  static Result<std::unique_ptr<ElasticOrders>> Create(const topology::Fabric& fabric, ElasticOrderOptions options,
                                                       Programs* programs, store::Store* store, ElasticSources sources,
                                                       ElasticOrderListeners listeners);

  // What Slurm shows now; decides. Args: steered: jobs that steering is at; lost: runs without a process: these jobs are
  // stopped, and what they get is decided anew.
  void Look(const ClusterState& state, const std::set<uint32_t>& steered, SimTime now,
            const std::vector<LostRun>& lost = {});
  // Each order goes a little further.
  void TakeTurns(const std::set<uint32_t>& steered, SimTime now);

  bool is_idle() const { return orders_.empty(); }
  // Whether an order about it is under way.
  bool IsUnderway(uint32_t job) const { return orders_.contains(job); }
  // Whether it is held until it gets a size.
  bool Takes(const Job& job) const { return jobs_->Takes(job) || IsUnderway(job.id); }
  std::vector<ElasticView> Views() const { return jobs_->Views(); }

 private:
  struct Order {
    Operation operation;
    SimTime until;
    uint64_t number = 0;                         // higher: later
    bool is_carried = false;                     // Slurm was told, or may have been
    std::set<uint32_t> waits_for{};              // jobs that leave its hosts, as of the last look
    std::optional<SimTime> asked_at{};           // for a checkpoint
    std::optional<SimTime> checkpoint_before{};  // when the last one was written
  };

  ElasticOrders(const topology::Fabric& fabric, ElasticOrderOptions options, Programs* programs, store::Store* store,
                std::unique_ptr<ElasticJobs> jobs, ElasticOrderListeners listeners);

  void Account(uint32_t job, const std::string& text) const {
    if (listeners_.account) listeners_.account(job, text);
  }
  void Begin(Operation operation, SimTime now, bool is_carried = false);
  void StopLost(const ClusterState& state, const std::vector<LostRun>& lost, const std::set<uint32_t>& steered,
                SimTime now);
  // Whether the job may be stopped now: nobody is waited for, and its checkpoint is there, or given up.
  bool IsReady(uint32_t job, Order* order, SimTime now);
  bool WaitForCheckpoint(uint32_t job, Order* order, SimTime now);
  void TellMissingCheckpoint(uint32_t job, const std::string& why);
  // Takes back what waits for hosts that can't be had any more, so that it is decided anew. Returns the jobs: what is
  // read of them now is not true any more.
  std::set<uint32_t> LeaveLostHosts(const ClusterState& state);
  // Whether an order that is under way moves the job from the host.
  bool Leaves(uint32_t job, const std::string& host) const;
  // Whose hosts each order waits for.
  void FindWaits(const ClusterState& state);
  // Of these, whether one is still there. Args: is_one: whether an order counts.
  bool Waits(const Order& order, const std::function<bool(const Order&)>& is_one) const;
  // Why a host that the job was to get can't be had; empty: it can.
  std::string WhyLost(const PlaceJob& place, const ClusterState& state) const;
  // Whether it has ended.
  bool TakeTurn(uint32_t job, Order* order, SimTime now);
  void Fail(const Operation& operation, const std::string& why, SimTime now);

  const topology::Fabric& fabric_;
  const ElasticOrderOptions options_;
  const ElasticOrderListeners listeners_;
  Programs& programs_;
  Writer writer_;
  std::unique_ptr<ElasticJobs> jobs_;
  std::map<uint32_t, Order> orders_;   // [job]
  uint64_t num_orders_ = 0;            // begun so far
  std::vector<Operation> resumed_;     // of an earlier controller, until the first look
  std::vector<Operation> given_back_;  // to be begun with the next turn
};

}  // namespace fairlead::slurm

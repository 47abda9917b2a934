// Sizes of elastic jobs in the engine: ElasticOrders, joined with what the controller measures, diagnoses and shows.
//
//     iteration times, progress files --> SeenSteps --> ElasticOrders --> events, excuses for jobs that are stopped
//                                                             '---------> sizes()
//
// Thread      that of the engine, which also makes it; sizes() and Has() any: the mutex guards what they return, and
//             nothing is called while it is held.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "service/controller/scheduler_engine.h"
#include "slurm/cluster_reader.h"
#include "slurm/elastic_orders.h"
#include "slurm/engine_notes.h"
#include "slurm/lost_runs.h"
#include "slurm/programs.h"
#include "slurm/seen_steps.h"

namespace fairlead::slurm {

class ElasticSizing {
 public:
  using Account = std::function<void(uint32_t job, const std::string& text)>;
  // For observers.
  struct Sizes {
    std::vector<ElasticView> jobs;  // as of the last reading
    uint64_t num_changes = 0;       // begun since the start
  };

  // What the pointers point to must outlive it. Args: account: ElasticOrderListeners'; clock: since 1970, does not jump.
  // Errors: those of ElasticOrders::Create().
  static Result<std::unique_ptr<ElasticSizing>> Create(const ElasticOrderOptions& options,
                                                       const service::SchedulerSurroundings* surroundings,
                                                       Programs* programs, EngineNotes* notes, Account account,
                                                       std::function<SimTime()> clock);

  // What Slurm shows now; decides. Args: steered: jobs that steering is at; lost: as ElasticOrders::Look().
  void Look(const ClusterState& state, const std::set<uint32_t>& steered, const std::vector<LostRun>& lost);
  // What is decided goes a little further.
  void TakeTurns(const std::set<uint32_t>& steered) { orders_->TakeTurns(steered, clock_()); }

  bool is_idle() const { return orders_->is_idle(); }
  bool IsUnderway(uint32_t job) const { return orders_->IsUnderway(job); }
  bool Takes(const Job& job) const { return orders_->Takes(job); }
  Sizes sizes() const;
  // Whether it was one of them at the last reading.
  bool Has(uint32_t job) const;

 private:
  ElasticSizing(const service::SchedulerSurroundings* surroundings, Programs* programs, EngineNotes* notes,
                Account account, std::function<SimTime()> clock)
      : surroundings_(*surroundings),
        notes_(*notes),
        account_(std::move(account)),
        clock_(std::move(clock)),
        reader_(programs) {}

  ElasticSources MakeSources();
  std::optional<std::string> WhyNotLaunchedByLog(uint32_t job) const;
  ElasticOrderListeners MakeListeners();

  const service::SchedulerSurroundings& surroundings_;
  EngineNotes& notes_;
  const Account account_;
  const std::function<SimTime()> clock_;
  ProgramReader reader_;
  SeenSteps seen_;
  std::string slurm_log_;
  std::unique_ptr<ElasticOrders> orders_;  // never null after Create()

  mutable std::mutex mutex_;
  Sizes sizes_;
};

}  // namespace fairlead::slurm

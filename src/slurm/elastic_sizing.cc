#include "slurm/elastic_sizing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/file_reader.h"
#include "slurm/launch_log.h"
#include "slurm/progress_file.h"
#include "slurm/steering_steps.h"

namespace fairlead::slurm {
namespace {

// A job's processes are ended until Slurm's KillWait is over, 30 s by default, and what is seen of them comes later.
constexpr SimDuration kEndOfJob(60'000'000'000);
// What a busy slurmctld writes in minutes.
constexpr size_t kLogBytesMax = size_t{4} * 1024 * 1024;

}  // namespace

Result<std::unique_ptr<ElasticSizing>> ElasticSizing::Create(const ElasticOrderOptions& options,
                                                             const service::SchedulerSurroundings* surroundings,
                                                             Programs* programs, EngineNotes* notes, Account account,
                                                             std::function<SimTime()> clock) {
  std::unique_ptr<ElasticSizing> sizing(
      new ElasticSizing(surroundings, programs, notes, std::move(account), std::move(clock)));
  sizing->slurm_log_ = options.slurm_log;
  FL_ASSIGN_OR_RETURN(sizing->orders_,
                      ElasticOrders::Create(*surroundings->fabric, options, programs, surroundings->store,
                                            sizing->MakeSources(), sizing->MakeListeners()));
  return sizing;
}

ElasticSources ElasticSizing::MakeSources() {
  return {.read_job = [this](uint32_t job) { return reader_.ReadJob(job); },
          .read_steps = [this](const Job& job, const ElasticWish& wish) { return seen_.Read(job, wish); },
          .read_checkpoint_time = [](const Job& job,
                                     const ElasticWish& wish) { return TimeOfFile(wish.checkpoint_file, job.owner); },
          .read_end = [this](uint32_t job) { return reader_.ReadJobLine(job); },
          .why_not_launched = [this](uint32_t job) { return WhyNotLaunchedByLog(job); },
          .note = [this](const std::string& subject, const Status& status) { notes_.TellOnce(subject, status); }};
}

std::optional<std::string> ElasticSizing::WhyNotLaunchedByLog(uint32_t job) const {
  if (slurm_log_.empty()) return std::nullopt;
  const Result<std::string> log = ReadEndOfFile(slurm_log_, kLogBytesMax);
  notes_.TellOnce("slurm log", log.ok() ? OkStatus() : log.status());
  return log.ok() ? WhyNotLaunched(*log, job) : std::nullopt;
}

ElasticOrderListeners ElasticSizing::MakeListeners() {
  return {.changed =
              [this](uint32_t job, const std::string& text) {
                notes_.Tell(controller::Noted::Severity::kInfo, fmt::format("job {}", job), text);
                const std::lock_guard lock(mutex_);
                ++sizes_.num_changes;
              },
          .account = account_,
          .stopping =
              [this](uint32_t job) {
                if (!surroundings_.excuse) return;
                surroundings_.excuse([job](const model::JobIdentity& identity) { return JobNumberOf(identity) == job; },
                                     kEndOfJob);
              }};
}

void ElasticSizing::Look(const ClusterState& state, const std::set<uint32_t>& steered,
                         const std::vector<LostRun>& lost) {
  seen_.SetIterationTimes(surroundings_.iteration_times ? surroundings_.iteration_times()
                                                        : std::map<std::string, Seconds>());
  orders_->Look(state, steered, clock_(), lost);
  std::vector<ElasticView> views = orders_->Views();
  const std::lock_guard lock(mutex_);
  sizes_.jobs = std::move(views);
}

ElasticSizing::Sizes ElasticSizing::sizes() const {
  const std::lock_guard lock(mutex_);
  return sizes_;
}

bool ElasticSizing::Has(uint32_t job) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(sizes_.jobs, [job](const ElasticView& view) { return view.job == job; });
}

}  // namespace fairlead::slurm

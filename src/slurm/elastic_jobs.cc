#include "slurm/elastic_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "model/job.h"
#include "prediction/measured_speed.h"
#include "slurm/elastic_records.h"
#include "slurm/host_list.h"
#include "slurm/intention_records.h"

namespace fairlead::slurm {
namespace {

using scheduling::NodeShare;

constexpr double kRestartCostMaxS = 3600;
// What a newly measured restart weighs against those before.
constexpr double kRestartWeight = 0.5;
// Iterations of a job that has just started are not those to come.
constexpr double kSettlingS = 15;
// Then it writes no checkpoint, either.
constexpr SimDuration kStandsStill(60'000'000'000);
// A job that runs on has something left, whatever was declared.
constexpr double kMostDone = 0.98;
// Operations on a job that may fail until it is left alone.
constexpr uint32_t kNumFailuresMax = 3;
constexpr double kSavePeriodS = 60;
// New jobs of one look: each costs a program of Slurm, and steering waits meanwhile.
constexpr size_t kNumNewMax = 20;
// Steps of a job that declares none.
constexpr uint64_t kManySteps = 1'000'000'000'000'000;

std::string SubjectOf(uint32_t job) { return fmt::format("job {}", job); }

Status Fault(std::string what) { return {StatusCode::kFailedPrecondition, std::move(what)}; }

// Whether it waits in the queue because somebody else has requeued and released it. Slurm lets it wait for two minutes,
// and an update like the one before would leave it at that: it is held first, and placed as any other that is held.
bool WasRequeued(const Job& job) { return job.state == JobState::kPending && !job.is_held && job.num_restarts > 0; }

// Whether somebody other than us may have it started.
bool IsLoose(const Job& job) { return !job.is_held || job.may_be_released_by_its_user(); }

// Of a job that has been started otherwise than it was decided. Args: sorted.
std::string WordsOfStart(const std::vector<NodeShare>& nodes, const std::vector<NodeShare>& decided) {
  const char* const unit = nodes.size() == 1 ? "node" : "nodes";
  if (std::ranges::includes(decided, nodes, {}, &NodeShare::node, &NodeShare::node)) {
    return fmt::format("has {} {} of the {} that it was given: somebody else has taken the others from it",
                       nodes.size(), unit, decided.size());
  }
  return fmt::format("was started by somebody else, on {} {} of Slurm's choice", nodes.size(), unit);
}

double Mean(double before, double news) { return before + kRestartWeight * (news - before); }

}  // namespace

Status ElasticOptions::Validate() const {
  if (!(restart_cost_s > 0 && restart_cost_s <= kRestartCostMaxS)) {
    return InvalidArgument("--slurm-restart: expected seconds above 0, at most 3600");
  }
  return scheduling::CreateAllocationPolicy(policy, 1, settings).status();
}

struct ElasticJobs::Entry {
  // A run of the job on the same hosts, and the part of it that is being measured.
  struct Run {
    std::vector<std::string> hosts;
    uint32_t num_restarts = 0;
    SimTime since;
    std::optional<double> first_steps{};  // as reported when it was first seen
    std::optional<SimTime> last_said{};   // when it has told steps of this run, whoever saw that; nothing: never
    std::optional<SimTime> window{};      // begins where steps were seen
    double window_steps = 0;
    SimDuration longest_pause{};  // between two looks at which steps were seen
  };

  JobId id;
  Job seen;  // as of the last reading
  ElasticMark mark;
  ElasticWish wish;
  SimTime first_seen;
  double steps_done = 0;
  std::optional<Run> run;
  std::optional<SimTime> decided_at;  // it was to start then, and has done no steps since
  std::optional<double> restart_cost_s;
  uint32_t num_failures = 0;
  uint32_t num_launches_failed = 0;
  std::optional<uint32_t> launch_failed_at;  // after so many restarts
  uint32_t num_requeues = 0;                 // by us, after Slurm had ended it
  std::string reason;
};

Result<std::unique_ptr<ElasticJobs>> ElasticJobs::Create(const topology::Fabric& fabric, ElasticOptions options,
                                                         store::Store* store, ElasticSources sources) {
  FL_RETURN_IF_ERROR(options.Validate());
  FL_ASSIGN_OR_RETURN(const auto records, ReadElasticRecords(*store));
  std::unique_ptr<ElasticJobs> jobs(new ElasticJobs(fabric, std::move(options), store, std::move(sources)));
  for (const auto& [job, record] : records) jobs->saved_[job] = ElasticText(record);
  return jobs;
}

ElasticJobs::ElasticJobs(const topology::Fabric& fabric, ElasticOptions options, store::Store* store,
                         ElasticSources sources)
    : fabric_(fabric),
      options_(std::move(options)),
      store_(*store),
      sources_(std::move(sources)),
      hosts_(fabric, options_.partitions),
      policy_(scheduling::CreateAllocationPolicy(options_.policy, 1, options_.settings).value()),
      restart_cost_(options_.restart_cost_s) {
  controller::AllocationOptions allocation;
  allocation.policy = policy_.get();
  allocation.speeds = [this](const model::Job& job) -> Result<std::unique_ptr<prediction::JobSpeed>> {
    FL_ASSIGN_OR_RETURN(prediction::MeasuredSpeed speed,
                        prediction::MeasuredSpeed::Create(controller::UsableSizes(job, fabric_.num_gpus())));
    return std::unique_ptr<prediction::JobSpeed>(std::make_unique<prediction::MeasuredSpeed>(std::move(speed)));
  };
  allocator_.emplace(fabric_, std::move(allocation));
}

ElasticJobs::~ElasticJobs() = default;

// ---- What Slurm shows ----

bool ElasticJobs::IsOurs(const Job& job) const { return job.state != JobState::kEnded && IsOrWasOurs(job); }

bool ElasticJobs::IsOrWasOurs(const Job& job) const {
  if (!ReadElasticMark(job.admin_comment).has_value() || !job.is_single || !job.may_requeue) return false;
  if (refused_.contains(job.id)) return false;
  if (IsHeldByOthers(job)) return false;
  const std::vector<std::string_view> partitions = SplitList(job.partition);
  return !partitions.empty() && hosts_.AreAllNamed({partitions.begin(), partitions.end()});
}

Status ElasticJobs::CheckMark(const Job& job) {
  constexpr std::string_view kOurs = "fairlead:";
  if (!job.admin_comment.starts_with(kOurs) || job.admin_comment == kStoppedMark) return OkStatus();
  if (!ReadElasticMark(job.admin_comment).has_value()) {
    return Fault("its AdminComment begins as one of Fairlead's and is not understood: it is left alone");
  }
  return job.is_single ? OkStatus() : Fault("is an array, or heterogeneous: it is elastic in vain, and its size stays");
}

void ElasticJobs::Look(const ClusterState& state, const BusyJobs& busy, SimTime now) {
  sources_.note("elastic jobs", hosts_.LookAtPartitions(state));
  std::vector<std::string> unknown;
  for (const Node& node : state.nodes) {
    const bool is_sized = hosts_.CanSize() && hosts_.SharesOf({node.name}).has_value();
    if (node.is_unknown && is_sized) unknown.push_back(node.name);
  }
  sources_.note("elastic jobs' hosts",
                unknown.empty()
                    ? OkStatus()
                    : Fault(fmt::format("slurmctld has begun and not heard of {}: no size is chosen before it "
                                        "has, or takes what is silent for down (SlurmdTimeout)",
                                        CompressHosts(unknown))));
  std::set<uint32_t> present;
  dependent_.clear();
  const size_t num_before = entries_.size();
  for (const Job& job : state.jobs) {
    sources_.note(SubjectOf(job.id) + " mark", CheckMark(job));
    const auto known = entries_.find(job.id);
    if (busy.contains(job.id)) {
      if (known == entries_.end()) continue;
      known->second->seen = job;
    } else if (IsSlurmsFor(job)) {
      continue;
    } else if (!Takes(job) || (known == entries_.end() && entries_.size() >= num_before + kNumNewMax)) {
      continue;
    } else {
      LookAtJob(job, now);
    }
    if (entries_.contains(job.id)) present.insert(job.id);
  }
  LookAtEnds(state, busy, now);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const bool is_present = present.contains(entry->first);
    if (!is_present) allocator_->Remove(entry->second->id, now);
    entry = is_present ? std::next(entry) : entries_.erase(entry);
  }
  Forget(state);
  const auto is_elastic = [this](uint32_t job) { return entries_.contains(job); };
  for (const controller::HostStateChanged& change : hosts_.LookAtHosts(state, is_elastic)) allocator_->Adopt(change);
  for (const auto& [job, entry] : entries_) LookAtSteps(entry.get(), now);
  Pin(state, busy, now);
  if (now - saved_at_ >= SimDuration::FromSeconds(Seconds(kSavePeriodS))) Save(now);
}

// Where one lands that is being ended is no news before it has.
void ElasticJobs::Pin(const ClusterState& state, const BusyJobs& busy, SimTime now) {
  reserved_.clear();
  controller::PinnedJobs pinned;
  std::map<uint32_t, std::set<HostId>> hosts;
  for (const auto& [job, promised] : busy) {
    std::set<HostId>& of_job = hosts[job];
    for (const std::string& name : promised) {
      if (const HostId host = fabric_.FindHost(name); host.valid()) of_job.insert(host);
    }
  }
  for (const auto& [job, entry] : entries_) {
    if (entry->seen.state == JobState::kCompleting) hosts[job];
    if (!hosts.contains(job)) continue;
    for (const NodeShare& share : allocator_->nodes(entry->id)) hosts[job].insert(share.node);
  }
  for (const Job& job : state.jobs) {
    const auto found = job.occupies_hosts() ? hosts.find(job.id) : hosts.end();
    if (found == hosts.end()) continue;
    for (const std::string& name : job.hosts) {
      const HostId host = fabric_.FindHost(name);
      if (!host.valid()) continue;
      found->second.insert(host);
      pinned[JobId(job.id)].num_gpus_held += fabric_.num_gpus_of(host);
    }
  }
  for (const auto& [job, all] : hosts) {
    controller::PinnedJob& pin = pinned[JobId(job)];
    for (const HostId host : all) pin.reserved.push_back({host, fabric_.num_gpus_of(host), 0});
    reserved_[job] = {all.begin(), all.end()};
  }
  allocator_->SetPinned(std::move(pinned), now);
}

void ElasticJobs::LookAtEnds(const ClusterState& state, const BusyJobs& busy, SimTime now) {
  kept_.clear();
  if (!sources_.read_end) return;
  std::set<uint32_t> shown;
  for (const Job& job : state.jobs) shown.insert(job.id);
  const bool has_gone = std::ranges::any_of(entries_, [&](const auto& entry) { return !shown.contains(entry.first); });
  if (has_gone) Save(now);
  std::vector<uint32_t> gone;
  for (const auto& [job, text] : saved_) {
    if (!shown.contains(job)) gone.push_back(job);
  }
  size_t num_looks = 0;
  for (const uint32_t job : gone) {
    const bool waits = busy.contains(job) || num_looks == kNumNewMax;
    num_looks += waits ? 0 : 1;
    if (waits || LookAtEnd(job)) kept_.insert(job);
  }
}

bool ElasticJobs::LookAtEnd(uint32_t job) {
  const Result<Job> end = sources_.read_end(job);
  if (!end.ok()) return end.status().code() == StatusCode::kUnavailable;
  if (end->state != JobState::kEnded) return true;
  const std::string why = IsOrWasOurs(*end) ? WhyEndedBySlurm(*end) : "";
  Result<ElasticRecord> record = ReadElasticText(saved_.at(job));
  if (why.empty() || !record.ok()) return false;
  if (record->num_requeues >= kNumRequeuesMax) {
    sources_.note(SubjectOf(job),
                  Fault(fmt::format("{}, and was requeued {} times: it is not started again", why, kNumRequeuesMax)));
    return false;
  }
  const Result<RequeueJob> requeue = MakeRequeueJob(*end);
  if (!requeue.ok()) return false;
  // One write: a controller that is killed has counted and begun it, or neither.
  const auto recorded = ReadIntentions(store_);
  const bool is_recorded = recorded.ok() && std::ranges::any_of(*recorded, [&requeue](const auto& one) {
                             return SubjectOf(one.second) == SubjectOf(Operation(*requeue));
                           });
  if (!recorded.ok() || is_recorded) return true;  // once that is over
  ++record->num_requeues;
  std::string text = ElasticText(*record);
  const std::vector<store::Change> changes = {{ElasticKey(job), text},
                                              {IntentionKey(NextIntention(*recorded)), IntentionText(*requeue)}};
  const Status status = store_.Apply(changes);
  sources_.note("store", status);
  if (!status.ok()) return true;
  saved_[job] = std::move(text);
  requeues_.push_back(
      {*requeue, fmt::format("{}: it is requeued, {} of {}", why, record->num_requeues, kNumRequeuesMax)});
  return true;
}

std::string ElasticJobs::WhyEndedBySlurm(const Job& job) const {
  if (job.has_ended_by_slurm()) {
    return fmt::format("was ended by Slurm ({}{}{})", job.end, job.reason.empty() ? "" : ", ", job.reason);
  }
  if (job.end != "FAILED" || !sources_.why_not_launched) return "";
  const std::optional<std::string> why = sources_.why_not_launched(job.id);
  return why.has_value() ? fmt::format("could not be launched by Slurm ({})", *why) : "";
}

// Of jobs that Slurm does not have any more, also those that ended while nobody looked.
void ElasticJobs::Forget(const ClusterState& state) {
  std::set<uint32_t> jobs = kept_;
  for (const Job& job : state.jobs) jobs.insert(job.id);
  std::erase_if(refused_, [&jobs](uint32_t job) { return !jobs.contains(job); });
  std::vector<store::Change> changes;
  for (const auto& [job, text] : saved_) {
    if (!jobs.contains(job)) changes.push_back({ElasticKey(job), std::nullopt});
  }
  if (changes.empty()) return;
  const Status status = store_.Apply(changes);
  sources_.note("store", status);
  if (status.ok()) std::erase_if(saved_, [&jobs](const auto& saved) { return !jobs.contains(saved.first); });
}

bool ElasticJobs::IsSlurmsFor(const Job& job) {
  const bool is_ours = Takes(job);
  const bool depends = is_ours && job.has_dependency;
  const bool is_later = is_ours && !depends && job.is_to_begin_later();
  if (depends) dependent_.push_back(job);
  sources_.note(SubjectOf(job.id) + " begin",
                depends    ? Fault("waits for other jobs (its dependency): it gets no size before that is over")
                : is_later ? Fault("is to begin later (its StartTime): it is Slurm's until then, at a size of Slurm's")
                           : OkStatus());
  return depends || is_later;
}

void ElasticJobs::LookAtJob(const Job& job, SimTime now) {
  const ElasticMark mark = *ReadElasticMark(job.admin_comment);
  if (!entries_.contains(job.id)) {
    const Status entered = Enter(job, mark, now);
    sources_.note(SubjectOf(job.id), entered);
    if (entered.code() == StatusCode::kUnavailable) return;  // again with the next reading
    if (!entered.ok()) refused_.insert(job.id);
    if (!entered.ok()) return;
  }
  Entry& entry = *entries_.at(job.id);
  const bool has_waited = entry.seen.id == job.id && entry.seen.state == JobState::kPending;
  entry.seen = job;
  entry.mark = mark;
  if (job.state == JobState::kCompleting) return;
  if (job.is_held_by_slurm() && entry.launch_failed_at != job.num_restarts) {
    entry.launch_failed_at = job.num_restarts;
    if (++entry.num_launches_failed >= kNumFailuresMax) {
      Refuse(job.id, Fault(fmt::format("could not be launched {} times: Slurm holds it", kNumFailuresMax)), now);
      return;
    }
  }
  std::optional<std::vector<NodeShare>> nodes = std::vector<NodeShare>();
  if (job.has_hosts()) nodes = hosts_.SharesOf(job.hosts);
  if (!nodes.has_value()) {
    Refuse(job.id, Fault("has hosts that are not in the fabric: its size stays"), now);
    return;
  }
  if (const std::vector<NodeShare> decided = Sorted(allocator_->nodes(entry.id)); nodes != decided) {
    if (has_waited && !nodes->empty()) news_.push_back({job.id, WordsOfStart(*nodes, decided)});
    allocator_->Adopt(controller::JobFound{entry.id, *nodes}, now);
  }
  if (nodes->empty()) entry.decided_at.reset();
}

Status ElasticJobs::Enter(const Job& job, const ElasticMark& mark, SimTime now) {
  FL_ASSIGN_OR_RETURN(const Job details, sources_.read_job(job.id));
  auto entry = std::make_unique<Entry>();
  entry->id = JobId(job.id);
  const Result<ElasticWish> wish = ReadElasticWish(details.comment);
  // It is elastic all the same, and of unknown length.
  sources_.note(SubjectOf(job.id) + " comment", wish.ok() ? OkStatus() : wish.status());
  if (wish.ok()) entry->wish = *wish;

  ElasticRecord record;
  record.first_seen = now;
  if (const auto saved = saved_.find(job.id); saved != saved_.end()) {
    FL_ASSIGN_OR_RETURN(record, ReadElasticText(saved->second));
  }
  entry->first_seen = record.first_seen;
  entry->steps_done = record.steps_done;
  entry->num_requeues = record.num_requeues;
  if (record.restart_cost_s > 0) entry->restart_cost_s = record.restart_cost_s;

  model::Job model;
  model.id = entry->id;
  model.name = IdentityOf(job).name;
  model.gpus_per_host = hosts_.gpus_of_each();
  model.num_gpus = mark.nodes_min * hosts_.gpus_of_each();
  model.arrival = entry->first_seen;
  model.num_iterations = entry->wish.steps.value_or(kManySteps);
  // Known as soon as its speed is.
  model.elasticity.predictable_after = entry->wish.steps.has_value() ? std::optional(1e-15) : std::nullopt;
  model.elasticity.restart_cost =
      SimDuration::FromSeconds(Seconds(entry->restart_cost_s.value_or(restart_cost_.value())));
  if (mark.nodes_min > hosts_.num_hosts()) {
    return Fault(fmt::format("asks for {} nodes at least, and its partition has {} in the fabric: its size stays",
                             mark.nodes_min, hosts_.num_hosts()));
  }
  for (size_t k = mark.nodes_min; k <= std::min<size_t>(mark.nodes_max, hosts_.num_hosts()); ++k) {
    model.elasticity.sizes.push_back(static_cast<uint32_t>(k) * hosts_.gpus_of_each());
  }
  controller::JobHistory history;
  history.attained_service = record.attained_service;
  history.executed_s = record.executed_s;
  history.num_starts = record.num_starts;
  history.iterations_done = record.steps_done;
  FL_RETURN_IF_ERROR(allocator_->Submit(model, now, history));
  for (const ElasticRecord::Size& size : record.speeds) {
    allocator_->Adopt(controller::SpeedMeasured{entry->id, size.num_gpus, size.num_gpus / hosts_.gpus_of_each(),
                                                Seconds(size.iteration_s), Seconds(size.measured_s)});
  }
  entries_[job.id] = std::move(entry);
  return OkStatus();
}

void ElasticJobs::Refuse(uint32_t job, const Status& why, SimTime now) {
  sources_.note(SubjectOf(job), why);
  refused_.insert(job);
  allocator_->Remove(JobId(job), now);
  entries_.erase(job);
}

std::optional<Operation> ElasticJobs::StopLost(uint32_t job, SimTime since) const {
  const auto found = entries_.find(job);
  if (found == entries_.end()) return std::nullopt;
  const std::optional<Entry::Run>& run = found->second->run;
  if (run.has_value() && run->last_said.has_value() && *run->last_said >= since) return std::nullopt;
  const Result<HoldJob> hold = MakeHoldJob(found->second->seen);
  return hold.ok() ? std::optional<Operation>(*hold) : std::nullopt;
}

std::optional<Operation> ElasticJobs::Fail(uint32_t job, const std::string& why, SimTime now) {
  const auto found = entries_.find(job);
  if (found == entries_.end()) return std::nullopt;
  Entry& entry = *found->second;
  entry.decided_at.reset();
  if (++entry.num_failures < kNumFailuresMax) return std::nullopt;
  Result<PlaceJob> back = MakePlaceJob(entry.seen, entry.mark.nodes_min, {}, {});
  if (back.ok()) back->num_nodes_max = entry.mark.nodes_max;
  const bool is_waiting = entry.seen.state == JobState::kPending;
  Refuse(job,
         Fault(fmt::format("its size could not be changed {} times ({}): it is Slurm's now", kNumFailuresMax, why)),
         now);
  return back.ok() && is_waiting ? std::optional<Operation>(*std::move(back)) : std::nullopt;
}

bool ElasticJobs::Runs(uint32_t job) const {
  const auto found = entries_.find(job);
  return found != entries_.end() && found->second->seen.has_hosts();
}

bool ElasticJobs::WritesCheckpoints(uint32_t job, SimTime at) const {
  const auto found = entries_.find(job);
  if (found == entries_.end() || found->second->wish.checkpoint_file.empty()) return false;
  const Entry& entry = *found->second;
  if (entry.seen.state != JobState::kRunning) return false;
  if (entry.wish.progress_file.empty()) return true;
  if (entry.wish.steps.has_value() && entry.steps_done >= static_cast<double>(*entry.wish.steps)) return false;
  if (!entry.run.has_value() || !entry.run->last_said.has_value()) return false;
  const SimDuration pause = entry.run->longest_pause;
  return at - *entry.run->last_said <= std::max(kStandsStill, pause + pause + pause);
}

std::optional<SimTime> ElasticJobs::CheckpointTime(uint32_t job) const {
  const auto found = entries_.find(job);
  if (found == entries_.end()) return std::nullopt;
  return sources_.read_checkpoint_time(found->second->seen, found->second->wish);
}

std::string ElasticJobs::ReasonOf(uint32_t job) const {
  const auto found = entries_.find(job);
  if (found != entries_.end()) return found->second->reason;
  const bool depends = std::ranges::find(dependent_, job, &Job::id) != dependent_.end();
  return depends ? "it waits for other jobs" : "";
}

// ---- Steps ----

void ElasticJobs::LookAtSteps(Entry* entry, SimTime now) {
  const Job& job = entry->seen;
  if (job.state != JobState::kRunning) {
    entry->run.reset();
    return;
  }
  const bool is_same_run =
      entry->run.has_value() && entry->run->hosts == job.hosts && entry->run->num_restarts == job.num_restarts;
  if (!is_same_run) entry->run = {.hosts = job.hosts, .num_restarts = job.num_restarts, .since = now};
  const StepsSeen seen = sources_.read_steps(job, entry->wish);
  // A second, as Slurm counts in whole ones.
  const SimDuration run_time = job.run_time.value_or(now - entry->run->since) + SimDuration(1'000'000'000);
  if (seen.said_ago.has_value() && *seen.said_ago <= run_time) entry->run->last_said = now - *seen.said_ago;
  sources_.note(SubjectOf(job.id) + " progress", seen.fault.empty() ? OkStatus() : Fault(seen.fault));
  if (seen.done.has_value()) {
    Measure(entry, *seen.done, now);
  } else if (seen.iteration_time.has_value() && entry->wish.progress_file.empty()) {
    Count(entry, *seen.iteration_time, now);
  }
}

// By its own word. The first steps of a run end its start, and windows follow one another without a gap, so that it
// does not matter how late each of them is seen.
void ElasticJobs::Measure(Entry* entry, double done, SimTime now) {
  Entry::Run& run = *entry->run;
  // Back to its checkpoint.
  if (done < entry->steps_done) run.window.reset();
  entry->steps_done = done;
  if (!run.first_steps.has_value() || done < *run.first_steps) run.first_steps = done;
  if (!run.window.has_value()) {
    if (done <= *run.first_steps) return;
    EndRestart(entry, now);
  } else if (done > run.window_steps && now > *run.window) {
    const Seconds passed = (now - *run.window).seconds();
    TellSteps(*entry, passed / (done - run.window_steps), passed);
    run.longest_pause = std::max(run.longest_pause, now - *run.window);
  } else {
    return;
  }
  run.window = now;
  run.window_steps = done;
}

void ElasticJobs::Count(Entry* entry, Seconds iteration, SimTime now) {
  Entry::Run& run = *entry->run;
  if ((now - run.since).seconds().value() < kSettlingS || !(iteration.value() > 0)) return;
  if (run.window.has_value() && now > *run.window) {
    const Seconds passed = (now - *run.window).seconds();
    entry->steps_done += passed / iteration;
    TellSteps(*entry, iteration, passed);
  } else {
    EndRestart(entry, now);
  }
  run.window = now;
}

void ElasticJobs::TellSteps(const Entry& entry, Seconds iteration, Seconds measured_for) {
  const double most = entry.wish.steps.has_value() ? kMostDone * static_cast<double>(*entry.wish.steps) : 1e300;
  allocator_->Adopt(controller::JobProgressed{entry.id, std::min(entry.steps_done, most), iteration, measured_for});
}

void ElasticJobs::EndRestart(Entry* entry, SimTime now) {
  if (!entry->decided_at.has_value()) return;
  const double cost_s = std::clamp((now - *entry->decided_at).seconds().value(), 1.0, kRestartCostMaxS);
  entry->decided_at.reset();
  entry->num_failures = entry->num_launches_failed = 0;
  entry->restart_cost_s = entry->restart_cost_s.has_value() ? Mean(*entry->restart_cost_s, cost_s) : cost_s;
  restart_cost_ = Seconds(Mean(restart_cost_.value(), cost_s));
  allocator_->Adopt(controller::RestartMeasured{entry->id, SimDuration::FromSeconds(Seconds(*entry->restart_cost_s))});
}

// ---- Decisions ----

std::vector<Operation> ElasticJobs::Decide(SimTime now) {
  if (!hosts_.MayDecide()) return {};
  // Room is made before it is taken: what is held, and what shrinks, first.
  std::vector<std::pair<int64_t, Operation>> operations;
  std::vector<std::pair<uint32_t, Status>> failed;
  const auto add = [&](const Entry& entry, const std::vector<NodeShare>& nodes) {
    Result<Operation> operation = MakeOperation(entry, nodes);
    const size_t num_before = entry.seen.has_hosts() ? entry.seen.hosts.size() : 0;
    const auto growth = static_cast<int64_t>(nodes.size()) - static_cast<int64_t>(num_before);
    if (operation.ok()) {
      operations.emplace_back(nodes.empty() ? INT64_MIN : growth, *std::move(operation));
    } else {
      failed.emplace_back(entry.seen.id, operation.status());
    }
  };
  std::set<uint32_t> changed;
  std::vector<controller::AllocationChange> changes = allocator_->Decide(now);
  std::set<HostId> kept;  // by jobs that stay where they are, and by pinned ones
  for (const auto& [job, hosts] : reserved_) kept.insert(hosts.begin(), hosts.end());
  for (const auto& [job, entry] : entries_) {
    if (std::ranges::find(changes, entry->id, &controller::AllocationChange::job) != changes.end()) continue;
    for (const NodeShare& share : allocator_->nodes(entry->id)) kept.insert(share.node);
  }
  const std::vector<JobId> placed = hosts_.PlaceNear(kept, &changes);
  for (const controller::AllocationChange& change : changes) {
    if (std::ranges::find(placed, change.job) != placed.end()) allocator_->Relocate(change.job, change.nodes);
  }
  for (const controller::AllocationChange& change : changes) {
    Entry& entry = *entries_.at(change.job.value());
    entry.reason = change.reason;
    if (WasRequeued(entry.seen)) entry.reason = "it was released after a requeue: it is held first, and placed then";
    const auto there = entry.seen.has_hosts() ? hosts_.SharesOf(entry.seen.hosts) : std::vector<NodeShare>();
    if (entry.seen.has_hosts() && there == Sorted(change.nodes)) continue;
    changed.insert(entry.seen.id);
    if (!change.nodes.empty()) entry.decided_at = now;
    add(entry, change.nodes);
  }
  for (const auto& [job, entry] : entries_) {
    const bool is_queued = entry->seen.state == JobState::kPending && !reserved_.contains(job) && IsLoose(entry->seen);
    if (is_queued && !changed.contains(job) && allocator_->nodes(entry->id).empty()) add(*entry, {});
  }
  for (const Job& job : dependent_) {
    const Result<HoldJob> hold = MakeHoldJob(job);
    if (IsLoose(job) && hold.ok()) operations.emplace_back(INT64_MIN, *hold);
  }
  for (const auto& [job, why] : failed) Refuse(job, why, now);
  if (!operations.empty()) Save(now);
  std::ranges::stable_sort(operations, {}, [](const auto& operation) { return operation.first; });
  std::vector<Operation> sorted;
  sorted.reserve(operations.size());
  for (auto& [growth, operation] : operations) sorted.push_back(std::move(operation));
  return sorted;
}

Result<Operation> ElasticJobs::MakeOperation(const Entry& entry, const std::vector<NodeShare>& nodes) const {
  if (nodes.empty() || WasRequeued(entry.seen)) {
    FL_ASSIGN_OR_RETURN(const HoldJob hold, MakeHoldJob(entry.seen));
    return Operation(hold);
  }
  FL_ASSIGN_OR_RETURN(std::vector<std::string> hosts, hosts_.NamesOf(nodes));
  const auto num_nodes = static_cast<uint32_t>(hosts.size());
  FL_ASSIGN_OR_RETURN(PlaceJob place, MakePlaceJob(entry.seen, num_nodes, std::move(hosts), {}));
  return Operation(std::move(place));
}

// ---- What is kept and shown ----

void ElasticJobs::Save(SimTime now) {
  saved_at_ = now;
  std::vector<store::Change> changes;
  std::map<uint32_t, std::string> texts;
  for (const auto& [job, entry] : entries_) {
    const controller::JobHistory history = allocator_->HistoryOf(entry->id);
    ElasticRecord record = {.first_seen = entry->first_seen,
                            .steps_done = entry->steps_done,
                            .attained_service = history.attained_service,
                            .executed_s = history.executed_s,
                            .num_starts = history.num_starts,
                            .restart_cost_s = entry->restart_cost_s.value_or(0),
                            .num_requeues = entry->num_requeues,
                            .speeds = {}};
    const auto& speed = dynamic_cast<const prediction::MeasuredSpeed&>(allocator_->speed(entry->id));
    for (const prediction::MeasuredSize& size : speed.measured()) {
      record.speeds.push_back({size.num_gpus, size.iteration.value(), size.measured_for.value()});
    }
    std::string text = ElasticText(record);
    if (const auto saved = saved_.find(job); saved != saved_.end() && saved->second == text) continue;
    changes.push_back({ElasticKey(job), text});
    texts[job] = std::move(text);
  }
  if (changes.empty()) return;
  const Status status = store_.Apply(changes);
  sources_.note("store", status);
  if (!status.ok()) return;
  for (auto& [job, text] : texts) saved_[job] = std::move(text);
}

std::vector<ElasticView> ElasticJobs::Views() const {
  std::vector<ElasticView> views;
  if (!hosts_.CanSize()) return views;  // those that steering is at may be left, and are not sized now
  for (const auto& [job, entry] : entries_) {
    const controller::JobHistory history = allocator_->HistoryOf(entry->id);
    views.push_back({.job = job,
                     .nodes_min = entry->mark.nodes_min,
                     .nodes_max = entry->mark.nodes_max,
                     .num_nodes = static_cast<uint32_t>(allocator_->nodes(entry->id).size()),
                     .steps = entry->wish.steps,
                     .steps_done = entry->steps_done,
                     .node_seconds = history.attained_service / hosts_.gpus_of_each(),
                     .num_restarts = entry->seen.num_restarts,
                     .restart_cost = Seconds(entry->restart_cost_s.value_or(restart_cost_.value())),
                     .reason = entry->reason});
  }
  return views;
}

}  // namespace fairlead::slurm

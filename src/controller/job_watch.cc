#include "controller/job_watch.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <variant>

#include "base/check.h"
#include "model/job_identity.h"
#include "topology/place_names.h"

namespace fairlead::controller {

namespace {

using model::Finding;
using model::FindingId;
using model::FindingState;

// Agents tell for about a minute of processes that have ended.
constexpr SimDuration kFormerFor(600'000'000'000);
// There is a tick each second at least.
constexpr SimDuration kOwnSilenceMin(3'000'000'000);
// Whatever steering keeps a job for: by then it has been given up.
constexpr SimDuration kForgottenAfter(86'400'000'000'000);

// Hosts in the order of their first rank.
std::vector<HostId> HostsOf(const model::JobLayout& layout) {
  std::vector<HostId> hosts;
  std::set<HostId> known;
  for (const model::RankPlace& place : layout.ranks) {
    if (known.insert(place.host).second) hosts.push_back(place.host);
  }
  return hosts;
}

bool MayActOn(const std::string& job, const JobWatchOptions& options) {
  const auto identity = model::ParseJobKey(job);
  return identity.has_value() && identity->is_owner_verified && (!options.may_act_on || options.may_act_on(*identity));
}

bool MayRunOn(const std::string& job, HostId host, const JobWatchOptions& options) {
  if (!options.may_run_on) return true;
  const auto identity = model::ParseJobKey(job);
  return !identity.has_value() || options.may_run_on(*identity, host);
}

HostChoice HostChoiceOf(const std::string& job, const JobWatchOptions& options) {
  const auto identity = model::ParseJobKey(job);
  return identity.has_value() && options.host_choice ? options.host_choice(*identity) : HostChoice::kRestart;
}

bool HasLiving(const std::vector<telemetry::SeenProcess>& processes) {
  return std::ranges::any_of(
      processes, [](const telemetry::SeenProcess& process) { return process.state != model::ProcessState::kGone; });
}

}  // namespace

struct JobWatch::Job {
  JobId id;
  std::string name;
  JobProcesses processes;
  std::optional<telemetry::JobAssembler> assembler;
  std::unique_ptr<diagnosis::JobDiagnosis> diagnosis;
  std::vector<model::TelemetryRecord> records;  // since it was judged
  std::vector<HostId> hosts;                    // of the layout
  std::vector<RankEnd> ends;                    // [rank] likewise
  size_t num_ranks = 0;
  bool is_announced = false;       // its layout, of this run
  bool has_begun = false;          // that was told, of this run
  std::vector<FindingId> numbers;  // [number of the diagnosis] ours
  SimTime heard;
  SimTime judged;
  SimTime excused_until;
  bool is_stopped = false;                                  // this run, by steering
  std::map<FindingId, std::pair<SimTime, Finding>> deaths;  // not reported yet, and since when they are known
  std::set<FindingId> unreported;                           // that never will be
  std::vector<SteeringEvent> events;                        // to be reported with the next tick
};

JobWatch::JobWatch(const topology::Fabric& fabric, diagnosis::JobDiagnosisFactory make_diagnosis,
                   const JobWatchOptions& options)
    : fabric_(fabric),
      names_(topology::NamePlaces(fabric)),
      make_diagnosis_(std::move(make_diagnosis)),
      options_(options),
      findings_(options.num_over_max, options.num_proofs_max),
      ends_(names_) {}

JobWatch::~JobWatch() = default;

void JobWatch::Restore(const std::string& name, JobId id) {
  restored_[name] = id;
  num_jobs_ = std::max(num_jobs_, id.value() + 1);
}

void JobWatch::Restore(FindingId last_finding) { findings_.Restore(last_finding); }

// ---- Looks ----

JobWatch::Job* JobWatch::FindOrBegin(SimTime now, const ProcessesSeen& look) {
  const auto known = ids_.find(look.job);
  if (known != ids_.end()) return jobs_.at(known->second).get();
  // Reports about ended processes belong to a job that has ended.
  if (!HasLiving(look.processes)) return nullptr;
  if (jobs_.size() >= options_.num_jobs_max) {
    ++counters_.dropped_looks;
    return nullptr;
  }
  const auto restored = restored_.extract(look.job);
  const JobId id = restored.empty() ? JobId(num_jobs_++) : restored.mapped();
  ids_[look.job] = id;
  Job* job = (jobs_[id] = std::make_unique<Job>()).get();
  job->id = id;
  job->name = look.job;
  StartRun(now, job);
  return job;
}

void JobWatch::StartRun(SimTime now, Job* job) {
  ++counters_.runs;
  job->assembler.emplace(job->id, options_.assembler, names_);
  job->diagnosis = make_diagnosis_(job->name);
  job->diagnosis->ExcuseUntil(job->excused_until);
  job->records.clear();
  job->numbers.clear();
  job->is_announced = false;
  job->has_begun = false;
  job->is_stopped = false;
  job->unreported.clear();
  job->judged = now;
}

// A process that was stopped hears of some hosts before others: none was silent meanwhile.
void JobWatch::NoteCall(SimTime now) {
  if (now - std::exchange(last_call_, now) <= kOwnSilenceMin) return;
  listening_since_ = now;
  for (const auto& [id, job] : jobs_) job->processes.NoteOwnSilence(now);
}

void JobWatch::Take(SimTime now, HostId host, const ProcessesSeen& look) {
  NoteCall(now);
  ++counters_.looks;
  if (!MayRunOn(look.job, host, options_)) {
    ++counters_.foreign_looks;
    return;
  }
  Job* job = FindOrBegin(now, look);
  if (job == nullptr) return;
  TakeBack(host, look, *job);
  telemetry::HostLook news = Restrict(host, look);
  // Nobody heard of any of its hosts: none of them was silent meanwhile.
  if (now - std::exchange(job->heard, now) > kOwnSilenceMin) job->processes.NoteOwnSilence(now);
  job->processes.Note(now, host, news.processes);
  if (job->processes.IsNewRun(now, options_.run)) {
    Forget(now, job->name, job->processes.DropOthers(now, options_.run));
    EndFindings(now, job);
    StartRun(now, job);
    news = Restrict(host, look);
  }
  bool has_layout = false;
  for (model::TelemetryRecord& record : job->assembler->Add(now, news)) {
    if (auto* layout = std::get_if<model::JobLayout>(&record)) {
      if (std::exchange(job->is_announced, true))
        KeepProofs(*job);  // the diagnosis forgets them with the layout before
      Place(layout);
      ++counters_.layouts;
      has_layout = true;
      job->hosts = HostsOf(*layout);
      job->num_ranks = layout->ranks.size();
      job->ends.clear();
      for (const model::RankPlace& place : layout->ranks) job->ends.push_back({place.host, place.nic});
    }
    job->records.push_back(std::move(record));
  }
  TellRunning(job, has_layout, HasLiving(news.processes));
}

// A run that steering has stopped, or that no host still sees alive when its ranks are known, has not begun.
void JobWatch::TellRunning(Job* job, bool has_layout, bool is_alive) {
  const bool begins = job->is_announced && !job->has_begun && !job->is_stopped && is_alive;
  if (!has_layout && !begins) return;
  job->has_begun |= begins;
  job->events.emplace_back(JobRunning{.job = job->id,
                                      .hosts = job->hosts,
                                      .is_new_run = begins,
                                      .is_owner_verified = MayActOn(job->name, options_),
                                      .host_choice = HostChoiceOf(job->name, options_)});
}

telemetry::HostLook JobWatch::Restrict(HostId host, const ProcessesSeen& look) const {
  telemetry::HostLook news{
      .host = host, .number = look.number, .at = look.at, .processes = {}, .symptoms = look.symptoms};
  for (const telemetry::SeenProcess& process : look.processes) {
    const ProcessKey key{host, process.report.pid, process.report.process_start};
    if (!former_.contains({look.job, key})) news.processes.push_back(process);
  }
  return news;
}

void JobWatch::Forget(SimTime now, const std::string& job, const std::vector<FormerProcess>& processes) {
  for (const FormerProcess& process : processes) {
    former_[{job, process.key}] = {.since = now, .has_ended = process.has_ended};
  }
}

void JobWatch::TakeBack(HostId host, const ProcessesSeen& look, const Job& job) {
  if (former_.empty()) return;
  for (const telemetry::SeenProcess& process : look.processes) {
    const auto former = former_.find({look.job, {host, process.report.pid, process.report.process_start}});
    if (former == former_.end() || process.state == model::ProcessState::kGone) continue;
    if (former->second.has_ended || job.processes.HasMet(process.report.communicators)) former_.erase(former);
  }
}

// A rank has the only NIC of its host, or that of its GPU where the job has one for each, or its own where there are as
// many. A connection does not tell its plane, so a leaf is that of a NIC with one port.
void JobWatch::Place(model::JobLayout* layout) const {
  std::map<HostId, uint32_t> num_ranks;
  for (const model::RankPlace& place : layout->ranks) ++num_ranks[place.host];
  for (model::RankPlace& place : layout->ranks) {
    const uint32_t num_nics = fabric_.num_nics_of(place.host);
    const uint32_t num_here = num_ranks[place.host];
    if (num_nics == 1) {
      place.nic = fabric_.first_nic(place.host);
    } else if (num_here == fabric_.num_gpus_of(place.host)) {
      place.nic = fabric_.nic_of(fabric_.gpu(place.host, place.gpu));
    } else if (num_here == num_nics) {
      place.nic = fabric_.nic(place.host, place.gpu);
    }
    if (!place.nic.valid()) continue;
    std::vector<NodeId> leaves;
    for (const LinkId link : fabric_.links_from(fabric_.node_of(place.nic))) {
      if (fabric_.tier(link) == topology::LinkTier::kHostLeaf) leaves.push_back(fabric_.destination(link));
    }
    const auto all = fabric_.switches(topology::NodeKind::kLeaf);
    const auto leaf = leaves.size() == 1 ? std::ranges::lower_bound(all, leaves.front()) : all.end();
    if (leaf != all.end()) place.leaves = {model::LeafId(static_cast<size_t>(leaf - all.begin()))};
  }
}

// ---- Judgements ----

std::vector<SteeringEvent> JobWatch::Tick(SimTime now) {
  NoteCall(now);
  std::vector<SteeringEvent> events;
  for (auto entry = jobs_.begin(); entry != jobs_.end();) {
    Job* job = entry->second.get();
    if (!job->records.empty() || now - job->judged >= options_.judge_period) Judge(now, job);
    const bool is_gone = IsGone(now, *job);
    if (is_gone) {
      EndFindings(now, job);
      job->events.emplace_back(JobGone{job->id});
      Forget(now, job->name, job->processes.All());
    }
    std::ranges::move(std::exchange(job->events, {}), std::back_inserter(events));
    if (is_gone) ids_.erase(job->name);
    entry = is_gone ? jobs_.erase(entry) : std::next(entry);
  }
  if (now >= next_former_look_) {
    next_former_look_ = now + kFormerFor;
    std::erase_if(former_, [&](const auto& former) { return now - former.second.since >= kFormerFor; });
  }
  return events;
}

void JobWatch::Judge(SimTime now, Job* job) {
  job->judged = now;
  for (Finding& finding : job->diagnosis->Handle(now, job->records)) Tell(now, job, std::move(finding));
  job->records.clear();
  TellSettledDeaths(now, job);
}

bool JobWatch::IsGone(SimTime now, const Job& job) const {
  if (now < job.excused_until) return now - job.heard >= kForgottenAfter;
  if (now - std::max(job.heard, listening_since_) >= options_.silent_for) return true;
  const auto ended_at = job.processes.AllEndedAt();
  if (!ended_at.has_value()) return false;
  return !job.processes.HasFailed() || now - std::max(*ended_at, job.excused_until) >= options_.restart_within;
}

void JobWatch::Tell(SimTime now, Job* job, Finding finding) {
  const auto ours = [&](FindingId id) {
    while (job->numbers.size() <= id.index()) job->numbers.push_back(findings_.NextNumber());
    return job->numbers[id.index()];
  };
  finding.id = ours(finding.id);
  for (FindingId& symptom : finding.symptoms) symptom = ours(symptom);
  finding.job = job->id;
  if (job->unreported.contains(finding.id)) return;
  const bool is_over = finding.state == FindingState::kCleared;
  if (finding.syndrome != model::Syndrome::kDead || findings_.Find(finding.id) != nullptr) {
    return Report(job, std::move(finding));
  }
  if (is_over) {
    job->deaths.erase(finding.id);
    job->unreported.insert(finding.id);
  } else {
    job->deaths.try_emplace(finding.id, now, Finding()).first->second.second = finding;
  }
}

void JobWatch::TellSettledDeaths(SimTime now, Job* job) {
  const bool is_ending = job->is_stopped && now - job->excused_until < options_.stop_within;
  if (now < job->excused_until || is_ending) return;
  for (auto entry = job->deaths.begin(); entry != job->deaths.end();) {
    auto& [known_since, finding] = entry->second;
    if (now - known_since < options_.death_settles_for) {
      ++entry;
      continue;
    }
    if (job->processes.NumLeftBehind(now, options_.run) > 0) {
      finding.confirmed = now;
      Report(job, finding);
    } else if (!job->is_stopped && job->diagnosis->HasCrashed(now)) {
      finding.confirmed = now;
      finding.action = model::RecommendedAction::kWatch;
      Report(job, finding);
    } else {
      job->unreported.insert(finding.id);
      ++counters_.ends;
    }
    entry = job->deaths.erase(entry);
  }
}

void JobWatch::Report(Job* job, Finding finding) {
  ends_.Consider(finding, job->ends);
  ends_.Refine(&finding);
  Keep(job, std::move(finding));
}

void JobWatch::Keep(Job* job, Finding finding) {
  if (finding.state == FindingState::kCleared) ends_.Forget(finding.id);
  if (findings_.Keep(job->name, finding)) ++counters_.findings[static_cast<size_t>(finding.syndrome)];
  job->events.emplace_back(FindingReported{std::move(finding)});
}

void JobWatch::Take(SimTime now, const WatchInput& input) {
  if (const auto* looked = std::get_if<ProcessesLooked>(&input)) return Take(now, looked->host, looked->look);
  if (const auto* answered = std::get_if<HostsAnswered>(&input)) return Take(now, *answered);
  Take(std::get<SlowEndAnswer>(input));
}

void JobWatch::Take(SimTime now, const HostsAnswered& answer) {
  for (const auto& [id, job] : jobs_) {
    for (const HostId host : job->hosts) {
      if (std::ranges::binary_search(answer.hosts, host)) job->diagnosis->NoteAnswer(now, host);
    }
  }
}

void JobWatch::Take(const SlowEndAnswer& answer) {
  const WatchedFinding* watched = findings_.Find(answer.finding);
  if (!ends_.Take(answer) || watched == nullptr) return;
  const auto job = jobs_.find(watched->finding.job);
  if (job != jobs_.end()) Report(job->second.get(), watched->finding);
}

// Of the run that ends.
void JobWatch::KeepProofs(const Job& job) {
  for (size_t number = 0; number < job.numbers.size(); ++number) {
    if (findings_.Find(job.numbers[number]) == nullptr) continue;
    if (auto proof = job.diagnosis->ProofOf(FindingId(number))) {
      findings_.KeepProof(job.numbers[number], *std::move(proof));
    }
  }
}

std::optional<model::FindingProof> JobWatch::ProofOf(FindingId id) const {
  for (const auto& [job_id, job] : jobs_) {
    const auto number = std::ranges::find(job->numbers, id);
    if (number == job->numbers.end()) continue;
    auto proof = job->diagnosis->ProofOf(FindingId(static_cast<size_t>(number - job->numbers.begin())));
    if (proof.has_value()) return proof;
  }
  return findings_.FindProof(id);
}

void JobWatch::EndFindings(SimTime now, Job* job) {
  KeepProofs(*job);
  job->deaths.clear();
  for (const FindingId id : job->numbers) {
    const WatchedFinding* watched = findings_.Find(id);
    if (watched == nullptr || watched->finding.state == FindingState::kCleared) continue;
    Finding finding = watched->finding;
    finding.state = FindingState::kCleared;
    finding.cleared = now;
    Keep(job, std::move(finding));
  }
}

void JobWatch::Excuse(JobId job, SimTime until) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  found->second->excused_until = until;
  found->second->is_stopped |= until == SimTime::Never();
  found->second->diagnosis->ExcuseUntil(until);
}

// ---- Views ----

std::string JobWatch::JobName(JobId job) const {
  const auto running = jobs_.find(job);
  if (running != jobs_.end()) return running->second->name;
  return findings_.JobName(job);
}

std::optional<JobId> JobWatch::FindJob(const std::string& name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<WatchedJob> JobWatch::Jobs() const {
  std::vector<WatchedJob> views;
  for (const auto& [id, job] : jobs_) {
    views.push_back({.id = id,
                     .name = job->name,
                     .hosts = job->hosts,
                     .num_ranks = job->num_ranks,
                     .num_processes = job->processes.NumAlive(),
                     .excused_until = job->excused_until,
                     .notes = job->assembler->notes()});
  }
  return views;
}

}  // namespace fairlead::controller

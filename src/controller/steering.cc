#include "controller/steering.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "controller/steering_judgement.h"
#include "controller/steering_records.h"

namespace fairlead::controller {

using model::Finding;

std::string_view Name(JobCondition condition) {
  static constexpr std::array<std::string_view, 4> kNames = {"running", "steered", "waits_for_spare", "needs_operator"};
  return kNames.at(static_cast<size_t>(condition));
}

Steering::Steering(const SteeringOptions& options, uint32_t num_cluster_hosts)
    : options_(options),
      num_cluster_hosts_(num_cluster_hosts),
      jobs_(options.hold_off),
      outbox_(options.attempts),
      sequences_(&jobs_, &hosts_, &outbox_) {}

std::vector<SteeringAction> Steering::Handle(SimTime now, std::span<const SteeringEvent> events) {
  for (const SteeringEvent& event : events) {
    std::visit([&](const auto& e) { Take(now, e); }, event);
  }
  for (const ActionAttempts::End& end : outbox_.Advance(now)) End(now, end);
  JudgeHeldUp(now);
  return outbox_.Take();
}

// ---- What is known ----

std::optional<JobCondition> Steering::ConditionOf(JobId job) const {
  const SteeredJob* found = jobs_.Find(job);
  if (found == nullptr) return std::nullopt;
  if (found->needs_operator) return JobCondition::kNeedsOperator;
  const SteeringSequence* sequence = sequences_.Find(job);
  if (sequence == nullptr) return JobCondition::kRunning;
  return sequence->waits_for_spare ? JobCondition::kWaitsForSpare : JobCondition::kSteered;
}

HostCondition Steering::ConditionOf(HostId host) const {
  if (const std::optional<HostCondition> condition = hosts_.ConditionOf(host)) return *condition;
  if (sequences_.IsReserved(host)) return HostCondition::kReserved;
  return jobs_.IsOfAny(host) ? HostCondition::kInJob : HostCondition::kUnknown;
}

std::set<HostId> Steering::MarkedHosts() const {
  std::set<HostId> hosts = hosts_.Marked();
  hosts.merge(sequences_.Reserved());
  return hosts;
}

std::vector<JobId> Steering::Jobs() const {
  std::vector<JobId> jobs;
  for (const auto& [job, what] : jobs_.all()) jobs.push_back(job);
  return jobs;
}

// ---- Events ----

void Steering::Take(SimTime now, const JobRunning& event) {
  const SteeringSequence* sequence = sequences_.Find(event.job);
  if (sequence != nullptr && GoesOn(now, event, *sequence)) return;
  jobs_.Take(now, event);
  for (const HostId host : event.hosts) {
    NoteUsed(host);
    if (event.is_new_run) hosts_.EndDoubt(host);
  }
  sequences_.ServeWaiting(now);  // with the spares of a sequence that was dropped
}

bool Steering::GoesOn(SimTime now, const JobRunning& event, const SteeringSequence& sequence) {
  if (jobs_.at(event.job).is_allocated()) {
    FollowAllocator(now, event, sequence);
    return true;
  }
  const bool is_ours =
      event.is_new_run && outbox_.Awaits<RestartJob>(sequence.current) && sequence.hosts == event.hosts;
  if (is_ours) {
    Take(now, StepDone{.action = sequence.current});
    return true;
  }
  if (jobs_.at(event.job).hosts == event.hosts) return true;
  if (outbox_.Awaits<StopJob>(sequence.current)) {
    if (!sequences_.Move(event.job, event.hosts)) return true;
    jobs_.Move(event.job, event.hosts);
    for (const HostId host : event.hosts) NoteUsed(host);
    return true;
  }
  // The diagnosis needs a while to learn of a run: this one is stopped by now.
  if (sequence.is_stopped && !event.is_new_run) return true;
  outbox_.Tell(now, Advise{event.job}, event.job, &sequence.finding,
               "the job was restarted by others; ours is dropped");
  sequences_.Drop(event.job);
  EndExcuse(now, event.job);
  return false;
}

// What was asked for is done once it runs anew, wherever that is.
void Steering::FollowAllocator(SimTime now, const JobRunning& event, const SteeringSequence& sequence) {
  const bool is_restarted = event.is_new_run && outbox_.Awaits<RestartJob>(sequence.current);
  jobs_.Move(event.job, event.hosts);
  for (const HostId host : event.hosts) NoteUsed(host);
  if (is_restarted) Take(now, StepDone{.action = sequence.current});
}

void Steering::Take(SimTime now, const JobGone& event) {
  sequences_.Drop(event.job);
  jobs_.Forget(event.job);
  sequences_.ServeWaiting(now);
}

void Steering::Take(SimTime now, const SpareOffered& event) {
  hosts_.EndDoubt(event.host);
  if (ConditionOf(event.host) != HostCondition::kUnknown) return;
  hosts_.Free(event.host);
  sequences_.ServeWaiting(now);
}

void Steering::Take(SimTime now, const FindingReported& event) {
  if (jobs_.Hear(event.finding)) Judge(now, event.finding);
}

void Steering::Take(SimTime now, const StepDone& event) {
  if (const std::optional<ActionAttempts::End> end = outbox_.Answer(now, event)) End(now, *end);
}

void Steering::Take(SimTime now, const HostTested& event) {
  if (!hosts_.IsAway(event.host)) return;
  if (const std::optional<uint64_t> test = hosts_.EndTest(event.host)) outbox_.Forget(*test);
  if (event.is_healthy) BeginReturn(now, event.host, "passed its tests");
}

void Steering::Take(SimTime now, const IsolationUndone& event) {
  BeginReturn(now, event.host, "its isolation was taken back");
}

void Steering::Take(SimTime now, const PauseAnnounced& event) {
  // While a job is stopped it is excused anyway.
  if (!jobs_.Take(event) || IsBusy(event.job)) return;
  outbox_.Tell(now, ExcuseJob{event.job, event.until}, event.job, nullptr, "announced: " + event.reason);
}

void Steering::NoteUsed(HostId host) {
  hosts_.NoteUsed(host);
  sequences_.NoteUsed(host);
}

void Steering::FreeIfUnknown(HostId host) {
  if (ConditionOf(host) == HostCondition::kUnknown) hosts_.Free(host);
}

void Steering::BeginReturn(SimTime now, HostId host, std::string reason) {
  if (hosts_.BeginReturn(host)) outbox_.Tell(now, ReturnHost{host}, JobId(), nullptr, std::move(reason));
}

// ---- Findings ----

void Steering::Judge(SimTime now, const Finding& finding) {
  const SteeredJob& job = jobs_.at(finding.job);
  const std::vector<HostId> guilty = GuiltyHosts(job, finding);
  const SteeringView view{now, options_, num_cluster_hosts_, job, hosts_, sequences_.all(), history_};
  const Objection objection = FindObjection(view, finding, guilty);
  if (objection.rule.empty()) {
    jobs_.EndHoldUp(finding);
    history_.ForgetUntil(now - kSteeringLimitsMemory);
    for (size_t i = 0; i < guilty.size(); ++i) history_.Add(now, finding.job);
    return sequences_.Begin(now, finding, guilty);
  }
  const bool is_known = jobs_.RuleOf(finding) == objection.rule;
  if (objection.may_pass) {
    jobs_.HoldUp(finding, objection.rule);
  } else {
    jobs_.EndHoldUp(finding);
  }
  if (is_known) return;
  outbox_.Tell(now, Advise{finding.job, finding.action}, finding.job, &finding,
               objection.text + ": " + finding.summary);
}

void Steering::JudgeHeldUp(SimTime now) {
  for (const Finding& finding : jobs_.AllHeldUp()) {
    if (jobs_.IsHeldUp(finding)) Judge(now, finding);
  }
}

// ---- What becomes of actions ----

void Steering::End(SimTime now, const ActionAttempts::End& end) {
  if (const auto* test = std::get_if<TestHost>(&end.action.step)) hosts_.EndTest(test->host);
  if (end.succeeded) {
    Succeed(now, end.action);
  } else {
    GiveUp(now, end.action, end.message);
  }
}

void Steering::Succeed(SimTime now, const SteeringAction& action) {
  const SteeringSequence* sequence = sequences_.FindWaitingFor(action);
  if (const auto* isolate = std::get_if<IsolateHost>(&action.step)) {
    hosts_.FinishIsolation(isolate->host);
    // Whether it may come back is decided while the job continues.
    const Finding* finding = sequence != nullptr ? &sequence->finding : nullptr;
    hosts_.BeginTest(isolate->host,
                     outbox_.Tell(now, TestHost{isolate->host}, JobId(), finding, "isolated: " + action.reason));
  }
  if (const auto* back = std::get_if<ReturnHost>(&action.step)) {
    hosts_.FinishReturn(back->host);
    sequences_.KeepPlace(now, back->host);
    FreeIfUnknown(back->host);
    sequences_.ServeWaiting(now);
  }
  if (sequence == nullptr) return;
  if (std::holds_alternative<RestartJob>(action.step)) {
    const SteeredJob& job = jobs_.at(action.job);
    return EndRestart(now, action.job, std::vector(job.is_allocated() ? job.hosts : sequence->hosts));
  }
  sequences_.Advance(now, action);
}

void Steering::EndRestart(SimTime now, JobId job, const std::vector<HostId>& hosts) {
  const std::vector<HostId> before = jobs_.TakeRestart(now, job, hosts);
  sequences_.Finish(job);
  // Those that were replaced and have come back meanwhile.
  for (const HostId host : before) FreeIfUnknown(host);
  EndExcuse(now, job);
  sequences_.ServeWaiting(now);
}

void Steering::GiveUp(SimTime now, const SteeringAction& action, const std::string& message) {
  const SteeringSequence* sequence = sequences_.FindWaitingFor(action);
  const std::string reason = Describe(action.step) + ": " + message;
  if (const auto* isolate = std::get_if<IsolateHost>(&action.step)) {
    hosts_.GiveUpIsolation(isolate->host);
    if (sequence == nullptr) outbox_.Tell(now, AskOperator{JobId(), isolate->host}, JobId(), nullptr, reason);
  }
  if (const auto* test = std::get_if<TestHost>(&action.step)) {
    outbox_.Tell(now, AskOperator{JobId(), test->host}, JobId(), nullptr, reason + "; the host stays isolated");
  }
  if (const auto* back = std::get_if<ReturnHost>(&action.step)) {
    hosts_.GiveUpReturn(back->host);
    outbox_.Tell(now, AskOperator{JobId(), back->host}, JobId(), nullptr, reason + "; the host stays isolated");
  }
  if (sequence == nullptr) return;
  if (std::holds_alternative<TakeSpare>(action.step)) return sequences_.TryAnotherSpare(now, action, reason);
  LeaveToOperator(now, action.job, *sequence, reason + "; restart the job by hand, or end it");
  sequences_.ServeWaiting(now);
}

void Steering::LeaveToOperator(SimTime now, JobId job, const SteeringSequence& sequence, std::string reason) {
  jobs_.SetNeedsOperator(job);
  outbox_.Tell(now, AskOperator{job, HostId()}, job, &sequence.finding, std::move(reason));
  sequences_.Drop(job);
  EndExcuse(now, job);
}

void Steering::EndExcuse(SimTime now, JobId job) {
  const SimTime until = std::max(now, jobs_.PausedUntil(job));
  outbox_.Tell(now, ExcuseJob{job, until}, job, nullptr, "the diagnosis may look again");
}

// ---- Over the end of a process ----

std::vector<std::pair<std::string, std::string>> Steering::Records(std::span<const std::string> host_names) const {
  SteeringState state{.cluster = {hosts_.Keep(), history_.all(), outbox_.num_actions()}};
  for (const auto& [id, job] : jobs_.all()) {
    SteeringState::Job& kept = state.jobs[id];
    kept.job = SteeredJobs::Keep(job);
    if (const SteeringSequence* sequence = sequences_.Find(id)) kept.sequence = *sequence;
  }
  for (const auto& [number, open] : outbox_.attempts().open()) state.open.push_back(open);
  return WriteSteeringRecords(state, host_names);
}

Result<std::vector<std::string>> Steering::Restore(std::span<const std::pair<std::string, std::string>> records,
                                                   std::span<const std::string> host_names) {
  FL_ASSIGN_OR_RETURN(auto read, ReadSteeringRecords(records, host_names));
  auto& [state, lost] = read;
  hosts_.Restore(std::move(state.cluster.hosts));
  history_.Restore(std::move(state.cluster.history));
  outbox_.Restore(state.cluster.num_actions, std::move(state.open));
  for (auto& [id, kept] : state.jobs) {
    jobs_.Restore(id, std::move(kept.job));
    if (kept.sequence.has_value()) sequences_.Restore(id, *std::move(kept.sequence));
  }
  for (const JobId job : lost.jobs) {
    sequences_.Drop(job);
    jobs_.Forget(job);
  }
  for (const uint64_t number : lost.actions) outbox_.Forget(number);
  hosts_.ForgetLost();
  return lost.Lines();
}

std::vector<SteeringAction> Steering::Resume(SimTime now) {
  jobs_.BeginAnew(now);
  return outbox_.BeginAnew(now);
}

std::vector<SteeringAction> Steering::Abandon(SimTime now, const std::string& why) {
  std::vector<JobId> busy;
  for (const auto& [job, sequence] : sequences_.all()) busy.push_back(job);
  for (const JobId job : busy) {
    const SteeringSequence& sequence = *sequences_.Find(job);
    const SteeringAction* current = outbox_.Find(sequence.current);
    const std::string what = current == nullptr ? "a restart" : Describe(current->step);
    LeaveToOperator(now, job, sequence,
                    fmt::format("{}; {} was under way: restart the job by hand, or end it", why, what));
  }
  hosts_.Abandon();
  outbox_.ForgetAll();
  return outbox_.Take();
}

}  // namespace fairlead::controller

// How steering carries out what it has decided: step after step, each waiting for the outcome of the previous one.
#include <algorithm>
#include <utility>

#include "controller/steering.h"

namespace fairlead::controller {

using model::Finding;

void Steering::Begin(SimTime now, const Finding& finding, const std::vector<HostId>& guilty) {
  Sequence sequence;
  sequence.finding = finding;
  sequence.hosts = jobs_.at(finding.job).hosts;
  for (const HostId host : guilty) {
    history_.push_back({now, finding.job});
    isolated_.insert(host);
    isolating_.insert(host);
    sequence.to_isolate.push_back(host);
    sequence.to_replace.push_back(host);
    if (!spares_.empty()) sequence.reserved.insert(spares_.extract(spares_.begin()).value());
  }
  sequences_[finding.job] = std::move(sequence);
  Continue(now, finding.job);
}

void Steering::Continue(SimTime now, JobId job) {
  Sequence& sequence = sequences_.at(job);
  sequence.current = 0;
  if (!sequence.to_isolate.empty()) {
    const HostId host = sequence.to_isolate.front();
    sequence.to_isolate.pop_front();
    sequence.current = Tell(now, IsolateHost{host}, job, &sequence.finding, sequence.finding.summary);
    return;
  }
  if (!sequence.is_stopped) {
    Tell(now, ExcuseJob{job, SimTime::Never()}, job, &sequence.finding, "it is about to be stopped");
    sequence.current = Tell(now, StopJob{job}, job, &sequence.finding, sequence.finding.summary);
    return;
  }
  // Hosts that were isolated for another job that has them, too.
  for (const HostId host : sequence.hosts) {
    if (isolated_.contains(host) && std::ranges::count(sequence.to_replace, host) == 0) {
      sequence.to_replace.push_back(host);
    }
  }
  if (ReplaceNext(now, job, sequence)) return;
  sequence.current = Tell(now, RestartJob{job, sequence.hosts}, job, &sequence.finding, sequence.finding.summary);
}

bool Steering::ReplaceNext(SimTime now, JobId job, Sequence& sequence) {
  while (!sequence.to_replace.empty()) {
    if (sequence.reserved.empty() && !spares_.empty()) {
      sequence.reserved.insert(spares_.extract(spares_.begin()).value());
    }
    const HostId guilty = sequence.to_replace.front();
    if (!sequence.reserved.empty()) {
      const HostId spare = sequence.reserved.extract(sequence.reserved.begin()).value();
      sequence.taken.insert(spare);
      sequence.current = Tell(now, TakeSpare{job, spare, guilty}, job, &sequence.finding, sequence.finding.summary);
      return true;
    }
    if (!jobs_.at(job).can_shrink || sequence.hosts.size() < 2) {
      WaitForSpare(now, job, sequence);
      return true;
    }
    std::erase(sequence.hosts, guilty);
    sequence.to_replace.pop_front();
  }
  return false;
}

void Steering::ChangeHosts(JobId job, const std::vector<HostId>& hosts) {
  Sequence& sequence = sequences_.at(job);
  // Of another size: what is left of it, or what one host claims alone.
  if (hosts.size() != sequence.hosts.size()) return;
  jobs_.at(job).hosts = hosts;
  sequence.hosts = hosts;
  std::erase_if(sequence.to_replace, [&](HostId host) { return std::ranges::count(hosts, host) == 0; });
  for (const HostId host : hosts) NoteUsed(host);
}

void Steering::NoteUsed(HostId host) {
  spares_.erase(host);
  for (auto& [job, sequence] : sequences_) sequence.reserved.erase(host);
}

void Steering::WaitForSpare(SimTime now, JobId job, Sequence& sequence) {
  if (std::exchange(sequence.waits_for_spare, true)) return;
  Tell(now, AskOperator{job, HostId()}, job, &sequence.finding,
       "no spare is left: the job is stopped and waits; free a host, or repair and return one that is isolated");
}

void Steering::ServeWaiting(SimTime now) {
  for (auto& [job, sequence] : sequences_) {
    if (spares_.empty()) return;
    if (!sequence.waits_for_spare) continue;
    sequence.waits_for_spare = false;
    Continue(now, job);
  }
}

void Steering::End(SimTime now, const ActionAttempts::End& end) {
  if (const auto* test = std::get_if<TestHost>(&end.action.step)) tests_.erase(test->host);
  if (end.succeeded) {
    Succeed(now, end.action);
  } else {
    GiveUp(now, end.action, end.message);
  }
}

void Steering::Succeed(SimTime now, const SteeringAction& action) {
  const auto found = sequences_.find(action.job);
  Sequence* sequence = found != sequences_.end() && found->second.current == action.number ? &found->second : nullptr;
  if (const auto* isolate = std::get_if<IsolateHost>(&action.step)) {
    isolating_.erase(isolate->host);
    // Whether it may come back is decided while the job continues.
    const Finding* finding = sequence != nullptr ? &sequence->finding : nullptr;
    tests_[isolate->host] = Tell(now, TestHost{isolate->host}, JobId(), finding, "isolated: " + action.reason);
  }
  if (const auto* back = std::get_if<ReturnHost>(&action.step)) {
    returning_.erase(back->host);
    isolated_.erase(back->host);
    KeepPlace(now, back->host);
    if (ConditionOf(back->host) == HostCondition::kUnknown) spares_.insert(back->host);
    ServeWaiting(now);
  }
  if (sequence == nullptr) return;
  if (std::holds_alternative<StopJob>(action.step)) sequence->is_stopped = true;
  if (const auto* take = std::get_if<TakeSpare>(&action.step)) {
    std::replace(sequence->hosts.begin(), sequence->hosts.end(), take->replaces, take->spare);
    sequence->to_replace.pop_front();
  }
  if (!std::holds_alternative<RestartJob>(action.step)) return Continue(now, action.job);
  Job& job = jobs_.at(action.job);
  const std::vector<HostId> before = std::exchange(job.hosts, sequence->hosts);
  job.hold_off_until = now + options_.hold_off;
  job.held_up.clear();  // what was found about the run before
  spares_.merge(sequence->reserved);
  sequences_.erase(found);
  // Those that were replaced and have come back meanwhile.
  for (const HostId host : before) {
    if (ConditionOf(host) == HostCondition::kUnknown) spares_.insert(host);
  }
  EndExcuse(now, action.job);
  ServeWaiting(now);
}

void Steering::KeepPlace(SimTime now, HostId host) {
  for (auto& [job, sequence] : sequences_) {
    const SteeringAction* current = attempts_.Find(sequence.current);
    const auto* take = current == nullptr ? nullptr : std::get_if<TakeSpare>(&current->step);
    const bool is_being_replaced = take != nullptr && take->replaces == host;
    if (is_being_replaced || std::erase(sequence.to_replace, host) == 0) continue;
    if (std::exchange(sequence.waits_for_spare, false)) Continue(now, job);
  }
}

void Steering::GiveUp(SimTime now, const SteeringAction& action, const std::string& message) {
  const auto found = sequences_.find(action.job);
  Sequence* sequence = found != sequences_.end() && found->second.current == action.number ? &found->second : nullptr;
  const std::string reason = Describe(action.step) + ": " + message;
  if (const auto* isolate = std::get_if<IsolateHost>(&action.step)) {
    isolating_.erase(isolate->host);
    isolated_.erase(isolate->host);
    in_doubt_.insert(isolate->host);
    if (sequence == nullptr) Tell(now, AskOperator{JobId(), isolate->host}, JobId(), nullptr, reason);
  }
  if (const auto* test = std::get_if<TestHost>(&action.step)) {
    Tell(now, AskOperator{JobId(), test->host}, JobId(), nullptr, reason + "; the host stays isolated");
  }
  if (const auto* back = std::get_if<ReturnHost>(&action.step)) {
    returning_.erase(back->host);
    Tell(now, AskOperator{JobId(), back->host}, JobId(), nullptr, reason + "; the host stays isolated");
  }
  if (sequence == nullptr) return;
  if (const auto* take = std::get_if<TakeSpare>(&action.step)) {
    sequence->taken.erase(take->spare);
    in_doubt_.insert(take->spare);
    Tell(now, AskOperator{JobId(), take->spare}, action.job, &sequence->finding, reason + "; another spare is tried");
    return Continue(now, action.job);
  }
  jobs_.at(action.job).needs_operator = true;
  Tell(now, AskOperator{action.job, HostId()}, action.job, &sequence->finding,
       reason + "; restart the job by hand, or end it");
  Drop(action.job);
  EndExcuse(now, action.job);
  ServeWaiting(now);
}

void Steering::Drop(JobId job) {
  const auto found = sequences_.find(job);
  if (found == sequences_.end()) return;
  Sequence& sequence = found->second;
  // An isolation that was sent continues.
  if (const SteeringAction* current = attempts_.Find(sequence.current);
      current != nullptr && !std::holds_alternative<IsolateHost>(current->step)) {
    attempts_.Forget(sequence.current);
  }
  for (const HostId host : sequence.to_isolate) {
    isolated_.erase(host);
    isolating_.erase(host);
  }
  spares_.merge(sequence.reserved);
  in_doubt_.insert(sequence.taken.begin(), sequence.taken.end());
  sequences_.erase(found);
}

void Steering::BeginReturn(SimTime now, HostId host, std::string reason) {
  if (returning_.insert(host).second) Tell(now, ReturnHost{host}, JobId(), nullptr, std::move(reason));
}

void Steering::EndExcuse(SimTime now, JobId job) {
  const auto found = jobs_.find(job);
  const SimTime paused_until = found == jobs_.end() ? now : found->second.paused_until;
  Tell(now, ExcuseJob{job, std::max(now, paused_until)}, job, nullptr, "the diagnosis may look again");
}

uint64_t Steering::Tell(SimTime now, SteeringStep step, JobId job, const Finding* finding, std::string reason) {
  SteeringAction action;
  action.number = ++num_actions_;
  action.step = std::move(step);
  action.job = job;
  action.reason = std::move(reason);
  if (finding != nullptr) {
    action.finding = finding->id;
    action.confidence = finding->confidence;
    action.evidence = finding->evidence;
  }
  if (IsAnswered(action.step)) attempts_.Add(now, action);
  actions_.push_back(std::move(action));
  return num_actions_;
}

}  // namespace fairlead::controller

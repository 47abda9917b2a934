#include "controller/steering_sequences.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace fairlead::controller {

using model::Finding;

const SteeringSequence* SteeringSequences::Find(JobId job) const {
  const auto found = sequences_.find(job);
  return found == sequences_.end() ? nullptr : &found->second;
}

const SteeringSequence* SteeringSequences::FindWaitingFor(const SteeringAction& action) const {
  const SteeringSequence* sequence = Find(action.job);
  return sequence != nullptr && sequence->current == action.number ? sequence : nullptr;
}

bool SteeringSequences::IsStopped(JobId job) const {
  const SteeringSequence* sequence = Find(job);
  return sequence != nullptr && (sequence->is_stopped || outbox_->Awaits<StopJob>(sequence->current));
}

std::set<HostId> SteeringSequences::Reserved() const {
  std::set<HostId> hosts;
  for (const auto& [job, sequence] : sequences_) {
    hosts.insert(sequence.reserved.begin(), sequence.reserved.end());
    hosts.insert(sequence.taken.begin(), sequence.taken.end());
  }
  return hosts;
}

bool SteeringSequences::IsReserved(HostId host) const {
  return std::ranges::any_of(sequences_, [&](const auto& entry) {
    return entry.second.reserved.contains(host) || entry.second.taken.contains(host);
  });
}

void SteeringSequences::Begin(SimTime now, const Finding& finding, const std::vector<HostId>& guilty) {
  SteeringSequence sequence;
  sequence.finding = finding;
  sequence.hosts = jobs_->at(finding.job).hosts;
  for (const HostId host : guilty) {
    hosts_->BeginIsolation(host);
    sequence.to_isolate.push_back(host);
    if (jobs_->at(finding.job).is_allocated()) continue;
    sequence.to_replace.push_back(host);
    if (const std::optional<HostId> spare = hosts_->TakeSpare()) sequence.reserved.insert(*spare);
  }
  sequences_[finding.job] = std::move(sequence);
  Continue(now, finding.job);
}

void SteeringSequences::Send(SimTime now, JobId job, SteeringStep step, SteeringSequence& sequence) {
  sequence.current = outbox_->Tell(now, std::move(step), job, &sequence.finding, sequence.finding.summary);
}

void SteeringSequences::Continue(SimTime now, JobId job) {
  SteeringSequence& sequence = sequences_.at(job);
  sequence.current = 0;
  if (!sequence.to_isolate.empty()) {
    const HostId host = sequence.to_isolate.front();
    sequence.to_isolate.pop_front();
    return Send(now, job, IsolateHost{host}, sequence);
  }
  if (jobs_->at(job).is_allocated()) return Send(now, job, RestartJob{job, {}}, sequence);
  if (!sequence.is_stopped) {
    outbox_->Tell(now, ExcuseJob{job, SimTime::Never()}, job, &sequence.finding, "it is about to be stopped");
    return Send(now, job, StopJob{job}, sequence);
  }
  // Hosts that were isolated for another job that has them, too.
  for (const HostId host : sequence.hosts) {
    if (hosts_->IsIsolated(host) && std::ranges::count(sequence.to_replace, host) == 0) {
      sequence.to_replace.push_back(host);
    }
  }
  if (!ReplaceNext(now, job, sequence)) Send(now, job, RestartJob{job, sequence.hosts}, sequence);
}

bool SteeringSequences::ReplaceNext(SimTime now, JobId job, SteeringSequence& sequence) {
  while (!sequence.to_replace.empty()) {
    if (sequence.reserved.empty()) {
      if (const std::optional<HostId> spare = hosts_->TakeSpare()) sequence.reserved.insert(*spare);
    }
    const HostId guilty = sequence.to_replace.front();
    if (!sequence.reserved.empty()) {
      const HostId spare = sequence.reserved.extract(sequence.reserved.begin()).value();
      sequence.taken.insert(spare);
      Send(now, job, TakeSpare{job, spare, guilty}, sequence);
      return true;
    }
    if (!jobs_->at(job).can_shrink || sequence.hosts.size() < 2) {
      WaitForSpare(now, job, sequence);
      return true;
    }
    std::erase(sequence.hosts, guilty);
    sequence.to_replace.pop_front();
  }
  return false;
}

void SteeringSequences::WaitForSpare(SimTime now, JobId job, SteeringSequence& sequence) {
  if (std::exchange(sequence.waits_for_spare, true)) return;
  outbox_->Tell(
      now, AskOperator{job, HostId()}, job, &sequence.finding,
      "no spare is left: the job is stopped and waits; free a host, or repair and return one that is isolated");
}

void SteeringSequences::Advance(SimTime now, const SteeringAction& done) {
  SteeringSequence& sequence = sequences_.at(done.job);
  if (std::holds_alternative<StopJob>(done.step)) sequence.is_stopped = true;
  if (const auto* take = std::get_if<TakeSpare>(&done.step)) {
    std::ranges::replace(sequence.hosts, take->replaces, take->spare);
    sequence.to_replace.pop_front();
  }
  Continue(now, done.job);
}

void SteeringSequences::TryAnotherSpare(SimTime now, const SteeringAction& action, const std::string& reason) {
  SteeringSequence& sequence = sequences_.at(action.job);
  const HostId spare = std::get<TakeSpare>(action.step).spare;
  sequence.taken.erase(spare);
  hosts_->Doubt(spare);
  outbox_->Tell(now, AskOperator{JobId(), spare}, action.job, &sequence.finding, reason + "; another spare is tried");
  Continue(now, action.job);
}

void SteeringSequences::Finish(JobId job) {
  const auto found = sequences_.find(job);
  for (const HostId host : found->second.reserved) hosts_->Free(host);
  sequences_.erase(found);
}

void SteeringSequences::Drop(JobId job) {
  const auto found = sequences_.find(job);
  if (found == sequences_.end()) return;
  const SteeringSequence& sequence = found->second;
  if (!outbox_->Awaits<IsolateHost>(sequence.current)) outbox_->Forget(sequence.current);
  for (const HostId host : sequence.to_isolate) hosts_->CancelIsolation(host);
  for (const HostId host : sequence.reserved) hosts_->Free(host);
  for (const HostId host : sequence.taken) hosts_->Doubt(host);
  sequences_.erase(found);
}

bool SteeringSequences::Move(JobId job, const std::vector<HostId>& hosts) {
  SteeringSequence& sequence = sequences_.at(job);
  if (hosts.size() != sequence.hosts.size()) return false;
  sequence.hosts = hosts;
  std::erase_if(sequence.to_replace, [&](HostId host) { return std::ranges::count(hosts, host) == 0; });
  return true;
}

void SteeringSequences::NoteUsed(HostId host) {
  for (auto& [job, sequence] : sequences_) sequence.reserved.erase(host);
}

void SteeringSequences::KeepPlace(SimTime now, HostId host) {
  for (auto& [job, sequence] : sequences_) {
    const SteeringAction* current = outbox_->Find(sequence.current);
    const auto* take = current == nullptr ? nullptr : std::get_if<TakeSpare>(&current->step);
    const bool is_being_replaced = take != nullptr && take->replaces == host;
    if (is_being_replaced || std::erase(sequence.to_replace, host) == 0) continue;
    if (std::exchange(sequence.waits_for_spare, false)) Continue(now, job);
  }
}

void SteeringSequences::ServeWaiting(SimTime now) {
  for (auto& [job, sequence] : sequences_) {
    if (hosts_->spares().empty()) return;
    if (!sequence.waits_for_spare) continue;
    sequence.waits_for_spare = false;
    Continue(now, job);
  }
}

}  // namespace fairlead::controller

// What is under way for jobs about which steering acts: step after step, each waiting for the outcome of the previous
// one.
//
//     isolate each guilty host --> stop the job --> take a spare for each --> restart --> Finish
//                                                    |        ^
//                                                    v        | ServeWaiting, KeepPlace
//                                                   waits for a spare, or shrinks
//
// A job whose hosts an allocator chooses (HostChoice::kAllocator) is restarted once its guilty hosts are isolated:
// stopping it and finding hosts is up to the allocator.
//
// Guarantees  spares that a sequence sets aside are free again when it ends without them; those it has taken are in
//             doubt if it is dropped. A host that comes back before it was replaced keeps its place.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "codec/record.h"
#include "controller/steered_hosts.h"
#include "controller/steered_jobs.h"
#include "controller/steering_outbox.h"
#include "model/finding.h"

namespace fairlead::controller {

// One action in flight of a job.
struct SteeringSequence {
  model::Finding finding = {};
  std::deque<HostId> to_isolate = {};
  std::deque<HostId> to_replace = {};  // guilty hosts of the job not replaced yet
  std::vector<HostId> hosts = {};      // of the job, as they will be
  std::set<HostId> reserved = {};      // spares set aside, not assigned yet
  std::set<HostId> taken = {};         // spares that were taken
  bool is_stopped = false;
  bool waits_for_spare = false;
  uint64_t current = 0;  // number of the action that is not answered; 0: none
};

class SteeringSequences {
 public:
  // All must outlive this.
  SteeringSequences(const SteeredJobs* jobs, SteeredHosts* hosts, SteeringOutbox* outbox)
      : jobs_(jobs), hosts_(hosts), outbox_(outbox) {}

  // Null: nothing is under way for the job.
  const SteeringSequence* Find(JobId job) const;
  // That whose current step the action is; null: none.
  const SteeringSequence* FindWaitingFor(const SteeringAction& action) const;
  const std::map<JobId, SteeringSequence>& all() const { return sequences_; }
  // Whether a sequence has stopped the job, or is about to.
  bool IsStopped(JobId job) const;
  // Spares that are set aside or taken.
  std::set<HostId> Reserved() const;
  bool IsReserved(HostId host) const;

  // Isolates these hosts of the job, and so on; their spares are set aside. Args: finding: of a job that runs, and for
  // which nothing is under way.
  void Begin(SimTime now, const model::Finding& finding, const std::vector<HostId>& guilty);
  // The current step of a sequence was carried out, and is no restart: goes on with the next.
  void Advance(SimTime now, const SteeringAction& done);
  // A spare could not be taken: it is in doubt, and another one is tried. Args: action: the current step of a sequence.
  void TryAnotherSpare(SimTime now, const SteeringAction& action, const std::string& reason);
  // The job runs again.
  void Finish(JobId job);
  // Forgets what is under way, if anything is. An isolation that was sent continues.
  void Drop(JobId job);

  // Others have restarted the job, in the moment in which it is stopped: it goes on where it is now. False: on fewer or
  // more hosts, which is what is left of it, or what one host claims alone; nothing changes.
  bool Move(JobId job, const std::vector<HostId>& hosts);
  // A job runs there: it is no spare.
  void NoteUsed(HostId host);
  // The host is in order again: where it was not replaced yet, it needs no replacement.
  void KeepPlace(SimTime now, HostId host);
  // Sequences that wait for spares go on while there are some.
  void ServeWaiting(SimTime now);

  void Restore(JobId job, SteeringSequence sequence) { sequences_[job] = std::move(sequence); }

 private:
  void Continue(SimTime now, JobId job);
  // True: a step was sent, or the job waits; false: all places are filled.
  bool ReplaceNext(SimTime now, JobId job, SteeringSequence& sequence);
  void WaitForSpare(SimTime now, JobId job, SteeringSequence& sequence);
  // Of the sequence, for its finding's reason.
  void Send(SimTime now, JobId job, SteeringStep step, SteeringSequence& sequence);

  const SteeredJobs* jobs_;
  SteeredHosts* hosts_;
  SteeringOutbox* outbox_;
  std::map<JobId, SteeringSequence> sequences_;
};

template <class Archive, codec::IsRecord<SteeringSequence> Record>
void Describe(Archive& archive, Record& sequence) {
  archive.Required("finding", sequence.finding);
  archive.Required("to_isolate", sequence.to_isolate);
  archive.Required("to_replace", sequence.to_replace);
  archive.Required("hosts", sequence.hosts);
  archive.Required("reserved", sequence.reserved);
  archive.Required("taken", sequence.taken);
  archive.Required("is_stopped", sequence.is_stopped);
  archive.Required("waits_for_spare", sequence.waits_for_spare);
  archive.Required("current", sequence.current);
}

}  // namespace fairlead::controller

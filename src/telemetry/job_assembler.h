// Puts together what the agents of all hosts see of one job: from reports of processes (process_report.h), which know
// communicators only, to the layout and the reports in ranks of the job that the diagnosis reads.
//
// Problem     processes come one by one, on many hosts; communicators are made when they are first needed; processes
//             leave, die and are replaced. Which process is which rank, and which belong to which communicator? Some
//             say what can't be true together.
// Method      ranks are those of the environment where every process has one, else those of the largest communicator.
//             Claims are taken in order of arrival, of the living before those of the dead and of hosts that have not
//             spoken of the job for `quiet_for` while others have: a process that says anything that an earlier one
//             denies (same rank of the job or of a communicator, another size) is left out. So are all of another start
//             of the job: processes that hang together by communicators, and claim a rank that another such set has,
//             which lives on more hosts, or of which more live, or which came first; or of which none was ever seen
//             alive, while others live; or beside a set that has all ranks of a communicator, which are those of the
//             job. A layout is made when nothing new has come for `settle_for` and all ranks are there, or `wait_for`
//             after the first process with those that are; then again whenever a process or a communicator has joined,
//             another process has taken a rank, or a host has fallen silent or speaks again. Ranks are numbered without
//             gaps, in order. Communicators are numbered by their ids; only those of which all ranks are known take
//             part.
// Cost        a look: linear in its reports, times a logarithm. A layout: linear in processes times communicators.
// Guarantees  records are of the layout that was handed out last (telemetry/record_check.h); before the first one there
//             are none. Same looks, same records.
// Limits      a new layout makes the diagnosis forget what it had: that is why layouts settle first. Where a rank runs
//             is known by host only; its NIC and leaves are not. Processes of which the NCCL is older than 2.27 don't
//             know the sizes of their communicators.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "model/place_names.h"
#include "model/telemetry.h"
#include "telemetry/process_report.h"

namespace fairlead::telemetry {

// What the agent of a host saw in one look, of one job.
struct HostLook {
  using Process = SeenProcess;
  HostId host;
  uint64_t number = 0;  // of the agent's looks; counts from 0
  SimTime at;           // on the host's clock
  std::vector<Process> processes;
  std::vector<model::HostSymptomRecord> symptoms = {};  // of the host, since the look before
};

struct JobAssemblerOptions {
  // >= 0. Longer: fewer layouts while a job starts; shorter: the diagnosis sees new communicators sooner.
  SimDuration settle_for = SimDuration(5'000'000'000);
  // >= 0. Longer: hosts may come later; shorter: a job of which a host has no agent is diagnosed sooner.
  SimDuration wait_for = SimDuration(60'000'000'000);
  // > 0. Longer: an agent may be away for longer before others can claim what its processes do; shorter: false claims
  // end sooner when nobody makes them any more.
  SimDuration quiet_for = SimDuration(10'000'000'000);
};

class JobAssembler {
 public:
  // Args: names: for texts.
  JobAssembler(JobId job, const JobAssemblerOptions& options, model::PlaceNames names = {});

  // Args: now: of the caller, does not run backwards. Returns a layout if there is a new one, then the reports of the
  // look: each process's that has a rank, and the host's.
  std::vector<model::TelemetryRecord> Add(SimTime now, const HostLook& look);

  // What is left out of the latest layout, and why; for people.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct ProcessKey {
    HostId host;
    int32_t pid = 0;
    uint64_t start = 0;
    auto operator<=>(const ProcessKey&) const = default;
  };
  struct Process {
    ProcessKey key;
    uint64_t order = 0;  // of arrival
    int32_t global_rank = -1;
    bool is_there = false;   // in the latest look of its host, and alive
    bool was_there = false;  // in some look
    bool is_gone = false;    // was seen to be
    model::ProcessExit exit;
    std::vector<ProcessCommunicator> communicators;  // as first reported; of known size, no id twice
  };
  // A communicator as its processes tell.
  struct Group {
    uint32_t num_ranks = 0;
    std::string name;
    bool is_finalized = true;                   // by all
    std::map<int32_t, const Process*> members;  // [rank of the communicator]
  };
  struct Plan {
    model::JobLayout layout;
    std::map<ProcessKey, model::RankId> ranks;
    std::map<uint64_t, model::CommunicatorId> communicators;  // by NCCL's id
    std::vector<std::string> notes;
    bool is_complete = false;

    bool operator==(const Plan& other) const { return layout == other.layout && ranks == other.ranks; }
  };

  // What processes say of themselves, as far as nothing earlier denies it.
  struct Claims {
    std::vector<const Process*> all;            // in order of their claims
    bool are_of_environment = false;            // ranks of the job
    std::map<int32_t, const Process*> by_rank;  // of the job
    std::map<uint64_t, Group> groups;           // by id
  };

  void Note(SimTime now, const HostLook& look);
  void NoteWhoSpeaks(SimTime now, HostId host);
  // Alive, as far as is known.
  bool Counts(const Process& process) const { return process.is_there && !quiet_.contains(process.key.host); }
  bool Merge(const ProcessReport& report, Process* process) const;
  std::string Describe(const Process& process) const;
  std::string FindContradiction(const Process& process, const Claims& claims) const;
  void NoteLeftOut(const Process& process, const std::string& why, std::vector<std::string>* notes) const;
  static bool IsWhole(const std::vector<const Process*>& processes);
  std::set<const Process*> FindOtherStarts() const;
  Claims TakeClaims(std::vector<std::string>* notes) const;
  void PlanRanks(Claims* claims, Plan* plan) const;
  void PlanCommunicators(const Claims& claims, Plan* plan) const;
  Plan MakePlan() const;
  // Returns a new layout if one is due.
  const model::JobLayout* Settle(SimTime now);
  model::RankReport Translate(const ProcessReport& report, model::RankId rank) const;
  model::HostReport ReportHost(const HostLook& look) const;

  JobId job_;
  JobAssemblerOptions options_;
  model::PlaceNames names_;
  std::optional<SimTime> first_seen_;
  std::optional<SimTime> changed_;  // nothing: since the latest plan nothing has
  std::optional<SimTime> tried_;
  uint64_t num_seen_ = 0;
  SimTime last_look_;
  SimTime next_roll_call_;
  std::map<HostId, SimTime> heard_;  // of hosts that ever spoke of the job
  std::set<HostId> quiet_;           // those that no longer do
  std::map<ProcessKey, Process> processes_;
  std::optional<Plan> plan_;
  std::vector<std::string> notes_;
};

}  // namespace fairlead::telemetry

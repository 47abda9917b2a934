// What Slurm says of its cluster, as far as Fairlead decides by it: jobs, nodes, partitions, reservations.
//
// Slurm owns all of it. Nothing here outlives the next reading, and nothing is what a process says: number, owner and
// hosts of a job are Slurm's own word, by which agents' reports are believed (model/job_identity.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "model/job_identity.h"

namespace fairlead::slurm {

enum class JobState : uint8_t {
  kPending,      // in the queue, held or not
  kConfiguring,  // has its hosts, which are made ready for it
  kRunning,
  kSuspended,   // has its hosts and does not run
  kCompleting,  // its processes are being ended: by itself, by somebody, or to be requeued
  kEnded,       // and will not come back
};

struct HostGpus {
  std::string host;
  std::vector<uint32_t> gpus;  // indices on the host, ascending

  friend bool operator==(const HostGpus&, const HostGpus&) = default;
};

struct Job {
  uint32_t id = 0;              // of one job; an element of an array has its own once it has hosts
  bool is_single = true;        // neither an array, nor of one, nor of a heterogeneous job
  bool has_dependency = false;  // pending, held or not, and other jobs have yet to end or to begin
  uint32_t owner = 0;           // user id
  uint32_t num_restarts = 0;
  JobState state = JobState::kPending;
  bool is_held = false;  // pending, and does not start before somebody releases it
  bool may_requeue = false;
  uint32_t num_nodes = 0;      // that it has, or at least wants
  uint32_t num_nodes_max = 0;  // that it wants; at least num_nodes
  uint32_t num_cpus = 0;
  uint32_t num_tasks = 0;
  uint32_t tasks_per_node = 0;  // 0: not said
  uint32_t cpus_per_task = 1;
  int32_t nice = 0;
  std::optional<SimDuration> run_time = std::nullopt;  // of its present run, in whole seconds; JSON does not say
  std::string partition;                               // several, with commas, while it is pending
  std::vector<std::string> hosts;                      // in Slurm's order; empty: it has none
  std::string reason;                                  // why it is pending, or has ended
  std::string end;                                     // "FAILED": how it has ended; empty: it has not
  std::string admin_comment;                           // only operators can write it

  // What readings of one job add (empty in readings of all: slurm/cluster_reader.h says why).
  std::string comment;         // its user's
  std::vector<HostGpus> gpus;  // as `hosts`
  // Of one that is pending: hosts that it has to get, and those that it must not.
  std::vector<std::string> required_hosts;
  std::vector<std::string> excluded_hosts;

  bool has_hosts() const {
    return state == JobState::kConfiguring || state == JobState::kRunning || state == JobState::kSuspended;
  }
  // Whether Slurm itself holds it, because its start has failed on a host.
  bool is_held_by_slurm() const { return is_held && reason == "launch failed requeued held"; }
  // Whether it was requeued to be held, by whomever.
  bool is_requeued_held() const { return is_held && reason == "job requeued in held state"; }
  // Whether it is held in a way that lets its user release it, as one that was submitted so; what an operator holds with
  // `scontrol hold` he can't. One that was requeued to be held does not tell.
  bool may_be_released_by_its_user() const { return is_held && reason == "JobHeldUser"; }
  // Whether it waits for its begin by the word of its user: what was requeued waits for two minutes, too.
  bool is_to_begin_later() const {
    return state == JobState::kPending && !is_held && num_restarts == 0 && reason == "BeginTime";
  }
  // Whether it has ended by what happened to Slurm's own, and not by its script, its user or a limit.
  bool has_ended_by_slurm() const;
  // Whether nobody else can have its hosts: Slurm tells them for minutes after its end, too.
  bool occupies_hosts() const { return has_hosts() || state == JobState::kCompleting; }
  friend bool operator==(const Job&, const Job&) = default;
};

struct Node {
  std::string name;
  bool is_up = false;       // it answers, and is not down
  bool is_drained = false;  // nothing new starts there
  bool is_busy = false;     // jobs have parts of it, or are being ended there
  uint32_t num_gpus = 0;
  std::vector<std::string> partitions;
  std::string reason;       // why it is drained or down, in the words of who did that
  bool is_unknown = false;  // slurmctld has begun lately and not heard of it: what ran there may run on

  friend bool operator==(const Node&, const Node&) = default;
};

struct Partition {
  std::string name;
  bool is_up = false;  // jobs start there
  bool is_default = false;
  std::vector<std::string> hosts;

  friend bool operator==(const Partition&, const Partition&) = default;
};

struct Reservation {
  std::string name;
  std::vector<std::string> hosts;
  std::vector<std::string> users;  // who may use it
  bool is_active = true;           // it has begun; JSON does not say

  friend bool operator==(const Reservation&, const Reservation&) = default;
};

struct ClusterState {
  std::vector<Job> jobs;
  std::vector<Node> nodes;
  std::vector<Partition> partitions;
  std::vector<Reservation> reservations;
};

// Whose job it is, by Slurm's word; the name is the one that the SPANK plugin gives to its processes.
inline model::JobIdentity IdentityOf(const Job& job) {
  return {.name = "slurm-" + std::to_string(job.id), .owner = job.owner, .slurm_job = job.id};
}

inline bool Job::has_ended_by_slurm() const {
  const auto is_one_of = [](const std::string& word, std::initializer_list<const char*> words) {
    return std::ranges::find(words, word) != words.end();
  };
  if (is_one_of(end, {"NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED", "RECONFIG_FAIL"})) return true;
  return end == "FAILED" && is_one_of(reason, {"NodeDown", "SystemFailure", "JobLaunchFailure"});
}

inline const Job* FindJob(const std::vector<Job>& jobs, uint32_t id) {
  const auto found = std::ranges::find(jobs, id, &Job::id);
  return found == jobs.end() ? nullptr : &*found;
}

}  // namespace fairlead::slurm

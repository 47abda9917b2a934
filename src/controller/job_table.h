// Which jobs there are, as agents name them: a number for each name, what each host holds of it, and its level.
//
//     job   name <-> number, level, reason
//      |
//      +-- share [host]: names of connections          +-- connection [name]: host, request, ports of sockets
//
// Problem     agents know jobs by name, the path service and policies by number; a number that meant another job
//             after a restart would give one job the other's paths. Nobody says that a job has ended.
// Method      a new name gets the next number, which is kept and never given to another. A job is forgotten when no
//             host holds a connection of it and no question about it is open. What an earlier controller has kept
//             stays until EndRestoring(), so that agents find the same numbers and levels when they announce.
// Guarantees  name, number and level of each job are kept (RecordChanged) before anything that comes after them is
//             said. A host changes its own connections only.
// Cost        O(log of jobs and hosts) for each call, and O(1) for connections.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "controller/traffic_outputs.h"
#include "traffic/path_messages.h"

namespace fairlead::controller {

struct QueuePairKey {
  JobId job;
  uint64_t connection = 0;
  uint32_t queue_pair = 0;

  friend auto operator<=>(const QueuePairKey&, const QueuePairKey&) = default;
};

struct LiveConnection {
  HostId host;  // that holds it
  traffic::ConnectionRequest request;
  std::vector<uint16_t> socket_ports;  // [queue pair]; 0: not open
};

struct LiveJob {
  std::string name;
  uint32_t level = 0;
  std::string reason;                           // of the level
  std::map<HostId, std::set<uint64_t>> shares;  // names of connections; not empty
  std::unordered_map<uint64_t, LiveConnection> connections;
  bool is_restored = false;    // an earlier controller has kept it
  uint32_t num_questions = 0;  // that the path service has not answered
};

class JobTable {
 public:
  // `outputs` must outlive this. Args: num_levels: 1 .. 8; sets_levels: false: all jobs stay on the last level.
  JobTable(size_t num_hosts, uint32_t num_levels, bool sets_levels, TrafficOutputs* outputs);

  // Takes up a record that an earlier controller has kept; those of others are ignored.
  // Errors: kDataLoss: it can't be read, naming its key.
  Status Restore(const std::string& key, const std::string& value);
  // Whether there were jobs to restore, and agents may still announce them.
  bool is_restoring() const { return is_restoring_; }
  // Returns jobs that are forgotten now: those that nobody has announced.
  std::vector<JobId> EndRestoring();
  // An earlier controller has kept it, and its hosts may not have announced it yet.
  bool IsAwaited(JobId job) const { return is_restoring_ && at(job).is_restored; }

  std::optional<JobId> Find(const std::string& name) const;
  // The number of a job that may be new; nothing: there are no numbers left.
  std::optional<JobId> Intern(const std::string& name);
  const LiveJob* Find(JobId job) const;  // null: there is none
  const LiveJob& at(JobId job) const { return jobs_.at(job); }
  const std::map<JobId, LiveJob>& jobs() const { return jobs_; }
  const std::set<JobId>& jobs_at(HostId host) const { return jobs_at_[host]; }  // that hold something there
  const std::set<uint64_t>* FindShare(JobId job, HostId host) const;            // null: nothing is held
  // Null: this host holds none of this name.
  const LiveConnection* FindConnection(JobId job, HostId host, uint64_t connection) const;

  // Questions about a job keep it. Args: job: in the table; removed: that was added.
  void AddQuestion(JobId job) { jobs_.at(job).num_questions++; }
  void RemoveQuestion(JobId job) { jobs_.at(job).num_questions--; }

  // Nothing happens where the job has a connection of this name, on whatever host. Args: job: in the table.
  void AddConnection(JobId job, HostId host, const traffic::ConnectionRequest& request);
  // Returns the number of its queue pairs; 0: this host holds none of this name.
  uint32_t RemoveConnection(JobId job, HostId host, uint64_t connection);
  // Args: of a connection in the table.
  void SetSocketPort(const QueuePairKey& key, uint16_t port);
  // Whether it was forgotten: nobody holds, asks or may announce anything of it.
  bool ForgetIfUnused(JobId job);

  // Levels above the last one count as the last. Returns whether it is another level than before. Args: job: in the
  // table.
  bool SetLevel(JobId job, uint32_t level, const std::string& reason);
  uint32_t last_level() const { return num_levels_ - 1; }

  // Goes up with each connection that is added or removed, and with each job that is forgotten.
  uint64_t num_changes() const { return num_changes_; }

 private:
  Status RestoreJob(const std::string& key, const std::string& value);
  void Keep(JobId id, const LiveJob& job);
  std::string FirstReason() const;

  uint32_t num_levels_;
  bool sets_levels_;
  TrafficOutputs* outputs_;
  std::map<JobId, LiveJob> jobs_;
  std::unordered_map<std::string, JobId> ids_;
  IdVector<HostId, std::set<JobId>> jobs_at_;
  uint32_t next_job_ = 0;
  bool is_restoring_ = false;
  uint64_t num_changes_ = 0;
};

}  // namespace fairlead::controller

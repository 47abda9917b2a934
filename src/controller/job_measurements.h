// What hosts have measured of jobs: smoothed for each host, and combined for each job.
//
// Problem     each agent sees its own processes and connections only, and reports when it likes; a job's work, speed
//             and traffic are those of all its hosts.
// Method      per host and job: each value moves towards the new one by `weight`, but for the time of an iteration:
//             that is the median of the last kPeriods that were seen, since one that was not seen, or two taken for
//             one, is no change of the job. Per job: work is summed, and hosts that have not measured yet count as the
//             mean of those that have; times and fractions are the median of hosts; bytes stay those of each
//             connection.
// Guarantees  values are kept per second where they can be: hosts that see different iterations in the same traffic
//             (two as one) agree on that. Nothing that an agent says makes a value infinite or negative.
// Cost        Add O(connections of the message); Sum O(hosts of the job).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/ids.h"
#include "base/units.h"
#include "controller/host_messages.h"

namespace fairlead::controller {

inline constexpr size_t kPeriods = 5;
// So many messages without a period in a row: nothing is known any more of how long an iteration is.
inline constexpr size_t kPeriodsMissedMax = 10;

// Of a job: on a host, or on all.
struct JobMeasurement {
  uint32_t num_gpus = 0;
  Seconds iteration_time;
  double compute_share = 0;  // of iteration_time
  bool is_period_known = true;
  double start_fraction = 1;
  FlopPerSecond work;
  std::map<uint64_t, BytesPerSecond> bytes;  // [connection]; empty in sums
};

class JobMeasurements {
 public:
  // Args: weight: of a new measurement in its smoothed value, (0, 1].
  explicit JobMeasurements(double weight) : weight_(weight) {}

  // What is wrong with a message, whoever sent it; empty: nothing.
  static std::string FindFault(const JobMeasured& message);

  // Args: message without a fault; held: the connections of the job on this host, of which alone bytes count; gpus_max:
  // of the host.
  void Add(JobId job, HostId host, const JobMeasured& message, const std::set<uint64_t>& held, uint32_t gpus_max);
  void RemoveConnection(JobId job, HostId host, uint64_t connection);
  void RemoveHost(JobId job, HostId host);
  void Forget(JobId job);

  // No host has measured any job.
  bool empty() const { return num_measured_ == 0; }
  // Hosts that have measured a job.
  size_t NumHosts(JobId job) const;
  // What all hosts together have measured, without the bytes; nothing: no host has. Args: num_hosts: of the job.
  std::optional<JobMeasurement> Sum(JobId job, size_t num_hosts) const;
  // Of all hosts; of a connection that two of them name, the first one's.
  std::map<uint64_t, BytesPerSecond> FindBytes(JobId job) const;

 private:
  struct HostMeasurement : JobMeasurement {
    std::deque<double> periods;  // seconds, the last ones
    size_t num_missed = 0;       // messages since the last one
  };

  static void AddPeriod(const model::MeasuredProfile& profile, HostMeasurement* known);

  double weight_;
  std::map<JobId, std::map<HostId, HostMeasurement>> jobs_;
  size_t num_measured_ = 0;  // hosts of all jobs
};

}  // namespace fairlead::controller

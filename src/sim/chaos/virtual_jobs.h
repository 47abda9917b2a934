// The training jobs of a chaotic world: which hosts they run on, when they begin and end, and when their processes open
// and close connections (hosts/virtual_connections.h).
//
// A job is a ring over some hosts, one process on each, with a connection or two to the next host. Jobs begin, end, are
// started again under the same name; connections are closed and opened again meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/hosts/event_queue.h"
#include "sim/hosts/virtual_connections.h"

namespace fairlead::sim::chaos {

class VirtualJobs {
 public:
  // Args: calm_at: from then on nothing begins or ends.
  VirtualJobs(uint64_t seed, uint32_t num_jobs, SimTime calm_at, hosts::VirtualConnections::Surroundings surroundings);

  hosts::VirtualConnections& connections() { return connections_; }
  const hosts::VirtualConnections& connections() const { return connections_; }
  // Counters of the GPUs of this host: each job computes at its own rate.
  std::vector<agent::GpuSums> GpusOf(uint32_t host) const;
  // Ends a process of this host, if there is one; its job is started again later.
  void KillProcess(uint32_t host);
  void HostDied(uint32_t host);

 private:
  struct Job {
    std::string name;
    uint64_t run = 0;  // number of its starts
    bool is_running = false;
    SimTime started_at;
    std::vector<uint32_t> hosts;
    std::vector<int32_t> pids;  // [place]; 0: has ended
    std::vector<uint64_t> connections;
  };

  // Args: j: job.
  void StartJob(uint32_t j);
  void EndJob(uint32_t j, bool starts_again);
  void EndProcess(uint32_t j, size_t place);
  void Open(uint32_t j, uint64_t run, size_t place);
  void Close(uint32_t j, uint64_t connection);
  SimDuration Milliseconds(double low, double high) { return hosts::RandomMilliseconds(&random_, low, high); }

  Random random_;
  SimTime calm_at_;
  hosts::EventQueue& queue_;
  uint32_t num_hosts_;
  std::vector<Job> jobs_;
  hosts::VirtualConnections connections_;
  int32_t num_pids_ = 0;
};

}  // namespace fairlead::sim::chaos

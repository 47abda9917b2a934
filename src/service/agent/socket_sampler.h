// How often an agent looks at sockets and GPUs, on a thread of its own.
//
// All sockets are listed now and then, to see what has come and gone; those that are measured are looked up in between.
// Samples may take a twentieth of a processor, and lists another one: what takes longer is done less often.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "agent/host_agent.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "service/agent/once_log.h"
#include "service/agent/process_owner.h"
#include "service/agent/worker_thread.h"

namespace fairlead::service {

struct SocketSamplerOptions {
  SimDuration sample_period;  // of sockets that are measured
  SimDuration list_period;    // of all
  // As HostAgentServerOptions::read_gpus; empty: nothing is known of GPUs.
  std::function<Result<std::vector<agent::GpuSums>>(JobIdentifier* jobs, SimTime at)> read_gpus;
  std::string socket_path;  // of the agent, by which processes of jobs are told
};

class SocketSampler {
 public:
  // The pointers outlive it. Sockets come as events of the inbox.
  SocketSampler(SocketSamplerOptions options, OnceLog* once, EventInbox* inbox)
      : options_(std::move(options)), once_(*once), inbox_(*inbox) {}

  // To be called at each turn of the loop. Args: now: on the clock of steady time.
  void Sample(SimTime now, const agent::HostAgent& agent);
  // When it wants to be called; Never(): its work wakes the loop.
  SimTime NextDue(const agent::HostAgent& agent) const;
  // Gives the agent what GPUs have computed since the last call.
  void CountGpus(agent::HostAgent* agent);
  void FindOwners(const std::vector<uint64_t>& inodes);

 private:
  SimTime Next(const agent::HostAgent& agent) const;
  void ReadGpus(SimTime at);

  const SocketSamplerOptions options_;
  OnceLog& once_;
  EventInbox& inbox_;
  SimTime next_list_;  // of all sockets
  SimTime next_sample_;
  // Of a processor.
  std::atomic<int64_t> list_took_ns_ = 0;
  std::atomic<int64_t> sample_took_ns_ = 0;
  std::atomic<bool> is_measured_ = false;
  std::mutex gpus_mutex_;
  std::vector<std::pair<SimTime, std::vector<agent::GpuSums>>> gpus_;
  JobIdentifier jobs_;   // of the thread
  WorkerThread thread_;  // last: it ends before what it uses
};

}  // namespace fairlead::service

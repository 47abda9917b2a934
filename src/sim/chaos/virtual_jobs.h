// The training jobs of a chaotic world: which hosts they run on, when they begin and end, when their processes open and
// close connections (hosts/virtual_connections.h), and what an agent that looks at them sees (training_run.h).
//
// A job is a ring over some hosts, one process on each, with a connection or two to the next host. Jobs begin, end, are
// started again under the same name; connections are closed and opened again meanwhile. When a process dies or stops,
// the others wait for it, until somebody ends them: the launcher within seconds, the communication library's watchdog
// later, or steering; who ends them starts the job again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "sim/chaos/training_run.h"
#include "sim/hosts/event_queue.h"
#include "sim/hosts/virtual_connections.h"
#include "telemetry/process_report.h"

namespace fairlead::sim::chaos {

struct VirtualJobsOptions {
  uint32_t num_jobs = 0;
  uint32_t num_spares = 0;  // the last hosts: no job is placed on them but by steering
  SimTime calm_at;          // from then on nothing begins or ends by itself
};

class VirtualJobs {
 public:
  VirtualJobs(uint64_t seed, const VirtualJobsOptions& options, hosts::VirtualConnections::Surroundings surroundings);

  hosts::VirtualConnections& connections() { return connections_; }
  const hosts::VirtualConnections& connections() const { return connections_; }
  // Counters of the GPUs of this host: each job computes at its own rate.
  std::vector<agent::GpuSums> GpusOf(uint32_t host) const;
  // The training processes of the host (VirtualAgent::Surroundings::look).
  std::vector<telemetry::SeenProcess> Look(uint32_t host, SimTime since, SimDuration clock);

  // Ends a process of this host, or stops it for ever, if there is one.
  void KillProcess(uint32_t host);
  void HangProcess(uint32_t host);
  void HostDied(uint32_t host);

  // ---- Of steering ----
  // No job begins there by itself.
  void SetIsolated(uint32_t host, bool is_isolated);
  // The job does not run until Restart(). Unknown names: nothing happens.
  void Stop(std::string_view job);
  // Nothing happens where it runs already.
  void Restart(std::string_view job, std::vector<uint32_t> hosts);

  struct State {
    std::string_view name;
    bool is_running = false;
    bool is_held = false;    // by steering
    bool is_broken = false;  // a process is gone or stuck
    SimTime started_at;
    std::span<const uint32_t> hosts;  // of the latest run
    std::span<const uint32_t> hosts_before;
    uint64_t communicator = 0;  // its id
  };
  std::vector<State> States() const;
  // Whether something has broken in that job since then: on that host, where it is given.
  bool HasBroken(std::string_view job, std::optional<uint32_t> host, SimTime since) const;

 private:
  struct Job {
    std::string name;
    uint64_t run = 0;  // number of its starts
    bool is_running = false;
    bool is_held = false;
    bool is_over = false;  // its latest run had finished: what starts next is another job of that name
    SimTime started_at;
    std::vector<uint32_t> hosts;
    std::vector<uint32_t> hosts_before;  // of the run before
    std::vector<int32_t> pids;           // [place]; 0: has ended
    std::vector<uint64_t> connections;
    std::shared_ptr<TrainingRun> training;
  };
  // A process that is gone, which no agent has seen to be.
  struct Ended {
    std::shared_ptr<const TrainingRun> training;
    size_t rank = 0;
    SimTime at;
    std::optional<int32_t> code;
    model::ProcessEnd end = model::ProcessEnd::kUnknown;
  };
  struct Broken {
    std::string job;
    uint32_t host = 0;
    SimTime at;
  };
  enum class Ending : uint8_t { kFinished, kTerminated, kKilled };

  // Args: j: job.
  void StartJob(uint32_t j, std::vector<uint32_t> hosts);
  std::vector<uint32_t> ChooseHosts();
  void EndJob(uint32_t j, Ending ending, bool starts_again);
  void EndProcess(uint32_t j, size_t place, Ending ending);
  // One of its processes does not go on: the others wait until somebody ends them.
  void Break(uint32_t j, size_t place);
  // Of a running job on that host.
  std::optional<std::pair<uint32_t, size_t>> FindProcess(uint32_t host) const;
  std::optional<uint32_t> FindJob(std::string_view name) const;
  void Open(uint32_t j, uint64_t run, size_t place);
  void Close(uint32_t j, uint64_t connection);
  SimDuration Milliseconds(double low, double high) { return hosts::RandomMilliseconds(&random_, low, high); }

  Random random_;
  VirtualJobsOptions options_;
  hosts::EventQueue& queue_;
  uint32_t num_hosts_;
  std::vector<Job> jobs_;
  std::vector<std::vector<Ended>> ended_;  // [host]
  std::vector<Broken> broken_;
  std::set<uint32_t> isolated_;
  hosts::VirtualConnections connections_;
  int32_t num_pids_ = 0;
};

}  // namespace fairlead::sim::chaos

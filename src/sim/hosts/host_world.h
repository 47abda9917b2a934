// The hosts of a simulated cluster, with everything that a live cluster runs on them: agents, the kernels that they
// command, streams, and the controller with its path service; processes open their connections one by one.
//
//     simulation of jobs (cluster_simulation.h)          this world
//       Start, End  ---------------------------------->  processes ask, connect, close
//       counters of GPUs and sockets, each 20 ms  ----->  agents measure, the controller orders jobs
//       cables fail  ---------------------------------->  packets are lost, switches converge, probes find out
//       flows go elsewhere, other levels  <------------   ports of connections, classes of sockets
//
// Faithful   The cores are those of the daemons, with the daemons' default terms; the delays between them are drawn
//            from a seed. Connections are TCP: one for each queue pair of a flow between hosts. Until it is open, a
//            flow goes where the fabric's hash sends it.
//            What changes within a millisecond takes effect at its end.
// Limits     Nothing fails but cables: chaos/ has everything else. Links that lose only part of
//            their capacity are not seen by probes, and nobody reports them. Where both ports of a NIC are on one leaf,
//            that leaf's hash chooses between its two cables to the NIC; as in a cluster, probes don't see which.
// Size       its members are the parts of a cluster, and which jobs have news.
// Cost       about 1 us of each socket each 20 ms of simulated time, and the cores'. See docs/performance.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/hosts/event_queue.h"
#include "sim/hosts/virtual_agent.h"
#include "sim/hosts/virtual_connections.h"
#include "sim/hosts/virtual_controller.h"
#include "sim/hosts/virtual_kernel.h"
#include "sim/hosts/virtual_network.h"
#include "sim/hosts/virtual_streams.h"
#include "sim/live_traffic.h"

namespace fairlead::sim::hosts {

// Errors: kInvalidArgument: an unknown policy, more than 8 levels. `fabric` must outlive it.
Result<std::unique_ptr<LiveTraffic>> CreateHostWorld(const topology::Fabric& fabric, const LiveTrafficOptions& options);

class HostWorld final : public LiveTraffic {
 public:
  // Args: of CreateHostWorld, which checks them.
  HostWorld(const topology::Fabric& fabric, const traffic::LivePolicy& policy, const LiveTrafficOptions& options);
  HostWorld(const HostWorld&) = delete;
  HostWorld& operator=(const HostWorld&) = delete;

  void Start(const LiveJob& job) override;
  void End(JobId id) override;
  void SetLink(LinkId link, bool is_up) override;
  SimTime next_sample() const override { return jobs_.empty() ? SimTime::Never() : next_sample_; }
  void Sample(SimTime now, std::span<const LiveCounters> counters) override;
  void AdvanceTo(SimTime limit) override;
  SimTime changed_at() const override { return changed_.empty() ? SimTime::Never() : changed_at_; }
  std::vector<LiveJobTraffic> TakeChanges() override;

  const controller::TrafficController& controller() const { return controller_.core(); }

 private:
  struct Flow {
    GpuId source;
    GpuId destination;
    std::optional<uint64_t> connection;  // nothing: it stays in its host, or its process has not begun to open it
    model::Path path;                    // in force
    bool is_open = false;                // `path` is that of the connection
  };
  struct Job {
    std::string name;
    uint64_t run = 0;  // number of its start
    std::vector<Flow> flows;
    std::map<HostId, uint32_t> num_gpus;
    uint32_t num_gpus_in_all = 0;
    std::map<GpuId, int32_t> pids;
    uint32_t level = 0;  // in force
    LiveCounters counters;
  };

  std::vector<std::unique_ptr<VirtualKernel>> MakeKernels() const;
  std::vector<std::unique_ptr<VirtualAgent>> MakeAgents();
  void Open(JobId id, uint64_t run, size_t flow);
  std::vector<agent::GpuSums> GpusOf(HostId host) const;
  void Mark(JobId job);
  void MarkAll();
  void MarkOwner(uint64_t connection);
  // Of the connection, where it is open.
  std::optional<model::Path> PathOf(const Flow& flow) const;
  uint32_t LevelOf(const Job& job) const;
  uint64_t Seed(uint64_t part, uint64_t number) const;

  const topology::Fabric& fabric_;
  const LiveTrafficOptions options_;
  EventQueue queue_;
  VirtualNetwork network_;
  std::vector<std::unique_ptr<VirtualKernel>> kernels_;  // [host]
  std::vector<std::unique_ptr<VirtualAgent>> agents_;    // [host]
  VirtualController controller_;
  VirtualStreams streams_;
  Random random_;
  VirtualConnections connections_;
  std::map<JobId, Job> jobs_;
  std::map<uint64_t, JobId> owners_;  // of connections
  std::set<JobId> changed_;           // jobs that may have other paths or another level
  SimTime changed_at_;                // when these take effect
  SimTime next_sample_;
  int32_t num_pids_ = 0;
  uint64_t num_starts_ = 0;
};

}  // namespace fairlead::sim::hosts

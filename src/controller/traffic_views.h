// What people are shown of live traffic: hosts, jobs, queue pairs, links.
//
// Cost        all but ViewHosts: O(links + links of all paths).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/units.h"
#include "controller/agent_streams.h"
#include "controller/job_table.h"
#include "controller/level_planner.h"
#include "controller/port_moves.h"
#include "topology/fabric.h"
#include "traffic/path_service.h"

namespace fairlead::controller {

struct HostView {
  std::string name;
  bool is_connected = false;
  std::string agent_version;
  SimTime last_message;
  // Jobs of which Slurm has processes there; nothing: it is away, or can't tell.
  std::optional<std::vector<uint32_t>> slurm_jobs = std::nullopt;
};
struct JobOnFabric {
  std::string name;
  uint32_t level = 0;
  std::string reason;  // of the level
  uint32_t num_hosts = 0;
  uint32_t num_connections = 0;
  uint32_t num_unmanaged = 0;                // queue pairs without a path of ours
  uint32_t num_gpus = 0;                     // as far as hosts have measured it
  std::optional<Seconds> iteration_time;     // nothing: its hosts see no period at present
  std::optional<Seconds> fastest_iteration;  // since this controller measures the job
  std::optional<FlopPerSecond> intensity;
  LinkId fullest_link;                   // of the network, of those on its paths; invalid: it has none
  std::vector<std::string> shares_with;  // names of the other jobs there

  // GPUs' worth of time that the job loses at present, against its fastest iteration; nothing: not known.
  std::optional<double> lost_gpus() const {
    if (!iteration_time || !fastest_iteration) return std::nullopt;
    return num_gpus * std::max(0.0, 1 - *fastest_iteration / *iteration_time);
  }
};
struct QueuePairOnFabric {
  std::string job;
  uint64_t connection = 0;
  uint32_t queue_pair = 0;
  int32_t pid = 0;  // of the process that opened it; 0: not known
  NicId source;
  NicId destination;
  traffic::QueuePairAnswer answer;
  uint16_t wire_port = 0;  // that its packets have; 0: not open. Another one than the answer's: it is to be moved
  std::vector<LinkId> links;
};
struct LinkOnFabric {
  LinkId link;
  traffic::LinkState state = traffic::LinkState::kUp;
  double health = 1;
  uint32_t num_queue_pairs = 0;
  double load = 0;  // sum of weights
};

// The links on a job's paths, each once, ascending.
struct JobPaths {
  std::string name;
  std::vector<LinkId> links;
};

std::vector<HostView> ViewHosts(const topology::Fabric& fabric, const AgentStreams& streams);
// By number.
std::vector<JobOnFabric> ViewJobs(const topology::Fabric& fabric, const traffic::PathService& paths,
                                  const JobTable& jobs, const LevelPlanner& levels);
std::vector<QueuePairOnFabric> ViewQueuePairs(const traffic::PathService& paths, const JobTable& jobs,
                                              const PortMoves& moves);
// Of all jobs, by number.
std::vector<JobPaths> ViewJobPaths(const topology::Fabric& fabric, const traffic::PathService& paths,
                                   const JobTable& jobs);
// Between switches, and of NICs: what the network is made of.
std::vector<LinkOnFabric> ViewLinks(const topology::Fabric& fabric, const traffic::PathService& paths);

}  // namespace fairlead::controller

// The controller of running jobs' traffic: agents' words in, paths and levels out.
//
// Jobs are started by others (Slurm, Kubernetes, the lab); this core learns of a job when one of its processes wants a
// path, and forgets it when the last lease is gone. It joins the path service, the policy that orders jobs, and what
// agents have measured. No thread, socket, clock or disk; replaying its inputs gives the same outputs.
//
//     HostConnected, FromHost, HostDisconnected,        +--> PathService (paths, ports, leases, links)
//     LinkReported, tick --> Handle() ------------------+--> TrafficPolicy (levels, from measured jobs on these paths)
//                                |
//                                +--> ToHost, RecordChanged, Noted
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "controller/host_messages.h"
#include "topology/address_book.h"
#include "topology/fabric.h"
#include "traffic/path_service.h"
#include "traffic/traffic_policy.h"

namespace fairlead::controller {

// One stream of one agent. Numbers are never used again.
using StreamId = Id<struct StreamTag>;

// ---- Inputs ----
struct StreamSaid {
  StreamId stream;
  FromAgent message;
};
struct StreamEnded {
  StreamId stream;
};
// The word of a switch or an operator about one direction of a cable.
struct LinkHealthReported {
  LinkId link;
  double health = 1;  // fraction of the capacity that is left; 0 = down
  std::string source;
};
using TrafficInput = std::variant<StreamSaid, StreamEnded, LinkHealthReported>;

// ---- Outputs ----
struct SayToStream {
  StreamId stream;
  ToAgent message;
};
// After what is said before it. Of agents that break the protocol or were refused.
struct EndStream {
  StreamId stream;
};
// To be kept before anything after it is sent.
struct RecordChanged {
  std::string key;
  std::optional<std::string> value;  // nothing: removed
};
// For the event list and the log.
struct Noted {
  enum class Severity : uint8_t { kInfo, kWarning };
  Severity severity = Severity::kInfo;
  std::string subject;  // "link leaf0->spine3", "host h4", "job gpt"
  std::string text;
};
using TrafficOutput = std::variant<SayToStream, EndStream, RecordChanged, Noted>;

struct TrafficControllerOptions {
  std::string version;  // of this program, for people
  // > 0. Shorter: dead hosts are noticed sooner, for more messages.
  SimDuration heartbeat_period = SimDuration(5'000'000'000);
  SimDuration lease_ttl = SimDuration(60'000'000'000);  // that of the path service, for Welcome
  uint32_t num_levels = 8;                              // 1 .. 8
  // Weight of a job's new measurement in what is known of it; (0, 1]. Smaller: levels are calmer, and follow later.
  double measurement_weight = 0.5;
  // > 0: how often levels may be planned anew.
  SimDuration level_period = SimDuration(2'000'000'000);
  uint64_t random_seed = 1;

  Status Validate() const;
};

// ---- What people are shown ----
struct HostView {
  std::string name;
  bool is_connected = false;
  std::string agent_version;
  SimTime last_word;
};
struct JobOnFabric {
  std::string name;
  uint32_t level = 0;
  std::string reason;  // of the level
  uint32_t num_hosts = 0;
  uint32_t num_connections = 0;
  uint32_t num_unmanaged = 0;  // queue pairs without a path of ours
  std::optional<Seconds> iteration_time;
  std::optional<FlopPerSecond> intensity;
};
struct QueuePairOnFabric {
  std::string job;
  uint64_t connection = 0;
  uint32_t queue_pair = 0;
  NicId source;
  NicId destination;
  traffic::QueuePairAnswer answer;
  std::vector<LinkId> links;
};
struct LinkOnFabric {
  LinkId link;
  traffic::LinkState state = traffic::LinkState::kUp;
  double health = 1;
  uint32_t num_queue_pairs = 0;
  double load = 0;  // sum of weights
};

class TrafficController {
 public:
  // The references must outlive this. Args: options valid.
  TrafficController(const topology::Fabric& fabric, const topology::AddressBook& addresses, traffic::PathService& paths,
                    const traffic::TrafficPolicy& levels, TrafficControllerOptions options);

  // Takes up what an earlier controller has kept (RecordChanged), before the first Handle().
  // Errors: kDataLoss: a record that can't be read, naming its key.
  Status Restore(std::span<const std::pair<std::string, std::string>> records);

  // Handles inputs of one moment in their order, and what time has brought. An empty call is a tick, and there should be
  // one at least each second. Args: clock, which may jump.
  std::vector<TrafficOutput> Handle(SimTime clock, std::span<const TrafficInput> inputs);

  std::vector<HostView> Hosts() const;
  std::vector<JobOnFabric> Jobs() const;
  std::vector<QueuePairOnFabric> QueuePairs() const;
  std::vector<LinkOnFabric> Links() const;  // between switches, and of NICs: what the network is made of
};

}  // namespace fairlead::controller

// Probes that hosts are ordered to send, and what came of them.
//
//     ScanPorts ------------> ProbesWanted, round 0 --> the host --> ports
//     ProbeRoundStarted ----> ProbesWanted of the round --> its hosts --> ports at once; links when all have answered
//
// Problem     a round of the mesh tells of links only when its hosts have answered, some of which never will. The
//             path service learns ports of each answer at once, so that it does not learn those of thousands of hosts
//             together.
// Method      a round ends when all hosts that were asked have answered, or at its time-out. Results are moved into
//             the path service's batch, and back into their round when it has read them (Keep), instead of being
//             copied.
// Guarantees  each started round of which a host was asked ends once. A host that was not asked, or is late,
//             contributes ports only.
// Cost        O(probes).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/agent_streams.h"
#include "controller/agent_words.h"
#include "controller/path_batch.h"
#include "controller/traffic_outputs.h"
#include "topology/address_book.h"
#include "topology/fabric.h"
#include "traffic/path_messages.h"

namespace fairlead::controller {

// As in TrafficControllerOptions.
struct ProbeRoundOptions {
  SimDuration timeout = SimDuration(4'000'000'000);
  uint8_t protocol = 6;
  uint16_t destination_port = 4791;
};

class ProbeRounds {
 public:
  // The references must outlive this.
  ProbeRounds(const topology::Fabric& fabric, const topology::AddressBook& addresses, ProbeRoundOptions options,
              AgentStreams* streams, PathBatch* batch, TrafficOutputs* outputs)
      : fabric_(fabric),
        addresses_(addresses),
        words_(fabric, addresses),
        options_(options),
        streams_(streams),
        batch_(batch),
        outputs_(outputs) {}

  void Order(const traffic::ScanPorts& action);
  void Begin(const traffic::ProbeRoundStarted& action, SimTime now);
  // Returns whether a round has all its answers now.
  bool Hear(HostId host, const ProbesFinished& message);

  // Results are in the batch that no round has back yet.
  bool are_results_away() const { return !away_.empty(); }
  // Gives rounds their results back. Args: events: the batch's, as of its first question; ports were taken from them.
  void Keep(std::span<traffic::PathEvent> events);
  bool HasFinished(SimTime now) const { return FindFinished(now) != rounds_.end(); }
  // Args: there is one, and no results are away.
  traffic::ProbeRoundFinished TakeFinished(SimTime now);

 private:
  struct Round {
    SimTime due;
    std::set<HostId> waiting_for;
    std::vector<traffic::PortScanSeen> scans;
  };

  // The first one that all hosts have answered, or that has waited long enough.
  std::map<uint64_t, Round>::const_iterator FindFinished(SimTime now) const;

  const topology::Fabric& fabric_;
  const topology::AddressBook& addresses_;
  const AgentWords words_;
  const ProbeRoundOptions options_;
  AgentStreams* streams_;
  PathBatch* batch_;
  TrafficOutputs* outputs_;
  std::map<uint64_t, Round> rounds_;
  std::vector<std::pair<size_t, uint64_t>> away_;  // number of the event in the batch, round
};

}  // namespace fairlead::controller

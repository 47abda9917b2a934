// Pending scans: which requests wait for which ports to be probed, so that no probe is requested twice at a time, or
// forever.
//
// One entry per address pair with queue pairs that wait. Its ports are out until their results come, the epoch ends, or
// `timeout` passes; only then are more asked for. Queue pairs of one address pair wait together: each result may be
// the port that one of them wants.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "traffic/c4p/connection_table.h"
#include "traffic/c4p/port_map.h"

namespace fairlead::traffic::c4p {

class PendingScans {
 public:
  // Args: timeout > 0; max_ports: of a pair and an epoch.
  PendingScans(SimDuration timeout, uint32_t max_ports) : timeout_(timeout), max_ports_(max_ports) {}

  // A queue pair waits for results of `ports`. Returns those of them that have to be asked for. Args: is_scan: any
  // other ports of the pair would do as well, so that nothing is asked for while a scan of it is out.
  std::vector<uint16_t> Wait(const AddressPair& pair, QueuePairRef ref, uint64_t epoch, std::span<const uint16_t> ports,
                             bool is_scan, SimTime now);
  // The pair has been asked for as many ports as it may in this epoch.
  bool HasTried(const AddressPair& pair, uint64_t epoch) const;

  // Results have come.
  void Answer(const AddressPair& pair, std::span<const uint16_t> ports);
  // The waiting ones, in order of arrival; they no longer wait.
  std::vector<QueuePairRef> TakeWaiting(const AddressPair& pair);
  // Forgets a pair that none waits for.
  void Tidy(const AddressPair& pair);
  // Pairs whose results are overdue, oldest first; outstanding probes are dropped.
  std::vector<AddressPair> TakeOverdue(SimTime now);

  size_t size() const { return pairs_.size(); }

 private:
  struct Hash {
    size_t operator()(const AddressPair& pair) const;
  };
  struct Entry {
    std::vector<QueuePairRef> waiting;
    std::vector<uint16_t> out;
    uint64_t epoch = 0;
    SimTime asked_at;
    uint32_t num_asked = 0;
    bool is_scan_out = false;
  };

  SimDuration timeout_;
  uint32_t max_ports_;
  std::unordered_map<AddressPair, Entry, Hash> pairs_;
  std::deque<std::pair<SimTime, AddressPair>> asked_;  // in order of time; some are over
};

}  // namespace fairlead::traffic::c4p

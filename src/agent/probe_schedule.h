// In which order, and how fast, a host sends the probes that the controller wants.
//
// Problem     a scan for the port of a new connection is waited for by a process; the mesh's rounds only watch. Probes
//             cost switches work (each expires in one), so a host may not send as many as it likes.
// Method      two queues, one order of each urgency under way. Orders are cut into pieces: those of a search into up to
//             four, because the port that a process waits for may be in the first. A bucket of tokens, filled at
//             `probes_per_second`, holds one second's worth: watching waits until it is not empty; scans take tokens
//             that are not there yet, a second's worth at most, so that a burst of new connections is served at once.
// Guarantees  over any time t no more than (2 + t) * probes_per_second probes and a piece, of each urgency. Every
//             scan that was taken is given out once, in its queue's order. What is over `num_scans_max` is dropped, the
//             oldest first.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/sim_time.h"
#include "controller/host_messages.h"

namespace fairlead::agent {

struct ProbeScheduleOptions {
  // Packets. More: rounds and bursts of scans end sooner, for more work of the switches.
  double probes_per_second = 20'000;
  double packets_per_port = 3;    // hops that a probe of one port expires at
  uint32_t ports_per_order = 64;  // at most
  // > 0. A search is cut where each piece has so many ports. Fewer: the first answer comes sooner, for more messages.
  uint32_t ports_per_search_piece = 4;
  uint32_t num_scans_max = 4096;  // that wait, of each urgency
};

// Part of a scan, to be sent at once.
struct ProbeOrder {
  uint64_t number = 0;
  uint64_t round = 0;  // 0: a search for ports
  controller::PortScanWanted scan;
  bool ends_round = false;  // the last piece of what one message wanted
};

class ProbeSchedule {
 public:
  enum Urgency : size_t { kScan = 0, kWatch = 1 };

  ProbeSchedule(const ProbeScheduleOptions& options, SimTime now);

  // Scans without ports are passed over. Returns how many scans were dropped.
  size_t Take(const controller::ProbesWanted& wanted);
  // What may be sent now; nothing while the order before it is under way.
  std::optional<ProbeOrder> Next(SimTime now, Urgency urgency);
  // The order given out, which is over; nothing when it is not under way.
  std::optional<ProbeOrder> Finish(uint64_t number);
  // What the controller before wanted is of no use to the next one. Orders under way stay.
  void Forget();
  // When Next() would give something out without a Finish(); Never(): not by time.
  SimTime NextDue() const;

 private:
  size_t NumPieces(size_t num_ports, bool is_search) const;
  void Fill(SimTime now);
  double CostOf(const ProbeOrder& order) const;

  ProbeScheduleOptions options_;
  std::array<std::deque<ProbeOrder>, 2> waiting_;
  std::array<std::optional<ProbeOrder>, 2> under_way_;
  double tokens_;
  SimTime filled_at_;
  uint64_t num_orders_ = 0;
};

}  // namespace fairlead::agent

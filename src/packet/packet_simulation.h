// Every packet of a few connections: the second opinion about what the fluid engine says.
//
// Problem     when does each message arrive, if switches store and forward packets, queues have strict priorities and
//             senders know of a full link only what comes back?
// Method      one heap of events. A link sends the first packet of its most important queue that is not empty; it
//             arrives at the next queue when its last bit does.
//             kMarking  (RoCE with DCQCN) one path; a queue marks packets between two thresholds, marks come back with
//                       acknowledgements, and rate_control.h paces the sender, which never has more than a window in
//                       flight. Nothing is lost: queues are as long as they get (PFC that never pauses).
//             kPulled   (NDP) packets take their paths in turn, in an order drawn anew for each round; a queue of
//                       trim_packets cuts off the payload of what comes next and sends the header ahead of all data.
//                       After a first window the receiver pulls each further packet, at the speed of its link.
// Cost        O(log events) for each packet and hop; about a million packets and hops in half a second.
//             `skip_steady` (Wormhole) takes a partition of connections (steady_state.h) whose rates have settled out
//             of the heap with all its events; when the first of its messages nears its end, or a connection comes that
//             shares a link with it, they go on as much later, with queues and timers as they were, and what the rates
//             amount to in between has been sent.
// Guarantees  same workload, options and seed: same result. Packets sent = delivered + trimmed; those of steady states
//             are counted apart. What is skipped in one partition changes no time of another.
// Differs     acknowledgements, pulls and notices of trimmed packets take time and no bandwidth. A receiver does not
//             pull what a sender does not have, and knows so at once. No PFC, no timeouts, no losses.
// Oracle      closed forms in packet_simulation_test.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packet/packet_workload.h"
#include "packet/rate_control.h"
#include "packet/steady_state.h"

namespace fairlead::packet {

enum class Transport : uint8_t { kMarking, kPulled };

struct PacketOptions {
  Transport transport = Transport::kMarking;
  uint32_t payload = 9000;  // bytes; smaller: more packets, less store-and-forward delay
  uint32_t header = 78;     // bytes that every packet has besides
  uint32_t control = 64;    // bytes of a header without payload, and of what comes back

  // kMarking. A queue (of one level) with fewer bytes than mark_min marks nothing, with more than mark_max everything,
  // and packets with a probability that grows up to mark_probability between them.
  double mark_min = 400e3;
  double mark_max = 1600e3;
  double mark_probability = 0.2;
  RateControlOptions rate_control;
  // In flight at most: so many times the bytes of a round trip without queues, and one packet. Larger: longer queues.
  double window = 1;

  // kPulled.
  uint32_t trim_packets = 8;
  uint32_t first_window = 23;  // packets

  // Nothing: every packet is sent.
  std::optional<SteadyStateOptions> skip_steady;

  uint64_t seed = 1;  // of marks and orders of paths

  double goodput() const { return static_cast<double>(payload) / static_cast<double>(payload + header); }
};

// A span that was skipped.
struct SteadyState {
  double start_s = 0;
  double length_s = 0;
  std::vector<uint32_t> connections;
  std::vector<double> rates;  // [index in connections], bytes of payload a second
};

struct PacketResult {
  std::vector<double> ready_s;     // [message] it could have been sent
  std::vector<double> finish_s;    // [message] its last byte is there
  uint64_t packets_sent = 0;       // entered the first queue, sent again included
  uint64_t packets_delivered = 0;  // with their payload
  uint64_t packets_trimmed = 0;
  uint64_t packets_marked = 0;
  uint64_t bytes_delivered = 0;  // of payload
  uint64_t packets_skipped = 0;  // of steady states, neither sent nor delivered
  uint64_t bytes_skipped = 0;
  uint64_t num_events = 0;  // handled: what the simulation costs
  std::vector<SteadyState> steady_states;
  std::vector<double> queue_max;     // [link] most bytes that waited, all levels
  std::vector<double> queue_byte_s;  // [link] bytes that waited, times seconds; in skipped spans as at their beginning
};

// Args: a valid workload; with kMarking each connection has one path.
PacketResult SimulatePackets(const PacketWorkload& workload, const PacketOptions& options);

// How long the first link's speed has to be matched by a connection: from a packet's start to its acknowledgement, over
// its longest path without queues, seconds.
double RoundTrip(const PacketWorkload& workload, const Connection& connection, const PacketOptions& options);

}  // namespace fairlead::packet

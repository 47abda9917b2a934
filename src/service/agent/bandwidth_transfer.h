// What one connection between two hosts carries: one of them receives and counts, the other one sends.
//
//     receiver   listens ----- accepts what begins with the secret ------- reads and drops ----- rate
//     sender              connects, several streams, says the secret ----- writes ------------- loss, round trip
//
// Problem     the rate that a NIC, a cable or a network stack allows, in seconds, without a program that would have to
//             be installed; and nobody else may take part, or be kept waiting.
// Method      plain TCP, a thread for each stream, as one thread does not fill a fast NIC. The rate is what the
//             receiver got after the first fifth of the time, so that slow start does not count. Losses are segments
//             that the sender's kernel has sent again.
// Guarantees  both end within their length and a few seconds, or soon after `stop`. The receiver listens on one address
//             of this host, and closes connections from other addresses than the sender's, and those that do not
//             begin with the secret.
// Limits      TCP: a RoCE NIC is tested by the path of its packets, not by its RDMA engine.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/descriptor.h"
#include "base/ip_address.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "base/units.h"

namespace fairlead::service {

struct TransferOptions {
  IpAddress local;           // of this host
  IpAddress peer;            // of the other one
  uint16_t port = 0;         // of the receiver
  uint64_t secret = 0;       // the same on both sides
  uint32_t num_streams = 1;  // > 0, likewise
  double rate_max = 0;       // of all streams, bytes/s; 0: as fast as possible
  SimDuration length;        // > 0
};

class TransferReceiver {
 public:
  // Listens; `options.port` may be 0: any. Errors: kUnavailable: it can't.
  static Result<TransferReceiver> Open(const TransferOptions& options);

  uint16_t port() const { return port_; }
  // Blocks. Returns payload, bytes/s; 0: connections came, and next to nothing over them. Errors: kUnavailable: no
  // connection came, or not from there.
  Result<double> Receive(const std::atomic<bool>& stop);

 private:
  explicit TransferReceiver(const TransferOptions& options) : options_(options) {}

  TransferOptions options_;
  Descriptor listener_;
  uint16_t port_ = 0;
};

struct SentTransfer {
  double lost_share = 0;  // of the segments sent, 0..1
  Seconds rtt;            // the least
};

// Blocks. Errors: kUnavailable: it can't connect, or the connection broke.
Result<SentTransfer> SendTransfer(const TransferOptions& options, const std::atomic<bool>& stop);

}  // namespace fairlead::service

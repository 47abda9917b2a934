// How long do messages of each connection take in a window, and how long do they normally take?
//
// Method      the mean of log time of a message of the usual size over the first windows without a suspect, its error,
//             and how much the slowest messages stand out (TransferFit). What is slower than its class and could not be
//             named for some windows is so by nature: then that is normal for it.
//             A sender on sockets does not see that the receiver has no buffer: to it such a message is on the wire. It
//             waits only while all of the receiver's buffers hold data that its GPU has not taken; so of what messages
//             take longer, the receiver may account for as much as they waited for its GPU beyond normal, divided by
//             the number of buffers, less what the sender did see.
// Cost        O(records of a report) a report, O(connections) a window; about 200 bytes a connection.
// Guarantees  repeated reports change nothing; order of reports changes nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/c4d/report_numbers.h"
#include "diagnosis/c4d/slow_options.h"
#include "diagnosis/c4d/transfer_fit.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

// A connection in one window.
struct ConnectionSample {
  model::RankId source;
  model::ConnectionKey key;
  uint32_t position = 0;  // among the connections of the source
  bool has_normal = false;
  // What is normal for it, where that is known.
  double normal_log_seconds = 0;  // of a message of the usual size
  double normal_error_2 = 0;      // square of its standard error
  double usual_bytes = 0;
  double log_seconds = 0;  // of a message of the usual size
  double log_delay = 0;    // likewise, seconds a byte
  double error_2 = 0;      // square of its standard error
  double messages = 0;
  double uneven_share = 0;     // of reports, if several are and no end's lateness covers it
  double slowest_seconds = 0;  // of one message
  double uneven_seconds = 0;   // by which slowest messages of these took longer than usual
  // Of the time of each message: for so long the receiver, which had not taken others, may have held it up.
  double held_seconds = 0;
  SlowestRatios ratios;
};

class MeasuredConnections {
 public:
  MeasuredConnections(const model::JobLayout& layout, const SlowOptions& options);

  // Records about ranks that the layout does not know are left out.
  void Add(const model::RankReport& report);
  // The rank counts its reports from another number. Args: rank of the layout.
  void BeginAnew(model::RankId rank) { seen_[rank.index()] = ReportNumbers(); }

  // Ends the window: what was added since the one before is forgotten. Args: lateness [rank] seconds by which ranks
  // came late; empty: none did. Returns: those with messages enough, by source, ascending key.
  std::vector<ConnectionSample> TakeWindow(std::span<const double> lateness);
  // Counts the sample, of the window that was taken last, as normal, if not enough is known of its connection. Args:
  // is_slow: than its like, so that it has to last.
  void Learn(const ConnectionSample& sample, bool is_slow);

 private:
  struct Connection {
    model::ConnectionKey key;
    TransferFit fit;
    // As its receiver sees them in this window: messages, seconds of waiting for them, and until its GPU took them.
    double received = 0;
    double received_seconds = 0;
    double untaken_seconds = 0;
    double unready_seconds = 0;  // for which its sender saw that the receiver was not ready
    // What is normal for it: mean of log seconds at `usual_bytes` over `normal_count` windows.
    double normal = 0;
    double normal_error_2 = 0;
    SlowestRatios normal_ratios;
    double normal_held = 0;  // seconds a message, mean of the same windows
    double usual_bytes = 0;
    uint32_t normal_count = 0;
    uint32_t odd_windows = 0;  // slower than its class, and no finding
  };

  bool HasNormal(const Connection& connection) const { return connection.normal_count >= options_.baseline_windows; }
  Connection& Find(model::RankId rank, const model::ConnectionKey& key);
  // Share of the time that its messages take in which the receiver waits for them; 1: all, or not known.
  static double AwaitedShare(const Connection& connection);
  // Seconds for which a message was held up by its receiver, unseen by its sender; with what is normal.
  static double HeldSeconds(const Connection& connection);
  ConnectionSample SampleOf(model::RankId source, uint32_t position) const;

  const SlowOptions options_;
  std::vector<ReportNumbers> seen_;                   // [rank]
  std::vector<std::vector<Connection>> connections_;  // [rank] that sends, ascending key
};

}  // namespace fairlead::diagnosis::c4d

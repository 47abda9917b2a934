// Runs one worker: iterations over its connections, with a record of each.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/status.h"
#include "lab/trainer/collective_observer.h"
#include "lab/trainer/connections.h"
#include "lab/trainer/simulated_gpus.h"
#include "lab/trainer/trainer_plan.h"

namespace fairlead::lab {

// One line of JSON, without the line break:
//   {"iteration": 3, "begin_s": 71.25, "seconds": 0.51, "exposed_s": 0.21}   seconds of CLOCK_MONOTONIC; exposed: the
//                                                                          part in which compute was stalled
//     with TrainOptions::records_phases also "phases": [[2, 0.11, 0.32], …], the number of each in the plan, its begin
//     and its end, and "stalls": [[0.3, 0.51], …], when compute was stalled: seconds since the iteration's begin
//   {"unfinished": 4, "begin_s": …}                                        the same of one that did not end, with
//                                                                          records_phases
//   {"end": "done" | "stopped" | "peer lost" | "failed", "iterations": 40, "sent_bytes": 1, "received_bytes": 1}
//                                                                          without headers of chunks
using RecordSink = std::function<void(const std::string&)>;

struct TrainOptions {
  SimulatedGpus* gpus = nullptr;  // receives each iteration's work; null: not counted
  // Receives all communication; the connections then have to be of Protocol::kMessages. Null: nothing is reported, and
  // messages are not distinguished.
  CollectiveObserver* observer = nullptr;
  std::string control = {};  // path of trainer_control.h's file; empty: none
  // How long a worker that has lost a peer waits before it gives up, unless it is asked to stop: the peer may have been
  // asked a moment before.
  double lost_peer_grace_s = 0.5;
  // A checkpoint is wanted soon, whatever the plan says: set by a signal handler, cleared when worker 0 has written it
  // after the iteration that it is in. Null: nobody asks.
  std::atomic<bool>* checkpoint_wanted = nullptr;
  // What happens in iterations is recorded too: about 25 bytes for each phase of each.
  bool records_phases = false;
  // Iterations that were done before, by the plan's checkpoint. It has to be read before the connections are
  // established: then no worker has continued from it yet.
  uint64_t first_iteration = 0;
};

// Runs iterations until the plan's number is reached, `stop` turns true, or a peer is lost. With an observer it ends
// only when the peers have got everything. Errors: kUnavailable: a peer closed its connection or can't be reached any
// more in the middle of an iteration, and no stop was requested within the grace period: names it. The last record is
// written in any case. Those of WriteCheckpoint. Thread: one; `stop` may be set by a signal handler.
Status Train(const TrainerPlan& plan, Connections connections, const std::atomic<bool>& stop, const RecordSink& record,
             const TrainOptions& options = {});

}  // namespace fairlead::lab

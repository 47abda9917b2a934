// Runs one worker: iterations over its connections, with a record of each.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/status.h"
#include "lab/trainer/connections.h"
#include "lab/trainer/played_gpus.h"
#include "lab/trainer/trainer_plan.h"

namespace fairlead::lab {

// One line of JSON, without the line break:
//   {"iteration": 3, "begin_s": 71.25, "seconds": 0.51, "exposed_s": 0.21}   seconds of CLOCK_MONOTONIC; exposed: the
//                                                                          part in which compute stood still
//   {"end": "done" | "stopped" | "peer lost", "iterations": 40, "sent_bytes": 1, "received_bytes": 1}
//                                                                          without headers of chunks
using RecordSink = std::function<void(const std::string&)>;

// Args: gpus: told of each iteration's work; null: nobody counts.
// Plays iterations until the plan's number is reached, `stop` turns true, or a peer is lost.
// Errors: kUnavailable: a peer closed its connection or can't be reached any more in the middle of an iteration, and
// nobody asked to stop within half a second: names it. The last record is written in any case.
// Thread: one; `stop` may be set by a signal handler.
Status Train(const TrainerPlan& plan, Connections connections, const std::atomic<bool>& stop, const RecordSink& record,
             PlayedGpus* gpus = nullptr);

}  // namespace fairlead::lab

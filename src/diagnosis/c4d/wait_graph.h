// Which ranks wait for which while a job is stalled: ranks wait inside of operations, operations for ranks that have
// not begun them.
//
// Notation    rank -> operation   the rank has started it and has not finished
//             operation -> rank   the rank has not started it; or it is hindered: gone, silent, or stopped; or it is
//                                 inside of a group's send or receive that lacks nobody, and of one that does
// Method      only operations with a rank inside can keep ranks waiting. A hindered rank waits for none: its last
//             report is out of date, or no excuse; but a silent one that was heard from inside when the operation was
//             stuck already keeps nobody there. Where a report is missing that could contain more, a rank is
//             doubtful. One that may have started counts as missing only for its connections (stuck_graph.h); one that
//             may have finished counts as inside only beside another that has not finished for certain, since ranks
//             leave an operation together. Patience is for what may still come: an operation that others have finished,
//             or that a rank is hindered to join, gets none beyond the plain suspect time. What a rank has enqueued
//             never waits for what it enqueued later. So a rank that does not get to an operation it has enqueued is
//             not kept by operations that it enqueued after it: its GPU is stuck.
// Cost        O(ranks + pending operations times their ranks).
// Reference   docs/spec/c4.md section 4.1: the walk over communicators.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "diagnosis/c4d/c4d_options.h"
#include "diagnosis/c4d/job_picture.h"
#include "diagnosis/c4d/strongly_connected.h"

namespace fairlead::diagnosis::c4d {

// Why a rank can't be expected to do anything, or to tell.
enum class Hindrance : uint8_t {
  kNone,
  kGone,     // its process has ended
  kSilent,   // its host does not answer any more
  kUnseen,   // likewise, but the job continued: its state is unknown
  kStopped,  // by a signal or a debugger
  kLeaving,  // it has begun to finalize
};

// An operation that some rank is inside of.
struct PendingOperation {
  model::CommunicatorId communicator;
  model::OperationKind kind = model::OperationKind::kUnknown;
  uint64_t sequence = 0;
  model::RankId peer;     // the rank it is sent to, or received from; none for collectives
  SimTime waiting_since;  // on the master's clock: nothing has moved on this communicator since, and it was pending
  SimDuration suspect_time;
  bool is_stuck = false;                // for longer than its suspect time
  bool is_stalled = false;              // for longer than that of usual operations
  std::vector<model::RankId> inside;    // have started it, and not finished
  std::vector<model::RankId> missing;   // have not started it
  std::vector<model::RankId> doubtful;  // may not have started it
  std::vector<model::RankId> hindered;  // will not finish it
  uint32_t num_finished = 0;            // ranks that have
};

struct WaitGraphQuery {
  SimTime now;
  // False: instants say nothing (a dump after the fact): whatever is pending is stuck.
  bool has_clock = true;
  HangOptions hang;
  SilenceOptions silence;

  // How long after something has happened a missing report can contain it.
  SimDuration ReportDelay() const;
};

// [rank]
using Hindrances = IdVector<model::RankId, Hindrance>;

struct WaitGraph {
  std::vector<PendingOperation> operations;
  // Nodes: ranks of the job, then operations.
  Digraph edges;
};

// How long anything on a communicator may be stalled before it is suspect, by how long it was stalled before.
SimDuration PlainSuspectTime(const CommunicatorState& communicator, const HangOptions& options);
// How long an operation that may still come may be.
SimDuration SuspectTime(const CommunicatorState& communicator, model::OperationKind kind, uint64_t bytes,
                        const HangOptions& options);

// Whether any communicator has been stalled long enough to look closer. Cost: O(communicators).
bool MayHang(const JobPicture& picture, const WaitGraphQuery& query);

WaitGraph BuildWaitGraph(const JobPicture& picture, const Hindrances& hindrances, const WaitGraphQuery& query);

}  // namespace fairlead::diagnosis::c4d

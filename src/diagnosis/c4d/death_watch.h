// Which hosts and processes are gone, and which only do not answer.
//
// Method      gone         the agent says so; at once. Of several, the one that went first is the cause: the others
//                          lost their connections to it, or are torn down by their launcher. On one host their order is
//                          exact; of two hosts, one death is before the other if it was, by the times that agents
//                          tell and 200 ms for the way of reports. Among those that may have been first, ranks with an
//                          error of their GPU come first, then those that no signal of a launcher ended. How an end
//                          came about may be unknown: nobody is accused by that.
//             silent       nothing from the host for several report periods, while we listened
//             unseen       silent, but the job went on meanwhile, or the agent came and was refused: only the agent
//                          is away. `unreachable`
//             Silent hosts whose job is stalled are dead: by the hang rule (hang_rule.h). More than a share of all
//             hosts silent at once is a fault of our own: no host counts as dead. If no host reports any more, none is
//             named, except for a job on one host.
// Differs     docs/spec/c4.md section 4.3 gives the limits; which one went first, and the difference between an agent
//             and a host that is gone, are ours.
#pragma once

#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/c4d_options.h"
#include "diagnosis/c4d/job_picture.h"
#include "diagnosis/c4d/suspect.h"
#include "diagnosis/c4d/wait_graph.h"

namespace fairlead::diagnosis::c4d {

// [rank] what keeps it from doing anything.
Hindrances FindHindrances(const JobPicture& picture, SimTime now, bool has_clock, const SilenceOptions& options);

// Suspects of `dead` (at most one) and `unreachable` (one per host).
std::vector<Suspect> FindMissing(const JobPicture& picture, const Hindrances& hindrances, SimTime now,
                                 const SilenceOptions& options);

// Whether one process is known to have ended first, and not because somebody has stopped the job: by an error of its
// GPU, or by what neither launchers nor schedulers do to all, before any that they may have ended.
bool HasCrashed(const JobPicture& picture, SimTime now);

}  // namespace fairlead::diagnosis::c4d

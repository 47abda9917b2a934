// What it is worth, in GPUs that compute and in slowdowns, that one job goes before another where they meet.
//
// Problem     strict priority spares the upper job and stops the lower one for whole bursts. Intensity shows which of
//             the two should wait, but not whether either has to: where each could send beside the other within the
//             time that it computes, sharing costs nothing and waiting does. And intensity counts FLOP: a job that
//             computes few of them on many GPUs loses all of its GPUs' time when it waits.
// Notation    C, t, s: compute time, communication time and start fraction on the paths chosen;  T = max(C, s*C + t)
//             a -> demand: share of the link that the job uses while it sends, alone;  n -> its flows on the link
//             q: factor of the job's sending speed while the other one sends;  r = t / T: part of time that it sends
// Method      q of the upper job is 1 in an order; of the lower one (1 - a_upper) / a_lower, at most 1; of two equals
//             what max-min shares of their flows leave. A job's speed beside another one that sends for r of the time:
//               its bursts shorter than T   T / max(C, s*C + t / (1 - r * (1 - q))): they are spread over iterations
//               longer                      1 - r + r * T / max(C, s*C + t / q): whole iterations fall into them
//             Gain = the smaller of what the order wins against equals by two measures: GPUs x speed, summed over
//             both; and slowdowns 1 / speed, summed over both, times the GPUs of the smaller job. On the link that both
//             together ask most of.
// Guarantees  0 where both fit on the link. Above 0 only where neither the GPUs that compute nor the mean slowdown of
//             the two suffers. Finite.
// Differs     ours; Crux weighs an edge by the intensity of its upper job, which is what equals lose at most. Two jobs
//             at a time, at independent phases: that an order may make bursts alternate is not counted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "model/flow.h"
#include "model/path.h"
#include "traffic/crux/priority_compression.h"
#include "traffic/link_traffic.h"

namespace fairlead::traffic::crux {

// A job on a link that it shares.
struct LinkUser {
  double num_gpus = 0;
  Seconds compute_time;        // C >= 0
  Seconds communication_time;  // t > 0, finite
  double start_fraction = 1;   // s in [0, 1]
  double demand = 1;           // a in (0, 1]
  uint32_t num_flows = 1;      // n >= 1
};

// GPUs won when `upper` goes before `lower`, against equals; at most what the mean slowdown allows.
double GainOfOrder(const LinkUser& upper, const LinkUser& lower);

// A job to be ordered.
struct OrderedJob {
  uint32_t num_gpus = 0;
  const model::Iteration* iteration = nullptr;  // not null
  std::span<const model::Path> paths;           // [flow of the iteration]
  bool is_period_known = true;                  // else nothing is known of C, s and t, and no order is worth anything
};

// Sets the weight of each edge to GainOfOrder of its jobs. Args: jobs [rank]; edges join jobs that share a link.
// Cost: O(links of all paths + users of each link squared).
void WeighByGain(std::span<const OrderedJob> jobs, const LinkTable& links, ContentionDag* dag);

}  // namespace fairlead::traffic::crux

// GPU intensity: how much computation a job releases per second of communication.
//
// Problem     a cluster is worth the FLOP it does. The job that frees more FLOP per second of link time should get the
//             link first.
// Notation    W_j -> work;  C_j -> compute_time;  s_j -> start_fraction;  t_j -> communication_time;  I_j ->
//             intensity
// Method      I_j = W_j / t_j with t_j the time of the job's bytes on its own worst link, network or intra-host. The
//             iteration is modelled as one compute block and one communication block:
//               C = compute and bubble time, plus phases that stop compute and stay on NVLink (no job can slow them
//                 down);
//               s = where in C the first other phase may start; the share of the communication that stops compute
//                 overlaps nothing, so it counts with s = 1;
//               alone, one iteration lasts max(C, s*C + t).
// Differs     the paper gives the model (one block each) but not how several phases become one; the rule above is
//             ours. Jobs with t_j = 0 have infinite intensity and take no part in paths, priorities and compression.
// Reference   Cao et al., Crux, SIGCOMM 2024, sections 3.2 and 4.2.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/units.h"
#include "model/flow.h"
#include "traffic/link_traffic.h"

namespace fairlead::traffic {

// What Crux knows of a job.
struct JobProfile {
  JobId id;
  Flop work;                    // W_j per iteration, all GPUs
  Seconds compute_time;         // C_j
  Seconds communication_time;   // t_j; infinite when a path crosses a dead link
  Seconds latency;              // of phases that other jobs can meet, beside their bytes
  double start_fraction = 1;    // s_j in [0, 1]
  FlopPerSecond intensity;      // I_j; infinite when t_j = 0
  Bytes network_bytes;          // over all network links, per iteration
  bool is_period_known = true;  // else it is that of a long stretch: only its intensity can be compared

  bool communicates() const { return communication_time.value() > 0; }
  // Of one iteration, alone: max(C, s*C + t), t with the latency.
  Seconds solo_time() const;
};

// Args: traffic of the same iteration, measured on the paths in force.
// Paper: section 3.2.
JobProfile ComputeProfile(JobId id, const model::Iteration& iteration, const JobTraffic& traffic);

}  // namespace fairlead::traffic

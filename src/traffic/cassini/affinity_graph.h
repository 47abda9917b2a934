// The affinity graph: makes one shift per job out of the shifts that each of its links would like.
//
// Problem     every contended link asks for certain shifts between its jobs, up to a common one. A job has one shift.
// Notation    t_j^l -> FindShifts on link l;  t_j -> shifts[job];  p_j -> period
// Method      1. a bipartite graph: jobs, contended links, an edge where a job uses a link
//             2. a spanning forest: links by contention (excess without any shift), descending; an edge that closes a
//                cycle is dropped
//             3. from the first job of each tree, t = 0, along j - l - k:   t_k = (t_j - t_j^l + t_k^l) mod p_k
// Cost        one FindShifts for each link that joins jobs, fewer than jobs; the rest is linear in the edges.
// Guarantees  on a graph without cycles every link gets the relative shifts it asked for. A tree's shifts depend on
//             its own jobs and links alone.
// Differs     the original discards placements with cycles in their graph. Placements are not ours to choose: the least
//             contended edges are dropped instead, and counted.
// Reference   Rajasekaran et al., CASSINI, NSDI 2024, section 4.2 and Algorithm 1 (arXiv 2308.00852).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traffic/cassini/unified_circle.h"

namespace fairlead::traffic::cassini {

// A link on which jobs can be in each other's way.
struct AffinityLink {
  std::vector<uint32_t> jobs;  // ascending, at least two
  std::vector<Burst> bursts;   // [index in jobs]; a job has the same repeats and times on all links
};

struct Alignment {
  std::vector<uint32_t> shifts;  // [job], slots; less than the job's period (rounded up)
  uint32_t num_edges = 0;
  uint32_t num_dropped_edges = 0;
};

// Args  num_jobs joined by the links; links in the order that breaks ties.
Alignment AlignJobs(uint32_t perimeter, uint32_t num_jobs, std::span<const AffinityLink> links);

}  // namespace fairlead::traffic::cassini

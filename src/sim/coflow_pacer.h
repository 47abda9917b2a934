// The rates at which hosts send the flows of their coflows (traffic::CoflowTurn).
//
// Problem     A flow that is sooner through than its job's last one gains its job nothing, and takes the links from
//             others. At which rates is the first job served as if alone, and what it need not have left to others?
// Notation    rem_f  bytes left of a flow;  free_e  capacity that is left of a link;  G  time of what is left
// Method      Group by group, in each of them
//             1. job by job: G = max over links of sum rem_f / free_e, no less than any flow needs at its top rate;
//                rate_f = rem_f / G, which is taken from the links (MADD);
//             2. job by job again, where backfill is wanted: what is free is shared max-min fairly among the job's own
//                flows.
//             Rates hold until something starts or ends.
// Cost        O(crossings of what sends) for 1; for 2 that times the number of different bottlenecks of a job.
// Guarantees  No link carries more than it can. Without backfill all flows of a job end together, unless one is cut
//             off: then none of them moves.
// Reference   Chowdhury et al., Varys, SIGCOMM 2014, section 5.2; specification "rivals and fabrics", section 3.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fluid/flow_table.h"
#include "sim/domain_network.h"
#include "sim/job_state.h"

namespace fairlead::sim {

class CoflowPacer {
 public:
  // True where a job is paced.
  static bool IsWanted(std::span<JobState* const> jobs);

  // All outlive this. The network's variables of paced jobs have links of their own.
  CoflowPacer(std::span<JobState* const> jobs, DomainNetwork* network);

  // To be called when all that happens at an instant has happened.
  void Renew();

 private:
  struct Rate {
    double per_s = 0;                        // bytes, of the whole variable
    uint32_t binding_link = fluid::kNoLink;  // local; kNoLink: its top rate
  };

  void Allocate(uint32_t j);
  void Backfill(uint32_t j);
  void Raise(std::vector<uint32_t>* open);
  void Take(uint32_t v, double per_s);
  double TopRate(uint32_t v) const;

  std::span<JobState* const> jobs_;
  DomainNetwork* network_;
  std::vector<uint32_t> order_;                    // paced jobs, by group and rank
  std::vector<std::vector<fluid::LinkUse>> uses_;  // [variable] shared local links
  std::vector<double> free_;                       // [local link]
  std::vector<double> load_;                       // [local link] scratch, 0 between uses
  std::vector<Rate> rates_;                        // [variable]
};

}  // namespace fairlead::sim

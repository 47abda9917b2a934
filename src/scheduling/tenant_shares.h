// Tenants that share a cluster: weights, guaranteed quotas, and any allocation policy inside each one's share.
//
// Problem     a policy orders all jobs alike, so who submits most gets most. Tenants are to get a part of the cluster
//             by their weights; what one does not use goes to the others, and comes back when it is needed.
// Notation    d_i -> what the jobs of tenant i could use, at most the cluster;  s_i = dominant share of d_i;
//             w_i -> weight;  q_i -> guaranteed GPUs;  x_i -> part of d_i that it gets, 0..1.
// Method      1. shares   weighted max-min fairness on dominant shares: a common level rises, and x_i s_i = w_i * level
//                         for all tenants, until x_i = 1 or a resource that the tenant needs is used up (progressive
//                         filling). Before, each has what it is guaranteed, as far as it has demand: it joins the
//                         rise when the level reaches that. Whole GPUs by largest remainder.
//             2. nodes    each tenant's share becomes a part of the nodes: what its jobs have, those that have run
//                         longest first, then free GPUs, whole nodes first.
//             3. sizes    the policy is asked for each tenant alone, with its part as the cluster.
//             4. lending  what is left of all parts is offered to the tenants, the least level first.
// Guarantees  grants fit. A tenant with demand has its quota at the decision at which it asks for it: what others have
//             borrowed is taken back at once, by stopping or shrinking their jobs. One tenant: the policy alone.
// Cost        twice that of the policy at most, and O(tenants * nodes + jobs log jobs).
// Differs     two tenants' jobs are never compared with each other. A gang larger than its tenant's share waits for
//             what others leave.
// Reference   Ghodsi et al., Dominant Resource Fairness, NSDI 2011; Bertsekas and Gallager, Data Networks, 6.5.2.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling {

struct Tenant {
  std::string name;
  double weight = 1;             // > 0; twice as large: twice the share
  uint32_t guaranteed_gpus = 0;  // has these whenever it has jobs for them
};

// What a tenant asks for, and has a right to.
struct TenantDemand {
  Resources demand;
  double weight = 1;
  uint64_t guaranteed_gpus = 0;
};

// [tenants] Weighted max-min shares (steps 1 above), GPUs and cores whole numbers. Guarantees that exceed the cluster
// are scaled down together.
std::vector<Resources> ShareByWeight(const Resources& total, const std::vector<TenantDemand>& tenants);

// Jobs of tenants that are not listed, and of none (""), have weight 1 and no guarantee; each such name is a tenant of
// its own. Errors: kInvalidArgument: no policy, a weight that is not above 0, a name twice.
Result<std::unique_ptr<AllocationPolicy>> ShareAmongTenants(std::unique_ptr<AllocationPolicy> policy,
                                                            std::vector<Tenant> tenants);

}  // namespace fairlead::scheduling

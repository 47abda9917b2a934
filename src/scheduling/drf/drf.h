// Dominant resource fairness, by progressive filling.
//
// Notation     dominant share = max(GPUs / all GPUs, cores / all cores) / weight.
// Method       repeatedly the next size to the job with the smallest dominant share that has one and with a next size
//              that fits; ties by submission, id.
// Cost         O(units log jobs).
// Guarantees   equal jobs, none at its maximum: shares differ by at most one unit.
// Reference    Ghodsi et al., Dominant Resource Fairness, NSDI 2011, section 4.
#pragma once

#include <memory>

#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling::drf {

std::unique_ptr<AllocationPolicy> CreateDrf();

}  // namespace fairlead::scheduling::drf

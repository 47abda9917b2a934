// Shortest remaining time first, and shortest remaining service first, at the sizes that jobs ask for.
//
// Notation     time = remaining iterations * T(requested); service = time * R(requested).
// Method       jobs by that key; one whose length is unknown counts as if it had as much left as it has had, in levels
//              of 600 s and four times the one before; ties by submission, id. In this order a job runs if it fits,
//              else it is skipped. Running jobs are stopped for better ones.
// Reference    SRTF is optimal for mean JCT on one machine; SRSF: Gu et al., Tiresias, NSDI 2019, section 2.
#pragma once

#include <memory>

#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling::srtf {

enum class Key : uint8_t {
  kTime,     // "srtf"
  kService,  // "srsf"
};

std::unique_ptr<AllocationPolicy> CreateSrtf(Key key);

}  // namespace fairlead::scheduling::srtf

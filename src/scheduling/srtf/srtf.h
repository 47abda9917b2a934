// Shortest remaining time first, and shortest remaining service first, at the sizes that jobs ask for.
//
// Notation     time = remaining iterations * T(requested); service = time * R(requested).
// Method       predictable jobs by that key; the others behind them, by attained service; ties by submission, id. In
//              this order a job runs if it fits, else it is skipped. Running jobs are stopped for better ones.
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

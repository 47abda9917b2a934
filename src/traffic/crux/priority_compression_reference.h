// The best priority compression by trying every assignment of levels: the oracle of priority_compression.h.
#pragma once

#include <cstdint>

#include "traffic/crux/priority_compression.h"

namespace fairlead::traffic::crux {

// Cost: O(num_levels^n * n), cut short where an edge would point upwards; for n <= 8.
Compression CompressPrioritiesReference(const ContentionDag& dag, uint32_t num_levels);

}  // namespace fairlead::traffic::crux

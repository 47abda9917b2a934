#pragma once

#include <cstddef>

#include "kernels/warps.h"

namespace fairlead::nccl_host {

struct Ring {
  ptrdiff_t num_ranks = 0;
  ptrdiff_t position = 0;           // of this rank in the ring
  const int* user_ranks = nullptr;  // [how far behind this rank along the ring] rank
};

// What of a collective is a channel's; in elements.
struct Part {
  ptrdiff_t total = 0;  // of the whole collective (all-gather, reduce-scatter: of each rank)
  ptrdiff_t begin = 0;
  ptrdiff_t count = 0;
  ptrdiff_t chunk = 0;  // that a peer gets at once, at most
};

// Args: warps: from the rank before to the one behind. Element of all-gather and broadcast: a byte.
void RingAllReduce(const Ring& ring, const Part& part, size_t element_bytes, Warps* warps);
void RingAllGather(const Ring& ring, const Part& part, const std::byte* input, std::byte* output, Warps* warps);
void RingReduceScatter(const Ring& ring, const Part& part, Warps* warps);
void RingBroadcast(const Ring& ring, const Part& part, int root, bool is_in_place, Warps* warps);
void RingReduce(const Ring& ring, const Part& part, int root, Warps* warps);

}  // namespace fairlead::nccl_host

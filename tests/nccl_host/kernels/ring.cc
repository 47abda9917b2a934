// Rings: chunks go around, and become sums, copies, or both.
//
// Ranks are counted along the ring from this one: ring position i is i ranks behind it, userRanks[i].
#include "kernels/ring.h"

#include <algorithm>

namespace fairlead::nccl_host {
namespace {

ptrdiff_t DivideUp(ptrdiff_t a, ptrdiff_t b) { return (a + b - 1) / b; }

// Of a chunk at `at`, as far as it is in the part.
ptrdiff_t CountAt(ptrdiff_t at, ptrdiff_t chunk, ptrdiff_t part) { return std::min(chunk, part - at); }

// Chunk by chunk along a chain that begins or ends at a root.
template <typename Do>
void ForEachChunk(const Part& part, const Do& act) {
  for (ptrdiff_t at = 0; at < part.count; at += part.chunk) act(part.begin + at, CountAt(at, part.chunk, part.count));
}

}  // namespace

void RingAllReduce(const Ring& ring, const Part& part, size_t element_bytes, Warps* warps) {
  const ptrdiff_t ranks = ring.num_ranks;
  ptrdiff_t chunk = part.chunk;
  for (ptrdiff_t at = 0; at < part.count; at += ranks * chunk) {
    const ptrdiff_t rest = part.count - at;
    if (rest < ranks * chunk) {
      const ptrdiff_t grain = 16 / static_cast<ptrdiff_t>(element_bytes);
      chunk = DivideUp(DivideUp(rest, ranks), grain) * grain;
    }
    // Chunk c of this round, which `back` moves along the ring before it comes to this rank's own position.
    const auto act = [&](ptrdiff_t back, Move move) {
      const ptrdiff_t c = (ring.position + ranks - back) % ranks;
      const auto offset = static_cast<size_t>(part.begin + at + c * chunk);
      if (move.input_at) move.input_at = offset;
      if (move.output_at) move.output_at = offset;
      warps->Do(move, CountAt(c * chunk, chunk, rest));
    };
    act(1, {.input_at = 0, .sends = true});
    for (ptrdiff_t back = 2; back < ranks; ++back) act(back, {.input_at = 0, .receives = true, .sends = true});
    act(0, {.input_at = 0, .output_at = 0, .receives = true, .sends = true, .is_final = true});
    for (ptrdiff_t back = 1; back < ranks - 1; ++back) act(back, {.output_at = 0, .receives = true, .sends = true});
    act(ranks - 1, {.output_at = 0, .receives = true});
  }
}

void RingAllGather(const Ring& ring, const Part& part, const std::byte* input, std::byte* output, Warps* warps) {
  ForEachChunk(part, [&](ptrdiff_t at, ptrdiff_t count) {
    const auto in_output = [&](ptrdiff_t i) { return static_cast<size_t>(at + ring.user_ranks[i] * part.total); };
    const auto from = static_cast<size_t>(at);
    // All gathered bytes are bytes.
    if (input + from == output + in_output(0)) {
      warps->Do({.input_at = from, .sends = true}, count);
    } else {
      warps->Do({.input_at = from, .output_at = in_output(0), .sends = true}, count);
    }
    for (ptrdiff_t i = ring.num_ranks - 1; i > 1; --i) {
      warps->Do({.output_at = in_output(i), .receives = true, .sends = true}, count);
    }
    warps->Do({.output_at = in_output(1), .receives = true}, count);
  });
}

void RingReduceScatter(const Ring& ring, const Part& part, Warps* warps) {
  ForEachChunk(part, [&](ptrdiff_t at, ptrdiff_t count) {
    const auto in_input = [&](ptrdiff_t i) { return static_cast<size_t>(at + ring.user_ranks[i] * part.total); };
    warps->Do({.input_at = in_input(ring.num_ranks - 1), .sends = true}, count);
    for (ptrdiff_t i = ring.num_ranks - 2; i > 0; --i) {
      warps->Do({.input_at = in_input(i), .receives = true, .sends = true}, count);
    }
    warps->Do({.input_at = in_input(0), .output_at = static_cast<size_t>(at), .receives = true, .is_final = true},
              count);
  });
}

void RingBroadcast(const Ring& ring, const Part& part, int root, bool is_in_place, Warps* warps) {
  ForEachChunk(part, [&](ptrdiff_t begin, ptrdiff_t count) {
    const auto at = static_cast<size_t>(begin);
    if (ring.user_ranks[0] == root) {
      Move move{.input_at = at, .sends = true};
      if (!is_in_place) move.output_at = at;
      warps->Do(move, count);
    } else {
      warps->Do({.output_at = at, .receives = true, .sends = ring.user_ranks[1] != root}, count);
    }
  });
}

void RingReduce(const Ring& ring, const Part& part, int root, Warps* warps) {
  ForEachChunk(part, [&](ptrdiff_t begin, ptrdiff_t count) {
    const auto at = static_cast<size_t>(begin);
    if (ring.user_ranks[ring.num_ranks - 1] == root) {
      warps->Do({.input_at = at, .sends = true}, count);
    } else if (ring.user_ranks[0] == root) {
      warps->Do({.input_at = at, .output_at = at, .receives = true, .is_final = true}, count);
    } else {
      warps->Do({.input_at = at, .receives = true, .sends = true}, count);
    }
  });
}

}  // namespace fairlead::nccl_host

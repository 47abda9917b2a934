// Bottleneck-select-scale-iterate: the order of coflows that Sincronia schedules by.
//
// Problem     coflows put load on links; serve them in some order so that the sum of their completion times is small.
// Notation    d_c(l)/B_l -> LinkLoad::seconds: time that coflow c alone needs link l;  w_c -> weight
// Method      from the last place to the first, over the coflows not yet placed:
//               b  = the link with the greatest sum of d_c(b)/B_b
//               c* = of those with load on b, the one with the smallest w_c / d_c(b): it goes last
//               the others pay: w_c -= w_c* * d_c(b) / d_c*(b)
// Cost        O(sum over links of (coflows on it)^2), plus a heap of links. See BM_TracePlan.
// Guarantees  a permutation. The sum of completion times is at most twice the best of all orders where the
//             completion of a coflow is the greatest prefix sum of loads over its links, at most four times with any
//             work-conserving rates that keep the order.
// Differs     links replace the paper's ports of one big switch. Ties: lowest link, highest coflow.
// Reference   Agarwal et al., Sincronia, SIGCOMM 2018, section 4; used as a baseline in Crux, SIGCOMM 2024.
// Oracle      all permutations, n <= 6 (bssi_order_test.cc).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead::traffic::sincronia {

// What one coflow puts on one link.
struct LinkLoad {
  uint32_t link = 0;   // dense: the order keeps an array as long as the greatest one
  double seconds = 0;  // > 0, finite; bytes over capacity
};

// Args     coflows [coflow]: its loads, each link at most once; all coflows weigh 1.
// Returns  [rank] -> coflow, 0 = served first. Coflows without load come first, in their own order.
std::vector<uint32_t> FindBssiOrder(std::span<const std::vector<LinkLoad>> coflows);

}  // namespace fairlead::traffic::sincronia

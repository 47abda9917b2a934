// Coupon collector: how many source ports to try until the hash has shown enough of the equal-cost paths.
//
// Problem     a switch maps each source port to one of k paths, as if at random. How many ports does it take to meet
//             one wanted path, or all of them?
// Method      one path: the tries are geometric. All paths: the expectation is k H_k; the number that suffices with
//             probability 1 - epsilon comes from the union bound  P(a path is missing) <= k (1 - 1/k)^n.
// Cost        O(1); ExpectedDrawsToSeeAll O(k).
// Guarantees  the numbers suffice. That of DrawsToSeeAll exceeds the least possible one by about k epsilon / 2.
// Reference   docs/spec/c4.md section 9.2: 22 ports for 8 paths, 304 for 64. Exact law in the test.
#pragma once

#include <cstdint>

namespace fairlead::traffic::c4p {

// Draws that see all of `num_paths` on average, k H_k; 0 for no path.
double ExpectedDrawsToSeeAll(uint32_t num_paths);

// Draws after which all (one given one) of `num_paths` have been seen with probability >= 1 - miss_probability. 0 for
// no path. Args: miss_probability in (0, 1); smaller: more draws, by num_paths for each factor of e.
uint64_t DrawsToSeeAll(uint32_t num_paths, double miss_probability);
uint64_t DrawsToSeeOne(uint32_t num_paths, double miss_probability);

}  // namespace fairlead::traffic::c4p

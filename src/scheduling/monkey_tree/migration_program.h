// The integer program of MonkeyTree: the fewest blocks to move so that no rack has too many rings.
//
// Problem     that of monkey_tree.h.
// Notation    w_st blocks of segment s in rack t afterwards, w0_st now; x_st = 1: it may have some there; y_st = 1: it
//             is nowhere else; d_st >= |w_st - w0_st|. R_s blocks of s in all.
// Method      min sum d_st, with sum_t w_st = R_s, sum_s w_st <= cap_t, w_st <= min(R_s, cap_t) x_st, y_st <= x_st,
//             sum_{t' != t} x_st' <= (T - 1)(1 - y_st) and sum_s q_s (x_st - y_st) <= lambda, by branch and bound with
//             COIN-OR CBC. The objective is twice the blocks that move.
// Cost        4 S T variables, of which 3 S T are whole; grows fast: see the test for what is solved at once.
// Guarantees  same input, same answer; of several optima any. After kMostNodes nodes of the search it gives up.
// Reference   MonkeyTree, arXiv 2602.08296; specification "rivals and fabrics", section 5.
// Oracle      exhaustive search in monkey_tree_test.cc.
#pragma once

#include "base/status.h"
#include "scheduling/defragmentation_policy.h"

namespace fairlead::scheduling::monkey_tree {

// Of the branch and bound: a bound on its time that does not depend on the machine.
inline constexpr int kMostNodes = 20'000;

// The plan with the fewest blocks moved. Errors: kInternal when CBC fails. No solution, and none found within
// kMostNodes, is kNone.
Result<Defragmentation> SolveMigration(const RackView& racks);

// The same as a policy: where CBC fails there is no plan.
class ExactMonkeyTree final : public DefragmentationPolicy {
 public:
  std::string_view name() const override { return "monkey-tree-exact"; }
  Defragmentation Plan(const RackView& racks) const override;
};

}  // namespace fairlead::scheduling::monkey_tree

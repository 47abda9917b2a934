// MonkeyTree: moves of blocks after which no rack has more rings on its uplinks than the fabric can keep apart.
//
// Problem     rings that a rack has more of than spines must share an uplink, whatever the paths. Which few blocks have
//             to change racks so that this happens nowhere?
// Notation    t rack; s segment -> a job that may be moved; w_st -> Segment::blocks; q_s -> Segment::num_rings;
//             lambda -> max_rings; load of t = sum of q_s over the segments in t that are in another rack, too.
// Method      greedy: as long as some rack has more than lambda, the cheapest step that lowers the sum of what racks
//             have above it: all blocks of a segment leave a rack for another one, whose free blocks and, where these
//             are too few, those of one other segment make room. At most 64 steps. Where that ends above lambda: row
//             packing, segments one after the other through the racks, each filled before the next.
// Cost        O(steps * segments^2 * racks^2) time, O(segments * racks) space; 1.4 ms for 16 segments on 8 racks.
// Guarantees  no rack holds more than its capacity; a segment keeps its number of blocks. After row packing a rack has
//             at most two segments that are elsewhere, too: one that comes in and one that goes on. Same input, same
//             output.
// Differs     the authors solve an integer program (migration_program.h), which needs 0.4 s to 2.4 s at 1,024 to
//             2,048 GPUs; a plan that stays above lambda is dropped, as theirs is where it has no solution.
// Reference   MonkeyTree, arXiv 2602.08296; specification "rivals and fabrics", section 5.
// Oracle      migration_program.h, and exhaustive search in monkey_tree_test.cc.
#pragma once

#include "scheduling/defragmentation_policy.h"

namespace fairlead::scheduling::monkey_tree {

// All segments one after the other through the racks, by the racks where most of their blocks are: [segment].
std::vector<RackBlocks> PackInRow(const RackView& racks);

class MonkeyTree final : public DefragmentationPolicy {
 public:
  std::string_view name() const override { return "monkey-tree"; }
  Defragmentation Plan(const RackView& racks) const override;
};

}  // namespace fairlead::scheduling::monkey_tree

// Defragmentation: which blocks of which jobs change racks so that no rack has more rings crossing its uplinks than the
// fabric can keep apart.
//
// Problem     A job on several racks sends its rings over the uplinks of each of them. Rings that a rack has more of
//             than spines must share an uplink, whatever the paths. Racks fill up in the order in which jobs come and
//             go, so that jobs are torn apart: moving few of them helps all.
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
// Differs     the authors solve an integer program (defragmentation_program.h), which needs 0.4 s to 2.4 s at 1,024 to
//             2,048 GPUs; a plan that stays above lambda is dropped, as theirs is where it has no solution.
// Reference   MonkeyTree, arXiv 2602.08296; specification "rivals and fabrics", section 5.
// Oracle      defragmentation_program.h, and exhaustive search in defragmentation_test.cc.
#pragma once

#include <cstdint>
#include <vector>

namespace fairlead::scheduling::monkey_tree {

// Where blocks of one segment are, or shall be: [rack].
using RackBlocks = std::vector<uint32_t>;

struct Segment {
  uint32_t num_rings = 1;  // that leave each rack of the segment, if it has several; q_s
  RackBlocks blocks;
};

// The racks, and what may be moved among them.
struct RackView {
  // [rack] blocks for `segments`: those that they have and those that are free. No more are in use.
  RackBlocks capacity;
  // Those in several racks: others stay where they are, and their blocks are not part of `capacity`.
  std::vector<Segment> segments;
  uint32_t max_rings = 1;  // that a rack may have; lambda
};

// So many blocks of a segment go from one rack to another. An exchange is two of these: they happen together.
struct BlockMove {
  uint32_t segment = 0;
  uint32_t from = 0;
  uint32_t to = 0;
  uint32_t num_blocks = 0;

  friend bool operator==(const BlockMove&, const BlockMove&) = default;
};

enum class DefragmentationOutcome : uint8_t {
  kNotNeeded,  // no rack has more than max_rings
  kFound,      // after the moves none has
  kNone,       // no plan was found: everything stays
};

struct Defragmentation {
  DefragmentationOutcome outcome = DefragmentationOutcome::kNotNeeded;
  std::vector<BlockMove> moves;  // by segment, then racks; empty unless kFound
};

// [rack] rings of the segments in it that are elsewhere, too. Args: where: [segment], as many racks each.
std::vector<uint32_t> RackLoads(const std::vector<Segment>& segments, const std::vector<RackBlocks>& where);

// What has to be moved from where the segments are to `where`: [segment], with as many blocks of each.
std::vector<BlockMove> MovesTo(const std::vector<Segment>& segments, const std::vector<RackBlocks>& where);
uint32_t NumBlocks(const std::vector<BlockMove>& moves);

// All segments one after the other through the racks, by the racks where most of their blocks are: [segment].
std::vector<RackBlocks> PackInRow(const RackView& racks);

// `racks` as described above.
Defragmentation Defragment(const RackView& racks);

}  // namespace fairlead::scheduling::monkey_tree

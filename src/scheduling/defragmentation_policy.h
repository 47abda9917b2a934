// The interface of defragmentation policies: which blocks of which running jobs change racks.
//
// A job on several racks sends its rings over the uplinks of each of them. Racks fill up in the order in which jobs
// come and go, so that jobs are torn apart; where a rack has more rings than spines some of them share an uplink.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fairlead::scheduling {

// How many blocks of something are where: [rack]. A block is a whole host.
using RackBlocks = std::vector<uint32_t>;

// What may be moved: a job.
struct Segment {
  uint32_t num_rings = 1;  // that leave each rack of the segment, if it has several
  RackBlocks blocks;
};

// The racks, and what may be moved among them.
struct RackView {
  // [rack] blocks for `segments`: those that they have and those that are free. No more are in use.
  RackBlocks capacity;
  // Those in several racks: others stay where they are, and their blocks are not part of `capacity`.
  std::vector<Segment> segments;
  uint32_t max_rings = 1;  // that a rack may have
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

class DefragmentationPolicy {
 public:
  virtual ~DefragmentationPolicy() = default;
  // The name users type: "monkey-tree".
  virtual std::string_view name() const = 0;
  // Pure: the same view gives the same plan.
  virtual Defragmentation Plan(const RackView& racks) const = 0;
};

// Whether they are in several racks.
bool IsTorn(const RackBlocks& blocks);

// [rack] rings of the segments in it that are elsewhere, too. Args: where: [segment], as many racks each.
std::vector<uint32_t> RackLoads(const std::vector<Segment>& segments, const std::vector<RackBlocks>& where);

// What has to be moved from where the segments are to `where`: [segment], with as many blocks of each.
std::vector<BlockMove> MovesTo(const std::vector<Segment>& segments, const std::vector<RackBlocks>& where);
uint32_t NumBlocks(const std::vector<BlockMove>& moves);

// Names in the order shown to users.
std::vector<std::string_view> DefragmentationPolicyNames();

// Errors: kNotFound for an unknown name, listing the known ones.
Result<std::unique_ptr<DefragmentationPolicy>> CreateDefragmentationPolicy(std::string_view name);

}  // namespace fairlead::scheduling

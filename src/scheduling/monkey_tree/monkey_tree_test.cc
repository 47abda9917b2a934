// MonkeyTree: worked cases, the laws of every plan, and its distance from the exact optimum, which exhaustive
// search confirms where it can.
#include "scheduling/monkey_tree/monkey_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "base/random.h"
#include "scheduling/monkey_tree/migration_program.h"

namespace fairlead::scheduling::monkey_tree {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Le;

std::vector<RackBlocks> BlocksOf(const RackView& racks) {
  std::vector<RackBlocks> where;
  for (const Segment& segment : racks.segments) where.push_back(segment.blocks);
  return where;
}

std::vector<RackBlocks> After(const RackView& racks, const std::vector<BlockMove>& moves) {
  std::vector<RackBlocks> where = BlocksOf(racks);
  for (const BlockMove& move : moves) {
    where[move.segment][move.from] -= move.num_blocks;
    where[move.segment][move.to] += move.num_blocks;
  }
  return where;
}

// [rack] segments that are in several racks.
std::vector<uint32_t> FragmentsOf(const std::vector<RackBlocks>& where) {
  return RackLoads(std::vector<Segment>(where.size()), where);
}

void ExpectFits(const RackView& racks, const std::vector<RackBlocks>& where) {
  for (size_t t = 0; t < racks.capacity.size(); ++t) {
    uint64_t held = 0;
    for (const RackBlocks& blocks : where) held += blocks[t];
    EXPECT_LE(held, racks.capacity[t]) << "rack " << t;
  }
  for (size_t s = 0; s < where.size(); ++s) {
    EXPECT_EQ(std::accumulate(where[s].begin(), where[s].end(), 0u),
              std::accumulate(racks.segments[s].blocks.begin(), racks.segments[s].blocks.end(), 0u));
  }
}

// Segments of 2 to `most_blocks` blocks that are strewn over racks, as far as these have room.
RackView DrawRacks(uint32_t num_racks, uint32_t num_segments, uint32_t capacity, uint32_t most_blocks, Random* random) {
  RackView racks;
  std::vector<uint32_t> room(num_racks);
  for (uint32_t& blocks : room) blocks = capacity - static_cast<uint32_t>(random->Below(2));
  racks.capacity = room;
  racks.max_rings = 1 + static_cast<uint32_t>(random->Below(3));
  for (uint32_t s = 0; s < num_segments; ++s) {
    Segment segment{.num_rings = 1 + static_cast<uint32_t>(random->Below(2)), .blocks = RackBlocks(num_racks, 0)};
    for (uint64_t left = 2 + random->Below(most_blocks - 1); left > 0; --left) {
      const size_t rack = random->Below(num_racks);
      if (room[rack] == 0) continue;
      --room[rack];
      ++segment.blocks[rack];
    }
    racks.segments.push_back(segment);
  }
  return racks;
}

// Fewest blocks to move of all placements there are; nothing: none relieves all racks.
class EveryPlacement {
 public:
  explicit EveryPlacement(const RackView& racks) : racks_(racks), free_(racks.capacity) {}

  std::optional<uint32_t> FewestMoves() {
    where_.assign(racks_.segments.size(), RackBlocks(free_.size(), 0));
    PlaceRest(0, 0, 0);
    return fewest_;
  }

 private:
  void PlaceRest(size_t s, size_t t, uint32_t placed) {
    if (s == racks_.segments.size()) return Weigh();
    const RackBlocks& before = racks_.segments[s].blocks;
    const uint32_t left = std::accumulate(before.begin(), before.end(), 0u) - placed;
    if (t == free_.size()) {
      if (left == 0) PlaceRest(s + 1, 0, 0);
      return;
    }
    for (uint32_t count = 0; count <= std::min(left, free_[t]); ++count) {
      where_[s][t] = count;
      free_[t] -= count;
      PlaceRest(s, t + 1, placed + count);
      free_[t] += count;
    }
    where_[s][t] = 0;
  }

  void Weigh() {
    uint32_t moved = 0;
    for (size_t t = 0; t < free_.size(); ++t) {
      uint32_t rings = 0;
      for (size_t s = 0; s < where_.size(); ++s) {
        const uint32_t here = where_[s][t];
        const uint32_t before = racks_.segments[s].blocks[t];
        moved += here > before ? here - before : 0;
        if (here > 0 && here < std::accumulate(where_[s].begin(), where_[s].end(), 0u)) {
          rings += racks_.segments[s].num_rings;
        }
      }
      if (rings > racks_.max_rings) return;
    }
    fewest_ = std::min(fewest_.value_or(std::numeric_limits<uint32_t>::max()), moved);
  }

  const RackView& racks_;
  RackBlocks free_;
  std::vector<RackBlocks> where_;
  std::optional<uint32_t> fewest_;
};

// Two jobs of four blocks lie half and half in two full racks: two rings each. One exchange makes both whole.
TEST(MonkeyTreeTest, TwoJobsExchangeHalves) {
  const RackView racks{{4, 4}, {{1, {2, 2}}, {1, {2, 2}}}, 1};
  const Defragmentation plan = MonkeyTree().Plan(racks);
  EXPECT_EQ(plan.outcome, DefragmentationOutcome::kFound);
  EXPECT_EQ(NumBlocks(plan.moves), 4u);
  EXPECT_THAT(RackLoads(racks.segments, After(racks, plan.moves)), Each(0));
}

// A free block is enough for the cheaper of both: B's one block joins the others in rack 1.
TEST(MonkeyTreeTest, TheCheapestMoveComesFirst) {
  const RackView racks{{5, 5}, {{1, {3, 2}}, {1, {1, 2}}}, 1};
  EXPECT_THAT(MonkeyTree().Plan(racks).moves, ElementsAre(BlockMove{1, 0, 1, 1}));
}

TEST(MonkeyTreeTest, NothingMovesWhereSpinesSuffice) {
  const RackView racks{{4, 4}, {{1, {2, 2}}, {1, {2, 2}}}, 2};
  const Defragmentation plan = MonkeyTree().Plan(racks);
  EXPECT_EQ(plan.outcome, DefragmentationOutcome::kNotNeeded);
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_EQ(SolveMigration(racks)->outcome, DefragmentationOutcome::kNotNeeded);
}

// Two jobs of three blocks in three racks of two: one of them is torn in any case, and has two rings.
TEST(MonkeyTreeTest, WhatCannotBeRelievedStays) {
  const RackView racks{{2, 2, 2}, {{2, {1, 1, 1}}, {2, {1, 1, 1}}}, 1};
  EXPECT_EQ(MonkeyTree().Plan(racks).outcome, DefragmentationOutcome::kNone);
  EXPECT_THAT(MonkeyTree().Plan(racks).moves, IsEmpty());
  EXPECT_EQ(SolveMigration(racks)->outcome, DefragmentationOutcome::kNone);
}

TEST(MonkeyTreeTest, NoSegmentsNoLoad) {
  EXPECT_EQ(MonkeyTree().Plan({{4, 4}, {}, 1}).outcome, DefragmentationOutcome::kNotNeeded);
}

// Loads 2, 2, 1: A in all racks, B in the first two.
TEST(RackLoadsTest, CountsRingsOfTornSegmentsOnly) {
  const std::vector<Segment> segments = {{1, {1, 1, 1}}, {1, {2, 1, 0}}, {8, {0, 0, 3}}};
  EXPECT_THAT(RackLoads(segments, {{1, 1, 1}, {2, 1, 0}, {0, 0, 3}}), ElementsAre(2, 2, 1));
}

// Section 5: every placement can be brought to two fragments a rack.
TEST(PackInRowTest, LeavesAtMostTwoFragmentsInARack) {
  Random random(7);
  uint32_t most_before = 0;
  for (int i = 0; i < 500; ++i) {
    const RackView racks = DrawRacks(2 + static_cast<uint32_t>(random.Below(15)), 30, 8, 8, &random);
    const std::vector<RackBlocks> where = PackInRow(racks);
    ExpectFits(racks, where);
    EXPECT_THAT(FragmentsOf(where), Each(Le(2u)));
    most_before = std::max(most_before, std::ranges::max(FragmentsOf(BlocksOf(racks))));
  }
  EXPECT_GT(most_before, 5u);
}

// Plans fit, relieve every rack, and are what MovesTo() says.
TEST(MonkeyTreeTest, EveryPlanFitsAndRelieves) {
  Random random(11);
  uint32_t num_found = 0;
  for (int i = 0; i < 300; ++i) {
    const RackView racks = DrawRacks(8, 16, 8, 8, &random);
    const Defragmentation plan = MonkeyTree().Plan(racks);
    const std::vector<RackBlocks> where = After(racks, plan.moves);
    ExpectFits(racks, where);
    if (plan.outcome == DefragmentationOutcome::kNone) continue;
    EXPECT_THAT(RackLoads(racks.segments, where), Each(Le(racks.max_rings)));
    num_found += plan.outcome == DefragmentationOutcome::kFound;
  }
  EXPECT_GT(num_found, 100u);
}

// The program finds what trying everything finds, and the greedy steps nothing cheaper.
TEST(SolveMigrationTest, IsTheBestOfAllPlacements) {
  Random random(3);
  uint32_t num_found = 0, num_impossible = 0;
  for (int i = 0; i < 100; ++i) {
    const RackView racks = DrawRacks(3, 3, 4, 4, &random);
    const std::optional<uint32_t> fewest = EveryPlacement(racks).FewestMoves();
    const Defragmentation exact = SolveMigration(racks).value();
    const Defragmentation greedy = MonkeyTree().Plan(racks);
    EXPECT_EQ(exact.outcome == DefragmentationOutcome::kNone, !fewest.has_value());
    if (!fewest) {
      EXPECT_EQ(greedy.outcome, DefragmentationOutcome::kNone);
      ++num_impossible;
      continue;
    }
    ExpectFits(racks, After(racks, exact.moves));
    EXPECT_EQ(NumBlocks(exact.moves), *fewest);
    EXPECT_THAT(RackLoads(racks.segments, After(racks, exact.moves)), Each(Le(racks.max_rings)));
    num_found += exact.outcome == DefragmentationOutcome::kFound;
    if (greedy.outcome == DefragmentationOutcome::kNone) continue;
    EXPECT_GE(NumBlocks(greedy.moves), *fewest);
  }
  EXPECT_GT(num_found, 20u);
  EXPECT_GT(num_impossible, 0u);
}

// Measured over 40 cases of six racks of eight blocks and six segments: 1.22 times the fewest, none missed.
TEST(MonkeyTreeTest, IsNearTheOptimum) {
  Random random(5);
  uint32_t num_exact = 0, num_greedy = 0, num_missed = 0, num_cases = 0;
  for (int i = 0; i < 16; ++i) {
    RackView racks = DrawRacks(5, 5, 8, 6, &random);
    racks.max_rings = 2;
    const Defragmentation exact = SolveMigration(racks).value();
    if (exact.outcome != DefragmentationOutcome::kFound) continue;
    const Defragmentation greedy = MonkeyTree().Plan(racks);
    ++num_cases;
    if (greedy.outcome == DefragmentationOutcome::kNone) {
      ++num_missed;
      continue;
    }
    EXPECT_GE(NumBlocks(greedy.moves), NumBlocks(exact.moves));
    num_exact += NumBlocks(exact.moves);
    num_greedy += NumBlocks(greedy.moves);
  }
  const double ratio = static_cast<double>(num_greedy) / num_exact;
  RecordProperty("cases", static_cast<int>(num_cases));
  RecordProperty("missed", static_cast<int>(num_missed));
  RecordProperty("moves over optimum, %", static_cast<int>(100 * ratio));
  EXPECT_GT(num_cases, 8u);
  EXPECT_LE(num_missed * 10, num_cases);
  EXPECT_LE(ratio, 1.5);
}

}  // namespace
}  // namespace fairlead::scheduling::monkey_tree

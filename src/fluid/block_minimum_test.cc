#include "fluid/block_minimum.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace fairlead::fluid {
namespace {

TEST(BlockMinimum, EmptyAndOne) {
  BlockMinimum minimum;
  EXPECT_EQ(minimum.Min(), BlockMinimum::kNever);
  minimum.Resize(1);
  EXPECT_EQ(minimum.Min(), BlockMinimum::kNever);
  minimum.Set(0, 7);
  EXPECT_EQ(minimum.Min(), 7);
  std::vector<uint32_t> due;
  minimum.CollectUpTo(6, &due);
  EXPECT_TRUE(due.empty());
  minimum.CollectUpTo(7, &due);
  EXPECT_EQ(due, std::vector<uint32_t>{0});
}

// Any mix of changes and questions gives what a scan over a plain array gives. Sizes around powers of the fan-out
// of 64.
TEST(BlockMinimum, EqualsScan) {
  Random random(1);
  for (const size_t size : {1, 2, 63, 64, 65, 200, 4096, 4097, 10000}) {
    BlockMinimum minimum;
    minimum.Resize(size);
    std::vector<int64_t> plain(size, BlockMinimum::kNever);
    for (int step = 0; step < 3000; ++step) {
      const size_t index = random.Below(size);
      // Few distinct values make many ties.
      const int64_t value = random.Below(4) == 0 ? BlockMinimum::kNever : static_cast<int64_t>(random.Below(50));
      minimum.Set(index, value);
      plain[index] = value;
      if (random.Below(3) != 0) continue;
      const auto least = std::min_element(plain.begin(), plain.end());
      ASSERT_EQ(minimum.Min(), *least) << "size " << size << " step " << step;
      const auto limit = static_cast<int64_t>(random.Below(20));
      std::vector<uint32_t> expected;
      for (uint32_t i = 0; i < size; ++i) {
        if (plain[i] <= limit) expected.push_back(i);
      }
      std::vector<uint32_t> found;
      minimum.CollectUpTo(limit, &found);
      ASSERT_EQ(found, expected);
    }
  }
}

TEST(BlockMinimum, GrowingKeepsValues) {
  BlockMinimum minimum;
  minimum.Resize(10);
  minimum.Set(3, 30);
  minimum.Set(9, 20);
  minimum.Set(9, 40);  // leaves a stale node behind
  minimum.Resize(1000);
  EXPECT_EQ(minimum.Min(), 30);
  minimum.Set(999, 5);
  EXPECT_EQ(minimum.Min(), 5);
}

}  // namespace
}  // namespace fairlead::fluid

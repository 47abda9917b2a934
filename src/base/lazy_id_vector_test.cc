#include "base/lazy_id_vector.h"

#include <gtest/gtest.h>

#include "base/ids.h"

namespace fairlead {
namespace {

// Below and above the size from which pages come from the system.
TEST(LazyIdVectorTest, ZerosThatKeepWhatIsWritten) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{100}, size_t{20'000}, size_t{3'000'000}}) {
    LazyIdVector<LinkId, double> numbers(size);
    ASSERT_EQ(numbers.size(), size);
    if (size == 0) continue;
    const LinkId last(size - 1);
    EXPECT_EQ(numbers[LinkId(0u)], 0);
    EXPECT_EQ(numbers[LinkId(size / 2)], 0);
    numbers[last] = 7;
    LazyIdVector<LinkId, double> moved(std::move(numbers));
    EXPECT_EQ(moved[last], 7);
    LazyIdVector<LinkId, double> assigned(3);
    assigned = std::move(moved);
    EXPECT_EQ(assigned.size(), size);
    EXPECT_EQ(assigned[last], 7);
  }
}

TEST(LazyIdVectorTest, NothingByDefault) { EXPECT_EQ((LazyIdVector<LinkId, double>().size()), 0u); }

}  // namespace
}  // namespace fairlead

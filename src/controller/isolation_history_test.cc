#include "controller/isolation_history.h"

#include <gtest/gtest.h>

namespace fairlead::controller {
namespace {

TEST(IsolationHistoryTest, CountsOfAJobAndOfAll) {
  IsolationHistory history;
  history.Add(SimTime(10), JobId(1));
  history.Add(SimTime(10), JobId(1));
  history.Add(SimTime(20), JobId(2));
  EXPECT_EQ(history.NumSince(SimTime(9), JobId(1)), 2u);
  EXPECT_EQ(history.NumSince(SimTime(9), JobId()), 3u);
  EXPECT_EQ(history.NumSince(SimTime(10), JobId(1)), 0u) << "an instant itself is not since it";
  EXPECT_EQ(history.NumSince(SimTime(10), JobId()), 1u);
}

TEST(IsolationHistoryTest, ForgetsUpToAnInstant) {
  IsolationHistory history;
  for (const int64_t at : {10, 20, 30}) history.Add(SimTime(at), JobId(1));
  history.ForgetUntil(SimTime(20));
  ASSERT_EQ(history.all().size(), 1u);
  EXPECT_EQ(history.all().front().at, SimTime(30));
}

}  // namespace
}  // namespace fairlead::controller

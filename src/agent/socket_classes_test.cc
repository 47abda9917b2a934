#include "agent/socket_classes.h"

#include <gtest/gtest.h>

#include "agent/agent_components_example.h"

namespace fairlead::agent {
namespace {

class SocketClassesTest : public testing::Test {
 protected:
  const ConnectionTable::Connection& At(uint64_t number) const { return example_.connections.at(number); }
  // Inode and class of the sockets that were told one since the last call.
  std::vector<std::pair<uint64_t, int>> TakeTold() {
    std::vector<std::pair<uint64_t, int>> told;
    for (const auto& set : ActionsIn<SetSocketClass>(example_.outbox.TakeActions())) {
      told.emplace_back(set.inode, set.traffic_class);
    }
    return told;
  }
  using Told = std::vector<std::pair<uint64_t, int>>;

  ComponentExample example_;
  SocketClasses classes_{{{"gpt", 2}}, &example_.connections, &example_.outbox};
};

// Level 2 is class 160, level 0 class 224, level 1 class 192.
TEST_F(SocketClassesTest, ASocketIsToldOnlyWhatItDoesNotHave) {
  const uint64_t number = example_.Add(7);
  EXPECT_EQ(classes_.Assign(At(number)), std::optional<uint8_t>(160));
  EXPECT_TRUE(classes_.SetLevel("gpt", 0));
  EXPECT_TRUE(TakeTold().empty()) << "it is not open yet";
  example_.connections.Open(number, 50'001);
  classes_.Classify(At(number));
  EXPECT_EQ(TakeTold(), (Told{{7, 224}}));
  classes_.Classify(At(number));
  EXPECT_FALSE(classes_.SetLevel("gpt", 0));
  EXPECT_TRUE(TakeTold().empty());
  EXPECT_TRUE(classes_.SetLevel("gpt", 1));
  EXPECT_EQ(TakeTold(), (Told{{7, 192}}));
  // Its process may not have taken it: told again.
  classes_.Forget(number);
  classes_.Classify(At(number));
  EXPECT_EQ(TakeTold(), (Told{{7, 192}}));
}

TEST_F(SocketClassesTest, OneThatWasAcceptedHasItsClass) {
  const uint64_t number = example_.AddOpen(7);
  classes_.Inherit(number, 160);
  classes_.Classify(At(number));
  EXPECT_TRUE(TakeTold().empty());
  classes_.Inherit(number, std::nullopt);
  classes_.Classify(At(number));
  EXPECT_EQ(TakeTold(), (Told{{7, 160}}));
}

TEST_F(SocketClassesTest, WithoutALevelNothingIsTold) {
  const uint64_t number = example_.AddOpen(7, 50'001, "other");
  EXPECT_EQ(classes_.Assign(At(number)), std::nullopt);
  classes_.Classify(At(number));
  EXPECT_FALSE(classes_.SetLevel("other", 8)) << "no such level";
  EXPECT_TRUE(TakeTold().empty());
  example_.AddOpen(0, 50'002, "other");  // a queue pair has no socket
  EXPECT_TRUE(classes_.SetLevel("other", 7));
  EXPECT_EQ(TakeTold(), (Told{{7, 0}}));
}

TEST_F(SocketClassesTest, LevelsOfTooManyJobsAreThoseOfConnectionsHere) {
  for (size_t i = 1; i < SocketClasses::kNumLevelsMax; ++i) {
    ASSERT_TRUE(classes_.SetLevel("job" + std::to_string(i), 3));
  }
  EXPECT_FALSE(classes_.SetLevel("one more", 3));
  EXPECT_TRUE(classes_.SetLevel("gpt", 3)) << "known";
  example_.Add(7, "one more");
  EXPECT_TRUE(classes_.SetLevel("one more", 3));
  classes_.ForgetLevel("one more");
  EXPECT_FALSE(classes_.levels().contains("one more"));
}

}  // namespace
}  // namespace fairlead::agent

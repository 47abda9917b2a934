#include "traffic/c4p/port_verification.h"

#include <gtest/gtest.h>

namespace fairlead::traffic::c4p {
namespace {

constexpr SimDuration kPeriod(60);

class PortVerificationTest : public ::testing::Test {
 protected:
  ConnectionTable connections_;
  PortVerification verification_{kPeriod, &connections_};
  uint32_t slot_ = Add(5);
  QueuePairRef first_{slot_, 0};
  QueuePairRef second_{slot_, 1};

  uint32_t Add(uint64_t name) {
    return connections_.Add({HostId(0), JobId(1)},
                            {.connection = name, .source = NicId(0u), .destination = NicId(9u), .num_queue_pairs = 2});
  }
};

TEST_F(PortVerificationTest, EachHasItsTurnAPeriodLaterOnce) {
  verification_.Queue(second_, true, SimTime(0));
  verification_.Queue(first_, true, SimTime(0));
  verification_.Queue(first_, true, SimTime(30));
  EXPECT_EQ(verification_.TakeDue(SimTime(59)), std::nullopt);
  EXPECT_EQ(verification_.TakeDue(SimTime(60)), first_);
  EXPECT_EQ(verification_.TakeDue(SimTime(60)), second_);
  EXPECT_EQ(verification_.TakeDue(SimTime(1000)), std::nullopt);
  verification_.Queue(first_, true, SimTime(1000));
  EXPECT_EQ(verification_.TakeDue(SimTime(1060)), first_);
}

// 2, 4, 8, 16, 32, 64, 64 periods.
TEST_F(PortVerificationTest, SearchesInVainAreRepeatedLaterEachTime) {
  SimTime now;
  for (const int64_t pause : {2, 4, 8, 16, 32, 64, 64}) {
    verification_.Queue(first_, false, now);
    now = now + kPeriod * pause;
    EXPECT_EQ(verification_.TakeDue(SimTime(now.ns() - 1)), std::nullopt) << pause;
    EXPECT_EQ(verification_.TakeDue(now), first_) << pause;
  }
  verification_.Queue(first_, true, now);
  now = now + kPeriod;
  EXPECT_EQ(verification_.TakeDue(now), first_) << "a port was found";
  verification_.Queue(first_, false, now);
  EXPECT_EQ(verification_.TakeDue(now + kPeriod * 2), first_);
}

TEST_F(PortVerificationTest, TheTurnOfWhatHasEndedIsPassedOver) {
  verification_.Queue(first_, true, SimTime(0));
  verification_.Queue({Add(6), 1}, true, SimTime(1));
  connections_.Remove(slot_);
  EXPECT_EQ(verification_.TakeDue(SimTime(60)), std::nullopt);
  EXPECT_EQ(verification_.TakeDue(SimTime(61)), (QueuePairRef{1, 1}));
}

TEST_F(PortVerificationTest, ResultsOfAPairConcernThoseThatWereProbedSinceTheLastOnes) {
  const AddressPair pair = {.source_address = 1, .destination_address = 2, .source_leaf = NodeId(0u)};
  verification_.NoteProbed(pair, second_);
  verification_.NoteProbed(pair, first_);
  verification_.NoteProbed(pair, first_);
  EXPECT_TRUE(
      verification_.TakeProbed({.source_address = 2, .destination_address = 1, .source_leaf = NodeId(0u)}).empty());
  EXPECT_EQ(verification_.TakeProbed(pair), (std::set{first_, second_}));
  EXPECT_TRUE(verification_.TakeProbed(pair).empty());
}

}  // namespace
}  // namespace fairlead::traffic::c4p

#include "diagnosis/c4d/judged_transfers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::RankId;

class JudgedTransfersTest : public ::testing::Test {
 protected:
  JudgedTransfersTest() {
    judged_.Set(std::vector<PairDelay>{PairOf(0, 1, 0, 1.0), PairOf(0, 1, 1, 1.5), PairOf(0, 2, 0, 3.0),
                                       PairOf(1, 2, 0, 1.2), PairOf(2, 0, 0, 2.0)});
    connection_.kind = model::CulpritKind::kConnection;
    connection_.rank = RankId(1u);
    connection_.peer = RankId(2u);
  }
  static PairDelay PairOf(uint32_t source, uint32_t destination, uint32_t plane, double ratio) {
    PairDelay pair;
    pair.transfer = {.source = RankId(source), .destination = RankId(destination), .plane = plane};
    pair.x = std::log(ratio);
    return pair;
  }

  const model::JobLayout layout_ = MakeExampleLayout({.hosts = 4, .gpus = 1, .planes = 2});
  JudgedTransfers judged_{layout_};
  model::Culprit connection_;  // from 1 to 2
};

TEST_F(JudgedTransfersTest, PlanesAreTakenTogether) {
  uint32_t num_left_out = 7;
  const std::vector<model::TransferDelay> delays = judged_.DelaysOf(std::span(&connection_, 1), 4, &num_left_out);
  EXPECT_EQ(num_left_out, 0u);
  ASSERT_EQ(delays.size(), 4u);
  EXPECT_EQ(delays[0].destination, RankId(1u));
  EXPECT_NEAR(delays[0].ratio, 1.5, 1e-9) << "the slowest of two planes";
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(delays[i].is_accused, i == 2);
}

TEST_F(JudgedTransfersTest, TheAccusedThenTheSlowestAreKept) {
  uint32_t num_left_out = 0;
  const std::vector<model::TransferDelay> delays = judged_.DelaysOf(std::span(&connection_, 1), 2, &num_left_out);
  EXPECT_EQ(num_left_out, 2u);
  ASSERT_EQ(delays.size(), 2u);
  EXPECT_NEAR(delays[0].ratio, 3, 1e-9);
  EXPECT_EQ(delays[0].source, RankId(0u)) << "ascending again";
  EXPECT_TRUE(delays[1].is_accused);
}

TEST_F(JudgedTransfersTest, SilenceIsNoHealth) {
  EXPECT_FALSE(judged_.SaysNothingOf(connection_));
  connection_.peer = RankId(3u);
  EXPECT_TRUE(judged_.SaysNothingOf(connection_));
  judged_.Set({});
  connection_.peer = RankId(2u);
  EXPECT_TRUE(judged_.SaysNothingOf(connection_)) << "of the window before";
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d

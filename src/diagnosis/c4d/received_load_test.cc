#include "diagnosis/c4d/received_load.h"

#include <gtest/gtest.h>

#include <optional>

namespace fairlead::diagnosis::c4d {
namespace {

// Four ranks in communicator 0, which exchange all with all, and in communicator 1, which is a ring.
class ReceivedLoadTest : public testing::Test {
 protected:
  ReceivedLoadTest() {
    for (uint32_t r = 0; r < 4; ++r) layout_.ranks.push_back({.host = HostId(r), .nic = NicId(r), .leaves = {}});
    const std::vector<model::RankId> all = {model::RankId(0), model::RankId(1), model::RankId(2), model::RankId(3)};
    layout_.communicators = {{.name = "ep", .ranks = all}, {.name = "dp", .ranks = all}};
    load_.emplace(layout_);
  }

  void Receive(uint32_t rank, uint32_t communicator, double at_s, uint64_t bytes,
               model::Direction direction = model::Direction::kReceive) {
    model::RankReport report;
    report.rank = model::RankId(rank);
    report.at = SimTime::FromSeconds(Seconds(at_s));
    for (uint16_t channel = 0; channel < 2; ++channel) {
      model::ConnectionRecord connection;
      connection.key = {.communicator = model::CommunicatorId(communicator),
                        .channel = channel,
                        .plane = 0,
                        .direction = direction,
                        .peer = model::RankId((rank + 1) % 4)};
      connection.bytes = bytes / 2;
      report.connections.push_back(connection);
    }
    load_->Add(report);
  }
  double FactorOf(uint32_t rank) const {
    return load_->FactorOf(model::RankId(rank), [](model::CommunicatorId id) { return id.index() == 0; });
  }

  model::JobLayout layout_;
  std::optional<ReceivedLoad> load_;
};

TEST_F(ReceivedLoadTest, AHotExpertReceivesMore) {
  for (int t = 0; t < 120; ++t) {
    for (uint32_t r = 0; r < 4; ++r) Receive(r, 0, t + 0.2 * r, r == 3 ? 1500 : 1000);
    for (uint32_t r = 0; r < 4; ++r) Receive(r, 1, t + 0.2 * r, 50'000);
  }
  EXPECT_NEAR(FactorOf(3), 1.5, 0.02);
  EXPECT_NEAR(FactorOf(1), 1, 0.02);
}

// What it receives elsewhere, or sends, is no matter.
TEST_F(ReceivedLoadTest, OnlyWhatIsReceivedInExchangesCounts) {
  for (int t = 0; t < 60; ++t) {
    for (uint32_t r = 0; r < 4; ++r) Receive(r, 0, t, 1000);
    for (uint32_t r = 0; r < 4; ++r) Receive(r, 1, t, r == 3 ? 9000 : 1000);
    Receive(3, 0, t, 9000, model::Direction::kSend);
  }
  EXPECT_NEAR(FactorOf(3), 1, 1e-9);
}

TEST_F(ReceivedLoadTest, AllToAllsAreExchanges) {
  const auto none = [](model::CommunicatorId) { return false; };
  for (uint32_t r = 0; r < 4; ++r) Receive(r, 0, 1, r == 3 ? 1500 : 1000);
  EXPECT_EQ(load_->FactorOf(model::RankId(3), none), 1);
  model::RankReport report;
  report.rank = model::RankId(1);
  report.at = SimTime::FromSeconds(Seconds(1));
  model::OperationRecord operation;
  operation.communicator = model::CommunicatorId(0);
  operation.kind = model::OperationKind::kAllToAll;
  report.operations = {operation};
  load_->Add(report);
  EXPECT_NEAR(load_->FactorOf(model::RankId(3), none), 1.5, 1e-9);
}

// Half in 30 s: what was long ago says nothing of now.
TEST_F(ReceivedLoadTest, ItForgets) {
  for (int t = 0; t < 600; ++t) {
    for (uint32_t r = 0; r < 4; ++r) Receive(r, 0, t, r == 3 && t < 300 ? 2000 : 1000);
  }
  EXPECT_NEAR(FactorOf(3), 1, 0.002);
}

TEST_F(ReceivedLoadTest, NothingIsKnownOfFewOrOfStrangers) {
  Receive(3, 0, 1, 2000);
  Receive(1, 0, 1, 1000);
  EXPECT_EQ(FactorOf(3), 1);
  Receive(3, 7, 1, 2000);  // no such communicator
  Receive(9, 0, 1, 2000);  // no such rank
  EXPECT_EQ(FactorOf(9), 1);
  EXPECT_EQ(load_->FactorOf(model::RankId(), [](model::CommunicatorId) { return true; }), 1);
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d

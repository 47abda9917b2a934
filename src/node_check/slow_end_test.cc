#include "node_check/slow_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace fairlead::node_check {
namespace {

using Outcome = TransferResult::Outcome;
using Rate = std::function<double(const Transfer&, size_t step)>;

constexpr uint32_t kA = SlowEndSearch::kSender;
constexpr uint32_t kB = SlowEndSearch::kReceiver;
constexpr uint32_t kC = SlowEndSearch::kBystander;
constexpr uint32_t kD = SlowEndSearch::kOtherBystander;

// Args: rate: of a transfer; 0: it failed; negative: nobody answered.
SlowEndSearch Search(const Rate& rate) {
  SlowEndSearch search(2, 5);
  while (!search.step().empty()) {
    std::vector<TransferResult> results;
    std::set<uint32_t> busy;
    for (const Transfer& transfer : search.step()) {
      EXPECT_TRUE(busy.insert(transfer.sender).second);
      EXPECT_TRUE(busy.insert(transfer.receiver).second);
      const double measured = rate(transfer, search.num_finished_steps());
      const Outcome outcome = measured < 0 ? Outcome::kNoAnswer : measured > 0 ? Outcome::kMeasured : Outcome::kFailed;
      results.push_back({.outcome = outcome, .rate = measured, .lost_share = 0, .rtt = {}});
    }
    search.Finish(results);
  }
  EXPECT_EQ(search.num_finished_steps(), search.num_steps());
  return search;
}

SlowEnd VerdictOf(const Rate& rate) { return Search(rate).Verdict(); }

TEST(SlowEndTest, EachCauseHasItsVerdict) {
  EXPECT_EQ(VerdictOf([](const Transfer&, size_t) { return 100; }), SlowEnd::kNeither);
  EXPECT_EQ(VerdictOf([](const Transfer& one, size_t) { return one.sender == kA ? 50 : 100; }), SlowEnd::kSender);
  EXPECT_EQ(VerdictOf([](const Transfer& one, size_t) { return one.receiver == kB ? 0 : 100; }), SlowEnd::kReceiver);
  EXPECT_EQ(VerdictOf([](const Transfer& one, size_t) { return one.receiver == kB || one.sender == kA ? 50 : 100; }),
            SlowEnd::kBoth);
  EXPECT_EQ(VerdictOf([](const Transfer& one, size_t) { return one.sender == kA && one.receiver == kB ? 50 : 100; }),
            SlowEnd::kPath);
  EXPECT_EQ(VerdictOf([](const Transfer& one, size_t) { return one.sender == kC ? 50 : 100; }), SlowEnd::kFabric);
  // A bystander that is slow itself blames nobody.
  EXPECT_EQ(VerdictOf([](const Transfer& one, size_t) { return one.receiver == kC ? 50 : 100; }), SlowEnd::kNeither);
  EXPECT_EQ(VerdictOf([](const Transfer& one, size_t) { return one.receiver == kD ? 50 : 100; }), SlowEnd::kFabric);
}

TEST(SlowEndTest, OneBadSecondIsNotEnough) {
  const auto slow_for = [](size_t num_bad) {
    return VerdictOf(
        [num_bad](const Transfer& one, size_t step) { return one.sender == kA && step / 3 < num_bad ? 50 : 100; });
  };
  EXPECT_EQ(slow_for(1), SlowEnd::kNeither);
  EXPECT_EQ(slow_for(2), SlowEnd::kSender);
}

TEST(SlowEndTest, WhoGivesNoAnswerIsNotBlamed) {
  for (const uint32_t silent : {kA, kB, kC, kD}) {
    EXPECT_EQ(VerdictOf([silent](const Transfer& one, size_t) {
                return one.sender == silent || one.receiver == silent ? -1 : 100;
              }),
              SlowEnd::kUndecided);
  }
}

TEST(SlowEndTest, TheSharesAreOfTheBystanders) {
  const SlowEndSearch search = Search([](const Transfer& one, size_t) { return one.sender == kA ? 25 : 100; });
  EXPECT_DOUBLE_EQ(search.SenderShare(), 0.25);
  EXPECT_DOUBLE_EQ(search.ReceiverShare(), 1);
  EXPECT_EQ(search.step().size(), 0U);
}

}  // namespace
}  // namespace fairlead::node_check

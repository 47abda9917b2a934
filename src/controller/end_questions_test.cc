#include "controller/end_questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace fairlead::controller {
namespace {

using model::Culprit;
using model::CulpritKind;
using model::Finding;
using model::FindingId;
using model::RankId;
using model::RecommendedAction;
using node_check::SlowEnd;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// Two ranks on each of four hosts.
std::vector<RankEnd> Ends() {
  std::vector<RankEnd> ends;
  for (uint32_t rank = 0; rank < 8; ++rank) ends.push_back({HostId(10 + rank / 2), NicId(20 + rank)});
  return ends;
}

// From rank 3 on host 11 to rank 4 on host 12.
Finding StuckConnection() {
  Finding finding;
  finding.id = FindingId(6);
  finding.syndrome = model::Syndrome::kCommHang;
  finding.state = model::FindingState::kConfirmed;
  Culprit culprit;
  culprit.kind = CulpritKind::kConnection;
  culprit.rank = RankId(3);
  culprit.peer = RankId(4);
  finding.culprits = {culprit};
  finding.signs = {model::Sign::kPeers, model::Sign::kOwnRanks};
  finding.confidence = 0.7;
  finding.action = RecommendedAction::kRepairPath;
  finding.summary = "nothing moves";
  return finding;
}

class EndQuestionsTest : public testing::Test {
 protected:
  Finding Refined(SlowEnd end) {
    questions_.Consider(StuckConnection(), Ends());
    EXPECT_TRUE(questions_.Take({.finding = FindingId(6), .end = end, .sender_share = 0.4, .receiver_share = 1}));
    Finding finding = StuckConnection();
    questions_.Refine(&finding);
    return finding;
  }

  // Hosts have no names here, but numbers.
  const model::PlaceNames names_;
  EndQuestions questions_{names_};
};

TEST_F(EndQuestionsTest, AStuckConnectionIsAskedAboutOnce) {
  questions_.Consider(StuckConnection(), Ends());
  questions_.Consider(StuckConnection(), Ends());
  EXPECT_THAT(questions_.TakeQuestions(), ElementsAre(SlowEndQuestion{.finding = FindingId(6),
                                                                      .sender = HostId(11),
                                                                      .receiver = HostId(12),
                                                                      .sender_nic = NicId(23),
                                                                      .receiver_nic = NicId(24),
                                                                      .bystanders = {HostId(10), HostId(13)}}));
  EXPECT_THAT(questions_.TakeQuestions(), IsEmpty());
}

TEST_F(EndQuestionsTest, NothingElseIsAskedAbout) {
  std::vector<Finding> others(5, StuckConnection());
  others[0].syndrome = model::Syndrome::kCommSlow;  // its job runs: a test would disturb it
  others[1].state = model::FindingState::kSuspect;
  others[2].culprits.push_back(others[2].culprits.front());
  others[2].culprits.back().peer = RankId(6);  // on a third host
  others[3].culprits.front().kind = CulpritKind::kNicSend;
  others[4].culprits.front().peer = RankId(2);  // on the same host
  for (const Finding& other : others) questions_.Consider(other, Ends());
  questions_.Consider(StuckConnection(), {});  // without a layout
  EXPECT_THAT(questions_.TakeQuestions(), IsEmpty());
}

TEST_F(EndQuestionsTest, TheEndAtFaultTakesTheBlame) {
  const Finding sender = Refined(SlowEnd::kSender);
  ASSERT_THAT(sender.culprits, SizeIs(1));
  EXPECT_EQ(sender.culprits[0].kind, CulpritKind::kNicSend);
  EXPECT_EQ(sender.culprits[0].host, HostId(11));
  EXPECT_EQ(sender.culprits[0].nic, NicId(23));
  EXPECT_EQ(sender.action, RecommendedAction::kIsolateAndRestart);
  EXPECT_EQ(sender.sub_cause, model::SubCause::kNetwork);
  EXPECT_THAT(sender.signs, Contains(model::Sign::kTest));
  EXPECT_THAT(sender.summary, HasSubstr("tests say that the network of host 11 is at fault"));
  EXPECT_EQ(sender.confidence, 0.7) << "it was surer than the tests";
  ASSERT_THAT(sender.evidence, SizeIs(2));
  EXPECT_DOUBLE_EQ(sender.evidence[0].value, 40);
  const Finding receiver = Refined(SlowEnd::kReceiver);
  ASSERT_THAT(receiver.culprits, SizeIs(1));
  EXPECT_EQ(receiver.culprits[0].kind, CulpritKind::kNicReceive);
  EXPECT_EQ(receiver.culprits[0].host, HostId(12));
  EXPECT_THAT(Refined(SlowEnd::kBoth).culprits, SizeIs(2));
}

// A ring of two hosts has a connection each way, and a NIC that is dead stops both.
TEST_F(EndQuestionsTest, BothWaysAreOneQuestion) {
  Finding finding = StuckConnection();
  Culprit back = finding.culprits.front();
  std::swap(back.rank, back.peer);
  finding.culprits.push_back(back);
  questions_.Consider(finding, Ends());
  EXPECT_THAT(questions_.TakeQuestions(), SizeIs(1));
  questions_.Take({.finding = FindingId(6), .end = SlowEnd::kReceiver});
  Finding refined = finding;
  questions_.Refine(&refined);
  ASSERT_THAT(refined.culprits, SizeIs(1));
  EXPECT_EQ(refined.culprits[0].kind, CulpritKind::kNic);
  EXPECT_EQ(refined.culprits[0].host, HostId(12));
  // The diagnosis has changed its mind: that is another question.
  Finding other = StuckConnection();
  questions_.Refine(&other);
  EXPECT_EQ(other, StuckConnection());
}

// Nobody is named, and it is one of two ranks of many: tests ask about these two, and the answer leaves no candidates.
TEST_F(EndQuestionsTest, TwoCandidatesAreAQuestionToo) {
  Finding finding = StuckConnection();
  finding.culprits.clear();
  finding.candidates.resize(2);
  finding.candidates[0].culprit.rank = RankId(6);
  finding.candidates[1].culprit.rank = RankId(1);
  Finding three = finding;
  three.id = FindingId(7);
  three.candidates.resize(3);
  three.candidates[2].culprit.rank = RankId(2);
  questions_.Consider(three, Ends());
  EXPECT_THAT(questions_.TakeQuestions(), IsEmpty()) << "three hosts are no pair";
  questions_.Consider(finding, Ends());
  const std::vector<SlowEndQuestion> asked = questions_.TakeQuestions();
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(asked[0].sender, HostId(13));
  EXPECT_EQ(asked[0].receiver, HostId(10));
  EXPECT_THAT(asked[0].bystanders, ElementsAre(HostId(11), HostId(12)));
  questions_.Take({.finding = FindingId(6), .end = SlowEnd::kReceiver});
  questions_.Refine(&finding);
  ASSERT_THAT(finding.culprits, SizeIs(1));
  EXPECT_EQ(finding.culprits[0].host, HostId(10));
  EXPECT_THAT(finding.candidates, IsEmpty());
}

// What waits in a circle: one of two ranks is stuck, and telemetry can't tell which.
TEST_F(EndQuestionsTest, OneOfTwoRanksIsAQuestionToo) {
  Finding finding = StuckConnection();
  finding.culprits.assign(2, Culprit());
  finding.culprits[0].rank = RankId(0);
  finding.culprits[1].rank = RankId(6);
  finding.confidence = 0.13;
  finding.action = RecommendedAction::kWatch;
  questions_.Consider(finding, Ends());
  const std::vector<SlowEndQuestion> asked = questions_.TakeQuestions();
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(asked[0].sender, HostId(10));
  EXPECT_EQ(asked[0].receiver, HostId(13));
  questions_.Take({.finding = FindingId(6), .end = SlowEnd::kReceiver});
  questions_.Refine(&finding);
  ASSERT_THAT(finding.culprits, SizeIs(1));
  EXPECT_EQ(finding.culprits[0].kind, CulpritKind::kNic);
  EXPECT_EQ(finding.culprits[0].host, HostId(13));
  EXPECT_EQ(finding.confidence, EndQuestions::kTestedConfidence);
  EXPECT_EQ(finding.action, RecommendedAction::kIsolateAndRestart);
}

TEST_F(EndQuestionsTest, AHangThatAccusesNobodyIsOneInAJobOfTwo) {
  Finding finding = StuckConnection();
  finding.culprits.clear();
  questions_.Consider(finding, Ends());
  EXPECT_THAT(questions_.TakeQuestions(), IsEmpty()) << "four hosts";
  const std::vector<RankEnd> two = {{HostId(3), NicId(6)}, {HostId(3), NicId(6)}, {HostId(5), NicId(9)}};
  questions_.Consider(finding, two);
  ASSERT_THAT(questions_.TakeQuestions(), SizeIs(1));
  questions_.Take({.finding = FindingId(6), .end = SlowEnd::kSender});
  questions_.Refine(&finding);
  ASSERT_THAT(finding.culprits, SizeIs(1));
  EXPECT_EQ(finding.culprits[0].host, HostId(3));
}

TEST_F(EndQuestionsTest, OtherwiseTheConnectionKeepsIt) {
  for (const SlowEnd end : {SlowEnd::kPath, SlowEnd::kFabric, SlowEnd::kNeither, SlowEnd::kUndecided}) {
    const Finding finding = Refined(end);
    EXPECT_EQ(finding.culprits, StuckConnection().culprits);
    EXPECT_EQ(finding.action, RecommendedAction::kRepairPath);
    EXPECT_EQ(finding.signs.size(), end == SlowEnd::kPath ? 3U : 2U);
    EXPECT_EQ(finding.summary == "nothing moves", end == SlowEnd::kUndecided);
  }
}

TEST_F(EndQuestionsTest, WhatIsOverHasNoAnswer) {
  EXPECT_FALSE(questions_.Take({.finding = FindingId(6)}));
  questions_.Consider(StuckConnection(), Ends());
  Finding finding = StuckConnection();
  questions_.Refine(&finding);
  EXPECT_EQ(finding, StuckConnection()) << "not answered yet";
  questions_.Forget(FindingId(6));
  EXPECT_FALSE(questions_.Take({.finding = FindingId(6)}));
}

}  // namespace
}  // namespace fairlead::controller

#include "agent/process_questions.h"

#include <gtest/gtest.h>

#include "agent/agent_components_example.h"

namespace fairlead::agent {
namespace {

constexpr SimDuration kDeadline(15);
constexpr SimDuration kQueuePairDeadline(450);

class ProcessQuestionsTest : public testing::Test {
 protected:
  void Ask(QuestionId question, uint64_t connection, QuestionKind kind = QuestionKind::kConnect) {
    questions_.Begin(question, connection);
    questions_.SetDeadline(connection, kind);
  }
  std::vector<AnswerProcess> TakeAnswers() { return ActionsIn<AnswerProcess>(outbox_.TakeActions()); }

  AgentOutbox outbox_{SimTime(0)};
  ProcessQuestions questions_{kDeadline, kQueuePairDeadline, &outbox_};
};

TEST_F(ProcessQuestionsTest, OnlyOneThatWaitsIsOverdue) {
  Ask(1, 11);
  Ask(2, 12);
  Ask(3, 13);
  Ask(4, 14, QuestionKind::kQueuePair);
  questions_.Answer(11, 50'001, 160);
  EXPECT_EQ(TakeAnswers(), (std::vector<AnswerProcess>{{1, false, 50'001, true, 160}}));
  questions_.End(2);
  EXPECT_TRUE(TakeAnswers().empty()) << "its process has gone";
  EXPECT_EQ(questions_.TakeOverdue(), std::nullopt);
  outbox_.SetTime(SimTime(15));
  EXPECT_EQ(questions_.TakeOverdue(), std::optional<uint64_t>(13));
  questions_.Answer(13, 0, std::nullopt);
  EXPECT_EQ(TakeAnswers(), (std::vector<AnswerProcess>{{3, false, 0, false, 0}}));
  EXPECT_EQ(questions_.TakeOverdue(), std::nullopt);
  EXPECT_EQ(questions_.NextDue(), SimTime(450));
  outbox_.SetTime(SimTime(450));
  EXPECT_EQ(questions_.TakeOverdue(), std::optional<uint64_t>(14));
}

// Whatever comes first; what comes after changes nothing.
TEST_F(ProcessQuestionsTest, AProcessIsLetGoOnceWhenItsConnectionIsGone) {
  Ask(1, 11);
  Ask(2, 12);
  questions_.Answer(12, 50'001, std::nullopt);
  TakeAnswers();
  EXPECT_EQ(questions_.FindAnswered(1), std::nullopt);
  EXPECT_EQ(questions_.FindAnswered(2), std::optional<uint64_t>(12));
  questions_.Close(11);
  questions_.Close(11);
  questions_.Close(12);
  EXPECT_EQ(TakeAnswers(), (std::vector<AnswerProcess>{{.question = 1}})) << "the other one has its answer";
  EXPECT_FALSE(questions_.IsKnown(1) || questions_.IsKnown(2));
  EXPECT_FALSE(questions_.HasProcess(11) || questions_.HasProcess(12));
  EXPECT_EQ(questions_.End(1), std::nullopt);
  EXPECT_EQ(questions_.FindAnswered(2), std::nullopt);
  outbox_.SetTime(SimTime(15));
  EXPECT_EQ(questions_.TakeOverdue(), std::nullopt);
}

TEST_F(ProcessQuestionsTest, WithoutAControllerAllThatWaitAreToBeAnswered) {
  Ask(1, 12);
  Ask(2, 11);
  Ask(3, 13);
  questions_.Answer(13, 0, std::nullopt);
  EXPECT_EQ(questions_.EndDeadlines(), (std::vector<uint64_t>{11, 12}));
  EXPECT_EQ(questions_.NextDue(), SimTime::Never());
}

TEST_F(ProcessQuestionsTest, WhatIsNotLookedAfterMayHaveAClassAllTheSame) {
  questions_.Dismiss(1);
  questions_.Dismiss(2, 160);
  EXPECT_EQ(TakeAnswers(), (std::vector<AnswerProcess>{{.question = 1}, {2, false, 0, true, 160}}));
  EXPECT_FALSE(questions_.IsKnown(1));
}

}  // namespace
}  // namespace fairlead::agent

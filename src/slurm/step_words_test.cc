#include "slurm/step_words.h"

#include <gtest/gtest.h>

namespace fairlead::slurm {
namespace {

using Kind = StepProgress::Kind;

TEST(StepWordsTest, WhatWasDoneToTheJobAndWhy) {
  StepOrder order;
  order.host = "h3";
  order.hosts = {"h0", "h1", "h4"};
  order.reason = "finding 7: rank 3 hangs";
  const auto words = [&order](controller::SteeringStep step, Kind kind) {
    order.step = std::move(step);
    return WordsOfStep(order, {kind, "its comment wishes it not", {}});
  };
  EXPECT_EQ(words(controller::IsolateHost{HostId(3)}, Kind::kDone), "h3 is isolated: finding 7: rank 3 hangs");
  EXPECT_EQ(words(controller::StopJob{JobId(1)}, Kind::kDone),
            "stopped, to be restarted on other hosts: finding 7: rank 3 hangs");
  EXPECT_EQ(words(controller::RestartJob{JobId(1), {}}, Kind::kDone), "restarted on h[0-1,4]: finding 7: rank 3 hangs");
  EXPECT_EQ(words(controller::IsolateHost{HostId(3)}, Kind::kRefused),
            "not done: h3 is isolated: its comment wishes it not");
  EXPECT_EQ(words(controller::StopJob{JobId(1)}, Kind::kUnderway), "");
  EXPECT_EQ(words(controller::StopJob{JobId(1)}, Kind::kFailed), "") << "is tried again";
  EXPECT_EQ(words(controller::TestHost{HostId(3)}, Kind::kDone), "") << "not the job's";
}

}  // namespace
}  // namespace fairlead::slurm

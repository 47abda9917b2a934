#include "slurm/order_backend.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::slurm {
namespace {

using testing::ElementsAre;

// What becomes of the step, for job 3 because of finding 9.
StepOrder Given(controller::SteeringStep step, bool has_finding = true) {
  StepOrders orders({.long_steps = std::chrono::seconds(1), .others = std::chrono::seconds(1)});
  OrderBackend backend(&orders, {.host = [](HostId host) { return fmt::format("h{}", host.value()); },
                                 .job = [](JobId job) { return fmt::format("slurm-{}@1001", job.value()); }});
  controller::SteeringAction action;
  action.number = 5;
  action.attempt = 2;
  action.step = std::move(step);
  action.job = JobId(3);
  if (has_finding) action.finding = model::FindingId(9);
  action.reason = "rank 1 is stopped";
  backend.Begin(SimTime(), action);
  return orders.Underway().at(0).order;
}

TEST(OrderBackendTest, AnActionBecomesAnOrder) {
  const StepOrder order = Given(controller::StopJob{JobId(3)});
  EXPECT_EQ(order.action, 5u);
  EXPECT_EQ(order.attempt, 2u);
  EXPECT_TRUE(std::holds_alternative<controller::StopJob>(order.step));
  EXPECT_EQ(order.job, "slurm-3@1001");
  EXPECT_EQ(order.host, "");
  EXPECT_EQ(order.reason, "finding 9: rank 1 is stopped");
  EXPECT_EQ(Given(controller::StopJob{JobId(3)}, false).reason, "rank 1 is stopped");
}

TEST(OrderBackendTest, HostsByName) {
  EXPECT_EQ(Given(controller::IsolateHost{HostId(1)}).host, "h1");
  EXPECT_EQ(Given(controller::TakeSpare{JobId(3), HostId(4), HostId(1)}).host, "h4") << "the spare";
  EXPECT_EQ(Given(controller::TestHost{HostId(1)}).host, "h1");
  EXPECT_EQ(Given(controller::ReturnHost{HostId(1)}).host, "h1");
  EXPECT_THAT(Given(controller::RestartJob{JobId(3), {HostId(4), HostId(0)}}).hosts, ElementsAre("h4", "h0"));
}

}  // namespace
}  // namespace fairlead::slurm

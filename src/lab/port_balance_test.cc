#include "lab/port_balance.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::lab {
namespace {

// NIC n has `ports[n]` cables.
LabPlan PlanOf(const std::vector<size_t>& ports) {
  LabPlan plan;
  for (const size_t count : ports) {
    LabNic& nic = plan.nics[plan.nics.push_back(LabNic())];
    for (size_t p = 0; p < count; ++p) {
      nic.cables.emplace_back(plan.cables.size());
      plan.cables.push_back(LabCable());
    }
  }
  return plan;
}

LabRunResult RunOf(const LabPlan& plan) {
  LabRunResult run;
  run.before.cables.resize(plan.cables.size());
  run.after.cables.resize(plan.cables.size());
  return run;
}

TEST(PortBalance, IsTheShareOfTheBusiestPortOfEachNic) {
  const LabPlan plan = PlanOf({2, 2, 1});
  LabRunResult run = RunOf(plan);
  // What was sent before the measured time does not count: 30 of 40 bytes, 50 of 100, and a NIC of one port.
  const std::vector<uint64_t> before = {1000, 7, 0, 0, 5}, after = {1010, 37, 50, 50, 905};
  for (uint32_t c = 0; c < before.size(); ++c) {
    run.before.cables[CableId(c)][0].sent_bytes = before[c];
    run.after.cables[CableId(c)][0].sent_bytes = after[c];
  }
  EXPECT_DOUBLE_EQ(PortsSending(plan, run).mean, (0.75 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(PortsSending(plan, run).worst, 0.75);
  // Nothing has arrived.
  EXPECT_EQ(PortsReceiving(plan, run).mean, 0);
  EXPECT_EQ(PortsReceiving(plan, run).worst, 0);
}

// Laws: between 1 / ports and 1; the mean is not above the worst; scaling all bytes changes nothing.
TEST(PortBalance, HasItsBoundsAndNoUnit) {
  Random random(5);
  for (int i = 0; i < 100; ++i) {
    const LabPlan plan = PlanOf({2, 2, 2, 2});
    LabRunResult run = RunOf(plan);
    for (auto& ends : run.after.cables) ends[1].sent_bytes = random.Below(1'000'000);
    const PortBalance balance = PortsReceiving(plan, run);
    EXPECT_GE(balance.mean, 0.5);
    EXPECT_LE(balance.mean, balance.worst);
    EXPECT_LE(balance.worst, 1);
    for (auto& ends : run.after.cables) ends[1].sent_bytes *= 3;
    EXPECT_DOUBLE_EQ(PortsReceiving(plan, run).mean, balance.mean);
  }
}

}  // namespace
}  // namespace fairlead::lab

#include "agent/probe_dispatcher.h"

#include <gtest/gtest.h>

#include <variant>

namespace fairlead::agent {
namespace {

class ProbeDispatcherTest : public testing::Test {
 protected:
  static inline const IpAddress kHere = IpAddress::FromIpv4(1);
  static inline const IpAddress kThere = IpAddress::FromIpv4(2);

  ProbeDispatcherTest() { outbox_.SetWelcome(true); }

  static controller::PortScanWanted Scan(const IpAddress& source, const IpAddress& destination) {
    return {.source = source, .destination = destination, .source_ports = {50'000}};
  }
  std::vector<ProbePorts> TakeOrders() {
    dispatcher_.SendDue();
    std::vector<ProbePorts> orders;
    for (const HostAction& action : outbox_.TakeActions()) {
      if (const auto* order = std::get_if<ProbePorts>(&action)) orders.push_back(*order);
      if (const auto* sent = std::get_if<SendToController>(&action)) {
        finished_.push_back(std::get<controller::ProbesFinished>(sent->message));
      }
    }
    return orders;
  }

  TrainingAddresses addresses_{{kHere}, SimDuration(60)};
  AgentOutbox outbox_{SimTime(1'000'000'000)};
  ProbeDispatcher dispatcher_{{}, &addresses_, &outbox_};
  std::vector<controller::ProbesFinished> finished_;
};

TEST_F(ProbeDispatcherTest, OnlyTcpFromNicsOfThisHostIsSent) {
  controller::PortScanWanted udp = Scan(kHere, kThere);
  udp.protocol = 17;
  controller::PortScanWanted ours = Scan(kHere, kThere);
  ours.epoch = 9;
  dispatcher_.Take({.round = 3, .scans = {Scan(kThere, kHere), udp, ours, Scan(kHere, IpAddress())}});
  const std::vector<ProbePorts> orders = TakeOrders();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].scan, ours);
  EXPECT_FALSE(orders[0].is_urgent);
  dispatcher_.Take(ProbesDone{orders[0].order, {}});
  EXPECT_TRUE(TakeOrders().empty());
  EXPECT_EQ(finished_, (std::vector<controller::ProbesFinished>{{.round = 3, .scans = {}}}));
}

// The controller waits for as many answers as it has ordered rounds.
TEST_F(ProbeDispatcherTest, ARoundWithoutProbesIsReportedAtOnce) {
  dispatcher_.Take({.round = 3, .scans = {Scan(kThere, kHere)}});
  EXPECT_TRUE(TakeOrders().empty());
  EXPECT_EQ(finished_, (std::vector<controller::ProbesFinished>{{.round = 3, .scans = {}}}));
}

TEST_F(ProbeDispatcherTest, WhatAnEarlierStreamWantedIsNotSent) {
  dispatcher_.Take({.round = 3, .scans = {Scan(kHere, kThere)}});
  dispatcher_.Forget();
  EXPECT_TRUE(TakeOrders().empty());
  EXPECT_TRUE(finished_.empty());
  dispatcher_.Take(ProbesDone{1, {}});
  EXPECT_TRUE(TakeOrders().empty() && finished_.empty()) << "of no order";
}

}  // namespace
}  // namespace fairlead::agent

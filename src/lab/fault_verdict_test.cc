#include "lab/fault_verdict.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlead::lab {
namespace {

const std::vector<std::string> kHosts = {"h0", "h1", "h2", "h3"};

wire::LiveFinding Found(const std::string& syndrome, std::vector<std::string> culprits,
                        std::vector<std::string> hosts) {
  wire::LiveFinding finding;
  finding.syndrome = syndrome;
  finding.culprits = std::move(culprits);
  finding.hosts = std::move(hosts);
  return finding;
}

LabFault FaultOf(LabFaultKind kind) { return {.kind = kind, .worker = 2, .peer = 3}; }

TEST(ParseCulprit, AgreesWithTheDiagnosis) {
  EXPECT_EQ(ParseCulprit("rank 12 on h3"), (NamedCulprit{CulpritForm::kRank, {12}}));
  EXPECT_EQ(ParseCulprit("h3"), (NamedCulprit{CulpritForm::kHost, {}}));
  EXPECT_EQ(ParseCulprit("NIC send side h3/nic0 on h3"), (NamedCulprit{CulpritForm::kNicSend, {}}));
  EXPECT_EQ(ParseCulprit("NIC receive side on h3"), (NamedCulprit{CulpritForm::kNicReceive, {}}));
  EXPECT_EQ(ParseCulprit("NIC h3/nic0 on h3"), (NamedCulprit{CulpritForm::kNic, {}}));
  EXPECT_EQ(ParseCulprit("connection from rank 2 to rank 3"), (NamedCulprit{CulpritForm::kConnection, {2, 3}}));
  EXPECT_EQ(ParseCulprit("leaf leaf1"), (NamedCulprit{CulpritForm::kOther, {}}));
}

TEST(FaultVerdict, TheRightAnswerIsRightAndNoOtherOne) {
  const wire::LiveFinding hang = Found("non_comm_hang", {"rank 2 on h2"}, {"h2"});
  EXPECT_TRUE(IsRight(FaultOf(LabFaultKind::kFrozenRank), kHosts, hang));
  // Another syndrome, another rank, another host, none.
  EXPECT_FALSE(IsRight(FaultOf(LabFaultKind::kKilledRank), kHosts, hang));
  EXPECT_FALSE(IsRight(FaultOf(LabFaultKind::kFrozenRank), kHosts, Found("non_comm_hang", {"rank 1 on h1"}, {"h1"})));
  EXPECT_FALSE(IsRight(FaultOf(LabFaultKind::kFrozenRank), kHosts, Found("non_comm_hang", {"h1"}, {"h1"})));
  EXPECT_FALSE(IsRight(FaultOf(LabFaultKind::kFrozenRank), kHosts, Found("non_comm_hang", {}, {})));
  // A right one next to an innocent one.
  EXPECT_FALSE(IsRight(FaultOf(LabFaultKind::kFrozenRank), kHosts,
                       Found("non_comm_hang", {"rank 2 on h2", "rank 3 on h3"}, {"h2", "h3"})));
}

TEST(FaultVerdict, SidesOfANicAreReported) {
  const wire::LiveFinding send = Found("comm_slow", {"NIC send side h2/nic0 on h2"}, {"h2"});
  const wire::LiveFinding receive = Found("comm_slow", {"NIC receive side h2/nic0 on h2"}, {"h2"});
  const wire::LiveFinding both = Found("comm_slow", {"NIC h2/nic0 on h2"}, {"h2"});
  EXPECT_TRUE(IsRight(FaultOf(LabFaultKind::kSlowSend), kHosts, send));
  EXPECT_FALSE(IsRight(FaultOf(LabFaultKind::kSlowSend), kHosts, receive));
  EXPECT_TRUE(IsRight(FaultOf(LabFaultKind::kSlowReceive), kHosts, receive));
  EXPECT_FALSE(IsRight(FaultOf(LabFaultKind::kSlowReceive), kHosts, send));
  EXPECT_TRUE(IsRight(FaultOf(LabFaultKind::kSlowSend), kHosts, both));
  EXPECT_FALSE(IsRight(FaultOf(LabFaultKind::kSlowConnection), kHosts, send));
}

TEST(FaultVerdict, ConnectionsAreRightAtTheirEnd) {
  const auto connection = [](const char* from, const char* to) {
    return Found("comm_slow", {std::string("connection from rank ") + from + " to rank " + to}, {"h0", "h2"});
  };
  EXPECT_TRUE(IsRight(FaultOf(LabFaultKind::kSlowConnection), kHosts, connection("2", "3")));
  EXPECT_FALSE(IsRight(FaultOf(LabFaultKind::kSlowConnection), kHosts, connection("3", "2")));
  EXPECT_TRUE(IsRight(FaultOf(LabFaultKind::kSlowSend), kHosts, connection("2", "0")));
  EXPECT_FALSE(IsRight(FaultOf(LabFaultKind::kSlowSend), kHosts, connection("0", "2")));
  EXPECT_TRUE(IsRight(FaultOf(LabFaultKind::kSlowReceive), kHosts, connection("0", "2")));
}

// The program of one worker is at fault: that there is a mismatch is not enough, nor that something hangs.
TEST(FaultVerdict, AMismatchNamesTheWorker) {
  const LabFault fault = FaultOf(LabFaultKind::kMismatch);
  EXPECT_TRUE(IsRight(fault, kHosts, Found("mismatch", {"rank 2 on h2"}, {"h2"})));
  EXPECT_FALSE(IsRight(fault, kHosts, Found("mismatch", {"rank 2 on h2", "rank 3 on h3"}, {"h2", "h3"})));
  EXPECT_FALSE(IsRight(fault, kHosts, Found("mismatch", {}, {})));
  EXPECT_FALSE(IsRight(fault, kHosts, Found("non_comm_hang", {"rank 2 on h2"}, {"h2"})));
}

TEST(FaultVerdict, NothingIsRightAboutAHealthyJob) {
  EXPECT_FALSE(NeedsFinding(LabFaultKind::kHealthy));
  EXPECT_FALSE(NeedsFinding(LabFaultKind::kPause));
  EXPECT_FALSE(IsRight(FaultOf(LabFaultKind::kPause), kHosts, Found("non_comm_hang", {"rank 2 on h2"}, {"h2"})));
}

TEST(LabFaultKind, NamesLeadBack) {
  for (size_t k = 0; k < kNumLabFaultKinds; ++k) {
    EXPECT_EQ(FindLabFaultKind(Name(static_cast<LabFaultKind>(k))), static_cast<LabFaultKind>(k));
  }
  EXPECT_EQ(FindLabFaultKind("power_cut"), std::nullopt);
}

TEST(LabFault, IsChecked) {
  EXPECT_TRUE(Validate({.kind = LabFaultKind::kSlowConnection, .worker = 0, .peer = 1}, 2).ok());
  EXPECT_FALSE(Validate({.kind = LabFaultKind::kSlowConnection, .worker = 1, .peer = 1}, 2).ok());
  EXPECT_FALSE(Validate({.kind = LabFaultKind::kKilledRank, .worker = 2}, 2).ok());
  EXPECT_FALSE(Validate({.kind = LabFaultKind::kSlowSend, .worker = 0, .share = 1}, 2).ok());
  EXPECT_FALSE(Validate({.kind = LabFaultKind::kPause, .worker = 0, .seconds = 0}, 2).ok());
}

}  // namespace
}  // namespace fairlead::lab

#include "service/controller/node_check_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/clos_fabrics.h"
#include "wire/cluster_records.h"
#include "wire/node_check_records.h"

namespace fairlead::service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class NodeCheckRoutesTest : public testing::Test {
 protected:
  NodeCheckRoutesTest() {
    NodeCheckSource source;
    source.fabric = &fabric_;
    source.show = [] { return Json::object(); };
    source.find_fault = [this](const controller::NodeCheckRequest&) { return fault_; };
    source.audit = [this](const controller::NodeCheckRequest&) { return audit_; };
    source.begin = [this](const controller::NodeCheckRequest& request) {
      begun_.push_back(request);
      return uint64_t{begun_.size()};
    };
    route_ = NodeCheckRoute(source);
  }
  std::string ErrorOf(const char* body) { return route_.change(Json::parse(body), "anna").status().message(); }

  const topology::Fabric fabric_ = topology::BuildClos({}).value();
  std::string fault_;
  Status audit_;
  std::vector<controller::NodeCheckRequest> begun_;
  HttpRoute route_;
};

TEST_F(NodeCheckRoutesTest, AnOrderBeginsACheck) {
  const auto answer = route_.change(
      Json::parse(
          R"({"hosts": ["h1", "h0"], "transfer_s": 0.5, "burn_in_s": 60, "streams": 8, "while_training": true})"),
      "anna");
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->dump(), R"({"check":1})");
  ASSERT_THAT(begun_, SizeIs(1));
  EXPECT_THAT(begun_[0].hosts, ElementsAre(HostId(1), HostId(0u)));
  EXPECT_EQ(begun_[0].transfer_length, SimDuration(500'000'000));
  EXPECT_EQ(begun_[0].burn_in_length, SimDuration(60'000'000'000));
  EXPECT_EQ(begun_[0].num_streams, 8U);
  EXPECT_TRUE(begun_[0].while_training);
  EXPECT_EQ(begun_[0].who, "anna");
  EXPECT_EQ(route_.change(Json::parse(R"({"hosts": ["h0"]})"), "anna")->dump(), R"({"check":2})");
}

TEST_F(NodeCheckRoutesTest, WhatCannotBeIsRefusedAndNothingBegins) {
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("hosts: is missing"));
  EXPECT_THAT(ErrorOf(R"({"hosts": ["h0"], "length": 3})"), HasSubstr("unknown key 'length'"));
  EXPECT_THAT(ErrorOf(R"({"hosts": ["nope"]})"), HasSubstr("no host 'nope' in the fabric"));
  EXPECT_THAT(ErrorOf(R"({"hosts": ["h0"], "transfer_s": 1e300})"), HasSubstr("transfer_s: expected 0 to 60 s"));
  EXPECT_THAT(ErrorOf(R"({"hosts": ["h0"], "burn_in_s": -1})"), HasSubstr("burn_in_s: expected 0 to 600 s"));
  fault_ = "host h0 is being checked";
  EXPECT_EQ(ErrorOf(R"({"hosts": ["h0"]})"), fault_);
  fault_.clear();
  audit_ = Unavailable("the disk is full");
  EXPECT_EQ(ErrorOf(R"({"hosts": ["h0"]})"), "the disk is full");
  EXPECT_THAT(begun_, IsEmpty());
}

TEST_F(NodeCheckRoutesTest, AClientReadsWhatIsShown) {
  controller::NodeCheckView view;
  view.number = 7;
  view.began = SimTime(1'000'000'000);
  view.num_steps = 4;
  view.num_finished_steps = 1;
  controller::CheckedHostView host;
  host.host = HostId(1);
  host.verdict = controller::CheckedHostView::Verdict::kFailed;
  host.reasons = {"NIC 0 sends nothing"};
  host.transfers.emplace();
  view.hosts = {host};
  const Json json = NodeChecksJson({view}, fabric_);
  const auto list = wire::ReadAnswer<wire::NodeCheckList>(json, "here");
  ASSERT_TRUE(list.ok()) << list.status().message();
  ASSERT_THAT(list->checks, SizeIs(1));
  EXPECT_EQ(list->checks[0].number, 7U);
  EXPECT_EQ(list->checks[0].ended_s, std::nullopt);
  ASSERT_THAT(list->checks[0].hosts, SizeIs(1));
  const wire::LiveCheckedHost& read = list->checks[0].hosts[0];
  EXPECT_EQ(read.name, "h1");
  EXPECT_EQ(read.verdict, "failed");
  EXPECT_THAT(read.reasons, ElementsAre("NIC 0 sends nothing"));
  EXPECT_EQ(read.rate_share, std::nullopt) << "it had no partner";
}

}  // namespace
}  // namespace fairlead::service

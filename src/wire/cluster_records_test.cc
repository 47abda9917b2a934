#include "wire/cluster_records.h"

#include <gtest/gtest.h>

namespace fairlead::wire {
namespace {

constexpr const char* kUrl = "http://c/v1/findings";

Result<FindingList> ReadFindings(const char* text) {
  return ReadAnswer<FindingList>(codec::Json::parse(text, nullptr, false), kUrl);
}

// Of a suspicion, instants that did not come yet are null; keys of a later version are skipped.
TEST(ClusterRecordsTest, FindingsAreReadAsTheControllerGivesThemOut) {
  const auto list = ReadFindings(
      R"({"findings": [
          {"job": "gpt", "id": 7, "syndrome": "comm_hang", "culprits": ["NIC h3/nic0 on h3"], "hosts": ["h3"],
           "ranks": [3], "suspected_at_s": 1.5, "confirmed_at_s": 11.5, "cleared_at_s": null, "confidence": 0.9,
           "action": "isolate_and_restart", "text": "stuck", "evidence": ["exit code 1"], "of_the_future": {}},
          {"id": 8, "confirmed_at_s": null}]})");
  ASSERT_TRUE(list.ok()) << list.status().message();
  ASSERT_EQ(list->findings.size(), 2u);
  const LiveFinding expected{.job = "gpt",
                             .id = 7,
                             .syndrome = "comm_hang",
                             .culprits = {"NIC h3/nic0 on h3"},
                             .hosts = {"h3"},
                             .ranks = {3},
                             .suspected_at_s = 1.5,
                             .confirmed_at_s = 11.5,
                             .cleared_at_s = std::nullopt,
                             .confidence = 0.9,
                             .action = "isolate_and_restart",
                             .text = "stuck",
                             .evidence = {"exit code 1"}};
  EXPECT_EQ(list->findings.front(), expected);
  LiveFinding suspected;
  suspected.id = 8;
  EXPECT_EQ(list->findings.back(), suspected);
}

TEST(ClusterRecordsTest, WhatIsNoAnswerOfAControllerIsRefusedWithThePlace) {
  for (const char* text : {"<html>", "{}", R"({"findings": 5})", R"({"findings": [5]})", R"({"findings": [{}]})"}) {
    const auto list = ReadFindings(text);
    ASSERT_FALSE(list.ok()) << text;
    EXPECT_EQ(list.status().code(), StatusCode::kUnavailable) << text;
    EXPECT_TRUE(list.status().message().starts_with(kUrl)) << list.status().message();
  }
}

}  // namespace
}  // namespace fairlead::wire

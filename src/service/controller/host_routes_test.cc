#include "service/controller/host_routes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace fairlead::service {
namespace {

using controller::HostCondition;

// What an operator has to look at, in the order of the documentation; the rest comes last.
const std::map<std::string, int> kPlaceOf = {{"isolated", 0}, {"isolating", 1}, {"in_doubt", 2},
                                             {"silent", 3},   {"no_agent", 4},  {"", 6}};

class HostRoutesTest : public testing::Test {
 protected:
  HostRoutesTest() {
    for (int i = 0; i < 40; ++i) hosts_.push_back(Connected(i));
  }

  static controller::HostView Connected(int number) {
    return {.name = fmt::format("Node{}", number),
            .is_connected = true,
            .agent_version = "1.0",
            .last_message = SimTime::FromSeconds(Seconds(100))};
  }
  void Silence(size_t host) { hosts_[host].is_connected = false; }
  void NeverSeen(size_t host) {
    hosts_[host] = {.name = hosts_[host].name, .is_connected = false, .agent_version = "", .last_message = SimTime()};
  }
  void ChangeAll() {
    constexpr HostCondition kConditions[] = {HostCondition::kSpare, HostCondition::kReserved, HostCondition::kIsolating,
                                             HostCondition::kIsolated, HostCondition::kInDoubt};
    marks_ = {};
    for (size_t i = 0; i < hosts_.size(); ++i) {
      hosts_[i] = Connected(static_cast<int>(i));
      const HostId host(static_cast<uint32_t>(i));
      if (random_.Below(4) == 0) Silence(i);
      if (random_.Below(6) == 0) NeverSeen(i);
      if (random_.Below(4) == 0) marks_.conditions[host] = kConditions[random_.Below(std::size(kConditions))];
      if (random_.Below(4) == 0) marks_.findings[host] = 1 + random_.Below(3);
    }
  }
  Result<Json> Try(const HttpQuery& query) {
    return HostPageJson({.look = [this] { return hosts_; }, .marks = [this] { return marks_; }}, query);
  }
  Json Ask(const HttpQuery& query) {
    const auto json = Try(query);
    EXPECT_TRUE(json.ok()) << json.status().message();
    return json.ok() ? *json : Json();
  }
  // All pages of a query, one after the other.
  std::vector<std::string> AskAll(HttpQuery query) {
    std::vector<std::string> names;
    for (int page = 0; page < 1000; ++page) {
      const Json json = Ask(query);
      for (const Json& host : json["hosts"]) names.push_back(host["name"]);
      if (json["next"].is_null()) return names;
      query["after"] = json["next"];
    }
    ADD_FAILURE() << "pages without end";
    return names;
  }
  std::string StateOf(size_t host) { return Ask({{"name", hosts_[host].name}})["hosts"][0]["state"]; }

  Random random_{11};
  std::vector<controller::HostView> hosts_;
  HostMarks marks_;
};

TEST_F(HostRoutesTest, AStateIsWhatMattersMost) {
  EXPECT_EQ(StateOf(0), "connected");
  Silence(0);
  EXPECT_EQ(StateOf(0), "silent");
  NeverSeen(0);
  EXPECT_EQ(StateOf(0), "no_agent");
  for (const HostCondition condition : {HostCondition::kSpare, HostCondition::kReserved, HostCondition::kInJob}) {
    marks_.conditions[HostId(0)] = marks_.conditions[HostId(1)] = condition;
    EXPECT_EQ(StateOf(0), "no_agent") << "what is not reached is no spare";
    EXPECT_EQ(StateOf(1), condition == HostCondition::kInJob ? "connected" : Name(condition));
  }
  for (const HostCondition condition : {HostCondition::kIsolated, HostCondition::kIsolating, HostCondition::kInDoubt}) {
    marks_.conditions[HostId(0)] = marks_.conditions[HostId(1)] = condition;
    EXPECT_EQ(StateOf(0), Name(condition));
    EXPECT_EQ(StateOf(1), Name(condition));
  }
}

// Against a sort of what single answers say.
TEST_F(HostRoutesTest, PagesOfAnySizeAreTheWholeListOnceAndInOrder) {
  for (int round = 0; round < 20; ++round) {
    ChangeAll();
    std::vector<std::pair<int, std::string>> order;
    std::vector<std::string> in_fabric, need_look;
    for (size_t i = 0; i < hosts_.size(); ++i) {
      const auto found = kPlaceOf.find(StateOf(i));
      const bool is_named = marks_.findings.contains(HostId(static_cast<uint32_t>(i)));
      order.emplace_back(found != kPlaceOf.end() ? found->second : is_named ? 5 : 6, hosts_[i].name);
      in_fabric.push_back(hosts_[i].name);
    }
    std::ranges::stable_sort(order, {}, &std::pair<int, std::string>::first);
    std::vector<std::string> worst_first;
    for (const auto& [place, name] : order) {
      worst_first.push_back(name);
      if (place < 6) need_look.push_back(name);
    }
    for (const size_t limit : {size_t{1}, size_t{3}, hosts_.size() - 1, hosts_.size(), size_t{10'000}}) {
      const std::string text = fmt::format("{}", limit);
      EXPECT_EQ(AskAll({{"limit", text}}), in_fabric) << limit;
      EXPECT_EQ(AskAll({{"limit", text}, {"order", "worst"}}), worst_first) << limit;
      EXPECT_EQ(AskAll({{"limit", text}, {"order", "worst"}, {"state", "needs_look"}}), need_look) << limit;
    }
    EXPECT_EQ(Ask({{"limit", "1"}})["all"]["need_look"], need_look.size());
  }
}

TEST_F(HostRoutesTest, SelectionsAndTotals) {
  Silence(3);
  NeverSeen(13);
  marks_.conditions[HostId(4)] = HostCondition::kIsolated;
  marks_.findings[HostId(5)] = 2;
  const Json silent = Ask({{"state", "silent"}});
  EXPECT_EQ(silent["total"], 1);
  EXPECT_EQ(silent["hosts"].dump(),
            R"([{"name":"Node3","connected":false,"agent_version":"1.0","last_message_s":100.0,"state":"silent",)"
            R"("findings":0}])");
  EXPECT_EQ(silent["all"].dump(), R"({"hosts":40,"connected":38,"need_look":4,)"
                                  R"("states":{"connected":37,"isolated":1,"no_agent":1,"silent":1}})");
  EXPECT_EQ(AskAll({{"text", "node1"}, {"limit", "2"}}).size(), 11u) << "1 and 10 to 19";
  EXPECT_EQ(AskAll({{"text", "NODE3"}, {"state", "silent"}}), std::vector<std::string>{"Node3"});
  EXPECT_EQ(AskAll({{"text", "isol"}}), std::vector<std::string>{"Node4"}) << "states are text as well";
  EXPECT_EQ(AskAll({{"state", "needs_look"}, {"order", "worst"}}),
            (std::vector<std::string>{"Node4", "Node3", "Node13", "Node5"}));
  EXPECT_EQ(Ask({{"name", "Node5"}})["hosts"][0]["findings"], 2);
  EXPECT_TRUE(Ask({{"name", "Node13"}})["hosts"][0]["last_message_s"].is_null());
}

TEST_F(HostRoutesTest, WhatCannotBeAskedIsSaidToBeSo) {
  const std::vector<std::pair<HttpQuery, std::string>> cases = {
      {{{"limit", "0"}}, "limit: expected a number of 1 to 10000, found '0'"},
      {{{"after", "3"}}, "after: expected the 'next' of a page, found '3'"},
      {{{"after", "7:3"}}, "after: expected"},
      {{{"order", "best"}}, "order: expected worst or fabric"},
      {{{"state", "down"}}, "one of needs_look, isolated, isolating, in_doubt, silent, no_agent, spare"},
      {{{"page", "2"}}, "unknown parameter 'page'; known: limit"},
      {{{"name", "node3"}}, "no host 'node3' in the fabric"}};
  for (const auto& [query, message] : cases) {
    const auto json = Try(query);
    ASSERT_FALSE(json.ok()) << message;
    EXPECT_NE(json.status().message().find(message), std::string::npos) << json.status().message();
    EXPECT_EQ(json.status().code(), query.contains("name") ? StatusCode::kNotFound : StatusCode::kInvalidArgument);
  }
}

TEST_F(HostRoutesTest, OtherMarksAreAnotherHash) {
  const size_t before = HashOf(marks_);
  EXPECT_EQ(HashOf(HostMarks{}), before);
  marks_.findings[HostId(5)] = 1;
  const size_t named = HashOf(marks_);
  marks_.findings[HostId(5)] = 2;
  const size_t twice = HashOf(marks_);
  marks_.conditions[HostId(5)] = HostCondition::kSpare;
  EXPECT_NE(named, before);
  EXPECT_NE(twice, named);
  EXPECT_NE(HashOf(marks_), twice);
}

}  // namespace
}  // namespace fairlead::service

#include "service/controller/link_routes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "topology/clos_fabrics.h"

namespace fairlead::service {
namespace {

using controller::LinkOnFabric;
using traffic::LinkState;

class LinkRoutesTest : public testing::Test {
 protected:
  LinkRoutesTest() {
    for (uint32_t l = 0; l < fabric_.num_links(); ++l) {
      if (topology::IsNetwork(fabric_.tier(LinkId(l)))) links_.push_back({.link = LinkId(l)});
    }
  }

  static topology::Fabric Build(const topology::ClosSpec& spec) {
    auto fabric = topology::BuildClos(spec);
    EXPECT_TRUE(fabric.ok());
    return std::move(fabric).value();
  }
  void Change(LinkOnFabric* link) {
    const double values[] = {0, 1, 0.5, 0.1, 2.0 / 3};
    link->state = static_cast<LinkState>(random_.Below(4) == 0 ? random_.Below(4) : 0);
    link->health = random_.Below(4) == 0 ? values[random_.Below(std::size(values))] : 1;
    link->num_queue_pairs = static_cast<uint32_t>(random_.Below(3));
    link->load = link->num_queue_pairs * values[1 + random_.Below(4)];
  }
  void ChangeAll() {
    for (LinkOnFabric& link : links_) Change(&link);
  }
  LinkSource Source() {
    return {.look = [this] { return links_; },
            .paths =
                [this] {
                  return std::vector<controller::JobPaths>{{"idle", {}}, {"gpt", job_links_}};
                }};
  }
  Json Ask(const HttpQuery& query) {
    const auto json = LinkPageJson(fabric_, Source(), query);
    EXPECT_TRUE(json.ok()) << json.status().message();
    return json.ok() ? *json : Json();
  }
  // All pages of a query, one after the other. Args: between: called between two of them.
  std::vector<std::string> AskAll(
      HttpQuery query, const std::function<void()>& between = [] {}) {
    std::vector<std::string> names;
    for (int page = 0; page < 1000; ++page) {
      const Json json = Ask(query);
      for (const Json& link : json["links"]) names.push_back(link["name"]);
      if (json["next"].is_null()) return names;
      query["after"] = json["next"];
      between();
    }
    ADD_FAILURE() << "pages without end";
    return names;
  }
  std::vector<std::string> NamesOf(const auto& is_wanted) const {
    std::vector<std::string> names;
    for (const LinkOnFabric& link : links_) {
      if (is_wanted(link)) names.push_back(fabric_.LinkName(link.link));
    }
    return names;
  }
  LinkOnFabric& Find(std::string_view name) {
    return *std::ranges::find(links_, fabric_.FindLink(name), &LinkOnFabric::link);
  }

  Random random_{7};
  topology::Fabric fabric_ = Build({.leaves = 3, .hosts_per_leaf = 2, .spines = 2});
  std::vector<LinkOnFabric> links_;
  std::vector<LinkId> job_links_;
};

TEST_F(LinkRoutesTest, PagesOfAnySizeAreTheWholeListOnceAndInOrder) {
  for (int round = 0; round < 20; ++round) {
    ChangeAll();
    // Down or dead, then otherwise not up, then by load over what is left; of equal ones the number decides.
    std::vector<std::tuple<int, double, size_t>> order;
    for (size_t i = 0; i < links_.size(); ++i) {
      const LinkOnFabric& link = links_[i];
      const bool is_dead = link.state == LinkState::kDown || link.health == 0;
      const bool is_up = link.state == LinkState::kUp && link.health == 1;
      const double fullness = link.load == 0 ? 0 : link.load / (link.health * fabric_.capacity(link.link).value());
      order.emplace_back(is_dead ? 0 : is_up ? 2 : 1, -fullness, i);
    }
    std::ranges::sort(order);
    std::vector<std::string> expected;
    for (const auto& [rank, fullness, i] : order) expected.push_back(fabric_.LinkName(links_[i].link));
    for (const size_t limit : {size_t{1}, size_t{3}, links_.size() - 1, links_.size(), size_t{10'000}}) {
      EXPECT_EQ(AskAll({{"limit", fmt::format("{}", limit)}}), expected) << limit;
    }
    EXPECT_EQ(AskAll({{"order", "fabric"}, {"limit", "7"}}), NamesOf([](const LinkOnFabric&) { return true; }));
  }
}

TEST_F(LinkRoutesTest, WhileLinksChangeThoseThatStayComeOnce) {
  for (int round = 0; round < 50; ++round) {
    ChangeAll();
    const auto before = links_;
    std::set<std::string> changed;
    const auto change_some = [&] {
      LinkOnFabric& link = links_[random_.Below(links_.size())];
      Change(&link);
      changed.insert(fabric_.LinkName(link.link));
    };
    std::map<std::string, int> times;
    for (const std::string& name : AskAll({{"limit", "4"}}, change_some)) ++times[name];
    for (const LinkOnFabric& link : before) {
      const std::string name = fabric_.LinkName(link.link);
      if (changed.contains(name)) continue;
      EXPECT_EQ(times[name], 1) << name;
    }
    EXPECT_EQ(AskAll({{"order", "fabric"}, {"limit", "4"}}, change_some),
              NamesOf([](const LinkOnFabric&) { return true; }));
  }
}

TEST_F(LinkRoutesTest, SelectionsAndTotals) {
  const auto is_up = [](const LinkOnFabric& link) { return link.state == LinkState::kUp && link.health == 1; };
  for (int round = 0; round < 10; ++round) {
    ChangeAll();
    job_links_ = {links_[3].link, links_[5].link, links_.back().link};
    const auto name_of = [&](const LinkOnFabric& link) { return fabric_.LinkName(link.link); };
    const auto has = [&](const LinkOnFabric& link, const char* part) {
      return name_of(link).find(part) != std::string::npos;
    };
    const auto expect = [&](HttpQuery query, const auto& is_wanted) {
      query["order"] = "fabric";
      const std::vector<std::string> expected = NamesOf(is_wanted);
      EXPECT_EQ(AskAll(query), expected) << query.begin()->first;
      query["limit"] = "1";
      EXPECT_EQ(Ask(query)["total"], expected.size());
      EXPECT_EQ(AskAll(query), expected);
    };
    expect({{"state", "up"}}, is_up);
    expect({{"state", "not_up"}}, [&](const LinkOnFabric& link) { return !is_up(link); });
    expect({{"state", "suspect"}}, [](const LinkOnFabric& link) { return link.state == LinkState::kSuspect; });
    expect({{"idle", "false"}}, [&](const LinkOnFabric& link) { return !is_up(link) || link.num_queue_pairs > 0; });
    expect({{"tier", "leaf-spine"}}, [&](const LinkOnFabric& link) { return has(link, "spine"); });
    expect({{"tier", "leaf-spine"}, {"endpoint", "spine1"}},
           [&](const LinkOnFabric& link) { return has(link, "spine1"); });
    expect({{"endpoint", "h3"}}, [&](const LinkOnFabric& link) { return has(link, "h3/"); });
    expect({{"endpoint", "h3/nic0"}}, [&](const LinkOnFabric& link) { return has(link, "h3/nic0"); });
    expect({{"beside", "leaf1->spine0"}}, [&](const LinkOnFabric& link) {
      return name_of(link) == "leaf1->spine0" || name_of(link) == "spine0->leaf1";
    });
    expect({{"text", "LEAF2-"}}, [&](const LinkOnFabric& link) { return has(link, "leaf2-"); });
    expect({{"job", "gpt"}},
           [&](const LinkOnFabric& link) { return std::ranges::find(job_links_, link.link) != job_links_.end(); });
    expect({{"job", "nobody"}}, [](const LinkOnFabric&) { return false; });
    const Json all = Ask({{"text", "nothing"}})["all"];
    EXPECT_EQ(all["links"], links_.size());
    EXPECT_EQ(all["not_up"], std::ranges::count_if(links_, std::not_fn(is_up)));
    EXPECT_EQ(all["in_use"],
              std::ranges::count_if(links_, [](const LinkOnFabric& link) { return link.num_queue_pairs > 0; }));
  }
}

TEST_F(LinkRoutesTest, AllThatIsKnownOfALink) {
  LinkOnFabric& link = Find("leaf0->spine1");
  link = {.link = link.link, .state = LinkState::kSuspect, .health = 0.5, .num_queue_pairs = 3, .load = 2};
  const double capacity = fabric_.capacity(link.link).value();
  const Json page = Ask({{"limit", "1"}});
  EXPECT_EQ(page["links"], Json({{{"name", "leaf0->spine1"},
                                  {"from", "leaf0"},
                                  {"to", "spine1"},
                                  {"tier", "leaf-spine"},
                                  {"capacity_bytes_per_s", capacity},
                                  {"state", "suspect"},
                                  {"health", 0.5},
                                  {"queue_pairs", 3},
                                  {"load", 2.0}}}));
  EXPECT_EQ(page["all"]["fullest"], 4 / capacity);
}

TEST_F(LinkRoutesTest, WhatCannotBeAskedIsSaidToBeSo) {
  const std::vector<std::pair<HttpQuery, std::string>> cases = {
      {{{"limit", "0"}}, "limit: expected a number of 1 to 10000, found '0'"},
      {{{"limit", "10001"}}, "found '10001'"},
      {{{"after", "spine"}}, "after: expected the 'next' of a page"},
      {{{"after", "1:nan:3"}}, "after: expected"},
      {{{"order", "best"}}, "order: expected worst or fabric"},
      {{{"state", "dwon"}}, "up, not_up, suspect, down, probation"},
      {{{"idle", "no"}}, "true or false"},
      {{{"tier", "pcie"}}, "host-leaf, leaf-spine, spine-core"},
      {{{"page", "2"}}, "unknown parameter 'page'; known: limit"},
      {{{"endpoint", "h99"}}, "no host, NIC or switch 'h99'"},
      {{{"beside", "h0"}}, "no link 'h0'"}};
  for (const auto& [query, message] : cases) {
    const auto json = LinkPageJson(fabric_, Source(), query);
    ASSERT_FALSE(json.ok()) << message;
    EXPECT_NE(json.status().message().find(message), std::string::npos) << json.status().message();
    const bool is_missing = query.contains("endpoint") || query.contains("beside");
    EXPECT_EQ(json.status().code(), is_missing ? StatusCode::kNotFound : StatusCode::kInvalidArgument);
  }
}

TEST_F(LinkRoutesTest, AnOverviewOfASmallFabricHasEveryCell) {
  Find("h0/nic0->leaf0").state = LinkState::kDown;
  Find("leaf0->spine1").num_queue_pairs = 1;
  Find("leaf0->spine1").load = 1;
  Find("spine1->leaf2").num_queue_pairs = 2;
  Find("spine1->leaf2").load = 2;
  const Json overview = LinkOverviewJson(fabric_, links_);
  ASSERT_EQ(overview["not_up"].size(), 1u);
  EXPECT_EQ(overview["not_up"][0]["name"], "h0/nic0->leaf0");
  ASSERT_EQ(overview["fullest"].size(), 2u);
  EXPECT_EQ(overview["fullest"][0]["name"], "spine1->leaf2");
  ASSERT_EQ(overview["matrices"].size(), 1u) << "no core";
  const Json& matrix = overview["matrices"][0];
  EXPECT_EQ(matrix["rows"], 3);
  EXPECT_EQ(matrix["columns"], 2);
  ASSERT_EQ(matrix["cells"].size(), 6u);
  for (const Json& cell : matrix["cells"]) {
    EXPECT_TRUE(cell["below"].get<std::string>().starts_with("leaf")) << cell;
    EXPECT_EQ(cell["links"].size(), 2u) << "there and back";
  }
}

// The only leaves that are shown for sure are those with the worst links; columns are those with the worst of these.
TEST_F(LinkRoutesTest, AMatrixOfALargeFabricHasTheWorstRowsAndColumns) {
  fabric_ = Build({.leaves = 60, .hosts_per_leaf = 1, .spines = 40});
  links_.clear();
  for (uint32_t l = 0; l < fabric_.num_links(); ++l) {
    if (topology::IsNetwork(fabric_.tier(LinkId(l)))) links_.push_back({.link = LinkId(l)});
  }
  Find("spine39->leaf59").state = LinkState::kDown;
  Find("leaf58->spine38").health = 0.5;
  Find("leaf57->spine37").num_queue_pairs = 1;
  Find("leaf57->spine37").load = 1;
  const Json matrix = LinkOverviewJson(fabric_, links_)["matrices"][0];
  std::set<std::string> rows, columns;
  for (const Json& cell : matrix["cells"]) {
    rows.insert(cell["below"]);
    columns.insert(cell["above"]);
  }
  EXPECT_EQ(matrix["rows"], 60);
  EXPECT_EQ(matrix["columns"], 40);
  EXPECT_EQ(rows.size(), 24u);
  EXPECT_EQ(columns.size(), 32u);
  EXPECT_EQ(matrix["cells"].size(), 24u * 32u);
  for (const char* leaf : {"leaf57", "leaf58", "leaf59", "leaf0", "leaf20"}) EXPECT_TRUE(rows.contains(leaf)) << leaf;
  for (const char* spine : {"spine37", "spine38", "spine39", "spine0"}) EXPECT_TRUE(columns.contains(spine)) << spine;
}

}  // namespace
}  // namespace fairlead::service

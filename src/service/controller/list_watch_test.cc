#include "service/controller/list_watch.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace fairlead::service {
namespace {

class ListWatchTest : public testing::Test {
 protected:
  void Tick(double seconds, bool is_heard = true) {
    told_.clear();
    watch_.Tick(SimTime::FromSeconds(Seconds(seconds)), is_heard,
                [this](const std::string& event, const Json& data) { told_.emplace_back(event, data.dump()); });
  }

  Json jobs_ = {{"jobs", Json::array({{{"name", "a"}}})}};
  std::vector<controller::HostView> hosts_ = std::vector<controller::HostView>(2);
  Json events_ = {{"events", Json::array()}};
  int num_made_ = 0;
  std::vector<std::pair<std::string, std::string>> told_;
  ListWatch watch_{{{"jobs",
                     [this] {
                       ++num_made_;
                       return HashOf(jobs_);
                     }},
                    {"hosts", [this] { return HashOf(hosts_); }}},
                   [this] { return events_; },
                   SimDuration(2'000'000'000)};
  using Told = std::vector<std::pair<std::string, std::string>>;
};

TEST_F(ListWatchTest, NamesTheListsThatDiffer) {
  Tick(0);
  EXPECT_EQ(told_, (Told{{"changed", R"(["jobs","hosts"])"}}));
  Tick(1);
  EXPECT_TRUE(told_.empty()) << "sooner than its period";
  Tick(2);
  EXPECT_EQ(told_, (Told{{"changed", "[]"}})) << "a sign of life";
  jobs_["jobs"][0]["level"] = 3;
  hosts_[0].last_message = SimTime(7);  // says nothing new
  Tick(4);
  EXPECT_EQ(told_, (Told{{"changed", R"(["jobs"])"}}));
  const auto tell_hosts = [this](double seconds) {
    Tick(seconds);
    EXPECT_EQ(told_, (Told{{"changed", R"(["hosts"])"}})) << seconds;
  };
  hosts_[0].is_connected = true;
  tell_hosts(6);
  std::swap(hosts_[0], hosts_[1]);
  tell_hosts(8);
  hosts_[0].agent_version = "2";
  tell_hosts(10);
  hosts_[0].name = "h0";
  tell_hosts(12);
  hosts_.emplace_back();
  tell_hosts(14);
}

TEST(ListHashTest, TellsLinksApartByAllThatIsShownOfThem) {
  std::vector<controller::LinkOnFabric> links(3);
  for (uint32_t l = 0; l < links.size(); ++l) links[l].link = LinkId(l);
  std::set<size_t> hashes = {HashOf(links)};
  EXPECT_TRUE(hashes.contains(HashOf(links)));
  const auto is_new = [&] { return hashes.insert(HashOf(links)).second; };
  links[1].state = traffic::LinkState::kDown;
  EXPECT_TRUE(is_new());
  links[1].health = 0.5;
  EXPECT_TRUE(is_new());
  links[2].num_queue_pairs = 1;
  EXPECT_TRUE(is_new());
  links[2].load = 0.25;
  EXPECT_TRUE(is_new());
  std::swap(links[1].load, links[2].load);
  EXPECT_TRUE(is_new());
  links.pop_back();
  EXPECT_TRUE(is_new());
}

TEST_F(ListWatchTest, NothingIsMadeForNobody) {
  Tick(0, false);
  Tick(10, false);
  EXPECT_EQ(num_made_, 0);
  EXPECT_TRUE(told_.empty());
}

TEST_F(ListWatchTest, EachEventIsToldOnce) {
  events_["events"].push_back({{"number", 1}, {"text", "of before"}});
  Tick(0);
  events_["events"].push_back({{"number", 2}, {"text", "new"}});
  Tick(2);
  EXPECT_EQ(told_, (Told{{"note", R"({"number":2,"text":"new"})"}, {"changed", "[]"}}));
  Tick(4);
  EXPECT_EQ(told_, (Told{{"changed", "[]"}}));
}

}  // namespace
}  // namespace fairlead::service

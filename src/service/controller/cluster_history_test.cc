#include "service/controller/cluster_history.h"

#include <gtest/gtest.h>

#include <map>

namespace fairlead::service {
namespace {

SimTime HistoryMoment(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

// [column] of a row.
double ValueOf(const Json& history, size_t row, const std::string& column) {
  for (size_t i = 0; i < history["columns"].size(); ++i) {
    if (history["columns"][i] == column) return history["rows"].at(row).at(i).get<double>();
  }
  ADD_FAILURE() << "no column " << column;
  return 0;
}

TEST(ClusterHistoryTest, FiguresTellLossesByCause) {
  std::vector<controller::JobOnFabric> jobs(3);
  for (size_t j = 0; j < jobs.size(); ++j) {
    jobs[j].name = std::string(1, static_cast<char>('a' + j));
    jobs[j].num_gpus = 8;
    jobs[j].iteration_time = Seconds(2);
    jobs[j].fastest_iteration = Seconds(1);  // half is lost: 4 GPUs
  }
  std::vector<controller::WatchedFinding> findings(4);
  for (controller::WatchedFinding& watched : findings) watched.finding.cleared = SimTime::Never();
  findings[3].job = "a";  // suspected only
  findings[3].finding.confirmed = SimTime::Never();
  findings[0].job = "b";
  findings[0].finding.syndrome = model::Syndrome::kCommSlow;
  findings[0].finding.confirmed = HistoryMoment(1);
  findings[1].job = "c";
  findings[1].finding.syndrome = model::Syndrome::kCommHang;
  findings[1].finding.confirmed = HistoryMoment(1);
  findings[2] = findings[1];  // of before
  findings[2].job = "a";
  findings[2].finding.cleared = HistoryMoment(2);
  std::vector<controller::LinkOnFabric> links(2);
  links[1].health = 0.5;
  const ClusterFigures figures = FiguresOf(jobs, findings, links, {}, 2, 8);
  EXPECT_EQ(figures.jobs, 3);
  EXPECT_EQ(figures.gpus, 24);
  EXPECT_EQ(figures.lost_sharing, 4);       // a
  EXPECT_EQ(figures.lost_findings, 4 + 8);  // b, and all of c, which hangs
  EXPECT_EQ(figures.findings, 2);
  EXPECT_EQ(figures.isolated_gpus, 16);
  EXPECT_EQ(figures.links_not_up, 1);
}

TEST(ClusterHistoryTest, APeriodIsTheMeanOfItsLooksAndCountersAreWhatCame) {
  ClusterHistory history;
  // At 600 s the minute begins: GPUs 10, 20, 30 in it, and 2 path changes.
  EXPECT_FALSE(history.Add(HistoryMoment(605), {.gpus = 10, .path_changes = 5}));
  EXPECT_FALSE(history.Add(HistoryMoment(625), {.gpus = 20, .path_changes = 6}));
  EXPECT_FALSE(history.Add(HistoryMoment(645), {.gpus = 30, .path_changes = 7}));
  const auto change = history.Add(HistoryMoment(665), {.gpus = 40, .path_changes = 10});
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->key, "controller/history/000010");
  const Json json = history.ToJson();
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(ValueOf(json, 0, "at_s"), 600);
  EXPECT_EQ(ValueOf(json, 0, "gpus"), 20);
  EXPECT_EQ(ValueOf(json, 0, "path_changes"), 2);
  EXPECT_EQ(ValueOf(json, 1, "at_s"), 660);
  EXPECT_EQ(ValueOf(json, 1, "path_changes"), 3);
  EXPECT_EQ(history.ToJson(660)["rows"].size(), 1u);
}

TEST(ClusterHistoryTest, ADayIsKeptAndSurvives) {
  const ClusterHistoryOptions options{.period = SimDuration(60'000'000'000), .num_periods = 10};
  std::map<std::string, std::string> store;
  ClusterHistory history(options);
  for (int minute = 0; minute < 35; ++minute) {
    const auto change = history.Add(HistoryMoment(60.0 * minute), {.jobs = static_cast<double>(minute)});
    if (change) store[change->key] = *change->value;
  }
  EXPECT_EQ(store.size(), 10u) << "a record for each place in the ring";
  EXPECT_EQ(history.ToJson()["rows"].size(), 11u) << "ten that are over, and the one under way";
  EXPECT_EQ(ValueOf(history.ToJson(), 0, "jobs"), 24);

  std::vector<store::Record> records = {
      {"controller/history/x", "not JSON"}, {"controller/history/y", "[1,2]"}, {"other", "[1]"}};
  for (const auto& [key, value] : store) records.push_back({key, value});
  ClusterHistory next(options);
  next.Restore(HistoryMoment(60.0 * 36), records);
  const Json json = next.ToJson();
  // 27 to 33 are less than ten minutes old; 34 was under way and is lost.
  ASSERT_EQ(json["rows"].size(), 7u);
  EXPECT_EQ(ValueOf(json, 0, "jobs"), 27);
  EXPECT_EQ(ValueOf(json, 6, "jobs"), 33);
  EXPECT_FALSE(next.Add(HistoryMoment(60.0 * 36 + 1), {}));
  EXPECT_EQ(next.ToJson()["rows"].size(), 8u);
}

TEST(ClusterHistoryTest, CountersOfANewControllerDoNotRunBackwards) {
  ClusterHistory history;
  history.Add(HistoryMoment(0), {.actions = 9});
  history.Add(HistoryMoment(60), {.actions = 3});
  EXPECT_EQ(ValueOf(history.ToJson(), 1, "actions"), 0);
}

}  // namespace
}  // namespace fairlead::service

#include "diagnosis/c4d/thread_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::RankId;
using model::ThreadState;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

SimTime PlaceAt(double seconds) { return SimTime(static_cast<int64_t>(seconds * 1e9)); }

// Eight ranks on four hosts.
class ThreadPlacesTest : public testing::Test {
 protected:
  void Tell(uint32_t rank, double at, const std::string& place, ThreadState state = ThreadState::kSleeping) {
    model::RankReport report;
    report.job = JobId(0);
    report.rank = RankId(rank);
    report.number = number_++;
    report.at = PlaceAt(at);
    report.threads = {{.name = "python", .state = state, .place = place, .count = 1, .is_first = true},
                      {.name = "pool", .state = ThreadState::kSleeping, .place = "futex_wait", .count = rank + 1}};
    picture_.Add(PlaceAt(at), report, [](const CompletedOperation&) {});
  }

  JobPicture picture_ = JobPicture(MakeExampleLayout({.hosts = 4, .gpus = 2}), SimTime(), {});
  model::Finding finding_;
  uint64_t number_ = 0;
};

TEST_F(ThreadPlacesTest, RanksInOnePlaceAreOneAndTheAccusedComeFirst) {
  for (const uint32_t rank : {0, 1, 2, 4, 5, 7}) Tell(rank, 10, "poll");
  Tell(6, 10, "nfs_wait", ThreadState::kBlocked);
  finding_.culprits = {{model::CulpritKind::kRank, RankId(6), {}, HostId(3), {}, {}, {}}};
  const std::vector<model::RankThreads> places = FindThreadPlaces(picture_, finding_, PlaceAt(20));
  ASSERT_THAT(places, SizeIs(2));
  EXPECT_THAT(places[0].ranks, ElementsAre(RankId(6)));
  EXPECT_TRUE(places[0].is_accused);
  EXPECT_EQ(places[0].groups[0].place, "nfs_wait");
  // Rank 3 has told nothing.
  EXPECT_THAT(places[1].ranks, ElementsAre(RankId(0), RankId(1), RankId(2), RankId(4), RankId(5), RankId(7)));
  EXPECT_FALSE(places[1].is_accused);
  EXPECT_EQ(places[1].groups[1].count, 1U) << "of rank 0";
}

TEST_F(ThreadPlacesTest, ADifferentStateIsADifferentPlaceAndTheAccusedOneIsShown) {
  Tell(0, 10, "poll");
  Tell(1, 10, "poll", ThreadState::kStopped);
  Tell(2, 10, "poll");
  finding_.culprits = {{model::CulpritKind::kHost, {}, {}, HostId(1), {}, {}, {}}};
  const std::vector<model::RankThreads> places = FindThreadPlaces(picture_, finding_, PlaceAt(20));
  ASSERT_THAT(places, SizeIs(2));
  EXPECT_THAT(places[0].ranks, ElementsAre(RankId(0), RankId(2)));
  EXPECT_TRUE(places[0].is_accused) << "rank 2 is on host 1";
  EXPECT_EQ(places[0].groups[1].count, 3U) << "what is shown is rank 2's";
}

TEST_F(ThreadPlacesTest, WhatWasToldLongAgoIsNotBelieved) {
  Tell(0, 10, "poll");
  Tell(1, 100, "poll");
  const std::vector<model::RankThreads> places = FindThreadPlaces(picture_, finding_, PlaceAt(110));
  ASSERT_THAT(places, SizeIs(1));
  EXPECT_THAT(places[0].ranks, ElementsAre(RankId(1)));
  EXPECT_THAT(FindThreadPlaces(picture_, finding_, PlaceAt(1000)), IsEmpty());
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d

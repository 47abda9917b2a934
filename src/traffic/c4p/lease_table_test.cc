#include "traffic/c4p/lease_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "traffic/steady_time.h"

namespace fairlead::traffic::c4p {
namespace {

constexpr SimDuration kTtl(60);

LeaseId Lease(uint32_t host, uint32_t job) { return {HostId(host), JobId(job)}; }

TEST(LeaseTableTest, AHeartbeatRenewsAllLeasesOfItsHostOnly) {
  LeaseTable table(kTtl);
  table.Grant(Lease(1, 1), SimTime(0));
  table.Grant(Lease(1, 2), SimTime(0));
  table.Grant(Lease(2, 1), SimTime(0));
  EXPECT_EQ(table.RenewAll(HostId(1), SimTime(30)), 2u);
  EXPECT_EQ(table.RenewAll(HostId(9), SimTime(30)), 0u);
  EXPECT_TRUE(table.Expire(SimTime(59)).empty());
  EXPECT_EQ(table.Expire(SimTime(60)), std::vector{Lease(2, 1)});
  EXPECT_EQ(table.Deadline(Lease(1, 2)), SimTime(90));
  EXPECT_EQ(table.Expire(SimTime(90)), (std::vector{Lease(1, 1), Lease(1, 2)}));
  EXPECT_EQ(table.size(), 0u);
}

TEST(LeaseTableTest, ALeaseRenewedAloneOutlivesTheOthersOfItsHost) {
  LeaseTable table(kTtl);
  table.Grant(Lease(1, 1), SimTime(0));
  table.Grant(Lease(1, 2), SimTime(0));
  EXPECT_TRUE(table.Renew(Lease(1, 2), SimTime(50)));
  EXPECT_FALSE(table.Renew(Lease(1, 3), SimTime(50)));
  EXPECT_EQ(table.Expire(SimTime(100)), std::vector{Lease(1, 1)});
  EXPECT_TRUE(table.IsHeld(Lease(1, 2)));
}

TEST(LeaseTableTest, ReleasedLeasesNeverExpireAndAreGoneOnce) {
  LeaseTable table(kTtl);
  table.Grant(Lease(1, 1), SimTime(0));
  EXPECT_TRUE(table.Release(Lease(1, 1)));
  EXPECT_FALSE(table.Release(Lease(1, 1)));
  EXPECT_EQ(table.CountOf(HostId(1)), 0u);
  EXPECT_TRUE(table.Expire(SimTime(1000)).empty());
  // The same name again is a new lease with a full term.
  table.Grant(Lease(1, 1), SimTime(1000));
  EXPECT_TRUE(table.Expire(SimTime(1059)).empty());
  EXPECT_EQ(table.Expire(SimTime(1060)).size(), 1u);
}

// The naive twin: each lease with its deadline, searched from end to end.
class NaiveLeases {
 public:
  void Renew(LeaseId id, SimTime now) { deadlines_[id] = now + kTtl; }
  void RenewAll(HostId host, SimTime now) {
    for (auto& [id, deadline] : deadlines_) {
      if (id.host == host) deadline = now + kTtl;
    }
  }
  bool Release(LeaseId id) { return deadlines_.erase(id) > 0; }
  std::vector<LeaseId> Expire(SimTime now) {
    std::vector<std::pair<SimTime, LeaseId>> ended;
    for (const auto& [id, deadline] : deadlines_) {
      if (deadline <= now) ended.emplace_back(deadline, id);
    }
    std::sort(ended.begin(), ended.end());
    std::vector<LeaseId> ids;
    for (const auto& [deadline, id] : ended) {
      ids.push_back(id);
      deadlines_.erase(id);
    }
    return ids;
  }
  bool IsHeld(LeaseId id) const { return deadlines_.contains(id); }
  size_t size() const { return deadlines_.size(); }

 private:
  std::map<LeaseId, SimTime> deadlines_;
};

TEST(LeaseTableTest, RandomSequencesAgreeWithTheNaiveTable) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    LeaseTable table(kTtl);
    NaiveLeases naive;
    SimTime now;
    size_t num_expired = 0;
    for (int step = 0; step < 3000; ++step) {
      now = now + SimDuration(static_cast<int64_t>(random.Below(8)));
      const LeaseId id = Lease(static_cast<uint32_t>(random.Below(6)), static_cast<uint32_t>(random.Below(5)));
      switch (random.Below(5)) {
        case 0:
          table.Grant(id, now);
          naive.Renew(id, now);
          break;
        case 1:
          ASSERT_EQ(table.Renew(id, now), naive.IsHeld(id));
          if (naive.IsHeld(id)) naive.Renew(id, now);
          break;
        case 2:
          if (random.Below(4) > 0) break;  // else hardly any would live to expire
          table.RenewAll(id.host, now);
          naive.RenewAll(id.host, now);
          break;
        case 3:
          if (random.Below(4) > 0) break;
          ASSERT_EQ(table.Release(id), naive.Release(id));
          break;
        default: {
          const std::vector<LeaseId> ended = naive.Expire(now);
          ASSERT_EQ(table.Expire(now), ended) << "seed " << seed << " step " << step;
          num_expired += ended.size();
        }
      }
      ASSERT_EQ(table.size(), naive.size());
      ASSERT_EQ(table.IsHeld(id), naive.IsHeld(id));
    }
    EXPECT_GT(num_expired, 20u);
    EXPECT_EQ(table.Expire(now + kTtl).size(), naive.Expire(now + kTtl).size());
    EXPECT_EQ(table.size(), 0u);
  }
}

TEST(SteadyTimeTest, PassesAsTheClockDoesBetweenItsJumps) {
  SteadyTime time(SimDuration(5));
  EXPECT_EQ(time.Advance(SimTime(1'000'000)), SimTime(0));
  EXPECT_EQ(time.Advance(SimTime(1'000'003)), SimTime(3));
  EXPECT_EQ(time.Advance(SimTime(7)), SimTime(3));           // set back by a million
  EXPECT_EQ(time.Advance(SimTime(9)), SimTime(5));           // and on from there
  EXPECT_EQ(time.Advance(SimTime(5'000'000)), SimTime(10));  // ahead: one step
  EXPECT_EQ(time.Advance(SimTime(5'000'005)), SimTime(15));
  EXPECT_EQ(time.num_jumps_back(), 1u);
  EXPECT_EQ(time.num_jumps_ahead(), 1u);
}

TEST(SteadyTimeTest, SurvivesTheWholeRangeOfTheClock) {
  SteadyTime time(SimDuration(5));
  time.Advance(SimTime(std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(time.Advance(SimTime::Never()), SimTime(5));
  EXPECT_EQ(time.Advance(SimTime(std::numeric_limits<int64_t>::min())), SimTime(5));
}

// A clock that leaps at every look can't keep the dead alive: 12 steps of 5 make a term of 60.
TEST(SteadyTimeTest, LeapsPutDeadlinesOffButNotForEver) {
  SteadyTime time(SimDuration(5));
  LeaseTable table(kTtl);
  table.Grant(Lease(1, 1), time.Advance(SimTime(0)));
  for (int64_t leap = 1; leap < 12; ++leap) {
    EXPECT_TRUE(table.Expire(time.Advance(SimTime(leap * 1'000'000))).empty()) << leap;
  }
  EXPECT_EQ(table.Expire(time.Advance(SimTime(12'000'000))).size(), 1u);
}

}  // namespace
}  // namespace fairlead::traffic::c4p

#include "diagnosis/c4d/independent_signs.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "diagnosis/c4d/c4d_master.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::RankId;
using model::Sign;

constexpr uint32_t kHosts = 6;

// One rank on each host, which do an all-reduce every second.
class SilentHostsTest : public testing::Test {
 protected:
  SilentHostsTest() {
    model::JobLayout layout;
    layout.job = JobId(1);
    model::Communicator data{"data 0", {}};
    for (uint32_t r = 0; r < kHosts; ++r) {
      model::RankPlace place;
      place.host = HostId(r);
      place.nic = NicId(r);
      layout.ranks.push_back(place);
      data.ranks.emplace_back(r);
    }
    layout.communicators = {data};
    const std::vector<model::TelemetryRecord> records = {layout};
    master_.Handle(Now(), records);
    for (int i = 0; i < 5; ++i) Tick({}, /*is_stuck=*/false);
  }

  SimTime Now() const { return SimTime::FromSeconds(Seconds(seconds_)); }

  void Tick(const std::set<uint32_t>& lost, bool is_stuck) {
    ++seconds_;
    std::vector<model::TelemetryRecord> records;
    for (uint32_t r = 0; r < kHosts; ++r) {
      if (lost.contains(r)) continue;
      model::OperationRecord operation;
      operation.communicator = model::CommunicatorId(0);
      operation.kind = model::OperationKind::kAllReduce;
      operation.sequence = operation.issue_index = num_done_;
      operation.bytes = 1000;
      operation.enqueued = begun_;
      operation.started = begun_;
      if (!is_stuck) operation.finished = Now();
      model::RankReport rank;
      rank.job = JobId(1);
      rank.rank = RankId(r);
      rank.number = static_cast<uint64_t>(seconds_);
      rank.at = Now();
      rank.operations = {operation};
      records.emplace_back(std::move(rank));
      model::HostReport host;
      host.job = JobId(1);
      host.host = HostId(r);
      host.number = static_cast<uint64_t>(seconds_);
      host.at = Now();
      host.ranks = {{RankId(r), model::ProcessState::kRunning, {}}};
      records.emplace_back(std::move(host));
    }
    if (!is_stuck) {
      ++num_done_;
      begun_ = Now();
    }
    master_.Handle(Now(), records);
  }

  // The signs of the one finding that holds after so many seconds in which these hosts say nothing.
  std::vector<Sign> SignsAfter(int seconds, const std::set<uint32_t>& lost) {
    for (int i = 0; i < seconds; ++i) Tick(lost, /*is_stuck=*/true);
    std::vector<std::vector<Sign>> signs;
    for (const model::Finding& finding : master_.findings()) {
      if (finding.state == model::FindingState::kConfirmed) signs.push_back(finding.signs);
    }
    EXPECT_EQ(signs.size(), 1u);
    return signs.empty() ? std::vector<Sign>() : signs.front();
  }

  C4dMaster master_{C4dOptions()};
  int seconds_ = 1;
  uint64_t num_done_ = 0;
  SimTime begun_ = SimTime::FromSeconds(Seconds(1));
};

TEST_F(SilentHostsTest, SilenceOfOneForWhichOthersWaitIsTwoSigns) {
  EXPECT_EQ(SignsAfter(21, {4}), (std::vector<Sign>{Sign::kPeers, Sign::kSilence}));
}

// The wait is explained by one of them; the agent of the other may just start again.
TEST_F(SilentHostsTest, OfSeveralTheWaitIsASignOnceAllHaveBeenSilentForLong) {
  EXPECT_EQ(SignsAfter(25, {3, 4}), std::vector<Sign>{Sign::kSilence});
  EXPECT_EQ(SignsAfter(10, {3, 4}), (std::vector<Sign>{Sign::kPeers, Sign::kSilence}));
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d

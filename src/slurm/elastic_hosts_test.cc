#include "slurm/elastic_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "slurm/state_names.h"
#include "topology/clos_fabrics.h"

namespace fairlead::slurm {
namespace {

using controller::AllocationChange;
using controller::HostState;
using scheduling::NodeShare;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// Four leaves of four hosts, h0 .. h15, all up, in the partition "train".
class ElasticHostsTest : public testing::Test {
 protected:
  ElasticHostsTest() {
    topology::ClosSpec spec;
    spec.leaves = 4;
    spec.hosts_per_leaf = 4;
    fabric_ = topology::BuildClos(spec).value();
    Partition train = {.name = "train", .is_up = true, .is_default = true, .hosts = {}};
    for (uint32_t h = 0; h < fabric_->num_hosts(); ++h) {
      Node node;
      node.name = fabric_->HostName(HostId(h));
      node.is_up = true;
      train.hosts.push_back(node.name);
      state_.nodes.push_back(node);
    }
    state_.partitions = {train};
  }

  Node& NodeOf(uint32_t host) { return state_.nodes[host]; }
  std::map<HostState, std::vector<uint32_t>> Look(ElasticHosts* hosts) {
    EXPECT_TRUE(hosts->LookAtPartitions(state_).ok());
    std::map<HostState, std::vector<uint32_t>> by_state;
    for (const auto& change : hosts->LookAtHosts(state_, [](uint32_t job) { return job < 100; })) {
      by_state[change.state].push_back(change.host.value());
    }
    return by_state;
  }
  AllocationChange ChangeOf(uint32_t job, size_t num_hosts) const {
    AllocationChange change{.job = JobId(job), .nodes = {}, .reason = {}};
    for (size_t h = 0; h < num_hosts; ++h) change.nodes.push_back({HostId(h), fabric_->num_gpus_of(HostId(h)), 0});
    return change;
  }

  std::optional<topology::Fabric> fabric_;
  ClusterState state_;
};

TEST_F(ElasticHostsTest, RoomIsWhereNobodyElseIs) {
  NodeOf(1).is_up = false;
  NodeOf(2).is_drained = true;
  state_.reservations = {{.name = "now", .hosts = {"h3"}, .users = {}, .is_active = true},
                         {.name = "later", .hosts = {"h4"}, .users = {}, .is_active = false}};
  Job elastic;
  elastic.id = 7;
  elastic.hosts = {"h5"};
  Job other;
  other.id = 700;
  other.hosts = {"h6"};
  elastic.state = other.state = JobState::kRunning;
  state_.jobs = {elastic, other};
  state_.partitions[0].hosts.pop_back();  // h15
  ElasticHosts hosts(*fabric_, {"train"});
  auto by_state = Look(&hosts);
  EXPECT_THAT(by_state[HostState::kDown], ElementsAre(1, 15));
  EXPECT_THAT(by_state[HostState::kDraining], ElementsAre(2, 3, 6));
  EXPECT_THAT(by_state[HostState::kUp], ElementsAre(0, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14));
  EXPECT_EQ(hosts.num_hosts(), 15U);
}

// Slurm tells of a job for minutes after its end, with the hosts that it had.
TEST_F(ElasticHostsTest, AJobThatHasEndedTakesNoRoom) {
  Job job;
  job.id = 700;
  job.hosts = {"h5", "h6"};
  state_.jobs = {job};
  ElasticHosts hosts(*fabric_, {"train"});
  for (const JobState state : {JobState::kEnded, JobState::kPending}) {
    state_.jobs[0].state = state;
    EXPECT_THAT(Look(&hosts)[HostState::kDraining], ElementsAre()) << NameOf(state);
  }
  for (const JobState state :
       {JobState::kConfiguring, JobState::kRunning, JobState::kSuspended, JobState::kCompleting}) {
    state_.jobs[0].state = state;
    EXPECT_THAT(Look(&hosts)[HostState::kDraining], ElementsAre(5, 6)) << NameOf(state);
  }
}

TEST_F(ElasticHostsTest, NoSizeWithoutEqualHosts) {
  ElasticHosts others(*fabric_, {"debug"});
  EXPECT_THAT(others.LookAtPartitions(state_).message(), HasSubstr("no host of debug is in the fabric"));
  EXPECT_FALSE(others.CanSize());
  ElasticHosts hosts(*fabric_, {"train"});
  ASSERT_TRUE(hosts.LookAtPartitions(state_).ok());
  EXPECT_TRUE(hosts.CanSize());
  state_.partitions.clear();
  EXPECT_FALSE(hosts.LookAtPartitions(state_).ok());
  EXPECT_FALSE(hosts.CanSize()) << "the answer of before is void";
}

TEST_F(ElasticHostsTest, NamesAndShares) {
  ElasticHosts hosts(*fabric_, {"train"});
  Look(&hosts);
  const auto shares = hosts.SharesOf({"h9", "h2"});
  ASSERT_TRUE(shares.has_value());
  EXPECT_THAT(hosts.NamesOf(*shares).value(), ElementsAre("h2", "h9"));
  EXPECT_FALSE(hosts.SharesOf({"h2", "login"}).has_value());
  EXPECT_THAT(hosts.NamesOf({NodeShare{HostId(2), 1, 0}}).status().message(), HasSubstr("a part of a host"));
}

TEST_F(ElasticHostsTest, TheLargestJobGetsALeafOfItsOwn) {
  ElasticHosts hosts(*fabric_, {"train"});
  Look(&hosts);
  // Of three leaves one host each is kept: only the last leaf holds four.
  std::vector<AllocationChange> changes = {ChangeOf(1, 2), ChangeOf(2, 4)};
  EXPECT_THAT(hosts.PlaceNear({HostId(0), HostId(5), HostId(10)}, &changes), UnorderedElementsAre(JobId(1), JobId(2)));
  EXPECT_THAT(hosts.NamesOf(Sorted(changes[1].nodes)).value(), ElementsAre("h12", "h13", "h14", "h15"));
}

// Whatever has room: jobs get different hosts, as many as they had, of those with room that nobody keeps.
TEST_F(ElasticHostsTest, EachHostGoesToOneJob) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    std::set<HostId> kept;
    std::set<HostId> usable;
    for (uint32_t h = 0; h < fabric_->num_hosts(); ++h) {
      NodeOf(h).is_up = random.Below(8) > 0;
      NodeOf(h).is_drained = random.Below(8) == 0;
      if (random.Below(4) == 0) kept.insert(HostId(h));
      if (NodeOf(h).is_up && !NodeOf(h).is_drained && !kept.contains(HostId(h))) usable.insert(HostId(h));
    }
    ElasticHosts hosts(*fabric_, {"train"});
    Look(&hosts);
    std::vector<AllocationChange> changes;
    for (size_t left = usable.size(); left > 0 && changes.size() < 5;) {
      const size_t num_hosts = 1 + random.Below(left);
      changes.push_back(ChangeOf(static_cast<uint32_t>(changes.size()), num_hosts));
      left -= num_hosts;
    }
    changes.push_back(ChangeOf(50, 0));  // it stops
    const std::vector<AllocationChange> before = changes;
    EXPECT_EQ(hosts.PlaceNear(kept, &changes).size(), changes.size() - 1) << "there was room for all";
    std::set<HostId> given;
    for (size_t c = 0; c < changes.size(); ++c) {
      EXPECT_EQ(changes[c].nodes.size(), before[c].nodes.size());
      for (const NodeShare& share : changes[c].nodes) {
        EXPECT_TRUE(given.insert(share.node).second);
        EXPECT_TRUE(usable.contains(share.node));
        EXPECT_EQ(share.num_gpus, hosts.gpus_of_each());
      }
    }
  }
}

}  // namespace
}  // namespace fairlead::slurm

#include "traffic/c4p/c4p_master.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "traffic/c4p/c4p_master_example.h"

namespace fairlead::traffic::c4p {
namespace {

using Kind = QueuePairAnswer::Kind;

class C4pMasterTest : public ::testing::Test {
 protected:
  // Hosts 0..3 are in one segment, 4..7 in the other.
  topology::Fabric fabric_ = MasterFabric();
  World world_{fabric_};

  std::vector<ConnectionAnswer> AskFor(uint32_t host, uint32_t job, std::vector<ConnectionRequest> connections) {
    world_.TakeActions();
    world_.Ask(host, job, std::move(connections));
    const auto answers = Only<PathsGranted>(world_.TakeActions());
    EXPECT_EQ(answers.size(), 1u);
    return answers.empty() ? std::vector<ConnectionAnswer>() : answers[0].connections;
  }
  // The uplink of a held queue pair's leaf.
  LinkId UplinkOf(LeaseId lease, uint64_t connection, uint32_t queue_pair) {
    const HeldPath& held = world_.HeldBy(lease, connection, queue_pair);
    return world_.Route(world_.held().at(lease).at(connection).request, held.plane, held.path)[1];
  }
};

TEST_F(C4pMasterTest, AScanTurnsAReservedPathIntoAPort) {
  const auto answers = AskFor(0, 1, {world_.Connection(5, 0, 4)});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].reason, "");
  ASSERT_EQ(answers[0].queue_pairs.size(), 2u);
  for (uint32_t q = 0; q < 2; ++q) {
    EXPECT_EQ(answers[0].queue_pairs[q].kind, Kind::kScan);
    EXPECT_EQ(answers[0].queue_pairs[q].plane, q);  // left to left, right to right
    EXPECT_EQ(answers[0].queue_pairs[q].port, 0);
  }
  EXPECT_EQ(world_.num_scans(), 2u);  // one per plane
  world_.Settle();
  const auto found = world_.master().Find(JobId(1), 5);
  for (uint32_t q = 0; q < 2; ++q) {
    EXPECT_EQ(found->queue_pairs[q].kind, Kind::kUse);
    EXPECT_EQ(found->queue_pairs[q].path, answers[0].queue_pairs[q].path);
  }
  world_.ExpectTrueAnswers();
  EXPECT_EQ(world_.master().counters().of(MoveCause::kPortFound), 2u);
  EXPECT_EQ(world_.master().num_pending_scans(), 0u);
}

// The port that was found is not in use when a link elsewhere fails, so its holder is not told to use it. That it is
// seen again is then news.
TEST_F(C4pMasterTest, APortThatIsFoundWhileALinkFailsIsToldWhenItIsSeenAgain) {
  world_.Ask(0, 1, {world_.Connection(5, 0, 4)});
  std::vector<PathEvent> events = world_.AnswerScans();
  const uint32_t path = world_.HeldBy(LeaseOf(0, 1), 5, 0).path;
  const LinkId other = world_.Route(world_.Connection(5, 0, 4), 0, (path + 1) % 4)[1];
  std::ranges::copy(world_.SetCable(other, 0), std::back_inserter(events));
  world_.Send(std::move(events));
  EXPECT_EQ(world_.master().Find(JobId(1), 5)->queue_pairs[0].kind, Kind::kScan);
  world_.Settle();
  EXPECT_EQ(world_.master().Find(JobId(1), 5)->queue_pairs[0].kind, Kind::kUse);
  world_.ExpectTrueAnswers();
}

TEST_F(C4pMasterTest, ShowsEachQueuePairOnceWithItsAnswerAndPath) {
  world_.Ask(0, 1, {world_.Connection(5, 0, 4, 4)});
  world_.Ask(1, 2, {world_.Connection(6, 1, 5, 2)});
  world_.Settle();
  world_.Release(LeaseOf(1, 2), {});
  uint32_t seen = 0;
  world_.master().VisitQueuePairs([&](const HeldQueuePair& held) {
    EXPECT_EQ(held.lease, LeaseOf(0, 1));
    EXPECT_EQ(held.request->connection, 5u);
    EXPECT_EQ(held.queue_pair, seen++);
    EXPECT_EQ(held.answer, world_.master().Find(JobId(1), 5)->queue_pairs[held.queue_pair]);
    const auto route = world_.Route(*held.request, held.answer.plane, held.answer.path);
    EXPECT_TRUE(std::ranges::equal(held.links, route));
  });
  EXPECT_EQ(seen, 4u);
}

TEST_F(C4pMasterTest, WhatAScanHasTaughtIsUsedAgain) {
  world_.Ask(0, 1, {world_.Connection(5, 0, 4, 8)});
  world_.Settle();
  world_.Release(LeaseOf(0, 1), {});
  // 4 queue pairs a plane on 4 paths: every path of both planes is known. The same again needs no scan.
  const auto again = AskFor(0, 2, {world_.Connection(5, 0, 4, 8)});
  for (const QueuePairAnswer& answer : again[0].queue_pairs) EXPECT_EQ(answer.kind, Kind::kUse);
  EXPECT_EQ(world_.num_scans(), 0u);
  world_.ExpectTrueAnswers();
}

// The kernel may choose a port that a scan has seen: given to another connection it would be refused at the other end.
TEST_F(C4pMasterTest, APortOfASocketIsNotGivenToAnother) {
  const auto ports_of = [&](uint64_t connection, uint32_t job, uint32_t num_queue_pairs) {
    world_.Ask(0, job, {world_.Connection(connection, 0, 4, num_queue_pairs)});
    world_.Settle();
    std::set<uint16_t> ports;
    const ConnectionAnswer answers = world_.master().Find(JobId(job), connection).value();
    for (const QueuePairAnswer& answer : answers.queue_pairs) ports.insert(answer.port);
    return ports;
  };
  const std::set<uint16_t> known = ports_of(5, 1, 8);
  world_.Release(LeaseOf(0, 1), {});
  const std::set<uint16_t> steered = ports_of(6, 2, 2);
  const uint16_t socket_port = *std::ranges::find_if(known, [&](uint16_t port) { return !steered.contains(port); });
  const QueuePairOpened opened = {.host = HostId(0),
                                  .job = JobId(2),
                                  .connection = 6,
                                  .queue_pair = 0,
                                  .port = *steered.begin(),
                                  .socket_port = socket_port};
  world_.Send({opened, opened});
  EXPECT_FALSE(ports_of(7, 3, 8).contains(socket_port));
  world_.ExpectTrueAnswers();
  world_.Release(LeaseOf(0, 2), {});
  world_.Release(LeaseOf(0, 3), {});
  world_.Wait(SimDuration(15'000'000'000));
  EXPECT_TRUE(ports_of(8, 4, 8).contains(socket_port)) << "free again";
}

// Packets with it may be under way, and would reach the socket of its next owner.
TEST_F(C4pMasterTest, APortThatPacketsHadRests) {
  uint32_t num_jobs = 2;
  // Of so many queue pairs that every port that is known and free is among them.
  const auto free_ports = [&] {
    const uint32_t job = ++num_jobs;
    std::set<uint16_t> ports;
    for (uint64_t connection = 0; connection < 4; ++connection) {
      world_.Ask(0, job, {world_.Connection(connection, 0, 4, 8)});
      world_.Settle();
      const ConnectionAnswer answers = world_.master().Find(JobId(job), connection).value();
      for (const QueuePairAnswer& answer : answers.queue_pairs) ports.insert(answer.port);
    }
    world_.Release(LeaseOf(0, job), {});
    return ports;
  };
  const uint16_t shown = *free_ports().rbegin();
  world_.Ask(0, 2, {world_.Connection(6, 0, 4)});
  world_.Settle();
  ASSERT_NE(world_.master().Find(JobId(2), 6)->queue_pairs[0].port, shown);
  QueuePairOpened reported = {
      .host = HostId(0), .job = JobId(2), .connection = 6, .queue_pair = 0, .port = shown, .socket_port = 0};
  EXPECT_TRUE(free_ports().contains(shown));
  world_.Send({reported});
  EXPECT_FALSE(free_ports().contains(shown));
  reported.port = 0;
  world_.Send({reported});
  EXPECT_FALSE(free_ports().contains(shown)) << "until what carries it has arrived";
  world_.Wait(SimDuration(14'999'000'000));
  EXPECT_FALSE(free_ports().contains(shown));
}

TEST_F(C4pMasterTest, ARepeatedRequestHasTheSameAnswerAndReservesNothing) {
  const auto first = AskFor(0, 1, {world_.Connection(5, 0, 4), world_.Connection(6, 0, 5)});
  const size_t reserved = world_.master().allocator().num_reservations();
  EXPECT_EQ(AskFor(0, 1, {world_.Connection(5, 0, 4), world_.Connection(6, 0, 5)}), first);
  EXPECT_EQ(world_.master().allocator().num_reservations(), reserved);
  EXPECT_EQ(world_.master().counters().duplicate_requests, 2u);
  // Twice in one request, too.
  const auto twice = AskFor(0, 1, {world_.Connection(7, 0, 4), world_.Connection(7, 0, 4)});
  EXPECT_EQ(twice[0], twice[1]);
  EXPECT_EQ(world_.master().allocator().num_reservations(), reserved + 2);
}

TEST_F(C4pMasterTest, ANameThatIsTakenIsRefusedWithWhoHasIt) {
  AskFor(0, 1, {world_.Connection(5, 0, 4)});
  const auto other = AskFor(0, 1, {world_.Connection(5, 0, 6)});
  EXPECT_TRUE(other[0].queue_pairs.empty());
  EXPECT_NE(other[0].reason.find("the name is taken by a connection of h0 from h0/nic0 to h4/nic0"), std::string::npos)
      << other[0].reason;
  // Another host of the job can't take it either; another job can.
  EXPECT_TRUE(AskFor(1, 1, {world_.Connection(5, 1, 4)})[0].queue_pairs.empty());
  EXPECT_EQ(AskFor(1, 2, {world_.Connection(5, 1, 4)})[0].queue_pairs.size(), 2u);
}

TEST_F(C4pMasterTest, BadRequestsAreRefusedOneByOneAndTheRestIsServed) {
  auto unknown = world_.Connection(1, 0, 4);
  unknown.destination = NicId(1000u);
  auto weightless = world_.Connection(4, 0, 4);
  weightless.weight = 0;
  auto endless = world_.Connection(5, 0, 4);
  endless.weight = std::numeric_limits<double>::quiet_NaN();
  auto heavy = world_.Connection(9, 0, 4);
  heavy.weight = 1e30;
  const auto answers = AskFor(
      0, 1,
      {unknown, world_.Connection(2, 1, 4), world_.Connection(3, 0, 0), weightless, endless, heavy,
       world_.Connection(6, 0, 4, 0), world_.Connection(7, 0, 4, kMaxQueuePairs + 1), world_.Connection(8, 0, 4)});
  ASSERT_EQ(answers.size(), 9u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(answers[i].queue_pairs.empty()) << i;
    EXPECT_NE(answers[i].reason, "") << i;
  }
  EXPECT_NE(answers[0].reason.find("no NIC 1000; the fabric has 16 NICs"), std::string::npos) << answers[0].reason;
  EXPECT_NE(answers[1].reason.find("source h1/nic0 belongs to h1"), std::string::npos) << answers[1].reason;
  EXPECT_EQ(answers[8].queue_pairs.size(), 2u);
  EXPECT_EQ(world_.master().counters().refused_requests, 8u);
  EXPECT_EQ(world_.master().allocator().num_reservations(), 2u);
}

TEST_F(C4pMasterTest, EventsThatCantBeRightAreRejectedAndChangeNothing) {
  world_.Send({PathsRequested{.request = 1, .host = HostId(99u), .job = JobId(1), .connections = {}},
               PathsRequested{.request = 2, .host = HostId(0u), .job = JobId(), .connections = {}},
               LeasesRenewed{.host = HostId(99u), .num_leases = 0, .jobs = {}}, Report(LinkId(1u << 30), 0),
               Report(LinkId(0u), 1.5), Report(LinkId(0u), std::nan(""))});
  const auto actions = world_.TakeActions();
  EXPECT_EQ(Only<EventRejected>(actions).size(), 6u);
  EXPECT_EQ(actions.size(), 6u);
  EXPECT_EQ(world_.master().leases().size(), 0u);
  EXPECT_EQ(Only<EventRejected>(actions)[0].reason, "c4p: request: no host 99; the fabric has 8 hosts");
}

TEST_F(C4pMasterTest, QueuePairsBetweenTheSameNicsNeverShareAPort) {
  world_.Ask(0, 1, {world_.Connection(1, 0, 4, 16), world_.Connection(2, 0, 4, 16)});
  world_.Ask(0, 2, {world_.Connection(1, 0, 4, 16)});
  world_.Settle();
  world_.ExpectTrueAnswers();
  EXPECT_EQ(world_.master().counters().of(MoveCause::kPortFound), 48u);
}

// 8 queue pairs of each of 4 hosts leave over 2 leaves with 4 uplinks: 4 hosts * 4 QPs / 4 uplinks = 4 on each. A lost
// uplink moves its 4; when it is back, 4 return. All others keep their paths, some with a new port.
TEST_F(C4pMasterTest, ALostLinkMovesItsFlowsAndRepinsThoseThatTheHashDisplaces) {
  for (uint32_t h = 0; h < 4; ++h) world_.Ask(h, 1, {world_.Connection(h, h, h + 4, 8)});
  world_.Settle();
  const LinkId lost = UplinkOf(LeaseOf(0, 1), 0, 0);
  const auto before = world_.held();
  world_.Send(world_.SetCable(lost, 0));
  world_.Settle();
  const C4pCounters& counters = world_.master().counters();
  EXPECT_EQ(counters.of(MoveCause::kLinkDown), 4u);
  EXPECT_GT(counters.of(MoveCause::kRepinned), 0u);
  size_t moved = 0;
  for (const auto& [lease, connections] : world_.held()) {
    for (const auto& [name, held] : connections) {
      for (uint32_t q = 0; q < held.queue_pairs.size(); ++q) {
        const HeldPath& old = before.at(lease).at(name).queue_pairs[q];
        const auto route = world_.Route(held.request, old.plane, old.path);
        const bool was_on_it = std::find(route.begin(), route.end(), lost) != route.end();
        EXPECT_EQ(held.queue_pairs[q].path != old.path, was_on_it);
        moved += was_on_it ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(moved, 4u);
  world_.ExpectTrueAnswers();
  EXPECT_EQ(world_.master().allocator().load(lost), 0);

  // Back: on probation it carries none; after 3 clean rounds it takes its share.
  world_.Send(world_.SetCable(lost, 1));
  world_.Settle();
  EXPECT_EQ(world_.master().links().state(lost), LinkState::kProbation);
  EXPECT_EQ(world_.master().allocator().load(lost), 0);
  ProbeRoundFinished clean;
  for (const LinkId link : {lost, fabric_.reverse(lost)}) {
    PortScanSeen seen = world_.Probe({.source = world_.Nic(0), .destination = world_.Nic(4)}, {50'000}, 1000);
    seen.routes[0].links = {link};
    seen.epoch = 0;  // tells of no port
    clean.scans.push_back(seen);
  }
  for (int round = 0; round < 3; ++round) world_.Send({clean});
  world_.Settle();
  EXPECT_EQ(world_.master().links().state(lost), LinkState::kUp);
  EXPECT_EQ(counters.of(MoveCause::kLinkBack), 4u);
  EXPECT_EQ(world_.master().allocator().load(lost), 4);
  EXPECT_EQ(world_.master().allocator().Imbalance(), 1);
  world_.ExpectTrueAnswers();
}

TEST_F(C4pMasterTest, ResultsOfAnOldEpochTeachNothing) {
  world_.Ask(0, 1, {world_.Connection(1, 0, 4)});
  const std::vector<PathEvent> late = world_.AnswerScans();
  const HeldPath held = world_.HeldBy(LeaseOf(0, 1), 1, 0);
  const auto route = world_.Route(world_.Connection(1, 0, 4), 0, (held.path + 1) % 4);
  world_.Send(world_.SetCable(route[1], 0));  // another path's uplink
  world_.LoseScans();
  world_.Send(late);
  EXPECT_EQ(world_.HeldBy(LeaseOf(0, 1), 1, 0).port, 0);
  EXPECT_GT(world_.master().ports().map().num_stale(), 0u);
  world_.Settle();
  EXPECT_NE(world_.HeldBy(LeaseOf(0, 1), 1, 0).port, 0);
  world_.ExpectTrueAnswers();
}

TEST_F(C4pMasterTest, WithoutAHealthyPathTheAnswerHasAReasonAndComesLater) {
  // Both ports of the source are down.
  const auto ports = world_.truth().ports(world_.Nic(0));
  const LinkId left = ports[0].up;
  const LinkId right = ports[1].up;
  world_.Send(world_.SetCable(left, 0));
  world_.Send(world_.SetCable(right, 0));
  const auto answers = AskFor(0, 1, {world_.Connection(1, 0, 4)});
  for (const QueuePairAnswer& answer : answers[0].queue_pairs) EXPECT_EQ(answer.kind, Kind::kUnmanaged);
  EXPECT_NE(answers[0].reason.find("no healthy path from h0/nic0 to h4/nic0: plane 0: h0/nic0->"), std::string::npos)
      << answers[0].reason;
  EXPECT_EQ(world_.master().num_unmanaged(), 2u);
  EXPECT_EQ(world_.master().leases().size(), 1u);
  // On probation it is better than nothing; the other queue pair has to do with the same plane.
  world_.Send(world_.SetCable(left, 1));
  world_.Settle();
  EXPECT_EQ(world_.master().num_unmanaged(), 0u);
  EXPECT_EQ(world_.master().counters().of(MoveCause::kPathAvailable), 2u);
  EXPECT_EQ(world_.HeldBy(LeaseOf(0, 1), 1, 1).plane, 0u);
  world_.ExpectTrueAnswers();
}

TEST_F(C4pMasterTest, AQueuePairReturnsToItsPlane) {
  world_.Ask(0, 1, {world_.Connection(1, 0, 4)});
  world_.Settle();
  const LinkId right = world_.truth().ports(world_.Nic(0))[1].up;
  world_.Send(world_.SetCable(right, 0));
  world_.Settle();
  EXPECT_EQ(world_.HeldBy(LeaseOf(0, 1), 1, 1).plane, 0u);
  world_.ExpectTrueAnswers();
  world_.Send(world_.SetCable(right, 1));
  EXPECT_EQ(world_.HeldBy(LeaseOf(0, 1), 1, 1).plane, 0u);  // probation
  ProbeRoundFinished clean;
  for (const LinkId link : {right, fabric_.reverse(right)}) {
    PortScanSeen seen = world_.Probe({.source = world_.Nic(0), .destination = world_.Nic(4)}, {50'000}, 1000);
    seen.routes[0].links = {link};
    seen.epoch = 0;
    clean.scans.push_back(seen);
  }
  for (int round = 0; round < 3; ++round) world_.Send({clean});
  world_.Settle();
  EXPECT_EQ(world_.HeldBy(LeaseOf(0, 1), 1, 1).plane, 1u);
  world_.ExpectTrueAnswers();
}

// 6 QPs of a plane on 4 uplinks: 2, 2, 1, 1. One of those with 2 is left with a quarter of its capacity: the fair usage
// is 6 in 3.25 links, 1.85, and one more QP of a whole link makes the limit 2.85. A QP uses 4 of the slow link, so both
// leave it; the others then have 2 each.
TEST_F(C4pMasterTest, ADegradedLinkShedsWhatIsOverItsShare) {
  world_.Ask(0, 1, {world_.Connection(1, 0, 4, 12)});
  world_.Settle();
  LinkId slow;
  for (uint32_t q = 0; q < 12; q += 2) {
    const LinkId uplink = UplinkOf(LeaseOf(0, 1), 1, q);
    if (world_.master().allocator().load(uplink) == 2) slow = uplink;
  }
  ASSERT_TRUE(slow.valid());
  world_.Send({Report(slow, 0.25)});
  EXPECT_EQ(world_.master().counters().of(MoveCause::kLinkDegraded), 2u);
  for (const LinkId sibling : world_.truth().Siblings(slow)) {
    EXPECT_EQ(world_.master().allocator().load(sibling), sibling == slow ? 0 : 2);
  }
  world_.Settle();
  world_.ExpectTrueAnswers();
}

TEST_F(C4pMasterTest, SuspectLinksAreTheLastResort) {
  PortScanSeen bad = world_.Probe({.source = world_.Nic(0), .destination = world_.Nic(4)}, {50'000}, 1000);
  const LinkId uplink = bad.routes[0].links[1];
  bad.routes[0].links = {uplink};
  bad.routes[0].lost = 20;
  bad.epoch = 0;
  for (int round = 0; round < 2; ++round) world_.Send({ProbeRoundFinished{{bad}}});
  ASSERT_EQ(world_.master().links().state(uplink), LinkState::kSuspect);
  // 30 QPs of this plane: all on the three other uplinks.
  world_.Ask(0, 1, {world_.Connection(1, 0, 4, 60)});
  EXPECT_EQ(world_.master().allocator().load(uplink), 0);
  // Where the others are down it is used.
  std::vector<PathEvent> reports;
  for (const LinkId sibling : world_.truth().Siblings(uplink)) {
    if (sibling != uplink) reports.push_back(Report(sibling, 0));
  }
  world_.Send(reports);
  EXPECT_EQ(world_.master().allocator().load(uplink), 30);
  EXPECT_EQ(world_.master().num_unmanaged(), 0u);
}

TEST_F(C4pMasterTest, SilenceEndsALeaseAndHeartbeatsKeepIt) {
  world_.Ask(0, 1, {world_.Connection(1, 0, 4)});
  world_.Ask(1, 1, {world_.Connection(2, 1, 5)});
  world_.Settle();
  for (int s = 0; s < 59; ++s) world_.Wait(SecondsOf(1), {world_.Heartbeat(0)});
  EXPECT_EQ(world_.master().leases().size(), 2u);
  world_.TakeActions();
  world_.Wait(SecondsOf(1), {world_.Heartbeat(0)});
  const auto ended = Only<LeaseExpired>(world_.TakeActions());
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].lease, LeaseOf(1, 1));
  EXPECT_EQ(ended[0].num_queue_pairs, 2u);
  EXPECT_EQ(world_.master().allocator().num_reservations(), 2u);
  EXPECT_FALSE(world_.master().Find(JobId(1), 2).has_value());
}

TEST_F(C4pMasterTest, AnAgentThatCountsOtherLeasesIsAskedAndNotRenewed) {
  world_.Ask(0, 1, {world_.Connection(1, 0, 4)});
  world_.Ask(0, 2, {world_.Connection(1, 0, 4)});
  // It has forgotten one of the two, and announces the other: the first ends after its term.
  const PathEvent announcement = world_.Announcement(LeaseOf(0, 2));
  for (int s = 0; s < 60; ++s) {
    world_.Wait(SecondsOf(1), {LeasesRenewed{.host = HostId(0u), .num_leases = 1, .jobs = {}}, announcement});
  }
  EXPECT_TRUE(world_.asked_to_announce().contains(HostId(0u)));
  EXPECT_FALSE(world_.master().leases().IsHeld(LeaseOf(0, 1)));
  EXPECT_TRUE(world_.master().leases().IsHeld(LeaseOf(0, 2)));
}

TEST_F(C4pMasterTest, ReleasesFreeOnceAndUnknownOnesAreCounted) {
  world_.Ask(0, 1, {world_.Connection(1, 0, 4), world_.Connection(2, 0, 5)});
  world_.Settle();
  world_.Release(LeaseOf(0, 1), {1, 1, 9});
  EXPECT_EQ(world_.master().allocator().num_reservations(), 2u);
  EXPECT_EQ(world_.master().counters().unknown_releases, 2u);
  world_.Release(LeaseOf(0, 1), {2});
  EXPECT_EQ(world_.master().leases().size(), 0u);
  world_.Release(LeaseOf(0, 1), {});  // of a lease that is gone
  EXPECT_EQ(world_.master().counters().unknown_releases, 3u);
  EXPECT_EQ(world_.master().connections().size(), 0u);
  for (size_t l = 0; l < fabric_.num_links(); ++l) EXPECT_EQ(world_.master().allocator().load(LinkId(l)), 0);
}

TEST_F(C4pMasterTest, OurOwnPauseEndsNoLease) {
  world_.Ask(0, 1, {world_.Connection(1, 0, 4)});
  world_.Wait(SecondsOf(86'400));
  EXPECT_EQ(world_.master().leases().size(), 1u);
  world_.Wait(SecondsOf(-200'000));
  world_.Wait(SecondsOf(54));  // counts as one step
  EXPECT_EQ(world_.master().leases().size(), 1u);
  for (int s = 0; s < 50; ++s) world_.Wait(SecondsOf(1));  // 5 + 0 + 5 + 50
  EXPECT_EQ(world_.master().leases().size(), 0u);
}

// Host 0 fills plane 0 of one leaf evenly, then the QPs of two uplinks go: 1.33 times the mean or more stays. Uneven
// for ten seconds: moved; for less: not.
TEST_F(C4pMasterTest, LastingUnevennessIsPutRight) {
  std::vector<ConnectionRequest> connections;
  for (uint64_t c = 0; c < 16; ++c) connections.push_back(world_.Connection(c, 0, 4));
  world_.Ask(0, 1, connections);
  world_.Settle();
  std::vector<uint64_t> gone;
  for (uint64_t c = 0; c < 16; ++c) {
    if (world_.HeldBy(LeaseOf(0, 1), c, 0).path >= 2) gone.push_back(c);
  }
  world_.Release(LeaseOf(0, 1), gone);
  EXPECT_GT(world_.master().allocator().Imbalance(), 1.3);
  world_.Wait(SecondsOf(1));
  for (int s = 0; s < 9; ++s) world_.Wait(SecondsOf(1));
  EXPECT_EQ(world_.master().counters().of(MoveCause::kImbalance), 0u);
  world_.Wait(SecondsOf(1));
  EXPECT_GT(world_.master().counters().of(MoveCause::kImbalance), 0u);
  EXPECT_LE(world_.master().allocator().Imbalance(), 1.3);
  world_.Settle();
  world_.ExpectTrueAnswers();
}

TEST_F(C4pMasterTest, AnUnansweredScanIsRequestedAgain) {
  world_.Ask(0, 1, {world_.Connection(1, 0, 4)});
  world_.LoseScans();
  for (int s = 0; s < 9; ++s) world_.Wait(SecondsOf(1));
  EXPECT_EQ(world_.num_scans(), 0u);
  world_.Wait(SecondsOf(1));
  EXPECT_EQ(world_.num_scans(), 2u);
  world_.Settle();
  world_.ExpectTrueAnswers();
}

// Probes that are not seen teach nothing and end after max_scan_ports.
TEST_F(C4pMasterTest, AScanThatSeesNothingEnds) {
  world_.Ask(0, 1, {world_.Connection(1, 0, 4)});
  for (int round = 0; round < 5000 && world_.num_scans() > 0; ++round) {
    std::vector<PathEvent> answers = world_.AnswerScans();
    for (PathEvent& answer : answers) {
      for (ProbedRoute& route : std::get<PortsScanned>(answer).scans[0].routes) route.links.clear();
    }
    world_.Send(answers);
  }
  EXPECT_EQ(world_.num_scans(), 0u);
  const auto found = world_.master().Find(JobId(1), 1);
  for (const QueuePairAnswer& answer : found->queue_pairs) EXPECT_EQ(answer.kind, Kind::kNoPort);
  EXPECT_EQ(world_.master().counters().ports_asked, 2 * C4pOptions().max_scan_ports);
}

// A cable that loses everything, and no switch that says so: the mesh finds it in a few rounds.
TEST_F(C4pMasterTest, ProbesFindADeadLink) {
  world_.Ask(0, 1, {world_.Connection(1, 0, 4, 8)});
  world_.Settle();
  const LinkId dead = UplinkOf(LeaseOf(0, 1), 1, 0);
  size_t rounds = 0;
  for (; rounds < 10 && world_.master().links().state(dead) != LinkState::kDown; ++rounds) {
    world_.TakeActions();
    world_.Wait(SecondsOf(5), world_.Heartbeats());
    const auto started = Only<ProbeRoundStarted>(world_.TakeActions());
    ASSERT_EQ(started.size(), 1u);
    ProbeRoundFinished finished;
    for (const ProbeTask& task : started[0].tasks) {
      const PortScan scan = {.source = task.pair.source,
                             .destination = task.pair.destination,
                             .plane = task.pair.plane,
                             .epoch = task.epoch};
      std::vector<uint16_t> ports;
      for (uint32_t i = 0; i < task.pair.num_source_ports; ++i) {
        ports.push_back(static_cast<uint16_t>(0xC000 + (task.pair.first_source_port - 0xC000 + i) % 0x4000));
      }
      PortScanSeen& seen = finished.scans.emplace_back(world_.Probe(scan, ports, 100));
      for (ProbedRoute& route : seen.routes) {
        if (std::ranges::find(route.links, dead) != route.links.end()) route.lost = route.sent;
      }
    }
    world_.Send({finished});
  }
  EXPECT_EQ(world_.master().links().state(dead), LinkState::kDown);
  EXPECT_EQ(world_.master().allocator().load(dead), 0);
  for (size_t l = 0; l < fabric_.num_links(); ++l) {
    EXPECT_TRUE(LinkId(l) == dead || world_.master().links().state(LinkId(l)) == LinkState::kUp) << l;
  }
}

// It was given a port, and then every way was lost: that its socket has another one asks for no path.
TEST_F(C4pMasterTest, ASocketThatOpensWhenNoPathIsLeftIsOnlyNoted) {
  auto tcp = world_.Connection(1, 0, 4);
  tcp.protocol = 6;
  world_.Ask(0, 1, {tcp});
  world_.Settle();
  for (const NicPort& port : world_.truth().ports(world_.Nic(0))) world_.Send(world_.SetCable(port.up, 0));
  world_.Send({QueuePairOpened{
      .host = HostId(0), .job = JobId(1), .connection = 1, .queue_pair = 0, .port = 40'000, .socket_port = 40'000}});
  const auto held = world_.master().Find(JobId(1), 1);
  ASSERT_TRUE(held.has_value());
}

TEST_F(C4pMasterTest, OptionsNameTheirRange) {
  C4pOptions options;
  EXPECT_TRUE(options.Validate().ok());
  options.imbalance_limit = 0.9;
  EXPECT_EQ(options.Validate().message(), "c4p: imbalance_limit: expected >= 1, found 0.9");
  options = {};
  options.lease_ttl = SimDuration(0);
  EXPECT_EQ(options.Validate().message(), "c4p: lease_ttl: expected > 0 s, found 0 s");
  options = {};
  options.epoch_base = 0;
  EXPECT_EQ(options.Validate().message(), "c4p: epoch_base: expected >= 1, found 0");
  options = {};
  options.ports.max_pairs = 0;
  EXPECT_FALSE(options.Validate().ok());
}

}  // namespace
}  // namespace fairlead::traffic::c4p

// Laws of the C4P master over random requests, duplicates, releases, silences, restarts of links and of the master,
// lost messages and clock jumps.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/random.h"
#include "traffic/c4p/c4p_master.h"
#include "traffic/c4p/c4p_master_example.h"

namespace fairlead::traffic::c4p {
namespace {

class RandomLife {
 public:
  RandomLife(const topology::Fabric& fabric, uint64_t seed) : fabric_(fabric), world_(fabric), random_(seed) {
    for (size_t l = 0; l < fabric.num_links(); ++l) {
      if (topology::IsNetwork(fabric.tier(LinkId(l)))) cables_.emplace_back(l);
    }
  }

  World& world() { return world_; }

  void Step() {
    const double kind = random_.Uniform();
    if (kind < 0.30) {
      Ask();
    } else if (kind < 0.45) {
      ReleaseSome();
    } else if (kind < 0.60) {
      ChangeLink();
    } else if (kind < 0.75) {
      world_.Wait(SecondsOf(1 + static_cast<int64_t>(random_.Below(5))), world_.Heartbeats());
    } else if (kind < 0.80) {
      world_.Wait(SecondsOf(static_cast<int64_t>(random_.Below(100'000)) - 50'000));
    } else if (kind < 0.85) {
      Silence();
    } else if (kind < 0.88) {
      world_.LoseScans();
    } else if (kind < 0.90) {
      Forget();
    } else if (kind < 0.95) {
      Probe();
    } else {
      world_.Settle();
    }
  }
  // Until nothing is under way any more.
  void Rest() {
    for (int s = 0; s < 25; ++s) {
      world_.Wait(SecondsOf(1), world_.Heartbeats());
      world_.Settle();
    }
  }
  // The new master learns of the links, then of the leases.
  void Forget() {
    world_.Restart(++num_starts_ << 32);
    std::vector<PathEvent> links;
    for (const auto& [link, health] : health_) links.push_back(Report(link, health));
    world_.Send(links);
    world_.Send(world_.Announcements());
  }

 private:
  uint32_t Host() { return static_cast<uint32_t>(random_.Below(fabric_.num_hosts())); }

  void Ask() {
    std::vector<PathEvent> requests;
    for (uint64_t r = 0; r < 1 + random_.Below(3); ++r) {
      const uint32_t from = Host();
      const auto job = static_cast<uint32_t>(random_.Below(4));
      std::vector<ConnectionRequest> connections;
      for (uint64_t c = 0; c < 1 + random_.Below(4); ++c) connections.push_back(Connection(from, job));
      if (random_.Below(5) == 0) connections.push_back(connections.front());
      requests.push_back(world_.Request(from, job, connections));
    }
    if (random_.Below(5) == 0) requests.push_back(requests.front());
    world_.Send(requests);
  }
  // A name means the same whenever it comes: repeated requests are duplicates.
  ConnectionRequest Connection(uint32_t from, uint32_t job) {
    const uint64_t name = uint64_t{from} * 10 + random_.Below(10);
    const auto hosts = static_cast<uint32_t>(fabric_.num_hosts());
    const uint64_t hash = CombineHash(name, job);
    ConnectionRequest connection = world_.Connection(name, from, (from + 1 + hash % (hosts - 1)) % hosts,
                                                     1 + static_cast<uint32_t>(hash / 64 % 4));
    if (hash / 4096 % 2 == 1) connection.source = world_.Nic(from, 1);
    if (hash / 8192 % 2 == 1) connection.destination = NicId(connection.destination.value() + 1);
    connection.weight = static_cast<double>(1 + hash / 1024 % 3);
    return connection;
  }
  LeaseId AnyLease() {
    auto lease = world_.held().begin();
    std::advance(lease, static_cast<ptrdiff_t>(random_.Below(world_.held().size())));
    return lease->first;
  }
  void ReleaseSome() {
    if (world_.held().empty()) return;
    const LeaseId lease = AnyLease();
    const bool is_whole = random_.Below(3) == 0;
    world_.Release(lease, is_whole ? std::vector<uint64_t>() : std::vector{world_.held().at(lease).begin()->first});
  }
  void ChangeLink() {
    const LinkId link = cables_[random_.Below(cables_.size())];
    const double health = random_.Below(3) == 0 ? 0 : random_.Below(4) == 0 ? 0.5 : 1;
    health_[link] = health_[fabric_.reverse(link)] = health;
    world_.Send(world_.SetCable(link, health));
  }
  // A host says nothing for longer than a lease lasts; the others go on.
  void Silence() {
    const uint32_t host = Host();
    for (int s = 0; s < 14; ++s) {
      std::vector<PathEvent> heartbeats = world_.Heartbeats();
      heartbeats.erase(heartbeats.begin() + host);
      world_.Wait(SecondsOf(5), heartbeats);
    }
    for (const auto& [lease, held] : world_.held()) EXPECT_NE(lease.host, HostId(host));
  }
  // Some ports of some pairs, as a mesh would.
  void Probe() {
    ProbeRoundFinished round;
    for (int i = 0; i < 20; ++i) {
      const uint32_t from = Host();
      const auto to = static_cast<uint32_t>((from + 1 + random_.Below(fabric_.num_hosts() - 1)) % fabric_.num_hosts());
      PortScan scan = {.source = world_.Nic(from), .destination = world_.Nic(to)};
      scan.plane = static_cast<uint32_t>(random_.Below(2));
      scan.epoch = world_.master().ports().EpochOf(world_.truth().ports(scan.source)[scan.plane].leaf,
                                                   world_.truth().ports(scan.destination)[scan.plane].leaf);
      round.scans.push_back(world_.Probe(scan, {static_cast<uint16_t>(0xC000 + random_.Below(0x4000))}, 1000));
    }
    world_.Send({round});
  }

  const topology::Fabric& fabric_;
  World world_;
  Random random_;
  std::vector<LinkId> cables_;
  std::map<LinkId, double> health_;
  uint64_t num_starts_ = 1;
};

// What holds after every call.
void ExpectInvariants(World& world, const std::string& where) {
  const C4pMaster& master = world.master();
  const PathAllocator& allocator = master.allocator();
  size_t reserved = 0;
  size_t unmanaged = 0;
  std::map<LinkId, double> loads;
  std::set<std::tuple<NicId, NicId, uint16_t>> ports;  // whatever the plane, as sockets have none
  for (uint32_t slot = 0; slot < master.connections().num_slots(); ++slot) {
    const ConnectionState& connection = master.connections().at(slot);
    if (!connection.is_held) continue;
    ASSERT_TRUE(master.leases().IsHeld(connection.lease)) << where;
    for (uint32_t q = 0; q < connection.queue_pairs.size(); ++q) {
      const QueuePairState& mine = connection.queue_pairs[q];
      if (mine.port != 0) {
        ASSERT_TRUE(ports.emplace(connection.request.source, connection.request.destination, mine.port).second)
            << where;
      }
      if (!mine.reservation.valid()) {
        ASSERT_EQ(mine.steering, QueuePairState::Steering::kUnmanaged) << where;
        ++unmanaged;
        continue;
      }
      ++reserved;
      ASSERT_EQ(master.connections().OwnerOf(mine.reservation), (QueuePairRef{slot, q})) << where;
      const Reservation& held = allocator.reservation(mine.reservation);
      ASSERT_TRUE(allocator.catalogue().IsUsable(held.route())) << where;
      ASSERT_EQ(held.route().front(), allocator.catalogue().ports(held.source)[held.plane].up) << where;
      ASSERT_EQ(held.route().back(), allocator.catalogue().ports(held.destination)[held.plane].down) << where;
      for (const LinkId link : held.route()) loads[link] += held.weight;
    }
  }
  ASSERT_EQ(allocator.num_reservations(), reserved) << where;
  ASSERT_EQ(master.num_unmanaged(), unmanaged) << where;
  ASSERT_EQ(master.ports().map().num_reserved(), ports.size()) << where;
  for (size_t l = 0; l < world.fabric().num_links(); ++l) {
    ASSERT_EQ(allocator.load(LinkId(l)), loads[LinkId(l)]) << where;
  }
}

// In one call: a queue pair on a link that is down now, or without a path, moves; all others only for a reason that is
// counted.
void ExpectOnlyNamedMoves(const std::map<LeaseId, std::map<uint64_t, HeldConnection>>& before, World& world,
                          size_t first_move, const std::string& where) {
  std::set<std::tuple<JobId, uint64_t, uint32_t>> may_move;
  for (size_t m = first_move; m < world.moves().size(); ++m) {
    const PathMove& move = world.moves()[m];
    if (move.cause == MoveCause::kRepinned || move.cause == MoveCause::kPortFound) continue;
    may_move.emplace(move.job, move.connection, move.queue_pair);
    if (move.cause != MoveCause::kLinkDown) continue;
    // It was on a lost link.
    for (const auto& [lease, connections] : before) {
      if (lease.job != move.job || !connections.contains(move.connection)) continue;
      const HeldConnection& held = connections.at(move.connection);
      const HeldPath& old = held.queue_pairs[move.queue_pair];
      ASSERT_TRUE(old.is_managed) << where;
      ASSERT_FALSE(world.master().allocator().catalogue().IsUsable(world.Route(held.request, old.plane, old.path)))
          << where;
    }
  }
  for (const auto& [lease, connections] : before) {
    for (const auto& [name, held] : connections) {
      const auto now = world.held().find(lease);
      if (now == world.held().end() || !now->second.contains(name)) continue;
      for (uint32_t q = 0; q < held.queue_pairs.size(); ++q) {
        const HeldPath& theirs = now->second.at(name).queue_pairs[q];
        const HeldPath& old = held.queue_pairs[q];
        if (may_move.contains({lease.job, name, q})) continue;
        ASSERT_EQ(theirs.is_managed, old.is_managed) << where;
        ASSERT_EQ(theirs.plane, old.plane) << where;
        ASSERT_EQ(theirs.path, old.path) << where;
      }
    }
  }
}

TEST(C4pMasterLawsTest, InvariantsHoldThroughRandomLives) {
  const topology::Fabric fabric = MasterFabric(3, 3);
  std::array<uint64_t, kNumMoveCauses> seen = {};
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    RandomLife life(fabric, seed);
    for (int step = 0; step < 250; ++step) {
      const std::string where = "seed " + std::to_string(seed) + " step " + std::to_string(step);
      const auto before = life.world().held();
      const size_t first_move = life.world().moves().size();
      const C4pMaster* const master = &life.world().master();
      const uint64_t base = master->ports().EpochOf(NodeId(0u), NodeId(0u)) >> 32;
      life.Step();
      ASSERT_NO_FATAL_FAILURE(ExpectInvariants(life.world(), where));
      ASSERT_NO_FATAL_FAILURE(life.world().ExpectTrueAnswers());
      // A restarted master accepts what it receives.
      if (life.world().master().ports().EpochOf(NodeId(0u), NodeId(0u)) >> 32 != base) continue;
      ASSERT_NO_FATAL_FAILURE(ExpectOnlyNamedMoves(before, life.world(), first_move, where));
    }
    life.Rest();
    ASSERT_NO_FATAL_FAILURE(life.world().ExpectTrueAnswers());
    // Every promise is kept: all reservations can be given back, and none is left.
    const auto held = life.world().held();
    for (const auto& [lease, connections] : held) life.world().Release(lease, {});
    ASSERT_NO_FATAL_FAILURE(ExpectInvariants(life.world(), "at the end"));
    EXPECT_EQ(life.world().master().allocator().num_reservations(), 0u);
    EXPECT_EQ(life.world().master().leases().size(), 0u);
    EXPECT_EQ(life.world().master().num_unmanaged(), 0u);
    for (const PathMove& move : life.world().moves()) ++seen[static_cast<size_t>(move.cause)];
  }
  for (const MoveCause cause :
       {MoveCause::kLinkDown, MoveCause::kLinkBack, MoveCause::kLinkDegraded, MoveCause::kImbalance,
        MoveCause::kPathAvailable, MoveCause::kStranded, MoveCause::kPortFound, MoveCause::kRepinned}) {
    EXPECT_GT(seen[static_cast<size_t>(cause)], 0u) << Name(cause);
  }
}

// All that one connection has, of all connections.
std::map<std::pair<JobId, uint64_t>, ConnectionAnswer> AnswersOf(const World& world, const C4pMaster& master) {
  std::map<std::pair<JobId, uint64_t>, ConnectionAnswer> answers;
  for (const auto& [lease, connections] : world.held()) {
    for (const auto& [name, held] : connections) answers[{lease.job, name}] = *master.Find(lease.job, name);
  }
  return answers;
}

TEST(C4pMasterLawsTest, ReplayGivesTheSameAnswersAndState) {
  const topology::Fabric fabric = MasterFabric(3, 3);
  for (uint64_t seed = 11; seed <= 14; ++seed) {
    RandomLife life(fabric, seed);
    for (int step = 0; step < 150; ++step) life.Step();
    C4pMaster again(fabric, life.world().options());
    std::vector<PathMove> moves;
    for (const auto& [clock, events] : life.world().history()) {
      for (const PathsMoved& moved : Only<PathsMoved>(again.Handle(clock, events))) {
        moves.insert(moves.end(), moved.moves.begin(), moved.moves.end());
      }
    }
    // Moves of the masters before the last restart are not in its history.
    const std::vector<PathMove>& all = life.world().moves();
    ASSERT_LE(moves.size(), all.size());
    EXPECT_TRUE(std::equal(moves.rbegin(), moves.rend(), all.rbegin()));
    EXPECT_EQ(again.counters(), life.world().master().counters());
    EXPECT_EQ(AnswersOf(life.world(), again), AnswersOf(life.world(), life.world().master()));
  }
}

TEST(C4pMasterLawsTest, ARestartedMasterLearnsItsReservationsFromTheirHolders) {
  const topology::Fabric fabric = MasterFabric(3, 3);
  int num_compared = 0;
  for (uint64_t seed = 21; seed <= 120; ++seed) {
    RandomLife life(fabric, seed);
    for (int step = 0; step < 100; ++step) life.Step();
    life.Rest();
    const World& world = life.world();
    // The new master counts links as up that the old one has on probation, and returns to such links those off their
    // plane.
    if (life.world().master().num_off_plane() > 0) continue;
    ++num_compared;
    std::vector<double> loads;
    for (size_t l = 0; l < fabric.num_links(); ++l) loads.push_back(life.world().master().allocator().load(LinkId(l)));
    const auto held = world.held();
    const size_t unmanaged = life.world().master().num_unmanaged();
    life.Forget();
    EXPECT_EQ(life.world().master().num_unmanaged(), unmanaged);
    for (size_t l = 0; l < fabric.num_links(); ++l) {
      EXPECT_EQ(life.world().master().allocator().load(LinkId(l)), loads[l]) << "seed " << seed;
    }
    EXPECT_EQ(life.world().master().leases().size(), held.size());
    // Their ports are probed once, and stay.
    life.world().Settle();
    EXPECT_EQ(life.world().master().counters().of(MoveCause::kRepinned), 0u);
    for (const auto& [lease, connections] : held) {
      for (const auto& [name, connection] : connections) {
        EXPECT_EQ(world.held().at(lease).at(name).queue_pairs, connection.queue_pairs);
      }
    }
    life.world().ExpectTrueAnswers();
    // A second announcement says nothing new.
    const C4pCounters before = life.world().master().counters();
    life.world().Send(world.Announcements());
    EXPECT_EQ(life.world().master().counters(), before);
  }
  EXPECT_GE(num_compared, 3);
}

}  // namespace
}  // namespace fairlead::traffic::c4p

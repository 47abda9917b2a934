// What holds whatever agents, links and the controller's machine do. LiveCluster itself checks that nothing is sent to
// an ended stream, and that no open TCP socket is assigned a port that its destination does not rewrite.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "controller/traffic_controller.h"
#include "controller/traffic_controller_example.h"

namespace fairlead::controller {
namespace {

constexpr const char* kJobs[] = {"bert", "gpt", "resnet"};

// One thing that happens to a live cluster.
class Chaos {
 public:
  Chaos(uint64_t seed, LiveCluster* cluster) : random_(seed), cluster_(*cluster) {}

  void Step(bool may_restart) {
    const uint32_t host = Draw(6);
    switch (Draw(may_restart ? 13 : 12)) {
      case 0:
      case 1:
      case 2:
        return Ask(host);
      case 3:
      case 4:
        return Open(host);
      case 5:
        return Close(host);
      case 6:
        return ToggleSpine();
      case 7:
        return cluster_.agent(host).stream ? cluster_.Disconnect(host) : cluster_.Connect(host);
      case 8:
        cluster_.agent(host).answers_arrivals = Draw(3) > 0;
        cluster_.agent(host).arrival_error = Draw(4) == 0 ? "no room" : "";
        cluster_.agent(host).moves_to_refuse = Draw(3);
        return;
      case 9:
        return cluster_.Say(host, cluster_.Measured(host, kJobs[Draw(3)], random_.Uniform(1e12, 1e15)));
      case 10:
        return cluster_.Settle();
      case 11:
        return cluster_.Run(static_cast<int>(1 + Draw(4)));
      default:
        return cluster_.Restart();
    }
  }
  // Everybody is back, all is repaired, and time has passed.
  void Calm() {
    if (lost_) cluster_.SetLink(*lost_, 1);
    lost_.reset();
    for (uint32_t h = 0; h < cluster_.num_hosts(); ++h) {
      cluster_.agent(h).answers_arrivals = true;
      cluster_.agent(h).arrival_error = "";
      cluster_.agent(h).moves_to_refuse = 0;
      if (!cluster_.agent(h).stream) cluster_.Connect(h);
    }
    cluster_.Run(15);
    // Moves that failed are tried again when the destination returns.
    for (uint32_t h = 0; h < cluster_.num_hosts(); ++h) {
      cluster_.Disconnect(h);
      cluster_.Connect(h);
      cluster_.Settle();
    }
    cluster_.Run(10);
  }

 private:
  uint32_t Draw(uint32_t n) { return static_cast<uint32_t>(random_.Below(n)); }
  void Ask(uint32_t host) {
    const uint32_t to = (host + 1 + Draw(5)) % 6;
    if (cluster_.agent(host).stream) cluster_.Ask(host, kJobs[Draw(3)], ++num_connections_, to, Draw(5) == 0 ? 17 : 6);
  }
  const FakeAgent::Held* Pick(uint32_t host) {
    const auto& held = cluster_.agent(host).held;
    if (held.empty() || !cluster_.agent(host).stream) return nullptr;
    return &std::next(held.begin(), Draw(static_cast<uint32_t>(held.size())))->second;
  }
  void Open(uint32_t host) {
    const FakeAgent::Held* held = Pick(host);
    if (held == nullptr || held->connection.socket_ports[0] != 0) return;
    cluster_.Open(host, held->job, held->connection.wanted.connection, static_cast<uint16_t>(33000 + num_connections_));
  }
  void Close(uint32_t host) {
    const FakeAgent::Held* held = Pick(host);
    if (held != nullptr) cluster_.Close(host, std::string(held->job), held->connection.wanted.connection);
  }
  // One of leaf0's cables to spines is lost, or returns.
  void ToggleSpine() {
    const LinkId link = cluster_.Route(0, 3, Draw(4))[1];
    if (lost_) return cluster_.SetLink(*std::exchange(lost_, std::nullopt), 1);
    lost_ = link;
    cluster_.SetLink(link, 0);
  }

  Random random_;
  LiveCluster& cluster_;
  std::optional<LinkId> lost_;
  uint64_t num_connections_ = 0;
};

// Law: the destination is never left with another port than the source has. It may be with two, for a while.
void ExpectNoneIsCutOff(const LiveCluster& cluster) {
  for (uint32_t h = 0; h < cluster.num_hosts(); ++h) {
    for (const auto& [key, held] : cluster.agent(h).held) {
      const HeldConnection& connection = held.connection;
      const uint16_t socket_port = connection.socket_ports[0];
      if (connection.wanted.protocol != 6 || socket_port == 0) continue;
      EXPECT_TRUE(cluster.IsRewritten(h, connection, connection.queue_pairs[0].port, socket_port))
          << key.first << " " << key.second << " on port " << connection.queue_pairs[0].port;
    }
  }
}

// Both sides hold the same, and packets take the way that is reserved for them.
void ExpectAgreement(LiveCluster* cluster) {
  size_t num_held = 0;
  for (uint32_t h = 0; h < cluster->num_hosts(); ++h) num_held += cluster->agent(h).held.size();
  const auto queue_pairs = cluster->controller().QueuePairs();
  EXPECT_EQ(queue_pairs.size(), num_held);
  for (const QueuePairOnFabric& qp : queue_pairs) {
    const uint32_t from = qp.source.value();
    const uint32_t to = qp.destination.value();
    ASSERT_TRUE(cluster->agent(from).held.contains({qp.job, qp.connection}));
    const HeldConnection& held = cluster->agent(from).held.at({qp.job, qp.connection}).connection;
    if (qp.answer.kind != traffic::QueuePairAnswer::Kind::kUse) continue;
    const uint16_t port = held.queue_pairs[0].port;
    EXPECT_EQ(port, qp.answer.port) << qp.job << " " << qp.connection << " open as " << held.socket_ports[0];
    EXPECT_EQ(cluster->Route(from, to, cluster->SpineOf(from, to, port)), qp.links);
  }
}

TEST(TrafficControllerLawsTest, AfterAnyPastTheCalmIsRight) {
  uint64_t num_moves = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    LiveCluster cluster;
    cluster.ConnectAll();
    Chaos chaos(seed, &cluster);
    for (int step = 0; step < 80; ++step) chaos.Step(true);
    chaos.Calm();
    ExpectAgreement(&cluster);
    ExpectNoneIsCutOff(cluster);
    num_moves += cluster.num_moves_of_open_sockets();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(num_moves, 40u) << "the law about moves was hardly tried";
}

TEST(TrafficControllerLawsTest, SameInputsSameOutputs) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    LiveCluster cluster;
    cluster.ConnectAll();
    Chaos chaos(seed, &cluster);
    for (int step = 0; step < 60; ++step) chaos.Step(true);
    cluster.ExpectReplay();
  }
}

std::map<std::string, uint32_t> LevelsOf(const TrafficController& controller) {
  std::map<std::string, uint32_t> levels;
  for (const JobOnFabric& job : controller.Jobs()) levels[job.name] = job.level;
  return levels;
}

// Law: a controller that is killed and started on what it kept is the same, once agents have announced.
TEST(TrafficControllerLawsTest, ARestartChangesNothing) {
  size_t num_reservations = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    LiveCluster cluster;
    cluster.ConnectAll();
    Chaos chaos(seed, &cluster);
    for (int step = 0; step < 60; ++step) chaos.Step(false);
    chaos.Calm();
    const auto reservations = cluster.Reservations();
    const auto store = cluster.store();
    const auto levels = LevelsOf(cluster.controller());
    num_reservations += reservations.size();
    cluster.Restart();
    cluster.ConnectAll();
    cluster.Settle();
    EXPECT_EQ(cluster.Reservations(), reservations);
    EXPECT_EQ(cluster.store(), store);
    EXPECT_EQ(LevelsOf(cluster.controller()), levels);
    // Restored jobs that are never announced are forgotten after a lease's term.
    for (uint32_t h = 0; h < 6; ++h) cluster.agent(h).held.clear();
    cluster.Restart();
    cluster.ConnectAll();
    cluster.Run(62);
    EXPECT_EQ(cluster.store().size(), store.empty() ? 0u : 1u) << "only the number of jobs so far";
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(num_reservations, 300u);
}

// Messages that no correct agent sends.
class Nonsense {
 public:
  explicit Nonsense(uint64_t seed) : random_(seed) {}

  FromAgent Message() {
    switch (random_.Below(9)) {
      case 0:
        return Heartbeat{static_cast<uint32_t>(Number())};
      case 1:
        return PathsWanted{.request = Number(), .job = Name(), .connections = {Wanted(), Wanted()}};
      case 2:
        return ConnectionOpened{.job = Name(),
                                .connection = Number(),
                                .queue_pair = static_cast<uint32_t>(Number()),
                                .socket_port = static_cast<uint16_t>(Number())};
      case 3:
        return ConnectionsClosed{.job = Name(), .connections = {Number(), Number()}};
      case 4:
        return ConnectionsHeld{.job = Name(), .connections = {{Wanted(), {{}, {}}, {0}}, {Wanted(), {{true}}, {7}}}};
      case 5:
        return ArrivalPrepared{.alias = Number(), .error = Name()};
      case 6:
        return Probes();
      case 7:
        return AnnouncementFinished{};
      default:
        return JobMeasured{.job = Name(),
                           .num_gpus = static_cast<uint32_t>(Number()),
                           .profile = {.iteration_time = Seconds(Real()),
                                       .compute_time = Seconds(Real()),
                                       .start_fraction = Real(),
                                       .work = Flop(Real()),
                                       .flow_bytes = {Bytes(Real())}},
                           .connections = {Number()}};
    }
  }

 private:
  uint64_t Number() {
    constexpr uint64_t kNumbers[] = {0, 1, 2, 3, 255, 257, 65535, 65536, std::numeric_limits<uint64_t>::max()};
    return random_.Below(3) == 0 ? random_() : kNumbers[random_.Below(std::size(kNumbers))];
  }
  double Real() {
    const double kReals[] = {0, -1, 1, 1e-300, 1e300, std::nan(""), std::numeric_limits<double>::infinity()};
    return kReals[random_.Below(std::size(kReals))];
  }
  std::string Name() {
    const std::string kNames[] = {"", "gpt", std::string(64, 'x'), "a\nb", "\xff\xfe", std::string("\0", 1)};
    return kNames[random_.Below(std::size(kNames))];
  }
  IpAddress Address() {
    return random_.Below(4) == 0 ? IpAddress() : NicAddress(static_cast<uint32_t>(random_.Below(7)));
  }
  WantedConnection Wanted() {
    return {.connection = Number(),
            .source = Address(),
            .destination = Address(),
            .num_queue_pairs = static_cast<uint32_t>(Number()),
            .weight = Real(),
            .protocol = static_cast<uint8_t>(Number()),
            .destination_port = static_cast<uint16_t>(Number())};
  }
  ProbesFinished Probes() {
    return {
        .round = random_(),
        .scans = {{.source = Address(),
                   .destination = Address(),
                   .plane = static_cast<uint32_t>(Number()),
                   .protocol = static_cast<uint8_t>(Number()),
                   .destination_port = static_cast<uint16_t>(Number()),
                   .epoch = Number(),
                   .routes = {{.hops = {Address(), InterfaceAddress(LinkId(static_cast<uint32_t>(random_.Below(64))))},
                               .sent = Number(),
                               .lost = Number(),
                               .rtt = Seconds(Real()),
                               .source_ports = {static_cast<uint16_t>(Number()), static_cast<uint16_t>(Number())}}}}}};
  }

  Random random_;
};

TEST(TrafficControllerLawsTest, NonsenseOfOneHostChangesNothingOfOthers) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    LiveCluster cluster;
    cluster.ConnectAll();
    for (uint32_t h = 0; h < 3; ++h) cluster.Ask(h, "gpt", 1 + h, h + 3);
    cluster.Settle();
    for (uint32_t h = 0; h < 3; ++h) cluster.Open(h, "gpt", 1 + h, 40000);
    cluster.Settle();
    const auto before = cluster.Reservations();
    const size_t num_changes = cluster.changes().size();
    Nonsense nonsense(seed);
    for (int i = 0; i < 200; ++i) {
      cluster.Say(5, nonsense.Message());
      cluster.agent(5).unsent.clear();
    }
    EXPECT_EQ(cluster.changes().size(), num_changes);
    const auto after = cluster.Reservations();
    for (const auto& [name, links] : before) {
      const auto found = after.find(name);
      ASSERT_TRUE(found != after.end());
      EXPECT_EQ(found->second, links);
    }
    for (uint32_t h = 0; h < 6; ++h) EXPECT_TRUE(cluster.agent(h).stream.has_value()) << h;
  }
}

}  // namespace
}  // namespace fairlead::controller

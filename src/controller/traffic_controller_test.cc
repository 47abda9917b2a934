#include "controller/traffic_controller.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "controller/traffic_controller_example.h"

namespace fairlead::controller {
namespace {

// All messages to one stream.
template <class T>
std::vector<T> Sent(const std::vector<TrafficOutput>& outputs) {
  std::vector<T> found;
  for (const TrafficOutput& output : outputs) {
    const auto* sent = std::get_if<SendToStream>(&output);
    if (sent == nullptr) continue;
    if (const auto* message = std::get_if<T>(&sent->message)) found.push_back(*message);
  }
  return found;
}

template <class T>
size_t Count(const std::vector<TrafficOutput>& outputs) {
  return static_cast<size_t>(
      std::ranges::count_if(outputs, [](const TrafficOutput& o) { return std::holds_alternative<T>(o); }));
}

TEST(TrafficControllerTest, OptionsAreValidated) {
  TrafficControllerOptions options;
  EXPECT_TRUE(options.Validate().ok());
  options.num_levels = 9;
  EXPECT_EQ(options.Validate(), InvalidArgument("controller: num_levels: expected 1 to 8, found 9"));
  options = {};
  options.measurement_weight = std::nan("");
  EXPECT_FALSE(options.Validate().ok());
  options = {};
  options.level_period = SimDuration(0);
  EXPECT_EQ(options.Validate(), InvalidArgument("controller: level_period: expected > 0, found 0 ns"));
}

// As seen by the host of its stream, whatever the message claims.
TEST(TrafficControllerTest, LooksAtProcessesAreHandedOn) {
  LiveCluster cluster;
  const ProcessesSeen look{.job = "gpt", .number = 3, .at = SimTime(4), .processes = {}};
  EXPECT_EQ(Count<ProcessesLooked>(cluster.Send({StreamMessage{StreamId(900u), look}})), 0u) << "before the hello";
  cluster.Connect(2);
  const auto outputs = cluster.Send({StreamMessage{*cluster.agent(2).stream, look}});
  ASSERT_EQ(Count<ProcessesLooked>(outputs), 1u);
  const auto& looked = std::get<ProcessesLooked>(outputs[0]);
  EXPECT_EQ(looked.host, HostId(2));
  EXPECT_EQ(looked.look, look);
}

TEST(TrafficControllerTest, HostsReceiveFindingsAboutThemselves) {
  LiveCluster cluster;
  const HostJudged judged{{{"gpt", model::Syndrome::kDead, "rank 3 is gone", model::RecommendedAction::kRestart}}};
  cluster.Connect(1);
  EXPECT_EQ(cluster.judged().at(1), HostJudged());
  cluster.Send({JudgementChanged{HostId(1), judged}, JudgementChanged{HostId(2), judged}});
  EXPECT_EQ(cluster.judged().at(1), judged);
  EXPECT_FALSE(cluster.judged().contains(2)) << "its agent is not here";
  cluster.Connect(2);
  EXPECT_EQ(cluster.judged().at(2), judged);
  // Another controller knows of nothing, and says so.
  cluster.Restart();
  cluster.Connect(2);
  EXPECT_EQ(cluster.judged().at(2), HostJudged());
}

TEST(TrafficControllerTest, OfHostsWhoseAgentsAreRefusedTheWatchIsToldOnceASecond) {
  LiveCluster cluster;
  std::vector<std::vector<HostId>> told;
  const auto hear = [&](const std::vector<TrafficOutput>& outputs) {
    for (const TrafficOutput& output : outputs) {
      if (const auto* answered = std::get_if<HostsAnswered>(&output)) told.push_back(answered->hosts);
    }
  };
  uint32_t stream = 100;
  for (const char* name : {"h1", "h2", "h0", "h2", "h99"}) {
    HostHello hello = cluster.Hello(0);
    hello.protocol_version = 7;
    hello.host = name;
    hear(cluster.Send({StreamMessage{StreamId(stream++), hello}}));
  }
  EXPECT_EQ(told, std::vector({std::vector{HostId(1)}})) << "the second is not over";
  hear(cluster.Wait(SimDuration(1'000'000'000)));
  EXPECT_EQ(told, std::vector({std::vector{HostId(1)}, std::vector{HostId(0), HostId(2)}}));
  hear(cluster.Wait(SimDuration(1'000'000'000)));
  EXPECT_EQ(told.size(), 2u);
}

// In one batch: a request that the path service refuses, and another host's announcement of nothing, or of nothing that
// can be meant.
TEST(TrafficControllerTest, AJobThatIsForgottenWhileItIsAnnouncedIsNoFault) {
  LiveCluster cluster;
  cluster.Connect(0);
  cluster.Connect(1);
  WantedConnection refused{
      .connection = 1, .source = NicAddress(0), .destination = NicAddress(3), .protocol = 6, .destination_port = 5000};
  refused.weight = -1;
  HeldConnection of_another;
  of_another.wanted = refused;
  for (const std::vector<HeldConnection>& held : {std::vector<HeldConnection>(), {of_another}}) {
    const auto outputs = cluster.Send(
        {StreamMessage{*cluster.agent(0).stream, PathsWanted{.request = 1, .job = "a", .connections = {refused}}},
         StreamMessage{*cluster.agent(1).stream, ConnectionsHeld{.job = "a", .connections = held}}});
    const auto answers = Sent<PathsAnswered>(outputs);
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_NE(answers[0].connections.at(0).reason, "");
    EXPECT_TRUE(cluster.controller().Jobs().empty());
  }
}

// In one batch: a host asks for a connection, and another one announces one of the same name.
TEST(TrafficControllerTest, ANameOfAnotherHostThatIsJustAskedForIsNotTaken) {
  LiveCluster cluster;
  cluster.Connect(0);
  cluster.Connect(1);
  const WantedConnection wanted{.connection = 1,
                                .source = NicAddress(0),
                                .destination = NicAddress(3),
                                .protocol = 6,
                                .destination_port = 5000,
                                .pid = 4711};
  HeldConnection same_name{.wanted = wanted, .queue_pairs = {{}}, .socket_ports = {40000}};
  same_name.wanted.source = NicAddress(1);
  cluster.Send({StreamMessage{*cluster.agent(0).stream, PathsWanted{.request = 1, .job = "a", .connections = {wanted}}},
                StreamMessage{*cluster.agent(1).stream, ConnectionsHeld{.job = "a", .connections = {same_name}}}});
  ASSERT_EQ(cluster.controller().Jobs().size(), 1u);
  EXPECT_EQ(cluster.controller().Jobs()[0].num_hosts, 1u);
  EXPECT_EQ(cluster.controller().QueuePairs().at(0).source, NicId(0));
  EXPECT_EQ(cluster.controller().QueuePairs().at(0).pid, 4711);
  cluster.Say(0, ConnectionOpened{.job = "a", .connection = 1, .queue_pair = 0, .socket_port = 41000});
  EXPECT_EQ(cluster.controller().QueuePairs().at(0).wire_port, 41000) << "it is the first host's";
  cluster.Say(0, ConnectionsClosed{.job = "a", .connections = {1}});
  EXPECT_TRUE(cluster.controller().Jobs().empty());
}

TEST(TrafficControllerTest, HellosAreCheckedAndTheSecondStreamOfAHostReplacesTheFirst) {
  LiveCluster cluster;
  const auto refusal = [&](uint32_t stream, FromAgent message) {
    const auto outputs = cluster.Send({StreamMessage{StreamId(stream), std::move(message)}});
    EXPECT_EQ(Count<EndStream>(outputs), 1u);
    const auto refused = Sent<Refused>(outputs);
    return refused.size() == 1 ? refused[0].reason : "";
  };
  HostHello hello = cluster.Hello(0);
  EXPECT_EQ(refusal(100, Heartbeat{}), "the first message on a stream must be a hello; is this a Fairlead agent?");
  // Later messages on it are ignored.
  EXPECT_TRUE(cluster.Send({StreamMessage{StreamId(100u), hello}}).empty());
  hello.protocol_version = 7;
  EXPECT_EQ(refusal(101, hello),
            "agent test speaks protocol 7, this controller (test) speaks 4: install the same version of Fairlead on "
            "both");
  hello = cluster.Hello(0);
  hello.host = "h99\n";
  EXPECT_EQ(refusal(102, hello),
            "host 'h99?': the fabric has no such host; name it as the fabric does, or add it there");
  hello = cluster.Hello(0);
  hello.nics = {NicAddress(1)};
  EXPECT_EQ(refusal(103, hello), "address 10.0.0.2 of host h0: it belongs to h1/nic0");
  hello.nics = {NicAddress(200)};
  EXPECT_EQ(refusal(104, hello), "address 10.0.0.201 of host h0: no NIC of the address book has it");
  hello = cluster.Hello(0);
  auto outputs = cluster.Send({StreamMessage{StreamId(105u), hello}});
  EXPECT_EQ(Sent<Welcome>(outputs).size(), 1u);
  EXPECT_EQ(Sent<AnnouncementWanted>(outputs).size(), 1u);
  EXPECT_TRUE(cluster.controller().Hosts()[0].is_connected);
  outputs = cluster.Send({StreamMessage{StreamId(106u), hello}});
  ASSERT_EQ(Count<EndStream>(outputs), 1u);
  EXPECT_TRUE(std::ranges::any_of(outputs, [](const TrafficOutput& o) {
    const auto* ended = std::get_if<EndStream>(&o);
    return ended != nullptr && ended->stream == StreamId(105u);
  }));
  // The end of the old one does not end the new one.
  cluster.Send({StreamEnded{StreamId(105u)}});
  EXPECT_TRUE(cluster.controller().Hosts()[0].is_connected);
  cluster.Send({StreamEnded{StreamId(106u)}});
  EXPECT_FALSE(cluster.controller().Hosts()[0].is_connected);
}

// Connections of one job from h0..h2 (leaf0) to h3..h5 (leaf1); all settled and open.
void StartJob(LiveCluster* cluster, const std::string& job, uint64_t first_name = 1, uint16_t port = 40000) {
  for (uint32_t h = 0; h < 3; ++h) cluster->Ask(h, job, first_name + h, h + 3);
  cluster->Settle();
  for (uint32_t h = 0; h < 3; ++h) cluster->Open(h, job, first_name + h, port);
  cluster->Settle();
}

TEST(TrafficControllerTest, ConnectionsGetPortsThatLeadOverDifferentSpines) {
  LiveCluster cluster;
  cluster.ConnectAll();
  StartJob(&cluster, "gpt");
  std::set<uint32_t> spines;
  for (uint32_t h = 0; h < 3; ++h) spines.insert(cluster.SpineOf(h, h + 3, cluster.WirePort(h, "gpt", 1 + h)));
  EXPECT_EQ(spines.size(), 3u) << "three connections over four spines share none";
  const auto jobs = cluster.controller().Jobs();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].num_hosts, 3u);
  EXPECT_EQ(jobs[0].num_connections, 3u);
  EXPECT_EQ(jobs[0].level, 7u);
  EXPECT_EQ(jobs[0].reason, "not measured yet: last level");
}

TEST(TrafficControllerTest, AJobShowsItsFullestLinkAndWhoElseIsThere) {
  // Four connections and four spines for one job; the fifth and sixth meet some of them.
  LiveCluster cluster;
  cluster.ConnectAll();
  StartJob(&cluster, "gpt");
  for (const JobOnFabric& job : cluster.controller().Jobs()) {
    EXPECT_TRUE(job.fullest_link.valid());
    EXPECT_TRUE(job.shares_with.empty());
  }
  StartJob(&cluster, "bert", 11, 41000);
  StartJob(&cluster, "t5", 21, 42000);
  const auto links = cluster.controller().Links();
  for (const JobOnFabric& job : cluster.controller().Jobs()) {
    const auto fullest = std::ranges::find(links, job.fullest_link, &LinkOnFabric::link);
    ASSERT_NE(fullest, links.end());
    std::set<std::string> others;
    double most = 0;
    for (const QueuePairOnFabric& qp : cluster.controller().QueuePairs()) {
      for (const LinkId link : qp.links) {
        if (link == job.fullest_link && qp.job != job.name) others.insert(qp.job);
        const auto shown = std::ranges::find(links, link, &LinkOnFabric::link);
        if (qp.job == job.name && shown != links.end()) most = std::max(most, shown->load);
      }
    }
    EXPECT_EQ(fullest->load, most) << "all links of this fabric have one capacity";
    EXPECT_EQ(std::set<std::string>(job.shares_with.begin(), job.shares_with.end()), others);
  }
}

TEST(TrafficControllerTest, TheFastestIterationOfAJobIsKept) {
  LiveCluster cluster;
  cluster.ConnectAll();
  StartJob(&cluster, "gpt");
  const auto measure = [&](double iteration_s) {
    for (int round = 0; round < 20; ++round) {
      for (uint32_t h = 0; h < 3; ++h) {
        JobMeasured measured = cluster.Measured(h, "gpt", 1e12);
        measured.profile.iteration_time = Seconds(iteration_s);
        measured.profile.compute_time = Seconds(iteration_s / 2);
        cluster.Say(h, measured);
      }
      cluster.Run(3);
    }
    return cluster.controller().Jobs().front();
  };
  EXPECT_FALSE(cluster.controller().Jobs().front().fastest_iteration.has_value());
  EXPECT_NEAR(measure(2).fastest_iteration->value(), 2, 1e-9);
  EXPECT_NEAR(measure(1).fastest_iteration->value(), 1, 0.1);
  const JobOnFabric slow = measure(3);
  EXPECT_NEAR(slow.fastest_iteration->value(), 1, 0.1);
  EXPECT_NEAR(slow.iteration_time->value(), 3, 0.1);
  EXPECT_EQ(slow.num_gpus, 3u);
}

// The routes that packets really take.
void ExpectTrueRoutes(const LiveCluster& cluster) {
  for (const QueuePairOnFabric& qp : cluster.controller().QueuePairs()) {
    const uint32_t from = qp.source.value();
    const uint32_t to = qp.destination.value();
    const uint16_t port = cluster.WirePort(from, qp.job, qp.connection);
    EXPECT_EQ(qp.answer.kind, traffic::QueuePairAnswer::Kind::kUnmanaged);
    EXPECT_EQ(qp.links, cluster.Route(from, to, cluster.SpineOf(from, to, port))) << qp.connection;
  }
}

TEST(TrafficControllerTest, HashedPathsAreLearnedAndNoFlowIsMoved) {
  LiveCluster cluster(LiveDecisions{.paths = false, .levels = true});
  cluster.ConnectAll();
  StartJob(&cluster, "gpt");
  StartJob(&cluster, "bert", 11, 40001);
  cluster.Run(1);
  ASSERT_EQ(cluster.controller().QueuePairs().size(), 6u);
  for (uint32_t h = 0; h < 3; ++h) EXPECT_EQ(cluster.WirePort(h, "gpt", 1 + h), 40000) << "its socket's own";
  ExpectTrueRoutes(cluster);
  // The hash changes for all when a link is lost, and changes back.
  const LinkId lost = cluster.Route(0, 3, cluster.SpineOf(0, 3, 40000))[1];
  for (const double health : {0.0, 1.0}) {
    cluster.SetLink(lost, health);
    cluster.Run(2);
    ExpectTrueRoutes(cluster);
  }
  // They meet on the hosts' links, so levels can be distinguished.
  for (uint32_t h = 0; h < 3; ++h) {
    cluster.Say(h, cluster.Measured(h, "gpt", 1e15));
    cluster.Say(h, cluster.Measured(h, "bert", 1e12));
  }
  cluster.Run(3);
  EXPECT_LT(cluster.agent(0).levels["gpt"], cluster.agent(0).levels["bert"]);
  EXPECT_EQ(cluster.num_moves_of_open_sockets(), 0u);
  // Its port is used again before its end is reported.
  cluster.Ask(0, "gpt", 30, 3);
  cluster.Open(0, "gpt", 30, 40000);
  cluster.Close(0, "gpt", 1);
  cluster.Run(1);
  EXPECT_EQ(cluster.controller().QueuePairs().size(), 6u);
  ExpectTrueRoutes(cluster);
}

// Connections come and go, links fail, controllers die.
TEST(TrafficControllerTest, HashedPathsAreTrueWhateverHappens) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    LiveCluster cluster(LiveDecisions{.paths = false, .levels = random.Below(2) == 0});
    cluster.ConnectAll();
    std::set<std::pair<uint32_t, uint64_t>> open;
    for (uint64_t step = 1; step <= 40; ++step) {
      const auto host = static_cast<uint32_t>(random.Below(6));
      const uint64_t choice = random.Below(10);
      if (choice < 6) {
        cluster.Ask(host, "gpt", step, (host + 1 + static_cast<uint32_t>(random.Below(5))) % 6);
        cluster.Open(host, "gpt", step, static_cast<uint16_t>(40000 + step));
        open.insert({host, step});
      } else if (choice < 8 && !open.empty()) {
        cluster.Close(open.begin()->first, "gpt", open.begin()->second);
        open.erase(open.begin());
      } else if (choice < 9) {
        const LinkId link = cluster.Route(0, 3, static_cast<uint32_t>(random.Below(2)))[1];
        cluster.SetLink(link, random.Below(2) == 0 ? 0 : 1);
      } else {
        cluster.Restart();
        cluster.ConnectAll();
      }
    }
    cluster.Run(3);
    ASSERT_EQ(cluster.controller().QueuePairs().size(), open.size()) << "seed " << seed;
    ExpectTrueRoutes(cluster);
    EXPECT_EQ(cluster.num_moves_of_open_sockets(), 0u);
    cluster.ExpectReplay();
  }
}

TEST(TrafficControllerTest, WithoutLevelsJobsAreMeasuredAndStayOnTheLastOne) {
  LiveCluster cluster;
  cluster.ConnectAll();
  StartJob(&cluster, "gpt");
  StartJob(&cluster, "bert", 11);
  const auto measure = [&] {
    for (uint32_t h = 0; h < 3; ++h) {
      cluster.Say(h, cluster.Measured(h, "gpt", 1e15));
      cluster.Say(h, cluster.Measured(h, "bert", 1e12));
    }
    cluster.Run(3);
  };
  measure();
  EXPECT_NE(cluster.agent(0).levels["gpt"], 7u);
  // The next controller sets none; what the last one has set ends with it.
  cluster.Restart({.paths = true, .levels = false});
  cluster.ConnectAll();
  cluster.Settle();
  measure();
  for (const JobOnFabric& job : cluster.controller().Jobs()) {
    EXPECT_EQ(job.level, 7u);
    EXPECT_EQ(job.reason, "the policy sets no levels");
    EXPECT_TRUE(job.intensity.has_value());
  }
  for (uint32_t h = 0; h < 3; ++h) EXPECT_EQ(cluster.agent(h).levels["gpt"], 7u);
}

// From chosen paths to hashed ones: established connections stay where they are, by the ports that they use.
TEST(TrafficControllerTest, ConnectionsThatWereMovedStayThereWhenPathsAreLeftToTheHash) {
  LiveCluster cluster;
  cluster.ConnectAll();
  StartJob(&cluster, "gpt");
  cluster.SetLink(cluster.Route(0, 3, cluster.SpineOf(0, 3, cluster.WirePort(0, "gpt", 1)))[1], 0);
  cluster.Run(3);
  const uint64_t num_moves = cluster.num_moves_of_open_sockets();
  ASSERT_GE(num_moves, 1u);
  cluster.Restart({.paths = false, .levels = true});
  cluster.ConnectAll();
  cluster.Run(3);
  ExpectTrueRoutes(cluster);
  EXPECT_EQ(cluster.num_moves_of_open_sockets(), num_moves);
}

TEST(TrafficControllerTest, OpenConnectionsMoveWhenTheOtherEndIsPrepared) {
  LiveCluster cluster;
  cluster.ConnectAll();
  StartJob(&cluster, "gpt");
  const uint16_t before = cluster.WirePort(0, "gpt", 1);
  const auto shown = [&] {
    for (const QueuePairOnFabric& qp : cluster.controller().QueuePairs()) {
      if (qp.connection == 1 && qp.job == "gpt" && qp.links.front() == cluster.Route(0, 3, 0).front()) return qp;
    }
    return QueuePairOnFabric{};
  };
  EXPECT_EQ(shown().wire_port, before);
  const uint32_t spine = cluster.SpineOf(0, 3, before);
  const LinkId lost = cluster.Route(0, 3, spine)[1];
  // The destination does not answer: the source stays.
  cluster.agent(3).answers_arrivals = false;
  cluster.SetLink(lost, 0);
  cluster.Run(3);
  EXPECT_EQ(cluster.WirePort(0, "gpt", 1), before);
  EXPECT_EQ(shown().wire_port, before);
  EXPECT_NE(shown().answer.port, before);
  EXPECT_FALSE(cluster.agent(3).arrivals.empty()) << "it was asked";
  for (const auto& [alias, order] : cluster.agent(3).arrivals) EXPECT_EQ(order.wire_port, before) << "and asked back";
  // Its stream returns: now it does.
  cluster.agent(3).answers_arrivals = true;
  cluster.Disconnect(3);
  cluster.Connect(3);
  cluster.Run(2);
  const uint16_t after = cluster.WirePort(0, "gpt", 1);
  EXPECT_NE(after, before);
  EXPECT_EQ(shown().wire_port, after);
  EXPECT_EQ(shown().answer.port, after);
  EXPECT_NE(cluster.SpineOf(0, 3, after), spine);
  EXPECT_GE(cluster.num_moves_of_open_sockets(), 1u);  // others, too: the hash has changed
  // The end of the connection is the end of the rewriting.
  cluster.Close(0, "gpt", 1);
  cluster.Settle();
  EXPECT_TRUE(cluster.agent(3).arrivals.empty());
}

TEST(TrafficControllerTest, ARefusedMoveIsRetriedAndNoConnectionIsCutOff) {
  for (const uint32_t num_refusals : {1u, 3u, 1000u}) {
    LiveCluster cluster;
    cluster.ConnectAll();
    StartJob(&cluster, "gpt");
    const uint16_t before = cluster.WirePort(0, "gpt", 1);
    cluster.agent(0).moves_to_refuse = num_refusals;
    cluster.SetLink(cluster.Route(0, 3, cluster.SpineOf(0, 3, before))[1], 0);
    for (int second = 0; second < 20; ++second) {
      cluster.Run(1);
      for (const auto& [key, held] : cluster.agent(0).held) {
        const HeldConnection& connection = held.connection;
        EXPECT_TRUE(cluster.IsRewritten(0, connection, connection.queue_pairs[0].port, connection.socket_ports[0]));
      }
    }
    if (num_refusals < 5) {
      EXPECT_NE(cluster.WirePort(0, "gpt", 1), before);
      EXPECT_EQ(cluster.agent(0).num_refused, num_refusals);
    } else {
      EXPECT_EQ(cluster.WirePort(0, "gpt", 1), before);
      EXPECT_LE(cluster.agent(0).num_refused, 5 * cluster.agent(0).held.size()) << "rarer each time";
    }
  }
}

TEST(TrafficControllerTest, ARefusalThatGotLostShowsInTheAnnouncement) {
  LiveCluster cluster;
  cluster.ConnectAll();
  StartJob(&cluster, "gpt");
  const uint16_t before = cluster.WirePort(0, "gpt", 1);
  cluster.agent(0).moves_to_refuse = 1;
  cluster.agent(0).loses_refusals = true;
  cluster.SetLink(cluster.Route(0, 3, cluster.SpineOf(0, 3, before))[1], 0);
  cluster.Run(3);
  ASSERT_EQ(cluster.agent(0).num_refused, 1u);
  ASSERT_EQ(cluster.WirePort(0, "gpt", 1), before);
  cluster.Disconnect(0);
  cluster.Connect(0);
  cluster.Run(3);
  EXPECT_NE(cluster.WirePort(0, "gpt", 1), before);
}

// The answer to a lost path is another port, which an open queue pair of RoCE can't take: people are informed.
TEST(TrafficControllerTest, OpenQueuePairsOfRoceStayAndAnEventSaysSo) {
  constexpr uint8_t kRoce = 17;
  for (const bool is_open : {true, false}) {
    LiveCluster cluster;
    cluster.ConnectAll();
    cluster.Ask(0, "gpt", 1, 3, kRoce);
    cluster.Settle();
    const uint16_t port = cluster.WirePort(0, "gpt", 1);
    ASSERT_NE(port, 0);
    if (is_open) cluster.Open(0, "gpt", 1, port);
    cluster.Settle();
    cluster.SetLink(cluster.Route(0, 3, cluster.SpineOf(0, 3, port))[1], 0);
    cluster.Run(6);
    EXPECT_TRUE(cluster.agent(3).arrivals.empty()) << "nothing is rewritten";
    const auto is_it = [](const Noted& note) {
      return note.subject == "job gpt" && note.severity == Noted::Severity::kWarning &&
             note.text.find("1 open RoCE queue pairs on h0 can't be moved") != std::string::npos;
    };
    EXPECT_EQ(std::ranges::any_of(cluster.notes(), is_it), is_open);
  }
}

TEST(TrafficControllerTest, MeasuredJobsAreOrderedAndOthersComeLast) {
  LiveCluster cluster;
  cluster.ConnectAll();
  // Five jobs on three NICs: they meet on the hosts' links.
  StartJob(&cluster, "small");
  StartJob(&cluster, "large", 11);
  StartJob(&cluster, "unknown", 21);
  for (uint32_t h = 0; h < 3; ++h) {
    cluster.Say(h, cluster.Measured(h, "small", 1e12));
    cluster.Say(h, cluster.Measured(h, "large", 1e15));
  }
  cluster.Run(3);
  // Equal bytes and times, 1000 times the work: intensity is work over time on the link.
  const auto jobs = cluster.controller().Jobs();
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_LT(jobs[1].level, jobs[0].level);
  EXPECT_EQ(jobs[2].level, 7u);
  ASSERT_TRUE(jobs[0].intensity && jobs[1].intensity);
  EXPECT_NEAR(*jobs[1].intensity / *jobs[0].intensity, 1000, 1e-6);
  EXPECT_EQ(jobs[0].iteration_time, Seconds(1));
  for (uint32_t h = 0; h < 3; ++h) {
    EXPECT_EQ(cluster.agent(h).levels["large"], jobs[1].level);
    EXPECT_EQ(cluster.agent(h).levels["small"], jobs[0].level);
  }
}

TEST(TrafficControllerTest, JobsOfTheSamePriorityKeepTheirLevels) {
  LiveCluster cluster;
  cluster.ConnectAll();
  StartJob(&cluster, "one");
  StartJob(&cluster, "two", 11);
  const auto levels = [&] { return std::pair(cluster.agent(0).levels["one"], cluster.agent(0).levels["two"]); };
  std::pair<uint32_t, uint32_t> first;
  for (int i = 0; i < 40; ++i) {
    // Alike up to rounding, and never seen to vary by more.
    for (uint32_t h = 0; h < 3; ++h) {
      cluster.Say(h, cluster.Measured(h, "one", 1e12 * (1 + (i % 2) * 1e-12)));
      cluster.Say(h, cluster.Measured(h, "two", 1e12 * (1 + (i % 3) * 1e-12)));
    }
    cluster.Run(3);
    if (i == 0) first = levels();
    ASSERT_EQ(levels(), first) << i;
  }
}

// Two jobs that are alike but for noise of 5 %: the first one stays first.
TEST(TrafficControllerTest, NoiseOfMeasurementsChangesNoLevel) {
  LiveCluster cluster;
  cluster.ConnectAll();
  StartJob(&cluster, "one");
  StartJob(&cluster, "two", 11);
  Random random(5);
  const auto measure = [&](const std::string& job, double work) {
    for (uint32_t h = 0; h < 3; ++h) cluster.Say(h, cluster.Measured(h, job, work * random.Uniform(0.95, 1.05)));
  };
  const auto levels = [&] { return std::pair(cluster.agent(0).levels["one"], cluster.agent(0).levels["two"]); };
  int num_changes = 0;
  for (int i = 0; i < 100; ++i) {
    const auto before = levels();
    measure("one", 1e12);
    measure("two", 1e12);
    cluster.Run(3);
    if (i > 0 && levels() != before) ++num_changes;
  }
  EXPECT_NE(levels().first, levels().second) << "they meet on all links, and there are levels enough";
  EXPECT_LE(num_changes, 1) << "of 100, where chance alone would turn every other one";
  // A real difference is believed: 1.5 times the work.
  const bool one_is_first = levels().first < levels().second;
  for (int i = 0; i < 30; ++i) {
    measure("one", one_is_first ? 1e12 : 1.5e12);
    measure("two", one_is_first ? 1.5e12 : 1e12);
    cluster.Run(3);
  }
  EXPECT_NE(levels().first < levels().second, one_is_first);
}

// Hosts report one after the other, and what they say at first differs: no reason to doubt the job for long.
TEST(TrafficControllerTest, LevelsComeWithTheFirstWholeMeasurement) {
  LiveCluster cluster;
  cluster.ConnectAll();
  StartJob(&cluster, "one");
  StartJob(&cluster, "two", 11);
  for (uint32_t h = 0; h < 3; ++h) {
    for (int i = 0; i < 3; ++i) {
      cluster.Say(h, cluster.Measured(h, "one", 1e12 * (1 + h)));
      cluster.Say(h, cluster.Measured(h, "two", 1e15 * (3 - h)));
      cluster.Run(3);
    }
  }
  EXPECT_LT(cluster.agent(0).levels["two"], cluster.agent(0).levels["one"]);
}

TEST(TrafficControllerTest, WhereIterationsAreNotSeenIntensityDecides) {
  LiveCluster cluster;
  cluster.ConnectAll();
  StartJob(&cluster, "seen");
  StartJob(&cluster, "blurred", 11);
  for (uint32_t h = 0; h < 3; ++h) {
    cluster.Say(h, cluster.Measured(h, "seen", 1e12));
    JobMeasured message = cluster.Measured(h, "blurred", 1.5e12);
    message.profile.is_period_known = false;
    cluster.Say(h, message);
  }
  cluster.Run(3);
  const auto jobs = cluster.controller().Jobs();
  EXPECT_LT(jobs[1].level, jobs[0].level);
  EXPECT_NE(jobs[1].reason.find("correction factor 1 (iterations not seen)"), std::string::npos) << jobs[1].reason;
}

TEST(TrafficControllerTest, HostsThatTakeTwoIterationsForOneAgreeWithTheOthers) {
  LiveCluster cluster;
  cluster.ConnectAll();
  StartJob(&cluster, "one");
  StartJob(&cluster, "two", 11);
  for (uint32_t h = 0; h < 3; ++h) {
    cluster.Say(h, cluster.Measured(h, "one", 1e12));
    // The same traffic and work, seen as iterations of twice the length on every other host.
    JobMeasured message = cluster.Measured(h, "two", 1e12);
    if (h % 2 == 0) {
      message.profile.iteration_time = message.profile.iteration_time * 2;
      message.profile.compute_time = message.profile.compute_time * 2;
      message.profile.work = message.profile.work * 2;
      for (Bytes& bytes : message.profile.flow_bytes) bytes = bytes * 2;
    }
    cluster.Say(h, message);
  }
  cluster.Run(3);
  const auto jobs = cluster.controller().Jobs();
  ASSERT_TRUE(jobs[0].intensity && jobs[1].intensity);
  EXPECT_NEAR(*jobs[1].intensity / *jobs[0].intensity, 1, 1e-9);
}

TEST(TrafficControllerTest, JobNumbersAreNeverUsedAgain) {
  LiveCluster cluster;
  cluster.ConnectAll();
  StartJob(&cluster, "one");
  EXPECT_TRUE(cluster.store().contains("job/0"));
  for (uint32_t h = 0; h < 3; ++h) cluster.Close(h, "one", 1 + h);
  EXPECT_FALSE(cluster.store().contains("job/0"));
  cluster.Restart();
  cluster.ConnectAll();
  StartJob(&cluster, "two");
  EXPECT_TRUE(cluster.store().contains("job/1"));
}

// Switches report changes once; a new controller would not receive them.
TEST(TrafficControllerTest, ReportedLinksOutliveARestart) {
  LiveCluster cluster;
  cluster.ConnectAll();
  const LinkId lost = cluster.Route(0, 3, 2)[1];
  const LinkId degraded = cluster.Route(0, 3, 1)[1];
  cluster.SetLink(lost, 0);
  cluster.SetLink(degraded, 0.5);
  const auto store = cluster.store();
  EXPECT_TRUE(store.contains("link/" + cluster.fabric().LinkName(lost)));
  EXPECT_EQ(store.size(), 4u) << "two links in both directions, and no jobs yet";
  cluster.Restart();
  cluster.Wait(SimDuration(1));
  EXPECT_EQ(cluster.paths().state(lost), traffic::LinkState::kDown);
  EXPECT_EQ(cluster.paths().health(degraded), 0.5);
  EXPECT_EQ(cluster.store(), store);
  // No new connection crosses it: ten over three spines, where four would do.
  cluster.ConnectAll();
  for (uint64_t c = 1; c <= 10; ++c) cluster.Ask(0, "gpt", c, 3);
  for (const QueuePairOnFabric& qp : cluster.controller().QueuePairs()) {
    EXPECT_EQ(std::ranges::find(qp.links, lost), qp.links.end());
  }
  cluster.SetLink(lost, 1);
  cluster.SetLink(degraded, 1);
  for (const auto& [key, value] : cluster.store()) EXPECT_FALSE(key.starts_with("link/")) << key;
}

TEST(TrafficControllerTest, ReportsOfLinksThatAreGoneAreDropped) {
  LiveCluster cluster;
  ASSERT_TRUE(cluster.controller()
                  .Restore(std::vector<std::pair<std::string, std::string>>{
                      {"link/leaf9->spine9", R"({"health": 0, "source": "switch"})"}})
                  .ok());
  const auto outputs = cluster.Send({});
  ASSERT_TRUE(std::ranges::any_of(outputs, [](const TrafficOutput& output) {
    const auto* record = std::get_if<RecordChanged>(&output);
    return record != nullptr && record->key == "link/leaf9->spine9" && !record->value;
  }));
}

// An agent that lost its state beats on, and even for as many leases as before: what it does not announce ends.
TEST(TrafficControllerTest, WhatAnAgentHasForgottenEnds) {
  LiveCluster cluster;
  cluster.ConnectAll();
  StartJob(&cluster, "gpt");
  cluster.Ask(0, "bert", 50, 4);
  cluster.Settle();
  ASSERT_EQ(cluster.Reservations().size(), 4u);
  auto& held = cluster.agent(0).held;
  held.erase({"gpt", 1});
  cluster.Disconnect(0);
  cluster.Connect(0);
  cluster.Settle();
  // Host 0 has connection 1 of gpt and 50 of bert; the others have theirs.
  const auto reservations = cluster.Reservations();
  EXPECT_EQ(reservations.size(), 3u);
  EXPECT_FALSE(reservations.contains({"gpt", 1}));
  EXPECT_TRUE(reservations.contains({"bert", 50}));
  // Everything, now: the job of this host alone is gone with it.
  held.clear();
  cluster.Disconnect(0);
  cluster.Connect(0);
  cluster.Settle();
  EXPECT_EQ(cluster.Reservations().size(), 2u);
  EXPECT_EQ(cluster.controller().Jobs().size(), 1u);
  // What an agent says before it was asked ends nothing.
  cluster.Say(1, AnnouncementFinished{});
  EXPECT_EQ(cluster.Reservations().size(), 2u);
}

TEST(TrafficControllerTest, DamagedRecordsAreNamed) {
  LiveCluster cluster;
  using Records = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(cluster.controller().Restore(Records{{"job/x", "{}"}}).code(), StatusCode::kDataLoss);
  EXPECT_EQ(cluster.controller().Restore(Records{{"job/1", "{"}}).code(), StatusCode::kDataLoss);
  EXPECT_EQ(cluster.controller().Restore(Records{{"next_job", "-3"}}).code(), StatusCode::kDataLoss);
  EXPECT_EQ(cluster.controller().Restore(Records{{"link/a->b", "0"}}).code(), StatusCode::kDataLoss);
  EXPECT_EQ(cluster.controller().Restore(Records{{"link/a->b", R"({"health": 2, "source": ""})"}}).code(),
            StatusCode::kDataLoss);
  EXPECT_TRUE(cluster.controller().Restore(Records{{"starts", "3"}}).ok());
}

}  // namespace
}  // namespace fairlead::controller

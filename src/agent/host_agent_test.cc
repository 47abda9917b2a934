#include "agent/host_agent.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace fairlead::agent {
namespace {

using traffic::QueuePairAnswer;

const IpAddress kHere = ParseIpAddress("10.0.0.1").value();
const IpAddress kThere = ParseIpAddress("10.0.0.2").value();

class HostAgentTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.host = "h0";
    options_.nics = {kHere};
    Start({});
  }
  void Start(const AgentState& kept) { agent_.emplace(options_, kept, now_); }

  std::vector<HostAction> Do(const HostEvent& event) { return agent_->Handle(now_, {&event, 1}); }
  std::vector<HostAction> Hear(controller::ToAgent message) { return Do(MessageFromController{std::move(message)}); }
  std::vector<HostAction> Wait(int64_t ms) {
    now_ = now_ + SimDuration(ms * 1'000'000);
    return agent_->Handle(now_, {});
  }
  void Connect() {
    Do(StreamOpened{});
    Hear(controller::Welcome{"test", SimDuration(5'000'000'000), SimDuration(60'000'000'000)});
  }
  PathRequested Question(QuestionId question) const {
    return {.question = question,
            .pid = 100,
            .inode = 1000 + question,
            .job = "gpt",
            .source = kHere,
            .destination = kThere,
            .destination_port = 5001};
  }

  // All actions of one kind, and all messages of one kind.
  template <class T>
  static std::vector<T> Of(const std::vector<HostAction>& actions) {
    std::vector<T> found;
    for (const HostAction& action : actions) {
      if (const T* one = std::get_if<T>(&action)) found.push_back(*one);
    }
    return found;
  }
  template <class T>
  static std::vector<T> Sent(const std::vector<HostAction>& actions) {
    std::vector<T> found;
    for (const SendToController& sent : Of<SendToController>(actions)) {
      if (const T* one = std::get_if<T>(&sent.message)) found.push_back(*one);
    }
    return found;
  }

  // Asks, and returns the connection's number.
  uint64_t Ask(QuestionId question) {
    const auto wanted = Sent<controller::PathsWanted>(Do(Question(question)));
    EXPECT_EQ(wanted.size(), 1u);
    EXPECT_TRUE(wanted.empty() || wanted[0].connections[0].pid == 100);
    return wanted.empty() ? 0 : wanted[0].connections[0].connection;
  }
  std::vector<HostAction> Answer(uint64_t connection, QueuePairAnswer answer, uint32_t level = 2) {
    return Hear(controller::PathsAnswered{
        .request = 1, .job = "gpt", .connections = {{connection, "", {answer}}}, .level = level});
  }
  std::vector<HostAction> Change(uint64_t connection, uint16_t port, bool is_prepared = true) {
    return Hear(
        controller::PathsChanged{{{"gpt", connection, 0, Use(port), traffic::MoveCause::kLinkDown, is_prepared}}});
  }
  static QueuePairAnswer Use(uint16_t port) { return {.kind = QueuePairAnswer::Kind::kUse, .path = 3, .port = port}; }
  // An established connection from `port`.
  uint64_t OpenFrom(QuestionId question, uint16_t port) {
    const uint64_t connection = Ask(question);
    Answer(connection, Use(port));
    Do(PathRequestOutcome{question, port, 0});
    Do(ProcessLeft{question});
    return connection;
  }
  SeenSocket Socket(uint16_t port, uint64_t inode) const {
    return {.ends = {kHere, kThere, port, 5001}, .inode = inode, .bytes_acked = 0};
  }

  HostAgentOptions options_;
  SimTime now_ = SimTime(1'000'000'000);
  std::optional<HostAgent> agent_;
};

TEST_F(HostAgentTest, IntroducesItselfFirst) {
  const auto hello = Of<SendToController>(Do(StreamOpened{}));
  ASSERT_EQ(hello.size(), 1u);
  EXPECT_EQ(std::get<controller::HostHello>(hello[0].message).nics, options_.nics);
}

// Numbers count looks that are not sent, too.
TEST_F(HostAgentTest, LooksAtProcessesAreSentToAConnectedController) {
  telemetry::SeenProcess process;
  process.report.job = "gpt";
  process.report.pid = 7;
  const SegmentsSeen look{now_, {process}};
  EXPECT_TRUE(Of<SendToController>(Do(look)).empty());
  Connect();
  auto sent = Sent<controller::ProcessesSeen>(Do(look));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0], (controller::ProcessesSeen{"gpt", 1, now_, {process}}));
  Do(StreamBroken{});
  EXPECT_TRUE(Of<SendToController>(Do(look)).empty());
  Connect();
  sent = Sent<controller::ProcessesSeen>(Do(look));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].number, 3u);
}

TEST_F(HostAgentTest, HeartbeatsTellJobsOfSlurm) {
  Connect();
  const auto heartbeat = [this] {
    now_ = now_ + SimDuration(6'000'000'000);
    return Sent<controller::Heartbeat>(Do(SegmentsSeen{now_, {}, {}, std::vector<uint32_t>{7, 9}}));
  };
  ASSERT_EQ(heartbeat().size(), 1u);
  EXPECT_EQ(heartbeat()[0], (controller::Heartbeat{.sees_slurm = true, .slurm_jobs = {7, 9}}));
  now_ = now_ + SimDuration(6'000'000'000);
  EXPECT_EQ(Sent<controller::Heartbeat>(Do(SegmentsSeen{now_, {}}))[0], controller::Heartbeat{});
}

TEST_F(HostAgentTest, WhatIsFoundAboutTheHostIsKept) {
  const controller::HostJudged judged{{{"gpt", model::Syndrome::kDead, "gone", model::RecommendedAction::kRestart}}};
  Connect();
  const auto kept = Of<KeepJudgement>(Hear(judged));
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].judged, judged);
}

TEST_F(HostAgentTest, AKnownPortIsGivenAtOnce) {
  Connect();
  const uint64_t connection = Ask(1);
  // Level 2 is DSCP (7 - 2) * 8 = 40, class 160.
  EXPECT_EQ(Of<AnswerProcess>(Answer(connection, Use(50'007))),
            (std::vector<AnswerProcess>{{1, false, 50'007, true, 160}}));
  const auto opened = Sent<controller::ConnectionOpened>(Do(PathRequestOutcome{1, 50'007, EINPROGRESS}));
  EXPECT_EQ(opened, (std::vector<controller::ConnectionOpened>{{"gpt", connection, 0, 50'007}}));
  EXPECT_TRUE(Wait(100).empty()) << "one answer only";
}

TEST_F(HostAgentTest, WithoutAnAnswerTheConnectionGoesOnItsWayAtTheDeadline) {
  Connect();
  const uint64_t connection = Ask(1);
  EXPECT_EQ(agent_->NextDue(), now_ + SimDuration(15'000'000));
  EXPECT_TRUE(Of<AnswerProcess>(Wait(14)).empty());
  EXPECT_EQ(Of<AnswerProcess>(Wait(1)), (std::vector<AnswerProcess>{{1, false, 0, false, 0}}));
  EXPECT_TRUE(Sent<controller::ConnectionOpened>(Do(PathRequestOutcome{1, 33'333, 0})).empty());
  // The plan comes late: the socket has its port, and only a change (whose arrival is prepared) moves it.
  const auto late = Answer(connection, Use(50'007));
  EXPECT_TRUE(Of<AnswerProcess>(late).empty() && Of<SetRewrite>(late).empty());
  EXPECT_EQ(Sent<controller::ConnectionOpened>(late),
            (std::vector<controller::ConnectionOpened>{{"gpt", connection, 0, 33'333}}));
  EXPECT_TRUE(Of<SetRewrite>(Change(connection, 50'007, false)).empty()) << "nobody rewrites at the other end";
  EXPECT_EQ(Of<SetRewrite>(Change(connection, 50'007)).size(), 1u);
  ASSERT_EQ(Of<SetSocketClass>(late).size(), 1u) << "the level is told with it";
  EXPECT_EQ(Of<SetSocketClass>(late)[0].traffic_class, 160);
}

TEST_F(HostAgentTest, AStoppedControllerDelaysOneConnectionOnly) {
  Connect();
  Ask(1);
  const auto late = Wait(15);
  EXPECT_EQ(Of<AnswerProcess>(late).size(), 1u);
  EXPECT_EQ(Of<Noted>(late).size(), 1u);
  // The others are requested anyway, and wait for nothing.
  const auto second = Do(Question(2));
  EXPECT_EQ(Of<AnswerProcess>(second), (std::vector<AnswerProcess>{{2, false, 0, false, 0}}));
  const auto wanted = Sent<controller::PathsWanted>(second);
  ASSERT_EQ(wanted.size(), 1u);
  Do(PathRequestOutcome{2, 33'333, 0});
  // The controller continues: the established connection receives its path, and the next process waits again.
  const uint64_t connection = wanted[0].connections[0].connection;
  EXPECT_EQ(Sent<controller::ConnectionOpened>(Answer(connection, Use(50'007))).size(), 1u);
  EXPECT_TRUE(Of<AnswerProcess>(Do(Question(3))).empty());
  EXPECT_EQ(Of<AnswerProcess>(Wait(15)).size(), 1u);
}

TEST_F(HostAgentTest, ASearchThatTakesLongIsNoSilence) {
  Connect();
  const uint64_t connection = Ask(1);
  Answer(connection, {.kind = QueuePairAnswer::Kind::kScan, .path = 3});
  EXPECT_EQ(Of<AnswerProcess>(Wait(15)).size(), 1u);
  EXPECT_TRUE(Of<AnswerProcess>(Do(Question(2))).empty());
}

TEST_F(HostAgentTest, AScanIsRunAndItsPortStillGivenInTime) {
  Connect();
  const uint64_t connection = Ask(1);
  EXPECT_TRUE(Of<AnswerProcess>(Answer(connection, {.kind = QueuePairAnswer::Kind::kScan, .path = 3})).empty());
  controller::PortScanWanted scan;
  scan.source = kHere;
  scan.destination = kThere;
  scan.source_ports = {50'000, 50'001};
  const auto probes = Of<ProbePorts>(Hear(controller::ProbesWanted{0, {scan}}));
  ASSERT_EQ(probes.size(), 1u);
  EXPECT_TRUE(probes[0].is_urgent);
  const controller::PortScanSeen result = {
      .source = kHere, .destination = kThere, .routes = {{.hops = {}, .rtt = Seconds(0), .source_ports = {50'001}}}};
  const auto finished = Sent<controller::ProbesFinished>(Do(ProbesDone{probes[0].order, {result}}));
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0].scans, (std::vector<controller::PortScanSeen>{result}));
  Wait(8);
  EXPECT_EQ(Of<AnswerProcess>(Change(connection, 50'001)), (std::vector<AnswerProcess>{{1, false, 50'001, true, 160}}));
}

// A scan of a round is cut into pieces, which are reported as the one that was requested.
TEST_F(HostAgentTest, ARoundIsReportedWholeAndEachRouteOnce) {
  Connect();
  controller::PortScanWanted wanted = {.source = kHere, .destination = kThere, .epoch = 7, .source_ports = {}};
  for (uint16_t port = 50'000; port < 50'100; ++port) wanted.source_ports.push_back(port);
  controller::PortScanWanted other = wanted;
  other.destination_port = 9;
  std::vector<controller::ProbesFinished> finished;
  size_t num_orders = 0;
  std::vector<HostAction> actions = Hear(controller::ProbesWanted{3, {wanted, other}});
  for (auto orders = Of<ProbePorts>(actions); !orders.empty(); orders = Of<ProbePorts>(actions)) {
    ASSERT_EQ(orders.size(), 1u);
    ++num_orders;
    EXPECT_TRUE(finished.empty());
    const controller::PortScanWanted& scan = orders[0].scan;
    controller::ProbedRoute route = {.hops = {kThere}, .sent = 1, .rtt = Seconds(1e-4), .source_ports = {}};
    route.source_ports = scan.source_ports;
    actions = Do(ProbesDone{orders[0].order,
                            {{.source = scan.source,
                              .destination = scan.destination,
                              .destination_port = scan.destination_port,
                              .epoch = scan.epoch,
                              .routes = {route}}}});
    finished = Sent<controller::ProbesFinished>(actions);
  }
  EXPECT_EQ(num_orders, 4u);
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0].round, 3u);
  ASSERT_EQ(finished[0].scans.size(), 2u);
  for (const controller::PortScanSeen& scan : finished[0].scans) {
    EXPECT_EQ(scan.destination_port, &scan == &finished[0].scans[0] ? 0 : 9);
    ASSERT_EQ(scan.routes.size(), 1u);
    EXPECT_EQ(scan.routes[0].source_ports, wanted.source_ports);
  }
}

TEST_F(HostAgentTest, WhatIsNoTrainingIsLeftAloneAndRemembered) {
  Connect();
  PathRequested other = Question(1);
  other.source = kThere;
  EXPECT_EQ(Of<AnswerProcess>(Do(other)), (std::vector<AnswerProcess>{{.question = 1}}));
  const uint64_t connection = Ask(2);
  const auto refused = Hear(controller::PathsAnswered{
      .request = 1, .job = "gpt", .connections = {{connection, "10.0.0.2 is no NIC", {}}}, .level = 0});
  EXPECT_EQ(Of<AnswerProcess>(refused), (std::vector<AnswerProcess>{{.question = 2}}));
  const auto again = Do(Question(3));
  EXPECT_EQ(again.size(), 1u) << "the controller is not asked again";
  EXPECT_EQ(Of<AnswerProcess>(again), (std::vector<AnswerProcess>{{.question = 3}}));
  Wait(61'000);
  Ask(4);
}

TEST_F(HostAgentTest, WhileTheControllerIsAwayConnectionsHaveTheirJobsClass) {
  Connect();
  OpenFrom(1, 50'001);
  Do(StreamBroken{});
  EXPECT_EQ(Of<AnswerProcess>(Do(Question(2))), (std::vector<AnswerProcess>{{2, false, 0, true, 160}}));
  Do(PathRequestOutcome{2, 40'000, 0});
  Do(ProcessLeft{2});
  Connect();
  // Announced is what it knew of; it is asked about the other.
  const auto messages = Hear(controller::AnnouncementWanted{});
  const auto held = Sent<controller::ConnectionsHeld>(messages);
  ASSERT_EQ(held.size(), 1u);
  ASSERT_EQ(held[0].connections.size(), 1u);
  EXPECT_EQ(held[0].connections[0].queue_pairs[0], (traffic::HeldPath{true, 0, 3, 50'001}));
  EXPECT_EQ(held[0].connections[0].socket_ports, (std::vector<uint16_t>{50'001}));
  const auto wanted = Sent<controller::PathsWanted>(messages);
  ASSERT_EQ(wanted.size(), 1u);
  // Its state is reported once it is known there.
  const uint64_t second = wanted[0].connections[0].connection;
  EXPECT_EQ(Sent<controller::ConnectionOpened>(Answer(second, Use(50'002))),
            (std::vector<controller::ConnectionOpened>{{"gpt", second, 0, 40'000}}));
}

TEST_F(HostAgentTest, AMoveRewritesDeparturesAndComesBack) {
  Connect();
  const uint64_t connection = OpenFrom(1, 50'001);
  const auto move = Of<SetRewrite>(Change(connection, 50'009));
  ASSERT_EQ(move.size(), 1u);
  const RewriteRule rule = {RewriteRule::Direction::kDeparture, kHere, kThere, 50'001, 5001};
  EXPECT_EQ(move[0].rule, rule);
  EXPECT_EQ(move[0].to_port, 50'009);
  EXPECT_TRUE(Of<SetRewrite>(Change(connection, 50'009)).empty()) << "already under way";
  Do(RewriteDone{move[0].ticket, ""});
  EXPECT_EQ(agent_->State().connections[0].wire_port, 50'009);
  const auto back = Of<ClearRewrite>(Change(connection, 50'001));
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].rule, rule);
  EXPECT_EQ(agent_->State().connections[0].wire_port, 50'009) << "until the kernel has done it";
  Do(RewriteDone{back[0].ticket, ""});
  EXPECT_EQ(agent_->State().connections[0].wire_port, 50'001);
}

// Each time: the controller would think otherwise of the port in force.
TEST_F(HostAgentTest, AFailedMoveIsReportedWithThePortInUse) {
  Connect();
  const uint64_t connection = OpenFrom(1, 50'001);
  for (int i = 0; i < 3; ++i) {
    const auto move = Of<SetRewrite>(Change(connection, 50'009));
    EXPECT_EQ(Sent<controller::MoveRefused>(Do(RewriteDone{move.at(0).ticket, "no right"})),
              (std::vector<controller::MoveRefused>{{"gpt", connection, 0, 50'009, 50'001, "no right"}}));
  }
  const auto held = Sent<controller::ConnectionsHeld>(Hear(controller::AnnouncementWanted{}));
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].connections[0].queue_pairs[0].port, 0) << "50009 is not in force";
  EXPECT_EQ(held[0].connections[0].socket_ports[0], 50'001);
  // Moved before, it is announced with the port that it has.
  const auto move = Of<SetRewrite>(Change(connection, 50'008));
  Do(RewriteDone{move.at(0).ticket, ""});
  Do(RewriteDone{Of<SetRewrite>(Change(connection, 50'009)).at(0).ticket, "no right"});
  const auto moved = Sent<controller::ConnectionsHeld>(Hear(controller::AnnouncementWanted{}));
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0].connections[0].queue_pairs[0].port, 50'008);
}

TEST_F(HostAgentTest, NoQueuePairGetsAPortThatOtherPacketsCarry) {
  Connect();
  const uint64_t first = OpenFrom(1, 50'001);
  const auto move = Of<SetRewrite>(Change(first, 50'009));
  Do(RewriteDone{move.at(0).ticket, ""});
  // The kernel would give 50009 away: no socket has it.
  const uint64_t second = Ask(2);
  EXPECT_EQ(Of<AnswerProcess>(Answer(second, Use(50'009))), (std::vector<AnswerProcess>{{2, false, 0, true, 160}}));
  Do(PathRequestOutcome{2, 50'002, 0});
  const auto refused = Change(second, 50'009);
  EXPECT_TRUE(Of<SetRewrite>(refused).empty());
  EXPECT_EQ(Sent<controller::MoveRefused>(refused),
            (std::vector<controller::MoveRefused>{
                {"gpt", second, 0, 50'009, 50'002, "another connection to the same place has the port"}}));
  EXPECT_TRUE(Of<SetRewrite>(Change(second, 50'001)).empty()) << "the first one's socket";
}

// Of the connection from port 51000 there to port 6000 here.
controller::PrepareArrival ArrivalOn(uint16_t wire_port) {
  return {.alias = 8,
          .source = kThere,
          .destination = kHere,
          .destination_port = 6000,
          .socket_port = 51'000,
          .wire_port = wire_port};
}

// The source need not have heard of its move yet.
TEST_F(HostAgentTest, ArrivalsKeepOlderPortsUntilThereAreMany) {
  Connect();
  controller::PrepareArrival arrival = ArrivalOn(51'001);
  const auto set = Of<SetRewrite>(Hear(arrival));
  ASSERT_EQ(set.size(), 1u);
  EXPECT_EQ(set[0].rule, (RewriteRule{RewriteRule::Direction::kArrival, kThere, kHere, 51'001, 6000}));
  EXPECT_EQ(set[0].to_port, 51'000);
  EXPECT_EQ(Sent<controller::ArrivalPrepared>(Do(RewriteDone{set[0].ticket, ""})),
            (std::vector<controller::ArrivalPrepared>{{8, ""}}));
  arrival.wire_port = 51'002;
  const auto next = Hear(arrival);
  EXPECT_EQ(Of<SetRewrite>(next).size(), 1u);
  EXPECT_TRUE(Of<ClearRewrite>(next).empty());
  Do(RewriteDone{Of<SetRewrite>(next)[0].ticket, ""});
  EXPECT_TRUE(Of<ClearRewrite>(Wait(60'000)).empty());
  for (arrival.wire_port = 51'003; arrival.wire_port < 51'011; ++arrival.wire_port) {
    Do(RewriteDone{Of<SetRewrite>(Hear(arrival)).at(0).ticket, ""});
  }
  EXPECT_TRUE(Of<ClearRewrite>(Wait(4'999)).empty());
  const auto cleared = Of<ClearRewrite>(Wait(1));
  ASSERT_EQ(cleared.size(), 1u);
  EXPECT_EQ(cleared[0].rule.from_port, 51'001);
  Hear(controller::ForgetArrival{8});
  Wait(1);
  EXPECT_EQ(Of<ClearRewrite>(Do(SocketsSeen{now_, {}})).size(), 9u);
  EXPECT_EQ(agent_->num_aliases(), 0u);
}

// Its source's agent may have lost its state: then the kernel there rewrites on.
TEST_F(HostAgentTest, AForgottenArrivalStaysWhileItsSocketLives) {
  Connect();
  const SocketPair ends = {kHere, kThere, 6000, 51'000};
  Do(SocketsSeen{now_, {{.ends = ends, .inode = 1}}});
  const auto set = Of<SetRewrite>(Hear(ArrivalOn(61'001)));
  Do(RewriteDone{set.at(0).ticket, ""});
  EXPECT_TRUE(Of<ClearRewrite>(Hear(controller::ForgetArrival{8})).empty());
  Wait(100);
  EXPECT_TRUE(Of<ClearRewrite>(Do(SocketsSeen{now_, {{.ends = ends, .inode = 1}}})).empty());
  Wait(100);
  EXPECT_EQ(Of<ClearRewrite>(Do(SocketsSeen{now_, {}})).size(), 1u);
}

// A host that has booted opens the same connection again, and its peer rewrites on until it looks.
TEST_F(HostAgentTest, AForgottenArrivalStaysIfItsSocketIsNewerThanTheLastLook) {
  Connect();
  const SocketPair ends = {kHere, kThere, 6000, 51'000};
  Do(SocketsSeen{now_, {}});
  const auto set = Of<SetRewrite>(Hear(ArrivalOn(61'001)));
  Do(RewriteDone{set.at(0).ticket, ""});
  Wait(100);
  const SimTime asked_before = now_;
  Wait(100);
  EXPECT_TRUE(Of<ClearRewrite>(Hear(controller::ForgetArrival{8})).empty());
  EXPECT_TRUE(Of<ClearRewrite>(Do(SocketsSeen{asked_before, {}})).empty());
  Wait(100);
  EXPECT_TRUE(Of<ClearRewrite>(Do(SocketsSeen{now_, {{.ends = ends, .inode = 1}}})).empty());
  Wait(100);
  EXPECT_EQ(Of<ClearRewrite>(Do(SocketsSeen{now_, {}})).size(), 1u);
}

// Closed here first: what its peer still sends, its end above all, must not arrive at a port that nobody knows.
// What was opened from here needs its path no more.
TEST_F(HostAgentTest, AnArrivalStaysUntilItsPeerHasClosedToo) {
  Connect();
  OpenFrom(1, 50'001);
  const SocketPair ends = {kHere, kThere, 6000, 51'000};
  SeenSocket opened = Socket(50'001, 1001);
  Do(SocketsSeen{now_, {opened, {.ends = ends, .inode = 1}}});
  const auto set = Of<SetRewrite>(Hear(ArrivalOn(61'001)));
  Do(RewriteDone{set.at(0).ticket, ""});
  Wait(100);
  opened = Socket(50'001, 0);
  opened.is_over = true;
  const auto closed = Do(SocketsSeen{now_, {opened, {.ends = ends, .inode = 0, .is_over = true}}});
  EXPECT_TRUE(Of<ClearRewrite>(closed).empty());
  EXPECT_EQ(Sent<controller::ConnectionsClosed>(closed).size(), 1u);
  EXPECT_TRUE(Of<ClearRewrite>(Hear(controller::ForgetArrival{8})).empty());
  Wait(100);
  EXPECT_EQ(Of<ClearRewrite>(Do(SocketsSeen{now_, {}})).size(), 1u);
}

TEST_F(HostAgentTest, OrdersForAnArrivalAreAnsweredInTheirOrder) {
  Connect();
  controller::PrepareArrival arrival = ArrivalOn(51'001);
  const auto set = Of<SetRewrite>(Hear(arrival));
  arrival.wire_port = 51'000;  // back: nothing to do, but not to be reported before the first
  EXPECT_TRUE(Sent<controller::ArrivalPrepared>(Hear(arrival)).empty());
  EXPECT_EQ(Sent<controller::ArrivalPrepared>(Do(RewriteDone{set.at(0).ticket, "no"})),
            (std::vector<controller::ArrivalPrepared>{{8, "no"}, {8, ""}}));
}

// A connection can be moved when it is open, a queue pair can't.
TEST_F(HostAgentTest, AQueuePairWaitsForItsPort) {
  Connect();
  PathRequested question = Question(1);
  question.kind = QuestionKind::kQueuePair;
  question.inode = 0;
  const auto wanted = Sent<controller::PathsWanted>(Do(question));
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_TRUE(Of<AnswerProcess>(Wait(400)).empty());
  const uint64_t connection = wanted[0].connections[0].connection;
  const auto late = Of<AnswerProcess>(Hear(controller::PathsAnswered{
      .request = 1, .job = "gpt", .connections = {{connection, "", {Use(50'003)}}}, .level = 0}));
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].source_port, 50'003);
  question.question = 2;
  Do(question);
  EXPECT_TRUE(Of<AnswerProcess>(Wait(440)).empty());
  EXPECT_EQ(Of<AnswerProcess>(Wait(10)).size(), 1u) << "but not for ever";
}

// The controller counts answers on each stream.
TEST_F(HostAgentTest, OrdersOfAnEarlierStreamAreNotAnswered) {
  Connect();
  const auto set = Of<SetRewrite>(Hear(ArrivalOn(61'001)));
  Do(StreamBroken{});
  Connect();
  EXPECT_TRUE(Sent<controller::ArrivalPrepared>(Do(RewriteDone{set.at(0).ticket, ""})).empty());
}

TEST_F(HostAgentTest, ArrivalsThatWouldBreakAnotherConnectionAreRefused) {
  Connect();
  Do(SocketsSeen{now_, {{.ends = {kHere, kThere, 6000, 51'001}, .inode = 1}}});
  controller::PrepareArrival arrival = ArrivalOn(51'001);
  const auto sent = Sent<controller::ArrivalPrepared>(Hear(arrival));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_NE(sent[0].error.find("51001"), std::string::npos);
  arrival.destination = kThere;
  EXPECT_FALSE(Sent<controller::ArrivalPrepared>(Hear(arrival)).at(0).error.empty());
}

TEST_F(HostAgentTest, ALevelReachesAllSocketsOfTheJob) {
  Connect();
  OpenFrom(1, 50'001);
  PathRequested accept = Question(2);
  accept.kind = QuestionKind::kAccept;
  EXPECT_EQ(Of<AnswerProcess>(Do(accept)), (std::vector<AnswerProcess>{{2, false, 0, true, 160}}));
  const auto classes = Of<SetSocketClass>(Hear(controller::LevelSet{"gpt", 0, ""}));
  ASSERT_EQ(classes.size(), 2u);
  for (const SetSocketClass& one : classes) EXPECT_EQ(one.traffic_class, 224);
  EXPECT_TRUE(Of<SetSocketClass>(Hear(controller::LevelSet{"gpt", 0, ""})).empty());
  EXPECT_TRUE(Of<SetSocketClass>(Hear(controller::LevelSet{"gpt", 8, ""})).empty()) << "no such level";
}

// Gloo's connections carry data both ways; the way back leaves by its own path.
TEST_F(HostAgentTest, AnAcceptedConnectionThatSendsIsSteeredFromHere) {
  Connect();
  OpenFrom(1, 50'001);
  PathRequested accept = Question(2);
  accept.kind = QuestionKind::kAccept;
  Do(accept);
  SeenSocket accepted = {.ends = {kHere, kThere, 6000, 51'000}, .inode = accept.inode};
  const auto look = [&] { return Do(SocketsSeen{now_, {Socket(50'001, 1001), accepted}}); };
  // Acknowledgements are not data, however many come together.
  accepted.bytes_acked = 1e6;
  accepted.bytes_received = 1e9;
  EXPECT_TRUE(Of<SendToController>(look()).empty());
  accepted.bytes_acked = 1e8;
  const auto wanted = Sent<controller::PathsWanted>(look());
  ASSERT_EQ(wanted.size(), 1u);
  const controller::WantedConnection& back = wanted[0].connections[0];
  EXPECT_EQ(back.source, kHere);
  EXPECT_EQ(back.destination, kThere);
  EXPECT_EQ(back.destination_port, 51'000);
  EXPECT_TRUE(Of<SendToController>(look()).empty()) << "asked once";
  const auto answered = Answer(back.connection, Use(50'007));
  EXPECT_TRUE(Of<SetSocketClass>(answered).empty()) << "it has the class since it was accepted";
  EXPECT_EQ(Sent<controller::ConnectionOpened>(answered),
            (std::vector<controller::ConnectionOpened>{{"gpt", back.connection, 0, 6000}}));
  const auto move = Of<SetRewrite>(Change(back.connection, 50'007));
  ASSERT_EQ(move.size(), 1u);
  EXPECT_EQ(move[0].rule, (RewriteRule{RewriteRule::Direction::kDeparture, kHere, kThere, 6000, 51'000}));
  // The next level reaches it once, and its end is reported.
  EXPECT_EQ(Of<SetSocketClass>(Hear(controller::LevelSet{"gpt", 0, ""})).size(), 2u);
  Wait(10);
  const auto closed = Sent<controller::ConnectionsClosed>(Do(SocketsSeen{now_, {Socket(50'001, 1001)}}));
  EXPECT_EQ(closed, (std::vector<controller::ConnectionsClosed>{{"gpt", {back.connection}}}));
}

TEST_F(HostAgentTest, SocketsThatAreGoneAreClosedAndOthersFound) {
  Connect();
  const uint64_t first = OpenFrom(1, 50'001);
  const uint64_t unclear = Ask(2);
  Answer(unclear, Use(50'002));
  Do(ProcessLeft{2});  // without a message
  const SimTime asked = now_ + SimDuration(1);
  const auto found = Do(SocketsSeen{asked, {Socket(50'001, 1001), Socket(41'000, 1002)}});
  EXPECT_EQ(Sent<controller::ConnectionOpened>(found),
            (std::vector<controller::ConnectionOpened>{{"gpt", unclear, 0, 41'000}}));
  EXPECT_TRUE(Sent<controller::ConnectionsClosed>(Do(SocketsSeen{SimTime(), {}})).empty())
      << "looked before they opened";
  Wait(10);
  const auto closed = Sent<controller::ConnectionsClosed>(Do(SocketsSeen{now_, {Socket(41'000, 1002)}}));
  EXPECT_EQ(closed, (std::vector<controller::ConnectionsClosed>{{"gpt", {first}}}));
}

TEST_F(HostAgentTest, TheNextAgentGoesOnFromTheState) {
  Connect();
  const uint64_t connection = OpenFrom(1, 50'001);
  const auto move = Of<SetRewrite>(Change(connection, 50'009));
  Do(RewriteDone{move.at(0).ticket, ""});
  const auto state = ReadAgentState(WriteAgentState(agent_->State()), "state");
  ASSERT_TRUE(state.ok());
  Start(*state);
  // The kernel has lost the rule, as after a boot: the port may be that of a later connection.
  EXPECT_TRUE(Of<SetRewrite>(Wait(0)).empty());
  Connect();
  const auto held = Sent<controller::ConnectionsHeld>(Hear(controller::AnnouncementWanted{}));
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].connections[0].wanted.connection, connection);
  EXPECT_EQ(held[0].connections[0].queue_pairs[0].port, 0) << "it has not moved";
  EXPECT_EQ(held[0].connections[0].socket_ports[0], 50'001);
}

// An agent killed just after a message would make it untrue: the next one knows only the saved state.
// The state knows the level, but not whether the agent that died had told the socket.
TEST_F(HostAgentTest, TheNextAgentTellsSocketsTheirClass) {
  Connect();
  OpenFrom(1, 50'001);
  Hear(controller::LevelSet{"gpt", 0, ""});
  const auto state = ReadAgentState(WriteAgentState(agent_->State()), "state");
  ASSERT_TRUE(state.ok());
  Start(*state);
  const auto classes = Of<SetSocketClass>(Do(SocketsSeen{now_, {Socket(50'001, 1001)}}));
  ASSERT_EQ(classes.size(), 1u);
  EXPECT_EQ(classes[0].traffic_class, 224);
  EXPECT_TRUE(Of<SetSocketClass>(Do(SocketsSeen{now_, {Socket(50'001, 1001)}})).empty()) << "once";
}

TEST_F(HostAgentTest, TheControllerReceivesAConnectionOnceItIsKept) {
  options_.keeps_state = true;
  Start({});
  Connect();
  const uint64_t connection = Ask(1);
  Answer(connection, Use(50'001));
  EXPECT_TRUE(Sent<controller::ConnectionOpened>(Do(PathRequestOutcome{1, 50'001, 0})).empty());
  const uint64_t revision = agent_->revision();
  EXPECT_TRUE(Of<SendToController>(Do(StateKept{revision - 1})).empty());
  const std::vector<controller::ConnectionOpened> opened = {{"gpt", connection, 0, 50'001}};
  EXPECT_EQ(Sent<controller::ConnectionOpened>(Do(StateKept{revision})), opened);
  EXPECT_TRUE(Of<SendToController>(Do(StateKept{revision + 1})).empty()) << "said once";
  // One that has gone meanwhile is not opened after it was closed.
  OpenFrom(2, 50'002);
  Wait(10);
  EXPECT_EQ(Sent<controller::ConnectionsClosed>(Do(SocketsSeen{now_, {Socket(50'001, 1001)}})).size(), 1u);
  EXPECT_TRUE(Of<SendToController>(Do(StateKept{agent_->revision()})).empty());
}

// A move whose state could no longer be saved: the other end has the kernel's port, and forgets the previous one.
TEST_F(HostAgentTest, WhatTheKernelRewritesIsBelievedMoreThanTheState) {
  Connect();
  const uint64_t connection = OpenFrom(1, 50'001);
  const AgentState before = agent_->State();
  const RewriteRule rule = {RewriteRule::Direction::kDeparture, kHere, kThere, 50'001, 5001};
  const RewriteRule unknown = {RewriteRule::Direction::kDeparture, kHere, kThere, 50'002, 5001};
  const RewriteRule arrival = {RewriteRule::Direction::kArrival, kThere, kHere, 51'001, 6000};
  agent_.emplace(options_, before, now_,
                 std::map<RewriteRule, uint16_t>{{rule, 50'009}, {unknown, 50'010}, {arrival, 51'000}});
  EXPECT_EQ(agent_->State().connections.at(0).wire_port, 50'009);
  const auto restored = Wait(0);
  EXPECT_TRUE(Of<SetRewrite>(restored).empty());
  const auto cleared = Of<ClearRewrite>(restored);
  ASSERT_EQ(cleared.size(), 1u) << "an arrival is somebody's who may still send";
  EXPECT_EQ(cleared[0].rule, unknown);
  Connect();
  const auto held = Sent<controller::ConnectionsHeld>(Hear(controller::AnnouncementWanted{}));
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].connections[0].wanted.connection, connection);
  EXPECT_EQ(held[0].connections[0].queue_pairs[0].port, 50'009) << "50001 of the plan is not in force";
}

TEST_F(HostAgentTest, ConnectionsWithoutARequestAreFoundAndSteered) {
  Connect();
  OpenFrom(1, 50'001);
  SeenSocket training = Socket(40'001, 2001);
  training.bytes_acked = 1e6;
  const SeenSocket receiving = {.ends = {kHere, kThere, 6000, 51'000}, .inode = 2002};
  const SeenSocket stranger = Socket(40'003, 2003);
  SeenSocket elsewhere = Socket(40'004, 2004);
  elsewhere.ends.local = ParseIpAddress("192.168.0.1").value();
  const SeenSocket closed = Socket(40'005, 0);
  const auto look = [&] {
    return Do(SocketsSeen{now_, {Socket(50'001, 1001), training, receiving, stranger, elsewhere, closed}});
  };
  auto wanted = Of<FindOwners>(look());
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted[0].inodes, (std::vector<uint64_t>{2001, 2002, 2003}));
  EXPECT_TRUE(Of<FindOwners>(look()).empty()) << "under way";
  Wait(100);
  const auto found =
      Do(OwnersFound{{{2001, 300, "gpt"}, {2002, 300, "gpt"}, {2004, 300, "gpt"}, {2003, 7, "no name\1"}}});
  EXPECT_EQ(Of<SetSocketClass>(found).size(), 2u) << "level 2 is known of the job";
  EXPECT_EQ(Of<Noted>(found).size(), 1u);
  // The one that sends is asked for; the other one has its class.
  const auto asked = Sent<controller::PathsWanted>(look());
  ASSERT_EQ(asked.size(), 1u);
  const uint64_t connection = asked[0].connections.at(0).connection;
  EXPECT_EQ(asked[0].connections[0].destination_port, 5001);
  EXPECT_EQ(Sent<controller::ConnectionOpened>(Answer(connection, Use(50'007))),
            (std::vector<controller::ConnectionOpened>{{"gpt", connection, 0, 40'001}}));
  EXPECT_EQ(agent_->State().connections.size(), 2u);
  EXPECT_EQ(agent_->State().accepted.size(), 1u);
  // Looking took 100 ms, so the next one, for another socket, may come after 2 s; the stranger is not looked up again.
  const auto look_again = [&] {
    return Of<FindOwners>(
        Do(SocketsSeen{now_, {Socket(50'001, 1001), training, receiving, stranger, Socket(40'006, 2006)}}));
  };
  Wait(1'999);
  EXPECT_TRUE(look_again().empty());
  Wait(1);
  wanted = look_again();
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted[0].inodes, (std::vector<uint64_t>{2006}));
}

// The controller may remember what this host has forgotten.
TEST_F(HostAgentTest, AnAgentWithoutStateAnnouncesThatItHoldsNothing) {
  Connect();
  EXPECT_EQ(Sent<controller::AnnouncementFinished>(Hear(controller::AnnouncementWanted{})).size(), 1u);
  // Held items are named first, repeated requests after them.
  OpenFrom(1, 50'001);
  Do(StreamBroken{});
  Do(Question(2));
  Do(PathRequestOutcome{2, 40'000, 0});
  Connect();
  const auto messages = Of<SendToController>(Hear(controller::AnnouncementWanted{}));
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<controller::ConnectionsHeld>(messages[0].message));
  EXPECT_TRUE(std::holds_alternative<controller::AnnouncementFinished>(messages[1].message));
  EXPECT_TRUE(std::holds_alternative<controller::PathsWanted>(messages[2].message));
}

TEST_F(HostAgentTest, ARefusedAgentReportsWhyAndContinuesToServe) {
  Do(StreamOpened{});
  const auto notes = Of<Noted>(Hear(controller::Refused{"version 7 is wanted"}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].text.find("version 7 is wanted"), std::string::npos);
  EXPECT_EQ(Of<AnswerProcess>(Do(Question(1))).size(), 1u);
}

}  // namespace
}  // namespace fairlead::agent

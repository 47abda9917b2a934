// Laws of the agent under whatever comes, also what contradicts itself.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "agent/host_agent.h"

namespace fairlead::agent {
namespace {

using traffic::QueuePairAnswer;

// Few of everything, so that what comes collides.
class Nonsense {
 public:
  explicit Nonsense(uint64_t seed) : random_(seed) {}

  HostEvent Event(SimTime now, const std::vector<uint64_t>& connections) {
    connections_ = &connections;
    switch (random_.Below(17)) {
      case 0:
      case 1:
      case 2:
        return PathRequested{.question = ++num_questions_,
                             .kind = static_cast<QuestionKind>(random_.Below(3)),
                             .pid = static_cast<int32_t>(random_.Below(3)),
                             .inode = random_.Below(8),
                             .job = Job(),
                             .source = Address(),
                             .destination = Address(),
                             .destination_port = Port()};
      case 3:
        return PathRequestOutcome{Question(), Port(), static_cast<int32_t>(random_.Below(3))};
      case 4:
        return ProcessLeft{Question()};
      case 5:
        return random_.Below(4) == 0 ? HostEvent(StreamBroken{}) : HostEvent(StreamOpened{});
      case 6:
        return ProbesDone{random_.Below(9), std::vector<controller::PortScanSeen>(random_.Below(3))};
      case 7:
        return RewriteDone{random_.Below(30), random_.Below(3) == 0 ? "no" : ""};
      case 8:
        return Sockets(now);
      case 9:
        return ProcessEnded{static_cast<int32_t>(random_.Below(3))};
      case 10:
        return OwnersFound{{{random_.Below(8), static_cast<int32_t>(random_.Below(3)), Job()}}};
      case 11:
        return StateKept{random_.Below(200)};
      case 12:
        return BytesSeen{now, Sockets(now).sockets};
      default:
        return MessageFromController{Message()};
    }
  }
  SimDuration Pause() {
    return SimDuration(static_cast<int64_t>(random_.Below(random_.Below(9) == 0 ? 1ull << 33 : 1 << 23)));
  }

 private:
  std::string Job() {
    return random_.Below(20) == 0 ? std::string(random_.Below(99), '\1') : random_.Below(2) == 0 ? "a" : "b";
  }
  IpAddress Address() { return IpAddress::FromIpv4(0x0a000000 + static_cast<uint32_t>(random_.Below(4))); }
  uint16_t Port() { return static_cast<uint16_t>(random_.Below(6) == 0 ? 0 : 50'000 + random_.Below(4)); }
  uint64_t Question() { return num_questions_ - std::min<uint64_t>(num_questions_, random_.Below(5)); }
  uint64_t Connection() {
    return connections_->empty() || random_.Below(8) == 0 ? random_.Below(4)
                                                          : (*connections_)[random_.Below(connections_->size())];
  }
  QueuePairAnswer Answer() {
    return {.kind = static_cast<QueuePairAnswer::Kind>(random_.Below(4)), .plane = 0, .path = 0, .port = Port()};
  }
  SocketsSeen Sockets(SimTime now) {
    SocketsSeen seen{.asked_at = SimTime(now.ns() - static_cast<int64_t>(random_.Below(1 << 23))), .sockets = {}};
    for (uint64_t i = random_.Below(6); i > 0; --i) {
      seen.sockets.push_back({.ends = {Address(), Address(), Port(), Port()},
                              .inode = random_.Below(8),
                              .bytes_acked = random_.Below(2) == 0 ? 1 : 1e6});
    }
    return seen;
  }
  controller::ToAgent Message() {
    switch (random_.Below(12)) {
      case 0:
        return controller::Welcome{"x", SimDuration(static_cast<int64_t>(random_.Below(1 << 30)) - 1000),
                                   SimDuration()};
      case 1:
        return random_.Below(9) == 0 ? controller::ToAgent(controller::Refused{"no"}) : controller::Welcome{};
      case 2:
      case 3: {
        controller::PathsAnswered message{.request = random_.Below(9), .job = Job(), .connections = {}};
        for (uint64_t i = random_.Below(3); i > 0; --i) {
          message.connections.push_back({Connection(), "r", std::vector(random_.Below(3), Answer())});
        }
        message.level = static_cast<uint32_t>(random_.Below(10));
        return message;
      }
      case 4:
      case 5: {
        controller::PathsChanged message;
        for (uint64_t i = random_.Below(3); i > 0; --i) {
          message.changes.push_back(
              {Job(), Connection(), static_cast<uint32_t>(random_.Below(8) == 0), Answer(), {}, random_.Below(3) > 0});
        }
        return message;
      }
      case 6: {
        controller::ProbesWanted message{.round = random_.Below(3), .scans = {}};
        for (uint64_t i = random_.Below(3); i > 0; --i) {
          message.scans.push_back({.source = Address(),
                                   .destination = Address(),
                                   .plane = 0,
                                   .protocol = static_cast<uint8_t>(random_.Below(4) == 0 ? 17 : 6),
                                   .destination_port = Port(),
                                   .epoch = 0,
                                   .source_ports = std::vector<uint16_t>(random_.Below(99), 50'000)});
        }
        return message;
      }
      case 7:
      case 8:
        return controller::PrepareArrival{
            random_.Below(5), Address(), Address(), static_cast<uint8_t>(random_.Below(9) == 0 ? 17 : 6),
            Port(),           Port(),    Port()};
      case 9:
        return controller::ForgetArrival{random_.Below(5)};
      case 10:
        return controller::AnnouncementWanted{};
      default:
        return controller::LevelSet{Job(), static_cast<uint32_t>(random_.Below(9)), ""};
    }
  }

  Random random_;
  uint64_t num_questions_ = 0;
  const std::vector<uint64_t>* connections_ = nullptr;
};

// What is true of everything the agent does.
class Judge {
 public:
  explicit Judge(const HostAgentOptions& options) : options_(options) {}

  void See(SimTime now, const HostEvent& event) {
    if (const auto* asked = std::get_if<PathRequested>(&event)) {
      const bool is_queue_pair = asked->kind == QuestionKind::kQueuePair;
      open_[asked->question] = now + (is_queue_pair ? options_.queue_pair_deadline : options_.answer_deadline);
    }
    if (const auto* left = std::get_if<ProcessLeft>(&event)) open_.erase(left->question);
    if (std::holds_alternative<StreamOpened>(event)) ports_.clear();
    if (const auto* sent = std::get_if<MessageFromController>(&event)) {
      if (const auto* message = std::get_if<controller::PathsAnswered>(&sent->message)) {
        for (const auto& connection : message->connections) {
          if (connection.queue_pairs.size() == 1) ports_[connection.connection].insert(connection.queue_pairs[0].port);
        }
      }
      if (const auto* message = std::get_if<controller::PathsChanged>(&sent->message)) {
        for (const auto& change : message->changes) ports_[change.connection].insert(change.answer.port);
      }
    }
  }
  void See(SimTime, const HostAction& action) {
    if (const auto* answer = std::get_if<AnswerProcess>(&action)) {
      EXPECT_EQ(open_.erase(answer->question), 1u) << "one answer for each question";
      if (answer->source_port == 0) return;
      const auto connection = asked_.find(answer->question);
      ASSERT_NE(connection, asked_.end());
      EXPECT_TRUE(ports_[connection->second].contains(answer->source_port)) << "meant for another connection";
    }
    const auto* sent = std::get_if<SendToController>(&action);
    if (sent == nullptr) return;
    if (const auto* wanted = std::get_if<controller::PathsWanted>(&sent->message)) {
      for (const auto& connection : wanted->connections) seen.push_back(connection.connection);
    }
    if (const auto* closed = std::get_if<controller::ConnectionsClosed>(&sent->message)) {
      EXPECT_TRUE(!closed->connections.empty() || may_close_all);
    }
  }
  void ConnectsTo(QuestionId question, uint64_t connection) { asked_[question] = connection; }
  void CheckDeadlines(SimTime now) {
    for (const auto& [question, due] : open_) EXPECT_LT(now, due) << "no answer in time";
  }

  std::vector<uint64_t> seen;
  bool may_close_all = false;  // after a welcome

 private:
  const HostAgentOptions options_;
  std::map<QuestionId, SimTime> open_;
  std::map<uint64_t, std::set<uint16_t>> ports_;
  std::map<QuestionId, uint64_t> asked_;
};

HostAgentOptions Options(uint64_t seed) {
  HostAgentOptions options;
  options.host = "h";
  options.nics = {IpAddress::FromIpv4(0x0a000000), IpAddress::FromIpv4(0x0a000001)};
  options.num_connections_max = 6;
  options.random_seed = seed + 1;
  options.keeps_state = seed % 2 == 0;
  return options;
}

TEST(HostAgentLaws, EachRequestHasOneAnswerInTimeAndAPortOfItsOwn) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const HostAgentOptions options = Options(seed);
    Nonsense nonsense(seed);
    SimTime now(1'000'000'000);
    HostAgent agent(options, {}, now);
    Judge judge(options);
    for (int i = 0; i < 400; ++i) {
      // Its owner calls it when something is due.
      const SimTime next = now + nonsense.Pause();
      for (int calls = 0; agent.NextDue() <= next && calls < 1000; ++calls) {
        now = std::max(now, agent.NextDue());
        for (const HostAction& action : agent.Handle(now, {})) judge.See(now, action);
      }
      now = next;
      const HostEvent event = nonsense.Event(now, judge.seen);
      judge.See(now, event);
      const auto* sent = std::get_if<MessageFromController>(&event);
      judge.may_close_all = sent != nullptr && std::holds_alternative<controller::Welcome>(sent->message);
      const auto actions = agent.Handle(now, {&event, 1});
      if (const auto* asked = std::get_if<PathRequested>(&event)) {
        for (const HostAction& action : actions) {
          const auto* send = std::get_if<SendToController>(&action);
          const auto* wanted = send == nullptr ? nullptr : std::get_if<controller::PathsWanted>(&send->message);
          if (wanted != nullptr) judge.ConnectsTo(asked->question, wanted->connections.at(0).connection);
        }
      }
      for (const HostAction& action : actions) judge.See(now, action);
      judge.CheckDeadlines(now);
      EXPECT_LE(agent.num_connections(), options.num_connections_max);
      EXPECT_LE(agent.num_aliases(), options.num_connections_max);
      if (i % 50 == 0) {
        // The saved state can be read, and the next agent has the same.
        const AgentState state = agent.State();
        const auto read = ReadAgentState(WriteAgentState(state), "x");
        ASSERT_TRUE(read.ok()) << read.status().message();
        EXPECT_EQ(HostAgent(options, *read, now).State(), state);
      }
    }
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(HostAgentLaws, SameEventsSameActions) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<std::string> states[2];
    for (auto& run : states) {
      Nonsense nonsense(seed);
      SimTime now(1);
      HostAgent agent(Options(seed), {}, now);
      for (int i = 0; i < 200; ++i) {
        now = now + nonsense.Pause();
        const HostEvent event = nonsense.Event(now, {});
        run.push_back(std::to_string(agent.Handle(now, {&event, 1}).size()) + WriteAgentState(agent.State()));
      }
    }
    EXPECT_EQ(states[0], states[1]);
  }
}

// A controller that has forgotten everything takes what is announced as its own, and answers with it: nothing changes.
TEST(HostAgentLaws, AForgetfulControllerLearnsItAllAndChangesNothing) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    HostAgentOptions options = Options(seed);
    options.num_connections_max = 100;
    SimTime now(1'000'000'000);
    HostAgent agent(options, {}, now);
    const auto handle = [&](const HostEvent& event) { return agent.Handle(now, {&event, 1}); };
    handle(StreamOpened{});
    handle(MessageFromController{controller::Welcome{}});
    for (QuestionId q = 1; q <= 30; ++q) {
      const auto port = static_cast<uint16_t>(50'000 + q);
      const std::string job = random.Below(2) == 0 ? "a" : "b";
      uint64_t connection = 0;
      for (const HostAction& action : handle(PathRequested{.question = q,
                                      .pid = 1,
                                      .inode = q,
                                      .job = job,
                                      .source = options.nics[0],
                                      .destination = IpAddress::FromIpv4(0x0a000009),
                                      .destination_port = 5000})) {
        if (const auto* send = std::get_if<SendToController>(&action)) {
          connection = std::get<controller::PathsWanted>(send->message).connections[0].connection;
        }
      }
      const QueuePairAnswer answer{
          .kind = QueuePairAnswer::Kind::kUse, .plane = 1, .path = static_cast<uint32_t>(q), .port = port};
      handle(MessageFromController{
          controller::PathsAnswered{.request = q, .job = job, .connections = {{connection, "", {answer}}}}});
      handle(PathRequestOutcome{q, port, 0});
      handle(ProcessLeft{q});
    }
    const AgentState before = agent.State();
    ASSERT_EQ(before.connections.size(), 30u);
    handle(StreamBroken{});
    handle(StreamOpened{});
    handle(MessageFromController{controller::Welcome{}});
    size_t num_announced = 0;
    for (const HostAction& action : handle(MessageFromController{controller::AnnouncementWanted{}})) {
      const controller::FromAgent& message = std::get<SendToController>(action).message;
      if (std::holds_alternative<controller::AnnouncementFinished>(message)) continue;
      const auto& held = std::get<controller::ConnectionsHeld>(message);
      controller::PathsAnswered answers{.request = 0, .job = held.job, .connections = {}};
      for (const controller::HeldConnection& connection : held.connections) {
        ++num_announced;
        const traffic::HeldPath& path = connection.queue_pairs.at(0);
        EXPECT_TRUE(path.is_managed);
        EXPECT_EQ(path.port, connection.socket_ports.at(0));
        answers.connections.push_back(
            {connection.wanted.connection, "", {{QueuePairAnswer::Kind::kUse, path.plane, path.path, path.port, 0}}});
      }
      EXPECT_TRUE(handle(MessageFromController{answers}).empty());
    }
    EXPECT_EQ(num_announced, 30u);
    EXPECT_EQ(agent.State(), before);
  }
}

}  // namespace
}  // namespace fairlead::agent

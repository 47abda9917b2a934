// The library in a process that knows nothing of it, with an agent whose answers this test gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/shell_output.h"
#include "base/source_port_example.h"
#include "ccl/steer/fake_agent_example.h"
#include "shm/steering_messages.h"

namespace fairlead::ccl {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// Listens on loopback and accepts nothing: the kernel completes connections on its own.
class Listener {
 public:
  explicit Listener(int family = AF_INET) : socket_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_storage address = {};
    socklen_t length = sizeof(sockaddr_in);
    if (family == AF_INET6) {
      length = sizeof(sockaddr_in6);
      reinterpret_cast<sockaddr_in6*>(&address)->sin6_addr = in6addr_loopback;
    } else {
      reinterpret_cast<sockaddr_in*>(&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    address.ss_family = static_cast<sa_family_t>(family);
    is_open_ = bind(socket_, reinterpret_cast<const sockaddr*>(&address), length) == 0 && listen(socket_, 64) == 0;
    length = sizeof(address);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  }
  ~Listener() { close(socket_); }

  bool is_open() const { return is_open_; }
  int port() const { return port_; }

 private:
  int socket_;
  bool is_open_ = false;
  int port_ = 0;
};

// What the client printed of one connection.
struct Connection {
  std::string address;
  int port = 0;
  int traffic_class = 0;
  int error = 0;
  int errno_after = 0;
};

std::vector<Connection> ParseConnections(const std::string& text) {
  std::vector<Connection> connections;
  std::istringstream lines(text);
  Connection c;
  while (lines >> c.address >> c.port >> c.traffic_class >> c.error >> c.errno_after) connections.push_back(c);
  return connections;
}

// Runs the client with the library loaded and these variables; returns its output.
std::string RunClient(const std::string& environment, const std::string& arguments) {
  const std::string command =
      "LD_PRELOAD=" FAIRLEAD_STEER_LIBRARY " " + environment + " " FAIRLEAD_STEER_CLIENT " " + arguments;
  return OutputOf(command);
}

std::vector<Connection> ConnectTo(const std::string& environment, int port, const std::string& options = "",
                                  const std::string& address = "127.0.0.1") {
  return ParseConnections(RunClient(environment, "connect " + address + " " + std::to_string(port) + " " + options));
}

TEST(SteerTest, AConnectionGetsThePortAndTheClassOfTheAnswer) {
  const Listener listener;
  const uint16_t port = FindSourcePort();
  FakeAgent agent(Always(Use(port, 0xb8)));
  const auto connections = ConnectTo(Environment(agent), listener.port());
  agent.Stop();
  ASSERT_THAT(connections, SizeIs(1));
  EXPECT_EQ(connections[0].port, port);
  EXPECT_EQ(connections[0].traffic_class, 0xb8);
  EXPECT_EQ(connections[0].error, 0);
  EXPECT_EQ(connections[0].errno_after, ENOTTY) << "errno after success is what stood there before";

  ASSERT_THAT(agent.questions(), SizeIs(1));
  const shm::SteeringQuestion& question = agent.questions()[0];
  EXPECT_EQ(question.kind, shm::SteeringQuestionKind::kConnect);
  EXPECT_STREQ(question.job, "gpt");
  EXPECT_EQ(question.source_port, 0);
  EXPECT_EQ(question.destination_port, listener.port());
  EXPECT_THAT(question.destination.bytes, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1));
  EXPECT_NE(question.socket_inode, 0);
  ASSERT_THAT(agent.outcomes(), SizeIs(1));
  EXPECT_EQ(agent.outcomes()[0].source_port, port);
  EXPECT_EQ(agent.outcomes()[0].steered, 1);
  EXPECT_EQ(agent.outcomes()[0].error, 0);
}

TEST(SteerTest, Ipv6GoesTheSameWay) {
  const Listener listener(AF_INET6);
  if (!listener.is_open()) GTEST_SKIP() << "no IPv6 on this host";
  const uint16_t port = FindSourcePort();
  FakeAgent agent(Always(Use(port, 0x60)));
  const auto connections = ConnectTo(Environment(agent), listener.port(), "", "::1");
  ASSERT_THAT(connections, SizeIs(1));
  EXPECT_EQ(connections[0].address, "::1");
  EXPECT_EQ(connections[0].port, port);
  EXPECT_EQ(connections[0].traffic_class, 0x60);
}

TEST(SteerTest, ASocketThatDoesNotBlockIsAskedAboutOnce) {
  const Listener listener;
  const uint16_t port = FindSourcePort();
  FakeAgent agent(Always(Use(port)));
  const auto connections = ConnectTo(Environment(agent), listener.port(), "nonblocking");
  agent.Stop();
  ASSERT_THAT(connections, SizeIs(1));
  EXPECT_EQ(connections[0].port, port);
  EXPECT_THAT(agent.questions(), SizeIs(1));
}

TEST(SteerTest, AnAddressThatTheProcessHasBoundStaysAndThePortIsStillChosen) {
  const Listener listener;
  const uint16_t port = FindSourcePort();
  FakeAgent agent(Always(Use(port)));
  const auto connections = ConnectTo(Environment(agent), listener.port(), "bound");
  ASSERT_THAT(connections, SizeIs(1));
  EXPECT_EQ(connections[0].address, "127.0.0.1");
  EXPECT_EQ(connections[0].port, port);
}

TEST(SteerTest, APortThatTheProcessHasChosenStays) {
  const Listener listener;
  const uint16_t port = FindSourcePort();
  FakeAgent agent(Always(Use(port, 0x20)));
  const auto connections = ConnectTo(Environment(agent), listener.port(), "ported");
  agent.Stop();
  ASSERT_THAT(connections, SizeIs(1));
  EXPECT_NE(connections[0].port, port);
  EXPECT_EQ(connections[0].traffic_class, 0x20);
  ASSERT_THAT(agent.questions(), SizeIs(1));
  EXPECT_EQ(agent.questions()[0].source_port, connections[0].port);
  ASSERT_THAT(agent.outcomes(), SizeIs(1));
  EXPECT_EQ(agent.outcomes()[0].steered, 0);
}

TEST(SteerTest, ARangeOfPortsThatTheProcessHasChosenStays) {
  const Listener listener;
  FakeAgent agent(Always(Use(FindSourcePort(), 0x20)));
  const auto connections = ConnectTo(Environment(agent), listener.port(), "ranged");
  ASSERT_THAT(connections, SizeIs(1));
  EXPECT_THAT(connections[0].port, testing::AllOf(testing::Ge(41'000), testing::Le(41'099)));
  EXPECT_EQ(connections[0].traffic_class, 0x20);
}

// Bytes that older versions took for an address to leave by: one that does not fit would hang, or be refused.
TEST(SteerTest, NoAddressOfAnAnswerIsLeftBy) {
  const Listener listener;
  const uint16_t port = FindSourcePort();
  std::string answer = Bytes(Use(port));
  answer[12] = 1;
  const uint8_t source[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 203, 0, 113, 7};
  memcpy(answer.data() + 16, source, sizeof(source));
  FakeAgent agent([&](const shm::SteeringQuestion&) { return answer; });
  const auto connections = ConnectTo(Environment(agent), listener.port());
  ASSERT_THAT(connections, SizeIs(1));
  EXPECT_EQ(connections[0].error, 0);
  EXPECT_EQ(connections[0].address, "127.0.0.1");
  EXPECT_EQ(connections[0].port, port);
}

// Without the option of Linux 6.3 the port is bound, where it is free.
TEST(SteerTest, AnOlderKernelBindsThePort) {
  const Listener listener;
  const uint16_t port = FindSourcePort();
  FakeAgent agent(Always(Use(port)));
  const auto connections = ConnectTo(Environment(agent) + " FAIRLEAD_TEST_OLD_KERNEL=1", listener.port(), "2 keeps");
  ASSERT_THAT(connections, SizeIs(2));
  EXPECT_EQ(connections[0].port, port);
  EXPECT_NE(connections[1].port, port)
      << "it has it already: to bind it a second time, and fail, could not be taken back";
  for (const Connection& connection : connections) EXPECT_EQ(connection.error, 0);
}

// Two connections cannot share a port to the same destination: the second one proceeds as if the agent had not been
// asked.
TEST(SteerTest, ATakenPortIsSkippedAndReported) {
  const Listener listener;
  const uint16_t port = FindSourcePort();
  FakeAgent agent(Always(Use(port)));
  const auto connections = ConnectTo(Environment(agent), listener.port(), "2 keeps");
  agent.Stop();
  ASSERT_THAT(connections, SizeIs(2));
  EXPECT_EQ(connections[0].port, port);
  EXPECT_NE(connections[1].port, port);
  EXPECT_EQ(connections[1].error, 0);
  // Each on a connection of its own, so that the agent may read them in any order.
  using shm::SteeringOutcome;
  const auto outcome = [](uint32_t steered, int source_port) {
    return AllOf(Field(&SteeringOutcome::steered, steered), Field(&SteeringOutcome::source_port, source_port));
  };
  EXPECT_THAT(agent.outcomes(), UnorderedElementsAre(outcome(1, port), outcome(0, connections[1].port)));
}

TEST(SteerTest, AnAcceptedConnectionGetsTheClassOfItsJob) {
  FakeAgent agent(Always(Use(0, 0x48)));
  const std::string command =
      "LD_PRELOAD=" FAIRLEAD_STEER_LIBRARY " " + Environment(agent) + " " FAIRLEAD_STEER_CLIENT " serve 127.0.0.1";
  FILE* server = popen(command.c_str(), "r");
  int port = 0;
  ASSERT_EQ(fscanf(server, "%d", &port), 1);
  ASSERT_THAT(ParseConnections(RunClient("", "connect 127.0.0.1 " + std::to_string(port))), SizeIs(1));
  int traffic_class = -1;
  ASSERT_EQ(fscanf(server, "%d", &traffic_class), 1);
  pclose(server);
  agent.Stop();
  EXPECT_EQ(traffic_class, 0x48);
  ASSERT_THAT(agent.questions(), SizeIs(1));
  EXPECT_EQ(agent.questions()[0].kind, shm::SteeringQuestionKind::kAccept);
  EXPECT_EQ(agent.questions()[0].source_port, port);
}

// ---- Whatever goes wrong, the connection is made as if the library were not there ----

void ExpectUntouched(const std::vector<Connection>& connections, int not_port) {
  ASSERT_THAT(connections, SizeIs(1));
  EXPECT_EQ(connections[0].error, 0);
  EXPECT_EQ(connections[0].traffic_class, 0);
  EXPECT_NE(connections[0].port, not_port);
  EXPECT_EQ(connections[0].errno_after, ENOTTY);
}

TEST(SteerTest, WithoutAJobThereIsNoRequest) {
  const Listener listener;
  FakeAgent agent(Always(Use(FindSourcePort(), 0xb8)));
  ExpectUntouched(ConnectTo("FAIRLEAD_AGENT_SOCKET=" + agent.path(), listener.port()), -1);
  agent.Stop();
  EXPECT_THAT(agent.questions(), IsEmpty());
}

TEST(SteerTest, WithoutAnAgentNothingChanges) {
  const Listener listener;
  ExpectUntouched(ConnectTo("FAIRLEAD_JOB=gpt FAIRLEAD_AGENT_SOCKET=/nowhere/agent.sock", listener.port()), -1);
}

TEST(SteerTest, BadAnswersChangeNothing) {
  const Listener listener;
  const uint16_t port = FindSourcePort();
  shm::SteeringAnswer leave = Use(port, 0xb8), version = leave, magic = leave, kind = leave;
  leave.kind = shm::SteeringAnswerKind::kLeave;
  version.version = shm::kSteeringVersion + 1;
  magic.magic ^= 1;
  kind.kind = static_cast<shm::SteeringAnswerKind>(77);
  const std::string good = Bytes(Use(port, 0xb8));
  for (const std::string& bytes : {Bytes(leave), Bytes(version), Bytes(magic), Bytes(kind), good.substr(1), good + "x",
                                   std::string("?"), std::string(4096, 'x')}) {
    FakeAgent agent([&](const shm::SteeringQuestion&) { return bytes; });
    ExpectUntouched(ConnectTo(Environment(agent), listener.port()), port);
  }
}

// The first connection waits for its 30 ms; the next ones, within a second, do not wait, and ignore answers that come
// late. The agent learns of all of them. A client that the machine stops for that second may wait again, and take an
// answer: then it is tried again.
TEST(SteerTest, AnAgentThatIsStuckHoldsUpOneConnection) {
  const Listener listener;
  size_t num_answered = 20;
  for (int attempt = 0; attempt < 20 && num_answered > 0; ++attempt) {
    int num_questions = 0;
    FakeAgent agent(
        [&](const shm::SteeringQuestion&) { return ++num_questions == 1 ? std::string() : Bytes(Use(0, 0xb8)); });
    const auto connections = ConnectTo(Environment(agent, 30), listener.port(), "20 keeps");
    agent.Stop();
    ASSERT_THAT(connections, SizeIs(20));
    for (const Connection& connection : connections) EXPECT_EQ(connection.error, 0);
    EXPECT_EQ(connections[0].traffic_class, 0);
    EXPECT_THAT(agent.questions(), SizeIs(20));
    for (const auto& question : agent.questions()) EXPECT_NE(question.socket_inode, 0u);
    num_answered = agent.outcomes().size();
    if (num_answered > 0) continue;
    for (const Connection& connection : connections) EXPECT_EQ(connection.traffic_class, 0);
  }
  EXPECT_EQ(num_answered, 0u);
}

TEST(SteerTest, AnErrorThatThePortMayHaveCausedIsTriedWithoutIt) {
  const Listener listener;
  for (const int error : {EADDRNOTAVAIL, EADDRINUSE, EINVAL, ENETUNREACH, EACCES, EPERM}) {
    const uint16_t port = FindSourcePort();
    FakeAgent agent(Always(Use(port)));
    const std::string command = "LD_PRELOAD='" FAIRLEAD_STEER_LIBRARY " " FAIRLEAD_CONTRARY_CONNECT
                                "' FAIRLEAD_TEST_CONNECT_ERROR=" +
                                std::to_string(error) + " " + Environment(agent) +
                                " " FAIRLEAD_STEER_CLIENT " connect 127.0.0.1 " + std::to_string(listener.port());
    const auto connections = ParseConnections(OutputOf(command));
    agent.Stop();
    ExpectUntouched(connections, port);
    ASSERT_THAT(agent.outcomes(), SizeIs(1));
    EXPECT_EQ(agent.outcomes()[0].steered, 0) << error;
    EXPECT_EQ(agent.outcomes()[0].source_port, connections.at(0).port);
  }
}

TEST(SteerTest, APointerThatLeadsNowhereIsTheKernelsToRefuse) {
  const Listener listener;
  FakeAgent agent(Always(Use(FindSourcePort())));
  const std::string arguments = "connect 127.0.0.1 " + std::to_string(listener.port()) + " astray";
  const std::string expected = OutputOf(FAIRLEAD_STEER_CLIENT " " + arguments);
  const std::string efault = std::to_string(EFAULT) + "\n";
  EXPECT_EQ(expected, efault + efault + efault + std::to_string(EINVAL) + "\n") << "what the kernel says without it";
  EXPECT_EQ(RunClient(Environment(agent), arguments), expected);
  agent.Stop();
  EXPECT_THAT(agent.questions(), IsEmpty());
}

TEST(SteerTest, AnErrorOfTheCallIsTheCallers) {
  const int closed = FindSourcePort();
  FakeAgent agent(Always(Use(FindSourcePort())));
  const auto connections = ConnectTo(Environment(agent), closed);
  agent.Stop();
  ASSERT_THAT(connections, SizeIs(1));
  EXPECT_EQ(connections[0].error, ECONNREFUSED);
  ASSERT_THAT(agent.outcomes(), SizeIs(1));
  EXPECT_EQ(agent.outcomes()[0].error, ECONNREFUSED);
}

TEST(SteerTest, OptionsThatCantBeRightLeaveItAlone) {
  const Listener listener;
  FakeAgent agent(Always(Use(FindSourcePort(), 0xb8)));
  const std::string socket = " FAIRLEAD_AGENT_SOCKET=" + agent.path();
  for (const std::string& job : {std::string(64, 'j'), std::string("../gpt"), std::string("a;b")}) {
    ExpectUntouched(ConnectTo("FAIRLEAD_JOB='" + job + "'" + socket, listener.port()), -1);
  }
  ExpectUntouched(ConnectTo("FAIRLEAD_JOB=gpt FAIRLEAD_AGENT_SOCKET=/" + std::string(200, 'p'), listener.port()), -1);
  agent.Stop();
  EXPECT_THAT(agent.questions(), IsEmpty());
}

// ---- What it brings into a stranger's process ----

TEST(SteerTest, ShowsOnlyWhatFollowsIt) {
  EXPECT_EQ(OutputOf("nm -D --defined-only " FAIRLEAD_STEER_LIBRARY " | awk '{print $3}' | sort"),
            "accept\naccept4\nconnect\ndlsym\ndlvsym\nibv_destroy_qp\nibv_modify_qp\n");
}

TEST(SteerTest, NeedsNothingButLibc) {
  EXPECT_EQ(OutputOf("readelf -d " FAIRLEAD_STEER_LIBRARY " | sed -n 's/.*NEEDED.*\\[\\(.*\\)\\]/\\1/p'"),
            "libc.so.6\n");
}

}  // namespace
}  // namespace fairlead::ccl

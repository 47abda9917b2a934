// The agent with real processes that have the real library loaded, on loopback; the controller is simulated.
#include "service/agent/host_agent_server.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "base/free_port.h"
#include "base/shell_output.h"
#include "base/source_port_example.h"
#include "base/temporary_folder.h"
#include "service/agent/tcp_sockets.h"
#include "service/health_file.h"
#include "shm/steering_messages.h"
#include "telemetry/segment_example.h"

namespace fairlead::service {
namespace {

using traffic::QueuePairAnswer;

constexpr std::chrono::seconds kPatience{60};

// Answers each connection immediately with `answer`, and records everything it receives.
class FakeController : public ControllerLink {
 public:
  std::function<QueuePairAnswer()> answer;
  uint32_t level = 2;

  FakeController() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    Push(StreamOpened{});
    Push(controller::ToAgent(controller::Welcome{"played", SimDuration(1'000'000'000), SimDuration(60'000'000'000)}));
  }

  int event_descriptor() const override { return descriptor_.get(); }
  std::vector<ClientEvent> Poll() override {
    const std::lock_guard lock(mutex_);
    uint64_t count = 0;
    (void)!read(descriptor_.get(), &count, sizeof(count));
    return std::exchange(events_, {});
  }
  bool Send(const controller::FromAgent& message) override {
    if (const auto* wanted = std::get_if<controller::PathsWanted>(&message)) {
      controller::PathsAnswered answers{
          .request = wanted->request, .job = wanted->job, .connections = {}, .level = level};
      for (const auto& one : wanted->connections) answers.connections.push_back({one.connection, "", {answer()}});
      Push(controller::ToAgent(answers));
    }
    const std::lock_guard lock(mutex_);
    heard_.push_back(message);
    changed_.notify_all();
    return true;
  }
  void Push(ClientEvent event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    const uint64_t one = 1;
    (void)!write(descriptor_.get(), &one, sizeof(one));
  }
  // The message number `index` of its kind, once it is there; nothing when it does not come.
  template <class T>
  std::optional<T> Wait(size_t index = 0) {
    std::unique_lock lock(mutex_);
    std::optional<T> found;
    changed_.wait_for(lock, kPatience, [&] {
      size_t count = 0;
      for (const auto& message : heard_) {
        const T* one = std::get_if<T>(&message);
        if (one != nullptr && count++ == index) found = *one;
      }
      return found.has_value();
    });
    return found;
  }

 private:
  Descriptor descriptor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ClientEvent> events_;
  std::vector<controller::FromAgent> heard_;
};

sockaddr_in Loopback(uint32_t last, uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(0x7f000000 + last);
  address.sin_port = htons(port);
  return address;
}

uint16_t PortOf(int socket) {
  sockaddr_in address = {};
  socklen_t length = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

class HostAgentServerTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.agent.host = "h0";
    options_.agent.nics = {IpAddress::FromIpv4(0x7f000001)};
    options_.agent.answer_deadline = SimDuration(60'000'000'000);  // the controller answers, sooner or later
    options_.socket.path = folder_.File("agent.sock");
    options_.state_path = folder_.File("state");
    options_.rewrites_ports = false;
    options_.log = [](const std::string&) {};
    link_.answer = [] { return QueuePairAnswer{.kind = QueuePairAnswer::Kind::kUse, .port = 0}; };
    const sockaddr_in address = Loopback(3, 0);
    ASSERT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(listen(listener_.get(), 64), 0);
  }
  void TearDown() override { Stop(); }
  void Start() {
    auto server = HostAgentServer::Open(options_, &link_);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(*server);
    stop_ = false;
    thread_ = std::thread([this] { server_->Run(stop_); });
    ASSERT_TRUE(link_.Wait<controller::HostHello>().has_value());
  }
  void Stop() {
    if (!thread_.joinable()) return;
    stop_ = true;
    thread_.join();
  }
  std::string ClientCommand(const std::string& args) const {
    return "LD_PRELOAD=" FAIRLEAD_STEER_LIBRARY
           " FAIRLEAD_STEER_DEADLINE_MS=60000 FAIRLEAD_JOB=gpt FAIRLEAD_AGENT_SOCKET=" +
           options_.socket.path + " " FAIRLEAD_STEER_CLIENT " connect 127.0.0.3 " +
           std::to_string(PortOf(listener_.get())) + " " + args;
  }
  // What the client prints: address, port, class, errno of connect, errno after.
  std::string Client(const std::string& args) const { return OutputOf(ClientCommand(args)); }

  const TemporaryFolder folder_;
  HostAgentServerOptions options_;
  FakeController link_;
  Descriptor listener_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::unique_ptr<HostAgentServer> server_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_F(HostAgentServerTest, AStrangersProcessLeavesByThePortOfThePlan) {
  const uint16_t port = FindSourcePort();
  link_.answer = [port] { return QueuePairAnswer{.kind = QueuePairAnswer::Kind::kUse, .port = port}; };
  options_.state_path.clear();  // the socket may be gone before a state with it is kept; then only its end is reported
  Start();
  // Level 2: class (7 - 2) * 8 * 4 = 160. errno stays ENOTTY (25) as if connect() was not overridden.
  EXPECT_EQ(Client(""), "127.0.0.1 " + std::to_string(port) + " 160 0 25\n");
  const auto opened = link_.Wait<controller::ConnectionOpened>();
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->socket_port, port);
  EXPECT_EQ(opened->job, "gpt");
  // The process has ended; the kernel's list of sockets says so.
  const auto closed = link_.Wait<controller::ConnectionsClosed>();
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(closed->connections, (std::vector<uint64_t>{opened->connection}));
  Stop();
  EXPECT_EQ(server_->counts().num_steered, 1u);
}

TEST_F(HostAgentServerTest, ConnectionsThatDoNotBlockAreReportedToo) {
  options_.state_path.clear();  // as above
  Start();
  const std::string line = Client("nonblocking");
  const auto opened = link_.Wait<controller::ConnectionOpened>();
  ASSERT_TRUE(opened.has_value());
  EXPECT_TRUE(line.starts_with("127.0.0.1 " + std::to_string(opened->socket_port) + " 160 "));
}

// The whole way of a level to an established socket, and of a socket into the state of the next agent.
TEST_F(HostAgentServerTest, ALevelReachesAnOpenSocketAndTheNextAgentHasIt) {
  Start();
  const Descriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct stat status = {};
  ASSERT_EQ(fstat(connection.get(), &status), 0);
  const Descriptor asking(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un agent = {};
  agent.sun_family = AF_UNIX;
  options_.socket.path.copy(agent.sun_path, sizeof(agent.sun_path) - 1);
  ASSERT_EQ(connect(asking.get(), reinterpret_cast<const sockaddr*>(&agent), sizeof(agent)), 0);
  shm::SteeringQuestion question = {};
  question.magic = shm::kSteeringMagic;
  question.version = shm::kSteeringVersion;
  question.kind = shm::SteeringQuestionKind::kConnect;
  question.socket_inode = status.st_ino;
  question.destination.bytes[10] = question.destination.bytes[11] = 0xff;
  question.destination.bytes[12] = 127;
  question.destination.bytes[15] = 3;
  question.destination_port = PortOf(listener_.get());
  std::strcpy(question.job, "gpt");
  ASSERT_EQ(send(asking.get(), &question, sizeof(question), 0), ssize_t{sizeof(question)});
  shm::SteeringAnswer answer = {};
  ASSERT_EQ(recv(asking.get(), &answer, sizeof(answer), 0), ssize_t{sizeof(answer)});
  const sockaddr_in there = Loopback(3, question.destination_port);
  ASSERT_EQ(connect(connection.get(), reinterpret_cast<const sockaddr*>(&there), sizeof(there)), 0);
  const shm::SteeringOutcome outcome = {shm::kSteeringMagic, shm::kSteeringVersion, PortOf(connection.get()), 0, 0};
  ASSERT_EQ(send(asking.get(), &outcome, sizeof(outcome), 0), ssize_t{sizeof(outcome)});
  const auto opened = link_.Wait<controller::ConnectionOpened>();
  ASSERT_TRUE(opened.has_value());

  link_.Push(controller::ToAgent(controller::LevelSet{"gpt", 0, "test"}));
  int traffic_class = 0;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (traffic_class != 224 && std::chrono::steady_clock::now() < until) {
    socklen_t length = sizeof(traffic_class);
    getsockopt(connection.get(), IPPROTO_IP, IP_TOS, &traffic_class, &length);
    poll(nullptr, 0, 1);
  }
  EXPECT_EQ(traffic_class, 224) << "level 0";

  Stop();
  server_.reset();
  link_.Push(StreamClosed{"the agent has ended"});
  link_.Push(StreamOpened{});
  link_.Push(controller::ToAgent(controller::Welcome{"played", SimDuration(1'000'000'000), SimDuration()}));
  link_.Push(controller::ToAgent(controller::AnnouncementWanted{}));
  Start();
  const auto held = link_.Wait<controller::ConnectionsHeld>();
  ASSERT_TRUE(held.has_value());
  ASSERT_EQ(held->connections.size(), 1u);
  EXPECT_EQ(held->connections[0].wanted.connection, opened->connection);
  EXPECT_EQ(held->connections[0].socket_ports, (std::vector<uint16_t>{PortOf(connection.get())}));
}

// There was no answer when its process asked, as when an agent is killed before it has saved its answer.
TEST_F(HostAgentServerTest, AConnectionOpenedWithoutAnAgentIsFoundAndReported) {
  options_.idle_sample_period = SimDuration(10'000'000);
  const std::string command = ClientCommand("sends") + " > /dev/null";
  FILE* client = popen(command.c_str(), "w");
  Descriptor accepted(accept(listener_.get(), nullptr, nullptr));
  Start();
  const auto wanted = link_.Wait<controller::PathsWanted>();
  ASSERT_TRUE(wanted.has_value());
  EXPECT_EQ(wanted->job, "gpt");
  EXPECT_EQ(wanted->connections.at(0).destination_port, PortOf(listener_.get()));
  const auto opened = link_.Wait<controller::ConnectionOpened>();
  ASSERT_TRUE(opened.has_value());
  sockaddr_in there = {};
  socklen_t length = sizeof(there);
  getpeername(accepted.get(), reinterpret_cast<sockaddr*>(&there), &length);
  EXPECT_EQ(opened->socket_port, ntohs(there.sin_port));
  pclose(client);
  accepted = Descriptor();  // with what has come and was not read: the kernel ends both ends
  const auto closed = link_.Wait<controller::ConnectionsClosed>();
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(closed->connections, (std::vector<uint64_t>{opened->connection}));
}

TEST_F(HostAgentServerTest, FindingsAboutTheHostAreInAFile) {
  options_.health_path = options_.socket.path + ".health";
  const auto wait_for = [&](HealthVerdict::Kind kind) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    HealthVerdict verdict;
    do {
      poll(nullptr, 0, 1);
      verdict = CheckHealth({.path = options_.health_path, .max_age_s = 60, .action = ""}, std::time(nullptr));
    } while (verdict.kind != kind && std::chrono::steady_clock::now() < until);
    EXPECT_EQ(verdict.kind, kind) << verdict.line;
    return verdict.line;
  };
  Start();
  link_.Push(controller::ToAgent(controller::HostJudged{}));
  wait_for(HealthVerdict::Kind::kWell);
  controller::HostJudged judged;
  judged.findings.push_back({.job = "gpt",
                             .syndrome = model::Syndrome::kDead,
                             .text = "rank 3 is gone",
                             .action = model::RecommendedAction::kRestart});
  link_.Push(controller::ToAgent(judged));
  EXPECT_EQ(wait_for(HealthVerdict::Kind::kProblem), "dead: job gpt: rank 3 is gone");
  std::filesystem::remove(options_.health_path);
}

TEST_F(HostAgentServerTest, RewritingThatIsNotAllowedIsRefusedWithTheReason) {
  Start();
  link_.Push(controller::ToAgent(controller::PrepareArrival{.alias = 4,
                                                            .source = IpAddress::FromIpv4(0x7f000003),
                                                            .destination = IpAddress::FromIpv4(0x7f000001),
                                                            .destination_port = 7,
                                                            .socket_port = 8,
                                                            .wire_port = 9}));
  const auto prepared = link_.Wait<controller::ArrivalPrepared>();
  ASSERT_TRUE(prepared.has_value());
  EXPECT_EQ(prepared->alias, 4u);
  EXPECT_EQ(prepared->error, "--keep-ports is set");
}

TEST_F(HostAgentServerTest, ADamagedStateIsReportedAndSkipped) {
  FILE* file = fopen(options_.state_path.c_str(), "w");
  fputs("fairlead-agent-state 1 0\n{}", file);
  fclose(file);
  std::vector<std::string> lines;
  options_.log = [&](const std::string& line) { lines.push_back(line); };
  Start();
  Stop();
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines.front().find("does not match its checksum"), std::string::npos);
}

// This process has a segment; a foreign file is none, which is logged once however often it is examined.
TEST_F(HostAgentServerTest, ProcessesAreInspectedAndFaultsReportedOnce) {
  options_.segments = folder_.File("segments");
  options_.look_period = SimDuration(5'000'000);
  std::filesystem::create_directories(options_.segments);
  telemetry::HandMadeSegment segment;
  segment->header.pid = getpid();
  segment->header.process_start = 0;
  segment.AddCommunicator(5, 2, 1);
  const auto bytes = segment.bytes();
  std::ofstream(options_.segments + "/fairlead-" + std::to_string(getpid()), std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  std::ofstream(options_.segments + "/fairlead-1") << "no segment";
  std::mutex mutex;
  std::vector<std::string> lines;
  options_.log = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  };
  std::condition_variable is_judged;
  std::optional<controller::HostJudged> verdict;
  options_.judged = [&](const controller::HostJudged& judged) {
    const std::lock_guard lock(mutex);
    verdict = judged;
    is_judged.notify_all();
  };
  Start();
  const auto first = link_.Wait<controller::ProcessesSeen>();
  const auto later = link_.Wait<controller::ProcessesSeen>(3);
  ASSERT_TRUE(first.has_value() && later.has_value());
  EXPECT_GT(later->number, first->number);
  EXPECT_GT(later->at, first->at);
  ASSERT_EQ(first->processes.size(), 1u);
  const telemetry::ProcessReport& report = first->processes[0].report;
  EXPECT_EQ(first->job, "gpt");
  EXPECT_EQ(report.pid, getpid());
  ASSERT_EQ(report.communicators.size(), 1u);
  EXPECT_EQ(report.communicators[0].rank, 1);
  link_.Push(controller::ToAgent(
      controller::HostJudged{{{"gpt", model::Syndrome::kCommHang, "it hangs", model::RecommendedAction::kNone}}}));
  std::unique_lock lock(mutex);
  ASSERT_TRUE(is_judged.wait_for(lock, kPatience, [&] { return verdict.has_value(); }));
  EXPECT_EQ(verdict->findings.at(0).text, "it hangs");
  EXPECT_EQ(std::ranges::count_if(lines, [](const auto& line) { return line.find("fairlead-1 is not") != line.npos; }),
            1);
  lock.unlock();
  Stop();
}

// 127.0.0.1 -> 127.0.0.3 has no router: a search ends with nothing found, not with silence.
TEST_F(HostAgentServerTest, AnOrderToProbeIsAlwaysAnswered) {
  Start();
  controller::PortScanWanted scan;
  scan.source = IpAddress::FromIpv4(0x7f000001);
  scan.destination = IpAddress::FromIpv4(0x7f000003);
  scan.destination_port = PortOf(listener_.get());
  scan.source_ports = {FindFreePort()};
  link_.Push(controller::ToAgent(controller::ProbesWanted{.round = 5, .scans = {scan}}));
  const auto finished = link_.Wait<controller::ProbesFinished>();
  ASSERT_TRUE(finished.has_value());
  EXPECT_EQ(finished->round, 5u);
  EXPECT_TRUE(finished->scans.empty());
  pollfd accepted = {listener_.get(), POLLIN, 0};
  EXPECT_EQ(poll(&accepted, 1, 0), 0) << "no probe reaches the process";
}

TEST(TcpSockets, ListsAConnectionFromBothEnds) {
  const Descriptor listener(socket(AF_INET, SOCK_STREAM, 0)), client(socket(AF_INET, SOCK_STREAM, 0));
  const sockaddr_in at = Loopback(3, 0);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  const sockaddr_in there = Loopback(3, PortOf(listener.get()));
  ASSERT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&there), sizeof(there)), 0);
  const Descriptor accepted(accept(listener.get(), nullptr, nullptr));
  ASSERT_EQ(send(client.get(), "12345", 5, 0), 5);
  char bytes[5];
  ASSERT_EQ(recv(accepted.get(), bytes, 5, MSG_WAITALL), 5);
  struct stat status = {};
  fstat(client.get(), &status);
  const agent::SocketPair ends = {IpAddress::FromIpv4(0x7f000001), IpAddress::FromIpv4(0x7f000003),
                                  PortOf(client.get()), PortOf(listener.get())};
  const agent::SocketPair others = {ends.remote, ends.local, ends.remote_port, ends.local_port};
  // The acknowledgement comes when the kernel likes.
  const auto until = std::chrono::steady_clock::now() + kPatience;
  int64_t bytes_acked = 0;
  int64_t bytes_received = 0;
  while ((bytes_acked < 5 || bytes_received < 5) && std::chrono::steady_clock::now() < until) {
    const auto sockets = ListTcpSockets();
    ASSERT_TRUE(sockets.ok()) << sockets.status().message();
    int num_found = 0;
    for (const agent::SeenSocket& socket : *sockets) {
      if (socket.ends == ends) {
        ++num_found;
        EXPECT_EQ(socket.inode, status.st_ino);
        bytes_acked = socket.bytes_acked;
      }
      if (socket.ends == others) {
        ++num_found;
        bytes_received = socket.bytes_received;
      }
      EXPECT_NE(socket.ends.remote_port, 0) << "listening sockets are no connections";
    }
    ASSERT_EQ(num_found, 2);
  }
  const agent::SocketPair gone = {ends.local, ends.remote, 1, ends.remote_port};
  const agent::SocketPair listening = {ends.remote, ends.local, ends.remote_port, 1};
  const std::array<agent::SocketPair, 4> wanted = {ends, gone, listening, others};
  const auto looked_up = LookUpTcpSockets(wanted);
  ASSERT_TRUE(looked_up.ok()) << looked_up.status().message();
  ASSERT_EQ(looked_up->size(), 2u);
  EXPECT_EQ(looked_up->at(0).ends, ends);
  EXPECT_EQ(looked_up->at(0).inode, status.st_ino);
  EXPECT_EQ(looked_up->at(0).bytes_acked, bytes_acked);
  EXPECT_EQ(looked_up->at(1).ends, others);
  EXPECT_EQ(looked_up->at(1).bytes_received, 5);
  // The SYN counts as one byte that was acknowledged, in kernels that count it.
  EXPECT_GE(bytes_acked, 5);
  EXPECT_LE(bytes_acked, 6);
  EXPECT_EQ(bytes_received, 5);
}

}  // namespace
}  // namespace fairlead::service

#include "service/agent/steering_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <variant>

#include "base/random.h"
#include "base/temporary_folder.h"
#include "service/agent/steering_packet.h"

namespace fairlead::service {
namespace {

shm::SteeringQuestion Question() {
  shm::SteeringQuestion question = {};
  question.magic = shm::kSteeringMagic;
  question.version = shm::kSteeringVersion;
  question.kind = shm::SteeringQuestionKind::kConnect;
  question.socket_inode = 77;
  question.source.bytes[10] = question.source.bytes[11] = 0xff;
  question.destination = question.source;
  question.destination.bytes[12] = 127;
  question.destination.bytes[15] = 3;
  question.destination_port = 5001;
  std::strcpy(question.job, "gpt");
  return question;
}

class SteeringSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.path = folder_.File("run/agent.sock");
    options_.num_open_per_process = 8;
    auto opened = SteeringSocket::Open(options_);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    socket_.emplace(std::move(*opened));
  }
  Descriptor Connect() const {
    Descriptor client(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    options_.path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return client;
  }
  template <class Packet>
  static void Send(const Descriptor& client, const Packet& packet) {
    EXPECT_EQ(send(client.get(), &packet, sizeof(packet), MSG_NOSIGNAL), ssize_t{sizeof(packet)});
  }
  // What is in store after everything that waits was served.
  std::vector<agent::HostEvent> Serve(SimTime now = SimTime(1)) {
    std::vector<agent::HostEvent> all;
    for (int i = 0; i < 3; ++i) {
      for (agent::HostEvent& event : socket_->Serve(now)) all.push_back(std::move(event));
    }
    return all;
  }
  static bool IsHungUp(const Descriptor& client) {
    char byte = 0;
    return recv(client.get(), &byte, 1, 0) == 0;
  }

  const TemporaryFolder folder_;
  SteeringSocketOptions options_;
  std::optional<SteeringSocket> socket_;
};

TEST_F(SteeringSocketTest, OneExchange) {
  const Descriptor client = Connect();
  Send(client, Question());
  const auto asked = Serve();
  ASSERT_EQ(asked.size(), 1u);
  const auto& question = std::get<agent::PathRequested>(asked[0]);
  EXPECT_EQ(question.pid, getpid()) << "as the kernel says";
  EXPECT_EQ(question.inode, 77u);
  EXPECT_EQ(question.job, "gpt");
  EXPECT_EQ(question.destination.ToString(), "127.0.0.3");
  EXPECT_EQ(question.source.ToString(), "127.0.0.1") << "the kernel's choice for a source that is open";
  socket_->Answer(
      {.question = question.question, .leave = false, .source_port = 50'007, .sets_class = true, .traffic_class = 160});
  shm::SteeringAnswer answer = {};
  ASSERT_EQ(recv(client.get(), &answer, sizeof(answer), 0), ssize_t{sizeof(answer)});
  EXPECT_EQ(answer.kind, shm::SteeringAnswerKind::kUse);
  EXPECT_EQ(answer.source_port, 50'007);
  EXPECT_EQ(answer.traffic_class, 160);
  Send(client, shm::SteeringOutcome{shm::kSteeringMagic, shm::kSteeringVersion, 50'007, 0, 1});
  const auto reported = Serve();
  ASSERT_EQ(reported.size(), 2u);
  EXPECT_EQ(std::get<agent::PathRequestOutcome>(reported[0]).source_port, 50'007);
  EXPECT_EQ(std::get<agent::ProcessLeft>(reported[1]).question, question.question);
  EXPECT_EQ(socket_->num_open(), 0u);
}

TEST_F(SteeringSocketTest, AQuestionIsTakenWithItsConnection) {
  const Descriptor client = Connect();
  Send(client, Question());
  EXPECT_EQ(socket_->Serve(SimTime()).size(), 1u) << "a process waits";
}

TEST_F(SteeringSocketTest, AnotherVersionReceivesOurs) {
  const Descriptor client = Connect();
  shm::SteeringQuestion question = Question();
  question.version = 2;
  Send(client, question);
  EXPECT_TRUE(Serve().empty());
  shm::SteeringAnswer answer = {};
  ASSERT_EQ(recv(client.get(), &answer, sizeof(answer), 0), ssize_t{sizeof(answer)});
  EXPECT_EQ(answer.version, shm::kSteeringVersion);
  EXPECT_EQ(answer.kind, shm::SteeringAnswerKind::kLeave);
}

TEST_F(SteeringSocketTest, GarbageIsHarmless) {
  Random random(5);
  for (int i = 0; i < 500; ++i) {
    const Descriptor client = Connect();
    std::string bytes(random.Below(200) + 1, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.Below(256));
    if (random.Below(3) == 0) {
      const shm::SteeringQuestion question = Question();
      std::memcpy(bytes.data(), &question, std::min(bytes.size(), sizeof(question)));
      if (bytes.size() == sizeof(question)) continue;
    }
    send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    EXPECT_TRUE(Serve().empty());
    EXPECT_TRUE(IsHungUp(client));
  }
  EXPECT_EQ(socket_->num_open(), 0u);
  const Descriptor client = Connect();
  Send(client, Question());
  EXPECT_EQ(Serve().size(), 1u);
}

// A newcomer takes the place of the oldest.
TEST_F(SteeringSocketTest, AProcessMayAskSoMuchAtOnceAndSilenceEnds) {
  std::vector<Descriptor> clients;
  clients.reserve(12);
  for (int i = 0; i < 12; ++i) clients.push_back(Connect());
  Serve();
  EXPECT_EQ(socket_->num_open(), 8u);
  EXPECT_EQ(socket_->num_rejected(), 4u);
  for (size_t i = 0; i < clients.size(); ++i) EXPECT_EQ(IsHungUp(clients[i]), i < 4) << i;
  Send(clients[11], Question());
  EXPECT_EQ(Serve().size(), 1u);
  // Silent ones are dropped after a second; one that has sent a request may connect for a while.
  EXPECT_TRUE(Serve(SimTime(1'500'000'000)).empty());
  EXPECT_EQ(socket_->num_open(), 1u);
  EXPECT_EQ(Serve(SimTime(22'000'000'000)).size(), 1u) << "its end is told";
}

// Many processes of one user: his own oldest questions give way, and nobody else's.
TEST_F(SteeringSocketTest, AUserMayAskSoMuchAtOnce) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can start processes of another user";
  socket_.reset();
  options_.num_open_per_user = 20;
  options_.num_open_max = 28;
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0711));
  socket_.emplace(SteeringSocket::Open(options_).value());
  const Descriptor honest = Connect();
  Send(honest, Question());
  ASSERT_EQ(Serve().size(), 1u);
  std::vector<pid_t> attackers;
  for (int p = 0; p < 8; ++p) {
    attackers.push_back(fork());
    if (attackers.back() != 0) continue;
    if (setresuid(12'345, 12'345, 12'345) != 0) _exit(1);
    std::vector<Descriptor> asked;
    for (int i = 0; i < 8; ++i) {
      asked.push_back(Connect());
      Send(asked.back(), Question());
    }
    for (;;) pause();
  }
  for (int i = 0; i < 3000 && socket_->num_rejected() < 44; ++i) {  // a minute: eight processes have to run
    usleep(20'000);
    Serve();
  }
  EXPECT_EQ(socket_->num_rejected(), 44u) << "of 64 that one user asked, 20 have a place";
  EXPECT_EQ(socket_->num_open(), 21u);
  EXPECT_FALSE(IsHungUp(honest));
  const Descriptor another = Connect();
  Send(another, Question());
  EXPECT_EQ(Serve().size(), 1u) << "and the next honest one is heard";
  for (const pid_t attacker : attackers) {
    kill(attacker, SIGKILL);
    waitpid(attacker, nullptr, 0);
  }
}

// What is asked beyond that is answered at once, and is nobody else's burden.
TEST_F(SteeringSocketTest, AUserMayAskSoOften) {
  socket_.reset();
  options_.num_asked_at_once = 3;
  options_.num_asked_per_second = 1;
  socket_.emplace(SteeringSocket::Open(options_).value());
  const auto num_asked = [&](SimTime now) {
    const Descriptor client = Connect();
    Send(client, Question());
    const auto events = Serve(now);
    const auto is_question = [](const auto& event) { return std::holds_alternative<agent::PathRequested>(event); };
    const auto count = std::ranges::count_if(events, is_question);
    if (count > 0) return count;
    shm::SteeringAnswer answer = {};
    EXPECT_EQ(recv(client.get(), &answer, sizeof(answer), 0), ssize_t{sizeof(answer)});
    EXPECT_EQ(answer.kind, shm::SteeringAnswerKind::kLeave);
    return count;
  };
  const SimTime begin(1'000'000'000'000);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(num_asked(begin), 1) << i;
  EXPECT_EQ(num_asked(begin), 0);
  EXPECT_EQ(num_asked(begin + SimDuration(1'100'000'000)), 1);
  EXPECT_EQ(num_asked(begin + SimDuration(1'200'000'000)), 0);
}

// Its process may listen on for a moment after its parent has seen its end.
TEST_F(SteeringSocketTest, TakesThePlaceOfADyingAgent) {
  std::thread dying([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    socket_.reset();
  });
  const auto opened = SteeringSocket::Open(options_);
  dying.join();
  EXPECT_TRUE(opened.ok()) << opened.status().message();
}

TEST_F(SteeringSocketTest, TakesThePlaceOfADeadAgentOnly) {
  EXPECT_EQ(SteeringSocket::Open(options_).status().code(), StatusCode::kFailedPrecondition);
  struct stat status = {};
  ASSERT_EQ(stat(options_.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0666u);
  socket_.reset();
  // As kill -9 leaves it: a socket in the file system without a listener.
  {
    const Descriptor dead(socket(AF_UNIX, SOCK_SEQPACKET, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    options_.path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  EXPECT_TRUE(SteeringSocket::Open(options_).ok());
  std::ofstream(options_.path) << "something else";
  EXPECT_EQ(SteeringSocket::Open(options_).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(std::filesystem::exists(options_.path));
}

}  // namespace
}  // namespace fairlead::service

// For tests of the steering library: an agent whose answers the test gives, and processes that have the library loaded.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/temporary_folder.h"
#include "shm/steering_messages.h"

namespace fairlead::ccl {

// An agent that answers each question with what `reply` says.
class FakeAgent {
 public:
  // Bytes of the answer; empty: none.
  using Reply = std::function<std::string(const shm::SteeringQuestion&)>;

  explicit FakeAgent(Reply reply) : reply_(std::move(reply)) {
    listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener_, 64), 0);
    thread_ = std::thread([this] { Serve(); });
  }
  ~FakeAgent() { Stop(); }

  // All requests and reports, once all clients have ended.
  void Stop() {
    if (!thread_.joinable()) return;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  std::string path() const { return folder_.File("agent.sock"); }
  const std::vector<shm::SteeringQuestion>& questions() const { return questions_; }
  const std::vector<shm::SteeringOutcome>& outcomes() const { return outcomes_; }

 private:
  void Serve() {
    for (;;) {
      const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) break;
      clients_.emplace_back([this, client] { ServeOne(client); });
    }
    for (std::thread& client : clients_) client.join();
  }

  // Ends when the client has reported the outcome, or has gone.
  void ServeOne(int client) {
    shm::SteeringQuestion question = {};
    if (recv(client, &question, sizeof(question), 0) == ssize_t{sizeof(question)}) {
      const std::lock_guard lock(mutex_);
      questions_.push_back(question);
      const std::string answer = reply_(question);
      if (!answer.empty()) send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    shm::SteeringOutcome outcome = {};
    if (recv(client, &outcome, sizeof(outcome), 0) == ssize_t{sizeof(outcome)}) {
      const std::lock_guard lock(mutex_);
      outcomes_.push_back(outcome);
    }
    close(client);
  }

  Reply reply_;
  const TemporaryFolder folder_;
  int listener_ = -1;
  std::thread thread_;
  std::vector<std::thread> clients_;
  std::mutex mutex_;  // of all below
  std::vector<shm::SteeringQuestion> questions_;
  std::vector<shm::SteeringOutcome> outcomes_;
};

inline shm::SteeringAnswer Use(uint16_t port, int traffic_class = -1) {
  shm::SteeringAnswer answer = {};
  answer.magic = shm::kSteeringMagic;
  answer.version = shm::kSteeringVersion;
  answer.kind = shm::SteeringAnswerKind::kUse;
  answer.source_port = port;
  answer.sets_class = traffic_class >= 0 ? 1 : 0;
  answer.traffic_class = static_cast<uint8_t>(traffic_class >= 0 ? traffic_class : 0);
  return answer;
}

inline std::string Bytes(const shm::SteeringAnswer& answer) {
  return std::string(reinterpret_cast<const char*>(&answer), sizeof(answer));
}

inline FakeAgent::Reply Always(const shm::SteeringAnswer& answer) {
  return [answer](const shm::SteeringQuestion&) { return Bytes(answer); };
}

// The variables of a process of job "gpt" on this agent's host. It waits for answers as long as a busy machine needs.
inline std::string Environment(const FakeAgent& agent, int deadline_ms = 60'000) {
  return "FAIRLEAD_JOB=gpt FAIRLEAD_AGENT_SOCKET=" + agent.path() +
         " FAIRLEAD_STEER_DEADLINE_MS=" + std::to_string(deadline_ms);
}

}  // namespace fairlead::ccl

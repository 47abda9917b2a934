// Both ends of a stream in one process, for tests: an address, and waiting for messages at one end.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/temporary_folder.h"
#include "service/streams/controller_client.h"
#include "service/streams/controller_server.h"

namespace fairlead::service {

// No test waits as long where all is well.
inline constexpr std::chrono::milliseconds kLongWait{60'000};

// A UNIX socket of this test alone.
inline std::string TestSocket() {
  static const TemporaryFolder kFolder;
  static int number = 0;
  return "unix:" + kFolder.File(std::to_string(number++));
}

// Events that a client receives, one after another.
class ClientEvents {
 public:
  // Args: server: makes progress while this waits; null: driven elsewhere.
  explicit ClientEvents(ControllerClient* client, ControllerServer* server = nullptr)
      : client_(client), server_(server) {}

  void SetServer(ControllerServer* server) { server_ = server; }

  // The next event; waits for it.
  ClientEvent Next() {
    const auto end = std::chrono::steady_clock::now() + kLongWait;
    while (events_.empty()) {
      if (std::chrono::steady_clock::now() > end) {
        ADD_FAILURE() << "nothing happened";
        return StreamClosed{"nothing happened"};
      }
      pollfd waiting = {.fd = client_->event_descriptor(), .events = POLLIN, .revents = 0};
      if (poll(&waiting, 1, server_ == nullptr ? 100 : 0) == 1) {
        for (ClientEvent& event : client_->Poll()) events_.push_back(std::move(event));
      } else if (server_ != nullptr) {
        server_->Serve(std::chrono::milliseconds(1));
      }
    }
    ClientEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  // Waits for the next event of one kind; what comes before is dropped.
  template <class Kind>
  Kind NextOf() {
    for (int i = 0; i < 100'000; ++i) {
      ClientEvent event = Next();
      if (auto* kind = std::get_if<Kind>(&event)) return std::move(*kind);
    }
    ADD_FAILURE() << "no such event";
    return {};
  }

 private:
  ControllerClient* client_;
  ControllerServer* server_;
  std::deque<ClientEvent> events_;
};

// What the core would get, one input after another.
class ServerInputs {
 public:
  explicit ServerInputs(ControllerServer* server) : server_(server) {}

  controller::TrafficInput Next() {
    while (inputs_.empty()) {
      std::vector<controller::TrafficInput> taken = server_->TakeInputs(kLongWait);
      if (taken.empty()) {
        ADD_FAILURE() << "nothing came";
        return controller::StreamEnded{};
      }
      for (controller::TrafficInput& input : taken) inputs_.push_back(std::move(input));
    }
    controller::TrafficInput input = std::move(inputs_.front());
    inputs_.pop_front();
    return input;
  }

 private:
  ControllerServer* server_;
  std::deque<controller::TrafficInput> inputs_;
};

inline controller::HostHello HelloOf(const std::string& host) {
  return {.host = host, .agent_version = "test", .nics = {IpAddress::FromIpv4(0x0a000001)}};
}

}  // namespace fairlead::service

// Controller and agent on one machine: messages arrive in order, and every way in which a stream can end.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmath>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/descriptor.h"
#include "base/random.h"
#include "service/streams/endpoint.h"
#include "service/streams/outgoing_messages.h"
#include "service/streams/stream_bytes.h"
#include "service/streams/stream_example.h"
#include "wire/host_message_codec.h"
#include "wire/random_messages.h"

namespace fairlead::service {
namespace {

using controller::StreamEnded;
using controller::StreamMessage;

std::unique_ptr<ControllerServer> StartServer(const ControllerServerOptions& options) {
  auto server = ControllerServer::Start(options);
  EXPECT_TRUE(server.ok()) << server.status().message();
  return std::move(server).value();
}

std::unique_ptr<ControllerClient> StartClient(ControllerClientOptions options,
                                              std::chrono::milliseconds delay = std::chrono::milliseconds(1)) {
  options.delay_min = delay;
  options.delay_max = delay * 20;
  auto client = ControllerClient::Start(options);
  EXPECT_TRUE(client.ok()) << client.status().message();
  return std::move(client).value();
}

StreamMessage NextMessage(ServerInputs* inputs) {
  controller::TrafficInput input = inputs->Next();
  auto* sent = std::get_if<StreamMessage>(&input);
  EXPECT_NE(sent, nullptr);
  return sent == nullptr ? StreamMessage{} : std::move(*sent);
}

TEST(ControllerStream, MessagesArriveInOrderOnBothSides) {
  for (const std::string& address : {TestSocket(), std::string("127.0.0.1:0")}) {
    SCOPED_TRACE(address);
    const auto server = StartServer({.listen = {address}});
    const auto client = StartClient({.address = server->addresses()[0]});
    ClientEvents events(client.get(), server.get());
    ServerInputs inputs(server.get());
    const ClientEvent first_event = events.Next();
    ASSERT_TRUE(std::holds_alternative<StreamOpened>(first_event));
    // Both ends read the same clock.
    const auto clocks = std::get<StreamOpened>(first_event).clocks;
    ASSERT_TRUE(clocks.has_value());
    EXPECT_LE(std::abs(clocks->offset_s), clocks->error_s);
    EXPECT_LT(clocks->error_s, 60);
    std::vector<controller::FromAgent> sent = {HelloOf("h0")};
    std::vector<controller::ToAgent> answers;
    Random random(7);
    for (int i = 0; i < 1000; ++i) sent.push_back(wire::RandomFromAgent(&random));
    for (int i = 0; i < 1000; ++i) answers.push_back(wire::RandomToAgent(&random));
    for (const auto& message : sent) ASSERT_TRUE(client->Send(message));
    StreamMessage first = NextMessage(&inputs);
    EXPECT_TRUE(first.message == sent[0]);
    for (size_t i = 1; i < sent.size(); ++i) {
      const StreamMessage next = NextMessage(&inputs);
      ASSERT_TRUE(next.message == sent[i]) << i;
      ASSERT_EQ(next.stream, first.stream);
    }
    for (const auto& message : answers) server->Send(first.stream, message);
    for (size_t i = 0; i < answers.size(); ++i) {
      const ClientEvent event = events.Next();
      ASSERT_TRUE(std::holds_alternative<controller::ToAgent>(event)) << i;
      ASSERT_TRUE(std::get<controller::ToAgent>(event) == answers[i]) << i;
    }
    EXPECT_EQ(client->num_dropped(), 0u);
  }
}

// Long ones and short ones: the joined message is all of them, and within its limits.
TEST(ControllerStream, WaitingMessagesLeaveTogether) {
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    OutgoingMessages unsent;
    std::string all;
    const uint64_t num_messages = 1 + random.Below(200);
    for (uint64_t i = 0; i < num_messages; ++i) {
      const std::string message(random.Below(10) == 0 ? random.Below(100'000) : random.Below(10), static_cast<char>(i));
      all += message;
      unsent.Push(message);
    }
    EXPECT_EQ(unsent.num_bytes(), all.size());
    std::string taken;
    size_t num_taken = 0;
    while (!unsent.empty()) {
      const OutgoingMessages::Batch batch = unsent.Take();
      EXPECT_LE(batch.num_messages, OutgoingMessages::kMessagesMax);
      EXPECT_TRUE(batch.num_messages == 1 || batch.bytes.size() <= OutgoingMessages::kBytesMax);
      taken += batch.bytes;
      num_taken += batch.num_messages;
    }
    EXPECT_EQ(taken, all);
    EXPECT_EQ(num_taken, num_messages);
    EXPECT_EQ(unsent.num_bytes(), 0u);
  }
}

TEST(ControllerStream, AnEndedStreamIsFollowedByANewOne) {
  const auto server = StartServer({.listen = {TestSocket()}});
  // The next stream comes late enough to look at what is between them.
  const auto client = StartClient({.address = server->addresses()[0]}, std::chrono::milliseconds(500));
  ClientEvents events(client.get(), server.get());
  ServerInputs inputs(server.get());
  ASSERT_TRUE(std::holds_alternative<StreamOpened>(events.Next()));
  client->Send(HelloOf("h0"));
  const StreamMessage first = NextMessage(&inputs);
  server->Send(first.stream, controller::Refused{"come again"});
  server->End(first.stream);
  EXPECT_EQ(std::get<controller::Refused>(events.NextOf<controller::ToAgent>()).reason, "come again");
  ASSERT_TRUE(std::holds_alternative<StreamClosed>(events.Next()));
  // Messages for the old stream do not get into the next one.
  EXPECT_FALSE(client->Send(controller::Heartbeat{}));
  EXPECT_EQ(client->num_dropped(), 1u);
  ASSERT_TRUE(std::holds_alternative<StreamOpened>(events.Next()));
  client->Send(HelloOf("h1"));
  // The core ended the first one itself, and is still notified of its end.
  const controller::TrafficInput ended = inputs.Next();
  ASSERT_TRUE(std::holds_alternative<StreamEnded>(ended));
  EXPECT_EQ(std::get<StreamEnded>(ended).stream, first.stream);
  const StreamMessage second = NextMessage(&inputs);
  EXPECT_TRUE(second.message == controller::FromAgent(HelloOf("h1")));
  EXPECT_NE(second.stream, first.stream);
}

TEST(ControllerStream, TheCoreReceivesTheEndOfAStream) {
  const auto server = StartServer({.listen = {TestSocket()}});
  auto client = StartClient({.address = server->addresses()[0]});
  ClientEvents events(client.get(), server.get());
  ServerInputs inputs(server.get());
  ASSERT_TRUE(std::holds_alternative<StreamOpened>(events.Next()));
  client->Send(HelloOf("h0"));
  const StreamMessage first = NextMessage(&inputs);
  client.reset();
  const controller::TrafficInput input = inputs.Next();
  ASSERT_TRUE(std::holds_alternative<StreamEnded>(input));
  EXPECT_EQ(std::get<StreamEnded>(input).stream, first.stream);
}

// An agent starts before its controller, and outlives it.
TEST(ControllerStream, AnAgentWaitsForItsController) {
  const std::string address = TestSocket();
  const auto client = StartClient({.address = address});
  ClientEvents events(client.get(), nullptr);
  // A server that ends may open a last stream. Once it is gone, attempts fail and open none: two ends in a row.
  const auto wait_for_failed_attempt = [&] {
    for (bool has_closed = false;;) {
      const ClientEvent event = events.Next();
      const auto* closed = std::get_if<StreamClosed>(&event);
      EXPECT_TRUE(closed == nullptr || !closed->reason.empty());
      if (has_closed && closed != nullptr) return;
      has_closed = closed != nullptr;
    }
  };
  for (int life = 0; life < 2; ++life) {
    wait_for_failed_attempt();
    const auto server = StartServer({.listen = {address}});
    events.SetServer(server.get());
    ServerInputs inputs(server.get());
    events.NextOf<StreamOpened>();
    client->Send(HelloOf("h0"));
    EXPECT_TRUE(NextMessage(&inputs).message == controller::FromAgent(HelloOf("h0")));
    events.SetServer(nullptr);
  }
}

// 1000 heartbeats are sent and the core takes none: less than 8 and those of one message wait for it, the others on
// their way. None is lost.
TEST(ControllerStream, AnAgentHasToWaitForTheCore) {
  const auto server = StartServer({.listen = {TestSocket()}, .reading = {.num_unread_max = 8}});
  const auto client = StartClient({.address = server->addresses()[0]});
  ClientEvents events(client.get(), server.get());
  ASSERT_TRUE(std::holds_alternative<StreamOpened>(events.Next()));
  for (uint32_t i = 0; i < 1000; ++i) ASSERT_TRUE(client->Send(controller::Heartbeat{i}));
  uint32_t next = 0;
  while (next < 1000) {
    const auto inputs = server->TakeInputs(kLongWait);
    ASSERT_FALSE(inputs.empty());
    ASSERT_LE(inputs.size(), 7 + OutgoingMessages::kMessagesMax);
    for (const auto& input : inputs) {
      ASSERT_EQ(std::get<controller::Heartbeat>(std::get<StreamMessage>(input).message).num_leases, next++);
    }
  }
}

// The client receives 4 messages and is not polled; 64 MiB are more than sockets and gRPC buffer for it.
TEST(ControllerStream, AnAgentThatDoesNotListenIsEnded) {
  const auto server = StartServer({.listen = {TestSocket()}, .unsent_bytes_max = 1 << 20});
  const auto client = StartClient({.address = server->addresses()[0], .unheard_max = 4});
  ClientEvents events(client.get(), server.get());
  ServerInputs inputs(server.get());
  ASSERT_TRUE(std::holds_alternative<StreamOpened>(events.Next()));
  client->Send(HelloOf("h0"));
  const StreamMessage first = NextMessage(&inputs);
  const controller::Refused large{std::string(1 << 18, 'x')};
  for (int i = 0; i < 256; ++i) server->Send(first.stream, large);
  const controller::TrafficInput input = inputs.Next();
  ASSERT_TRUE(std::holds_alternative<StreamEnded>(input));
  EXPECT_EQ(server->counters().slow, 1u);
  events.NextOf<StreamClosed>();
}

TEST(ControllerStream, AControllerThatDoesNotListenIsLeft) {
  const auto server = StartServer({.listen = {TestSocket()}, .reading = {.num_unread_max = 1}});
  const auto client = StartClient({.address = server->addresses()[0], .unsent_bytes_max = 1 << 20});
  ClientEvents events(client.get(), server.get());
  ASSERT_TRUE(std::holds_alternative<StreamOpened>(events.Next()));
  const controller::ArrivalPrepared large{.alias = 1, .error = std::string(1 << 18, 'x')};
  int num_sent = 0;
  while (num_sent < 256 && client->Send(large)) ++num_sent;
  ASSERT_LT(num_sent, 256);
  EXPECT_NE(events.NextOf<StreamClosed>().reason.find("too slow"), std::string::npos);
  EXPECT_GT(client->num_dropped(), 0u);
}

// One call with one message of any bytes, and how it ended.
class RawCall final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  RawCall(const std::string& address, const std::string& method, const std::string& bytes)
      : stub_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())), sent_(ToBuffer(bytes)) {
    stub_.PrepareBidiStreamingCall(&context_, method, {}, this);
    StartWrite(&sent_);
    StartRead(&heard_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    answers_.emplace_back(WholeMessage(heard_).bytes());
    StartRead(&heard_);
  }
  void OnDone(const grpc::Status& status) override {
    const std::lock_guard lock(mutex_);
    status_ = status;
  }
  grpc::Status Wait(ControllerServer* server) {
    while (true) {
      server->Serve(std::chrono::milliseconds(1));
      const std::lock_guard lock(mutex_);
      if (status_) return *status_;
    }
  }
  const std::vector<std::string>& answers() const { return answers_; }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer sent_;
  grpc::ByteBuffer heard_;
  std::vector<std::string> answers_;
  std::mutex mutex_;
  std::optional<grpc::Status> status_;
};

TEST(ControllerStream, UnreadableMessagesEndTheirStream) {
  const auto server = StartServer({.listen = {TestSocket()}});
  const std::string address = server->addresses()[0];
  for (const std::string& bytes : {std::string(), std::string("garbage"), std::string(100, '\xff')}) {
    RawCall call(address, std::string(wire::kAttachMethod), bytes);
    call.Wait(server.get());
    ASSERT_EQ(call.answers().size(), 1u);
    const auto answer = wire::ReadToAgent(call.answers()[0]);
    ASSERT_TRUE(answer.ok());
    ASSERT_EQ(answer->size(), 1u);
    EXPECT_TRUE(std::holds_alternative<controller::Refused>(answer->front()));
  }
  EXPECT_EQ(server->counters().unreadable, 3u);
  RawCall other(address, "/fairlead.v1.AgentService/Other", "");
  EXPECT_EQ(other.Wait(server.get()).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  RawCall too_large(address, std::string(wire::kAttachMethod), std::string(wire::kMessageBytesMax + 1, 'x'));
  EXPECT_FALSE(too_large.Wait(server.get()).ok());
  // The core sees none of them.
  EXPECT_TRUE(server->TakeInputs(std::chrono::milliseconds(0)).empty());
}

// A connection of something that speaks no gRPC.
Descriptor ConnectStranger(const ControllerServer& server) {
  const auto endpoint = ParseEndpoint(server.addresses()[0]);
  Descriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(endpoint->port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return connection;
}

// Some say nothing, some stop in the middle of a frame, none goes away.
TEST(ControllerStream, SlowStrangersDelayNoAgent) {
  const auto server = StartServer({.listen = {"127.0.0.1:0"}});
  const std::string begun("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x10", 27);
  std::vector<Descriptor> strangers;
  for (size_t i = 0; i < 100; ++i) {
    strangers.push_back(ConnectStranger(*server));
    const size_t length = i % (begun.size() + 1);
    ASSERT_EQ(send(strangers.back().get(), begun.data(), length, MSG_NOSIGNAL), static_cast<ssize_t>(length));
  }
  const auto client = StartClient({.address = server->addresses()[0]});
  ClientEvents events(client.get(), server.get());
  events.NextOf<StreamOpened>();
}

// Bytes that are not even gRPC: the server lives on.
TEST(ControllerStream, NoiseOnTheSocketIsHarmless) {
  const auto server = StartServer({.listen = {"127.0.0.1:0"}});
  Random random(3);
  for (int i = 0; i < 20; ++i) {
    const Descriptor connection = ConnectStranger(*server);
    std::string noise = i % 2 == 0 ? "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" : "";
    while (noise.size() < 2000) noise.push_back(static_cast<char>(random()));
    [[maybe_unused]] const ssize_t sent = send(connection.get(), noise.data(), noise.size(), MSG_NOSIGNAL);
  }
  const auto client = StartClient({.address = server->addresses()[0]});
  ClientEvents events(client.get(), server.get());
  events.NextOf<StreamOpened>();
}

// Says nothing for as long as the server is patient: 20 ms, looked at whenever the core takes inputs. On a busy machine
// a connection may not even have been made by then; its client comes again.
TEST(ControllerStream, ASilentStreamIsEnded) {
  const auto server = StartServer({.listen = {TestSocket()}, .patience = std::chrono::milliseconds(20)});
  const auto client = StartClient({.address = server->addresses()[0]});
  ClientEvents events(client.get(), server.get());
  std::string reason;
  for (int i = 0; i < 100 && server->counters().slow == 0; ++i) {
    events.NextOf<StreamOpened>();
    reason = events.NextOf<StreamClosed>().reason;
  }
  EXPECT_GE(server->counters().slow, 1u) << reason;
}

TEST(ControllerStream, ThereIsALimitOfStreams) {
  const auto server = StartServer({.listen = {TestSocket()}, .num_streams_max = 1});
  const auto first = StartClient({.address = server->addresses()[0]});
  ClientEvents first_events(first.get(), server.get());
  first_events.NextOf<StreamOpened>();
  const auto second = StartClient({.address = server->addresses()[0]});
  ClientEvents second_events(second.get(), server.get());
  EXPECT_NE(second_events.NextOf<StreamClosed>().reason.find("no room for another stream"), std::string::npos);
}

TEST(ControllerStream, AnAddressInUseIsReported) {
  const auto server = StartServer({.listen = {TestSocket(), "127.0.0.1:0"}});
  for (const std::string& address : server->addresses()) {
    const auto second = ControllerServer::Start({.listen = {address}});
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_NE(second.status().message().find(address), std::string::npos) << second.status().message();
    EXPECT_NE(second.status().message().find("another program"), std::string::npos) << second.status().message();
  }
}

TEST(ControllerStream, PlaintextStaysOnThisMachine) {
  EXPECT_EQ(ControllerServer::Start({.listen = {"0.0.0.0:0"}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(ControllerServer::Start({.listen = {"0.0.0.0:0"}, .is_insecure_allowed = true}).ok());
  EXPECT_EQ(ControllerClient::Start({.address = "10.0.0.1:1"}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ControllerServer::Start({}).status().code(), StatusCode::kInvalidArgument);
}

TEST(ControllerStream, OnlyTheOwnerMayOpenTheSocket) {
  const auto server = StartServer({.listen = {TestSocket()}});
  struct stat about = {};
  ASSERT_EQ(stat(ParseEndpoint(server->addresses()[0])->path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777u, 0600u);
}

// One that floods waits for its share; another one is heard at once, and little is kept of what waits.
TEST(ControllerStream, AnAgentThatFloodsWaitsAndOthersDoNot) {
  const auto server =
      StartServer({.listen = {TestSocket()}, .reading = {.messages_per_s = 200, .bytes_per_s = 1e9, .burst_s = 0.5}});
  const auto hostile = StartClient({.address = server->addresses()[0]});
  const auto honest = StartClient({.address = server->addresses()[0]});
  ClientEvents hostile_events(hostile.get(), server.get());
  ClientEvents honest_events(honest.get(), server.get());
  hostile_events.NextOf<StreamOpened>();
  honest_events.NextOf<StreamOpened>();
  for (int i = 0; i < 2000; ++i) hostile->Send(controller::Heartbeat{.num_leases = 7});
  size_t num_hostile = 0;
  bool is_honest_heard = false;
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::steady_clock::now() - begin; };
  // Longer than 1.5 s only where the machine is too busy to hear anybody.
  const auto is_done = [&] {
    return is_honest_heard && num_hostile >= 100 && passed() >= std::chrono::milliseconds(1500);
  };
  while (!is_done() && passed() < std::chrono::minutes(1)) {
    if (!is_honest_heard) honest->Send(controller::Heartbeat{.num_leases = 1});
    for (const controller::TrafficInput& input : server->TakeInputs(std::chrono::milliseconds(10))) {
      const auto* sent = std::get_if<StreamMessage>(&input);
      const auto* beat = sent == nullptr ? nullptr : std::get_if<controller::Heartbeat>(&sent->message);
      if (beat == nullptr) continue;
      num_hostile += beat->num_leases == 7 ? 1 : 0;
      if (beat->num_leases == 1 && !std::exchange(is_honest_heard, true)) {
        EXPECT_LT(num_hostile, 2000u) << "not only when the flood is over";
      }
    }
  }
  const double seconds = std::chrono::duration<double>(passed()).count();
  EXPECT_TRUE(is_honest_heard);
  EXPECT_GE(num_hostile, 100u) << "its burst";
  // Its burst, its rate, and the batch that went beyond.
  EXPECT_LE(static_cast<double>(num_hostile), 100 + 200 * seconds + 64);
  EXPECT_GE(server->counters().throttled, 1u);
}

}  // namespace
}  // namespace fairlead::service

// The sender with a gRPC server in this process, and the bytes that it sends.
#include "service/controller/health_event_sender.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/random.h"
#include "base/temporary_folder.h"
#include "service/streams/stream_bytes.h"

namespace fairlead::service {
namespace {

using wire::HealthEvent;

constexpr std::chrono::seconds kPatience{60};

HealthEvent EventOf(const std::string& node, bool is_healthy, const std::string& message = "") {
  HealthEvent event;
  event.node = node;
  event.check = "FairleadDead";
  event.agent = "fairlead";
  event.component_class = "Node";
  event.is_healthy = is_healthy;
  event.message = message;
  event.generated = SimTime(1'700'000'000'000'000'123);
  return event;
}

// Imitates the platform connector: refuses the first `num_refused` messages, and keeps the events of the others.
class FakeReceiver final : public grpc::CallbackGenericService {
 public:
  explicit FakeReceiver(const std::string& address, int num_refused = 0) : num_refused_(num_refused) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeReceiver() override { server_->Shutdown(); }

  std::vector<HealthEvent> WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] { return events_.size() >= count; }));
    return events_;
  }
  int num_messages() const { return num_messages_; }

 private:
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    Call(FakeReceiver* receiver, std::string method) : receiver_(receiver), method_(std::move(method)) {
      StartRead(&request_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "nothing came"));
      const grpc::Status status = receiver_->Take(method_, WholeMessage(request_).bytes());
      if (!status.ok()) return Finish(status);
      answer_ = ToBuffer("");
      StartWriteAndFinish(&answer_, {}, status);
    }
    void OnDone() override { delete this; }

   private:
    FakeReceiver* receiver_;
    std::string method_;
    grpc::ByteBuffer request_;
    grpc::ByteBuffer answer_;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new Call(this, context->method());
  }

  grpc::Status Take(const std::string& method, std::string_view bytes) {
    ++num_messages_;
    if (method != wire::kHealthEventMethod) return {grpc::StatusCode::UNIMPLEMENTED, method};
    if (num_refused_-- > 0) return {grpc::StatusCode::UNAVAILABLE, "not now"};
    auto events = wire::ReadHealthEvents(bytes);
    // NVSentinel takes the node of the first event for that of all.
    for (size_t i = 1; events.ok() && i < events->size(); ++i) EXPECT_EQ((*events)[i].node, (*events)[0].node);
    if (!events.ok()) return {grpc::StatusCode::INVALID_ARGUMENT, events.status().message()};
    const std::lock_guard lock(mutex_);
    events_.insert(events_.end(), events->begin(), events->end());
    changed_.notify_all();
    return grpc::Status::OK;
  }

  std::atomic<int> num_refused_;
  std::atomic<int> num_messages_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<HealthEvent> events_;
  std::unique_ptr<grpc::Server> server_;
};

std::string TestAddress() {
  static const TemporaryFolder kFolder;
  static int number = 0;
  return "unix:" + kFolder.File(std::to_string(number++));
}

std::unique_ptr<HealthEventSender> StartSender(const std::string& address) {
  HealthEventSenderOptions options;
  options.address = address;
  options.deadline = kPatience;
  options.delay_min = std::chrono::milliseconds(1);
  options.delay_max = std::chrono::milliseconds(10);
  auto sender = HealthEventSender::Start(options);
  EXPECT_TRUE(sender.ok()) << sender.status().message();
  return std::move(sender).value();
}

void WaitForFailures(const HealthEventSender& sender, uint64_t count) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (sender.counters().failures < count && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GE(sender.counters().failures, count);
}

TEST(HealthEventSenderTest, EventsArriveAsTheyWereSent) {
  const std::string address = TestAddress();
  FakeReceiver receiver(address);
  const auto sender = StartSender(address);
  HealthEvent event = EventOf("h1", false, "it hangs");
  event.is_fatal = event.may_be_acted_upon = true;
  event.action = HealthEvent::Action::kRestartBareMetal;
  event.error_codes = {"dead"};
  event.entities = {{"JOB", "gpt"}, {"RANK", "3"}};
  sender->Put({&event, 1});
  EXPECT_EQ(receiver.WaitFor(1), std::vector<HealthEvent>{event});
}

TEST(HealthEventSenderTest, WhatIsRefusedIsSentAgain) {
  const std::string address = TestAddress();
  FakeReceiver receiver(address, 3);
  const auto sender = StartSender(address);
  const HealthEvent event = EventOf("h1", false);
  sender->Put({&event, 1});
  EXPECT_EQ(receiver.WaitFor(1).size(), 1u);
  EXPECT_EQ(receiver.num_messages(), 4);
  EXPECT_EQ(sender->counters().failures, 3u);
}

// A receiver that comes late gets the present state: one event of each node, the latest.
TEST(HealthEventSenderTest, OnlyTheLatestWaits) {
  const std::string address = TestAddress();
  const auto sender = StartSender(address);
  for (int i = 0; i < 1000; ++i) {
    const HealthEvent events[] = {EventOf("h1", i % 2 == 0, std::to_string(i)), EventOf("h2", false)};
    sender->Put(events);
  }
  EXPECT_EQ(sender->counters().waiting, 2u);
  EXPECT_EQ(sender->counters().events_sent, 0u);
  // An attempt that was under way may still carry an older event: after two failures none is.
  WaitForFailures(*sender, sender->counters().failures + 2);
  FakeReceiver receiver(address);
  const auto events = receiver.WaitFor(2);
  EXPECT_THAT(events, testing::UnorderedElementsAre(EventOf("h1", false, "999"), EventOf("h2", false)));
}

TEST(HealthEventSenderTest, OptionsSayWhatIsWrong) {
  EXPECT_THAT(HealthEventSender::Start({.address = "10.0.0.1:99"}).status().message(),
              testing::HasSubstr("--insecure"));
  EXPECT_EQ(HealthEventSender::Start({.address = "nonsense"}).status().code(), StatusCode::kInvalidArgument);
}

// The bytes by hand, from the field numbers of the public schema: tag = number * 8 + wire type (0 number, 2 bytes).
TEST(HealthEventCodecTest, BytesAreThoseOfTheSchema) {
  HealthEvent event = EventOf("h1", true, "m");
  event.is_fatal = true;
  event.action = HealthEvent::Action::kContactSupport;
  event.error_codes = {"e"};
  event.entities = {{"T", "v"}};
  event.generated = SimTime(2'000'000'003);
  const std::string inner = std::string("\x08\x01", 2) +  // 1 version: 1
                            "\x12\x08"
                            "fairlead"  // 2 agent
                            "\x1a\x04"
                            "Node"  // 3 componentClass
                            "\x22\x0c"
                            "FairleadDead"  // 4 checkName
                            "\x28\x01"      // 5 isFatal
                            "\x30\x01"      // 6 isHealthy
                            "\x3a\x01"
                            "m"         // 7 message
                            "\x40\x05"  // 8 recommendedAction: CONTACT_SUPPORT
                            "\x4a\x01"
                            "e"  // 9 errorCode
                            "\x52\x06"
                            "\x0a\x01T\x12\x01v"  // 10 entitiesImpacted: 1 entityType, 2 entityValue
                            "\x62\x04"
                            "\x08\x02\x10\x03"  // 12 generatedTimestamp: 1 seconds, 2 nanos
                            "\x6a\x02"
                            "h1"             // 13 nodeName
                            "\x80\x01\x02";  // 16 processingStrategy: STORE_ONLY
  const std::string expected = std::string("\x08\x01\x12", 3) + static_cast<char>(inner.size()) + inner;
  EXPECT_EQ(wire::WriteHealthEvents({&event, 1}), expected);
  const auto read = wire::ReadHealthEvents(expected);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, std::vector<HealthEvent>{event});
}

TEST(HealthEventCodecTest, AnyBytesAreReadOrRefused) {
  const HealthEvent event = EventOf("h1", false, "it hangs");
  const std::string bytes = wire::WriteHealthEvents({&event, 1});
  Random random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string changed = bytes.substr(0, random.Below(bytes.size() + 1));
    for (uint64_t c = 0; c < random.Below(4) && !changed.empty(); ++c) {
      changed[random.Below(changed.size())] = static_cast<char>(random.Below(256));
    }
    const auto read = wire::ReadHealthEvents(changed);
    if (!read.ok()) continue;
    for (const HealthEvent& one : *read) EXPECT_LE(one.node.size(), changed.size());
  }
}

}  // namespace
}  // namespace fairlead::service

#include "service/streams/controller_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "service/streams/stream_example.h"
#include "store/memory_store.h"

namespace fairlead::service {
namespace {

using controller::StreamMessage;
using controller::TrafficInput;
using controller::TrafficOutput;

// A store with a disk that is full as long as the test likes.
class FullStore : public store::Store {
 public:
  Status Apply(std::span<const store::Change> changes) override {
    ++num_tries;
    if (is_full) return {StatusCode::kResourceExhausted, "the disk is full"};
    return inner.Apply(changes);
  }
  Result<std::vector<store::Record>> List(std::string_view prefix) const override { return inner.List(prefix); }

  std::atomic<bool> is_full = false;
  std::atomic<int> num_tries = 0;
  store::MemoryStore inner;
};

// Keeps the number of each heartbeat and then says it back, with a note.
std::vector<TrafficOutput> Echo(SimTime /*clock*/, std::span<const TrafficInput> inputs) {
  std::vector<TrafficOutput> outputs;
  for (const TrafficInput& input : inputs) {
    const auto* sent = std::get_if<StreamMessage>(&input);
    if (sent == nullptr) continue;
    const uint32_t number = std::get<controller::Heartbeat>(sent->message).num_leases;
    outputs.emplace_back(controller::RecordChanged{"heartbeat", std::to_string(number)});
    outputs.emplace_back(controller::SendToStream{sent->stream, controller::ForgetArrival{number}});
    outputs.emplace_back(controller::Noted{.subject = "host h0", .text = std::to_string(number)});
  }
  return outputs;
}

class ControllerLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = ControllerServer::Start({.listen = {TestSocket()}});
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(server).value();
    auto client = ControllerClient::Start({.address = server_->addresses()[0]});
    ASSERT_TRUE(client.ok()) << client.status().message();
    client_ = std::move(client).value();
    events_.emplace(client_.get(), server_.get());
    events_->NextOf<StreamOpened>();
    events_->SetServer(nullptr);  // from here on it is the loop's
  }
  std::string Kept() const {
    const auto records = store_.List("heartbeat");
    return records.ok() && !records->empty() ? records->front().value : "";
  }
  uint64_t NextEcho() { return std::get<controller::ForgetArrival>(events_->NextOf<controller::ToAgent>()).alias; }

  FullStore store_;
  std::unique_ptr<ControllerServer> server_;
  std::unique_ptr<ControllerClient> client_;
  std::optional<ClientEvents> events_;
  std::vector<std::string> notes_;
  const ControllerLoop::Listener listener_ = [this](SimTime, const controller::Noted& note) {
    notes_.push_back(note.text);
  };
};

// Whatever an agent receives has been saved before: the record is at least as new as the message.
TEST_F(ControllerLoopTest, RecordsAreKeptBeforeMessagesAreSent) {
  ControllerLoop loop({}, Echo, listener_, store_, *server_);
  for (uint32_t i = 1; i <= 200; ++i) ASSERT_TRUE(client_->Send(controller::Heartbeat{i}));
  for (uint32_t i = 1; i <= 200; ++i) {
    ASSERT_EQ(NextEcho(), i);
    std::string kept;
    loop.Ask([&] { kept = Kept(); });
    ASSERT_GE(std::stoul(kept), i);
  }
  EXPECT_EQ(loop.counters().inputs, 200u);
  EXPECT_EQ(loop.counters().records_changed, 200u);
  loop.Ask([&] { EXPECT_EQ(notes_.size(), 200u); });
}

TEST_F(ControllerLoopTest, AFullDiskDelaysMessagesAndLosesNone) {
  ControllerLoop loop({.tick = std::chrono::milliseconds(1)}, Echo, listener_, store_, *server_);
  store_.is_full = true;
  ASSERT_TRUE(client_->Send(controller::Heartbeat{1}));
  while (store_.num_tries < 3) std::this_thread::yield();
  // It was tried more than once, so the batch was not mistaken for done.
  EXPECT_EQ(loop.store_status().code(), StatusCode::kResourceExhausted);
  ASSERT_TRUE(client_->Send(controller::Heartbeat{2}));
  loop.Ask([&] { EXPECT_EQ(Kept(), ""); });
  store_.is_full = false;
  EXPECT_EQ(NextEcho(), 1u);
  EXPECT_EQ(NextEcho(), 2u);
  EXPECT_TRUE(loop.store_status().ok());
  EXPECT_GE(loop.counters().store_failures, 2u);
}

// Agents that come, and those that ask whether the controller is there, are still answered.
TEST_F(ControllerLoopTest, StreamsGetOnWhileTheDiskIsFull) {
  ControllerLoop loop({}, Echo, listener_, store_, *server_);
  store_.is_full = true;
  ASSERT_TRUE(client_->Send(controller::Heartbeat{1}));
  while (store_.num_tries < 1) std::this_thread::yield();
  const auto other = ControllerClient::Start({.address = server_->addresses()[0]});
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(std::holds_alternative<StreamOpened>(ClientEvents(other->get()).Next()));
  EXPECT_FALSE(loop.store_status().ok());
}

TEST_F(ControllerLoopTest, TicksComeWithoutInputs) {
  std::atomic<int> num_ticks = 0;
  ControllerLoop loop(
      {.tick = std::chrono::milliseconds(1)},
      [&](SimTime, std::span<const TrafficInput> inputs) {
        if (inputs.empty()) ++num_ticks;
        return std::vector<TrafficOutput>();
      },
      listener_, store_, *server_);
  while (num_ticks < 3) std::this_thread::yield();
}

TEST_F(ControllerLoopTest, OthersCanPutInputs) {
  std::atomic<double> health = 1;
  ControllerLoop loop(
      {},
      [&](SimTime, std::span<const TrafficInput> inputs) {
        for (const TrafficInput& input : inputs) {
          health = std::get<controller::LinkHealthReported>(input).health;
        }
        return std::vector<TrafficOutput>();
      },
      listener_, store_, *server_);
  loop.Put(controller::LinkHealthReported{.link = LinkId(0u), .health = 0.5, .source = "test"});
  while (health != 0.5) std::this_thread::yield();
}

}  // namespace
}  // namespace fairlead::service

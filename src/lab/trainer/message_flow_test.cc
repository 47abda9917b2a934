#include "lab/trainer/message_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"

namespace fairlead::lab {
namespace {

using UseKey = std::tuple<uint64_t, size_t, size_t, size_t>;

// Checks the laws of the reports of one worker, as they arrive.
class LawObserver : public CollectiveObserver {
 public:
  explicit LawObserver(const TrainerPlan& plan) : plan_(plan) {}

  void OnCalled(uint64_t, size_t) override {}
  void OnBegan(uint64_t, size_t) override {}
  void OnEnded(uint64_t iteration, size_t phase, size_t operation) override {
    EXPECT_TRUE(ended_.emplace(iteration, phase, operation, 0).second) << "ends once";
  }
  void OnChannelBegan(const ChannelUse& use, uint32_t num_messages) override {
    const ChannelPlan& channel = PlanOf(use);
    EXPECT_TRUE(live_.emplace(KeyOf(use), Live{.states = std::vector<int>(num_messages, -1)}).second);
    for (const uint32_t c : channel.connections) EXPECT_EQ(users_[c]++, 0) << "one at a time on a connection";
  }
  void OnChannelEnded(const ChannelUse& use) override {
    const Live& live = live_.at(KeyOf(use));
    EXPECT_EQ(live.num_done, live.states.size());
    uint64_t expected = 0;
    for (const StreamPlan& stream : plan_.phases[use.phase].streams) {
      for (const TransferPlan& transfer : use.is_send ? stream.sends : stream.receives) {
        const auto& own = PlanOf(use).connections;
        if (std::ranges::find(own, transfer.connection) != own.end()) expected += transfer.bytes;
      }
    }
    EXPECT_EQ(live.bytes, expected);
    for (const uint32_t c : PlanOf(use).connections) --users_[c];
    num_ended_ += 1;
    live_.erase(KeyOf(use));
  }
  void OnMessage(const ChannelUse& use, uint32_t message, MessageState state, uint64_t bytes) override {
    Live& live = live_.at(KeyOf(use));
    int& before = live.states.at(message);
    const int now = static_cast<int>(state);
    const bool repeats =
        now == before && (state == MessageState::kSendWaitsForPeer || state == MessageState::kReceiveBegan);
    const int first = static_cast<int>(use.is_send ? MessageState::kSendWaitsForGpu : MessageState::kReceiveBegan);
    if (before == -1) {
      EXPECT_EQ(now, first);
    } else if (!repeats) {
      EXPECT_EQ(now, before + 1) << "states in order, none left out";
    }
    if (before == -1) {
      EXPECT_LE(++live.num_live, kMessageSlots);
    }
    if (state == MessageState::kSendDone || state == MessageState::kReceiveTaken) {
      --live.num_live;
      EXPECT_EQ(live.num_done++, message) << "messages of a channel end in order";
      live.bytes += bytes;
    }
    before = now;
  }

  size_t num_live() const { return live_.size(); }
  size_t num_ended() const { return num_ended_; }
  size_t num_operations() const { return ended_.size(); }
  // Of the only channel in that direction.
  MessageState StateOf(bool is_send, uint32_t message) const {
    for (const auto& [key, live] : live_) {
      const ChannelPlan& channel =
          plan_.phases[std::get<1>(key)].operations[std::get<2>(key)].channels[std::get<3>(key)];
      if (channel.is_send == is_send) return static_cast<MessageState>(live.states.at(message));
    }
    return MessageState::kSendDone;
  }

 private:
  struct Live {
    std::vector<int> states;
    uint32_t num_live = 0;
    uint32_t num_done = 0;
    uint64_t bytes = 0;
  };
  static UseKey KeyOf(const ChannelUse& use) { return {use.iteration, use.phase, use.operation, use.channel}; }
  const ChannelPlan& PlanOf(const ChannelUse& use) const {
    return plan_.phases[use.phase].operations[use.operation].channels[use.channel];
  }

  const TrainerPlan& plan_;
  std::map<UseKey, Live> live_;
  std::set<UseKey> ended_;
  std::map<uint32_t, int> users_;
  size_t num_ended_ = 0;
};

// A worker with only itself or another one as peer: bytes travel through a pipe that the test moves.
struct Pipe {
  std::vector<uint64_t> sent;          // [connection id] by the sender's socket
  std::vector<uint64_t> received;      // by the receiver
  std::vector<uint64_t> acknowledged;  // >= received
  std::vector<uint64_t> cleared;       // latest message of the receiver
};

class SimulatedWorker {
 public:
  SimulatedWorker(const TrainerPlan& plan, Pipe* pipe, Random* random)
      : plan_(plan),
        pipe_(pipe),
        random_(random),
        observer_(plan),
        flow_(plan, &observer_, [this](uint32_t c, uint64_t messages) { return Clear(c, messages); }),
        state_(plan, 0) {}

  const LawObserver& observer() const { return observer_; }
  uint64_t num_iterations() const { return iteration_; }
  bool is_idle() const { return flow_.is_idle(); }

  // One look of the worker; then some bytes move.
  void Step(double now_s) {
    state_.Advance(now_s);
    Follow();
    if (state_.is_over()) {
      ++iteration_;
      state_ = IterationState(plan_, now_s);
      begun_ = ended_ = 0;
      Follow();
    }
    Poll();
    for (uint32_t c = 0; c < plan_.connections.size(); ++c) Move(c);
    Poll();
  }

 private:
  bool Clear(uint32_t connection, uint64_t messages) {
    if (random_->Below(4) == 0) return false;  // no room now
    pipe_->cleared[plan_.connections[connection].id] = messages;
    return true;
  }
  void Follow() {
    if (ended_ < begun_ && begun_ <= state_.phase()) {
      flow_.EndPhase();
      ended_ = begun_;
    }
    if (state_.phase_runs() && begun_ <= state_.phase()) {
      begun_ = state_.phase() + 1;
      flow_.BeginPhase(iteration_, state_.phase(), &state_);
    }
  }
  void Poll() {
    std::vector<uint64_t> acknowledged(plan_.connections.size(), 0);
    for (uint32_t c = 0; c < plan_.connections.size(); ++c) {
      const ConnectionPlan& connection = plan_.connections[c];
      if (!connection.is_outgoing) continue;
      acknowledged[c] = pipe_->acknowledged[connection.id];
      flow_.OnClearToSend(c, pipe_->cleared[connection.id]);
    }
    while (flow_.Poll(acknowledged, &state_)) continue;
  }
  void Move(uint32_t c) {
    const ConnectionPlan& connection = plan_.connections[c];
    const uint64_t room = state_.sendable(c);
    if (room == 0) return;
    if (connection.is_outgoing) {
      const uint64_t bytes = random_->Below(room + 1);
      state_.Take(c, bytes);
      state_.OnSent(c, bytes);
      pipe_->sent[connection.id] += bytes;
      return;
    }
    const uint64_t there = pipe_->sent[connection.id] - pipe_->received[connection.id];
    const uint64_t bytes = random_->Below(std::min(there, room) + 1);
    state_.OnReceived(c, bytes);
    pipe_->received[connection.id] += bytes;
  }

  const TrainerPlan& plan_;
  Pipe* pipe_;
  Random* random_;
  LawObserver observer_;
  MessageFlow flow_;
  IterationState state_;
  uint64_t iteration_ = 0;
  size_t begun_ = 0;
  size_t ended_ = 0;
};

// Two workers: `queue_pairs` connections each way, a ring all-reduce and then an exchange over some of them.
std::vector<TrainerPlan> TwoWorkers(uint32_t queue_pairs, bool pools, uint64_t bytes) {
  std::vector<TrainerPlan> plans(2);
  for (uint32_t w = 0; w < 2; ++w) {
    TrainerPlan& plan = plans[w];
    plan.worker = w;
    plan.num_workers = 2;
    plan.compute_s = 0.5;
    plan.communicators = {{.id = 7, .name = "both", .workers = {0, 1}}};
    const std::string nic[2] = {"a", "b"};
    StreamPlan ring{.parts = 16, .lead = 8, .pools = pools, .sends = {}, .receives = {}};
    StreamPlan exchange{.pools = pools, .sends = {}, .receives = {}};
    ChannelPlan out{.peer = 1 - w, .is_send = true, .connections = {}};
    ChannelPlan in{.peer = 1 - w, .is_send = false, .connections = {}};
    for (uint32_t q = 0; q < 2 * queue_pairs; ++q) {
      const uint32_t sender = q / queue_pairs;
      plan.connections.push_back(
          {.id = q, .peer = 1 - w, .is_outgoing = sender == w, .from = nic[sender], .to = nic[1 - sender]});
      (sender == w ? ring.sends : ring.receives).push_back({q, bytes + q});
      (sender == w ? exchange.sends : exchange.receives).push_back({q, 1 + bytes / 3});
      (sender == w ? out : in).connections.push_back(q);
    }
    plan.phases.resize(2);
    plan.phases[0].streams = {ring};
    plan.phases[0].operations = {{.function = "AllReduce", .bytes = bytes, .channels = {out, in}}};
    plan.phases[1].streams = {exchange};
    const auto peer = static_cast<int32_t>(1 - w);
    plan.phases[1].operations = {{.function = "Send", .bytes = bytes, .peer = peer, .channels = {out}},
                                 {.function = "Recv", .bytes = bytes, .peer = peer, .channels = {in}}};
  }
  return plans;
}

TEST(MessageFlowTest, EveryMessageOfEveryChannelPassesItsStatesInOrder) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto queue_pairs = static_cast<uint32_t>(1 + random.Below(3));
    const auto plans = TwoWorkers(queue_pairs, random.Below(2) == 0, 1 + random.Below(600'000));
    Pipe pipe;
    for (auto* counts : {&pipe.sent, &pipe.received, &pipe.acknowledged, &pipe.cleared}) {
      counts->assign(2 * size_t{queue_pairs}, 0);
    }
    SimulatedWorker workers[2] = {{plans[0], &pipe, &random}, {plans[1], &pipe, &random}};
    constexpr uint64_t kIterations = 4;
    double now_s = 0;
    const auto are_done = [&] {
      return std::ranges::all_of(workers, [](const SimulatedWorker& w) { return w.num_iterations() >= kIterations; });
    };
    for (int step = 0; step < 200'000 && !are_done(); ++step) {
      now_s += 0.01;
      workers[random.Below(2)].Step(now_s);
      for (size_t c = 0; c < pipe.sent.size(); ++c) {
        // What was received has been acknowledged, and perhaps some of what is in the receiver's buffer.
        const uint64_t low = std::max(pipe.acknowledged[c], pipe.received[c]);
        pipe.acknowledged[c] = low + random.Below(pipe.sent[c] - low + 1);
      }
    }
    ASSERT_TRUE(are_done());
    for (const SimulatedWorker& worker : workers) {
      // Two channels in each of two phases; the last ones may still be under way.
      EXPECT_GE(worker.observer().num_ended() + worker.observer().num_live(), 4 * kIterations);
      EXPECT_GE(worker.observer().num_ended(), 4 * kIterations - 2);
      EXPECT_GE(worker.observer().num_operations(), 3 * kIterations);
    }
  }
}

// One worker with one message each way, or as many as `bytes` make; moved by hand.
class OneEnd : public testing::Test {
 protected:
  void Begin(uint64_t bytes) {
    plan_ = TwoWorkers(1, false, bytes)[0];
    plan_.compute_s = 0;
    plan_.phases.resize(1);
    plan_.phases[0].streams[0].lead = plan_.phases[0].streams[0].parts;
    flow_.emplace(plan_, &observer_, [this](uint32_t c, uint64_t messages) {
      EXPECT_EQ(c, 1u);
      reported_ = messages;
      return true;
    });
    state_.emplace(plan_, 0);
    flow_->BeginPhase(0, 0, &*state_);
    Poll();
  }
  void Poll() {
    while (flow_->Poll(acknowledged_, &*state_)) continue;
  }
  void Send() {
    const uint64_t bytes = state_->sendable(0);
    state_->Take(0, bytes);
    state_->OnSent(0, bytes);
    Poll();
  }

  TrainerPlan plan_;
  LawObserver observer_{plan_};
  std::vector<uint64_t> acknowledged_ = {0, 0};
  uint64_t reported_ = 0;
  std::optional<MessageFlow> flow_;
  std::optional<IterationState> state_;
};

TEST_F(OneEnd, WhatTheReceiverHasNoRoomForIsNotSent) {
  Begin(20 * kMessageBytes);
  EXPECT_EQ(state_->sendable(0), 0u);
  EXPECT_EQ(observer_.StateOf(true, 0), MessageState::kSendWaitsForPeer) << "it is the receiver that is late";
  EXPECT_TRUE(flow_->AwaitsClearToSend(0));
  EXPECT_FALSE(flow_->AwaitsAcknowledgement());
  flow_->OnClearToSend(0, 3);
  Poll();
  EXPECT_EQ(state_->sendable(0), 3 * kMessageBytes);
  EXPECT_EQ(observer_.StateOf(true, 2), MessageState::kSendOnWire);
  EXPECT_EQ(observer_.StateOf(true, 3), MessageState::kSendWaitsForPeer);
}

TEST_F(OneEnd, WhatTheSocketHasTakenIsOnTheWireUntilItIsAcknowledged) {
  Begin(20 * kMessageBytes);
  flow_->OnClearToSend(0, 20);
  Poll();
  EXPECT_EQ(state_->sendable(0), kMessageSlots * kMessageBytes) << "as many buffers as there are";
  Send();
  EXPECT_EQ(observer_.StateOf(true, 0), MessageState::kSendOnWire);
  EXPECT_TRUE(flow_->AwaitsAcknowledgement());
  acknowledged_[0] = kMessageBytes - 1;
  Poll();
  EXPECT_EQ(observer_.StateOf(true, 0), MessageState::kSendOnWire);
  acknowledged_[0] = kMessageBytes;
  Poll();
  EXPECT_EQ(observer_.StateOf(true, 0), MessageState::kSendDone);
  EXPECT_EQ(state_->sendable(0), kMessageBytes) << "its buffer is free";
}

TEST_F(OneEnd, TheReceiverHasRoomForSoManyBeyondWhatHasCome) {
  Begin(20 * kMessageBytes);
  EXPECT_EQ(reported_, kMessageSlots);
  EXPECT_EQ(observer_.StateOf(false, kMessageSlots - 1), MessageState::kReceivePosted);
  state_->OnReceived(1, 2 * kMessageBytes + 5);
  Poll();
  EXPECT_EQ(reported_, kMessageSlots + 2);
  EXPECT_EQ(observer_.StateOf(false, 1), MessageState::kReceiveTaken);
  EXPECT_EQ(observer_.StateOf(false, 2), MessageState::kReceivePosted);
}

TEST_F(OneEnd, WhatComesNextOverAConnectionWaitsForTheLastAcknowledgement) {
  Begin(kMessageBytes / 2);
  flow_->OnClearToSend(0, 1);
  Poll();
  Send();
  state_->OnReceived(1, state_->expected(1));
  Poll();
  state_->Advance(1);
  ASSERT_TRUE(state_->is_over());
  flow_->EndPhase();
  EXPECT_EQ(observer_.num_operations(), 1u);
  state_.emplace(plan_, 2);
  flow_->BeginPhase(1, 0, &*state_);
  flow_->OnClearToSend(0, 2);
  Poll();
  EXPECT_TRUE(flow_->HasQueue());
  EXPECT_EQ(state_->sendable(0), 0u);
  acknowledged_[0] = kMessageBytes / 2;
  Poll();
  EXPECT_FALSE(flow_->HasQueue());
  EXPECT_EQ(state_->sendable(0), kMessageBytes / 2);
}

}  // namespace
}  // namespace fairlead::lab

#include "ccl/profiler/nccl_stand_in.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/temporary_folder.h"
#include "ccl/profiler/mock_nccl_example.h"
#include "ccl/profiler/nccl_profiler_abi.h"
#include "ccl/profiler/simulated_job_example.h"
#include "service/agent/segment_folder.h"
#include "telemetry/segment_example.h"

namespace fairlead::ccl {
namespace {

using lab::ChannelUse;
using lab::MessageState;
using model::Direction;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- Calls: their order and threads ----

std::string NameOf(uint64_t type) {
  static const std::map<uint64_t, std::string> kNames = {{nccl::kGroup, "Group"},
                                                         {nccl::kCollective, "Coll"},
                                                         {nccl::kPointToPoint, "P2p"},
                                                         {nccl::kProxyOperation, "ProxyOp"},
                                                         {nccl::kProxyStep, "ProxyStep"},
                                                         {nccl::kKernelChannel, "KernelCh"},
                                                         {nccl::kGroupApi, "GroupApi"},
                                                         {nccl::kCollectiveApi, "CollApi"},
                                                         {nccl::kPointToPointApi, "P2pApi"},
                                                         {nccl::kKernelLaunch, "KernelLaunch"}};
  return kNames.at(type);
}

// Records what is reported to it, with the numbers of handles: "a" for the thread that made it, "b" for another one.
class Tape : public PluginCalls {
 public:
  void* own_context() { return this; }

  Tape(int version, int mask) : version_(version), wanted_(mask) {}

  int version() const override { return version_; }
  Result<void*> Begin(const PluginCommunicator& c, int* mask) override {
    *mask = wanted_;
    Write(fmt::format("init {} {}/{}", c.id, c.rank, c.num_ranks));
    return own_context();
  }
  void* Start(void* context, const PluginEvent& event) override {
    EXPECT_EQ(context, own_context());
    std::string detail;
    if (event.function != nullptr) detail = fmt::format(" {} {}", event.function, event.count);
    if (event.type == nccl::kCollective) detail += fmt::format(" #{}", event.sequence);
    if (event.type == nccl::kProxyOperation) {
      detail = fmt::format(" {} peer {} steps {}", event.is_send ? "send" : "receive", event.peer, event.num_steps);
    }
    if (event.type == nccl::kProxyStep) detail = fmt::format(" {}", event.step);
    const std::scoped_lock lock(mutex_);
    const uintptr_t handle = ++num_handles_;
    WriteLocked(fmt::format("start {} {} <- {}{}", handle, NameOf(event.type),
                            reinterpret_cast<uintptr_t>(event.parent), detail));
    return reinterpret_cast<void*>(handle);  // NOLINT(performance-no-int-to-ptr)
  }
  void Stop(void* handle) override { Write(fmt::format("stop {}", reinterpret_cast<uintptr_t>(handle))); }
  void Record(void* handle, int state, uint64_t value) override {
    const bool is_clock = state == nccl::kKernelChannelStop;
    Write(fmt::format("state {} {} {}", reinterpret_cast<uintptr_t>(handle), state, is_clock ? 0 : value));
  }
  void End(void*) override { Write("finalize"); }

  // What was written since the last call.
  std::vector<std::string> Take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  void Write(const std::string& line) {
    const std::scoped_lock lock(mutex_);
    WriteLocked(line);
  }
  void WriteLocked(const std::string& line) {
    lines_.push_back((std::this_thread::get_id() == owner_ ? "a: " : "b: ") + line);
  }

  const int version_;
  const int wanted_;
  const std::thread::id owner_ = std::this_thread::get_id();
  std::mutex mutex_;
  uintptr_t num_handles_ = 0;
  std::vector<std::string> lines_;
};

// The simulation of worker 0 of two, and its two threads: this one is the program's.
class StandInCalls {
 public:
  StandInCalls(int version, int mask) : plan_(RingPlans({.num_workers = 2, .bytes = 50'000})[0]) {
    auto tape = std::make_unique<Tape>(version, mask);
    tape_ = tape.get();
    stand_in_ = std::make_unique<NcclStandIn>(plan_, std::move(tape));
    EXPECT_TRUE(stand_in_->Begin().ok());
  }

  // Simulates to the end on a thread that moves bytes.
  template <typename Run>
  std::vector<std::string> OnProgressThread(const Run& run) {
    std::thread progress([&] {
      run(stand_in_.get());
      stand_in_->Close();
    });
    stand_in_->Serve();
    progress.join();
    return tape_->Take();
  }
  Tape& tape() { return *tape_; }
  NcclStandIn& stand_in() { return *stand_in_; }

 private:
  lab::TrainerPlan plan_;
  Tape* tape_;
  std::unique_ptr<NcclStandIn> stand_in_;
};

constexpr ChannelUse kSend{.channel = 0, .is_send = true};
constexpr ChannelUse kReceive{.channel = 1, .is_send = false};

void CallOneOperation(NcclStandIn* stand_in) {
  stand_in->OnCalled(0, 0);
  stand_in->OnBegan(0, 0);
  stand_in->OnChannelBegan(kSend, 1);
  stand_in->OnMessage(kSend, 0, MessageState::kSendWaitsForGpu, 500);
  stand_in->OnMessage(kSend, 0, MessageState::kSendWaitsForPeer, 500);
  stand_in->OnMessage(kSend, 0, MessageState::kSendWaitsForPeer, 500);
  stand_in->OnMessage(kSend, 0, MessageState::kSendOnWire, 500);
  stand_in->OnEnded(0, 0, 0);
  stand_in->OnMessage(kSend, 0, MessageState::kSendDone, 500);
  stand_in->OnChannelEnded(kSend);
}

// The order in which NCCL 2.28 and later call: the program's call is the parent of the operation, whose end of being
// enqueued comes before anything begins; the message ends after the kernel.
TEST(NcclStandInTest, CallsOfVersion5ComeInNcclsOrderFromItsThreads) {
  StandInCalls calls(5, nccl::kCollective | nccl::kProxyStep | nccl::kKernelChannel | nccl::kKernelLaunch);
  EXPECT_THAT(calls.tape().Take(), ElementsAre("a: init 77 0/2"));
  EXPECT_THAT(calls.OnProgressThread(CallOneOperation),
              ElementsAre("a: start 1 GroupApi <- 0", "a: state 1 23 0", "a: start 2 CollApi <- 1 AllReduce 50000",
                          "a: stop 2", "a: state 1 24 0", "a: start 3 KernelLaunch <- 1", "a: stop 3",
                          "a: start 4 Coll <- 2 AllReduce 50000 #0", "a: stop 4", "a: stop 1",
                          "b: start 5 KernelCh <- 4", "b: start 6 ProxyOp <- 4 send peer 1 steps 1", "b: state 6 19 0",
                          "b: start 7 ProxyStep <- 6 0", "b: state 7 8 0", "b: state 7 20 0", "b: state 7 20 0",
                          "b: state 7 9 500", "b: state 5 22 0", "b: stop 5", "b: stop 7", "b: stop 6"));
  calls.stand_in().End();
  EXPECT_THAT(calls.tape().Take(), ElementsAre("a: finalize"));
}

// Before version 5 there are no events of calls, and a group is the parent.
TEST(NcclStandInTest, CallsOfVersion4HaveAGroup) {
  StandInCalls calls(4, nccl::kProxyOperation);
  calls.tape().Take();
  EXPECT_THAT(calls.OnProgressThread(CallOneOperation),
              ElementsAre("a: start 1 Group <- 0", "a: start 2 Coll <- 1 AllReduce 50000 #0", "a: stop 2", "a: stop 1",
                          "b: start 3 ProxyOp <- 2 send peer 1 steps 1", "b: state 3 19 0", "b: stop 3"))
      << "no steps, and no kernels: the mask does not want them";
}

TEST(NcclStandInTest, AReceiveBeginsAgainUntilItIsPosted) {
  StandInCalls calls(6, nccl::kProxyStep);
  calls.tape().Take();
  const auto lines = calls.OnProgressThread([](NcclStandIn* stand_in) {
    stand_in->OnCalled(0, 0);
    stand_in->OnBegan(0, 0);
    stand_in->OnChannelBegan(kReceive, 1);
    stand_in->OnMessage(kReceive, 0, MessageState::kReceiveBegan, 500);
    stand_in->OnMessage(kReceive, 0, MessageState::kReceiveBegan, 500);
    stand_in->OnMessage(kReceive, 0, MessageState::kReceivePosted, 500);
    stand_in->OnMessage(kReceive, 0, MessageState::kReceiveArrived, 500);
    stand_in->OnMessage(kReceive, 0, MessageState::kReceiveTaken, 500);
    stand_in->OnChannelEnded(kReceive);
  });
  ASSERT_GE(lines.size(), 9u);
  const std::vector<std::string> messages(lines.end() - 9, lines.end());
  EXPECT_THAT(messages, ElementsAre("b: start 4 ProxyOp <- 3 receive peer 1 steps 1", "b: state 4 19 0",
                                    "b: start 5 ProxyStep <- 4 0", "b: start 6 ProxyStep <- 4 0", "b: state 6 10 0",
                                    "b: state 6 11 500", "b: state 6 12 500", "b: stop 6", "b: stop 4"));
}

TEST(NcclStandInTest, UnwantedEventsAreNotReported) {
  StandInCalls calls(6, 0);
  calls.tape().Take();
  EXPECT_THAT(calls.OnProgressThread(CallOneOperation), IsEmpty());
}

TEST(NcclStandInTest, PluginsAreFoundByPathOrRefusedWithAReason) {
  const auto plugin = LoadPlugin(FAIRLEAD_PROFILER_LIBRARY);
  ASSERT_TRUE(plugin.ok()) << plugin.status().message();
  EXPECT_EQ((*plugin)->version(), 6) << "the newest one that it has";
  EXPECT_THAT(LoadPlugin("/nowhere/x.so").status().message(),
              testing::AllOf(HasSubstr("'/nowhere/x.so'"), HasSubstr("Set NCCL_PROFILER_PLUGIN")));
  EXPECT_THAT(LoadPlugin(nullptr).status().message(), HasSubstr("'libnccl-profiler.so'"));
  EXPECT_THAT(LoadPlugin("libm.so.6").status().message(), HasSubstr("expected one of ncclProfiler_v4 to v6"));
}

// ---- Whole jobs: real bytes, real plugin, the agent's eyes ----

// Sums over all looks at one end of a connection.
struct EndSums {
  uint64_t messages = 0;
  uint64_t bytes = 0;
  double wire_s = 0;
  double wait_for_peer_s = 0;
  double wait_for_gpu_s = 0;
};

class SimulatedJobTest : public testing::Test {
 protected:
  SimulatedJobTest() {
    folder_ = std::make_unique<service::SegmentFolder>(service::SegmentFolderOptions{.folder = segments_.path()});
    folder_->Look();  // what comes from now on is new
  }

  void LookAtAll() {
    service::FolderLook look = folder_->Look();
    // A segment that is being made is none yet.
    faults_.clear();
    for (const service::SegmentFault& fault : look.faults) faults_.push_back(fault.reason);
    for (const service::ProcessLook& process : look.processes) {
      const int32_t rank = process.report.global_rank;
      EXPECT_EQ(telemetry::FindFault(process.report), "") << rank;
      for (const model::ConnectionRecord& record : process.report.connections) {
        EndSums& sums = sums_[{rank, record.key.direction}];
        sums.messages += record.messages;
        sums.bytes += record.bytes;
        sums.wire_s += record.wire_time.seconds().value();
        sums.wait_for_peer_s += record.wait_for_peer.seconds().value();
        sums.wait_for_gpu_s += record.wait_for_gpu.seconds().value();
        phases_[{rank, record.key.direction}] = record.phase;
      }
      for (const model::OperationRecord& operation : process.report.operations) {
        EXPECT_EQ(operation.kind, model::OperationKind::kAllReduce);
        operation_bytes_ = operation.bytes;
      }
      for (const model::ProgressRecord& progress : process.report.progress) finished_[rank] = progress.finished;
    }
  }
  const EndSums& SumsOf(int32_t rank, Direction direction) { return sums_[{rank, direction}]; }
  bool HaveFinished(uint64_t iterations) const {
    return finished_.size() == 4 &&
           std::ranges::all_of(finished_, [&](const auto& f) { return f.second >= iterations; });
  }
  // Looks again and again until `is_done` or for a minute. Returns what it says.
  template <typename Condition>
  bool LookUntil(const Condition& is_done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < deadline) {
      LookAtAll();
      if (is_done()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  void Request(uint32_t worker, const std::string& text) const {
    std::ofstream(SimulatedJob::ControlOf(segments_.path(), worker)) << text;
  }

  const TemporaryFolder segments_;
  std::unique_ptr<service::SegmentFolder> folder_;
  std::map<std::pair<int32_t, Direction>, EndSums> sums_;
  // "rank 1 send 3, …": what each end of a connection does now.
  std::string DescribePhases() const {
    std::string text;
    for (const auto& [end, phase] : phases_) {
      text += fmt::format("rank {} {} {}, ", end.first, end.second == Direction::kSend ? "send" : "receive",
                          static_cast<int>(phase));
    }
    return text;
  }

  std::map<std::pair<int32_t, Direction>, model::TransferPhase> phases_;
  std::map<int32_t, uint64_t> finished_;
  std::vector<std::string> faults_;  // of the latest look
  uint64_t operation_bytes_ = 0;
};

TEST_F(SimulatedJobTest, OperationsMessagesAndBytesAreThoseOfThePlan) {
  const SimulatedRingOptions options{.iterations = 20};
  SimulatedJob job(RingPlans(options), segments_.path());
  ASSERT_TRUE(LookUntil([&] { return HaveFinished(options.iterations); }));
  EXPECT_THAT(faults_, IsEmpty());
  // All-reduce of 1 MB between four: an edge carries 2 x 3/4 MB in 2 x 3 x 8 parts of 31,250 bytes, one message each.
  const uint64_t bytes = 1'500'000;
  const uint64_t messages = 48;
  ASSERT_EQ(EdgeBytes(options), bytes);
  EXPECT_EQ(operation_bytes_, 1'000'000u);
  for (int32_t rank = 0; rank < 4; ++rank) {
    for (const Direction direction : {Direction::kSend, Direction::kReceive}) {
      const EndSums& sums = SumsOf(rank, direction);
      EXPECT_EQ(sums.messages, options.iterations * messages) << rank;
      EXPECT_EQ(sums.bytes, options.iterations * bytes) << rank;
    }
    EXPECT_EQ(finished_[rank], options.iterations);
  }
  job.LetThemLeave();
  EXPECT_TRUE(LookUntil([&] { return job.HaveEnded(); }));
}

// Worker 2 computes 0.1 s longer in each of ten iterations. Worker 1 sends to it and waits for its buffers, worker 3
// waits for its data, and no link is slow. A busy machine makes others late, too: then the simulation is repeated.
TEST_F(SimulatedJobTest, WaitsAreSeenWhereAWorkerIsLate) {
  const double late_s = 10 * 0.1;
  std::string wrong = "not played";
  for (int attempt = 0; attempt < 5 && !wrong.empty(); ++attempt) {
    LookAtAll();  // the last time at those that were killed
    sums_.clear();
    finished_.clear();
    Request(2, R"({"busy_s": 0.1})");
    SimulatedJob job(RingPlans({.iterations = 10}), segments_.path());
    ASSERT_TRUE(LookUntil([&] { return HaveFinished(10); }));
    wrong.clear();
    const double waited_s = SumsOf(1, Direction::kSend).wait_for_peer_s;
    if (waited_s <= late_s / 2) wrong += fmt::format("rank 1 waits {} s; ", waited_s);
    const double waited_for_data_s = SumsOf(3, Direction::kReceive).wait_for_peer_s;
    if (waited_for_data_s <= late_s / 2) wrong += fmt::format("rank 3 waits {} s; ", waited_for_data_s);
    for (const int32_t rank : {0, 2, 3}) {
      const double other_s = SumsOf(rank, Direction::kSend).wait_for_peer_s;
      if (other_s >= waited_s / 2) wrong += fmt::format("rank {} waits {} s for a receiver; ", rank, other_s);
    }
    // Messages of all are as long on the wire: what rank 1 may not send is not there.
    std::vector<double> wire_s;
    for (const int32_t rank : {0, 1, 2, 3}) wire_s.push_back(SumsOf(rank, Direction::kSend).wire_s);
    const auto [least, most] = std::minmax_element(wire_s.begin(), wire_s.end());
    if (*most - *least >= late_s / 2) wrong += fmt::format("rank {}'s wire is slow; ", most - wire_s.begin());
  }
  EXPECT_EQ(wrong, "");
}

// A worker that is frozen takes what it has asked for, and nothing more: then its sender waits for it, not the wire. Or
// it is frozen with a part on its way that all others wait for, and its sender has nothing to send.
TEST_F(SimulatedJobTest, AFrozenWorkerIsWaitedFor) {
  SimulatedJob job(RingPlans({.iterations = 0}), segments_.path());
  ASSERT_TRUE(LookUntil([&] { return HaveFinished(3); }));
  job.Signal(2, SIGSTOP);
  EXPECT_TRUE(LookUntil([&] {
    using model::TransferPhase;
    const TransferPhase to_frozen = phases_[{1, Direction::kSend}];
    const bool has_part = phases_[{2, Direction::kSend}] == TransferPhase::kSendOnWire;
    return phases_[{3, Direction::kReceive}] == TransferPhase::kReceivePosted &&
           (to_frozen == TransferPhase::kSendWaitsForPeer || (has_part && to_frozen != TransferPhase::kSendOnWire));
  })) << DescribePhases();
  job.Signal(2, SIGCONT);
  const uint64_t before = finished_[0];
  EXPECT_TRUE(LookUntil([&] { return HaveFinished(before + 3); }));
}

// Events are switched off and on while the job runs: operations and their parts go on, messages do not.
TEST_F(SimulatedJobTest, TheAgentChoosesTheEventsOfARunningJob) {
  SimulatedJob job(RingPlans({.iterations = 0}), segments_.path());
  ASSERT_TRUE(LookUntil([&] { return HaveFinished(3); }));
  const auto want = [&](uint32_t events) {
    for (uint32_t worker = 0; worker < 4; ++worker) {
      SegmentView(segments_.path(), job.pid(worker)).header().wanted_events.store(events);
    }
    // The operation under way is over, the one in which the plugin looked at its requests, and another one.
    LookAtAll();
    uint64_t newest = 0;
    for (const auto& [rank, count] : finished_) newest = std::max(newest, count);
    ASSERT_TRUE(LookUntil([&] { return HaveFinished(newest + 4); }));
  };
  const auto messages = [&] {
    uint64_t sum = 0;
    for (const auto& [end, sums] : sums_) sum += sums.messages;
    return sum;
  };
  want(nccl::kCollective | nccl::kProxyOperation | nccl::kKernelChannel);
  const uint64_t before = messages();
  EXPECT_TRUE(LookUntil([&, from = finished_[0]] { return HaveFinished(from + 5); }));
  EXPECT_EQ(messages(), before);
  want(0);  // what the plugin requests on its own
  EXPECT_GT(messages(), before);
}

}  // namespace
}  // namespace fairlead::ccl

// The plugin through its binary interface, called as NCCL does: every trap of the interface's description (section 5),
// in every version that has it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "base/shell_output.h"
#include "base/temporary_folder.h"
#include "ccl/monotonic_clock.h"
#include "ccl/profiler/mock_nccl_example.h"
#include "ccl/profiler/recorder.h"

namespace fairlead::ccl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// A folder for the segment, before the library makes it: each test has its own process under CTest; run together, they
// share the first one.
const std::string& Folder() {
  static const TemporaryFolder kFolder;
  static const std::string kPath = [] {
    setenv("FAIRLEAD_SHM_FOLDER", kFolder.path().c_str(), 1);
    setenv("FAIRLEAD_JOB", "gpt", 1);
    setenv("RANK", "5", 1);
    return kFolder.path();
  }();
  return kPath;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

uint64_t NewId() {
  static std::atomic<uint64_t> id = 0x1000;
  return ++id;
}

template <typename V>
class ProfilerPluginTest : public testing::Test {
 protected:
  ProfilerPluginTest() { Folder(); }

  SegmentView View() { return SegmentView(Folder()); }
  uint64_t Stale() { return View().header().stale_handles; }

  PluginLibrary library_;
};

using AllVersions = testing::Types<Version1, Version2, Version3, Version4, Version5, Version6>;
TYPED_TEST_SUITE(ProfilerPluginTest, AllVersions);

// One all-reduce over the network: four messages out, four in, one kernel channel.
TYPED_TEST(ProfilerPluginTest, AnOperationWithItsMessages) {
  const uint64_t id = NewId();
  int mask = 0;
  MockCommunicator<TypeParam> nccl(this->library_, id, 8, 3, &mask);
  EXPECT_EQ(nccl.result(), nccl::kSuccess);
  EXPECT_EQ(mask, int{kDefaultEvents});

  void* operation = nccl.StartAllReduce(7, 4096);
  nccl.Stop(operation);  // enqueued, no more (5.4)
  void* kernel = nccl.StartKernel(operation, 0, 5'000);
  void* send = nccl.StartProxyOperation(operation, true, 4, 2);
  void* receive = nccl.StartProxyOperation(operation, false, 2, 2);
  for (int i = 0; i < 4; ++i) {
    nccl.Send(send, i, 1000);
    nccl.Receive(receive, i, 2000);
  }
  const SegmentView view = this->View();
  ASSERT_TRUE(view.is_there());
  const auto operations = view.Operations(id);
  ASSERT_THAT(operations, SizeIs(1));
  EXPECT_EQ(operations[0]->num_parts_live, 3u) << "kernel, send, receive";
  EXPECT_EQ(operations[0]->last_part_ended_ns, 0);
  nccl.Stop(send);
  nccl.Stop(receive);
  nccl.Record(kernel, nccl::kKernelChannelStop, 9'000);
  nccl.Stop(kernel);

  const shm::OperationSlot& slot = *operations[0];
  EXPECT_EQ(slot.kind, shm::OperationKind::kAllReduce);
  EXPECT_EQ(slot.sequence, 7u);
  EXPECT_EQ(slot.issue_index, 0u);
  EXPECT_EQ(slot.count, 4096u);
  EXPECT_STREQ(slot.data_type, "ncclFloat32");
  EXPECT_EQ(slot.num_parts, 3u);
  EXPECT_EQ(slot.num_parts_live, 0u);
  EXPECT_GE(slot.enqueue_ended_ns, slot.enqueued_ns);
  EXPECT_GE(slot.last_part_ended_ns, slot.enqueue_ended_ns);
  EXPECT_EQ(slot.kernel_ended_gpu_ns, 9'000u);

  const auto connections = view.Connections(id);
  ASSERT_THAT(connections, SizeIs(2));
  for (const shm::ConnectionSlot* connection : connections) {
    const bool is_send = shm::IsSend(connection->key);
    EXPECT_EQ(shm::PeerOf(connection->key), is_send ? 4u : 2u);
    EXPECT_EQ(shm::ChannelOf(connection->key), 2);
    EXPECT_EQ(connection->messages, 4u);
    EXPECT_EQ(connection->bytes, is_send ? 4000u : 8000u);
    EXPECT_EQ(connection->num_in_flight, 0u);
    EXPECT_EQ(connection->phase, uint32_t(shm::TransferPhase::kIdle));
    EXPECT_EQ(connection->version % 2, 0u);
    EXPECT_GT(connection->wait_for_peer_ns, 0);
    EXPECT_GT(connection->wait_for_gpu_ns, 0);
    uint32_t in_bins = 0;
    for (const auto& bin : connection->wire_time_bins) in_bins += bin;
    EXPECT_EQ(in_bins, is_send ? 4u : 0u);
  }
  nccl.Finalize();
}

TYPED_TEST(ProfilerPluginTest, SendsAndReceivesAreCountedPerPeer) {
  const uint64_t id = NewId();
  MockCommunicator<TypeParam> nccl(this->library_, id, 8, 0);
  const struct {
    bool is_send;
    int peer;
  } kCalls[] = {{true, 1}, {true, 2}, {true, 1}, {false, 1}, {true, 1}, {false, 1}};
  for (const auto& call : kCalls) nccl.Stop(nccl.StartPointToPoint(call.is_send, call.peer));
  std::vector<std::tuple<bool, int, uint64_t>> found;
  const SegmentView view = this->View();
  for (const shm::OperationSlot* slot : view.Operations(id)) {
    found.emplace_back(slot->kind == shm::OperationKind::kSend, slot->root_or_peer, slot->sequence);
    EXPECT_EQ(slot->count, 77u);
    EXPECT_EQ(slot->issue_index, found.size() - 1);
  }
  // Versions 1 to 3 do not tell how many ranks there are, so nothing is counted.
  const bool counts = !std::is_same_v<typename TypeParam::Arguments, nccl::StateArgumentsV1>;
  const auto sequence = [&](uint64_t number) { return counts ? number : 0; };
  EXPECT_THAT(found, ElementsAre(std::tuple(true, 1, sequence(0)), std::tuple(true, 2, sequence(0)),
                                 std::tuple(true, 1, sequence(1)), std::tuple(false, 1, sequence(0)),
                                 std::tuple(true, 1, sequence(2)), std::tuple(false, 1, sequence(1))));
  nccl.Finalize();
}

// Seen in NCCL 2.27 to 2.30: it tells no more than that they are enqueued. PyTorch's all_to_all_single makes such.
TYPED_TEST(ProfilerPluginTest, SendsToItselfAndOfNothingAreNotPendingForEver) {
  const uint64_t id = NewId();
  MockCommunicator<TypeParam> nccl(this->library_, id, 8, 3);
  const auto num_recorded = [&] { return this->View().Operations(id).size(); };
  for (int call = 0; call < 10'000; ++call) {
    for (const bool is_send : {true, false}) nccl.Stop(nccl.StartPointToPoint(is_send, 4, 0));
  }
  EXPECT_EQ(num_recorded(), 0U);
  const bool knows_its_rank = !std::is_same_v<typename TypeParam::Arguments, nccl::StateArgumentsV1>;
  for (const bool is_send : {true, false}) nccl.Stop(nccl.StartPointToPoint(is_send, 3));
  EXPECT_EQ(num_recorded(), knows_its_rank ? 0U : 2U);
  nccl.Stop(nccl.StartPointToPoint(true, 4));
  EXPECT_EQ(num_recorded(), knows_its_rank ? 1U : 3U);
  EXPECT_EQ(this->View().Operations(id).back()->sequence, 0U);
  nccl.Finalize();
}

// 5.7: while the receiver is not ready, state 20 comes on every poll. The wait counts from the first.
TYPED_TEST(ProfilerPluginTest, ARepeatedStateIsTheSameWait) {
  const uint64_t id = NewId();
  MockCommunicator<TypeParam> nccl(this->library_, id);
  void* send = nccl.StartProxyOperation(nccl.StartAllReduce(0), true);
  void* step = nccl.StartStep(send, 0);
  nccl.Record(step, nccl::kSendGpuWait);
  nccl.Record(step, nccl::kSendPeerWait);
  const SegmentView view = this->View();
  const shm::ConnectionSlot* connection = view.Connections(id).at(0);
  const int64_t since = connection->phase_since_ns;
  const uint32_t version = connection->version;
  for (int i = 0; i < 1000; ++i) nccl.Record(step, nccl::kSendPeerWait);
  EXPECT_EQ(connection->phase, uint32_t(shm::TransferPhase::kSendWaitsForPeer));
  EXPECT_EQ(connection->phase_since_ns, since);
  EXPECT_EQ(connection->version, version);
  EXPECT_EQ(connection->wait_for_peer_ns, 0) << "it is not over";
  nccl.Record(step, nccl::kSendWait, 10);
  EXPECT_EQ(connection->wait_for_peer_ns, connection->phase_since_ns - since);
  nccl.Finalize();
}

// 5.8: a receive is begun again, with no end, until it can be posted. One handle, one message.
TYPED_TEST(ProfilerPluginTest, ARepeatedBeginIsTheSameStep) {
  const uint64_t id = NewId();
  MockCommunicator<TypeParam> nccl(this->library_, id);
  void* receive = nccl.StartProxyOperation(nccl.StartAllReduce(0), false);
  void* step = nccl.StartStep(receive, 0);
  ASSERT_NE(step, nullptr);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(nccl.StartStep(receive, 0), step);
  const SegmentView view = this->View();
  const shm::ConnectionSlot* connection = view.Connections(id).at(0);
  EXPECT_EQ(connection->num_in_flight, 1u);
  nccl.Record(step, nccl::kReceiveWait);
  EXPECT_EQ(connection->phase, uint32_t(shm::TransferPhase::kReceivePosted));
  nccl.Record(step, nccl::kReceiveFlushWait, 10);
  nccl.Stop(step);
  EXPECT_EQ(connection->num_in_flight, 0u);
  EXPECT_EQ(connection->messages, 1u);
  nccl.Finalize();
}

// The phase of a connection is that of its oldest message.
TYPED_TEST(ProfilerPluginTest, TheOldestMessageTellsThePhase) {
  const uint64_t id = NewId();
  MockCommunicator<TypeParam> nccl(this->library_, id);
  void* send = nccl.StartProxyOperation(nccl.StartAllReduce(0), true);
  void* steps[8];
  for (int i = 0; i < 8; ++i) {
    steps[i] = nccl.StartStep(send, 6 + i);
    nccl.Record(steps[i], nccl::kSendGpuWait);
  }
  const SegmentView view = this->View();
  const shm::ConnectionSlot* connection = view.Connections(id).at(0);
  EXPECT_EQ(connection->num_in_flight, 8u);
  nccl.Record(steps[3], nccl::kSendWait, 1);
  EXPECT_EQ(connection->phase, uint32_t(shm::TransferPhase::kSendWaitsForGpu));
  nccl.Record(steps[0], nccl::kSendWait, 1);
  EXPECT_EQ(connection->phase, uint32_t(shm::TransferPhase::kSendOnWire));
  nccl.Stop(steps[0]);
  EXPECT_EQ(connection->phase, uint32_t(shm::TransferPhase::kSendWaitsForGpu));
  // The operation ends without its messages (an abort): nothing is under way any more.
  nccl.Stop(send);
  EXPECT_EQ(connection->num_in_flight, 0u);
  EXPECT_EQ(connection->phase, uint32_t(shm::TransferPhase::kIdle));
  EXPECT_EQ(connection->messages, 1u);
  nccl.Finalize();
}

// 5.18, 5.19: records and stops after the end, of a place that belongs to another one by now.
TYPED_TEST(ProfilerPluginTest, WhatComesAfterTheEndChangesNothing) {
  const uint64_t id = NewId();
  MockCommunicator<TypeParam> nccl(this->library_, id);
  void* operation = nccl.StartAllReduce(0);
  nccl.Stop(operation);
  void* send = nccl.StartProxyOperation(operation, true);
  void* step = nccl.StartStep(send, 0);
  nccl.Record(step, nccl::kSendGpuWait);
  nccl.Record(step, nccl::kSendWait, 10);
  nccl.Stop(step);
  nccl.Stop(send);
  void* next = nccl.StartProxyOperation(operation, true);
  void* next_step = nccl.StartStep(next, 0);
  const SegmentView view = this->View();
  const shm::ConnectionSlot* connection = view.Connections(id).at(0);
  const uint32_t version = connection->version;
  const uint64_t stale = this->Stale();
  nccl.Record(step, nccl::kSendWait, 10);
  nccl.Stop(step);
  nccl.Stop(send);
  EXPECT_EQ(nccl.StartStep(send, 1), nullptr);
  EXPECT_EQ(this->Stale(), stale + 4);
  EXPECT_EQ(connection->version, version);
  EXPECT_EQ(connection->num_in_flight, 1u);
  EXPECT_EQ(view.Operations(id).at(0)->num_parts_live, 1u) << "the second proxy operation";
  nccl.Stop(next_step);
  nccl.Finalize();
}

TYPED_TEST(ProfilerPluginTest, NullAndForeignPointersAreTaken) {
  const uint64_t id = NewId();
  MockCommunicator<TypeParam> nccl(this->library_, id);
  int local = 0;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  void* const kBad[] = {nullptr, &local, reinterpret_cast<void*>(~uintptr_t{0}), reinterpret_cast<void*>(1)};
  for (void* bad : kBad) {
    nccl.Stop(bad);
    nccl.Record(bad, nccl::kSendWait, 1);
    nccl.Record(bad, nccl::kKernelChannelStop, 1);
    nccl.RecordNothing(bad, nccl::kSendPeerWait);
    nccl.Record(bad, -1);
    nccl.Record(bad, 1000);
    EXPECT_NE(nccl.StartProxyOperation(bad, true), nullptr) << "5.3: null would drop the steps";
    EXPECT_NE(nccl.StartKernel(bad, 0, 1), nullptr);
    EXPECT_EQ(nccl.StartStep(bad, 0), nullptr);
    for (uint64_t type : {nccl::kGroup, nccl::kProxyControl, nccl::kNetPlugin}) {
      void* handle = nccl.StartOther(type, bad);
      EXPECT_NE(handle, nullptr);
      nccl.Stop(handle);
    }
  }
  nccl.Finalize();
}

// 5.12: another process's operation: its parent is no handle of ours, even if it looks like one.
TYPED_TEST(ProfilerPluginTest, AnOperationOfAnotherProcessHasNoParentHere) {
  const uint64_t id = NewId();
  MockCommunicator<TypeParam> nccl(this->library_, id);
  void* operation = nccl.StartAllReduce(0);
  void* send = nccl.StartProxyOperation(operation, true, 1, 0, getpid() + 1);
  nccl.Send(send, 0, 10);
  nccl.Stop(send);
  const SegmentView view = this->View();
  EXPECT_EQ(view.Operations(id).at(0)->num_parts, 0u);
  EXPECT_EQ(view.Connections(id).at(0)->messages, 1u);
  EXPECT_GE(view.header().foreign_operations, 1u);
  nccl.Finalize();
}

// 5.20.
TYPED_TEST(ProfilerPluginTest, ManyChannels) {
  const uint64_t id = NewId();
  MockCommunicator<TypeParam> nccl(this->library_, id);
  void* operation = nccl.StartAllReduce(0);
  for (int channel = 0; channel < 256; ++channel) {
    void* send = nccl.StartProxyOperation(operation, true, 1, static_cast<uint8_t>(channel));
    nccl.Send(send, 0, 10);
    nccl.Stop(send);
  }
  const SegmentView view = this->View();
  EXPECT_THAT(view.Connections(id), SizeIs(256));
  EXPECT_EQ(view.Operations(id).at(0)->num_parts, 256u);
  nccl.Finalize();
  EXPECT_THAT(view.Connections(id), IsEmpty());
}

// ---- Versions that name their communicators ----

class ProfilerTest : public ProfilerPluginTest<Version4> {};

TEST_F(ProfilerTest, TheHeaderNamesTheWriter) {
  MockCommunicator<Version4> nccl(library_, NewId());
  const SegmentView view = View();
  ASSERT_TRUE(view.is_there());
  EXPECT_EQ(view.header().magic, shm::kSegmentMagic);
  EXPECT_EQ(view.header().version, shm::kSegmentVersion);
  EXPECT_EQ(view.header().bytes, sizeof(shm::ProfilerSegment));
  EXPECT_EQ(view.header().pid, getpid());
  EXPECT_EQ(view.header().global_rank, 5);
  EXPECT_STREQ(view.header().job, "gpt");
  EXPECT_GT(view.header().process_start, 0u);
}

TEST_F(ProfilerTest, ACommunicatorComesAndGoes) {
  const uint64_t id = NewId();
  MockCommunicator<Version4> nccl(library_, id, 16, 9);
  const SegmentView view = View();
  const shm::CommunicatorSlot* slot = view.Communicator(id);
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(slot->num_ranks, 16);
  EXPECT_EQ(slot->rank, 9);
  EXPECT_EQ(slot->num_nodes, 2);
  EXPECT_STREQ(slot->name, "test");
  nccl.Finalize();  // without any operation
  EXPECT_EQ(view.Communicator(id), nullptr);
}

// 5.1: one after the other, more than there are slots for; none is dropped as long as the others have ended.
TEST_F(ProfilerTest, AThousandCommunicators) {
  for (int i = 0; i < 1000; ++i) {
    const uint64_t id = NewId();
    MockCommunicator<Version4> nccl(library_, id);
    void* operation = nccl.StartAllReduce(0);
    void* send = nccl.StartProxyOperation(operation, true);
    nccl.Send(send, 0, 10);
    nccl.Stop(send);
    nccl.Stop(operation);
    ASSERT_THAT(View().Operations(id), SizeIs(1));
    ASSERT_THAT(View().Connections(id), SizeIs(1));
    nccl.Finalize();
  }
  EXPECT_EQ(View().header().dropped_communicators, 0u);
  EXPECT_EQ(View().header().dropped_connections, 0u);
}

TEST_F(ProfilerTest, MoreCommunicatorsThanSlotsAreCountedAndIgnored) {
  std::vector<std::unique_ptr<MockCommunicator<Version4>>> all;
  for (uint32_t i = 0; i < shm::kNumCommunicators + 20; ++i) {
    all.push_back(std::make_unique<MockCommunicator<Version4>>(library_, NewId()));
    ASSERT_NE(all.back()->context(), nullptr) << "finalize is called for contexts only";
  }
  EXPECT_GE(View().header().dropped_communicators, 20u);
  void* operation = all.back()->StartAllReduce(0);
  EXPECT_NE(operation, nullptr);
  EXPECT_NE(all.back()->StartProxyOperation(operation, true), nullptr);
  for (auto& nccl : all) nccl->Finalize();
}

TEST_F(ProfilerTest, InitFromEightThreads) {
  std::vector<std::thread> threads;
  std::vector<uint64_t> ids(8);
  for (uint64_t& id : ids) {
    id = NewId();
    threads.emplace_back([this, id] {
      MockCommunicator<Version4> nccl(library_, id);
      for (uint64_t i = 0; i < 100; ++i) nccl.Stop(nccl.StartAllReduce(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const SegmentView view = View();
  for (const uint64_t id : ids) EXPECT_THAT(view.Operations(id), SizeIs(100));
}

// 2: NCCL closes the library with the last communicator, and opens it again.
TEST_F(ProfilerTest, TheLibraryIsClosedAndOpenedAgain) {
  const uint64_t id = NewId();
  {
    const PluginLibrary library;
    MockCommunicator<Version4> nccl(library, NewId());
    nccl.Finalize();
  }
  const PluginLibrary library;
  MockCommunicator<Version4> nccl(library, id);
  nccl.Stop(nccl.StartAllReduce(0));
  EXPECT_THAT(View().Operations(id), SizeIs(1));
}

// 5.2: one mask for the process, switched at run time by the agent.
TEST_F(ProfilerTest, TheAgentChoosesTheEvents) {
  int mask = 0;
  MockCommunicator<Version4> nccl(library_, NewId(), 8, 0, &mask);
  const SegmentView view = View();
  view.header().wanted_events = nccl::kKernelChannel;
  nccl.Stop(nccl.StartAllReduce(0));
  EXPECT_EQ(mask, nccl::kKernelChannel | nccl::kCollective | nccl::kPointToPoint) << "operations stay on";
  view.header().wanted_events = 0;
  nccl.Stop(nccl.StartAllReduce(1));
  EXPECT_EQ(mask, int{kDefaultEvents});
}

// An operation that hangs stays in the picture while 20,000 others come and go.
TEST_F(ProfilerTest, WhatHasNotEndedIsKept) {
  const uint64_t id = NewId(), other = NewId();
  MockCommunicator<Version4> hanging(library_, id);
  MockCommunicator<Version4> busy(library_, other);
  void* operation = hanging.StartAllReduce(3);
  hanging.Stop(operation);
  hanging.StartKernel(operation, 0, 1000);
  for (uint64_t i = 0; i < 20'000; ++i) busy.Stop(busy.StartAllReduce(i));
  const SegmentView view = View();
  const auto operations = view.Operations(id);
  ASSERT_THAT(operations, SizeIs(1));
  EXPECT_EQ(operations[0]->sequence, 3u);
  EXPECT_EQ(operations[0]->num_parts_live, 1u);
  EXPECT_EQ(view.header().dropped_operations, 0u);
  EXPECT_GE(view.Operations(other).size(), shm::kNumOperations - 2);
}

TEST_F(ProfilerTest, FullTablesAreCountedAndHandlesStayValid) {
  MockCommunicator<Version4> nccl(library_, NewId());
  void* operation = nccl.StartAllReduce(0);
  std::vector<void*> live;
  for (int i = 0; i < 6000; ++i) {
    live.push_back(nccl.StartProxyOperation(operation, true, i));
    ASSERT_NE(live.back(), nullptr);
  }
  const SegmentView view = View();
  EXPECT_GT(view.header().dropped_proxy_operations, 1000u);
  for (void* handle : live) nccl.Stop(handle);
  // All places are free again.
  const uint64_t dropped = view.header().dropped_proxy_operations;
  for (int i = 0; i < 4096; ++i) nccl.Stop(nccl.StartProxyOperation(operation, true));
  EXPECT_EQ(view.header().dropped_proxy_operations, dropped);
}

// The GPU's clock: the least difference that was seen. Reported 1 ms late, then 10 us, then half a millisecond, and
// each time as much later as the call takes.
TEST_F(ProfilerTest, TheGpuClockIsPlacedByTheQuickestReport) {
  const uint64_t id = NewId();
  MockCommunicator<Version4> nccl(library_, id);
  void* operation = nccl.StartAllReduce(0);
  constexpr int64_t kAhead = 777'000'000;  // of the host's clock
  int64_t latest_ns = std::numeric_limits<int64_t>::max();
  for (const int64_t late_ns : {1'000'000, 10'000, 500'000}) {
    void* kernel = nccl.StartKernel(operation, 0, 1);
    const int64_t before_ns = NowNs();
    nccl.Record(kernel, nccl::kKernelChannelStop, static_cast<size_t>(before_ns + kAhead - late_ns));
    latest_ns = std::min(latest_ns, late_ns + NowNs() - before_ns);
    nccl.Stop(kernel);
  }
  const SegmentView view = View();
  const int64_t offset = view.Communicator(id)->gpu_clock_offset[0];
  EXPECT_GE(offset, -kAhead + 10'000);
  EXPECT_LE(offset, -kAhead + latest_ns);
}

// ---- The end of processes ----

TEST_F(ProfilerTest, AChildHasItsOwnSegment) {
  const uint64_t id = NewId();
  MockCommunicator<Version4> nccl(library_, id);
  const pid_t child = fork();
  if (child == 0) {
    MockCommunicator<Version4> own(library_, 99);
    own.Stop(own.StartAllReduce(0));
    const SegmentView view(Folder());
    _exit(view.is_there() && view.header().pid == getpid() && view.Operations(99).size() == 1 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(View().Communicator(99), nullptr);
  // _exit() leaves the child's file behind, as a kill does: the agent finds it.
  EXPECT_TRUE(SegmentView(Folder(), child).is_there());
}

TEST_F(ProfilerTest, WithoutRoomForASegmentNothingIsRecordedAndNothingFails) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("FAIRLEAD_SHM_FOLDER", "/nowhere", 1);
    int mask = -1;
    MockCommunicator<Version4> nccl(library_, 98, 8, 0, &mask);
    void* operation = nccl.StartAllReduce(0);
    void* send = nccl.StartProxyOperation(operation, true);
    nccl.Send(send, 0, 10);
    nccl.Stop(send);
    nccl.Stop(operation);
    nccl.Finalize();
    _exit(mask == 0 && nccl.context() != nullptr && operation != nullptr && send != nullptr ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(ProfilerTest, ItCanBeTurnedOff) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("FAIRLEAD_PROFILER", "0", 1);
    int mask = -1;
    const MockCommunicator<Version4> nccl(library_, 97, 8, 0, &mask);
    _exit(mask == 0 && !SegmentView(Folder()).is_there() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// ---- Sockets ----

// Both ends of a connection within this process.
class TcpPair {
 public:
  TcpPair() {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    const int listening = socket(AF_INET, SOCK_STREAM, 0);
    ends_[0] = socket(AF_INET, SOCK_STREAM, 0);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    const bool connects = bind(listening, generic, length) == 0 && listen(listening, 1) == 0 &&
                          getsockname(listening, generic, &length) == 0 && connect(ends_[0], generic, length) == 0;
    EXPECT_TRUE(connects);
    ends_[1] = accept(listening, nullptr, nullptr);
    close(listening);
  }
  ~TcpPair() {
    for (const int end : ends_) close(end);
  }
  TcpPair(const TcpPair&) = delete;
  TcpPair& operator=(const TcpPair&) = delete;

  int end(int i) const { return ends_[i]; }
  int Bound(int i) const {
    int bytes = -1;
    socklen_t length = sizeof(bytes);
    getsockopt(ends_[i], IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, &length);
    return bytes;
  }

 private:
  int ends_[2] = {-1, -1};
};

void SendOnce(MockCommunicator<Version4>* nccl, int peer) {
  void* operation = nccl->StartAllReduce(0);
  void* send = nccl->StartProxyOperation(operation, true, peer);
  nccl->Send(send, 0, 10);
  nccl->Stop(send);
  nccl->Stop(operation);
}

TEST_F(ProfilerTest, SocketsOfSendersHoldLittleBack) {
  const TcpPair pair;
  const int own = 5000;
  setsockopt(pair.end(1), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &own, sizeof(own));
  MockCommunicator<Version4> nccl(library_, NewId());
  EXPECT_EQ(pair.Bound(0), 0);
  // Not more often than ten times a second: a test before may have made it look.
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  SendOnce(&nccl, 1);
  EXPECT_EQ(pair.Bound(0), 128 * 1024);
  EXPECT_EQ(pair.Bound(1), own) << "the process's choice";

  const TcpPair later;
  SendOnce(&nccl, 1);
  EXPECT_EQ(later.Bound(0), 0) << "no new connection";
  SendOnce(&nccl, 2);
  EXPECT_EQ(later.Bound(0), 0) << "too early for another look";
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  SendOnce(&nccl, 2);
  EXPECT_EQ(later.Bound(0), 128 * 1024);
}

TEST_F(ProfilerTest, HowMuchSocketsHoldBackIsAnOption) {
  const struct {
    const char* option;
    int bound;
  } kCases[] = {{"0", 0}, {"65536", 65536}, {"", 128 * 1024}, {"many", 128 * 1024}, {"-1", 128 * 1024}};
  for (const auto& each : kCases) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("FAIRLEAD_TCP_UNSENT_BYTES", each.option, 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(120));
      const TcpPair pair;
      MockCommunicator<Version4> nccl(library_, NewId());
      SendOnce(&nccl, 1);
      _exit(pair.Bound(0) == each.bound ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0) << each.option;
  }
}

// ---- Laws ----

// Random calls of one communicator, right and wrong ones mixed, beside a count of what was right.
TEST_F(ProfilerTest, SumsAreWhatWasSent) {
  Random random(17);
  for (int round = 0; round < 30; ++round) {
    const uint64_t id = NewId();
    MockCommunicator<Version4> nccl(library_, id, 64);
    uint64_t messages = 0, bytes = 0;
    std::vector<void*> ended;
    for (int i = 0; i < 40; ++i) {
      void* operation = nccl.StartAllReduce(static_cast<uint64_t>(i));
      const bool is_send = random.Below(2) == 0;
      void* proxy = nccl.StartProxyOperation(operation, is_send, static_cast<int>(random.Below(5)),
                                             static_cast<uint8_t>(random.Below(3)));
      nccl.Stop(operation);
      const int num_steps = static_cast<int>(random.Below(20));
      for (int step = 0; step < num_steps; ++step) {
        const size_t size = random.Below(1 << 20);
        if (is_send) {
          nccl.Send(proxy, step, size);
        } else {
          nccl.Receive(proxy, step, size);
        }
        ++messages;
        bytes += size;
        if (!ended.empty()) nccl.Stop(ended[random.Below(ended.size())]);
        if (!ended.empty()) nccl.Record(ended[random.Below(ended.size())], nccl::kSendWait, 1);
      }
      nccl.Stop(proxy);
      ended.push_back(proxy);
    }
    const SegmentView view = View();
    uint64_t seen_messages = 0, seen_bytes = 0;
    for (const shm::ConnectionSlot* connection : view.Connections(id)) {
      seen_messages += connection->messages;
      seen_bytes += connection->bytes;
      EXPECT_EQ(connection->num_in_flight, 0u);
      EXPECT_EQ(connection->version % 2, 0u);
    }
    EXPECT_EQ(seen_messages, messages);
    EXPECT_EQ(seen_bytes, bytes);
    for (const shm::OperationSlot* operation : view.Operations(id)) {
      EXPECT_EQ(operation->num_parts, 1u);
      EXPECT_EQ(operation->num_parts_live, 0u);
    }
    nccl.Finalize();
  }
}

// Four communicators, each with a user's thread that enqueues and a proxy's thread that moves, and a reader beside.
TEST_F(ProfilerTest, ThreadsOfSeveralCommunicatorsAndAReader) {
  constexpr int kOperations = 2000;
  std::atomic<bool> done = false;
  std::vector<uint64_t> ids;
  std::vector<std::unique_ptr<MockCommunicator<Version4>>> communicators;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(NewId());
    communicators.push_back(std::make_unique<MockCommunicator<Version4>>(library_, ids.back()));
  }
  std::thread reader([&] {
    while (!done) {
      const SegmentView view = View();
      for (const uint64_t id : ids) {
        for (const shm::ConnectionSlot* connection : view.Connections(id)) {
          const uint32_t version = connection->version.load(std::memory_order_acquire);
          const uint64_t messages = connection->messages, bytes = connection->bytes;
          if (version % 2 == 0 && connection->version.load(std::memory_order_acquire) == version) {
            EXPECT_EQ(bytes, 10 * messages);
          }
        }
      }
    }
  });
  std::vector<std::thread> threads;
  for (auto& nccl : communicators) {
    auto handles = std::make_shared<std::vector<std::atomic<void*>>>(kOperations);
    threads.emplace_back([&nccl, handles] {
      for (int i = 0; i < kOperations; ++i) {
        void* operation = nccl->StartAllReduce(static_cast<uint64_t>(i));
        (*handles)[static_cast<size_t>(i)].store(operation, std::memory_order_release);
        nccl->Stop(operation);
      }
    });
    threads.emplace_back([&nccl, handles] {
      for (int i = 0; i < kOperations; ++i) {
        void* operation = nullptr;
        while ((operation = (*handles)[static_cast<size_t>(i)].load(std::memory_order_acquire)) == nullptr) {
          std::this_thread::yield();
        }
        void* proxy = nccl->StartProxyOperation(operation, true);
        nccl->Send(proxy, 0, 10);
        nccl->Stop(proxy);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  reader.join();
  const SegmentView view = View();
  for (const uint64_t id : ids) EXPECT_EQ(view.Connections(id).at(0)->messages, uint64_t{kOperations});
}

// ---- What it brings into a stranger's process ----

// Runs `body` in a child that is killed by any system call but those that read the clock (a system call on machines
// without a readable counter) and end it; true: it came to its end.
template <typename Body>
bool RunsWithoutSystemCalls(const Body& body) {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(rules), rules};
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(ProfilerTest, NoEventOfKnownConnectionsMakesASystemCall) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer makes its own";
  if (RunsWithoutSystemCalls([] { getppid(); })) GTEST_SKIP() << "this kernel has no filters of system calls";
  MockCommunicator<Version4> nccl(library_, NewId());
  for (int peer = 0; peer < 8; ++peer) SendOnce(&nccl, peer);
  // After a connection's first message sockets are looked for, once in a while.
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  SendOnce(&nccl, 0);
  EXPECT_TRUE(RunsWithoutSystemCalls([&] {
    for (uint64_t i = 0; i < 10'000; ++i) {
      void* operation = nccl.StartAllReduce(i);
      nccl.Stop(operation);
      void* kernel = nccl.StartKernel(operation, 0, i + 1);
      void* send = nccl.StartProxyOperation(operation, true, static_cast<int>(i % 8));
      nccl.Send(send, 0, 10);
      nccl.Stop(send);
      nccl.Record(kernel, nccl::kKernelChannelStop, i + 2);
      nccl.Stop(kernel);
      nccl.Stop(nccl.StartPointToPoint(true, static_cast<int>(i % 8)));
    }
  }));
}

TEST_F(ProfilerTest, ShowsOnlyWhatNcclLooksFor) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer adds its own";
  EXPECT_EQ(OutputOf("nm -D --defined-only " FAIRLEAD_PROFILER_LIBRARY " | awk '{print $3}' | sort"),
            "ncclProfiler_v1\nncclProfiler_v2\nncclProfiler_v3\nncclProfiler_v4\nncclProfiler_v5\nncclProfiler_v6\n");
}

// No memory, no locks, no output among them: only what opens the segment, and the clock.
TEST_F(ProfilerTest, NeedsLittleOfLibcAndNothingElse) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer adds its own";
  EXPECT_EQ(OutputOf("readelf -d " FAIRLEAD_PROFILER_LIBRARY " | sed -n 's/.*NEEDED.*\\[\\(.*\\)\\]/\\1/p'"),
            "libc.so.6\n");
  const std::string imports = OutputOf("nm -D --undefined-only " FAIRLEAD_PROFILER_LIBRARY
                                       " | awk '{print $2}' | sed 's/@.*//' | tr '\\n' ' '");
  for (const char* refused : {"malloc", "calloc", "free", "_Znwm", "pthread_mutex_lock", "pthread_create", "printf",
                              "write", "__cxa_throw", "dlopen"}) {
    EXPECT_EQ((" " + imports).find(" " + std::string(refused) + " "), std::string::npos) << imports;
  }
}

}  // namespace
}  // namespace fairlead::ccl

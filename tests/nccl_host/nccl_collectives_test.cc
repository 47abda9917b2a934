// Real NCCL on CPUs: are its results right, and did Fairlead's plugin see what it did?
//
// The first makes the second worth something: the telemetry is of collectives that took place, with every byte of
// theirs on a socket.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "rank_processes.h"
#include "shm/profiler_segment.h"
#include "telemetry/segment_reader.h"

namespace fairlead::nccl_host {
namespace {

using model::OperationKind;
using testing::IsSubsetOf;
using testing::SizeIs;

// A segment as it lies in memory, and as agents read it.
struct Segment {
  std::unique_ptr<shm::ProfilerSegment> raw = std::make_unique<shm::ProfilerSegment>();
  telemetry::SegmentContents contents;
};
Segment ReadSegmentOf(const RankProcesses& ranks, int rank) {
  Segment segment;
  std::ifstream file(ranks.SegmentPath(rank), std::ios::binary);
  file.read(reinterpret_cast<char*>(segment.raw.get()), sizeof(shm::ProfilerSegment));
  EXPECT_EQ(file.gcount(), static_cast<std::streamsize>(sizeof(shm::ProfilerSegment))) << ranks.SegmentPath(rank);
  auto contents = telemetry::ReadSegment(std::as_bytes(std::span(segment.raw.get(), 1)));
  EXPECT_TRUE(contents.ok()) << contents.status().message();
  if (contents.ok()) segment.contents = std::move(contents).value();
  return segment;
}

std::string NameOf(OperationKind kind) {
  static const std::map<OperationKind, std::string> kNames = {{OperationKind::kAllReduce, "AllReduce"},
                                                              {OperationKind::kAllGather, "AllGather"},
                                                              {OperationKind::kReduceScatter, "ReduceScatter"},
                                                              {OperationKind::kBroadcast, "Broadcast"},
                                                              {OperationKind::kReduce, "Reduce"},
                                                              {OperationKind::kSend, "Send"},
                                                              {OperationKind::kReceive, "Recv"}};
  const auto found = kNames.find(kind);
  return found == kNames.end() ? "unknown" : found->second;
}

// What a rank says that it did.
std::map<std::string, size_t> CountsOf(const RankProcesses& ranks, int rank) {
  std::ifstream file(ranks.File(fmt::format("done-{}", rank)));
  std::map<std::string, size_t> counts;
  std::string name;
  for (size_t number = 0; file >> name >> number;) counts[name] = number;
  return counts;
}

// Slot of the communicator of all.
uint32_t SlotOfAll(const Segment& segment) {
  for (const telemetry::SegmentCommunicator& communicator : segment.contents.communicators) {
    if (communicator.name == "all") return communicator.slot;
  }
  ADD_FAILURE() << "no communicator of that name";
  return 0;
}

struct Case {
  const char* name;
  const char* what;  // as nccl_check_rank has it
  int num_ranks;
  const char* algorithms;
  const char* protocols;
  int num_channels;
  int buffer_bytes;
  // Those that all-reduces may have.
  std::set<std::string> expected_algorithms;
  std::set<std::string> expected_protocols;
  bool takes_minutes = true;  // on two processors
};

void PrintTo(const Case& which, std::ostream* out) { *out << which.name; }

constexpr int kSmallBuffer = 1 << 16;
constexpr char kTrees[] = "allreduce:tree;allgather:ring;reducescatter:ring;broadcast:ring;reduce:ring";

const Case kCases[] = {
    {"two_all_types", "types", 2, "Ring,Tree", "Simple,LL", 2, 4 << 20, {"RING", "TREE"}, {"SIMPLE", "LL"}, false},
    {"two_as_nccl_chooses", "shapes", 2, "Ring,Tree", "Simple,LL", 2, 4 << 20, {"RING", "TREE"}, {"SIMPLE", "LL"}},
    {"four_ring_simple", "shapes", 4, "Ring", "Simple", 2, kSmallBuffer, {"RING"}, {"SIMPLE"}},
    {"four_ring_ll", "shapes", 4, "Ring", "LL", 1, kSmallBuffer, {"RING"}, {"LL"}},
    {"four_tree_simple", "shapes", 4, kTrees, "Simple", 3, kSmallBuffer, {"TREE"}, {"SIMPLE"}, false},
    {"eight_tree_ll", "shapes", 8, kTrees, "LL", 2, kSmallBuffer, {"TREE"}, {"LL"}},
};

class NcclCollectivesTest : public testing::TestWithParam<Case> {
 protected:
  static RankProcessesOptions OptionsOf(const Case& which) {
    const std::string channels = std::to_string(which.num_channels);
    return {.program = "nccl_check_rank",
            .arguments = {which.what},
            .num_ranks = which.num_ranks,
            .environment = {{"NCCL_ALGO", which.algorithms},
                            {"NCCL_PROTO", which.protocols},
                            {"NCCL_BUFFSIZE", std::to_string(which.buffer_bytes)},
                            {"NCCL_MIN_NCHANNELS", channels},
                            {"NCCL_MAX_NCHANNELS", channels}}};
  }
  NcclCollectivesTest() : ranks_(OptionsOf(GetParam())) {}

  void CheckOperations(int rank, const Segment& segment);
  void CheckConnections(const std::vector<Segment>& segments);

  RankProcesses ranks_;
};

// Each operation was seen from its being enqueued to the end of its kernels, which were those that NCCL was told to
// use.
void NcclCollectivesTest::CheckOperations(int rank, const Segment& segment) {
  std::map<std::string, size_t> seen;
  std::map<std::string, std::vector<uint64_t>> sequences;
  const uint32_t all = SlotOfAll(segment);
  for (const telemetry::SegmentOperation& operation : segment.contents.operations) {
    const std::string name = NameOf(operation.kind);
    SCOPED_TRACE(fmt::format("rank {}, {} {}", rank, name, operation.ticket));
    EXPECT_EQ(operation.num_parts_live, 0u);
    EXPECT_GE(operation.enqueue_ended_ns, operation.enqueued_ns);
    const bool is_point_to_point = name == "Send" || name == "Recv";
    if (operation.count > 0) {
      EXPECT_GT(operation.num_parts, 0u);
      EXPECT_GT(operation.kernel_began_gpu_ns, 0u);
    }
    EXPECT_GE(operation.kernel_ended_gpu_ns, operation.kernel_began_gpu_ns);
    if (operation.communicator != all) continue;
    ++seen[name];
    if (!is_point_to_point) sequences[name].push_back(operation.sequence);
  }
  std::map<std::string, size_t> expected = CountsOf(ranks_, rank);
  // NCCL 2.30 does not tell its profiler of broadcasts.
  if (expected["version"] >= 23000) expected.erase("Broadcast");
  expected.erase("version");
  EXPECT_EQ(seen, expected);
  for (const auto& [name, numbers] : sequences) {
    EXPECT_EQ(std::set(numbers.begin(), numbers.end()).size(), numbers.size()) << name << ": each number once";
  }
  std::set<std::string> algorithms, protocols;
  for (const shm::OperationSlot& slot : segment.raw->operations) {
    if (slot.ticket == 0 || slot.kind != shm::OperationKind::kAllReduce) continue;
    algorithms.insert(slot.algorithm);
    protocols.insert(slot.protocol);
    EXPECT_LE(slot.num_channels, GetParam().num_channels);
  }
  EXPECT_THAT(algorithms, IsSubsetOf(GetParam().expected_algorithms));
  EXPECT_THAT(protocols, IsSubsetOf(GetParam().expected_protocols));
}

// What one end has sent, the other has received: bytes and messages of each channel, and all channels were used.
void NcclCollectivesTest::CheckConnections(const std::vector<Segment>& segments) {
  std::set<std::string> sent, received;
  std::set<int> channels;
  for (int rank = 0; rank < ranks_.num_ranks(); ++rank) {
    const Segment& segment = segments[static_cast<size_t>(rank)];
    const uint32_t all = SlotOfAll(segment);
    for (const telemetry::SegmentConnection& connection : segment.contents.connections) {
      EXPECT_EQ(connection.num_in_flight, 0u);
      if (connection.communicator != all || connection.bytes == 0) continue;
      channels.insert(connection.channel);
      const bool is_send = connection.direction == model::Direction::kSend;
      const auto peer = static_cast<int>(connection.peer);
      (is_send ? sent : received)
          .insert(fmt::format("{} -> {}, channel {}: {} bytes, {} messages", is_send ? rank : peer,
                              is_send ? peer : rank, connection.channel, connection.bytes, connection.messages));
    }
  }
  // A single channel is enough for what is small.
  const bool has_large = std::string(GetParam().what) == "shapes";
  EXPECT_GE(channels.size(), has_large ? static_cast<size_t>(GetParam().num_channels) : 1u);
  EXPECT_GE(sent.size(), static_cast<size_t>(ranks_.num_ranks()));
  EXPECT_EQ(sent, received);
}

TEST_P(NcclCollectivesTest, ResultsAreRightAndThePluginSawAllOfIt) {
  if (GetParam().takes_minutes && !RunsAll()) GTEST_SKIP() << kWhySkipped;
  ASSERT_TRUE(ranks_.WaitForFiles("done")) << ranks_.Outputs();
  std::vector<Segment> segments;
  for (int rank = 0; rank < ranks_.num_ranks(); ++rank) {
    segments.push_back(ReadSegmentOf(ranks_, rank));
    const telemetry::SegmentContents& contents = segments.back().contents;
    EXPECT_EQ(contents.job, "nccl");
    EXPECT_EQ(contents.global_rank, rank);
    EXPECT_EQ(contents.num_dropped, 0u);
    EXPECT_EQ(contents.num_damaged, 0u);
    EXPECT_EQ(segments.back().raw->header.stale_handles, 0u);
    const bool has_own_for_all_to_all = std::string(GetParam().what) == "shapes";
    EXPECT_THAT(contents.communicators, SizeIs(has_own_for_all_to_all ? 3 : 2)) << "all, and its half";
    CheckOperations(rank, segments.back());
  }
  CheckConnections(segments);
  EXPECT_TRUE(ranks_.LetEnd()) << ranks_.Outputs();
}

INSTANTIATE_TEST_SUITE_P(Jobs, NcclCollectivesTest, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& shown) { return shown.param.name; });

}  // namespace
}  // namespace fairlead::nccl_host

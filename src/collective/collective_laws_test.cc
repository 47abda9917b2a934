// What every collective must obey: rings are executed step by step on sets of contributions, bytes are compared with
// what the execution moved, and with closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "collective/collective_kind.h"
#include "collective/hierarchical_collectives.h"
#include "collective/ring_collectives.h"
#include "topology/clos_fabrics.h"
#include "topology/router.h"

namespace fairlead::collective {
namespace {

// Hosts with 1..max_gpus GPUs of arbitrary local indices; ranks of a host may be apart when `shuffle`.
Communicator RandomRanks(Random& random, uint32_t max_hosts, uint32_t max_gpus, bool shuffle) {
  Communicator ranks;
  const uint64_t num_hosts = 1 + random.Below(max_hosts);
  for (uint32_t host = 0; host < num_hosts; ++host) {
    std::vector<uint32_t> indices(max_gpus);
    for (uint32_t i = 0; i < max_gpus; ++i) indices[i] = i;
    random.Shuffle(std::span(indices));
    const uint64_t num_gpus = 1 + random.Below(max_gpus);
    for (uint64_t i = 0; i < num_gpus; ++i) {
      ranks.push_back({GpuId(100 * host + indices[i]), HostId(host), indices[i]});
    }
  }
  if (shuffle) random.Shuffle(std::span(ranks));
  return ranks;
}

std::map<GpuId, double> SentBytes(const FlowSet& set) {
  std::map<GpuId, double> sent;
  for (const auto& flow : set.flows) sent[flow.source] += flow.bytes.value();
  return sent;
}

std::map<GpuId, double> ReceivedBytes(const FlowSet& set) {
  std::map<GpuId, double> received;
  for (const auto& flow : set.flows) received[flow.destination] += flow.bytes.value();
  return received;
}

std::vector<CollectiveKind> AllKinds() {
  std::vector<CollectiveKind> kinds;
  for (size_t i = 0; i < CollectiveNames().size(); ++i) kinds.push_back(static_cast<CollectiveKind>(i));
  return kinds;
}

class EveryCollectiveTest : public testing::TestWithParam<CollectiveKind> {};

TEST_P(EveryCollectiveTest, NothingForOneRankNoRankOrNoBytes) {
  FlowSet set;
  AppendCollective(GetParam(), {}, Bytes(10), set);
  AppendCollective(GetParam(), MakeRegularLayout(1, 1).ranks, Bytes(10), set);
  AppendCollective(GetParam(), MakeRegularLayout(2, 4).ranks, Bytes(0), set);
  EXPECT_TRUE(set.flows.empty());
  EXPECT_EQ(set.num_groups, 0u);
}

TEST_P(EveryCollectiveTest, FlowsAreWellFormedAndGroupsAreDenseAndInLockstep) {
  Random random(7);
  for (int trial = 0; trial < 300; ++trial) {
    const Communicator ranks = RandomRanks(random, 7, 8, trial % 2 == 0);
    std::set<GpuId> gpus;
    for (const RankPlace& rank : ranks) gpus.insert(rank.gpu);
    FlowSet set;
    AppendCollective(GetParam(), ranks, Bytes(1e6), set);
    std::map<uint32_t, std::set<double>> bytes_of_group;
    for (const auto& flow : set.flows) {
      EXPECT_GT(flow.bytes, Bytes(0));
      EXPECT_NE(flow.source, flow.destination);
      EXPECT_TRUE(gpus.contains(flow.source) && gpus.contains(flow.destination));
      bytes_of_group[flow.group].insert(flow.bytes.value());
    }
    ASSERT_EQ(bytes_of_group.size(), set.num_groups);  // none is empty
    for (const auto& [group, bytes] : bytes_of_group) {
      EXPECT_LT(group, set.num_groups);
      EXPECT_EQ(bytes.size(), 1u);
    }
    EXPECT_EQ(set.flows.empty(), ranks.size() == 1);
  }
}

TEST_P(EveryCollectiveTest, BytesScaleWithTheSize) {
  const Communicator ranks = MakeRegularLayout(3, 4).ranks;
  FlowSet one, eight;
  AppendCollective(GetParam(), ranks, Bytes(12), one);
  AppendCollective(GetParam(), ranks, Bytes(96), eight);
  ASSERT_EQ(one.flows.size(), eight.flows.size());
  for (size_t i = 0; i < one.flows.size(); ++i)
    EXPECT_DOUBLE_EQ(8 * one.flows[i].bytes.value(), eight.flows[i].bytes.value());
}

TEST_P(EveryCollectiveTest, NameIsParsedBack) { EXPECT_EQ(ParseCollectiveKind(Name(GetParam())).value(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(Kinds, EveryCollectiveTest, testing::ValuesIn(AllKinds()), [](const auto& kind) {
  std::string name(Name(kind.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(CollectiveKindTest, NamesFollowTheEnumerators) {
  EXPECT_EQ(Name(CollectiveKind::kRingAllReduce), "ring-all-reduce");
  EXPECT_EQ(Name(CollectiveKind::kRingReduceScatter), "ring-reduce-scatter");
  EXPECT_EQ(Name(CollectiveKind::kHierarchicalAllGather), "hierarchical-all-gather");
  EXPECT_EQ(Name(CollectiveKind::kBroadcast), "broadcast");
  EXPECT_EQ(Name(CollectiveKind::kSendReceive), "send-receive");
}

TEST(CollectiveKindTest, UnknownNameListsTheKnownOnes) {
  const auto parsed = ParseCollectiveKind("gossip");
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.status().message().find("'gossip'; known: ring-all-reduce, tree-all-reduce"), std::string::npos);
}

// Closed forms for n = 6 ranks, S = 600 bytes: all-reduce 2*5/6*600 = 1000 on each of 6 edges, its halves 500,
// broadcast 600 on 5 edges, all-to-all 100 on 30 flows.
TEST(CollectiveBytesTest, ClosedForms) {
  const Communicator ranks = MakeRegularLayout(3, 2).ranks;
  const auto expect = [&](CollectiveKind kind, size_t num_flows, double bytes) {
    FlowSet set;
    AppendCollective(kind, ranks, Bytes(600), set);
    EXPECT_EQ(set.flows.size(), num_flows) << Name(kind);
    for (const auto& flow : set.flows) EXPECT_DOUBLE_EQ(flow.bytes.value(), bytes) << Name(kind);
  };
  expect(CollectiveKind::kRingAllReduce, 6, 1000);
  expect(CollectiveKind::kRingReduceScatter, 6, 500);
  expect(CollectiveKind::kRingAllGather, 6, 500);
  expect(CollectiveKind::kBroadcast, 5, 600);
  expect(CollectiveKind::kAllToAll, 30, 100);
  expect(CollectiveKind::kSendReceive, 5, 600);
  expect(CollectiveKind::kTreeAllReduce, 20, 300);
}

// What a tree of switches carries: every leaf hands the sum of its hosts up to the one spine and gets the sum of all
// back, so that each link of hosts and leaves that take part carries a share once each way, in whatever order ranks
// are.
TEST(InNetworkTest, LoadsTheLinksOfItsTreeOnceEachWay) {
  const topology::Fabric fabric =
      topology::BuildClos({.leaves = 5, .hosts_per_leaf = 4, .spines = 1, .host = {.gpus = 4, .nics = 4}}).value();
  const topology::Router router(fabric);
  Random random(3);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<uint32_t> hosts;
    for (uint32_t h = 0; h < fabric.num_hosts(); ++h) {
      if (random.Below(3) > 0) hosts.push_back(h);
    }
    if (hosts.size() < 2) continue;
    random.Shuffle(std::span(hosts));
    model::Placement placement;
    for (const uint32_t host : hosts) {
      for (uint32_t gpu = 0; gpu < 4; ++gpu) placement.gpus.emplace_back(host * 4 + gpu);
    }
    FlowSet set;
    AppendInNetworkAllReduce(MakeRankLayout(placement, fabric).ranks, Bytes(400), set);
    std::map<LinkId, double> bytes;
    for (const auto& flow : set.flows) {
      model::Path path;
      router.AppendPath(flow.source, flow.destination, 0, &path);
      for (const LinkId link : path) {
        if (topology::IsNetwork(fabric.tier(link))) bytes[link] += flow.bytes.value();
      }
    }
    EXPECT_GE(bytes.size(), 8 * hosts.size());
    for (const auto& [link, carried] : bytes) {
      const bool is_uplink = fabric.tier(link) != topology::LinkTier::kHostLeaf;
      EXPECT_DOUBLE_EQ(carried, is_uplink ? 400 : 100);  // of four rails, of one
    }
  }
}

TEST(RingTest, OneEdgeInAndOutAndEachHostEnteredOnce) {
  Random random(1);
  for (int trial = 0; trial < 500; ++trial) {
    const Communicator ranks = RandomRanks(random, 9, 8, true);
    if (ranks.size() == 1) continue;
    FlowSet set;
    AppendRingAllReduce(ranks, Bytes(1), set);
    std::map<GpuId, GpuId> next;
    std::map<GpuId, HostId> host_of;
    for (const RankPlace& rank : ranks) host_of[rank.gpu] = rank.host;
    std::map<HostId, int> entered;
    for (const auto& flow : set.flows) {
      EXPECT_TRUE(next.emplace(flow.source, flow.destination).second);
      if (host_of[flow.source] != host_of[flow.destination]) ++entered[host_of[flow.destination]];
    }
    size_t length = 1;  // one cycle through all ranks
    for (GpuId at = next[ranks[0].gpu]; at != ranks[0].gpu && length <= ranks.size(); at = next[at]) ++length;
    EXPECT_EQ(length, ranks.size());
    for (const auto& [host, times] : entered) EXPECT_EQ(times, 1);
  }
}

// Buffers of contributions: contributions[rank][element] = set of ranks already included in the sum.
using Contributions = std::map<GpuId, std::vector<std::multiset<uint32_t>>>;
using MovedElements = std::map<std::pair<GpuId, GpuId>, double>;

// Elements [first, first + count) in ring.size() equal chunks; a step of NCCL's ring: rank i hands chunk i - step on.
struct RingRun {
  const std::vector<GpuId>& ring;
  size_t first, count;
  Contributions& data;
  MovedElements& moved;

  void Pass(bool reduce, size_t chunk_shift) {
    const size_t n = ring.size(), chunk = count / n;
    for (size_t step = 0; step + 1 < n; ++step) {
      const Contributions before = data;  // all ranks send at once
      for (size_t i = 0; i < n; ++i) {
        const GpuId to = ring[(i + 1) % n];
        const size_t begin = first + (i + chunk_shift + n - step) % n * chunk;
        for (size_t e = begin; e < begin + chunk; ++e) {
          std::multiset<uint32_t> value = before.at(ring[i])[e];
          if (reduce) value.merge(std::multiset(before.at(to)[e]));
          data[to][e] = value;
        }
        moved[{ring[i], to}] += static_cast<double>(chunk);
      }
    }
  }
  // Afterwards ring[i] owns chunk i + 1.
  void ReduceScatter() { Pass(true, 0); }
  void AllGather() { Pass(false, 1); }
};

Contributions OwnValues(const Communicator& ranks, size_t num_elements) {
  Contributions data;
  for (uint32_t i = 0; i < ranks.size(); ++i) data[ranks[i].gpu].assign(num_elements, {i});
  return data;
}

// The rings of a flow set, in group order.
std::vector<std::vector<GpuId>> RingsOf(const FlowSet& set) {
  std::vector<std::vector<GpuId>> rings(set.num_groups);
  for (const auto& flow : set.flows) rings[flow.group].push_back(flow.source);  // edges follow the ring
  return rings;
}

void ExpectEverybodyHoldsTheSum(const Contributions& data, size_t num_ranks) {
  std::multiset<uint32_t> all;
  for (uint32_t i = 0; i < num_ranks; ++i) all.insert(i);
  for (const auto& [gpu, elements] : data) {
    for (const auto& element : elements) ASSERT_EQ(element, all);
  }
}

void ExpectBytesAreWhatMoved(const FlowSet& set, const MovedElements& moved, double bytes_per_element) {
  MovedElements bytes;
  for (const auto& flow : set.flows) bytes[{flow.source, flow.destination}] += flow.bytes.value();
  ASSERT_EQ(bytes.size(), moved.size());
  for (const auto& [edge, elements] : moved) EXPECT_DOUBLE_EQ(bytes[edge], elements * bytes_per_element);
}

TEST(RingTest, ExecutedStepByStepItSumsAndMovesTheStatedBytes) {
  for (uint32_t hosts = 1; hosts <= 4; ++hosts) {
    for (uint32_t gpus = 1; gpus <= 3; ++gpus) {
      const Communicator ranks = MakeRegularLayout(hosts, gpus).ranks;
      const size_t n = ranks.size();
      if (n == 1) continue;
      FlowSet set;
      AppendRingAllReduce(ranks, Bytes(static_cast<double>(n)), set);  // chunks of 1 byte
      Contributions data = OwnValues(ranks, n);
      MovedElements moved;
      const std::vector<std::vector<GpuId>> rings = RingsOf(set);
      RingRun run{rings.at(0), 0, n, data, moved};
      run.ReduceScatter();
      run.AllGather();
      ExpectEverybodyHoldsTheSum(data, n);
      ExpectBytesAreWhatMoved(set, moved, 1);
    }
  }
}

// Steps 1 to 3 of the header on the rings that the flows form: host rings come first, then one per rail.
TEST(HierarchicalTest, ExecutedStepByStepItSumsAndMovesTheStatedBytes) {
  for (uint32_t hosts = 2; hosts <= 4; ++hosts) {
    for (uint32_t gpus = 2; gpus <= 4; ++gpus) {
      const Communicator ranks = MakeRegularLayout(hosts, gpus).ranks;
      const size_t num_elements = ranks.size();  // host chunks of `hosts` elements, rail chunks of one
      FlowSet set;
      AppendHierarchicalAllReduce(ranks, Bytes(static_cast<double>(num_elements)), set);
      const std::vector<std::vector<GpuId>> rings = RingsOf(set);
      ASSERT_EQ(rings.size(), hosts + gpus);
      Contributions data = OwnValues(ranks, num_elements);
      MovedElements moved;
      for (size_t h = 0; h < hosts; ++h) RingRun{rings[h], 0, num_elements, data, moved}.ReduceScatter();
      for (size_t place = 0; place < gpus; ++place) {
        const size_t owned = (place + 1) % gpus;
        RingRun run{rings[hosts + place], owned * hosts, hosts, data, moved};
        run.ReduceScatter();
        run.AllGather();
      }
      for (size_t h = 0; h < hosts; ++h) RingRun{rings[h], 0, num_elements, data, moved}.AllGather();
      ExpectEverybodyHoldsTheSum(data, ranks.size());
      ExpectBytesAreWhatMoved(set, moved, 1);
    }
  }
}

// 2 [(g-1)/g + (h-1)/(hg)] S = 2 (hg-1)/(hg) S: a rank sends as much as on a flat ring, whatever the shape, and
// receives it.
TEST(HierarchicalTest, RanksSendAndReceiveAsMuchAsOnAFlatRing) {
  for (uint32_t hosts = 1; hosts <= 6; ++hosts) {
    for (uint32_t gpus = 1; gpus <= 8; ++gpus) {
      const double n = hosts * gpus;
      if (n == 1) continue;
      FlowSet all_reduce, halves;
      const Communicator ranks = MakeRegularLayout(hosts, gpus).ranks;
      AppendHierarchicalAllReduce(ranks, Bytes(1e9), all_reduce);
      AppendHierarchicalReduceScatter(ranks, Bytes(1e9), halves);
      AppendHierarchicalAllGather(ranks, Bytes(1e9), halves);
      for (const FlowSet* set : {&all_reduce, &halves}) {
        for (const auto& [gpu, bytes] : SentBytes(*set)) EXPECT_NEAR(bytes, 2e9 * (n - 1) / n, 1);
        for (const auto& [gpu, bytes] : ReceivedBytes(*set)) EXPECT_NEAR(bytes, 2e9 * (n - 1) / n, 1);
      }
    }
  }
}

TEST(HierarchicalTest, NetworkFlowsStayOnTheirRailWhateverTheOrderOfRanks) {
  Random random(3);
  for (int trial = 0; trial < 100; ++trial) {
    Communicator ranks = MakeRegularLayout(1 + static_cast<uint32_t>(random.Below(6)), 4).ranks;
    random.Shuffle(std::span(ranks));
    FlowSet set;
    AppendHierarchicalAllReduce(ranks, Bytes(64), set);
    for (const auto& flow : set.flows) {
      const uint32_t source = flow.source.value(), destination = flow.destination.value();
      EXPECT_TRUE(source / 4 == destination / 4 || source % 4 == destination % 4);
    }
  }
}

TEST(HierarchicalTest, UnequalHostsFallBackToOneFlatRing) {
  Communicator ranks = MakeRegularLayout(2, 4).ranks;
  ranks.pop_back();  // 4 + 3 ranks
  FlowSet hierarchical, ring;
  AppendHierarchicalAllReduce(ranks, Bytes(7), hierarchical);
  AppendRingAllReduce(ranks, Bytes(7), ring);
  EXPECT_EQ(hierarchical.flows, ring.flows);
}

// 1,024 GPUs: 128 host rings of 8 edges and 8 rails of 128 edges.
TEST(HierarchicalTest, ThousandGpusNeedTwoFlowsEach) {
  FlowSet set;
  AppendHierarchicalAllReduce(MakeRegularLayout(128, 8).ranks, Bytes(1e9), set);
  EXPECT_EQ(set.flows.size(), 2048u);
  EXPECT_EQ(set.num_groups, 136u);
}

TEST(BroadcastTest, ChainStartsAtTheFirstRank) {
  Communicator ranks = MakeRegularLayout(2, 2).ranks;
  std::swap(ranks[0], ranks[3]);  // root: GPU 3; then its host's other GPU 2, then host 0 in the order given: 1, 0
  FlowSet set;
  AppendRingBroadcast(ranks, Bytes(5), set);
  ASSERT_EQ(set.flows.size(), 3u);
  const std::vector<std::pair<uint32_t, uint32_t>> chain = {{3, 2}, {2, 1}, {1, 0}};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(set.flows[i].source, GpuId(chain[i].first));
    EXPECT_EQ(set.flows[i].destination, GpuId(chain[i].second));
    EXPECT_EQ(set.flows[i].bytes, Bytes(5));
  }
}

}  // namespace
}  // namespace fairlead::collective

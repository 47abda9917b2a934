#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "traffic/c4p/port_map.h"
#include "traffic/c4p/port_map_example.h"
#include "traffic/source_ports.h"

namespace fairlead::traffic::c4p {
namespace {

using Kind = PortAnswer::Kind;

// A leaf that hashes every pair on its own over the paths that a fingerprint leaves.
uint32_t HashedPath(const AddressPair& pair, uint16_t port, uint64_t fingerprint, uint32_t num_paths) {
  return static_cast<uint32_t>(CombineHash(CombineHash(pair.source_address, fingerprint), port) % num_paths);
}

TEST(PortMapLawsTest, ScansFindPathsAtTheCostOfTheSpecification) {
  // One wanted path takes k ports on average. Mean of 400 scans for k = 8: 8 +- 7.5 / 20, so within 1.5 but for 4
  // standard errors.
  constexpr uint32_t kNumPaths = 8;
  double probes = 0;
  for (uint32_t source = 0; source < 400; ++source) {
    PortMap map({});
    while (map.FindPort(Pair(source), 5, kNumPaths).kind == Kind::kScan) {
      const uint16_t port = map.PortsToScan(Pair(source), 1).at(0);
      Learn(&map, Pair(source), port, HashedPath(Pair(source), port, kWhole, kNumPaths));
      ++probes;
    }
  }
  EXPECT_NEAR(probes / 400, kNumPaths, 1.5);
}

// Random scans, link changes and connections against a fabric that is known: what the map says to use leads there.
TEST(PortMapLawsTest, AnswersHoldThroughRandomChanges) {
  constexpr uint32_t kNumPaths = 4;
  Random random(41);
  PortMap map({.max_pairs = 3, .max_tables_per_pair = 2, .max_ports_per_table = 6});
  uint64_t fingerprint = 1;
  map.AdvanceEpoch(kLeaf, fingerprint);
  std::set<std::pair<uint32_t, uint16_t>> held;  // [source, port]
  int used = 0;
  int confirmed = 0;
  for (int64_t step = 0; step < 20'000; ++step) {
    const AddressPair pair = Pair(static_cast<uint32_t>(random.Below(5)));
    const auto wanted = static_cast<uint32_t>(random.Below(kNumPaths));
    const PortAnswer answer = map.FindPort(pair, wanted, kNumPaths);
    if (random.Below(20) == 0) {
      fingerprint = 1 + random.Below(3);
      map.AdvanceEpoch(kLeaf, fingerprint);
    } else if (answer.kind == Kind::kUse) {
      ASSERT_EQ(HashedPath(pair, answer.port, fingerprint, kNumPaths), wanted);
      ASSERT_TRUE(map.Reserve(pair, answer.port).ok());
      ASSERT_TRUE(held.emplace(pair.source_address, answer.port).second);
      ++used;
    } else if (answer.kind == Kind::kConfirm) {
      const uint32_t path = HashedPath(pair, answer.port, fingerprint, kNumPaths);
      ASSERT_EQ(path, wanted);  // the hash does follow from the fingerprint here
      Learn(&map, pair, answer.port, path, step);
      ASSERT_EQ(map.FindPort(pair, wanted, kNumPaths).kind, Kind::kUse);
      ++confirmed;
    } else {
      for (const uint16_t port : map.PortsToScan(pair, answer.num_ports)) {
        ASSERT_FALSE(held.contains({pair.source_address, port}));
        Learn(&map, pair, port, HashedPath(pair, port, fingerprint, kNumPaths), step);
      }
    }
    if (!held.empty() && random.Below(2) == 0) {
      const auto some = std::next(held.begin(), static_cast<std::ptrdiff_t>(random.Below(held.size())));
      ASSERT_TRUE(map.Release(Pair(some->first), some->second).ok());
      held.erase(some);
    }
    for (const auto& [source, port] : held) ASSERT_TRUE(map.IsReserved(Pair(source), port));
  }
  EXPECT_EQ(map.num_conflicts() + map.num_refuted() + map.num_stale() + map.num_late(), 0u);
  EXPECT_GT(used, 1000);
  EXPECT_GT(confirmed, 100);
}

// What a scan showed at once is what it showed port by port.
TEST(PortMapLawsTest, AScanAtOnceTeachesWhatItsPortsTeach) {
  Random random(43);
  PortMap at_once({.max_ports_per_table = 40});
  PortMap one_by_one({.max_ports_per_table = 40});
  for (int64_t step = 0; step < 3000; ++step) {
    if (random.Below(20) == 0) {
      const uint64_t fingerprint = 1 + random.Below(3);
      for (PortMap* map : {&at_once, &one_by_one}) map->AdvanceEpoch(kLeaf, fingerprint);
    }
    std::vector<SeenPort> scan;
    const uint64_t first = random.Below(60);
    for (uint64_t i = 0; i < 1 + random.Below(8); ++i) {
      // Rarely it leads elsewhere than it did.
      const auto path = static_cast<uint32_t>(((first + i) * 7 + (random.Below(50) == 0 ? 1 : 0)) % 5);
      scan.push_back({SteeringPort(first + i), path});
      Learn(&one_by_one, Pair(), scan.back().port, path, step);
    }
    random.Shuffle(std::span(scan));
    Learn(&at_once, Pair(), scan, step);
    for (uint32_t path = 0; path < 5; ++path) {
      ASSERT_EQ(at_once.Candidates(Pair(), path), one_by_one.Candidates(Pair(), path)) << step;
    }
  }
  EXPECT_GT(at_once.num_conflicts(), 0u);
  EXPECT_GT(at_once.num_refuted(), 0u);
  EXPECT_EQ(at_once.num_conflicts(), one_by_one.num_conflicts());
  EXPECT_EQ(at_once.num_refuted(), one_by_one.num_refuted());
}

}  // namespace
}  // namespace fairlead::traffic::c4p

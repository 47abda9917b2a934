// The live cores under faults on virtual time: laws hold, runs repeat themselves, and broken cores are caught.
#include "sim/chaos/chaos_run.h"

#include <gtest/gtest.h>

#include <atomic>

#include "sim/chaos/chaos_file.h"
#include "sim/chaos/chaos_search.h"

namespace fairlead::sim::chaos {
namespace {

const std::atomic<bool> kGoOn = false;

SearchOptions Search(uint64_t num_seeds) {
  SearchOptions options;
  options.num_seeds = num_seeds;
  options.kinds = AllFaultKinds();
  return options;
}

void ExpectLaws(const SearchOptions& options) {
  const SearchResult result = SearchChaos(options, kGoOn);
  EXPECT_EQ(result.num_runs, options.num_seeds);
  EXPECT_GT(result.num_opened, 10 * options.num_seeds);
  EXPECT_GT(result.num_moved, options.num_seeds);
  for (const FoundViolation& found : result.violations) {
    ADD_FAILURE() << "fairlead sim chaos --seed " << found.run.seed << ": " << found.violation.law << ": "
                  << found.violation.text;
  }
}

TEST(ChaosRunTest, WithoutFaultsLawsHold) {
  SearchOptions options = Search(20);
  options.kinds.clear();
  ExpectLaws(options);
}

// `fairlead sim chaos --seeds 10000` does more of it.
TEST(ChaosRunTest, UnderFaultsLawsHold) { ExpectLaws(Search(150)); }

// Seeds that broke laws in searches of 10,000: an agent of another version is refused while its job hangs, a member of
// the job lies while another one's agent is away, a kernel keeps rules of a connection that is over or whose agent has
// lost its state, an agent starts again after its clock was ahead for a second, a host boots while its peer's agent is
// away, a port is found while a link fails, a silent host comes back, a launcher starts a job that is being stopped,
// a request is refused while another host announces nothing of its job, an agent starts again while another host is
// the one that has died.
TEST(ChaosRunTest, SeedsThatBrokeLawsKeepThem) {
  const auto keeps_laws = [](uint64_t seed, uint32_t num_nic_ports) {
    SearchOptions options = Search(1);
    options.first_seed = seed;
    options.run.num_nic_ports = num_nic_ports;
    ExpectLaws(options);
  };
  for (const uint64_t seed :
       {203464, 206788, 207157, 208954, 305644, 307360, 307651, 602678, 604488, 606987, 1202319, 1300513})
    keeps_laws(seed, 1);
  for (const uint64_t seed : {402290, 701379, 702007, 1601296}) keeps_laws(seed, 2);
}

TEST(ChaosRunTest, BondedNicsKeepTheLaws) {
  SearchOptions options = Search(60);
  options.run.num_nic_ports = 2;
  ExpectLaws(options);
}

// Agents that say anything, impostors, clocks and versions, and nothing else: whatever happens is their doing.
TEST(ChaosRunTest, AdversariesHarmOnlyThemselves) {
  SearchOptions options = Search(60);
  options.kinds = {FaultKind::kLiar, FaultKind::kImpostor, FaultKind::kSkew, FaultKind::kVersion};
  ExpectLaws(options);
}

TEST(ChaosRunTest, OtherSizesKeepTheLaws) {
  for (const uint32_t num_hosts : {2u, 9u}) {
    SearchOptions options = Search(15);
    options.run.num_hosts = num_hosts;
    options.run.num_jobs = num_hosts;
    ExpectLaws(options);
  }
}

TEST(ChaosRunTest, RunsRepeatThemselves) {
  const SearchOptions options = Search(1);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const ChaosResult first = RunChaos(DrawRun(options, seed));
    const ChaosResult again = RunChaos(DrawRun(options, seed));
    EXPECT_EQ(first.hash, again.hash);
    EXPECT_EQ(first.num_events, again.num_events);
    EXPECT_NE(first.hash, RunChaos(DrawRun(options, seed + 100)).hash);
  }
}

TEST(ChaosRunTest, ASearchDoesNotDependOnItsThreads) {
  SearchOptions options = Search(6);
  options.num_threads = 1;
  const uint64_t hash = SearchChaos(options, kGoOn).hash;
  options.num_threads = 3;
  EXPECT_EQ(SearchChaos(options, kGoOn).hash, hash);
}

class BrokenCoreTest : public testing::TestWithParam<hosts::Sabotage> {};

TEST_P(BrokenCoreTest, IsCaught) {
  constexpr uint64_t kNumSeeds = 1000;
  SearchOptions options = Search(20);
  options.run.sabotage = GetParam();
  for (options.first_seed = 1; options.first_seed <= kNumSeeds; options.first_seed += options.num_seeds) {
    if (SearchChaos(options, kGoOn).num_violated > 0) return;
  }
  FAIL() << "no law was broken in " << kNumSeeds << " runs";
}

std::vector<hosts::Sabotage> AllSabotage() {
  std::vector<hosts::Sabotage> all;
  for (size_t s = 1; s < hosts::kSabotageNames.size(); ++s) all.push_back(static_cast<hosts::Sabotage>(s));
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, BrokenCoreTest, testing::ValuesIn(AllSabotage()), [](const auto& test) {
  std::string name;
  for (const char c : hosts::kSabotageNames[static_cast<size_t>(test.param)]) name += c == '-' ? '_' : c;
  return name;
});

TEST(ChaosRunTest, TheSmallestRunBreaksTheSameLaw) {
  SearchOptions options = Search(20);
  options.run.sabotage = hosts::Sabotage::kForgottenRules;
  const SearchResult result = SearchChaos(options, kGoOn);
  ASSERT_FALSE(result.violations.empty());
  const FoundViolation& found = result.violations.front();
  const FoundViolation smallest = Minimise(found, kGoOn);
  EXPECT_EQ(smallest.violation.law, found.violation.law);
  EXPECT_LT(smallest.run.faults.size(), found.run.faults.size());
  EXPECT_LE(2 * smallest.run.faults.size(), found.run.faults.size());
  EXPECT_EQ(RunChaos(smallest.run).violation, smallest.violation);
}

TEST(ChaosFileTest, AFileRepeatsItsRun) {
  const ChaosOptions run = DrawRun(Search(1), 77);
  const auto read = ParseChaosFile(WriteChaosFile(run), "chaos.yaml");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->faults, run.faults);
  EXPECT_EQ(RunChaos(*read).hash, RunChaos(run).hash);
}

TEST(ChaosFileTest, MistakesAreNamedWithTheirLine) {
  const auto error = [](const char* text) { return ParseChaosFile(text, "x.yaml").status().message(); };
  EXPECT_NE(error("chaos:\n  faults:\n    - {at: 1, kind: agnet}\n").find("x.yaml:3"), std::string::npos);
  EXPECT_NE(error("chaos:\n  faults:\n    - {at: 1, kind: agnet}\n").find("agent"), std::string::npos);
  EXPECT_NE(error("chaos:\n  faults:\n    - {at: 2, kind: host}\n    - {at: 1, kind: host}\n").find("x.yaml:4"),
            std::string::npos);
  EXPECT_NE(error("chaos:\n  hosts: 1\n").find("x.yaml:2"), std::string::npos);
  EXPECT_NE(error("chaos:\n  host: 3\n").find("hosts"), std::string::npos);
}

}  // namespace
}  // namespace fairlead::sim::chaos

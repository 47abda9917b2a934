// The experiments themselves: tables that fit their code, exact examples, laws of the micro-benchmark.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "experiment/experiment_report.h"
#include "experiment/experiment_runner.h"
#include "experiments/all_experiments.h"
#include "experiments/crux-near-optimality/case_search.h"
#include "experiments/crux-near-optimality/case_tests.h"
#include "experiments/crux-near-optimality/given_paths.h"
#include "experiments/crux-testbed/testbed_setup.h"
#include "scheduling/allocation_registry.h"

namespace fairlead::experiments {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const experiment::Experiment& Find(std::string_view name) {
  static const std::vector<experiment::Experiment> kAll = AllExperiments();
  for (const experiment::Experiment& entry : kAll) {
    if (entry.name == name) return entry;
  }
  FL_CHECK_MSG(false, "no such experiment");
  return kAll.front();
}

experiment::ExperimentResult RunReduced(std::string_view name, uint32_t num_threads = 2) {
  const std::atomic<bool> stop = false;
  experiment::RunOptions options;
  options.reduced = true;
  options.num_threads = num_threads;
  auto result = RunExperiment(Find(name), options, stop, nullptr);
  FL_CHECK_MSG(result.ok(), result.status().message());
  return std::move(*result);
}

double OursOf(const experiment::ExperimentResult& result, std::string_view row) {
  for (const experiment::ResultRow& candidate : result.rows) {
    if (candidate.published.name == row) return candidate.ours.value_or(std::nan(""));
  }
  ADD_FAILURE() << "no row " << row;
  return std::nan("");
}

TEST(AllExperimentsTest, EachHasAFolderWithItsPages) {
  std::set<std::string_view> names;
  for (const experiment::Experiment& entry : AllExperiments()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    const std::filesystem::path folder = std::filesystem::path(FAIRLEAD_SOURCE_DIR) / "experiments" / entry.name;
    EXPECT_TRUE(std::filesystem::exists(folder / "README.md")) << folder;
    const auto paper = PaperTableOf(entry);
    EXPECT_TRUE(paper.ok()) << paper.status().message();
  }
}

// A policy that is added has rows in the experiment that compares all of them, or that can't be run any more.
TEST(AllExperimentsTest, EveryAllocationPolicyHasItsRows) {
  const auto paper = PaperTableOf(Find("aiturbo-jct"));
  ASSERT_TRUE(paper.ok()) << paper.status().message();
  std::set<std::string> names;
  for (const experiment::PaperRow& row : paper->rows) names.insert(row.name);
  for (const std::string_view policy : scheduling::AllocationPolicyNames()) {
    for (const char* const label : {"generated", "benchmark"}) {
      EXPECT_TRUE(names.contains(fmt::format("{}, {}: mean JCT", label, policy))) << policy;
      EXPECT_TRUE(names.contains(fmt::format("{}, {}: restarts per job", label, policy))) << policy;
    }
    for (int w = 1; w <= 4; ++w) {
      EXPECT_TRUE(names.contains(fmt::format("benchmark {}, {}: mean JCT", w, policy))) << policy;
    }
  }
}

// Every row of the examples that has a published value meets it to the digits that are printed.
TEST(CruxExamplesTest, MeetsEveryPublishedNumber) {
  const experiment::ExperimentResult result = RunReduced("crux-examples");
  for (const experiment::ResultRow& row : result.rows) {
    ASSERT_TRUE(row.ours.has_value()) << row.published.name;
    EXPECT_NEAR(*row.ours, row.published.paper.value_or(*row.ours), 0.005) << row.published.name;
  }
}

// Where nothing is oversubscribed and the fabric divides every flow evenly, jobs do not hold each other up in the
// network: no order can win anything, and paths that are all free win what an even division wins.
TEST(SprayingTest, WithoutOversubscriptionNothingIsLeftToOrder) {
  const experiment::ExperimentResult result = RunReduced("spraying");
  EXPECT_NEAR(OursOf(result, "1:1: crux+spray - spray"), 0, 1e-9);
  EXPECT_NEAR(OursOf(result, "1:1: crux+ethereal - ethereal"), 0, 1e-9);
  EXPECT_NEAR(OursOf(result, "1:1: c4p - ecmp"), OursOf(result, "1:1: ethereal - ecmp"), 1e-6);
  EXPECT_GT(OursOf(result, "8:1: c4p - ecmp"), 1);
  EXPECT_NE(OursOf(result, "8:1: crux+spray - spray"), 0);
}

// A rack has eight hosts: so many torn segments are never too many, nothing moves, and perfect paths are left. Fewer
// move more jobs.
TEST(MonkeyTreeExperimentTest, TheBoundDecidesHowMuchMoves) {
  const experiment::ExperimentResult result = RunReduced("monkey-tree");
  const auto at_full_load = [&](const std::string& row) { return OursOf(result, "load 1.0: " + row); };
  EXPECT_EQ(at_full_load("8 torn segments a rack, jobs moved"), 0);
  for (const std::string what : {", mean slowdown", ", p99 slowdown"}) {
    EXPECT_EQ(at_full_load("8 torn segments a rack" + what), at_full_load("perfect paths" + what));
    EXPECT_EQ(at_full_load("2 torn segments a rack" + what), at_full_load("MonkeyTree" + what))
        << "there are 16 spines";
  }
  EXPECT_GT(at_full_load("2 torn segments a rack, jobs moved"), at_full_load("4 torn segments a rack, jobs moved"));
  EXPECT_LT(at_full_load("MonkeyTree, mean slowdown"), at_full_load("MonkeyTree and ecmp, mean slowdown"));
  EXPECT_LT(at_full_load("MonkeyTree and ecmp, mean slowdown"), at_full_load("ecmp, mean slowdown"));
}

// What counting paths says; and Ethereal's theorem.
TEST(SprayedFailuresTest, LossesAreTheSharesOfWhatIsLost) {
  const experiment::ExperimentResult result = RunReduced("sprayed-failures");
  for (const experiment::ResultRow& row : result.rows) {
    ASSERT_TRUE(row.ours.has_value() && std::isfinite(*row.ours)) << row.published.name;
  }
  EXPECT_NEAR(OursOf(result, "two NICs of 8 x 100G: rate"), 0.96 * 800, 1e-4);
  EXPECT_NEAR(OursOf(result, "a port of a NIC lost"), -100.0 / 8, 1e-4);
  EXPECT_NEAR(OursOf(result, "an uplink of 32 x 800G lost"), -100.0 / 32, 1e-4);
  EXPECT_NEAR(OursOf(result, "an uplink of 256 x 100G lost"), -100.0 / 256, 1e-4);
  EXPECT_NEAR(OursOf(result, "a spine of 256 lost for 2 min"), -100.0 / 256, 1e-4);
  EXPECT_NEAR(OursOf(result, "4 of 8 ports of a NIC flap"), -100.0 / 2 / 2, 1e-4);
  EXPECT_NEAR(OursOf(result, "4 of 32 uplinks flap"), -100.0 / 8 / 2, 1e-4);
  EXPECT_NEAR(OursOf(result, "4 of 256 uplinks flap"), -100.0 / 64 / 2, 1e-4);
  for (const auto& [preset, detect_us] :
       {std::pair("none", 0.0), {"mrc", 50}, {"uec", 100}, {"spectrumx", 1e3}, {"blind", 1e6}}) {
    // Instants are whole nanoseconds.
    EXPECT_NEAR(OursOf(result, fmt::format("until an uplink of 32 is known to be lost, {}", preset)), detect_us / 32,
                0.01);
  }
  const auto ring = [&](const std::string& row) {
    return OursOf(result, "ring of 64, each hop across leaves: " + row);
  };
  EXPECT_NEAR(ring("MRC, 1 queue pair"), 96, 1e-4);
  EXPECT_GT(ring("MRC, 1 queue pair"), ring("hashes, 16 queue pairs") + 10);
  EXPECT_GT(ring("hashes, 16 queue pairs"), ring("hashes, 1 queue pair") + 10);
  // Four hops cross leaves, each from a leaf of its own to one of its own.
  EXPECT_NEAR(OursOf(result, "ring of 64, leaf by leaf: hashes, 1 queue pair"), 100, 1e-4);
  EXPECT_NEAR(OursOf(result, "incast of 7, MRC: victim"), 0, 1e-4);
  EXPECT_LT(OursOf(result, "incast of 7, hashes, 1 queue pair: victim"), -1);
  for (const std::string pattern : {"direct", "ring", "double tree", "halving-doubling, a round across leaves"}) {
    EXPECT_NEAR(OursOf(result, pattern + ": splits against spray"), 0, 1e-3) << pattern;
    EXPECT_NEAR(OursOf(result, pattern + ", an uplink lost: splits against spray"), 0, 1e-3) << pattern;
    EXPECT_NEAR(OursOf(result, pattern + ": fullest link, splits over spray"), 1, 1e-9) << pattern;
  }
  // One flow over 16 paths; 16 flows to each of the other leaves.
  EXPECT_EQ(OursOf(result, "ring: flows that splits add to a NIC"), 15);
  EXPECT_EQ(OursOf(result, "direct: flows that splits add to a NIC"), 0);
  EXPECT_LT(OursOf(result, "halving-doubling, a round across leaves: splits against hashes"), -50);
}

// On one spine nobody can choose a path; what the traffic policies can do is wait, give way, or be elsewhere.
TEST(CassiniExperimentTest, PlacesAreChosenOnlyWhereThereAreSeveral) {
  const experiment::ExperimentResult result = RunReduced("cassini");
  for (const experiment::ResultRow& row : result.rows) {
    ASSERT_TRUE(row.ours.has_value()) << row.published.name;
    if (row.published.name.ends_with("over alone") && row.published.name.find("gain") == std::string::npos) {
      EXPECT_GE(*row.ours, 1 - 1e-6) << row.published.name;
    }
  }
  for (const std::string network : {"48 cables", "one spine"}) {
    const auto placed = [&](const std::string& placement, const std::string& row) {
      return OursOf(result, network + ", " + placement + ": placements and shifts, " + row);
    };
    // Locality keeps small jobs where few places are as good, and the cluster is full at times.
    EXPECT_LT(placed("locality-first", "jobs with a choice"), placed("random", "jobs with a choice"));
    EXPECT_GT(placed("random", "jobs elsewhere"), 0);
    // Rings over drawn hosts cross most leaves, and meet in several of them.
    EXPECT_GT(placed("random", "places with a loop"), placed("locality-first", "places with a loop"));
    EXPECT_GT(OursOf(result, network + ", random: scheduler alone, mean over alone"),
              OursOf(result, network + ", locality-first: scheduler alone, mean over alone"));
  }
}

// Section 5 of the specification, worked by hand.
TEST(CruxExamplesTest, MeetsTheNumbersWorkedByHand) {
  const experiment::ExperimentResult result = RunReduced("crux-examples");
  // Example 1 repeats every 12 s: 5 and 50 times the gains of 12 s, (2, 3).
  EXPECT_NEAR(OursOf(result, "fig 11, 60 s: d_1"), 10, 1e-6);
  EXPECT_NEAR(OursOf(result, "fig 11, 60 s: d_2"), 15, 1e-6);
  EXPECT_NEAR(OursOf(result, "fig 11, 600 s: d_1"), 100, 1e-6);
  EXPECT_NEAR(OursOf(result, "fig 11, 600 s: d_2"), 150, 1e-6);
  EXPECT_NEAR(OursOf(result, "fig 11, 600 s: k_2"), 1.5, 1e-6);
  EXPECT_NEAR(OursOf(result, "fig 11, 4x4 phases: k_2"), 2.9375 / 2, 1e-6);
  // Example 2 falls into perfect interleaving: the gain stays that of the first seconds.
  EXPECT_NEAR(OursOf(result, "fig 12, 600 s: d_1"), 0, 1e-6);
  EXPECT_NEAR(OursOf(result, "fig 12, 600 s: d_2"), 2, 1e-6);
  EXPECT_NEAR(OursOf(result, "fig 12, both at 50 %: d_2"), 0, 1e-6);
  EXPECT_NEAR(OursOf(result, "fig 12, 4x4 phases: k_2"), 3, 1e-6);
  EXPECT_NEAR(OursOf(result, "fig 12, both at 0, J1 first: utilization"), 100 * (2 * 12 + 12 * 6) / 168.0, 1e-6);
  EXPECT_NEAR(OursOf(result, "fig 12, both at 0, J2 first: utilization"), 100 * (2 * 11 + 12 * 6) / 168.0, 1e-6);
  // Figure 13: 4 + 2. Figure 14: J1 cuts four edges of 5, J5 one of 4, J2 one of 2.
  EXPECT_EQ(OursOf(result, "fig 13, crux: weight cut"), 6);
  EXPECT_EQ(OursOf(result, "fig 14, crux: weight cut"), 26);
  EXPECT_EQ(OursOf(result, "fig 14: weight of the worst order"), 24);
  for (const char* figure : {"fig 13", "fig 14"}) {
    EXPECT_EQ(OursOf(result, std::string(figure) + ": optimal orders"), 4);
    EXPECT_DOUBLE_EQ(OursOf(result, std::string(figure) + ": chance of one random order"), 0.5);
  }
}

namespace near = crux_near_optimality;

// Ten cases: no decision beats the optimum or falls behind the worst one, and Crux comes within 5 %.
TEST(AiturboExampleTest, MeetsEveryNumberOfTheSlideAndThoseWorkedByHand) {
  const experiment::ExperimentResult result = RunReduced("aiturbo-example");
  for (const experiment::ResultRow& row : result.rows) {
    ASSERT_TRUE(row.ours.has_value()) << row.published.name;
    EXPECT_NEAR(*row.ours, row.published.paper.value_or(*row.ours), 1e-9) << row.published.name;
  }
  EXPECT_NEAR(OursOf(result, "total after A gives B a gpu"), 42, 1e-9);
  EXPECT_EQ(OursOf(result, "A: GPUs after the round"), 3);
  EXPECT_EQ(OursOf(result, "B: GPUs after the round"), 1);
}

TEST(NearOptimalityTest, NothingBeatsTheOptimum) {
  constexpr uint64_t kNumCases = 10;
  std::array<double, near::kNumTests> crux{};
  for (uint64_t seed = 1; seed <= kNumCases; ++seed) {
    const near::CaseResult result = near::RunCase(seed);
    EXPECT_GT(result.optimum, 0);
    EXPECT_LE(result.optimum, 1);
    for (size_t t = 0; t < near::kNumTests; ++t) {
      const auto test = static_cast<near::MechanismTest>(t);
      const double worst = result.Error(test, near::Method::kWorst);
      for (size_t m = 0; m < near::kNumMethods; ++m) {
        const double error = result.Error(test, static_cast<near::Method>(m));
        if (std::isnan(error)) continue;
        EXPECT_GE(error, -near::kTie) << "seed " << seed << ", test " << t << ", method " << m;
        // Levels of a rank rule may not reverse any two jobs either, so they are among those that the worst is taken
        // from.
        EXPECT_LE(error, worst + near::kTie) << "seed " << seed << ", test " << t << ", method " << m;
      }
      crux[t] += 1 - result.Error(test, near::Method::kCrux);
    }
  }
  for (const double share : crux) EXPECT_GE(share / kNumCases, 0.95);
}

// With given paths no order beats the best one or falls behind the worst, and own levels are never better than the best
// cut of the order that they keep. Orders must matter: otherwise the rows say nothing.
TEST(NearOptimalityTest, GivenPathsTellOrdersApart) {
  constexpr uint64_t kNumCases = 12;
  constexpr auto kWorst = static_cast<size_t>(near::GivenOrder::kWorst);
  constexpr auto kRandom = static_cast<size_t>(near::GivenOrder::kRandom);
  std::array<double, near::kNumGivenPaths> worst{};
  std::array<double, near::kNumGivenPaths> crux{};
  for (uint64_t seed = 1; seed <= kNumCases; ++seed) {
    const auto results = near::RunGivenPaths(seed);
    for (size_t given = 0; given < near::kNumGivenPaths; ++given) {
      const near::GivenPathsResult& result = results[given];
      for (const auto& errors : {result.order, result.best_cut}) {
        for (const double error : errors) {
          EXPECT_GE(error, -near::kTie) << "seed " << seed;
          EXPECT_LE(error, errors[kWorst] + near::kTie) << "seed " << seed;
        }
        EXPECT_LE(errors[kRandom], errors[kWorst] + near::kTie);
      }
      for (size_t i = 0; i < kRandom; ++i) EXPECT_GE(result.own_cut[i], result.best_cut[i] - near::kTie);
      for (const double error : result.levels) {
        EXPECT_GE(error, result.best_cut[0] - near::kTie);
        EXPECT_LE(error, result.levels.back() + near::kTie);
      }
      worst[given] += result.order[kWorst] / kNumCases;
      crux[given] += result.order[0] / kNumCases;
    }
  }
  for (size_t given = 0; given < near::kNumGivenPaths; ++given) {
    EXPECT_GT(worst[given], 0.02) << near::kGivenPathsNames[given];
    EXPECT_LT(crux[given], worst[given] / 4) << near::kGivenPathsNames[given];
  }
}

// The sum over groups is what all five jobs do together: a plan whose jobs all take one switch and one level is
// simulated as the groups that the simulator finds, and mirroring the two switches changes nothing.
TEST(NearOptimalityTest, MirrorImagesAreEqual) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const near::RandomCase drawn = near::DrawCase(seed);
    near::GroupSimulation groups(drawn);
    near::CaseSearch search(drawn);
    const near::Levels levels = {0, 1, 2, 1, 0};
    for (const near::PathChoice& choice : search.choices()) {
      near::PathChoice mirrored{};
      for (size_t j = 0; j < near::kNumJobs; ++j) mirrored[j] = drawn.jobs[j].has_choice() ? 1 - choice[j] : 0;
      double busy = 0;
      double held = 0;
      for (const auto& group : groups.FindGroups(mirrored)) busy += groups.BusyGpuSeconds(group, mirrored, levels);
      for (const near::CaseJob& job : drawn.jobs) held += job.num_gpus * (near::kHorizonS - near::kWarmUpS);
      EXPECT_NEAR(search.Utilization(choice, levels), busy / held, 1e-9);
    }
  }
}

TEST(NearOptimalityTest, SameNumbersAtAnyNumberOfThreads) {
  report::Json one = ToJson(RunReduced("crux-near-optimality", 1));
  report::Json three = ToJson(RunReduced("crux-near-optimality", 3));
  one.erase("wall_s");
  three.erase("wall_s");
  EXPECT_EQ(one.dump(), three.dump());
}

TEST(NearOptimalityTest, CasesKeepTheGivenRanges) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const near::RandomCase drawn = near::DrawCase(seed);
    EXPECT_GE(drawn.fabric.num_hosts(), 12u);
    EXPECT_LE(drawn.fabric.num_hosts(), 20u);
    uint32_t num_gpus = 0;
    for (const near::CaseJob& job : drawn.jobs) {
      num_gpus += job.num_gpus;
      EXPECT_GE(job.num_gpus, 1u);
      EXPECT_LE(job.num_gpus, 48u);
      EXPECT_GE(job.iteration.compute_time.value(), 0.1);
      EXPECT_LE(job.iteration.compute_time.value(), 2.0);
    }
    EXPECT_LE(num_gpus, drawn.fabric.num_gpus());
  }
}

TEST(CruxTestbedTest, SetupErrorsNameTheLine) {
  const auto message = [](const std::string& yaml) {
    return crux_testbed::ParseTestbedSetup(yaml, "setup.yaml").status().message();
  };
  const std::string head =
      "connections_per_gpu: 1\ngroups:\n  a: {M: {compute_s: 1, communication_s: 1, start_fraction: 1, tflops: "
      "1}}\ncases:\n";
  EXPECT_THAT(message(head + "  - {name: c, group: b, jobs: []}\n"),
              AllOf(HasSubstr("setup.yaml:5"), HasSubstr("'b'")));
  EXPECT_THAT(message(head + "  - {name: c, group: a, jobs: [{model: N, hosts: [0], gpus: [0]}]}\n"), HasSubstr("'N'"));
  EXPECT_THAT(message(head + "  - {name: c, group: a, jobs: [{model: M, hosts: [0], gpus: [8]}]}\n"),
              HasSubstr("gpus"));
}

// Two policies on the same cases: with Crux no job is better off than alone by more than the simulator's 1 %.
TEST(CruxTestbedTest, StaysWithinTheIdeal) {
  const experiment::ExperimentResult result = RunReduced("crux-testbed");
  size_t num_cases = 0;
  for (const experiment::ResultRow& row : result.rows) {
    const std::string& name = row.published.name;
    const size_t at = name.find(": with");
    if (at == std::string::npos || name.substr(at) != ": with") continue;
    const std::string prefix = name.substr(0, at);
    ++num_cases;
    EXPECT_LE(*row.ours, OursOf(result, prefix + ": ideal") * 1.01) << prefix;
    EXPECT_LE(OursOf(result, prefix + ": without"), OursOf(result, prefix + ": ideal") * 1.01) << prefix;
    EXPECT_NEAR(OursOf(result, prefix + ": gain"), 100 * (*row.ours - OursOf(result, prefix + ": without")), 1e-6);
  }
  EXPECT_EQ(num_cases, 10u);
}

}  // namespace
}  // namespace fairlead::experiments

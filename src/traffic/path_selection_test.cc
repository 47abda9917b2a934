#include "traffic/path_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "traffic/traffic_example.h"

namespace fairlead::traffic {
namespace {

constexpr LinkId Link(uint32_t i) { return LinkId(i); }

OwnLinks MakeLinks(const std::vector<double>& capacities) {
  OwnLinks links;
  for (const double capacity : capacities) links.Add(capacity, topology::LinkTier::kLeafSpine);
  return links;
}

// Candidates that a test writes down, by source and destination: all of one length, no common ends unless given.
class Candidates {
 public:
  struct Ways {
    std::vector<LinkId> head, middles, tail;
    size_t middle_length = 1;
  };

  void Set(uint32_t source, uint32_t destination, Ways ways) { ways_[{source, destination}] = std::move(ways); }

  topology::PathCandidates operator()(const model::FlowDemand& flow) const {
    topology::PathCandidates result;
    const auto found = ways_.find({flow.source.value(), flow.destination.value()});
    if (found == ways_.end()) return result;
    const Ways& ways = found->second;
    result.head = ways.head;
    result.tail = ways.tail;
    result.middles = ways.middles;
    result.middle_length = ways.middle_length;
    result.num_candidates = ways.middles.size() / ways.middle_length;
    result.num_paths = result.num_candidates;
    return result;
  }

 private:
  std::map<std::pair<uint32_t, uint32_t>, Ways> ways_;
};

model::FlowDemand Flow(uint32_t source, uint32_t destination, double bytes) {
  return {GpuId(source), GpuId(destination), Bytes(bytes), 0};
}

// A job of one flow between GPUs 0 and 1.
struct OneFlowJob {
  OneFlowJob(double intensity_value, double rate) : intensity(intensity_value), flows{Flow(0, 1, rate)} {}
  PathRequest Request(uint32_t id) const { return {JobId(id), intensity, Seconds(1), flows, in_force}; }
  double intensity;
  std::vector<model::FlowDemand> flows;
  std::vector<model::Path> in_force;
};

// Two paths, one link each.
Candidates TwoPaths() {
  Candidates candidates;
  candidates.Set(0, 1, {{}, {Link(0), Link(1)}, {}});
  return candidates;
}

model::Path OnLink(uint32_t link) { return {Link(link)}; }

TEST(PathSelectionTest, WorkedExample) {
  // Two paths of capacity 1; (I, rate) = (3, .6), (2, .5), (1, .4). Job 0: path 0 at .6. Job 1: 1.1 against .5, path 1.
  // Job 2: path 0 would be at 1.0, path 1 at .9: path 1.
  const std::vector<OneFlowJob> jobs = {{3, 0.6}, {2, 0.5}, {1, 0.4}};
  const std::vector<PathRequest> requests = {jobs[0].Request(0), jobs[1].Request(1), jobs[2].Request(2)};
  const PathSelection selection = SelectPaths(requests, MakeLinks({1, 1}), TwoPaths(), {});
  EXPECT_EQ(selection.paths[0][0], OnLink(0));
  EXPECT_EQ(selection.paths[1][0], OnLink(1));
  EXPECT_EQ(selection.paths[2][0], OnLink(1));
  EXPECT_DOUBLE_EQ(selection.load(Link(0)), 0.6);
  EXPECT_DOUBLE_EQ(selection.load(Link(1)), 0.9);
}

TEST(PathSelectionTest, IntensityComesBeforePlaceInTheList) {
  // The same jobs, listed the other way round.
  const std::vector<OneFlowJob> jobs = {{1, 0.4}, {2, 0.5}, {3, 0.6}};
  const std::vector<PathRequest> requests = {jobs[0].Request(0), jobs[1].Request(1), jobs[2].Request(2)};
  const PathSelection selection = SelectPaths(requests, MakeLinks({1, 1}), TwoPaths(), {});
  EXPECT_EQ(selection.paths[2][0], OnLink(0));
  EXPECT_EQ(selection.paths[1][0], OnLink(1));
  EXPECT_EQ(selection.paths[0][0], OnLink(1));
}

TEST(PathSelectionTest, TwoJobsAndTwoPathsEndDisjoint) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const OneFlowJob a(random.Uniform(1, 5), random.Uniform(0.01, 2));
    const OneFlowJob b(random.Uniform(1, 5), random.Uniform(0.01, 2));
    const std::vector<PathRequest> requests = {a.Request(0), b.Request(1)};
    for (const CongestionMeasure measure :
         {CongestionMeasure::kRate, CongestionMeasure::kBytes, CongestionMeasure::kHigherJobs}) {
      for (const PathUnit unit : {PathUnit::kFlow, PathUnit::kJob}) {
        const PathSelection selection = SelectPaths(requests, MakeLinks({1, 1}), TwoPaths(), {unit, measure, 0});
        EXPECT_NE(selection.paths[0][0], selection.paths[1][0]) << "seed " << seed;
      }
    }
  }
}

TEST(PathSelectionTest, EqualIntensitiesGoById) {
  const OneFlowJob job(1, 0.5);
  const std::vector<PathRequest> requests = {job.Request(9), job.Request(4)};
  const PathSelection selection = SelectPaths(requests, MakeLinks({1, 1}), TwoPaths(), {});
  EXPECT_EQ(selection.paths[1][0], OnLink(0));
  EXPECT_EQ(selection.paths[0][0], OnLink(1));
}

TEST(PathSelectionTest, BigFlowsChooseFirst) {
  // One job with flows of 1, 5 and 3 bytes. 5 -> path 0; 3 -> path 1 (3 against 8); 1 -> path 1 (6 against 4).
  OneFlowJob job(1, 0);
  job.flows = {Flow(0, 1, 1), Flow(0, 1, 5), Flow(0, 1, 3)};
  const PathSelection selection = SelectPaths(std::vector{job.Request(0)}, MakeLinks({1, 1}), TwoPaths(), {});
  EXPECT_EQ(selection.paths[0], (std::vector<model::Path>{OnLink(1), OnLink(0), OnLink(1)}));
}

TEST(PathSelectionTest, FasterLinksTakeMore) {
  // Capacities 1 and 4. Equal rates 1: path 1 at 1/4, 2/4, 3/4, then path 1 at 4/4 ties path 0 at 1/1; sums tie too;
  // index 0.
  const OneFlowJob job(1, 1);
  std::vector<PathRequest> requests;
  for (uint32_t id = 0; id < 4; ++id) requests.push_back(job.Request(id));
  const PathSelection selection = SelectPaths(requests, MakeLinks({1, 4}), TwoPaths(), {});
  EXPECT_EQ(selection.paths[0][0], OnLink(1));
  EXPECT_EQ(selection.paths[1][0], OnLink(1));
  EXPECT_EQ(selection.paths[2][0], OnLink(1));
  EXPECT_EQ(selection.paths[3][0], OnLink(0));
}

TEST(PathSelectionTest, TheSumBreaksTiesOfTheWorstLink) {
  // Both paths share the narrow link 0 (the worst either way); behind it link 1 is loaded by job 0 and link 2 is not.
  Candidates candidates;
  candidates.Set(0, 1, {{Link(0)}, {Link(1), Link(2)}, {}});
  candidates.Set(2, 3, {{}, {Link(1)}, {}});
  OneFlowJob heavy(5, 1);
  heavy.flows = {Flow(2, 3, 1)};
  const OneFlowJob light(1, 1);
  const PathSelection selection =
      SelectPaths(std::vector{heavy.Request(0), light.Request(1)}, MakeLinks({0.1, 10, 10}), candidates, {});
  EXPECT_EQ(selection.paths[1][0], (model::Path{Link(0), Link(2)}));
}

TEST(PathSelectionTest, AFlowThatIsCutOffGetsNoPath) {
  OneFlowJob job(1, 1);
  job.flows = {Flow(7, 8, 1), Flow(0, 1, 1)};
  for (const PathUnit unit : {PathUnit::kFlow, PathUnit::kJob}) {
    const PathSelection selection =
        SelectPaths(std::vector{job.Request(0)}, MakeLinks({1, 1}), TwoPaths(), {unit, CongestionMeasure::kRate, 0});
    EXPECT_TRUE(selection.paths[0][0].empty());
    EXPECT_EQ(selection.paths[0][1], OnLink(0));
  }
}

TEST(PathSelectionTest, ADeadLinkIsTheLastChoice) {
  const OneFlowJob job(1, 1);
  const PathSelection selection = SelectPaths(std::vector{job.Request(0)}, MakeLinks({0, 1}), TwoPaths(), {});
  EXPECT_EQ(selection.paths[0][0], OnLink(1));
}

TEST(PathSelectionTest, PerJobAllFlowsTakeOneIndex) {
  // Two flows with two candidates each. Another job loads link 0 (index 0 of the first flow). Index 1 costs max(1, 1);
  // index 0 would cost max(2, 1).
  Candidates candidates = TwoPaths();
  candidates.Set(2, 3, {{}, {Link(2), Link(3)}, {}});
  candidates.Set(4, 5, {{}, {Link(0)}, {}});
  OneFlowJob other(5, 1);
  other.flows = {Flow(4, 5, 1)};
  OneFlowJob job(1, 1);
  job.flows = {Flow(0, 1, 1), Flow(2, 3, 1)};
  const std::vector<PathRequest> requests = {other.Request(0), job.Request(1)};
  const OwnLinks links = MakeLinks({1, 1, 1, 1});
  const PathSelection per_job = SelectPaths(requests, links, candidates, {PathUnit::kJob, CongestionMeasure::kRate, 0});
  EXPECT_EQ(per_job.paths[1], (std::vector<model::Path>{OnLink(1), OnLink(3)}));
  const PathSelection per_flow = SelectPaths(requests, links, candidates, {});
  EXPECT_EQ(per_flow.paths[1], (std::vector<model::Path>{OnLink(1), OnLink(2)}));
}

TEST(PathSelectionTest, MeasuresDiffer) {
  // Job 0 sends 4 bytes in 10 s, job 1 sends 1 byte in 1 s, each tied to its own link; job 2 may choose.
  // Rates .4 and 1: link 0. Bytes 4 and 1: link 1. Jobs 1 and 1: a tie, link 0.
  Candidates candidates = TwoPaths();
  candidates.Set(2, 3, {{}, {Link(0)}, {}});
  candidates.Set(4, 5, {{}, {Link(1)}, {}});
  const std::vector<model::FlowDemand> slow = {Flow(2, 3, 4)};
  const std::vector<model::FlowDemand> fast = {Flow(4, 5, 1)};
  const OneFlowJob chooser(1, 1);
  const std::vector<PathRequest> requests = {
      {JobId(0u), 9, Seconds(10), slow, {}}, {JobId(1u), 8, Seconds(1), fast, {}}, chooser.Request(2)};
  const auto choose = [&](CongestionMeasure measure) {
    return SelectPaths(requests, MakeLinks({1, 1}), candidates, {PathUnit::kFlow, measure, 0}).paths[2][0];
  };
  EXPECT_EQ(choose(CongestionMeasure::kRate), OnLink(0));
  EXPECT_EQ(choose(CongestionMeasure::kBytes), OnLink(1));
  EXPECT_EQ(choose(CongestionMeasure::kHigherJobs), OnLink(0));
}

TEST(PathSelectionTest, CountingJobsIgnoresHowManyFlowsTheyHave) {
  // Job 0 has three flows on link 0 and one on link 1; both links carry one job, so job 1 takes index 0 and job 2 the
  // other.
  Candidates candidates = TwoPaths();
  candidates.Set(2, 3, {{}, {Link(0)}, {}});
  candidates.Set(4, 5, {{}, {Link(1)}, {}});
  OneFlowJob wide(9, 1);
  wide.flows = {Flow(2, 3, 1), Flow(2, 3, 1), Flow(2, 3, 1), Flow(4, 5, 1)};
  const OneFlowJob narrow(1, 1);
  const std::vector<PathRequest> requests = {wide.Request(0), narrow.Request(1), narrow.Request(2)};
  const PathSelection selection =
      SelectPaths(requests, MakeLinks({1, 1}), candidates, {PathUnit::kFlow, CongestionMeasure::kHigherJobs, 0});
  EXPECT_EQ(selection.paths[1][0], OnLink(0));
  EXPECT_EQ(selection.paths[2][0], OnLink(1));
  EXPECT_EQ(selection.load(Link(0)), 2);
  EXPECT_EQ(selection.load(Link(1)), 2);
}

TEST(PathSelectionTest, HysteresisKeepsAPathThatIsNotMuchWorse) {
  // Link 0 has load .5 of another job: staying costs 1.0, moving .5; an improvement by half.
  Candidates candidates = TwoPaths();
  candidates.Set(2, 3, {{}, {Link(0)}, {}});
  OneFlowJob other(9, 0.5);
  other.flows = {Flow(2, 3, 0.5)};
  OneFlowJob job(1, 0.5);
  job.in_force = {OnLink(0)};
  const std::vector<PathRequest> requests = {other.Request(0), job.Request(1)};
  for (const PathUnit unit : {PathUnit::kFlow, PathUnit::kJob}) {
    const auto choose = [&](double hysteresis) {
      return SelectPaths(requests, MakeLinks({1, 1}), candidates, {unit, CongestionMeasure::kRate, hysteresis})
          .paths[1][0];
    };
    EXPECT_EQ(choose(0), OnLink(1));
    EXPECT_EQ(choose(0.4), OnLink(1));
    EXPECT_EQ(choose(0.6), OnLink(0));
  }
}

TEST(PathSelectionTest, APathThatIsNoCandidateIsLeft) {
  OneFlowJob job(1, 0.5);
  job.in_force = {OnLink(7)};
  const PathSelection selection = SelectPaths(std::vector{job.Request(0)}, MakeLinks({1, 1}), TwoPaths(),
                                              {PathUnit::kFlow, CongestionMeasure::kRate, 0.9});
  EXPECT_EQ(selection.paths[0][0], OnLink(0));
}

// A random instance: eight links, pairs of GPUs with random ways of two links between common ends.
struct Instance {
  explicit Instance(uint64_t seed) {
    Random random(seed);
    std::vector<double> capacities;
    capacities.reserve(10);
    for (int i = 0; i < 10; ++i) capacities.push_back(random.Uniform(0.5, 2));
    links = MakeLinks(capacities);
    for (uint32_t pair = 0; pair < 4; ++pair) {
      Candidates::Ways ways;
      ways.head = {Link(8)};
      ways.tail = {Link(9)};
      ways.middle_length = 2;
      const uint64_t num_links = 2 * (1 + random.Below(4));
      for (uint64_t i = 0; i < num_links; ++i) {
        ways.middles.emplace_back(static_cast<uint32_t>(random.Below(8)));
      }
      candidates.Set(pair, pair + 100, ways);
    }
    for (uint32_t j = 0; j < 5; ++j) {
      OneFlowJob& job = jobs.emplace_back(random.Uniform(1, 9), 0);
      job.flows.clear();
      for (uint64_t f = 0; f < 1 + random.Below(4); ++f) {
        const auto pair = static_cast<uint32_t>(random.Below(4));
        job.flows.push_back(Flow(pair, pair + 100, random.Uniform(0.1, 2)));
      }
    }
    for (uint32_t j = 0; j < 5; ++j) requests.push_back(jobs[j].Request(j));
  }

  OwnLinks links;
  Candidates candidates;
  std::vector<OneFlowJob> jobs;
  std::vector<PathRequest> requests;
};

// Replays a selection flow by flow: every path is a candidate, no other had a smaller worst link, and the loads add up.
TEST(PathSelectionTest, EveryChoiceWasTheLeastCongestedAtItsMoment) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Instance instance(seed);
    const PathSelection selection = SelectPaths(instance.requests, instance.links, instance.candidates, {});
    std::vector<size_t> by_intensity(5);
    std::iota(by_intensity.begin(), by_intensity.end(), 0u);
    std::sort(by_intensity.begin(), by_intensity.end(),
              [&](size_t a, size_t b) { return instance.jobs[a].intensity > instance.jobs[b].intensity; });
    std::vector<double> loads(10, 0.0);
    const auto worst_of = [&](const model::Path& path, double rate) {
      double worst = 0;
      for (const LinkId link : path) {
        worst = std::max(worst, (loads[link.index()] + rate) / instance.links.capacities[link].value());
      }
      return worst;
    };
    for (const size_t j : by_intensity) {
      const std::vector<model::FlowDemand>& flows = instance.jobs[j].flows;
      std::vector<size_t> by_size(flows.size());
      std::iota(by_size.begin(), by_size.end(), 0u);
      std::sort(by_size.begin(), by_size.end(), [&](size_t a, size_t b) { return flows[a].bytes > flows[b].bytes; });
      for (const size_t f : by_size) {
        const double rate = flows[f].bytes.value();
        const model::Path& chosen = selection.paths[j][f];
        const topology::PathCandidates candidates = instance.candidates(flows[f]);
        bool is_candidate = false;
        for (size_t p = 0; p < candidates.size(); ++p) {
          is_candidate = is_candidate || candidates.Path(p) == chosen;
          EXPECT_LE(worst_of(chosen, rate), worst_of(candidates.Path(p), rate) * (1 + 1e-9)) << "seed " << seed;
        }
        EXPECT_TRUE(is_candidate) << "seed " << seed;
        for (const LinkId link : chosen) loads[link.index()] += rate;
      }
    }
    for (uint32_t link = 0; link < 10; ++link) EXPECT_NEAR(selection.load(Link(link)), loads[link], 1e-12);
  }
}

TEST(PathSelectionTest, ScalingCapacitiesAndBytesChangesNoPath) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Instance instance(seed);
    Instance scaled(seed);
    for (BytesPerSecond& capacity : scaled.links.capacities) capacity = capacity * 7.3;
    for (OneFlowJob& job : scaled.jobs) {
      for (model::FlowDemand& flow : job.flows) flow.bytes = flow.bytes * 7.3;
    }
    EXPECT_EQ(SelectPaths(scaled.requests, scaled.links, scaled.candidates, {}).paths,
              SelectPaths(instance.requests, instance.links, instance.candidates, {}).paths);
  }
}

TEST(PathSelectionTest, NoConnectionWantsAPath) {
  EXPECT_TRUE(SelectPaths({}, MakeLinks({1}), TwoPaths(), {}).paths.empty());
}

TEST(PathSelectionTest, OptionsOutOfRangeAreNamed) {
  PathSelectionOptions options;
  EXPECT_TRUE(options.Validate().ok());
  options.hysteresis = 1;
  EXPECT_EQ(options.Validate(), InvalidArgument("path selection: hysteresis: expected a fraction in [0, 1), found 1"));
}

// Jobs come, go, choose earlier or later and send more or less.
TEST(PathSelectionTest, WithMemoryTheSameIsSelected) {
  size_t num_kept = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Instance instance(seed);
    Random random(seed + 1000);
    PathSelectionOptions options = {.unit = random.Below(3) == 0 ? PathUnit::kJob : PathUnit::kFlow,
                                    .congestion = static_cast<CongestionMeasure>(random.Below(3)),
                                    .hysteresis = random.Below(2) * 0.3};
    if (random.Below(3) == 0) options.max_moved_jobs = random.Below(3);
    std::vector<PathRequest> all = instance.requests;
    std::vector<std::vector<model::Path>> in_force(all.size());
    SelectionMemory memory;
    for (int step = 0; step < 12; ++step) {
      const auto changed = static_cast<size_t>(random.Below(all.size()));
      if (random.Below(4) == 0) all[changed].precedence = random.Uniform(1, 9);
      if (random.Below(4) == 0) all[changed].solo_time = Seconds(random.Uniform(0.5, 2));
      std::vector<PathRequest> requests;
      for (size_t j = 0; j < all.size(); ++j) {
        all[j].paths_in_force = in_force[j];
        if (random.Below(5) != 0) requests.push_back(all[j]);
      }
      const PathSelection plain = SelectPaths(requests, instance.links, instance.candidates, options);
      const PathSelection again = SelectPaths(requests, instance.links, instance.candidates, options, &memory);
      ASSERT_EQ(plain.paths, again.paths) << "seed " << seed << " step " << step;
      for (uint32_t link = 0; link < 10; ++link) ASSERT_EQ(plain.load(Link(link)), again.load(Link(link)));
      ASSERT_EQ(memory.num_jobs(), requests.size());
      num_kept += requests.size() - memory.num_chosen();
      for (size_t r = 0; r < requests.size(); ++r) in_force[requests[r].id.index()] = plain.paths[r];
    }
  }
  EXPECT_GT(num_kept, 300u) << "a memory that is never used proves nothing";
}

}  // namespace
}  // namespace fairlead::traffic

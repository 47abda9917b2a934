#include "report/report_test_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/random.h"

namespace fairlead::report {
namespace {

// Reports are as wide as on a narrow terminal, whatever the tests write to.
[[maybe_unused]] const int kSetColumns = setenv("COLUMNS", "100", 1);

constexpr double kHorizonS = 36 * 3600;
constexpr double kLinkSpeed = 25e9;  // 200 Gb/s

struct ModelKind {
  const char* name;
  uint32_t num_gpus;
  double solo_iteration_s;
  double network_share;  // of an iteration in which its links are busy
};
constexpr std::array<ModelKind, 5> kModels = {{{"gpt-175b", 256, 8.4, 0.35},
                                               {"llama-70b", 128, 5.2, 0.3},
                                               {"bert-large", 32, 0.42, 0.25},
                                               {"resnet-50", 16, 0.21, 0.12},
                                               {"mixture-8x7b", 64, 2.9, 0.45}}};

// One link between switches and the jobs on it.
struct Cable {
  std::string name;
  topology::LinkTier tier;
  std::vector<uint32_t> jobs;
  double load = 0;
};

std::vector<Cable> MakeCables(const TestReportOptions& options) {
  std::vector<Cable> cables;
  const auto add_both_ways = [&cables](const std::string& a, const std::string& b, topology::LinkTier tier) {
    cables.push_back({a + "->" + b, tier, {}, 0});
    cables.push_back({b + "->" + a, tier, {}, 0});
  };
  for (uint32_t leaf = 0; leaf < options.num_leaves; ++leaf) {
    for (uint32_t spine = 0; spine < options.num_spines; ++spine) {
      add_both_ways(fmt::format("leaf{}", leaf), fmt::format("spine{}", spine), topology::LinkTier::kLeafSpine);
    }
  }
  for (uint32_t nic = 0; nic < options.num_leaves * options.nics_per_leaf; ++nic) {
    add_both_ways(fmt::format("h{}/nic{}", nic / 4, nic % 4), fmt::format("leaf{}", nic / options.nics_per_leaf),
                  topology::LinkTier::kHostLeaf);
  }
  return cables;
}

// Puts every job on some uplinks and downlinks of a few leaves, and on the NICs below them.
void PlaceTraffic(const TestReportOptions& options, bool balanced, Random& random, std::vector<Cable>& cables) {
  Random where(99);  // placement is the same under every policy and seed
  const uint32_t num_uplinks = options.num_leaves * options.num_spines;
  for (uint32_t job = 0; job < options.num_jobs; ++job) {
    const ModelKind& model = kModels[job % kModels.size()];
    const uint32_t first_leaf = static_cast<uint32_t>(where.Below(options.num_leaves));
    const uint32_t span = std::min(options.num_leaves, std::max(1u, model.num_gpus / 24));
    for (uint32_t i = 0; i < span; ++i) {
      const uint32_t leaf = (first_leaf + i) % options.num_leaves;
      for (uint32_t flow = 0; flow < 4; ++flow) {
        uint32_t best = static_cast<uint32_t>(random.Below(options.num_spines));
        for (uint32_t spine = 0; balanced && spine < options.num_spines; ++spine) {
          const auto load = [&](uint32_t s) { return cables[2 * (size_t{leaf} * options.num_spines + s)].load; };
          if (load(spine) < load(best)) best = spine;
        }
        for (const uint32_t direction : {0u, 1u}) {
          Cable& cable = cables[2 * (leaf * options.num_spines + best) + direction];
          if (std::find(cable.jobs.begin(), cable.jobs.end(), job) == cable.jobs.end()) cable.jobs.push_back(job);
          cable.load += model.network_share;
          Cable& nic =
              cables[2 * (num_uplinks + leaf * options.nics_per_leaf + flow % options.nics_per_leaf) + direction];
          if (std::find(nic.jobs.begin(), nic.jobs.end(), job) == nic.jobs.end()) nic.jobs.push_back(job);
          nic.load = std::min(0.9, nic.load + 0.4 * model.network_share);
        }
      }
    }
  }
}

// Work and losses of a job of which times and slowdown are known.
void SetWork(sim::JobResult& job) {
  job.condition = sim::JobCondition::kRan;
  job.held_s = job.end_s - job.start_s;
  job.work = job.iterations = job.held_s / job.iteration_s;
  job.lost_s = job.held_s - job.work * job.solo_iteration_s;
  job.lost_gpu_hours = job.lost_s * job.num_gpus / 3600;
}

sim::JobResult MakeJob(uint32_t index, double slowdown, const std::string& bound, uint32_t level, bool balanced) {
  const ModelKind& model = kModels[index % kModels.size()];
  sim::JobResult job;
  job.id = JobId(index);
  job.name = fmt::format("{}-{:03}", model.name, index);
  job.model = model.name;
  job.num_gpus = model.num_gpus;
  job.arrival_s = 300.0 * index;
  job.start_s = job.arrival_s + 12;
  job.end_s = kHorizonS;
  job.solo_iteration_s = model.solo_iteration_s;
  job.slowdown = slowdown;
  job.iteration_s = slowdown * model.solo_iteration_s;
  SetWork(job);
  job.compute_s = (job.end_s - job.start_s) * (1 - model.network_share) / slowdown;
  job.gpu_intensity = 1e15 * model.num_gpus / model.network_share;
  job.level = level;
  job.priority_rank = index;
  job.bounding_link = bound;
  job.reason = balanced ? fmt::format("intensity {:.2g} FLOP/s, correction factor {:.2f}; level {} of 8",
                                      job.gpu_intensity, 1 + 0.05 * (index % 7), level)
                        : "path by the hash of its five-tuple; every job on one level";
  return job;
}

// What a job loses to each other follows from its work, which is known once all of its slowdowns are.
using Shares = std::vector<std::vector<sim::LossResult>>;  // [job]; lost_s holds a share of the job's slowdown

// Spreads what is over a link's capacity on the jobs on it, lower levels first.
void AddContention(const std::vector<Cable>& cables, bool balanced, Shares& shares, std::vector<double>& slowdowns,
                   std::vector<std::string>& bounds) {
  for (size_t i = 0; i < cables.size(); ++i) {
    const Cable& cable = cables[i];
    if (cable.tier != topology::LinkTier::kLeafSpine || cable.jobs.size() < 2 || i % 2 == 1) continue;
    for (const uint32_t victim : cable.jobs) {
      for (const uint32_t culprit : cable.jobs) {
        if (victim == culprit) continue;
        const bool yields = balanced && victim % 8 > culprit % 8;
        const double overload = std::max(0.05, cable.load - 0.6) * (balanced ? (yields ? 0.5 : 0.1) : 0.6);
        const double share = overload * 0.12;
        slowdowns[victim] += share;
        if (bounds[victim].empty()) bounds[victim] = cable.name;
        shares[victim].push_back(
            {yields ? sim::LossCause::kLevel : sim::LossCause::kJob, JobId(culprit), LinkId(i), cable.name, share, 0});
      }
    }
  }
}

// Turns shares of the slowdown into seconds that add up to what the job lost.
void AddLosses(std::vector<sim::LossResult> shares, sim::JobResult& job) {
  for (sim::LossResult& loss : shares) {
    loss.lost_s *= job.work * job.solo_iteration_s;
    loss.gpu_hours = loss.lost_s * job.num_gpus / 3600;
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const sim::LossResult& a, const sim::LossResult& b) { return a.lost_s > b.lost_s; });
  job.lost_to = std::move(shares);
}

void SumUp(sim::RunResult& run) {
  std::vector<double> slowdowns;
  double held = 0, computed = 0;
  for (const sim::JobResult& job : run.jobs) {
    slowdowns.push_back(job.slowdown);
    held += job.num_gpus * (job.end_s - job.start_s);
    computed += job.num_gpus * job.compute_s;
    run.gpu_hours_lost += job.lost_gpu_hours;
  }
  if (slowdowns.empty()) return;
  std::sort(slowdowns.begin(), slowdowns.end());
  run.busy = computed / held;
  run.flop_weighted = 0.52 * run.busy;
  run.vs_ideal = run.busy / 0.68;
  for (const double s : slowdowns) run.mean_slowdown += s / static_cast<double>(slowdowns.size());
  run.worst_slowdown = slowdowns.back();
  if (slowdowns.size() >= 100) run.p99_slowdown = slowdowns[(slowdowns.size() * 99 + 99) / 100 - 1];
}

sim::RunResult MakeRun(const TestReportOptions& options, const std::string& policy, uint64_t seed) {
  const bool balanced = policy != "ecmp";
  Random random(CombineHash(seed, MixBits(policy.size())));
  sim::RunResult run;
  run.policy = policy;
  run.seed = run.phase_seed = run.placement_seed = seed;
  run.draw = static_cast<uint32_t>(seed - 1);
  run.event_hash = random();
  run.simulated_s = kHorizonS;
  run.wall_s = random.Uniform(0.8, 1.4);
  run.peak_rss_mb = 41;
  run.fast_forward_fraction = 0.973;
  run.fast_forward_error_bound = 1e-9;
  run.path_changes = balanced ? 310 + random.Below(40) : 0;
  run.level_changes = balanced ? 55 + random.Below(10) : 0;

  std::vector<Cable> cables = MakeCables(options);
  PlaceTraffic(options, balanced, random, cables);
  std::vector<double> slowdowns(options.num_jobs, 1.0);
  std::vector<std::string> bounds(options.num_jobs);
  Shares shares(options.num_jobs);
  AddContention(cables, balanced, shares, slowdowns, bounds);
  for (uint32_t i = 0; i < options.num_jobs; ++i) {
    run.jobs.push_back(MakeJob(i, slowdowns[i], bounds[i], balanced ? i % 8 : 0, balanced));
    AddLosses(std::move(shares[i]), run.jobs.back());
  }
  SumUp(run);
  for (size_t i = 0; i < cables.size(); ++i) {
    if (cables[i].jobs.empty()) continue;
    sim::LinkResult link;
    link.id = LinkId(i);
    link.name = cables[i].name;
    link.tier = cables[i].tier;
    link.capacity_bytes_per_s = kLinkSpeed;
    link.utilization = std::min(0.97, cables[i].load * 0.8);
    link.num_jobs = static_cast<uint32_t>(cables[i].jobs.size());
    run.colliding_links += link.tier == topology::LinkTier::kLeafSpine && link.num_jobs > 1 ? 1 : 0;
    run.links.push_back(std::move(link));
  }
  run.timeline.bin_s = kHorizonS / options.num_bins;
  for (uint32_t bin = 0; bin < options.num_bins; ++bin) {
    const double phase = 6.28 * bin / options.num_bins;
    run.timeline.gpu_busy.push_back(run.busy + 0.05 * std::sin(2 * phase) + random.Uniform(-0.02, 0.02));
    run.timeline.held_gpu_s.push_back(run.timeline.bin_s * options.num_jobs);
    run.timeline.network_load.push_back(0.3 + 0.1 * std::sin(phase));
    run.timeline.running_jobs.push_back(std::min(options.num_jobs, bin + 1));
  }
  return run;
}

sim::JobResult MakeSmallJob(uint32_t id, const char* name, uint32_t num_gpus, double slowdown, uint32_t level) {
  sim::JobResult job;
  job.id = JobId(id);
  job.name = name;
  job.model = "bert-large";
  job.num_gpus = num_gpus;
  job.end_s = 3600;
  job.iteration_s = slowdown;
  job.solo_iteration_s = 1;
  job.slowdown = slowdown;
  SetWork(job);
  job.compute_s = 1800 / slowdown;
  job.level = level;
  job.priority_rank = level;
  job.bounding_link = slowdown > 1 ? "leaf0->spine0" : "";
  job.reason = "because";
  return job;
}

// ecmp: both jobs lose 600 of their 1,200 s to each other. crux: big loses nothing, small 720 of its 1,350 s to big.
void AddSmallLosses(bool is_crux, sim::RunResult& run) {
  for (sim::JobResult& job : run.jobs) {
    if (job.lost_s <= 0) continue;
    const double to_other = is_crux ? 720 : 600;
    const auto gpus = static_cast<double>(job.num_gpus);
    job.lost_to.push_back({is_crux ? sim::LossCause::kLevel : sim::LossCause::kJob, JobId(1 - job.id.value()),
                           LinkId(6), "leaf0->spine0", to_other, to_other * gpus / 3600});
    const double rest = job.lost_s - to_other;
    job.lost_to.push_back({sim::LossCause::kNotAttributed, JobId(), LinkId(), "", rest, rest * gpus / 3600});
  }
}

sim::RunResult MakeSmallRun(const char* policy, uint64_t seed, double busy, double slowdown0, double slowdown1) {
  const bool is_crux = std::string(policy) == "crux";
  sim::RunResult run;
  run.policy = policy;
  run.seed = run.phase_seed = run.placement_seed = seed;
  run.draw = static_cast<uint32_t>(seed - 1);
  run.event_hash = 0xc0ffee;
  run.simulated_s = 3600;
  run.wall_s = 0.5;
  run.peak_rss_mb = 12;
  run.fast_forward_fraction = 0.75;
  run.busy = busy;
  run.flop_weighted = busy / 2;
  run.vs_ideal = busy / 0.8;
  run.mean_slowdown = (slowdown0 + slowdown1) / 2;
  run.worst_slowdown = std::max(slowdown0, slowdown1);
  run.path_changes = is_crux ? 4 : 0;
  run.level_changes = is_crux ? 2 : 0;
  run.colliding_links = is_crux ? 1 : 3;
  run.jobs = {MakeSmallJob(0, "big", 16, slowdown0, 0), MakeSmallJob(1, "small", 8, slowdown1, is_crux ? 1 : 0)};
  for (const sim::JobResult& job : run.jobs) run.gpu_hours_lost += job.lost_gpu_hours;
  sim::LinkResult link;
  link.id = LinkId(6);
  link.name = "leaf0->spine0";
  link.capacity_bytes_per_s = kLinkSpeed;
  link.utilization = 0.5;
  link.num_jobs = 2;
  run.links = {link};
  link.id = LinkId(7);
  link.name = "spine0->leaf0";
  link.utilization = 0.25;
  run.links.push_back(link);
  AddSmallLosses(is_crux, run);
  run.timeline = {.bin_s = 900,
                  .gpu_busy = {busy, busy, busy, busy},
                  .held_gpu_s = {21600, 21600, 21600, 21600},
                  .network_load = {0.3, 0.3, 0.3, 0.3},
                  .running_jobs = {2, 2, 2, 2}};
  return run;
}

}  // namespace

sim::SimulationReport MakeTestReport(const TestReportOptions& options) {
  sim::SimulationReport report;
  report.scenario = "Crux trace on a two-layer Clos";
  report.version = "0.1.0";
  report.fabric_summary =
      fmt::format("two-layer Clos: {} leaves, {} spines, {} NICs, 200 Gb/s, 1:1", options.num_leaves,
                  options.num_spines, options.num_leaves * options.nics_per_leaf);
  report.notes = {"Link speed 200 Gb/s; the paper gives none.", "Goodput is 0.97 of the link speed.",
                  "Eight priority levels, strict between levels and max-min inside one."};
  report.varied = {"hash", "phase", "placement"};
  for (const std::string& policy : options.policies) {
    for (uint64_t seed = 1; seed <= options.num_seeds; ++seed) report.runs.push_back(MakeRun(options, policy, seed));
  }
  return report;
}

sim::SimulationReport MakeSmallReport() {
  sim::SimulationReport report;
  report.scenario = "Two jobs, one cable";
  report.version = "0.1.0";
  report.fabric_summary = "two leaves, one spine";
  report.notes = {"Nothing is assumed."};
  report.varied = {"hash", "phase", "placement"};
  report.runs = {MakeSmallRun("ecmp", 1, 0.6, 1.5, 1.5), MakeSmallRun("ecmp", 2, 0.64, 1.5, 1.5),
                 MakeSmallRun("crux", 1, 0.7, 1.0, 1.6), MakeSmallRun("crux", 2, 0.72, 1.0, 1.6)};
  return report;
}

}  // namespace fairlead::report

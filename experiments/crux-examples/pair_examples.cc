#include "experiments/crux-examples/pair_examples.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "report/schedule_figure.h"
#include "traffic/crux/correction_factor.h"
#include "traffic/crux/link_simulation.h"

namespace fairlead::experiments::crux_examples {
namespace {

using traffic::crux::CorrectionOptions;
using traffic::crux::InitialPhases;
using traffic::crux::LinkJob;
using traffic::crux::LinkSimulation;

constexpr double kHorizonS = 12;
constexpr double kReadyToSend = 1;  // all compute of the iteration done

// One of the two jobs of an example.
struct PairJob {
  double gigaflop = 0;  // W
  double link_s = 0;    // t
  double compute_s = 0;
  double num_gpus = 0;
};

struct PairExample {
  std::string name;
  double start_fraction = 1;  // s of both
  std::array<PairJob, 2> jobs;

  LinkJob MakeLinkJob(size_t j, double phase, uint32_t level) const {
    return {.compute_time = Seconds(jobs[j].compute_s),
            .link_time = Seconds(jobs[j].link_s),
            .start_fraction = start_fraction,
            .initial_phase = phase,
            .level = level};
  }
};

// Figure 11: equal intensities of 5 GFLOP/s.
const PairExample& Example1() {
  static const PairExample kExample{"fig 11", 1, {PairJob{10, 2, 2, 10}, PairJob{5, 1, 1, 10}}};
  return kExample;
}

// Figure 12: equal intensities of 10 GFLOP/s.
const PairExample& Example2() {
  static const PairExample kExample{"fig 12", 0.5, {PairJob{10, 1, 4, 2}, PairJob{30, 3, 2, 12}}};
  return kExample;
}

using Phases = std::array<double, 2>;

// What two jobs did until the horizon when job `first` has the higher level.
struct PairRun {
  std::array<traffic::crux::LinkJobUsage, 2> usage;
  std::vector<report::ScheduleLane> lanes;  // per job: computing, communicating
};

void AppendBlock(double begin_s, double end_s, double height, std::vector<report::ScheduleBlock>* blocks) {
  if (height <= 0) return;
  if (!blocks->empty() && blocks->back().end_s == begin_s && blocks->back().height == height) {
    blocks->back().end_s = end_s;
  } else {
    blocks->push_back({begin_s, end_s, height});
  }
}

PairRun RunPair(const PairExample& example, const Phases& phases, size_t first) {
  const std::array<LinkJob, 2> jobs = {example.MakeLinkJob(0, phases[0], first == 0 ? 0 : 1),
                                       example.MakeLinkJob(1, phases[1], first == 1 ? 0 : 1)};
  LinkSimulation simulation(jobs);
  PairRun run;
  for (size_t j = 0; j < 2; ++j) {
    run.lanes.push_back({fmt::format("J{} computes", j + 1), j + 1, false, {}});
    run.lanes.push_back({fmt::format("J{} sends", j + 1), j + 1, true, {}});
  }
  double now_s = 0;
  while (simulation.Step(Seconds(kHorizonS))) {
    const double step_s = simulation.now().value() - now_s;
    for (size_t j = 0; j < 2; ++j) {
      const double compute = (simulation.usage(j).compute - run.usage[j].compute).value() / step_s;
      const double link = (simulation.usage(j).link - run.usage[j].link).value() / step_s;
      AppendBlock(now_s, now_s + step_s, compute, &run.lanes[2 * j].blocks);
      AppendBlock(now_s, now_s + step_s, link, &run.lanes[2 * j + 1].blocks);
      run.usage[j] = simulation.usage(j);
    }
    now_s = simulation.now().value();
  }
  return run;
}

double Utilization(const PairExample& example, const PairRun& run) {
  double busy = 0;
  double held = 0;
  for (size_t j = 0; j < 2; ++j) {
    busy += example.jobs[j].num_gpus * run.usage[j].compute.value();
    held += example.jobs[j].num_gpus * kHorizonS;
  }
  return 100 * busy / held;
}

void AddFigure(const std::string& title, PairRun run, experiment::Outcome* outcome) {
  const std::string description = "When each of the two jobs computes and when it sends, over 12 seconds.";
  outcome->figures.push_back({title, Draw(report::ScheduleFigure{title, description, kHorizonS, std::move(run.lanes)}),
                              "Solid: GPUs compute. Light: the job has the link."});
}

// One row of the figure's table: seconds on the link, of compute, and utilization.
void AddCase(const PairExample& example, const std::string& label, const Phases& phases, size_t first,
             experiment::Outcome* outcome) {
  PairRun run = RunPair(example, phases, first);
  const std::string prefix = fmt::format("{}, {}J{} first: ", example.name, label, first + 1);
  for (size_t j = 0; j < 2; ++j) {
    outcome->Set(fmt::format("{}J{} link", prefix, j + 1), run.usage[j].link.value());
    outcome->Set(fmt::format("{}J{} compute", prefix, j + 1), run.usage[j].compute.value());
    outcome->Set(fmt::format("{}J{} idle", prefix, j + 1), kHorizonS - run.usage[j].compute.value());
  }
  outcome->Set(prefix + "utilization", Utilization(example, run));
  AddFigure(fmt::format("{}, {}J{} first", example.name, label, first + 1), std::move(run), outcome);
}

// Theorem 1 on Example 1: work computed and work released by the link agree.
void AddWork(const PairExample& example, size_t first, experiment::Outcome* outcome) {
  const PairRun run = RunPair(example, {kReadyToSend, kReadyToSend}, first);
  double computed = 0;
  double released = 0;
  for (size_t j = 0; j < 2; ++j) {
    const PairJob& job = example.jobs[j];
    computed += job.gigaflop * run.usage[j].compute.value() / job.compute_s;
    released += job.gigaflop * run.usage[j].link.value() / job.link_s;
    outcome->Set(fmt::format("{}, J{} first: J{} iterations", example.name, first + 1, j + 1),
                 static_cast<double>(run.usage[j].iterations));
  }
  outcome->Set(fmt::format("{}, J{} first: U_T", example.name, first + 1), computed);
  outcome->Set(fmt::format("{}, J{} first: F_T", example.name, first + 1), released);
}

// Gains and factor with the formula as printed: no clamps.
void AddGains(const PairExample& example, const std::string& label, double horizon_s, std::vector<InitialPhases> phases,
              experiment::Outcome* outcome) {
  CorrectionOptions options;
  options.paper_mode = true;
  options.fixed_horizon = Seconds(horizon_s);
  options.explicit_phases = std::move(phases);
  const auto correction =
      traffic::crux::ComputeCorrectionFactor(example.MakeLinkJob(0, 0, 0), example.MakeLinkJob(1, 0, 0), options);
  const std::string prefix = fmt::format("{}, {}: ", example.name, label);
  outcome->Set(prefix + "d_1", correction.reference_gain.value());
  outcome->Set(prefix + "d_2", correction.job_gain.value());
  if (correction.factor) outcome->Set(prefix + "k_2", *correction.factor);
}

}  // namespace

void AddPairExamples(experiment::Outcome* outcome) {
  for (size_t first = 0; first < 2; ++first) {
    AddCase(Example1(), "", {kReadyToSend, kReadyToSend}, first, outcome);
    AddWork(Example1(), first, outcome);
  }
  for (const double horizon_s : {12.0, 60.0, 600.0}) {
    AddGains(Example1(), fmt::format("{} s", horizon_s), horizon_s, {{1, 1}}, outcome);
  }
  AddGains(Example1(), "4x4 phases", kHorizonS, {}, outcome);
  for (size_t first = 0; first < 2; ++first) AddCase(Example2(), "", {0, 0.5}, first, outcome);
  for (size_t first = 0; first < 2; ++first) AddCase(Example2(), "both at 0, ", {0, 0}, first, outcome);
  for (const double horizon_s : {12.0, 60.0, 600.0}) {
    AddGains(Example2(), fmt::format("{} s", horizon_s), horizon_s, {{0, 0.5}}, outcome);
  }
  AddGains(Example2(), "both at 50 %", kHorizonS, {{0.5, 0.5}}, outcome);
  AddGains(Example2(), "4x4 phases", kHorizonS, {}, outcome);
}

}  // namespace fairlead::experiments::crux_examples

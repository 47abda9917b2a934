#include "experiments/cassini/cassini.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "experiments/trace_scenario.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::cassini {

namespace {

constexpr double kNumHosts = 24;
constexpr double kLoad = 0.9;

struct Network {
  std::string_view name;
  std::string_view fabric;  // without hosts
};
// Published: a switch cut into a topology of 48 links with the hosts' speed. The shape is ours. On one spine, 2:1, no
// path is chosen by anybody: where jobs meet is a matter of places alone.
constexpr std::array<Network, 2> kNetworks = {
    {{"48 cables",
      "kind: clos3, pods: 2, leaves: 4, hosts_per_leaf: 3, spines: 2, cores: 2, core_wiring: full, "
      "uplink_gbps: 50, core_uplink_gbps: 50"},
     {"one spine", "kind: clos2, leaves: 8, hosts_per_leaf: 3, spines: 1, oversubscription: 2"}}};
constexpr std::string_view kHost =
    "host: {gpus: 1, gpu_model: A100, gpu_peak_tflops: 312, nics: 1, port_gbps: 50, sockets: 1, pcie_switches: 1}";

constexpr std::array<std::string_view, 2> kPlacements = {"locality-first", "random"};

// Models that fit one GPU with its optimizer; in data parallelism alone.
constexpr std::array<std::string_view, 7> kModels = {
    "resnet-50", "bert-large", "nmt", "gpt-24l-1024", "gpt-1.3b", "ctr-recommender", "multi-interests"};
constexpr std::array<uint32_t, 4> kSizes = {2, 4, 6, 8};

struct Size {
  uint32_t num_jobs;
  uint32_t num_draws;
  // Of a job alone.
  double shortest_s, longest_s;
};
constexpr Size kFull = {60, 5, 20, 150};
constexpr Size kReduced = {18, 1, 10, 30};

// Ways to run the same jobs, by what rows call them.
struct Way {
  std::string_view name;
  std::string_view policy;
};
constexpr std::string_view kScheduler = "scheduler alone";
constexpr std::string_view kPlaced = "placements and shifts";
constexpr std::array<Way, 3> kPlain = {{{kScheduler, "ecmp"}, {"shifts alone", "cassini"}, {"crux", "crux"}}};
constexpr std::array<std::string_view, 4> kWays = {kScheduler, "shifts alone", kPlaced, "crux"};

std::string Head(const Network& network, std::string_view placement, std::string_view options, uint64_t seed) {
  return fmt::format(
      "title: CASSINI's setting\nfabric: {{{}, {}}}\nplacement: {}\nplacement_seed: {}\nseeds: 1\nseed: {}\n"
      "phase_seed: {}\nsimulate_s: 1e6\n{}jobs:\n",
      network.fabric, kHost, placement, seed, seed, seed, options);
}

// [model, size]
using SoloTimes = std::map<std::pair<std::string_view, uint32_t>, double>;

// Of an iteration alone, placed by locality.
Result<SoloTimes> MeasureAlone(const Network& network, const experiment::RunContext& context) {
  std::string text = Head(network, kPlacements[0], "policies: [ecmp]\n", 1);
  double arrival_s = 0;
  for (const std::string_view model : kModels) {
    for (const uint32_t gpus : kSizes) {
      text += fmt::format("  - {{gpus: {}, gpus_per_host: 1, model: {}, iterations: 1, arrival_s: {}}}\n", gpus, model,
                          arrival_s);
      arrival_s += 1000;
    }
  }
  FL_ASSIGN_OR_RETURN(const sim::Scenario scenario, sim::ParseScenario(text, "cassini", {}));
  FL_ASSIGN_OR_RETURN(const sim::SimulationReport report, SimulateScenario(scenario, context, 0, 0));
  SoloTimes solo;
  size_t j = 0;
  for (const std::string_view model : kModels) {
    for (const uint32_t gpus : kSizes) {
      solo[{model, gpus}] = report.runs.empty() ? 1 : report.runs.front().jobs[j++].solo_iteration_s;
    }
  }
  return solo;
}

// Poisson arrivals that ask for kLoad of the hosts.
std::string DrawJobs(const Size& size, const SoloTimes& solo, uint64_t seed) {
  Random random(seed);
  double mean_gpus = 0;
  for (const uint32_t gpus : kSizes) mean_gpus += gpus / static_cast<double>(kSizes.size());
  const double mean_work = mean_gpus * (size.shortest_s + size.longest_s) / 2;
  std::string text;
  double arrival_s = 0;
  for (uint32_t j = 0; j < size.num_jobs; ++j) {
    const std::string_view model = kModels[random.Below(kModels.size())];
    const uint32_t gpus = kSizes[random.Below(kSizes.size())];
    const double length_s = random.Uniform(size.shortest_s, size.longest_s);
    text += fmt::format("  - {{gpus: {}, gpus_per_host: 1, model: {}, iterations: {:.0f}, arrival_s: {:.6f}}}\n", gpus,
                        model, std::ceil(length_s / solo.at({model, gpus})), arrival_s);
    arrival_s += random.Exponential(mean_work / (kLoad * kNumHosts));
  }
  return text;
}

// What one way did to all jobs of all draws.
struct Tally {
  double iterations = 0;
  double time_s = 0;             // in them
  std::vector<double> relative;  // [job] its mean iteration over that alone
  traffic::PlacementCounters choices;

  void Add(const sim::RunResult& run) {
    for (const sim::JobResult& job : run.jobs) {
      if (!job.finished) continue;
      iterations += job.iterations;
      time_s += job.iterations * job.iteration_s;
      relative.push_back(job.iteration_s / job.solo_iteration_s);
    }
    if (run.placement_choices) choices.Add(*run.placement_choices);
  }
  double MeanIteration() const { return time_s / iterations; }
  double MeanRelative() const {
    double sum = 0;
    for (const double value : relative) sum += value;
    return sum / static_cast<double>(relative.size());
  }
  // Nearest rank.
  double P99Relative() const {
    if (relative.empty()) return std::nan("");
    std::vector<double> sorted = relative;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<size_t>(std::ceil(0.99 * static_cast<double>(sorted.size()))) - 1];
  }
};

class Experiment {
 public:
  explicit Experiment(const experiment::RunContext& context) : context_(context) {}

  Result<experiment::Outcome> Run() {
    num_steps_ = static_cast<double>(kNetworks.size() * kPlacements.size() * size().num_draws);
    for (const Network& network : kNetworks) {
      FL_ASSIGN_OR_RETURN(const SoloTimes solo, MeasureAlone(network, context_));
      for (const std::string_view placement : kPlacements) {
        for (uint32_t draw = 0; draw < size().num_draws; ++draw) {
          FL_RETURN_IF_ERROR(RunDraw(network, placement, solo, context_.seed * 1000 + draw));
          if (!context_.should_stop()) continue;
          outcome_.is_partial = true;
          return std::move(outcome_);
        }
        SetRows(CaseOf(network, placement));
      }
    }
    outcome_.answer = Answer();
    outcome_.figures.push_back(DrawTails());
    outcome_.notes.push_back(
        fmt::format("{} draws of {} jobs for each case; every job counts.", size().num_draws, size().num_jobs));
    return std::move(outcome_);
  }

 private:
  const Size& size() const { return context_.reduced ? kReduced : kFull; }

  static std::string CaseOf(const Network& network, std::string_view placement) {
    return fmt::format("{}, {}", network.name, placement);
  }

  Status RunDraw(const Network& network, std::string_view placement, const SoloTimes& solo, uint64_t seed) {
    const std::string jobs = DrawJobs(size(), solo, seed);
    std::map<std::string_view, Tally>& tallies = tallies_[CaseOf(network, placement)];
    FL_ASSIGN_OR_RETURN(const sim::SimulationReport plain,
                        Simulate(Head(network, placement, "policies: [ecmp, cassini, crux]\n", seed) + jobs, 0.75));
    for (const sim::RunResult& run : plain.runs) {
      const auto way = std::find_if(kPlain.begin(), kPlain.end(), [&](const Way& w) { return w.policy == run.policy; });
      if (!run.partial) tallies[way->name].Add(run);
    }
    FL_ASSIGN_OR_RETURN(
        const sim::SimulationReport placed,
        Simulate(Head(network, placement, "policies: [cassini]\ncassini: {placements: 10}\n", seed) + jobs, 0.25));
    for (const sim::RunResult& run : placed.runs) {
      if (!run.partial) tallies[kPlaced].Add(run);
    }
    return OkStatus();
  }

  // Args: steps: the part of a draw that this is.
  Result<sim::SimulationReport> Simulate(const std::string& text, double steps) {
    FL_ASSIGN_OR_RETURN(const sim::Scenario scenario, sim::ParseScenario(text, "cassini", {}));
    const double from = done_ / num_steps_;
    done_ += steps;
    return SimulateScenario(scenario, context_, from, done_ / num_steps_);
  }

  void SetRows(const std::string& where) {
    const std::map<std::string_view, Tally>& tallies = tallies_.at(where);
    const auto set = [&](std::string_view way, std::string_view what, double value) {
      outcome_.Set(fmt::format("{}: {}, {}", where, way, what), value);
    };
    for (const std::string_view way : kWays) {
      const Tally& tally = tallies.at(way);
      set(way, "mean iteration", tally.MeanIteration());
      set(way, "mean over alone", tally.MeanRelative());
      set(way, "p99 over alone", tally.P99Relative());
    }
    const Tally& placed = tallies.at(kPlaced);
    const Tally& alone = tallies.at(kScheduler);
    set(kPlaced, "gain in the mean iteration", alone.MeanIteration() / placed.MeanIteration());
    set(kPlaced, "gain in p99 over alone", alone.P99Relative() / placed.P99Relative());
    const traffic::PlacementCounters& choices = placed.choices;
    const auto num_choices = static_cast<double>(choices.num_choices);
    const auto num_jobs = static_cast<double>(placed.relative.size());
    set(kPlaced, "jobs with a choice", 100 * num_choices / num_jobs);
    set(kPlaced, "jobs elsewhere", 100 * static_cast<double>(choices.num_changed) / num_jobs);
    set(kPlaced, "places with a loop",
        100 * static_cast<double>(choices.num_looped) / static_cast<double>(choices.num_candidates));
    set(kPlaced, "jobs with loops only", 100 * static_cast<double>(choices.num_fallbacks) / num_jobs);
  }

  std::string Answer() const {
    const auto text = [&](size_t network, std::string_view way) {
      const Tally& tally = tallies_.at(CaseOf(kNetworks[network], kPlacements[1])).at(way);
      return fmt::format("{:.2f} ({:.2f})", tally.MeanRelative(), tally.P99Relative());
    };
    const auto locality = [&](std::string_view way) {
      const Tally& tally = tallies_.at(CaseOf(kNetworks[0], kPlacements[0])).at(way);
      return fmt::format("{:.2f} ({:.2f})", tally.MeanRelative(), tally.P99Relative());
    };
    return fmt::format(
        "On random hosts iterations take {} times as long as alone in the mean (99th percentile of jobs), {} with "
        "CASSINI's shifts, {} with its placements and shifts, {} under Crux; on one spine {}, {}, {} and {}. With "
        "locality first they take {}, {}, {} and {}.",
        text(0, kScheduler), text(0, "shifts alone"), text(0, kPlaced), text(0, "crux"), text(1, kScheduler),
        text(1, "shifts alone"), text(1, kPlaced), text(1, "crux"), locality(kScheduler), locality("shifts alone"),
        locality(kPlaced), locality("crux"));
  }

  report::PageFigure DrawTails() const {
    report::BarFigure figure;
    figure.title = "Iteration time over that alone";
    figure.description = "Mean over jobs of each way to run them, a group for each network and placement policy.";
    figure.y_label = "times as long";
    for (const std::string_view way : kWays) figure.series.emplace_back(way);
    double most = 1;
    for (const auto& [where, tallies] : tallies_) {
      report::BarGroup group{.label = where, .values = {}, .marks = {}};
      for (const std::string_view way : kWays) {
        group.values.push_back(tallies.at(way).MeanRelative());
        most = std::max(most, group.values.back());
      }
      figure.groups.push_back(std::move(group));
    }
    figure.y_domain = {1, most};
    return {figure.title, Draw(figure), ""};
  }

  const experiment::RunContext& context_;
  double num_steps_ = 1;
  double done_ = 0;
  std::map<std::string, std::map<std::string_view, Tally>> tallies_;  // [case][way]
  experiment::Outcome outcome_;
};

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) { return Experiment(context).Run(); }

}  // namespace fairlead::experiments::cassini

#include "experiments/sprayed-failures/mrc_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/trace_scenario.h"
#include "sim/scenario.h"

namespace fairlead::experiments::sprayed_failures {

namespace {

constexpr double kRebootS = 120;
constexpr double kFlapPeriodS = 2;

// As published: a minute. Reduced: two periods.
double FlappingS(const experiment::RunContext& context) { return context.reduced ? 2 * kFlapPeriodS : 60; }

// One scenario; iterations take a second at full speed, and compute nothing.
struct Setting {
  std::string fabric;
  std::string jobs;  // lines
  double simulate_s = 10;
  std::string policy = "spray";
  std::string options = {};  // lines
  std::string events = {};   // of link_events
  uint32_t seeds = 1;
  uint64_t first_seed = 1;
};

Result<sim::SimulationReport> Simulate(const Setting& setting, const experiment::RunContext& context) {
  const std::string text = fmt::format(
      "title: sprayed failures\nseeds: {}\nseed: {}\nsimulate_s: {}\nrandom_phase: false\ngoodput: 1\npolicies: "
      "[{}]\n{}"
      "link_events: [{}]\nfabric: {}\njobs:\n{}",
      setting.seeds, setting.first_seed, setting.simulate_s, setting.policy, setting.options, setting.events,
      setting.fabric, setting.jobs);
  FL_ASSIGN_OR_RETURN(const sim::Scenario scenario, sim::ParseScenario(text, "sprayed-failures", {}));
  return SimulateScenario(scenario, context, 0, 0);
}

// Iterations of the least advanced job; 0 where the run was stopped.
Result<double> LeastWork(const Setting& setting, const experiment::RunContext& context) {
  FL_ASSIGN_OR_RETURN(const sim::SimulationReport report, Simulate(setting, context));
  if (report.runs.empty()) return 0;
  double least = setting.simulate_s * 2;
  for (const sim::JobResult& job : report.runs.front().jobs) least = std::min(least, job.work);
  return least;
}

// What the events cost of the rate, in %, below 0 for a loss.
Result<double> ChangeOf(Setting setting, const std::string& events, const experiment::RunContext& context) {
  FL_ASSIGN_OR_RETURN(const double healthy, LeastWork(setting, context));
  setting.events = events;
  FL_ASSIGN_OR_RETURN(const double broken, LeastWork(setting, context));
  return healthy > 0 ? 100 * (broken / healthy - 1) : 0;
}

// Two NICs of eight ports of 100 Gb/s, each port in a plane of its own, send to each other over all planes.
Setting TwoNics() {
  return {.fabric =
              "{kind: rail-dual-plane, segments: 2, hosts_per_segment: 1, spines: 4, host: {gpus: 1, nics: 1, "
              "ports_per_nic: 8, port_gbps: 100, pcie_switches: 1, sockets: 1, pcie_gigabytes_per_s: 256}}",
          .jobs = "  - {gpus: 2, compute_s: 0, size_mb: 100000}\n",
          .options = "spray: {preset: mrc}\n"};
}

// Two leaves of `ports` hosts and as many uplinks; each of the first `pairs` hosts of one sends to one of the other and
// back.
Setting TwoLeaves(uint32_t ports, double port_gbps, uint32_t pairs) {
  std::string jobs;
  for (uint32_t j = 0; j < pairs; ++j) {
    jobs += fmt::format("  - {{hosts: [h{}, h{}], gpus: 2, compute_s: 0, size_mb: {}}}\n", j, ports + j,
                        port_gbps * 1e3 / 8);
  }
  return {.fabric = fmt::format("{{kind: clos2, leaves: 2, hosts_per_leaf: {}, spines: {}, host: {{gpus: 1, nics: 1, "
                                "port_gbps: {}, pcie_switches: 1, sockets: 1, pcie_gigabytes_per_s: 256}}}}",
                                ports, ports, port_gbps),
          .jobs = std::move(jobs),
          .options = "spray: {preset: mrc}\n"};
}

std::string Lost(double at_s, std::string_view what) {
  return fmt::format("{{at_s: {}, {}, health: 0}}, ", at_s, what);
}

// All of them are down for half of each period.
std::string Flaps(const std::vector<std::string>& links, double length_s) {
  std::string events;
  for (double at_s = 0; at_s < length_s; at_s += kFlapPeriodS) {
    for (const std::string& link : links) {
      events += fmt::format("{{at_s: {}, {}, health: 0}}, {{at_s: {}, {}, health: 1}}, ", at_s, link,
                            at_s + kFlapPeriodS / 2, link);
    }
  }
  return events;
}

// "link: a->b0", …
std::vector<std::string> FourLinks(std::string_view from) {
  std::vector<std::string> links;
  for (int i = 0; i < 4; ++i) links.push_back(fmt::format("link: \"{}{}\"", from, i));
  return links;
}

// Hosts by rank: from leaf to leaf at each hop, or leaf by leaf. 64 hosts, 16 to a leaf.
std::string RingOrder(bool is_across) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < 64; ++rank)
    hosts.push_back(fmt::format("h{}", is_across ? rank % 4 * 16 + rank / 4 : rank));
  return fmt::format("[{}]", fmt::join(hosts, ", "));
}

// Bytes that a job sends a second as a share of full speed, %, the mean over draws.
Result<double> MeanRate(const Setting& setting, size_t job, double bytes_per_work_s,
                        const experiment::RunContext& context) {
  FL_ASSIGN_OR_RETURN(const sim::SimulationReport report, Simulate(setting, context));
  double sum = 0;
  for (const sim::RunResult& run : report.runs) sum += run.jobs[job].work * bytes_per_work_s / run.simulated_s;
  return report.runs.empty() ? 0 : 100 * sum / static_cast<double>(report.runs.size());
}

}  // namespace

Status AddFailures(const experiment::RunContext& context, experiment::Outcome* outcome) {
  const auto add = [&](const std::string& row, const Setting& setting, const std::string& events) -> Status {
    if (context.should_stop()) return OkStatus();
    FL_ASSIGN_OR_RETURN(const double change, ChangeOf(setting, events, context));
    outcome->Set(row, change);
    return OkStatus();
  };
  FL_ASSIGN_OR_RETURN(const double healthy, LeastWork(TwoNics(), context));
  outcome->Set("two NICs of 8 x 100G: rate", 800 * healthy / TwoNics().simulate_s);

  const Setting plane = TwoLeaves(256, 100, 256);
  const Setting fat = TwoLeaves(32, 800, 32);
  FL_RETURN_IF_ERROR(add("a port of a NIC lost", TwoNics(), Lost(0, "link: \"h0/nic0->leaf3\"")));
  FL_RETURN_IF_ERROR(add("an uplink of 32 x 800G lost", fat, Lost(0, "link: \"leaf0->spine3\"")));
  FL_RETURN_IF_ERROR(add("an uplink of 256 x 100G lost", plane, Lost(0, "link: \"leaf0->spine3\"")));
  Setting rebooted = plane;
  rebooted.simulate_s = context.reduced ? 10 : kRebootS;
  FL_RETURN_IF_ERROR(add("a spine of 256 lost for 2 min", rebooted, Lost(0, "node: spine3")));

  const auto add_flapping = [&](const std::string& row, Setting setting, std::string_view from) {
    setting.simulate_s = FlappingS(context);
    return add(row, setting, Flaps(FourLinks(from), setting.simulate_s));
  };
  FL_RETURN_IF_ERROR(add_flapping("4 of 8 ports of a NIC flap", TwoNics(), "h0/nic0->leaf"));
  FL_RETURN_IF_ERROR(add_flapping("4 of 32 uplinks flap", fat, "leaf0->spine"));
  return add_flapping("4 of 256 uplinks flap", plane, "leaf0->spine");
}

Status AddDetection(const experiment::RunContext& context, experiment::Outcome* outcome) {
  for (const std::string_view preset : {"none", "mrc", "uec", "spectrumx", "blind"}) {
    if (context.should_stop()) return OkStatus();
    // Half of the hosts send: without failures, and with one that is known, NICs are the limit.
    Setting setting = TwoLeaves(32, 800, 16);
    setting.options = fmt::format("spray: {{preset: {}}}\n", preset);
    FL_ASSIGN_OR_RETURN(const double healthy, LeastWork(setting, context));
    setting.events = Lost(1.5, "link: \"leaf0->spine3\"");
    FL_ASSIGN_OR_RETURN(const double broken, LeastWork(setting, context));
    const double full_speed = healthy / setting.simulate_s;
    outcome->Set(fmt::format("until an uplink of 32 is known to be lost, {}", preset),
                 full_speed > 0 ? 1e6 * (healthy - broken) / full_speed : 0);
  }
  return OkStatus();
}

Status AddRings(const experiment::RunContext& context, experiment::Outcome* outcome) {
  struct Transport {
    std::string_view name;
    std::string_view policy;
    uint32_t queue_pairs;
  };
  constexpr Transport kTransports[] = {
      {"MRC, 1 queue pair", "spray", 1}, {"hashes, 16 queue pairs", "ecmp", 16}, {"hashes, 1 queue pair", "ecmp", 1}};
  // An all-reduce of 25.4 GB puts 50 GB on each hop: a second at 400 Gb/s.
  constexpr double kSizeMb = 50'000 * 64.0 / (2 * 63);
  for (const bool is_across : {true, false}) {
    for (const Transport& transport : kTransports) {
      if (context.should_stop()) return OkStatus();
      const Setting setting = {
          .fabric =
              "{kind: clos2, leaves: 4, hosts_per_leaf: 16, spines: 16, host: {gpus: 1, nics: 1, port_gbps: 400, "
              "pcie_switches: 1, sockets: 1, pcie_gigabytes_per_s: 128}}",
          .jobs =
              fmt::format("  - {{hosts: {}, gpus: 64, compute_s: 0, size_mb: {}}}\n", RingOrder(is_across), kSizeMb),
          .simulate_s = 20,
          .policy = std::string(transport.policy),
          .options = fmt::format("spray: {{preset: mrc}}\nqps_per_connection: {}\n", transport.queue_pairs),
          .seeds = transport.policy == "ecmp" ? (context.reduced ? 5u : 50u) : 1u,
          .first_seed = context.seed};
      FL_ASSIGN_OR_RETURN(const double rate, MeanRate(setting, 0, 1, context));
      outcome->Set(
          fmt::format("ring of 64, {}: {}", is_across ? "each hop across leaves" : "leaf by leaf", transport.name),
          rate);
    }
  }
  return OkStatus();
}

Status AddIncast(const experiment::RunContext& context, experiment::Outcome* outcome) {
  struct Transport {
    std::string_view name;
    std::string_view policy;
    std::string_view options;
  };
  constexpr Transport kTransports[] = {{"MRC", "spray", "spray: {preset: mrc}\n"},
                                       {"hashes, 1 queue pair", "ecmp", "congestion: dcqcn\n"},
                                       {"hashes, 8 queue pairs", "ecmp", "congestion: dcqcn\nqps_per_connection: 8\n"}};
  constexpr size_t kNumSenders = 7;
  const auto job = [](size_t from, size_t to) {
    return fmt::format(
        "  - {{hosts: [h{}, h{}], gpus: 2, gpus_per_host: 1, compute_s: 0, size_mb: 50000, collective: "
        "send-receive}}\n",
        from, to);
  };
  std::string incast;
  for (size_t sender = 0; sender < kNumSenders; ++sender) incast += job(sender, 8);
  for (const Transport& transport : kTransports) {
    if (context.should_stop()) return OkStatus();
    Setting setting = {.fabric =
                           "{kind: clos2, leaves: 2, hosts_per_leaf: 8, spines: 8, host: {gpus: 8, nics: 1, "
                           "port_gbps: 400, pcie_switches: 1, sockets: 1, pcie_gigabytes_per_s: 128}}",
                       .jobs = incast + job(7, 9),
                       .simulate_s = 40,
                       .policy = std::string(transport.policy),
                       .options = std::string(transport.options),
                       .seeds = transport.policy == "ecmp" ? (context.reduced ? 10u : 200u) : 1u,
                       .first_seed = context.seed};
    FL_ASSIGN_OR_RETURN(const sim::SimulationReport report, Simulate(setting, context));
    double victim = 0;
    double least = 0;
    double most = 0;
    for (const sim::RunResult& run : report.runs) {
      victim += run.jobs[kNumSenders].work / run.simulated_s;
      std::vector<double> rates;
      for (size_t sender = 0; sender < kNumSenders; ++sender) rates.push_back(run.jobs[sender].work / run.simulated_s);
      least += *std::ranges::min_element(rates);
      most += *std::ranges::max_element(rates);
    }
    if (report.runs.empty()) return OkStatus();
    setting.jobs = job(7, 9);
    FL_ASSIGN_OR_RETURN(const double alone, MeanRate(setting, 0, 1, context));
    const auto num_runs = static_cast<double>(report.runs.size());
    outcome->Set(fmt::format("incast of 7, {}: victim", transport.name), 100 * (100 * victim / num_runs / alone - 1));
    outcome->Set(fmt::format("incast of 7, {}: slowest over fastest sender", transport.name), least / most);
  }
  return OkStatus();
}

}  // namespace fairlead::experiments::sprayed_failures

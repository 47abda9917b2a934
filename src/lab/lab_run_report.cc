#include "lab/lab_run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/statistics.h"
#include "lab/lab_report.h"
#include "report/number_format.h"
#include "report/text_table.h"

namespace fairlead::lab {

namespace {

using report::Align;
using report::Json;

// Bytes that one end of a cable sent in the measured time.
double SentBytes(const LabRunResult& result, CableId cable, size_t end) {
  return static_cast<double>(result.after.cables[cable][end].sent_bytes - result.before.cables[cable][end].sent_bytes);
}

double Utilization(const LabState& state, const LabRunResult& result, CableId cable, size_t end) {
  return SentBytes(result, cable, end) * 8 / (state.plan.cables[cable].bits_per_s * result.measured_s);
}

uint64_t Retransmitted(const LabRunResult& result) {
  uint64_t sum = 0;
  for (LabNodeId node(0u); node.index() < result.after.retransmitted_segments.size();
       node = LabNodeId(node.index() + 1)) {
    sum += result.after.retransmitted_segments[node] - result.before.retransmitted_segments[node];
  }
  return sum;
}

// Gb/s at the speed of the fabric.
double FabricGbps(const LabState& state, double bytes_per_s) { return bytes_per_s * 8e-9 / state.plan.options.scale; }

std::vector<CableId> UplinksOf(const LabPlan& plan, LabNodeId node) {
  std::vector<CableId> uplinks;
  for (const CableId cable : plan.nodes[node].cables) {
    if (!plan.cables[cable].nic.valid() && plan.cables[cable].ends[0].node == node) uplinks.push_back(cable);
  }
  return uplinks;
}

report::TextTable MakeJobTable(const LabState& state, const LabRunResult& result,
                               const std::vector<SimulatedJob>& simulated) {
  std::vector<report::TextColumn> columns = {{"job", Align::kLeft},
                                             {"hosts", Align::kRight},
                                             {"connections", Align::kRight},
                                             {"iterations", Align::kRight, "", "ended in the time measured"},
                                             {"mean s", Align::kRight, "iteration"},
                                             {"low", Align::kRight, "iteration"},
                                             {"high", Align::kRight, "iteration"},
                                             {"Gb/s", Align::kRight, "", "sent, at the speed of the real fabric"}};
  if (!simulated.empty()) {
    for (const char* heading : {"mean s", "low", "high"}) columns.push_back({heading, Align::kRight, "simulated"});
  }
  report::TextTable table(columns);
  for (size_t j = 0; j < result.jobs.size(); ++j) {
    const LabJobResult& job = result.jobs[j];
    const auto& times = job.iteration_s;
    std::vector<std::string> row = {job.name, report::FormatCount(job.num_workers),
                                    report::FormatCount(job.num_connections), report::FormatCount(times.size())};
    for (const double value : {Mean(times), times.empty() ? 0 : *std::min_element(times.begin(), times.end()),
                               times.empty() ? 0 : *std::max_element(times.begin(), times.end())}) {
      row.push_back(times.empty() ? std::string(report::kUnknown) : report::FormatFixed(value, 3));
    }
    row.push_back(report::FormatFixed(FabricGbps(state, job.sent_bytes_per_s), 1));
    if (j < simulated.size()) {
      for (const double value : {simulated[j].mean_s, simulated[j].low_s, simulated[j].high_s}) {
        row.push_back(report::FormatFixed(value, 3));
      }
    }
    table.AddRow(std::move(row));
  }
  return table;
}

report::TextTable MakeUplinkTable(const LabState& state, const LabRunResult& result) {
  report::TextTable table({{"switch", Align::kLeft},
                           {"least", Align::kRight, "uplinks' use", "share of the speed of its least used uplink"},
                           {"mean", Align::kRight, "uplinks' use"},
                           {"most", Align::kRight, "uplinks' use"},
                           {"most / mean", Align::kRight, "", "1 where traffic is spread evenly"},
                           {"busiest", Align::kLeft, "", "the most used uplink"}});
  for (LabNodeId node(0u); node.index() < state.plan.nodes.size(); node = LabNodeId(node.index() + 1)) {
    const auto uplinks = UplinksOf(state.plan, node);
    if (uplinks.empty()) continue;
    std::vector<double> use;
    for (const CableId cable : uplinks) use.push_back(Utilization(state, result, cable, 0));
    const auto most = std::max_element(use.begin(), use.end());
    if (*most <= 0) continue;
    table.AddRow({state.plan.nodes[node].name, report::FormatPercent(*std::min_element(use.begin(), use.end())),
                  report::FormatPercent(Mean(use)), report::FormatPercent(*most),
                  report::FormatFixed(*most / Mean(use), 2),
                  CableName(state.plan, uplinks[static_cast<size_t>(most - use.begin())])});
  }
  return table;
}

}  // namespace

std::vector<SimulatedJob> SummarizeSimulation(const sim::SimulationReport& report, const std::string& policy) {
  std::vector<SimulatedJob> jobs;
  double num_runs = 0;
  for (const sim::RunResult& run : report.runs) {
    if (run.policy != policy) continue;
    ++num_runs;
    jobs.resize(run.jobs.size());
    for (size_t j = 0; j < run.jobs.size(); ++j) {
      const double seconds = run.jobs[j].iteration_s;
      jobs[j].name = run.jobs[j].name;
      jobs[j].mean_s += seconds;
      jobs[j].low_s = num_runs == 1 ? seconds : std::min(jobs[j].low_s, seconds);
      jobs[j].high_s = std::max(jobs[j].high_s, seconds);
    }
  }
  for (SimulatedJob& job : jobs) job.mean_s /= num_runs;
  return jobs;
}

UplinkBalance BalanceOf(const LabState& state, const LabRunResult& result) {
  UplinkBalance balance;
  double num_switches = 0;
  for (LabNodeId node(0u); node.index() < state.plan.nodes.size(); node = LabNodeId(node.index() + 1)) {
    std::vector<double> use;
    for (const CableId cable : UplinksOf(state.plan, node)) use.push_back(Utilization(state, result, cable, 0));
    const double most = use.empty() ? 0 : *std::max_element(use.begin(), use.end());
    if (most <= 0) continue;
    ++num_switches;
    balance.mean_imbalance += most / Mean(use);
    balance.worst_imbalance = std::max(balance.worst_imbalance, most / Mean(use));
    balance.busiest_share = std::max(balance.busiest_share, most);
  }
  if (num_switches > 0) balance.mean_imbalance /= num_switches;
  return balance;
}

Throughput ThroughputOf(const LabRunResult& result) {
  Throughput throughput;
  std::vector<double> speeds;
  for (const LabJobResult& job : result.jobs) speeds.push_back(job.sent_bytes_per_s);
  throughput.total_bytes_per_s = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  if (throughput.total_bytes_per_s > 0) {
    const auto [low, high] = std::minmax_element(speeds.begin(), speeds.end());
    throughput.spread = (*high - *low) / Mean(speeds);
  }
  return throughput;
}

report::Document RenderRun(const LabState& state, const LabRunResult& result,
                           const std::vector<SimulatedJob>& simulated) {
  report::Document text = DescribeLab(state);
  text += fmt::format("measured for {:.1f} s at {:g} of the fabric's speed; Gb/s as in the fabric\n\n",
                      result.measured_s, state.plan.options.scale);
  text += MakeJobTable(state, result, simulated);
  if (report::TextTable uplinks = MakeUplinkTable(state, result); !uplinks.empty()) {
    text += "\n" + report::Document(std::move(uplinks));
  }
  const Throughput throughput = ThroughputOf(result);
  const UplinkBalance balance = BalanceOf(state, result);
  text += fmt::format("\nall jobs together {} Gb/s, spread between jobs {} of their mean\n",
                      report::FormatFixed(FabricGbps(state, throughput.total_bytes_per_s), 1),
                      report::FormatPercent(throughput.spread));
  text += fmt::format("busiest uplink over mean of its switch: {:.2f} on average, {:.2f} at worst\n",
                      balance.mean_imbalance, balance.worst_imbalance);
  text += fmt::format("TCP segments sent again: {}\n", report::FormatCount(Retransmitted(result)));
  return text;
}

Json RunJson(const LabState& state, const LabRunResult& result, const std::vector<SimulatedJob>& simulated) {
  const Throughput throughput = ThroughputOf(result);
  const UplinkBalance balance = BalanceOf(state, result);
  Json json = {{"lab", state.name},
               {"measured_s", result.measured_s},
               {"scale", state.plan.options.scale},
               {"total_gbps", FabricGbps(state, throughput.total_bytes_per_s)},
               {"spread", throughput.spread},
               {"uplinks",
                {{"mean_imbalance", balance.mean_imbalance},
                 {"worst_imbalance", balance.worst_imbalance},
                 {"busiest_share", balance.busiest_share}}},
               {"jobs", Json::array()},
               {"links", Json::array()},
               {"retransmitted_segments", Retransmitted(result)}};
  for (size_t j = 0; j < result.jobs.size(); ++j) {
    const LabJobResult& job = result.jobs[j];
    const auto& times = job.iteration_s;
    const auto number = [&](double value) { return times.empty() ? Json() : Json(value); };
    Json entry = {{"name", job.name},
                  {"workers", job.num_workers},
                  {"connections", job.num_connections},
                  {"iterations", times.size()},
                  {"iteration_s", number(Mean(times))},
                  {"iteration_low_s", number(times.empty() ? 0 : *std::min_element(times.begin(), times.end()))},
                  {"iteration_high_s", number(times.empty() ? 0 : *std::max_element(times.begin(), times.end()))},
                  {"exposed_s", number(job.exposed_s)},
                  {"gbps", FabricGbps(state, job.sent_bytes_per_s)}};
    if (j < simulated.size()) {
      entry["simulated_s"] = simulated[j].mean_s;
      entry["simulated_low_s"] = simulated[j].low_s;
      entry["simulated_high_s"] = simulated[j].high_s;
    }
    json["jobs"].push_back(std::move(entry));
  }
  for (CableId cable(0u); cable.index() < state.plan.cables.size(); cable = CableId(cable.index() + 1)) {
    json["links"].push_back(
        {{"name", CableName(state.plan, cable)},
         {"sent_bytes", {SentBytes(result, cable, 0), SentBytes(result, cable, 1)}},
         {"utilization", {Utilization(state, result, cable, 0), Utilization(state, result, cable, 1)}}});
  }
  return json;
}

}  // namespace fairlead::lab

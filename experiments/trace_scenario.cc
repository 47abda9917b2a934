#include "experiments/trace_scenario.h"

#include <limits>
#include <utility>

#include "base/yaml_reader.h"
#include "experiments/embedded_texts.h"
#include "sim/scenario_runner.h"
#include "topology/fabric_yaml.h"

namespace fairlead::experiments {

namespace {

// Only the fabric's text differs from one trace fabric to the next.
Result<topology::Fabric> ParseFabric(const std::string& text) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::Parse(text, "fabric of the experiment"));
  YamlMap root = document.Root();
  YamlMap section = root.RequiredMap("fabric");
  return topology::LoadFabric(section);
}

// The embedded text of a fabric file with its oversubscription replaced.
std::string WithOversubscription(std::string_view path, double oversubscription) {
  std::string text(FindEmbeddedText(path));
  const std::string key = "\n  oversubscription: 1\n";
  const size_t at = text.find(key);
  FL_CHECK_MSG(at != std::string::npos, "a trace fabric must say oversubscription: 1");
  text.replace(at, key.size(), "\n  oversubscription: " + std::to_string(oversubscription) + "\n");
  return text;
}

}  // namespace

Result<sim::Scenario> LoadTraceScenario() {
  constexpr std::string_view kFile = "scenarios/lingjun-two-weeks.yaml";
  std::string text(FindEmbeddedText(kFile));
  const std::string reference = "fabric_file: ../fabrics/lingjun-clos.yaml\n";
  const size_t at = text.find(reference);
  FL_CHECK_MSG(at != std::string::npos, "the trace scenario must name its fabric");
  text.replace(at, reference.size(), FindEmbeddedText("fabrics/lingjun-clos.yaml"));
  FL_ASSIGN_OR_RETURN(sim::Scenario scenario, sim::ParseScenario(text, std::string(kFile), {}));
  return scenario;
}

Result<topology::Fabric> BuildTraceClos(double oversubscription) {
  return ParseFabric(WithOversubscription("fabrics/lingjun-clos.yaml", oversubscription));
}

Result<topology::Fabric> BuildTraceDoubleSided(double oversubscription) {
  return ParseFabric(WithOversubscription("fabrics/lingjun-double-sided.yaml", oversubscription));
}

void CutDays(double first_day, double last_day, sim::Scenario* scenario) {
  const SimTime begin = SimTime::FromSeconds(Seconds(first_day * 86400));
  const SimTime end = SimTime::FromSeconds(Seconds(last_day * 86400));
  std::vector<sim::ScenarioJob> kept;
  for (sim::ScenarioJob& entry : scenario->jobs) {
    if (entry.job.arrival < begin || entry.job.arrival >= end) continue;
    entry.job.id = JobId(kept.size());
    entry.job.arrival = SimTime((entry.job.arrival - begin).ns());
    kept.push_back(std::move(entry));
  }
  scenario->jobs = std::move(kept);
  scenario->simulation.end = SimTime((end - begin).ns());
  scenario->simulation.num_bins = static_cast<uint32_t>(std::max(1.0, (last_day - first_day) * 24));
}

Result<sim::SimulationReport> SimulateScenario(const sim::Scenario& scenario, const experiment::RunContext& context,
                                               double from, double to) {
  return sim::RunScenario(scenario, {.num_threads = context.num_threads}, *context.stop,
                          [&](double fraction) { context.Report(from + (to - from) * fraction); });
}

double MeanBusy(const sim::SimulationReport& report, const std::string& policy) {
  double sum = 0;
  size_t count = 0;
  for (const sim::RunResult& run : report.runs) {
    if (run.policy != policy || run.partial) continue;
    sum += run.busy;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace fairlead::experiments

#include "cli/run_with_progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <iostream>

#include "cli/command.h"
#include "report/progress_bar.h"

namespace fairlead::cli {

Result<sim::Scenario> FindScenario(const std::string& path, const std::string& topology) {
  sim::ScenarioOverrides overrides;
  if (!topology.empty()) overrides.topology_file = FindInputFile(topology);
  return sim::LoadScenario(FindInputFile(path), overrides);
}

Result<sim::SimulationReport> RunWithProgress(const sim::Scenario& scenario, const sim::ScenarioRunOptions& options) {
  report::ProgressBarOptions bar_options;
  bar_options.is_terminal = isatty(STDERR_FILENO) != 0;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) bar_options.width = size.ws_col;
  report::ProgressBar bar(std::cerr, bar_options);
  const auto begin = std::chrono::steady_clock::now();
  const auto progress = [&](double fraction) {
    bar.Update(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), "simulating", fraction);
  };
  auto report = sim::RunScenario(scenario, options, StopRequested(), progress);
  bar.Finish();
  return report;
}

}  // namespace fairlead::cli

// Any text as a scenario: one error message, or a simulation that runs; never a crash, a hang or much memory.
#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "sim/scenario.h"
#include "sim/scenario_runner.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto scenario = sim::ParseScenario(text, "/nonexistent/fuzz.yaml", {.max_links = 5'000});
  if (!scenario.ok()) {
    FL_CHECK(!scenario.status().message().empty());
    return 0;
  }
  scenario->num_seeds = 1;
  std::atomic<bool> stop = false;
  int looks = 0;
  const auto report = sim::RunScenario(*scenario, {.num_threads = 1}, stop, [&](double) { stop = ++looks > 20; });
  FL_CHECK_MSG(report.ok(), report.status().message());
  for (const sim::RunResult& run : report->runs) {
    FL_CHECK(run.busy >= 0 && run.busy <= 1 + 1e-9);
    for (const sim::LinkResult& link : run.links) FL_CHECK(link.utilization >= 0 && link.utilization <= 1 + 1e-6);
  }
  return 0;
}

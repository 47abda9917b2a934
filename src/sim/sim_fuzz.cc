// Any scenario that random_scenario.h can draw: it runs, keeps the laws of run_laws.h, is the same when it runs again,
// and gives the same result, within its stated bound, when every iteration is simulated.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/check.h"
#include "sim/random_scenario.h"
#include "sim/run_laws.h"
#include "sim/scenario_runner.h"

namespace {

using namespace fairlead;

// Looks of a run at its watch before it is stopped: a bound on time, not on what is drawn.
constexpr int kMaxLooks = 200;

// The numbers that the bytes say; zeros after their end.
class FuzzBytes {
 public:
  FuzzBytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  uint64_t Below(uint64_t n) {
    uint64_t value = 0;
    for (uint64_t range = n - 1; range > 0; range >>= 8) value = value << 8 | (next_ < size_ ? data_[next_++] : 0);
    return value % n;
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t next_ = 0;
};

// The scenario, so that the program can run it, and the error.
[[noreturn]] void Fail(const std::string& text, const std::string& reason) {
  std::fprintf(stderr, "%s\n%s\n", text.c_str(), reason.c_str());
  std::abort();
}

sim::RunResult Simulate(const std::string& text, const sim::Scenario& scenario) {
  std::atomic<bool> stop = false;
  int looks = 0;
  auto report = sim::RunScenario(scenario, {.num_threads = 1}, stop, [&](double) { stop = ++looks > kMaxLooks; });
  if (!report.ok()) Fail(text, report.status().message());
  FL_CHECK(report->runs.size() == 1);
  return std::move(report->runs.front());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzBytes bytes(data, size);
  const std::string text =
      sim::RandomScenarioText([&bytes](uint64_t n) { return bytes.Below(n); }, {.max_jobs = 6, .max_simulated_s = 200});
  auto scenario = sim::ParseScenario(text, "/nonexistent/fuzz.yaml", {});
  if (!scenario.ok()) Fail(text, scenario.status().message());
  const sim::RunResult run = Simulate(text, *scenario);
  if (const std::string broken = sim::FindBrokenLaw(*scenario, run); !broken.empty()) Fail(text, broken);
  if (run.partial) return 0;
  if (Simulate(text, *scenario).event_hash != run.event_hash) Fail(text, "another hash when it runs again");
  return 0;
}

// Every key of `sim run --json` is documented, and every documented key occurs: real runs of each kind against
// docs/reference/sim-run-json.md.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "report/json_report.h"
#include "sim/scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::report {
namespace {

const std::set<std::string> kSpreadKeys = {"mean", "min", "max", "deviation", "low", "high", "runs"};

// "runs[].jobs[].id" for each key of `json`; those of a spread as "….*".
void CollectKeys(const Json& json, const std::string& path, std::set<std::string>* keys) {
  if (json.is_array()) {
    for (const Json& item : json) CollectKeys(item, path + "[]", keys);
    return;
  }
  if (!json.is_object()) return;
  if (json.contains("deviation")) {
    for (const auto& item : json.items()) EXPECT_TRUE(kSpreadKeys.contains(item.key())) << path << '.' << item.key();
    EXPECT_EQ(json.size(), kSpreadKeys.size()) << path;
    keys->insert(path + ".*");
    return;
  }
  for (const auto& item : json.items()) {
    const std::string key = path.empty() ? item.key() : path + "." + item.key();
    keys->insert(key);
    CollectKeys(item.value(), key, keys);
  }
}

// First cells of the tables, without their quotes.
std::set<std::string> ReadDocumentedKeys() {
  std::set<std::string> keys;
  std::ifstream file(FAIRLEAD_SOURCE_DIR "/docs/reference/sim-run-json.md");
  EXPECT_TRUE(file.good());
  const std::string begin = "| `";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(begin)) continue;
    const std::string key = line.substr(begin.size(), line.find('`', begin.size()) - begin.size());
    EXPECT_TRUE(keys.insert(key).second) << key << " appears twice";
  }
  return keys;
}

Json Simulate(const std::string& scenario_keys) {
  const auto scenario = sim::ParseScenario(
      "title: keys\n"
      "fabric: {kind: clos2, hosts_per_leaf: 4, leaves: 4, spines: 4, oversubscription: 2, host: {gpus: 8, nics: 4}}\n"
      "seeds: 2\n"
      "simulate_s: 60\n" +
          scenario_keys,
      "keys.yaml", {});
  EXPECT_TRUE(scenario.ok()) << scenario.status().message();
  const std::atomic<bool> never = false;
  const auto report = sim::RunScenario(*scenario, {}, never, nullptr);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return ToJson(*report);
}

constexpr const char* kCollidingJobs =
    "jobs:\n"
    "  - {name: a, gpus: 24, compute_s: 0.2, size_mb: 8000, collective: ring-all-reduce, count: 5}\n";

TEST(JsonKeysTest, AllAreDocumentedAndAllDocumentedOccur) {
  std::set<std::string> found;
  CollectKeys(Simulate(std::string("placement: random\npolicies: [ecmp, crux]\ncongestion: dcqcn\n") + kCollidingJobs),
              "", &found);
  CollectKeys(Simulate(std::string("placement: random\npolicies: [crux]\nprofile_jobs: true\nprofiling_window_s: 5\n") +
                       kCollidingJobs),
              "", &found);
  CollectKeys(Simulate("policies: [ecmp]\nplacement: random\nmigration: {max_rings: 1}\njobs:\n"
                       "  - {name: a, gpus: 24, compute_s: 0.2, size_mb: 8000, count: 3}\n"
                       "  - {name: b, gpus: 16, arrival_s: 10, compute_s: 0.2, size_mb: 8000, count: 3}\n"),
              "", &found);
  CollectKeys(Simulate(std::string("policies: [cassini]\ncassini: {placements: 4}\n") + kCollidingJobs), "", &found);
  CollectKeys(Simulate("policies: [ecmp]\nallocation: fcfs\nhost_faults: [{at_s: 5, host: h0}]\n"
                       "jobs: [{name: a, gpus: 8, iterations: 9, compute_s: 1}]\n"),
              "", &found);
  CollectKeys(Simulate("policies: [ecmp]\nallocation: aiturbo\n"
                       "jobs:\n  - {name: a, gpus: 8, model: bert-large, iterations: 50, count: 2}\n"),
              "", &found);
  CollectKeys(Simulate("policies: [ecmp]\nkv_transfers: [{from: [h0], to: [h1], per_s: 1, bytes_per_token: 1000}]\n"
                       "jobs: [{name: a, gpus: 8, iterations: 9, compute_s: 1}]\n"),
              "", &found);
  const std::set<std::string> documented = ReadDocumentedKeys();
  for (const std::string& key : found) EXPECT_TRUE(documented.contains(key)) << "not documented: " << key;
  for (const std::string& key : documented) EXPECT_TRUE(found.contains(key)) << "never occurs: " << key;
}

}  // namespace
}  // namespace fairlead::report

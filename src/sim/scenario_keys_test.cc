// Every declared key is one that the reader takes, with its example as value: the reference and the schema promise no
// more than the reader keeps. (That it takes no other, YamlMap::Declare sees to.)
#include "sim/scenario_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "sim/scenario.h"
#include "sim/scenario_template.h"
#include "topology/fabric_keys.h"

namespace fairlead::sim {
namespace {

// A map as {key: value, …}, in which every key occurs once.
class FlowMap {
 public:
  void Set(std::string_view key, std::string value) {
    for (auto& [name, old] : entries_) {
      if (name == key) return void(old = std::move(value));
    }
    entries_.emplace_back(key, std::move(value));
  }
  bool Has(std::string_view key) const {
    return std::ranges::any_of(entries_, [key](const auto& entry) { return entry.first == key; });
  }
  std::string Text() const {
    std::vector<std::string> parts;
    for (const auto& [name, value] : entries_) parts.push_back(fmt::format("{}: {}", name, value));
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
  }

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

// What `key` needs beside it.
FlowMap WithCompanions(const YamlMapKeys& map, const YamlKey& key, const std::string& value) {
  FlowMap text;
  const std::string_view kind = SplitAtSpaces(key.kinds).empty() ? "" : SplitAtSpaces(key.kinds).front();
  std::string own_kind(kind);
  if (!map.kind_key.empty() && key.name != map.kind_key) {
    if (own_kind.empty()) own_kind = FindYamlKey(map, map.kind_key, "")->choices().front();
    text.Set(map.kind_key, own_kind);
  } else if (!map.kind_key.empty()) {
    own_kind = value;
  }
  for (const YamlKey& other : map.keys) {
    if (other.is_required && FindYamlKey(map, other.name, own_kind) == &other) {
      if (!text.Has(other.name)) text.Set(other.name, std::string(other.example));
    }
  }
  const auto add = [&](std::string_view name) {
    if (!text.Has(name)) text.Set(name, std::string(FindYamlKey(map, name, own_kind)->example));
  };
  if (!key.with.empty()) add(key.with);
  text.Set(key.name, value);
  for (const std::string_view group : map.exactly_one) {
    const auto names = SplitAtSpaces(group);
    if (std::ranges::none_of(names, [&](std::string_view name) { return text.Has(name); })) add(names.front());
  }
  return text;
}

constexpr std::string_view kOtherCables =
    "{from: h1/nic0, to: leaf1}, {from: leaf0, to: spine0, gbps: 400}, {from: leaf1, to: spine0, gbps: 400}";

// Wraps the text of a map into the maps around it: kMap or an entry of kMaps.
struct Place {
  const YamlMapKeys* map;
  const YamlKey* key;  // of `map`
};

// The keys of a whole explicit fabric, but for one that has been set.
void CompleteExplicitFabric(std::string_view key, FlowMap* fabric) {
  if (key != "host") fabric->Set("host", "{nics: 1}");
  if (key != "switches") fabric->Set("switches", "{leaf: [leaf0, leaf1], spine: [spine0]}");
  if (key != "hosts") fabric->Set("hosts", "[h0, h1]");
  std::string cables = fmt::format("{{from: h0/nic0, to: leaf0}}, {}", kOtherCables);
  if (key == "other_hosts") {
    const int nics = fabric->Text().find("nics: 3") == std::string::npos ? 1 : 3;
    for (int n = 0; n < nics; ++n) cables += fmt::format(", {{from: h7/nic{}, to: leaf0}}", n);
  }
  if (key != "cables") fabric->Set("cables", fmt::format("[{}]", cables));
}

std::string Wrap(const std::vector<Place>& places, std::string inner) {
  for (size_t i = places.size(); i-- > 0;) {
    const auto& [map, key] = places[i];
    // The last entry of a spread takes all sizes.
    if (key->name == "spread") inner += ", {models: [nmt]}";
    if (key->name == "cables") inner += fmt::format(", {}", kOtherCables);
    if (key->type == YamlType::kMaps) inner = fmt::format("[{}]", inner);
    FlowMap text = WithCompanions(*map, *key, inner);
    if (key->kinds == "explicit") CompleteExplicitFabric(key->name, &text);
    inner = text.Text();
  }
  return inner;
}

class ScenarioKeysTest : public ::testing::Test {
 protected:
  ScenarioKeysTest() {
    for (const char* name : {"scenarios", "fabrics", "workloads"})
      std::filesystem::create_directory(folder_.path() / name);
    const std::filesystem::path source(FAIRLEAD_SOURCE_DIR);
    for (const char* file : {"fabrics/crux-testbed.yaml", "workloads/moe-32.txt", "workloads/sharded-16.et"}) {
      std::filesystem::copy(source / file, folder_.path() / file);
    }
    std::filesystem::copy(source / "profiles", folder_.path() / "scenarios/my-profiles");
    std::ofstream(folder_.path() / "scenarios/topo.csv") << "ip,DSW,PSW,ASW\na,G0,P0,S0\nb,G0,P0,S1\n";
    std::ofstream(folder_.path() / "scenarios/jobs.csv")
        << "job_id,submit_s,duration_s,gpus,gpus_per_host,model\na,0,100,8,8,llama\n";
  }

  std::string Error(const std::string& text) const {
    const auto scenario = ParseScenario(text, (folder_.path() / "scenarios/s.yaml").string(), {});
    return scenario.ok() ? "" : std::string(scenario.status().message());
  }

  // Every key of `map` and of the maps in it.
  void CheckAll(const YamlMapKeys& map, const std::vector<Place>& places) {
    for (const YamlKey& key : map.keys) {
      const std::string path = fmt::format("{}.{} {}", map.name, key.name, key.kinds);
      EXPECT_FALSE(key.meaning.empty()) << path;
      EXPECT_FALSE(key.example.empty()) << path;
      FlowMap text = WithCompanions(map, key, std::string(key.example));
      Adapt(map, key, &text);
      const std::string document = AdaptRoot(map, key, Wrap(places, text.Text()));
      EXPECT_EQ(Error(document), "") << path << "\n" << document;
      ++num_checked_;
      if (key.map == nullptr || !maps_.insert(key.map).second) continue;
      std::vector<Place> inner = places;
      inner.push_back({&map, &key});
      CheckAll(*key.map, inner);
    }
  }

  // What a value means to the others, which no table says.
  static void Adapt(const YamlMapKeys& map, const YamlKey& key, FlowMap* text) {
    if (IsElastic(map, key) && !key.name.starts_with("epoch") && key.name != "iterations_per_epoch") {
      text->Set("iterations", "10");
    }
    if (map.name == "parallelism" && key.name == "data") text->Set("tensor", "8");
    if (map.name == "spread") text->Set("max_gpus", "8");
    if (map.name == "fabric") {
      if (key.name == "pods" && key.kinds.starts_with("double")) text->Set("cores", "16");
      if (key.name == "cores" && key.kinds.starts_with("double")) text->Set("pods", "2");
      if (key.name == "rails_per_leaf" || key.name == "rail_groups") text->Set("rails_per_leaf", "2");
      if (key.name == "dual_homed") text->Set("host", "{ports_per_nic: 2}");
    }
    if (map.name == "switches") {
      text->Set("leaf", "[leaf0, leaf1]");
      text->Set("spine", "[spine0]");
    }
    if (map.name == "host fault" && key.name == "magnitude") text->Set("kind", "slow_gpu");
    if (map.name == "link") text->Set("cable", "1");
    if (key.kinds == "explicit") CompleteExplicitFabric(key.name, text);
  }

  static bool IsElastic(const YamlMapKeys& map, const YamlKey& key) {
    static const std::set<std::string_view> kKeys = {
        "sizes",     "min_gpus",    "max_gpus",         "epochs", "iterations_per_epoch",
        "restart_s", "predictable", "predictable_after"};
    return map.name == "job" && kKeys.contains(key.name);
  }

  static std::string AdaptRoot(const YamlMapKeys& map, const YamlKey& key, std::string document) {
    const bool is_of_hosts = map.name == "host fault" || map.name == "host event" ||
                             (map.name == "scenario" && key.name.starts_with("host_"));
    const bool is_allocated = key.name.starts_with("allocation") || is_of_hosts;
    if (IsElastic(map, key) || (is_allocated && key.name != "allocation")) document.insert(1, "allocation: aiturbo, ");
    // Jobs that are allocated for have to end.
    if (is_allocated) document.replace(document.find("gpus: 16"), 8, "gpus: 16, iterations: 10");
    if (key.name.starts_with("checkpoint_") && map.name == "job") document.insert(1, "storage: {hosts: [h3]}, ");
    // A model with experts.
    if (key.name == "expert") document.replace(document.find("gpt-13b"), 7, "moe");
    return document;
  }

  TemporaryFolder folder_;
  std::set<const YamlMapKeys*> maps_;
  size_t num_checked_ = 0;
};

TEST_F(ScenarioKeysTest, TheReaderTakesEveryDeclaredKeyWithItsExample) {
  CheckAll(kScenarioKeys, {});
  EXPECT_GT(num_checked_, 100u);
}

TEST(ScenarioTemplateTest, TemplatesAreValidWithAndWithoutTheirOptions) {
  for (const std::string_view name : ScenarioTemplateNames()) {
    const std::string text = ScenarioTemplate(name).value();
    EXPECT_EQ(ParseScenario(text, "t.yaml", {}).status().message(), "") << name;
    std::string all = text;
    size_t num_options = 0;
    for (size_t i = 0; i + 1 < all.size(); ++i) {
      const bool is_option = all[i] == '#' && std::islower(static_cast<unsigned char>(all[i + 1])) != 0;
      if (!is_option) continue;
      all.erase(i, 1);
      ++num_options;
    }
    EXPECT_GE(num_options, 1u) << name;
    EXPECT_EQ(ParseScenario(all, "t.yaml", {}).status().message(), "") << name << "\n" << all;
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      EXPECT_LE(end - begin, 110u) << text.substr(begin, end - begin);
    }
  }
  EXPECT_THAT(ScenarioTemplate("ring").status().message(), ::testing::HasSubstr("expected clos, rail, lab"));
}

}  // namespace
}  // namespace fairlead::sim

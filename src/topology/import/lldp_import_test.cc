#include "topology/import/lldp_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "topology/import/foreign_fabric.h"
#include "topology/import/random_cabling.h"

namespace fairlead::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

Result<ImportedFabric> ImportReports(const std::vector<LldpReport>& reports, const ImportOptions& options = {}) {
  FL_ASSIGN_OR_RETURN(ForeignNetwork network, ReadLldp(reports, "reports"));
  return BuildImportedFabric(std::move(network), options, "reports", "A test.");
}

LldpReport Report(const std::string& device, const std::string& neighbours, const std::string& addresses = "") {
  return {.device = device, .neighbours = neighbours, .addresses = addresses, .where = "reports/" + device + ".json"};
}

const std::string kTestdata = std::string(FAIRLEAD_SOURCE_DIR) + "/src/topology/import/testdata/";

// Reports of lldpd 1.0.16 in the forms that it has: one neighbour, several, json0; a SONiC switch whose port has
// another name in its description; a NIC whose firmware speaks too; a host that only its leaf knows of.
TEST(LldpTest, AFolderOfReports) {
  auto network = LoadLldp(kTestdata + "lldp");
  ASSERT_TRUE(network.ok()) << network.status().message();
  const auto imported = BuildImportedFabric(*std::move(network), {}, "lldp", "A test.");
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_THAT(CablesOf(imported->fabric),
              ElementsAre("leaf1->spine1 100", "leaf1->spine1 100", "leaf2->spine1 100", "leaf2->spine1 100",
                          "node1/nic0->leaf1 100", "node1/nic1->leaf2 100", "node2/nic0->leaf1 100",
                          "node2/nic0->leaf2 100", "node3/nic0->leaf2 25"));
  const Fabric& fabric = imported->fabric;
  EXPECT_EQ(
      WriteAddressBook(imported->addresses, fabric),
      "{\n  \"interfaces\": {\n    \"10.1.1.0\": \"leaf1->spine1#1\",\n    \"10.1.1.1\": \"spine1->leaf1#1\"\n  },\n"
      "  \"nics\": {\n    \"10.0.1.1\": \"node1/nic0\",\n    \"10.0.2.1\": \"node1/nic1\",\n"
      "    \"10.0.3.2\": \"node2/nic0\"\n  }\n}\n");
}

enum class Form { kJson, kJson0, kNamed };

// What `device` would print of the cables at it, in one of lldpd's forms.
std::string WriteReport(const std::vector<Json>& entries, Form form) {
  // Entries are json0.
  Json interfaces = Json::array();
  for (const Json& entry : entries) {
    if (form == Form::kJson0) {
      interfaces.push_back(entry);
      continue;
    }
    const auto value = [](const Json& list) { return list[0]["value"]; };
    Json chassis = {{"id", entry["chassis"][0]["id"][0]}, {"descr", value(entry["chassis"][0]["descr"])}};
    Json port = {{"id", entry["port"][0]["id"][0]}, {"descr", value(entry["port"][0]["descr"])}};
    if (entry["port"][0].contains("auto-negotiation")) {
      port["auto-negotiation"] = {{"current", value(entry["port"][0]["auto-negotiation"][0]["current"])}};
    }
    Json flat = {{"chassis", {{value(entry["chassis"][0]["name"]).get<std::string>(), chassis}}}, {"port", port}};
    if (form == Form::kNamed) {
      flat["name"] = entry["name"];
      interfaces.push_back(flat);
    } else {
      interfaces.push_back(Json{{entry["name"].get<std::string>(), flat}});
    }
  }
  if (form == Form::kJson0) return Json{{"lldp", Json::array({{{"interface", interfaces}}})}}.dump();
  if (interfaces.size() == 1) return Json{{"lldp", {{"interface", interfaces[0]}}}}.dump();
  return Json{{"lldp", {{"interface", interfaces}}}}.dump();
}

TEST(LldpTest, RandomFabricsComeBack) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const RandomCabling drawn = DrawCabling(&random, {1, 25, 100});
    const bool one_sided = seed % 3 == 0;
    std::vector<std::vector<Json>> entries(drawn.devices.size());
    const auto text = [](const std::string& value) { return Json::array({{{"value", value}}}); };
    const auto port_name = [&](size_t device, uint32_t port) {
      return fmt::format("{}{}", drawn.IsHost(device) ? "eth" : "Ethernet", port);
    };
    const auto see = [&](size_t near, uint32_t near_port, size_t far, uint32_t far_port, double gbps) {
      const std::string far_name = port_name(far, far_port);
      // As lldpd tells ports: by interface, or by MAC with the interface as description.
      const bool by_mac = random.Below(2) == 0;
      Json port = {{"id", Json::array({{{"type", by_mac ? "mac" : "ifname"},
                                        {"value", by_mac ? fmt::format("m{}:{}", far, far_port) : far_name}}})},
                   {"descr", text(by_mac ? far_name : "to somewhere")}};
      port["auto-negotiation"] =
          Json::array({{{"current", text(gbps == 1 ? "1000BaseTFD - x" : fmt::format("{}GbaseCR4", gbps))}}});
      entries[near].push_back(
          {{"name", port_name(near, near_port)},
           {"chassis", Json::array({{{"id", Json::array({{{"type", "mac"}, {"value", fmt::format("c{}", far)}}})},
                                     {"name", text(drawn.devices[far] + (random.Below(2) == 0 ? ".example" : ""))},
                                     {"descr", text(drawn.IsHost(far) ? "Debian GNU/Linux 12" : "SONiC Software")}}})},
           {"port", Json::array({port})}});
      if (random.Below(8) == 0) entries[near].push_back(entries[near].back());  // received twice
    };
    for (const RandomCable& c : drawn.cables) {
      const uint64_t sides = one_sided ? 1 + random.Below(3) : 3;
      if ((sides & 1) != 0) see(c.lower, c.lower_port, c.upper, c.upper_port, c.gbps);
      if ((sides & 2) != 0) see(c.upper, c.upper_port, c.lower, c.lower_port, c.gbps);
    }
    std::vector<LldpReport> reports;
    for (size_t d = 0; d < drawn.devices.size(); ++d) {
      if (entries[d].empty()) continue;
      reports.push_back(Report(drawn.devices[d], WriteReport(entries[d], static_cast<Form>(random.Below(3)))));
    }
    ImportOptions options;
    // A core that receives from others, and is received by none, can't be distinguished from a host.
    if (one_sided) options.switches = {"leaf*", "spine*", "core*"};
    const auto imported = ImportReports(reports, options);
    ASSERT_TRUE(imported.ok()) << "seed " << seed << ": " << imported.status().message();
    EXPECT_EQ(CablesOf(imported->fabric), CablesOf(drawn)) << "seed " << seed;
  }
}

std::string Neighbour(const std::string& port, const std::string& name, const std::string& far_port,
                      const std::string& more = "") {
  return fmt::format(
      R"({{"name": "{}", "chassis": {{"{}": {{"id": {{"type": "mac", "value": "{}"}}, "descr": "SONiC"}}}}, )"
      R"("port": {{"id": {{"type": "ifname", "value": "{}"}}, "descr": "{}"{}}}}})",
      port, name, name, far_port, far_port, more);
}
std::string Lldp(const std::string& neighbours) {
  return fmt::format(R"({{"lldp": {{"interface": [{}]}}}})", neighbours);
}

// Ports that are named by MAC from both sides match by their order; more sightings of one side than of the other are
// cables that the other has not seen.
TEST(LldpTest, EndsWithoutNamesMatchByNumber) {
  const auto anonymous = [](const std::string& port, const std::string& name, const std::string& system) {
    return fmt::format(
        R"({{"name": "{0}", "chassis": {{"{1}": {{"id": {{"type": "mac", "value": "{1}"}}, "descr": "{2}"}}}}, )"
        R"("port": {{"id": {{"type": "mac", "value": "{1}:{0}"}}}}}})",
        port, name, system);
  };
  ImportOptions options;
  options.default_gbps = 10;
  const auto imported =
      ImportReports({Report("h", Lldp(anonymous("e1", "a", "SONiC") + "," + anonymous("e2", "a", "SONiC"))),
                     Report("a", Lldp(anonymous("p1", "h", "Linux") + "," + anonymous("p2", "h", "Linux") + "," +
                                      anonymous("p3", "h", "Linux")))},
                    options);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_THAT(CablesOf(imported->fabric), ElementsAre("h/nic0->a 10", "h/nic1->a 10", "h/nic2->a 10"));
}

TEST(LldpTest, TheSlowerSpeedOfTwoCounts) {
  const std::string slow = R"(, "auto-negotiation": {"current": "25GbaseCR"})";
  const std::string fast = R"(, "auto-negotiation": {"current": "100GbaseCR4 - x"})";
  const auto imported = ImportReports(
      {Report("h", Lldp(Neighbour("e1", "a", "p1", fast))), Report("g", Lldp(Neighbour("e1", "a", "p2", fast))),
       Report("a", Lldp(Neighbour("p1", "h", "e1", slow) + "," + Neighbour("p2", "g", "e1")))},
      {.without = {}, .hosts = {"h", "g"}, .switches = {}, .layers = {}});
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_THAT(CablesOf(imported->fabric), ElementsAre("g/nic0->a 100", "h/nic0->a 25"));
}

TEST(LldpTest, OneFileWithManyDevices) {
  const std::string h = Lldp(Neighbour("e1", "a.dc.example", "p1"));
  const std::string text = fmt::format(R"({{"h1": {0}, "h2": {0}}})", h);
  const auto reports = SplitLldp(text, "all", "all.json");
  ASSERT_TRUE(reports.ok()) << reports.status().message();
  ImportOptions options;
  options.default_gbps = 10;
  const auto imported = ImportReports(*reports, options);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_THAT(CablesOf(imported->fabric), ElementsAre("h1/nic0->a 10", "h2/nic0->a 10"));
  EXPECT_THAT(imported->notes, ElementsAre(HasSubstr("taken for hosts, as no neighbour describes them: h1 and h2")));
  const auto single = SplitLldp(h, "h9", "h9.json");
  ASSERT_TRUE(single.ok());
  EXPECT_EQ(single->front().device, "h9");
}

TEST(LldpTest, MistakesAreNamedWithTheirPlace) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "reports/h.json: not JSON; expected the output of `lldpctl -f json`"},
      {"[]", "reports/h.json: no key 'lldp'"},
      {R"({"lldp": {}})", "reports: no neighbour in 1 report(s)"},
      {R"({"lldp": {"interface": 7}})", "reports/h.json: lldp.interface: expected a list or an object"},
      {R"({"lldp": {"interface": [3]}})", "reports/h.json: lldp.interface[0]: expected an object"},
      {R"({"lldp": {"interface": {"e1": {"port": {}}}}})", "reports/h.json: lldp.interface.e1: no 'chassis'"},
      {R"({"lldp": {"interface": {"e1": {"chassis": {"a": {}}}}}})", "reports/h.json: lldp.interface.e1: no 'port'"},
      {R"({"lldp": {"interface": [{"e1": {"chassis": {}, "port": {}}}]}})",
       "reports/h.json: lldp.interface[0].e1.chassis: expected one neighbour"},
      {Lldp(Neighbour("e1", "a", "p1")),
       "reports: 1 of 1 cables have no speed, such as h (e1) - a (p1); give it with --speed"},
  };
  for (const auto& [text, message] : cases) {
    const auto imported = ImportReports({Report("h", text)});
    ASSERT_FALSE(imported.ok()) << text;
    EXPECT_THAT(imported.status().message(), HasSubstr(message));
  }
  const auto twice = ImportReports(
      {Report("leaf1", Lldp(Neighbour("e1", "leaf1.r1", "p1") + "," + Neighbour("e2", "leaf1.r2", "p1")))});
  EXPECT_THAT(twice.status().message(),
              HasSubstr("reports: 'leaf1' may be leaf1, leaf1.r1 and leaf1.r2; name its file"));
  const auto addresses = ImportReports({Report("h", Lldp(Neighbour("e1", "a", "p1")), "{}")});
  EXPECT_THAT(addresses.status().message(), HasSubstr("reports/h.json: addresses: not a list in JSON; expected"));
  EXPECT_THAT(SplitLldp("{\"a\": 1}", "x", "x.json").status().message(), HasSubstr("x.json: expected the output"));
  EXPECT_THAT(SplitLldp(std::string(100'000, '['), "x", "x.json").status().message(), HasSubstr("found no JSON"));
  EXPECT_THAT(LoadLldp("/nonexistent").status().message(), HasSubstr("/nonexistent"));
}

}  // namespace
}  // namespace fairlead::topology

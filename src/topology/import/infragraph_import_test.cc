#include "topology/import/infragraph_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/import/foreign_fabric.h"
#include "topology/import/random_cabling.h"

namespace fairlead::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<ImportedFabric> ImportGraph(const std::string& text, const ImportOptions& options = {}) {
  FL_ASSIGN_OR_RETURN(ForeignNetwork network, ReadInfragraph(text, "graph.yaml", 10'000));
  return BuildImportedFabric(std::move(network), options, "graph.yaml", "A test.");
}

constexpr const char* kDevices =
    "devices:\n"
    "  - name: server\n"
    "    components: [{name: xpu, choice: xpu, count: 4}, {name: nic, choice: nic, count: 2},"
    " {name: nvsw, choice: switch, count: 1}]\n"
    "  - name: box\n"
    "    components: [{name: asic, choice: custom, custom: {type: asic}, count: 1}, {name: port, choice: port, count: "
    "8}]\n"
    "links:\n"
    "  - {name: slow, physical: {bandwidth: {choice: gigabits_per_second, gigabits_per_second: 100}}}\n"
    "  - {name: fast, physical: {bandwidth: {choice: gigabytes_per_second, gigabytes_per_second: 50},"
    " latency: {choice: us, us: 1}}}\n"
    "instances: [{name: host, device: server, count: 4}, {name: leaf, device: box, count: 2},"
    " {name: spine, device: box, count: 2}]\n";

// The form of versions 1 and 2: edges between slices. Numbers run instance by instance.
TEST(InfragraphTest, EdgesBetweenSlices) {
  const auto imported = ImportGraph(std::string(kDevices) +
                                    "edges:\n"
                                    "  - {ep1: {instance: 'host[0:2]', component: 'nic[0]'}, ep2: {instance: "
                                    "'leaf[0]', component: 'port[0:2]'}, scheme: one2one, link: slow}\n"
                                    "  - {ep1: {instance: 'host[2:]', component: 'nic[0]'}, ep2: {instance: "
                                    "'leaf[-1]', component: 'port[0:4:2]'}, scheme: one2one, link: slow}\n"
                                    "  - {ep1: {instance: 'leaf', component: 'port[4]'}, ep2: {instance: spine, "
                                    "component: 'port[0]'}, scheme: many2many, link: fast}\n");
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_THAT(CablesOf(imported->fabric),
              ElementsAre("host.0/nic0->leaf.0 100", "host.1/nic0->leaf.0 100", "host.2/nic0->leaf.1 100",
                          "host.3/nic0->leaf.1 100", "leaf.0->spine.0 400", "leaf.0->spine.1 400",
                          "leaf.1->spine.0 400", "leaf.1->spine.1 400"));
}

// The form of version 0, with devices in separate files; an infrastructure in JSON.
TEST(InfragraphTest, ConnectionsOfOldFiles) {
  const auto imported = ImportGraph(
      R"({"infrastructure": {"name": "x", "links": [)"
      R"({"name": "e1", "bandwidth": {"choice": "giga_bytes_per_second", "giga_bytes_per_second": 25}},)"
      R"({"name": "e2", "physical": {"bandwidth": {"choice": "g_bits_per_second", "g_bits_per_second": 400}}}],)"
      R"("connections": ["server.0.nic.0.e1.leafsw.0.port.0", "server.1.nic.0.e1.leafsw.1.port.0",)"
      R"("leafsw.0.port.4.e2.spinesw.0.port.0", "leafsw.1.port.4.e2.spinesw.0.port.1",)"
      R"("spinesw.0.port.1.e2.leafsw.1.port.4"]}})");
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_THAT(CablesOf(imported->fabric), ElementsAre("leafsw.0->spinesw.0 400", "leafsw.1->spinesw.0 400",
                                                      "server.0/nic0->leafsw.0 200", "server.1/nic0->leafsw.1 200"));
}

// Version 0 called the ports of its switches NICs, and gave the type of a component in `type`.
TEST(InfragraphTest, ASwitchWithNicsIsASwitch) {
  const auto network = ReadInfragraph(
      "devices:\n"
      "  - {name: s, components: [{name: npu, type: npu, count: 1}, {name: nic, type: nic, count: 1}]}\n"
      "  - {name: w, components: [{name: asic, type: custom, count: 1}, {name: nic, type: nic, count: 2}]}\n"
      "links: [{name: e, bandwidth: {choice: gigatransfers_per_second, gigatransfers_per_second: 8}}]\n"
      "instances: [{name: s, device: s, count: 1}, {name: w, device: w, count: 1}]\n"
      "connections: [s.0.nic.0.e.w.0.nic.0]\n",
      "graph.yaml", 100);
  ASSERT_TRUE(network.ok()) << network.status().message();
  ASSERT_EQ(network->devices.size(), 2u);
  EXPECT_EQ(network->devices[0].role, DeviceRole::kHost);
  EXPECT_EQ(network->devices[1].role, DeviceRole::kSwitch);
  EXPECT_EQ(network->cables[0].gbps, 0);  // transfers are no speed of a cable
}

TEST(InfragraphTest, RandomFabricsComeBack) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const RandomCabling drawn = DrawCabling(&random, {100, 200, 400});
    // An instance of each device: names keep their numbers.
    const bool is_old = seed % 2 == 0;
    std::string text = "links:\n";
    for (const double gbps : {100.0, 200.0, 400.0}) {
      text += fmt::format(
          "  - {{name: l{0:.0f}, physical: {{bandwidth: {{choice: gigabits_per_second, gigabits_per_second: "
          "{0}}}}}}}\n",
          gbps);
    }
    text += "instances:\n";
    for (const std::string& device : drawn.devices)
      text += fmt::format("  - {{name: {}, device: d, count: 1}}\n", device);
    text += is_old ? "connections:\n" : "edges:\n";
    for (const RandomCable& c : drawn.cables) {
      const auto component = [&](size_t device) { return drawn.IsHost(device) ? "nic" : "port"; };
      if (is_old) {
        text += fmt::format("  - {}.0.{}.{}.l{:.0f}.{}.0.port.{}\n", drawn.devices[c.lower], component(c.lower),
                            c.lower_port, c.gbps, drawn.devices[c.upper], c.upper_port);
      } else {
        text += fmt::format(
            "  - {{ep1: {{instance: '{}[0]', component: '{}[{}]'}}, ep2: {{instance: '{}[0:1]', component: "
            "'port[{}]'}}, scheme: one2one, link: l{:.0f}}}\n",
            drawn.devices[c.lower], component(c.lower), c.lower_port, drawn.devices[c.upper], c.upper_port, c.gbps);
      }
    }
    auto network = ReadInfragraph(text, "graph.yaml", 10'000);
    ASSERT_TRUE(network.ok()) << "seed " << seed << ": " << network.status().message();
    for (ForeignDevice& device : network->devices) device.name = device.name.substr(0, device.name.find('.'));
    const auto imported = BuildImportedFabric(*std::move(network), {}, "graph.yaml", "A test.");
    ASSERT_TRUE(imported.ok()) << "seed " << seed << ": " << imported.status().message();
    EXPECT_EQ(CablesOf(imported->fabric), CablesOf(drawn)) << "seed " << seed;
  }
}

TEST(InfragraphTest, MistakesAreNamedWithTheirLine) {
  const auto edge = [](const std::string& from, const std::string& to,
                       const std::string& rest = "scheme: one2one, link: slow") {
    return std::string(kDevices) + fmt::format("edges:\n  - {{ep1: {}, ep2: {}, {}}}\n", from, to, rest);
  };
  const std::string leaf = "{instance: 'leaf[0]', component: 'port[0]'}";
  const std::pair<std::string, std::string> cases[] = {
      {"name: x\n", "no edges or connections; expected an infrastructure with cables"},
      {"links: [{name: e}]\nconnections: [a.0.nic.0.e.b.0.port]\n",
       "graph.yaml:2: connections: 'a.0.nic.0.e.b.0.port': expected INSTANCE.N"},
      {"links: [{name: e}]\nconnections: [a.0.nic.x.e.b.0.port.0]\n", "a number from 0 instead of 'x'"},
      {"connections: [a.0.nic.0.e.b.0.port.0]\n", "no link is called 'e'"},
      {edge("{instance: 'hots[0]', component: 'nic[0]'}", leaf),
       "graph.yaml:11: edges[0].ep1.instance: no instance is called 'hots'"},
      {edge("{instance: 'host[0:2]', component: 'nic[0]'}", leaf),
       "edges[0]: one2one joins equally many ends; found 2 and 1"},
      {edge("{instance: 'host[9]', component: 'nic[0]'}", leaf), "'host[9]': expected numbers below 4"},
      {edge("{instance: 'host[0', component: 'nic[0]'}", leaf),
       "'host[0': expected a name and numbers such as leaf[0:4]"},
      {edge("{instance: 'host[a]', component: 'nic[0]'}", leaf), "'host[a]': expected a number instead of 'a'"},
      {edge("{instance: 'host[0]', component: 'nic[0]'}", leaf, "scheme: ring, link: slow"),
       "expected one2one or many2many, found 'ring'"},
      {edge("{instance: 'host[0]', component: 'nic[0]'}", leaf, "link: quick"), "no link is called 'quick'"},
      {edge("{instance: 'host[0:4]', component: 'port[0:9000000]'}", leaf), "expected at most 10000 cables"},
      {edge("{instance: 'host[0:4]', component: 'x[0:200].y[0:200]'}", leaf), "expected at most 10000 cables"},
  };
  for (const auto& [text, message] : cases) {
    const auto imported = ImportGraph(text);
    ASSERT_FALSE(imported.ok()) << text;
    EXPECT_THAT(imported.status().message(), HasSubstr(message));
    EXPECT_THAT(imported.status().message(), HasSubstr("graph.yaml:"));
  }
}

}  // namespace
}  // namespace fairlead::topology

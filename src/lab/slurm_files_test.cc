// What a lab's Slurm is told about the lab: every host once, under its leaf, with its GPUs, and reachable.
#include "lab/slurm_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "sim/scenario.h"

namespace fairlead::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSlurmFabric =
    "title: t\n"
    "fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 2, uplink_gbps: 200,\n"
    "         host: {gpus: 2, nics: 2, pcie_switches: 2, sockets: 1, nvlink_gigabytes_per_s: 100}}\n"
    "jobs: [{name: a, gpus: 2, compute_s: 1}]\n";

class SlurmFilesTest : public ::testing::Test {
 protected:
  SlurmFilesTest() : scenario_(sim::ParseScenario(kSlurmFabric, "test.yaml", {}).value()) {
    plan_ = PlanLab(scenario_.fabric, {}).value();
    site_.lab_name = "lab";
    site_.lab_folder = "/run/labs/lab";
    site_.scenario = "/data/it's.yaml";
    site_.machine_name = "machine";
    site_.keeper.pid = 4711;
    for (size_t i = 0; i <= plan_.nodes.size(); ++i) site_.keeper.namespaces.push_back(static_cast<int>(10 + i));
    site_.pieces.integration = "/share/slurm";
    for (SlurmFile& file : SlurmFilesOf(site_, plan_, scenario_.fabric)) files_[file.path] = std::move(file);
  }
  const std::string& Text(const std::string& path) { return files_.at(path).text; }

  sim::Scenario scenario_;
  LabPlan plan_;
  SlurmSite site_ = {};
  std::map<std::string, SlurmFile> files_;
};

TEST_F(SlurmFilesTest, EachHostIsANodeUnderItsLeafWithItsGpus) {
  const std::string& conf = Text("etc/slurm.conf");
  for (const char* node : {"NodeName=h0 NodeAddr=192.168.0.2 ", "NodeName=h3 NodeAddr=192.168.0.5 "}) {
    EXPECT_THAT(conf, HasSubstr(node));
  }
  EXPECT_EQ(conf.find("NodeName=leaf0"), conf.npos) << "a switch is no node";
  EXPECT_EQ(Text("etc/topology.conf"),
            "SwitchName=leaf0 Nodes=h0,h1\nSwitchName=leaf1 Nodes=h2,h3\nSwitchName=fabric Switches=leaf0,leaf1\n");
  EXPECT_THAT(Text("etc/gres.conf"), HasSubstr("NodeName=h1 Name=gpu File=/run/labs/lab/slurm/gpus/h1-[0-1]\n"));
  EXPECT_TRUE(files_.contains("gpus/h1-1"));
}

TEST_F(SlurmFilesTest, ProgramsLeadIntoTheManagementNetworkFromInsideAndOutside) {
  const std::string& squeue = Text("bin/squeue");
  EXPECT_THAT(squeue, HasSubstr("for keeper in 1 4711; do"));
  EXPECT_THAT(squeue,
              HasSubstr("--net=/proc/$keeper/fd/" + std::to_string(10 + plan_.nodes.size()) + " squeue \"$@\""));
  EXPECT_TRUE(files_.at("bin/squeue").is_program);
}

TEST_F(SlurmFilesTest, AllHostsAreJoinedToTheController) {
  const std::string commands = ManagementCommands(plan_, site_.keeper);
  EXPECT_EQ(std::count(commands.begin(), commands.end(), '\n'), 2 + 3 * 4);
  EXPECT_THAT(commands, HasSubstr("link add name to3 type veth peer name manage0 netns /proc/4711/fd/13\n"));
  EXPECT_THAT(commands, HasSubstr("route add 192.168.0.5/32 dev to3 src 192.168.0.1\n"));
  EXPECT_THAT(ManagementHostCommands(LabNodeId(3u)), HasSubstr("addr add 192.168.0.5/32 dev manage0\n"));
}

TEST_F(SlurmFilesTest, NamesAreQuoted) { EXPECT_THAT(Text("train.sh"), HasSubstr(R"('/data/it'\''s.yaml')")); }

TEST_F(SlurmFilesTest, WithoutThePluginSlurmLoadsNone) {
  EXPECT_EQ(Text("etc/plugstack.conf"), "");
  site_.pieces.spank_plugin = "/lib/spank_fairlead.so";
  for (const SlurmFile& file : SlurmFilesOf(site_, plan_, scenario_.fabric)) {
    if (file.path == "etc/plugstack.conf") {
      EXPECT_THAT(file.text, HasSubstr("optional /lib/spank_fairlead.so"));
      EXPECT_THAT(file.text, Not(HasSubstr("required"))) << "a missing file would stop each job";
    }
  }
}

}  // namespace
}  // namespace fairlead::lab

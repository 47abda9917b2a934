#include "slurm/node_conf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/clos_fabrics.h"
#include "topology/fabric_builder.h"

namespace fairlead::slurm {
namespace {

using testing::HasSubstr;

// Without comments.
std::string NodeLinesOf(const topology::Fabric& fabric) {
  const auto text = WriteNodeConf(fabric, "fabric.yaml");
  EXPECT_TRUE(text.ok()) << text.status().message();
  std::string lines = text.ok() ? *text : "";
  while (lines.starts_with('#')) lines.erase(0, lines.find('\n') + 1);
  return lines;
}

TEST(NodeConfTest, OneLineForEqualHosts) {
  topology::ClosSpec spec;
  spec.leaves = 3;
  spec.hosts_per_leaf = 4;
  spec.host.gpus = 8;
  EXPECT_EQ(NodeLinesOf(*topology::BuildClos(spec)),
            "GresTypes=gpu\n"
            "NodeName=h[0-11] Gres=gpu:8 State=UNKNOWN\n"
            "PartitionName=train Nodes=h[0-11] Default=YES MaxTime=INFINITE State=UP\n");
}

TEST(NodeConfTest, HostsOfOtherKindsHaveLinesOfTheirOwn) {
  topology::FabricBuilder builder;
  const NodeId leaf = builder.AddSwitch(topology::NodeKind::kLeaf);
  for (const auto& [name, gpus] : std::vector<std::pair<std::string, uint32_t>>{{"b10", 4}, {"a1", 8}, {"b9", 4}}) {
    topology::HostSpec spec;
    spec.gpus = gpus;
    spec.nics = 4;
    builder.CablePorts(builder.AddHost(spec, name), spec, std::span(&leaf, 1));
  }
  const auto fabric = std::move(builder).Build();
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  EXPECT_EQ(NodeLinesOf(*fabric),
            "GresTypes=gpu\n"
            "NodeName=a1 Gres=gpu:8 State=UNKNOWN\n"
            "NodeName=b[9-10] Gres=gpu:4 State=UNKNOWN\n"
            "PartitionName=train Nodes=a1,b[9-10] Default=YES MaxTime=INFINITE State=UP\n");
}

TEST(NodeConfTest, NamesThatSlurmCannotRead) {
  topology::FabricBuilder builder;
  const topology::HostSpec spec;
  const NodeId leaf = builder.AddSwitch(topology::NodeKind::kLeaf);
  builder.CablePorts(builder.AddHost(spec, "rack 1"), spec, std::span(&leaf, 1));
  const auto text = WriteNodeConf(*std::move(builder).Build(), "fabric.yaml");
  EXPECT_EQ(text.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(text.status().message(), HasSubstr("fabric.yaml: host 'rack 1': expected a name of letters"));
}

}  // namespace
}  // namespace fairlead::slurm

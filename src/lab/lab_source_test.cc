#include "lab/lab_source.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file_writer.h"
#include "base/temporary_folder.h"
#include "topology/fabric_yaml.h"

namespace fairlead::lab {
namespace {

constexpr double kScale = 1e-4;
constexpr const char* kTwoLeafFabric =
    "fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 1, spines: 2, oversubscription: 2}\n";

class LabSourceTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    std::string path = folder_.File(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return path;
  }

  // The controller reads the file that a lab was made of at the lab's speeds, wherever its own copy lies.
  void ExpectScaled(const std::string& path) {
    const auto whole = LoadLabFabric(path);
    ASSERT_TRUE(whole.ok()) << whole.status().message();
    const auto text = DescribeLabFabric(path, kScale);
    ASSERT_TRUE(text.ok()) << text.status().message();
    const auto scaled = topology::LoadFabricFile(Write("of-the-lab/fabric.yaml", *text));
    ASSERT_TRUE(scaled.ok()) << scaled.status().message();
    ASSERT_EQ(scaled->num_links(), whole->num_links());
    for (LinkId link(0u); link.index() < whole->num_links(); link = LinkId(link.index() + 1)) {
      ASSERT_EQ(scaled->LinkName(link), whole->LinkName(link));
      ASSERT_DOUBLE_EQ(scaled->capacity(link).value(), whole->capacity(link).value() * kScale) << whole->LinkName(link);
    }
  }

  const TemporaryFolder folder_;
};

TEST_F(LabSourceTest, FabricFilesAreScaled) { ExpectScaled(Write("f.yaml", kTwoLeafFabric)); }

TEST_F(LabSourceTest, ScaleOfTheFileCountsToo) {
  const std::string path = Write("f.yaml", kTwoLeafFabric);
  ExpectScaled(Write("scaled.yaml", DescribeLabFabric(path, 0.5).value()));
}

TEST_F(LabSourceTest, ScenariosAreScaled) {
  const std::string jobs =
      "title: t\njobs: [{name: a, hosts: [h0, h1], gpus: 16, compute_s: 1, size_mb: 1}]\npolicies: [ecmp]\n";
  ExpectScaled(Write("inside.yaml", kTwoLeafFabric + jobs));
  Write("fabrics/f.yaml", kTwoLeafFabric);
  ExpectScaled(Write("beside.yaml", "fabric_file: fabrics/f.yaml\n" + jobs));
}

TEST_F(LabSourceTest, ImportedFilesAreFoundFromElsewhere) {
  Write("topo.csv", "ip,DSW,PSW,ASW\na,G1,P1,S1\nb,G1,P1,S2\n");
  ExpectScaled(Write("imported.yaml", "fabric: {kind: lingjun-topo, file: topo.csv}\n"));
}

TEST_F(LabSourceTest, WhatIsNoFabricIsAnError) {
  EXPECT_EQ(DescribeLabFabric(folder_.File("missing.yaml"), kScale).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace fairlead::lab

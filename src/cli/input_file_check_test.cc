#include "cli/input_file_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/file_writer.h"
#include "base/temporary_folder.h"
#include "cli/command.h"

namespace fairlead::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class InputFiles {
 public:
  std::string Write(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(WriteFileAtomically(folder_.File(name), text).ok());
    return folder_.File(name);
  }
  std::string File(const std::string& name) const { return folder_.File(name); }

 private:
  TemporaryFolder folder_;
};

std::string MistakeIn(const std::string& path) { return std::string(InputFileChecker(0).Check(path).status.message()); }

constexpr const char* kScenario =
    "title: two\nseeds: 3\npolicies: [ecmp, crux]\nfabric: {kind: clos2, leaves: 2, hosts_per_leaf: 1, spines: 1, "
    "host: {gpus: 2, nics: 1, port_gbps: 200, sockets: 1, pcie_switches: 1}}\njobs:\n"
    "  - {name: a, hosts: [h0, h1], gpus: 4, compute_s: 1, size_mb: 100}\n";

TEST(InputFileCheckTest, FilesAreKnownByTheirKeys) {
  const InputFiles files;
  const InputFileCheck scenario = InputFileChecker(0).Check(files.Write("a.yaml", kScenario));
  EXPECT_TRUE(scenario.status.ok()) << scenario.status.message();
  EXPECT_EQ(scenario.kind, "scenario");
  EXPECT_THAT(scenario.summary, StartsWith("1 job (4 GPUs) on 2 hosts, 4 GPUs, "));
  EXPECT_THAT(scenario.summary, HasSubstr("3 draws under ecmp, crux"));
  EXPECT_EQ(InputFileChecker(0).Check(FindInputFile("fabrics/crux-testbed.yaml")).kind, "fabric");
  EXPECT_EQ(InputFileChecker(0).Check(FindInputFile("profiles/gpt-1.3b.yaml")).kind, "model profile");
}

TEST(InputFileCheckTest, AKindThatIsKnownKeepsItsNameWhenTheFileIsWrong) {
  const InputFiles files;
  const InputFileCheck check = InputFileChecker(0).Check(files.Write("a.yaml", "title: x\nno_such_key: 1\n"));
  EXPECT_EQ(check.kind, "scenario");
  EXPECT_TRUE(check.summary.empty());
  EXPECT_THAT(std::string(check.status.message()), HasSubstr("no_such_key"));
}

TEST(InputFileCheckTest, WhatIsNoInputIsToldWhatWasExpected) {
  const InputFiles files;
  EXPECT_THAT(MistakeIn(files.File("none.yaml")), HasSubstr("there is no such file"));
  EXPECT_THAT(MistakeIn(files.Write("a.png", "x")), HasSubstr("ends in .yaml, .csv, .json, .txt or .et"));
  EXPECT_THAT(MistakeIn(files.Write("b.yaml", "colour: red\n")), HasSubstr("found the keys colour"));
}

TEST(InputFileCheckTest, AddressesNeedTheFabricBeforeThem) {
  const InputFiles files;
  const std::string addresses = files.Write("addresses.json", "{}");
  EXPECT_THAT(MistakeIn(addresses), HasSubstr("name its file before this one"));
  InputFileChecker checker(0);
  ASSERT_TRUE(checker.Check(files.Write("a.yaml", kScenario)).status.ok());
  EXPECT_THAT(std::string(checker.Check(addresses).status.message()),
              ::testing::Not(HasSubstr("name its file before this one")));
}

TEST(InputFileCheckTest, CsvFilesAreTopologiesOrTraces) {
  const InputFiles files;
  EXPECT_EQ(InputFileChecker(0).Check(files.Write("t.csv", "host,ASW\n")).kind, "topology");
  EXPECT_EQ(InputFileChecker(0).Check(files.Write("u.csv", "job,arrival\n")).kind, "trace");
}

}  // namespace
}  // namespace fairlead::cli

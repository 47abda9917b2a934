#include "cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file_writer.h"
#include "base/temporary_folder.h"
#include "cli/sibling_programs.h"

namespace fairlead::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(CommandTest, EachKindOfErrorHasItsExitCode) {
  EXPECT_EQ(ReportError(OkStatus()), kExitOk);
  EXPECT_EQ(ReportError(InvalidArgument("")), kExitBadInput);
  EXPECT_EQ(ReportError(NotFound("")), kExitBadInput);
  EXPECT_EQ(ReportError(Unavailable("")), kExitUnavailable);
  EXPECT_EQ(ReportError(Internal("")), kExitInternal);
  EXPECT_EQ(ReportError(Status(StatusCode::kCancelled, "")), kExitUnavailable) << "without a signal";
}

// The oracle is the shell itself.
TEST(CommandTest, AShellSplitsJoinedArgumentsIntoTheSame) {
  const std::vector<std::string> words = {"plain",       "--x=1", "two words", "",  "it's", "$HOME",
                                          "a\"b",        "a\\b",  "*",         "~", "#",    "a;b|c&d",
                                          "line\nbreak", "`id`",  "(x)",       "!", "[a]",  "{b,c}"};
  const TemporaryFolder folder;
  const std::string out = folder.File("out");
  const std::string command = "printf '%s\\001' " + JoinArguments(words) + " > " + out;
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::string expected;
  for (const std::string& word : words) expected += word + '\001';
  std::string found(std::filesystem::file_size(out), '\0');
  FILE* file = std::fopen(out.c_str(), "rb");
  ASSERT_EQ(std::fread(found.data(), 1, found.size(), file), found.size());
  std::fclose(file);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(JoinArguments(std::vector<std::string>{"a", "--b=c", "d/e.yaml"}), "a --b=c d/e.yaml");
}

TEST(CommandTest, FoldersOfOutputsAreMade) {
  const TemporaryFolder folder;
  EXPECT_TRUE(PrepareOutputFolder("").ok());
  EXPECT_TRUE(PrepareOutputFolder("-").ok());
  EXPECT_TRUE(PrepareOutputFolder(folder.File("a/b/c.json")).ok());
  EXPECT_TRUE(std::filesystem::is_directory(folder.File("a/b")));
  EXPECT_FALSE(std::filesystem::exists(folder.File("a/b/c.json")));
  EXPECT_THAT(std::string(PrepareOutputFolder(folder.File("a")).message()), HasSubstr("is a folder"));
  ASSERT_TRUE(WriteOutput(folder.File("file"), "x").ok());
  EXPECT_THAT(std::string(PrepareOutputFolder(folder.File("file/x.json")).message()),
              HasSubstr("cannot create the folder"));
}

TEST(CommandTest, InputsAreFoundBesideTheUserFirst) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("x.yaml"), "").ok());
  EXPECT_EQ(FindInputFile(folder.File("x.yaml")), folder.File("x.yaml"));
  EXPECT_EQ(FindInputFile(folder.File("none.yaml")), folder.File("none.yaml")) << "the error names what was typed";
  EXPECT_EQ(FindInputFile("no/such.yaml"), "no/such.yaml");
  const std::string sample = FindInputFile("scenarios/joint.yaml");
  EXPECT_TRUE(std::filesystem::exists(sample)) << sample;
  EXPECT_THAT(sample, EndsWith("scenarios/joint.yaml"));
}

TEST(SiblingProgramsTest, ProgramsAreNamedAfterTheirCommandOrShared) {
  constexpr SiblingCommand kOwn{"sim chaos", ""};
  EXPECT_EQ(kOwn.words(), (std::vector<std::string>{"sim", "chaos"}));
  EXPECT_EQ(kOwn.program(), "fairlead-sim-chaos");
  constexpr SiblingCommand kShared{"get", "", "fairlead-client"};
  EXPECT_EQ(kShared.program(), "fairlead-client");
}

TEST(SiblingProgramsTest, TheyLieBesideThisProgram) {
  const auto path = ProgramBeside("fairlead-lab");
  ASSERT_TRUE(path.ok());
  EXPECT_THAT(*path, EndsWith("/fairlead-lab"));
  EXPECT_TRUE(std::filesystem::path(*path).is_absolute());
  EXPECT_EQ(std::filesystem::path(*path).parent_path(), std::filesystem::read_symlink("/proc/self/exe").parent_path());
}

// Arguments are compared word by word: no command may begin with the words of another.
TEST(SiblingProgramsTest, NoCommandHidesAnother) {
  for (const SiblingCommand& a : SiblingCommands()) {
    for (const SiblingCommand& b : SiblingCommands()) {
      if (&a == &b) continue;
      EXPECT_FALSE((std::string(b.path) + " ").starts_with(std::string(a.path) + " ")) << a.path << ", " << b.path;
    }
  }
}

}  // namespace
}  // namespace fairlead::cli

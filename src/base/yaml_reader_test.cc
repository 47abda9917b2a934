#include "base/yaml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_folder.h"

namespace fairlead {
namespace {

using ::testing::HasSubstr;

YamlDocument Load(std::string_view text) {
  auto document = YamlDocument::Parse(text, "test.yaml");
  EXPECT_TRUE(document.ok()) << document.status().message();
  return *document;
}

TEST(YamlReaderTest, ReadsTypedValuesAndFallbacks) {
  YamlDocument document = Load("count: 3\nspeed: 2.5\nname: leaf\non: true\nlist: [1, 2]\nsub:\n  x: 7\n");
  YamlMap root = document.Root();
  EXPECT_EQ(root.RequiredInt("count", 0, 10), 3);
  EXPECT_EQ(root.RequiredDouble("speed", 0, 10), 2.5);
  EXPECT_EQ(root.RequiredString("name"), "leaf");
  EXPECT_TRUE(root.Bool("on", false));
  EXPECT_EQ(root.Ints("list", 0, 9), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(root.Int("absent", 42, 0, 100), 42);
  auto sub = root.Map("sub");
  ASSERT_TRUE(sub.has_value());
  EXPECT_EQ(sub->RequiredInt("x", 0, 10), 7);
  EXPECT_TRUE(sub->Finish().ok());
  EXPECT_TRUE(root.Finish().ok());
}

TEST(YamlReaderTest, UnknownKeyNamesLineAndKnownKeys) {
  YamlDocument document = Load("hosts: 3\nhostz: 4\n");
  YamlMap root = document.Root();
  root.RequiredInt("hosts", 0, 10);
  EXPECT_EQ(root.Finish().message(), "test.yaml:2: unknown key 'hostz'; known here: hosts");
}

TEST(YamlReaderTest, OutOfRangeNamesRangeAndValue) {
  YamlDocument document = Load("a: 1\nsub:\n  speed_gbps: -5\n");
  YamlMap root = document.Root();
  YamlMap sub = root.RequiredMap("sub");
  sub.RequiredDouble("speed_gbps", 0.001, 1e6);
  EXPECT_EQ(document.status().message(),
            "test.yaml:3: sub.speed_gbps: expected a number in [0.001, 1000000], found '-5'");
}

TEST(YamlReaderTest, FirstErrorWins) {
  YamlDocument document = Load("a: x\nb: y\n");
  YamlMap root = document.Root();
  root.RequiredInt("a", 0, 1);
  root.RequiredInt("b", 0, 1);
  EXPECT_THAT(root.Finish().message(), HasSubstr("test.yaml:1: a:"));
}

TEST(YamlReaderTest, RefusesNanInfinityMissingDuplicateEmptyAndNonMaps) {
  for (const char* value : {".nan", "nan", "inf", "1e999", "0x10", "1 2", "[1]"}) {
    YamlDocument document = Load(std::string("a: ") + value + "\n");
    YamlMap root = document.Root();
    root.RequiredDouble("a", -1e300, 1e300);
    EXPECT_FALSE(root.Finish().ok()) << value;
  }
  YamlDocument document = Load("a: 1\n");
  YamlMap root = document.Root();
  root.RequiredInt("b", 0, 1);
  EXPECT_THAT(root.Finish().message(), HasSubstr("the key 'b' is missing"));

  EXPECT_THAT(YamlDocument::Parse("a: 1\na: 2\n", "t").status().message(), HasSubstr("t:2: the key 'a' stands twice"));
  EXPECT_THAT(YamlDocument::Parse("", "t").status().message(), HasSubstr("empty"));
  EXPECT_THAT(YamlDocument::Parse("- 1\n", "t").status().message(), HasSubstr("found a list of 1"));
  EXPECT_THAT(YamlDocument::Parse("a: [1\n", "t").status().message(), HasSubstr("not valid YAML"));
  EXPECT_THAT(YamlDocument::Parse(std::string_view("a\0b", 3), "t").status().message(), HasSubstr("NUL"));
}

TEST(YamlReaderTest, RefusesDeepNestingInsteadOfOverflowingTheStack) {
  EXPECT_THAT(YamlDocument::Parse(std::string(100000, '['), "t").status().message(), HasSubstr("nested deeper"));
  std::string dashes = "a:\n";
  for (int i = 0; i < 50000; ++i) dashes += "- ";
  EXPECT_THAT(YamlDocument::Parse(dashes, "t").status().message(), HasSubstr("nested deeper"));
}

TEST(YamlReaderTest, MissingAndHugeFilesAreErrors) {
  EXPECT_EQ(YamlDocument::LoadFile("/nonexistent/x.yaml").status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(YamlDocument::LoadFile("/").ok());
  const TemporaryFolder folder;
  const std::string path = folder.File("huge.yaml");
  {
    std::ofstream file(path);
    file << "a: " << std::string(YamlDocument::kMaxFileBytes, 'x');
  }
  EXPECT_EQ(YamlDocument::LoadFile(path).status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace fairlead

#include "base/yaml_reader.h"

#include <fmt/format.h>
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
  EXPECT_EQ(root.Finish().message(), "test.yaml:2: unknown key 'hostz'; did you mean 'hosts'?");
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

  EXPECT_THAT(YamlDocument::Parse("a: 1\na: 2\n", "t").status().message(), HasSubstr("t:2: the key 'a' appears twice"));
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

std::vector<std::string_view> Colours() { return {"red", "green"}; }
constexpr YamlKey kWheel[] = {
    {.name = "radius_mb",
     .type = YamlType::kNumber,
     .unit = NumberUnit::kMegabytes,
     .meaning = "m",
     .example = "e",
     .is_required = true,
     .min = 0,
     .max = 100},
};
constexpr YamlMapKeys kWheelKeys = {.name = "wheel", .meaning = "m", .keys = kWheel};
constexpr YamlKey kCar[] = {
    {.name = "kind", .meaning = "m", .example = "e", .choices = Colours},
    {.name = "seats",
     .type = YamlType::kInteger,
     .meaning = "m",
     .example = "e",
     .fallback = "4",
     .min = 1,
     .max = 9,
     .kinds = "red"},
    {.name = "seats",
     .type = YamlType::kInteger,
     .meaning = "m",
     .example = "e",
     .is_required = true,
     .min = 1,
     .max = 90,
     .kinds = "green"},
    {.name = "doors", .type = YamlType::kInteger, .meaning = "m", .example = "e", .fallback = "2", .min = 0, .max = 8},
    {.name = "rust", .type = YamlType::kSwitch, .meaning = "m", .example = "e", .fallback = "true", .with = "doors"},
    {.name = "wheels", .type = YamlType::kMaps, .meaning = "m", .example = "e", .map = &kWheelKeys},
    {.name = "owner", .meaning = "m", .example = "e"},
    {.name = "rented", .type = YamlType::kSwitch, .meaning = "m", .example = "e", .fallback = "false"},
};
constexpr std::string_view kCarOne[] = {"owner rented"};
constexpr YamlMapKeys kCarKeys = {
    .name = "car", .meaning = "m", .keys = kCar, .kind_key = "kind", .exactly_one = kCarOne};

// What the reader says of a car, "" where it is fine.
std::string CarError(const std::string& text) {
  YamlDocument document = Load(text);
  YamlMap root = document.Root();
  root.Declare(kCarKeys);
  (void)root.Choice("kind");
  if (!root.ok()) return std::string(document.status().message());
  (void)root.Int("seats");
  (void)root.Int("doors");
  (void)root.Bool("rust");
  (void)root.String("owner");
  (void)root.Bool("rented");
  for (YamlMap& wheel : root.Maps("wheels")) {
    (void)wheel.Double("radius_mb");
    (void)wheel.Finish();
  }
  return std::string(root.Finish().message());
}

TEST(YamlKeysTest, ValuesComeFromTheDeclaration) {
  YamlDocument document = Load("kind: red\nowner: me\nwheels: [{radius_mb: 0.02GB}]\n");
  YamlMap root = document.Root();
  root.Declare(kCarKeys);
  EXPECT_EQ(root.Choice("kind"), 0u);
  EXPECT_EQ(root.Int("seats"), 4);
  EXPECT_EQ(root.Int("seats", 7), 7);
  EXPECT_TRUE(root.Bool("rust"));
  EXPECT_DOUBLE_EQ(root.Maps("wheels").at(0).Double("radius_mb"), 20);
  EXPECT_TRUE(root.ok());
}

TEST(YamlKeysTest, MessagesSayWhatIsDeclared) {
  EXPECT_EQ(CarError("kind: red\nowner: me\n"), "");
  EXPECT_EQ(CarError("kind: red\nowner: me\ndors: 3\n"), "test.yaml:3: unknown key 'dors'; did you mean 'doors'?");
  EXPECT_EQ(CarError("kind: red\nowner: me\nx: 3\n"),
            "test.yaml:3: unknown key 'x'; known here: doors, kind, owner, rented, rust, seats, wheels");
  EXPECT_EQ(CarError("kind: gren\nowner: me\n"),
            "test.yaml:1: kind: expected one of red, green, found 'gren'; did you mean 'green'?");
  EXPECT_EQ(CarError("kind: green\nowner: me\n"), "test.yaml:1: the key 'seats' is missing");
  EXPECT_EQ(CarError("kind: red\nowner: me\nseats: 20\n"),
            "test.yaml:3: seats: expected an integer in [1, 9], found '20'");
  EXPECT_EQ(CarError("kind: green\nowner: me\nseats: 20\n"), "");
  EXPECT_EQ(CarError("kind: red\n"), "test.yaml:1: expected exactly one of the keys owner and rented, found none");
  EXPECT_EQ(CarError("kind: red\nowner: me\nrented: true\n"),
            "test.yaml:1: expected exactly one of the keys owner and rented, found more");
  EXPECT_EQ(CarError("kind: red\nowner: me\nrust: true\n"),
            "test.yaml:3: the key 'rust' matters only beside 'doors', which is missing");
  EXPECT_EQ(CarError("kind: red\nowner: me\nwheels: [{}]\n"), "test.yaml:3: wheels[0]: the key 'radius_mb' is missing");
  EXPECT_EQ(
      CarError("kind: red\nowner: me\nwheels: [{radius_mb: 3s}]\n"),
      "test.yaml:3: wheels[0].radius_mb: expected a number of MB in [0, 100] (or with a unit, as in 16GB), found '3s'");
}

TEST(YamlKeysTest, KeysOfAnotherKindAreNamedWithTheirKinds) {
  static constexpr YamlKey kOnlyGreen[] = {{.name = "kind", .meaning = "m", .example = "e", .choices = Colours},
                                           {.name = "leaves", .meaning = "m", .example = "e", .kinds = "green"}};
  static constexpr YamlMapKeys kKeys = {.name = "plant", .meaning = "m", .keys = kOnlyGreen, .kind_key = "kind"};
  YamlDocument document = Load("kind: red\nleaves: many\n");
  YamlMap root = document.Root();
  root.Declare(kKeys);
  EXPECT_EQ(document.status().message(), "test.yaml:2: the key 'leaves' is not for kind 'red', only for green");
}

// ---- Values that are set ----

constexpr std::string_view kScenario =
    "seed: 1\nfabric: {leaves: 2, spines: 2}\njobs:\n  - {name: bert, gpus: 8}\n  - {name: gpt, gpus: 16}\n";

YamlDocument LoadWith(const std::vector<std::pair<std::string, std::string>>& values) {
  YamlDocument document = Load(kScenario);
  for (const auto& [path, value] : values) {
    const Status status = document.Set(path, value, fmt::format("--set {}={}", path, value));
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return document;
}

std::string FaultOf(const std::string& path, const std::string& value) {
  YamlDocument document = Load(kScenario);
  const Status status = document.Set(path, value, fmt::format("--set {}={}", path, value));
  EXPECT_EQ(document.Root().RequiredInt("seed", 0, 10), 1) << "changed by what was refused";
  return status.message();
}

TEST(YamlReaderSetTest, ValuesOfMapsAndLists) {
  YamlDocument document = LoadWith({{"seed", "7"},
                                    {"fabric.spines", "4"},
                                    {"jobs.1.gpus", "32"},
                                    {"jobs.bert.gpus", "64"},
                                    {"crux.paths.unit", "job"},
                                    {"policies", "[ecmp, crux]"}});
  YamlMap root = document.Root();
  EXPECT_EQ(root.RequiredInt("seed", 0, 10), 7);
  YamlMap fabric = root.RequiredMap("fabric");
  EXPECT_EQ(fabric.RequiredInt("leaves", 0, 10), 2);
  EXPECT_EQ(fabric.RequiredInt("spines", 0, 10), 4);
  std::vector<YamlMap> jobs = root.Maps("jobs");
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].RequiredString("name"), "bert");
  EXPECT_EQ(jobs[0].RequiredInt("gpus", 0, 100), 64);
  EXPECT_EQ(jobs[1].RequiredInt("gpus", 0, 100), 32);
  EXPECT_EQ(root.RequiredMap("crux").RequiredMap("paths").RequiredString("unit"), "job");
  EXPECT_EQ(root.Strings("policies"), (std::vector<std::string>{"ecmp", "crux"}));
}

TEST(YamlReaderSetTest, TheLastOneCounts) {
  YamlMap root = LoadWith({{"seed", "7"}, {"seed", "8"}, {"crux", "{unit: flow}"}, {"crux.unit", "job"}}).Root();
  EXPECT_EQ(root.RequiredInt("seed", 0, 10), 8);
  EXPECT_EQ(root.RequiredMap("crux").RequiredString("unit"), "job");
}

TEST(YamlReaderSetTest, AnEmptyValueTakesAway) {
  YamlMap root = LoadWith({{"fabric.leaves", ""}, {"jobs.bert", ""}, {"seed", ""}}).Root();
  EXPECT_FALSE(root.Has("seed"));
  EXPECT_FALSE(root.RequiredMap("fabric").Has("leaves"));
  std::vector<YamlMap> jobs = root.Maps("jobs");
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].RequiredString("name"), "gpt");
}

// What is wrong with a value that was set is said of it, of others with the lines of the file.
TEST(YamlReaderSetTest, MessagesNameWhatSetAValue) {
  YamlDocument document = LoadWith({{"fabric.spines", "many"}, {"jobs.gpt.gpuz", "3"}});
  YamlMap root = document.Root();
  root.RequiredMap("fabric").RequiredInt("spines", 0, 10);
  EXPECT_EQ(document.status().message(),
            "--set fabric.spines=many: fabric.spines: expected an integer in [0, 10], found 'many'");
  document = LoadWith({{"fabric.spines", "many"}, {"jobs.gpt.gpuz", "3"}});
  YamlMap job = document.Root().Maps("jobs")[1];
  job.RequiredInt("gpus", 0, 100);
  job.RequiredString("name");
  EXPECT_THAT(job.Finish().message(), HasSubstr("--set jobs.gpt.gpuz=3: jobs[1]: unknown key 'gpuz'"));
  document = LoadWith({{"fabric.spines", "4"}});
  document.Root().RequiredInt("seed", 5, 10);
  EXPECT_THAT(document.status().message(), HasSubstr("test.yaml:1: seed: expected an integer in [5, 10], found '1'"));
}

TEST(YamlReaderSetTest, WhatHasNoPlaceIsRefused) {
  EXPECT_EQ(FaultOf("jobs.t5.gpus", "8"),
            "--set jobs.t5.gpus=8: jobs: has no element 't5'; expected its number, 0 to 1, or its name");
  EXPECT_EQ(FaultOf("jobs.2.gpus", "8"),
            "--set jobs.2.gpus=8: jobs: has no element '2'; expected its number, 0 to 1, or its name");
  EXPECT_EQ(FaultOf("seed.more", "8"), "--set seed.more=8: seed: has no keys, it is '1'");
  EXPECT_EQ(FaultOf("fabric..leaves", "8"), "--set fabric..leaves=8: expected keys with a dot between them");
  EXPECT_EQ(FaultOf("sed", ""), "--set sed=: sed: there is nothing to take away");
  EXPECT_THAT(FaultOf("fabric", "{a: 1, a: 2}"), HasSubstr("the key 'a' appears twice in one map"));
  EXPECT_THAT(FaultOf("fabric", "[1"), HasSubstr("not valid YAML"));
  EXPECT_THAT(FaultOf("fabric", std::string(100, '[')), HasSubstr("expected a value in YAML"));
}

}  // namespace
}  // namespace fairlead

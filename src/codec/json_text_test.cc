// JSON of strangers: errors with lines, repair of commas, nothing that brings the process down.
#include "codec/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::codec {
namespace {

using testing::HasSubstr;

TEST(JsonTextTest, ErrorsNameTheLine) {
  const std::pair<std::string, const char*> kMistakes[] = {
      {"{\n\"a\": 1,\n}", "f:12: not JSON: syntax error"},
      {"", "f:10: not JSON"},
      {"{\"a\":1} x", "f:10: not JSON"},
      {"{\"a\":\n1,\"a\":2}", "the key 'a' appears twice"},
      {"[\"\xff\"]", "f:10: not JSON"},
      {"1e999", "not JSON"},
      {std::string(100000, '['), "nested deeper than 64"},
      {std::string(100000, '{'), "not JSON"},
  };
  for (const auto& [text, expected] : kMistakes) {
    const auto json = ParseJson(text, "f", 10);
    ASSERT_FALSE(json.ok()) << text;
    EXPECT_THAT(json.status().message(), HasSubstr(expected));
    EXPECT_THAT(json.status().message(), testing::StartsWith("f:1"));
    for (const char c : json.status().message()) EXPECT_TRUE(c >= ' ' && c <= '~');
  }
}

TEST(JsonTextTest, DepthUpToTheLimit) {
  EXPECT_TRUE(ParseJson(std::string(kJsonDepthMax, '[') + std::string(kJsonDepthMax, ']'), "f").ok());
  EXPECT_FALSE(ParseJson(std::string(kJsonDepthMax + 1, '[') + std::string(kJsonDepthMax + 1, ']'), "f").ok());
}

TEST(JsonTextTest, RepairsCommas) {
  EXPECT_EQ(RepairCommas(R"({"a":1,})"), R"({"a":1})");
  EXPECT_EQ(RepairCommas(R"([1,2,] )"), R"([1,2] )");
  EXPECT_EQ(Json::parse(RepairCommas("{\"nvml_dev\": 0\n \"status\": {\"x\": true}}")),
            Json::parse(R"({"nvml_dev":0,"status":{"x":true}})"));
  EXPECT_EQ(Json::parse(RepairCommas("[{\"a\":1}{\"a\":2}]")).size(), 2u);
  EXPECT_EQ(RepairCommas(R"({"a,}":"\",}"})"), R"({"a,}":"\",}"})");  // not inside texts
}

std::string DrawJson(Random& random, int depth) {
  const uint64_t num_items = random.Below(4);
  std::string text;
  switch (random.Below(depth > 0 ? 5 : 3)) {
    case 0:
      return std::to_string(random.Below(1000));
    case 1:
      return R"("te,}xt\"]")";
    case 2:
      return "null";
    case 3:
      for (uint64_t i = 0; i < num_items; ++i) text += (i == 0 ? "" : ", ") + DrawJson(random, depth - 1);
      return "[" + text + "]";
    default:
      for (uint64_t i = 0; i < num_items; ++i) {
        text += (i == 0 ? "\"k" : ",\n\"k") + std::to_string(i) + "\" : " + DrawJson(random, depth - 1);
      }
      return "{" + text + "}";
  }
}

TEST(JsonTextTest, GoodJsonIsLeftAloneAndBadIsNotMadeWorse) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    const std::string text = DrawJson(random, 4);
    ASSERT_EQ(RepairCommas(text), text) << seed;
    ASSERT_EQ(*ParseJson(text, "f"), Json::parse(text)) << seed;
    // Without any of its commas it means the same.
    std::string bare;
    bool is_text = false;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) is_text = !is_text;
      bare += text[i] == ',' && !is_text ? ' ' : text[i];
    }
    ASSERT_EQ(Json::parse(RepairCommas(bare)), Json::parse(text)) << bare;
  }
}

}  // namespace
}  // namespace fairlead::codec

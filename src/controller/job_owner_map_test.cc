#include "controller/job_owner_map.h"

#include <gtest/gtest.h>

namespace fairlead::controller {
namespace {

std::optional<uint32_t> FindUser(const std::string& name) {
  return name == "anna" ? std::optional<uint32_t>(1002) : std::nullopt;
}

bool MayActOn(const std::string& text, const std::string& name, uint32_t owner) {
  const auto map = JobOwnerMap::Parse(text, FindUser);
  EXPECT_TRUE(map.ok()) << map.status().message();
  return map->MayActOn({.name = name, .owner = owner});
}

TEST(JobOwnerMapTest, EachUserHasNamesThatMayBeActedUpon) {
  const std::string text = "# who\n1001 llama gpt-*\n\nanna *  # all of hers\n* scratch-*-x\n";
  EXPECT_TRUE(MayActOn(text, "llama", 1001));
  EXPECT_TRUE(MayActOn(text, "gpt-", 1001));
  EXPECT_TRUE(MayActOn(text, "gpt-7", 1001));
  EXPECT_FALSE(MayActOn(text, "llama2", 1001));
  EXPECT_FALSE(MayActOn(text, "scratch-1-x", 1001)) << "a user with a line has that";
  EXPECT_TRUE(MayActOn(text, "anything", 1002));
  EXPECT_TRUE(MayActOn(text, "scratch-1-x", 7));
  EXPECT_FALSE(MayActOn(text, "scratch-x", 7)) << "both ends, and not the same characters twice";
  EXPECT_FALSE(MayActOn(text, "llama", 7)) << "that name is user 1001's";
  EXPECT_FALSE(MayActOn("", "llama", 0)) << "an empty map lets nobody";
}

TEST(JobOwnerMapTest, AnUnverifiedOwnerIsNobody) {
  const auto map = JobOwnerMap::Parse("* *", FindUser);
  ASSERT_TRUE(map.ok());
  EXPECT_FALSE(map->MayActOn({.name = "gpt", .owner = 0, .is_owner_verified = false}));
}

TEST(JobOwnerMapTest, MistakesAreNamedByTheirLine) {
  for (const char* text : {"1001", "bob gpt", "1001 a/b", "1001 a**", "1001 $(id)", "-1 gpt", "99999999999 gpt"}) {
    const auto map = JobOwnerMap::Parse(std::string("# first\n") + text + "\n", FindUser);
    ASSERT_FALSE(map.ok()) << text;
    EXPECT_NE(map.status().message().find("line 2: expected"), std::string::npos) << map.status().message();
  }
}

}  // namespace
}  // namespace fairlead::controller

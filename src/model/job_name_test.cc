// Is the rule for names of jobs the one that is written down, and is a bad name safe to print?
#include "model/job_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <regex>
#include <string>

namespace fairlead::model {
namespace {

using testing::HasSubstr;

TEST(JobNameTest, Examples) {
  for (const std::string& name :
       {std::string("gpt"), std::string("slurm-4711"), std::string("GPT_3.1-b"), std::string(128, 'x')}) {
    EXPECT_TRUE(shm::IsJobName(name)) << name;
    EXPECT_TRUE(CheckJobName(name, "job").ok()) << name;
  }
  for (const std::string& name :
       {std::string(), std::string(129, 'x'), std::string("a b;rm -rf /"), std::string("../../etc/passwd"),
        std::string("$(id)"), std::string("a\n"), std::string("a\0b", 3), std::string("é"), std::string("a/b")}) {
    EXPECT_FALSE(shm::IsJobName(name)) << name;
    EXPECT_EQ(CheckJobName(name, "job").code(), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_TRUE(shm::IsProcessJobName(std::string(63, 'x')));
  EXPECT_FALSE(shm::IsProcessJobName(std::string(64, 'x')));
}

TEST(JobNameTest, TheMessageHasPlaceExpectedAndFound) {
  EXPECT_EQ(CheckJobName("a\x1b[2J b", "job").message(),
            "job: expected the name of a job, 1 to 128 of A-Z a-z 0-9 . _ -, found 'a?[2J b' (7 bytes)");
  EXPECT_THAT(CheckJobName("", "FAIRLEAD_JOB").message(), HasSubstr("FAIRLEAD_JOB: expected"));
  EXPECT_THAT(CheckJobName("", "FAIRLEAD_JOB").message(), HasSubstr("found nothing"));
}

// Against the rule as a regular expression, on all bytes, with lengths around the bound.
RC_GTEST_PROP(JobNameTest, IsTheRegularExpression, ()) {
  static const std::regex kRule("[A-Za-z0-9._-]{1,128}");
  const auto length = *rc::gen::inRange<size_t>(0, 140);
  auto name = *rc::gen::container<std::string>(
      length, rc::gen::elementOf(std::string("abcXYZ0189._-abcXYZ0189._-abcXYZ0189._-")));
  if (*rc::gen::arbitrary<bool>() && !name.empty()) {
    name[*rc::gen::inRange<size_t>(0, name.size())] = *rc::gen::arbitrary<char>();
  }
  const bool is_good = std::regex_match(name, kRule);
  RC_ASSERT(shm::IsJobName(name) == is_good);
  const Status status = CheckJobName(name, "job");
  RC_ASSERT(status.ok() == is_good);
  RC_ASSERT(std::ranges::all_of(status.message(), [](char c) { return c >= ' ' && c <= '~'; }));
}

}  // namespace
}  // namespace fairlead::model

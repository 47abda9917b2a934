// Has each job exactly one key, and can no name be mistaken for another's job?
#include "model/job_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace fairlead::model {
namespace {

using testing::HasSubstr;

TEST(JobIdentityTest, Keys) {
  EXPECT_EQ(JobKey({.name = "gpt"}), "gpt");
  EXPECT_EQ(JobKey({.name = "gpt", .owner = 1001}), "gpt@1001");
  EXPECT_EQ(JobKey({.name = "gpt", .owner = 1001, .slurm_job = 4711}), "gpt@1001.slurm-4711");
  EXPECT_EQ(JobKey({.name = "gpt", .slurm_job = 4711}), "gpt@0.slurm-4711");
  EXPECT_EQ(JobKey({.name = "gpt", .is_owner_verified = false}), "gpt@0.unverified");
}

TEST(JobIdentityTest, TextThatIsNoKey) {
  for (const char* text : {"",
                           "@",
                           "@1",
                           "gpt@",
                           "gpt@0",
                           "gpt@01",
                           "gpt@-1",
                           "gpt@+1",
                           "gpt@ 1",
                           "gpt@4294967296",
                           "gpt@1.",
                           "gpt@1.slurm-",
                           "gpt@1.slurm-0",
                           "gpt@1.slurm-07",
                           "gpt@1.slurm-7x",
                           "gpt@1.unverified.",
                           "gpt@1@2",
                           "g pt@1",
                           "../gpt@1",
                           "gpt@1.slurm-7.unverified",
                           "gpt@1\n",
                           "gpt@1.pod"}) {
    EXPECT_FALSE(IsJobKey(text)) << text;
    EXPECT_EQ(CheckJobKey(text, "job").code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_FALSE(IsJobKey(std::string(127, 'x') + "@1"));
  EXPECT_THAT(CheckJobKey("g pt", "job").message(), HasSubstr("expected the name of a job"));
  EXPECT_THAT(CheckJobKey("gpt@x", "job").message(), HasSubstr("job: expected a job as NAME@USERID"));
}

RC_GTEST_PROP(JobIdentityTest, EachIdentityHasOneKeyAndEachKeyOne, ()) {
  JobIdentity identity;
  identity.name = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::element('a', 'Z', '0', '.', '_', '-')));
  RC_PRE(identity.name.size() <= shm::kProcessJobNameBytesMax);
  identity.owner = *rc::gen::arbitrary<uint32_t>();
  identity.is_owner_verified = *rc::gen::arbitrary<bool>();
  if (identity.is_owner_verified) identity.slurm_job = *rc::gen::arbitrary<uint32_t>();
  const std::string key = JobKey(identity);
  RC_ASSERT(key.size() <= kJobKeyBytesMax);
  RC_ASSERT(ParseJobKey(key) == identity);
}

RC_GTEST_PROP(JobIdentityTest, WhatIsAKeyIsWrittenThatWay, ()) {
  const std::string text =
      *rc::gen::container<std::string>(rc::gen::element('a', '@', '0', '1', '.', 's', 'l', 'u', 'r', 'm', '-'));
  const auto identity = ParseJobKey(text);
  if (identity.has_value()) RC_ASSERT(JobKey(*identity) == text);
}

}  // namespace
}  // namespace fairlead::model

#include "lab/lab_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "base/this_program.h"

namespace fairlead::lab {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(LabPrograms, ATrainerMayBeAnyProgram) {
  const auto own = ThisProgram();
  ASSERT_TRUE(own.ok());
  const auto found = FindTrainer(*own);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*found, *own);
}

TEST(LabPrograms, WhatIsNoProgramIsRefused) {
  const TemporaryFolder folder;
  for (const std::string& trainer : {folder.path().string(), folder.File("none"), std::string("ncll")}) {
    const auto found = FindTrainer(trainer);
    EXPECT_EQ(found.status().code(), StatusCode::kNotFound);
    EXPECT_THAT(found.status().message(), AllOf(HasSubstr("fairlead, nccl or a program"), HasSubstr(trainer)));
  }
}

// Where tests are, no trainer is beside them.
TEST(LabPrograms, WithoutNcclTheMessageSaysHowToGetIt) {
  const auto found = FindTrainer(kNcclTrainer);
  if (found.ok()) GTEST_SKIP() << *found << " is there";
  EXPECT_EQ(found.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(found.status().message(),
              AllOf(HasSubstr("FAIRLEAD_NCCL_SOURCES"), HasSubstr("CUDA_HOME"), HasSubstr("--trainer FILE")));
}

}  // namespace
}  // namespace fairlead::lab

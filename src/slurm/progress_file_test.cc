// The steps that a job writes into a file: its own word, from a place that it chooses, read with more rights than it.
#include "slurm/progress_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "base/temporary_folder.h"

namespace fairlead::slurm {
namespace {

using testing::HasSubstr;

class ProgressFileTest : public testing::Test {
 protected:
  Result<double> Read(const std::string& text) {
    std::ofstream(path_) << text;
    return ReadProgressFile(path_, geteuid());
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("steps");
};

TEST_F(ProgressFileTest, OneNumber) {
  EXPECT_EQ(*Read("1200"), 1200);
  EXPECT_EQ(*Read(" 12.5\n"), 12.5);
  EXPECT_EQ(*Read("0\n"), 0);
  EXPECT_EQ(*Read("1e3"), 1000);
}

TEST_F(ProgressFileTest, NothingYetIsNoFault) {
  EXPECT_EQ(ReadProgressFile(path_, geteuid()).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadProgressFile(folder_.File("not/there"), geteuid()).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Read("").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Read(" \n").status().code(), StatusCode::kNotFound);
}

TEST_F(ProgressFileTest, OtherContentIsNotTold) {
  for (const std::string text : {"secret", "12 13", "-1", "inf", "nan", "0x10", "12,5", "1200 secret"}) {
    const Status status = Read(text).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), testing::Not(HasSubstr("secret")));
  }
  EXPECT_EQ(Read(std::string(10'000, '7')).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(ProgressFileTest, WhenACheckpointWasWritten) {
  EXPECT_EQ(TimeOfFile(path_, geteuid()), std::nullopt);
  ASSERT_TRUE(Read("12").ok());
  const auto first = TimeOfFile(path_, geteuid());
  ASSERT_TRUE(first.has_value());
  EXPECT_NEAR(first->seconds().value(), static_cast<double>(time(nullptr)), 60);
  EXPECT_EQ(TimeOfFile(path_, geteuid() + 1), std::nullopt);
  const timespec later[] = {{0, UTIME_OMIT}, {2'000'000'000, 5}};
  ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), later, 0), 0);
  EXPECT_EQ(TimeOfFile(path_, geteuid()), SimTime(2'000'000'000'000'000'005));
  EXPECT_EQ(TimeOfFile(folder_.path(), geteuid()), std::nullopt);
}

TEST_F(ProgressFileTest, OnlyARegularFileOfTheJobsUser) {
  ASSERT_TRUE(Read("12").ok());
  EXPECT_THAT(ReadProgressFile(path_, geteuid() + 1).status().message(), HasSubstr("not of the job's user"));
  ASSERT_EQ(symlink(path_.c_str(), folder_.File("link").c_str()), 0);
  EXPECT_THAT(ReadProgressFile(folder_.File("link"), geteuid()).status().message(), HasSubstr("symbolic link"));
  ASSERT_EQ(mkfifo(folder_.File("pipe").c_str(), 0600), 0);
  EXPECT_THAT(ReadProgressFile(folder_.File("pipe"), geteuid()).status().message(), HasSubstr("no regular file"));
  EXPECT_THAT(ReadProgressFile(folder_.path(), geteuid()).status().message(), HasSubstr("no regular file"));
  EXPECT_FALSE(ReadProgressFile("/dev/zero", 0).ok());
}

}  // namespace
}  // namespace fairlead::slurm

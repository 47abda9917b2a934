#include "base/file_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/file_reader.h"
#include "base/temporary_folder.h"

namespace fairlead {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FileWriterTest : public testing::Test {
 protected:
  std::string PathOf(const std::string& name) const { return folder_.File(name); }
  static std::string Read(const std::string& path) { return ReadWholeFile(path).value(); }
  size_t NumFiles() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  const TemporaryFolder folder_;
};

TEST_F(FileWriterTest, WritesEveryByteAndLeavesNothingElse) {
  const std::string content = std::string("a\0b\r\n", 5) + std::string(3'000'000, 'x');
  ASSERT_TRUE(WriteFileAtomically(PathOf("out.json"), content).ok());
  EXPECT_EQ(Read(PathOf("out.json")), content);
  ASSERT_TRUE(WriteFileAtomically(PathOf("out.json"), "").ok());
  EXPECT_EQ(Read(PathOf("out.json")), "");
  EXPECT_EQ(NumFiles(), 1u);
}

TEST_F(FileWriterTest, KeepsPermissionsAndFollowsLinks) {
  ASSERT_TRUE(WriteFileAtomically(PathOf("real"), "old").ok());
  ASSERT_EQ(::chmod(PathOf("real").c_str(), 0640), 0);
  fs::create_symlink("real", PathOf("link"));
  ASSERT_TRUE(WriteFileAtomically(PathOf("link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(PathOf("link")));
  EXPECT_EQ(Read(PathOf("real")), "new");
  struct stat info {};
  ASSERT_EQ(::stat(PathOf("real").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(FileWriterTest, NewFilesHonourTheUmask) {
  const mode_t old = ::umask(027);
  const Status status = WriteFileAtomically(PathOf("out"), "x");
  ::umask(old);
  ASSERT_TRUE(status.ok());
  struct stat info {};
  ASSERT_EQ(::stat(PathOf("out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);  // 0666 & ~027
}

TEST_F(FileWriterTest, ErrorsNameThePath) {
  const Status missing = WriteFileAtomically(PathOf("no/such/out"), "x");
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr(PathOf("no/such/out")));

  const Status folder = WriteFileAtomically(folder_.path(), "x");
  EXPECT_EQ(folder.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(folder.message(), HasSubstr(folder_.path().string()));

  ASSERT_TRUE(WriteFileAtomically(PathOf("file"), "x").ok());
  EXPECT_EQ(WriteFileAtomically(PathOf("file/out"), "x").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(WriteFileAtomically("", "x").code(), StatusCode::kInvalidArgument);
}

TEST_F(FileWriterTest, UnwritableFolderKeepsTheOldFile) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  ASSERT_TRUE(WriteFileAtomically(PathOf("out"), "old").ok());
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  const Status status = WriteFileAtomically(PathOf("out"), "new");
  fs::permissions(folder_.path(), fs::perms::owner_all);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Read(PathOf("out")), "old");
}

TEST_F(FileWriterTest, FullDeviceIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const Status status = WriteFileAtomically("/dev/full", "x");
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("/dev/full"));
}

// A limit on the file size fails in the middle of the content, as a full disk does.
TEST_F(FileWriterTest, NoRoomKeepsTheOldFileAndLeavesNoPart) {
  ASSERT_TRUE(WriteFileAtomically(PathOf("out"), "old").ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = WriteFileAtomically(PathOf("out"), std::string(100'000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);

  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(Read(PathOf("out")), "old");
  EXPECT_EQ(NumFiles(), 1u);
}

TEST_F(FileWriterTest, LeftoversOfKilledProcessesDoNotBlock) {
  const std::string leftover = PathOf(".out." + std::to_string(::getpid()) + "-0.tmp");
  std::ofstream(leftover) << "part";
  ASSERT_TRUE(WriteFileAtomically(PathOf("out"), "whole").ok());
  EXPECT_EQ(Read(PathOf("out")), "whole");
  EXPECT_EQ(Read(leftover), "part");
}

// Four writers of one file, one reader: whatever the reader sees is one writer's whole content.
TEST_F(FileWriterTest, ReadersNeverSeeAPart) {
  const std::string path = PathOf("out");
  ASSERT_TRUE(WriteFileAtomically(path, std::string(50'000, 'a')).ok());
  std::vector<std::thread> writers;
  for (char letter : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([&path, letter] {
      for (int i = 0; i < 20; ++i) ASSERT_TRUE(WriteFileAtomically(path, std::string(50'000, letter)).ok());
    });
  }
  for (int i = 0; i < 200; ++i) {
    const std::string seen = Read(path);
    ASSERT_EQ(seen.size(), 50'000u);
    ASSERT_EQ(seen.find_first_not_of(seen.front()), std::string::npos);
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(NumFiles(), 1u);
}

}  // namespace
}  // namespace fairlead

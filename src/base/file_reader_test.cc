#include "base/file_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <thread>

#include "base/file_writer.h"
#include "base/random.h"
#include "base/temporary_folder.h"

namespace fairlead {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Sizes around those of the blocks it reads in; every value of a byte.
TEST(FileReaderTest, WhatWasWrittenIsRead) {
  const TemporaryFolder folder;
  Random random(1);
  for (const size_t size : {0, 1, 65535, 65536, 65537, 131072, 300000}) {
    std::string content(size, '\0');
    for (char& byte : content) byte = static_cast<char>(random.Below(256));
    ASSERT_TRUE(WriteFileAtomically(folder.File("x"), content).ok());
    const auto read = ReadWholeFile(folder.File("x"));
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, content) << size;
    EXPECT_EQ(ReadFileIfThere(folder.File("x")), content);
  }
}

TEST(FileReaderTest, TheEndOfAFile) {
  const TemporaryFolder folder;
  const std::string path = folder.File("log");
  EXPECT_EQ(ReadEndOfFile(path, 10).status().code(), StatusCode::kNotFound);
  std::ofstream(path) << "0123456789";
  EXPECT_EQ(*ReadEndOfFile(path, 4), "6789");
  EXPECT_EQ(*ReadEndOfFile(path, 10), "0123456789");
  EXPECT_EQ(*ReadEndOfFile(path, SIZE_MAX), "0123456789");
  EXPECT_EQ(*ReadEndOfFile(path, 0), "");
  EXPECT_THAT(ReadEndOfFile(folder.path(), 4).status().message(), HasSubstr("is no regular file"));
  ASSERT_EQ(mkfifo(folder.File("pipe").c_str(), 0600), 0);
  EXPECT_EQ(ReadEndOfFile(folder.File("pipe"), 4).status().code(), StatusCode::kFailedPrecondition) << "and no waiting";
}

// Neither says how long it is.
TEST(FileReaderTest, FilesWithoutASizeAreReadToTheirEnd) {
  EXPECT_THAT(ReadWholeFile("/proc/self/status").value(), StartsWith("Name:"));
  EXPECT_EQ(ReadWholeFile("/dev/null").value(), "");
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.File("pipe").c_str(), 0600), 0);
  const std::string content(200'000, 'x');
  std::thread writer([&] { std::ofstream(folder.File("pipe")) << content; });
  EXPECT_EQ(ReadWholeFile(folder.File("pipe")).value(), content);
  writer.join();
}

TEST(FileReaderTest, MissingAndUnreadableFilesAreReported) {
  const TemporaryFolder folder;
  std::ofstream(folder.File("file")) << "x";
  for (const char* name : {"none", "no/such/file", "file/below"}) {
    const Status status = ReadWholeFile(folder.File(name)).status();
    EXPECT_EQ(status.code(), StatusCode::kNotFound) << name;
    EXPECT_THAT(status.message(), StartsWith(folder.File(name) + ": cannot be read: "));
    EXPECT_EQ(ReadFileIfThere(folder.File(name)), "");
  }
  const Status status = ReadWholeFile(folder.path()).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("Is a directory"));
  EXPECT_EQ(ReadFileIfThere(folder.path()), "");
}

TEST(FileReaderTest, ALimitIsTheLargestSizeThatIsRead) {
  const TemporaryFolder folder;
  for (const size_t size : {0, 1, 10, 100'000}) {
    std::ofstream(folder.File("x")) << std::string(size, 'x');
    EXPECT_EQ(ReadWholeFile(folder.File("x"), size).value().size(), size);
    EXPECT_TRUE(ReadWholeFile(folder.File("x"), size + 1).ok());
    if (size == 0) continue;
    const Status status = ReadWholeFile(folder.File("x"), size - 1).status();
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(status.message(), HasSubstr("larger than " + std::to_string(size - 1)));
  }
  // It does not end.
  EXPECT_EQ(ReadWholeFile("/dev/zero", 1000).status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace fairlead

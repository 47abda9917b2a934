#include "base/temporary_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFolderTest, IsEmptyAndItsOwn) {
  const TemporaryFolder one, other;
  EXPECT_NE(one.path(), other.path());
  EXPECT_TRUE(one.path().is_absolute());
  EXPECT_TRUE(fs::is_empty(one.path()));
  EXPECT_EQ(one.File("a/b"), one.path().string() + "/a/b");
  EXPECT_EQ(access(one.path().c_str(), R_OK | W_OK | X_OK), 0);
}

TEST(TemporaryFolderTest, GoesWithEverythingInIt) {
  fs::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    fs::create_directories(folder.path() / "a" / "b");
    std::ofstream(folder.File("a/b/file")) << "x";
    fs::create_symlink("/nonexistent", folder.path() / "link");
    ASSERT_TRUE(fs::exists(folder.File("a/b/file")));
  }
  EXPECT_FALSE(fs::exists(path));
}

// A test may remove it, or move it away, itself.
TEST(TemporaryFolderTest, MayBeGoneBefore) {
  const TemporaryFolder folder;
  fs::remove(folder.path());
  EXPECT_FALSE(fs::exists(folder.path()));
}

TEST(TemporaryFolderTest, LinksAreNotFollowed) {
  const TemporaryFolder kept;
  std::ofstream(kept.File("file")) << "x";
  {
    const TemporaryFolder folder;
    fs::create_directory_symlink(kept.path(), folder.path() / "link");
  }
  EXPECT_TRUE(fs::exists(kept.File("file")));
}

}  // namespace
}  // namespace fairlead

#include "service/controller/job_owner_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"

namespace fairlead::service {
namespace {

class JobOwnerFileTest : public testing::Test {
 protected:
  std::string Write(const std::string& text) const {
    std::ofstream(folder_.File("jobs")) << text;
    chmod(folder_.File("jobs").c_str(), 0644);
    return folder_.File("jobs");
  }
  static std::string ErrorOf(const std::string& path) { return LoadJobOwnerMap(path).status().message(); }

  const TemporaryFolder folder_;
};

TEST_F(JobOwnerFileTest, OurFileIsRead) {
  const auto map = LoadJobOwnerMap(Write("root gpt\n"));
  ASSERT_TRUE(map.ok()) << map.status().message();
  EXPECT_TRUE(map->MayActOn({.name = "gpt", .owner = 0}));
  EXPECT_FALSE(map->MayActOn({.name = "gpt", .owner = 1001}));
}

TEST_F(JobOwnerFileTest, AMapThatOthersCanWriteIsRefused) {
  const std::string path = Write("root gpt\n");
  chmod(path.c_str(), 0664);
  EXPECT_NE(ErrorOf(path).find("run chmod go-w"), std::string::npos) << ErrorOf(path);
  chmod(path.c_str(), 0644);
  chmod(folder_.path().c_str(), 0777);
  EXPECT_NE(ErrorOf(path).find(folder_.path().string() + ": run chmod go-w"), std::string::npos) << ErrorOf(path);
  chmod(folder_.path().c_str(), 0700);
  std::filesystem::create_symlink(path, folder_.File("link"));
  EXPECT_EQ(LoadJobOwnerMap(folder_.File("link")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(LoadJobOwnerMap(folder_.File("none")).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(LoadJobOwnerMap(folder_.path()).ok());
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(path.c_str(), 1234, 1234), 0);
  EXPECT_NE(ErrorOf(path).find("belongs to user 1234"), std::string::npos) << ErrorOf(path);
}

TEST_F(JobOwnerFileTest, MistakesAreNamedWithTheirFile) {
  const std::string path = Write("root\n");
  EXPECT_NE(ErrorOf(path).find(path + ", line 1"), std::string::npos) << ErrorOf(path);
}

}  // namespace
}  // namespace fairlead::service

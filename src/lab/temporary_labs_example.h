// For tests: a folder for labs that are taken down when it goes.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/temporary_folder.h"
#include "lab/lab.h"

namespace fairlead::lab {

class TemporaryLabs {
 public:
  TemporaryLabs() = default;
  ~TemporaryLabs() {
    for (const std::string& name : LabFolder::List(folder_.path())) {
      auto folder = LabFolder::Open(folder_.path(), name);
      bool was_up = false;
      EXPECT_TRUE(folder.ok() && TakeDown(*folder, &was_up).ok());
    }
  }
  TemporaryLabs(const TemporaryLabs&) = delete;
  TemporaryLabs& operator=(const TemporaryLabs&) = delete;

  const std::filesystem::path& path() const { return folder_.path(); }
  std::string File(const std::string& name) const { return folder_.File(name); }

 private:
  const TemporaryFolder folder_;
};

}  // namespace fairlead::lab

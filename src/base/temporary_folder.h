// For tests: a folder that no other test has, in this process or in another. CTest runs each test of a program in its
// own process, several at once, and other checkouts run the same tests: a fixed name would be shared by all.
#pragma once

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX

#include <filesystem>
#include <string>
#include <system_error>

#include "base/check.h"

namespace fairlead {

// Lies in $TMPDIR, or /tmp; its name is short, as the path of a UNIX socket must be (107 bytes). The destructor removes
// it with everything in it, if the process ends by returning: a process forked by a test should leave by _exit().
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "fairlead-XXXXXX").string();
    FL_CHECK_MSG(mkdtemp(name.data()) != nullptr, name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Absolute, without a slash at the end.
  const std::filesystem::path& path() const { return path_; }
  // Where a file or folder `name` would be in it; nothing is made.
  std::string File(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace fairlead

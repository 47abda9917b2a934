// In which processes do the libraries load? Where they do not, no program starts that has one in LD_PRELOAD, shells
// included.
#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <string>

#include "base/shell_output.h"

namespace fairlead::ccl {
namespace {

// Images of containers have older C libraries than the host that the libraries were built on: a version of a symbol may
// be missing. RHEL 7 has 2.17, RHEL 8 2.28, Ubuntu 20.04 2.31; on aarch64 all begin with 2.17.
TEST(GlibcTest, LibrariesLoadFromVersion217On) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs a newer one";
#endif
  for (const std::string library : {FAIRLEAD_STEER_LIBRARY, FAIRLEAD_PROFILER_LIBRARY}) {
    std::istringstream versions(
        OutputOf("objdump -p " + library + " | sed -n '/Version References/,$p' | grep -oE 'GLIBC[A-Z_]*[0-9.]*'"));
    int num_versions = 0;
    for (std::string version; versions >> version; ++num_versions) {
      int major = 0, minor = 0;
      EXPECT_EQ(sscanf(version.c_str(), "GLIBC_%d.%d", &major, &minor), 2) << library << ": " << version;
      EXPECT_TRUE(major == 2 && minor <= 17) << library << " needs " << version;
    }
    EXPECT_GT(num_versions, 0) << library;
    EXPECT_EQ(OutputOf("readelf -d " + library + " | grep -c 'NEEDED.*libc.so.6'"), "1\n");
    EXPECT_EQ(OutputOf("readelf -d " + library + " | grep -c NEEDED"), "1\n") << "nothing but libc";
  }
}

// Users may look for faults of their own in jobs that are watched. A sanitizer looks functions up while it begins.
TEST(SanitizedProgramTest, TheLibrariesDoNotStopItFromBeginning) {
  std::string libraries = FAIRLEAD_STEER_LIBRARY;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  libraries += std::string(":") + FAIRLEAD_PROFILER_LIBRARY;  // elsewhere it has a sanitizer itself
#endif
  for (const std::string program : {FAIRLEAD_SANITIZED_ADDRESS, FAIRLEAD_SANITIZED_THREAD}) {
    if (OutputOf(program) != "refused\n") GTEST_SKIP() << "it does not run on this kernel: " << program;
    const std::string command =
        "FAIRLEAD_JOB=gpt ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=" + libraries + " " + program + " 2>&1";
    EXPECT_EQ(OutputOf(command), "refused\n") << program;
  }
}

}  // namespace
}  // namespace fairlead::ccl

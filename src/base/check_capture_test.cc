#include "base/check_capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/parallel_for.h"

namespace fairlead {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

void FailDeep(int depth) {
  const auto memory = std::make_unique<std::vector<int>>(1000, depth);  // freed on the way out; ASan looks
  if (depth > 0) return FailDeep(depth - 1);
  FL_CHECK_MSG(memory->empty(), "as the test wants it");
}

TEST(CheckCaptureTest, AFailedCheckEndsTheWorkAndNamesItsPlace) {
  EXPECT_FALSE(CatchesFailedChecks());
  bool went_on = false;
  const Status status = CatchFailedChecks([&] {
    EXPECT_TRUE(CatchesFailedChecks());
    FailDeep(5);
    went_on = true;
  });
  EXPECT_FALSE(went_on);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("check_capture_test.cc:"));
  EXPECT_THAT(status.message(), EndsWith("check failed: memory->empty(): as the test wants it"));
  EXPECT_FALSE(CatchesFailedChecks());
}

TEST(CheckCaptureTest, WorkThatIsFineIsOkAndTheInnermostCallCatches) {
  EXPECT_TRUE(CatchFailedChecks([] {}).ok());
  const Status outer = CatchFailedChecks([] {
    EXPECT_FALSE(CatchFailedChecks([] { FailDeep(0); }).ok());
    EXPECT_TRUE(CatchesFailedChecks());
  });
  EXPECT_TRUE(outer.ok());
}

TEST(CheckCaptureTest, ExceptionsOfLibrariesAreCaught) {
  const Status status = CatchFailedChecks([] { throw std::out_of_range("map::at"); });
  EXPECT_EQ(status, Internal("unexpected error: map::at"));
}

TEST(CheckCaptureDeathTest, OutsideACheckStillEndsTheProcess) {
  EXPECT_DEATH(FailDeep(0), "check failed: memory->empty\\(\\): as the test wants it");
  EXPECT_DEATH(
      {
        static_cast<void>(CatchFailedChecks([] {}));
        FailDeep(0);
      },
      "as the test wants it");
  const auto does_not_throw = []() noexcept { FailDeep(0); };
  EXPECT_DEATH(static_cast<void>(CatchFailedChecks(does_not_throw)), "");
}

TEST(CheckCaptureTest, ParallelForPassesAFailureOnFromAnyThread) {
  const std::atomic<bool> never = false;
  for (const uint32_t num_threads : {1u, 4u}) {
    for (size_t bad = 0; bad < 8; ++bad) {
      std::atomic<size_t> num_done = 0;
      const Status status = CatchFailedChecks([&] {
        ParallelFor(8, num_threads, never, [&](size_t i) {
          FL_CHECK_MSG(i != bad, "piece " + std::to_string(i));
          ++num_done;
        });
      });
      EXPECT_THAT(status.message(), EndsWith("piece " + std::to_string(bad)));
      EXPECT_LE(num_done, 7u);
    }
  }
}

}  // namespace
}  // namespace fairlead

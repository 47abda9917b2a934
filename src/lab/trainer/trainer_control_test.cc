#include "lab/trainer/trainer_control.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/temporary_folder.h"

namespace fairlead::lab {
namespace {

class TrainerControlTest : public testing::Test {
 protected:
  // Each content is another length, so that it is another file by size and time.
  void Write(const std::string& text) const { std::ofstream(path_) << text; }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("control");
  TrainerControl control_{path_};
};

TEST_F(TrainerControlTest, NoFileAndAnEmptyOneAskForNothing) {
  EXPECT_EQ(control_.Look(), TrainerRequests());
  Write(" \n");
  EXPECT_EQ(control_.Look(), TrainerRequests());
  EXPECT_EQ(TrainerControl("").Look(), TrainerRequests());
}

TEST_F(TrainerControlTest, RequestsComeAndGoWithTheFile) {
  Write(R"({"busy_s": 0.25, "loader_s": 1, "bad_order": true})");
  EXPECT_EQ(control_.Look(), (TrainerRequests{.busy_s = 0.25, .loader_s = 1, .bad_order = true}));
  EXPECT_EQ(control_.Look().busy_s, 0.25);
  std::filesystem::remove(path_);
  EXPECT_EQ(control_.Look(), TrainerRequests());
}

TEST_F(TrainerControlTest, APauseIsMadeOnceForEachContent) {
  Write(R"({"pause_s": 2})");
  control_.Look();
  EXPECT_EQ(control_.TakePause(), 2);
  control_.Look();
  EXPECT_EQ(control_.TakePause(), 0);
  Write(R"({"pause_s": 2, "busy_s": 0})");
  control_.Look();
  EXPECT_EQ(control_.TakePause(), 2);
}

// It is being written: earlier requests stay until there is something to read.
TEST_F(TrainerControlTest, AHalfWrittenFileChangesNothing) {
  Write(R"({"busy_s": 0.25})");
  control_.Look();
  Write(R"({"busy_s": 0.)");
  testing::internal::CaptureStderr();
  EXPECT_EQ(control_.Look().busy_s, 0.25);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(control_.Look().busy_s, 0.25);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find(path_ + ": expected a JSON object"), std::string::npos) << said;
  EXPECT_EQ(said.find(path_), said.rfind(path_)) << "said once";
  Write(R"({"busy_s": 0.5})");
  EXPECT_EQ(control_.Look().busy_s, 0.5);
}

TEST(TrainerRequestsTest, MistakesAreNamed) {
  const auto refusal = [](const std::string& text) { return ParseTrainerRequests(text).status().message(); };
  EXPECT_EQ(refusal("[]"), "expected a JSON object with busy_s, loader_s, pause_s, bad_order");
  EXPECT_EQ(refusal(R"({"buzy_s": 1})"), "'buzy_s' is unknown; expected busy_s, loader_s, pause_s, bad_order");
  EXPECT_EQ(refusal(R"({"busy_s": -1})"), "busy_s: expected seconds from 0 to 86400, found -1");
  EXPECT_EQ(refusal(R"({"pause_s": "long"})"), "pause_s: expected seconds from 0 to 86400, found \"long\"");
}

}  // namespace
}  // namespace fairlead::lab

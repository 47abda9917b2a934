#include "service/health_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/file_writer.h"
#include "base/random.h"
#include "base/temporary_folder.h"
#include "report/printable_text.h"

namespace fairlead::service {
namespace {

using Kind = HealthVerdict::Kind;
using testing::HasSubstr;

constexpr int64_t kNow = 1'763'750'000;

class HealthFileTest : public testing::Test {
 protected:
  HealthFileTest() { options_.path = folder_.File("health"); }

  HealthVerdict Check(const std::string& text) {
    std::ofstream(options_.path, std::ios::binary) << text;
    return CheckHealth(options_, kNow);
  }
  static HostHealth Sick(int64_t at_s = kNow) {
    return {"h3", at_s, {{"gpt", "comm_hang", "rank 3 moves nothing", "isolate and restart"}}};
  }

  const TemporaryFolder folder_;
  HealthCheckOptions options_;
};

TEST_F(HealthFileTest, WhatIsWrittenIsRead) {
  const auto health = ReadHealth(WriteHealth(Sick()));
  ASSERT_TRUE(health.ok()) << health.status().message();
  EXPECT_EQ(*health, Sick());
}

TEST_F(HealthFileTest, VerdictsAreNodeProblemDetectors) {
  EXPECT_EQ(static_cast<int>(Kind::kWell), 0);
  EXPECT_EQ(static_cast<int>(Kind::kProblem), 1);
  EXPECT_EQ(static_cast<int>(Kind::kUnknown), 2);
  EXPECT_EQ(Check(WriteHealth({"h3", kNow, {}})).kind, Kind::kWell);
  const HealthVerdict sick = Check(WriteHealth(Sick()));
  EXPECT_EQ(sick.kind, Kind::kProblem);
  EXPECT_EQ(sick.line, "comm_hang: job gpt: rank 3 moves nothing");
}

TEST_F(HealthFileTest, OldNewsIsUnknown) {
  EXPECT_EQ(Check(WriteHealth(Sick(kNow - 60))).kind, Kind::kProblem);
  const HealthVerdict old = Check(WriteHealth(Sick(kNow - 61)));
  EXPECT_EQ(old.kind, Kind::kUnknown);
  EXPECT_THAT(old.line, HasSubstr("61 s ago"));
  EXPECT_EQ(Check(WriteHealth(Sick(kNow + 3600))).kind, Kind::kUnknown);
  // An old report does not make a host healthy.
  EXPECT_EQ(Check(WriteHealth({"h3", kNow - 61, {}})).kind, Kind::kUnknown);
}

TEST_F(HealthFileTest, WhatIsNotThereOrNoHealthFileIsUnknown) {
  HealthCheckOptions options;
  options.path = "/no/such/file";
  EXPECT_EQ(CheckHealth(options, kNow).kind, Kind::kUnknown);
  EXPECT_THAT(CheckHealth(options, kNow).line, HasSubstr("/no/such/file"));
  for (const char* text : {"", "{}", "[]", "null", "{\"fairlead_health\": 2}", "{\"fairlead_health\": 1}",
                           "{\"fairlead_health\": 1, \"at_s\": 1763750000}",
                           "{\"fairlead_health\": 1, \"at_s\": \"now\", \"findings\": []}",
                           "{\"fairlead_health\": 1, \"at_s\": 1763750000, \"findings\": [1]}"}) {
    EXPECT_EQ(Check(text).kind, Kind::kUnknown) << text;
  }
}

TEST_F(HealthFileTest, OneActionOnly) {
  options_.action = "repair path";
  EXPECT_EQ(Check(WriteHealth(Sick())).kind, Kind::kWell);
  options_.action = "isolate and restart";
  EXPECT_EQ(Check(WriteHealth(Sick())).kind, Kind::kProblem);
}

// Law: whatever the file contains, the result is one clean line of 80 columns; a truncated file never makes a host
// healthy.
TEST_F(HealthFileTest, AnyFileIsOneShortLine) {
  HostHealth health = Sick();
  health.findings.push_back({std::string(200, 'x'), "dead\n", std::string(300, '\x1b'), "\xff"});
  const std::string text = WriteHealth(health);
  Random random(1);
  for (size_t size = 0; size + 1 < text.size(); size += 3) {
    EXPECT_EQ(Check(text.substr(0, size)).kind, Kind::kUnknown) << size;
  }
  for (int i = 0; i < 500; ++i) {
    std::string changed = text;
    for (uint64_t c = 0; c <= random.Below(8); ++c) {
      changed[random.Below(changed.size())] = static_cast<char>(random.Below(256));
    }
    const HealthVerdict verdict = Check(changed);
    ASSERT_LE(report::DisplayWidth(verdict.line), 80u);
    ASSERT_EQ(verdict.line, report::CleanText(verdict.line));
    ASSERT_FALSE(verdict.line.empty());
  }
}

TEST(HealthKeeperTest, WritesChangesAtOnceAndElseEachPeriod) {
  const auto at = [](double s) { return SimTime::FromSeconds(Seconds(s)); };
  HealthKeeper keeper("h3");
  EXPECT_FALSE(keeper.TakeDue(at(0), kNow));  // no report at all
  keeper.Judge({});
  const auto well = keeper.TakeDue(at(1), kNow);
  ASSERT_TRUE(well);
  EXPECT_EQ(*well, (HostHealth{"h3", kNow, {}}));
  EXPECT_FALSE(keeper.TakeDue(at(10.9), kNow + 9));
  EXPECT_TRUE(keeper.TakeDue(at(11), kNow + 10));
  keeper.Judge({});
  EXPECT_FALSE(keeper.TakeDue(at(12), kNow + 11));
  keeper.Judge({{"gpt", "dead", "", "restart"}});
  EXPECT_EQ(keeper.TakeDue(at(12), kNow + 11)->findings.size(), 1u);
  // Without the controller the file grows old, and earlier reports no longer count.
  keeper.Lose();
  EXPECT_FALSE(keeper.TakeDue(at(100), kNow + 99));
  keeper.Judge({});
  EXPECT_TRUE(keeper.TakeDue(at(100), kNow + 99)->findings.empty());
}

}  // namespace
}  // namespace fairlead::service

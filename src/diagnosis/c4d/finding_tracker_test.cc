#include "diagnosis/c4d/finding_tracker.h"

#include <gtest/gtest.h>

#include "diagnosis/c4d/calibration.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::CulpritKind;

constexpr uint32_t kBad = 3;
constexpr uint32_t kWindows = 5;

Suspect SlowNic(CulpritKind kind, uint32_t nic) {
  Suspect suspect;
  suspect.syndrome = model::Syndrome::kCommSlow;
  suspect.culprits = {
      {.kind = kind, .rank = {}, .peer = {}, .host = HostId(0), .nic = NicId(nic), .leaf = {}, .plane = {}}};
  return suspect;
}

class FindingTrackerTest : public ::testing::Test {
 protected:
  // A window with these suspects; opens what it confirms. Returns how many findings there are by then.
  size_t Window(const std::vector<Suspect>& suspects, bool says_nothing = false) {
    now_ = now_ + SimDuration(10'000'000'000);
    const std::vector<Suspect> confirmed =
        tracker_.HoldWindow(suspects, now_, kBad, kWindows, [&](const Suspect&) { return says_nothing; });
    for (const Suspect& suspect : confirmed) tracker_.Open(suspect, now_, {});
    return tracker_.findings().size();
  }

  FindingTracker tracker_{JobId(0)};
  SimTime now_;
};

TEST_F(FindingTrackerTest, WindowsOfANicAndOfItsSidesCountTogether) {
  EXPECT_EQ(Window({SlowNic(CulpritKind::kNicSend, 4)}), 0u);
  EXPECT_EQ(Window({SlowNic(CulpritKind::kNic, 4)}), 0u);
  EXPECT_EQ(Window({SlowNic(CulpritKind::kNicSend, 4)}), 1u);
  EXPECT_EQ(tracker_.findings()[0].culprits, SlowNic(CulpritKind::kNicSend, 4).culprits);
  EXPECT_EQ(tracker_.findings()[0].first_seen, SimTime(10'000'000'000));
  for (int window = 0; window < 5; ++window) EXPECT_EQ(Window({SlowNic(CulpritKind::kNic, 4)}), 1u);
}

// Neighbours come and go; after a minute it is no neighbour.
TEST_F(FindingTrackerTest, AConnectionIsBelievedAfterAMinute) {
  Suspect slow = SlowNic(CulpritKind::kConnection, 4);
  slow.cost = 0.2;
  slow.confidence = 0.95;
  Suspect nic = SlowNic(CulpritKind::kNic, 5);
  nic.cost = 0.2;
  nic.confidence = 0.95;
  for (int window = 1; window <= 8; ++window) {
    Window({slow, nic});
    if (window < static_cast<int>(kBad)) continue;
    ASSERT_EQ(tracker_.findings().size(), 2u);
    for (const model::Finding& finding : tracker_.findings()) {
      const bool is_believed = finding.culprits.front().kind == CulpritKind::kNic || window >= 6;
      EXPECT_EQ(finding.score, is_believed ? 0.95 : 0.4) << window;
      EXPECT_EQ(finding.action == model::RecommendedAction::kWatch, !is_believed) << window;
    }
  }
}

TEST_F(FindingTrackerTest, WindowsOfDifferentNicsDoNot) {
  EXPECT_EQ(Window({SlowNic(CulpritKind::kNicSend, 4)}), 0u);
  EXPECT_EQ(Window({SlowNic(CulpritKind::kNicSend, 5)}), 0u);
  EXPECT_EQ(Window({SlowNic(CulpritKind::kNicReceive, 4)}), 0u);
  EXPECT_EQ(Window({SlowNic(CulpritKind::kNicReceive, 5)}), 0u);
  EXPECT_EQ(Window({SlowNic(CulpritKind::kNic, 5)}), 1u);
}

// A thin connection has too few messages in every second window: what the others say counts as in a row.
TEST_F(FindingTrackerTest, AWindowThatSaysNothingIsNeitherGoodNorBad) {
  Suspect slow = SlowNic(CulpritKind::kNic, 4);
  slow.cost = 0.02;
  EXPECT_EQ(Window({slow}), 0u);
  EXPECT_EQ(Window({}, true), 0u);
  EXPECT_EQ(Window({slow}), 0u);
  EXPECT_EQ(Window({}, true), 0u);
  EXPECT_EQ(Window({}, true), 0u);
  EXPECT_EQ(Window({slow}), 1u);
  // It stays open while nothing is known, but not for ever.
  for (uint32_t window = 0; window < kWindows; ++window) Window({}, true);
  EXPECT_TRUE(tracker_.FindRecovered(kBad).empty());
  for (uint32_t window = 0; window < kBad; ++window) Window({}, true);
  EXPECT_EQ(tracker_.FindRecovered(kBad).size(), 1u);
}

// A path that loses messages is slow in some windows, and in others it only stalls single ones.
TEST_F(FindingTrackerTest, WhatCostsNothingGoesOnWithWhatIsSlow) {
  Suspect slow = SlowNic(CulpritKind::kConnection, 4);
  slow.cost = 0.001;
  slow.confidence = 0.4;
  slow.summary = "slow";
  Suspect idle = slow;
  idle.cost = -1;
  idle.is_idle = true;
  idle.summary = "idle";
  for (int window = 0; window < 8; ++window) EXPECT_EQ(Window({idle}, true), 0u) << "by itself it is nothing";
  EXPECT_EQ(Window({slow}), 0u);
  EXPECT_EQ(Window({idle}, true), 0u);
  EXPECT_EQ(Window({idle}, true), 0u) << "after one slow window it is neither good nor bad";
  EXPECT_EQ(Window({slow}), 0u);
  EXPECT_EQ(Window({idle}, true), 1u);
  EXPECT_EQ(tracker_.findings()[0].summary, "slow");
  for (int window = 0; window < 8; ++window) Window({idle}, true);
  EXPECT_TRUE(tracker_.FindRecovered(kBad).empty());
  for (uint32_t window = 0; window < kBad; ++window) Window({});
  EXPECT_EQ(tracker_.FindRecovered(kBad).size(), 1u);
}

TEST_F(FindingTrackerTest, WhatNoRecordingHasIsNotAsSure) {
  Suspect counted = SlowNic(CulpritKind::kNic, 4);
  counted.cost = 0.2;
  counted.confidence = 0.95;
  Suspect uncounted = SlowNic(CulpritKind::kNic, 5);
  uncounted.cost = 0.2;
  uncounted.confidence = 0.95;
  uncounted.is_uncounted = true;
  for (uint32_t window = 0; window < kBad; ++window) Window({counted, uncounted});
  ASSERT_EQ(tracker_.findings().size(), 2u);
  EXPECT_GT(tracker_.findings()[0].confidence, kUnseenMax);
  EXPECT_EQ(tracker_.findings()[1].confidence, kUnseenMax);
}

TEST_F(FindingTrackerTest, AGoodWindowEndsAStreak) {
  Suspect slow = SlowNic(CulpritKind::kNic, 4);
  slow.cost = 0.02;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Window({slow}), 0u);
    EXPECT_EQ(Window({}), 0u);
  }
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d

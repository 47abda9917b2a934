#include "diagnosis/c4d/finding_tracker.h"

#include <gtest/gtest.h>

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
  size_t Window(const std::vector<Suspect>& suspects) {
    now_ = now_ + SimDuration(10'000'000'000);
    for (const Suspect& suspect : tracker_.HoldWindow(suspects, now_, kBad, kWindows)) tracker_.Open(suspect, now_, {});
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

TEST_F(FindingTrackerTest, WindowsOfDifferentNicsDoNot) {
  EXPECT_EQ(Window({SlowNic(CulpritKind::kNicSend, 4)}), 0u);
  EXPECT_EQ(Window({SlowNic(CulpritKind::kNicSend, 5)}), 0u);
  EXPECT_EQ(Window({SlowNic(CulpritKind::kNicReceive, 4)}), 0u);
  EXPECT_EQ(Window({SlowNic(CulpritKind::kNicReceive, 5)}), 0u);
  EXPECT_EQ(Window({SlowNic(CulpritKind::kNic, 5)}), 1u);
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d

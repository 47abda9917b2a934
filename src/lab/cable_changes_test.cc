#include "lab/cable_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_folder.h"

namespace fairlead::lab {
namespace {

using ::testing::ElementsAre;

TEST(CableChanges, AreReadAsTheyWereNoted) {
  const TemporaryFolder folder;
  const CableChange cut{.at_s = 10.5, .cable = "leaf0-spine1", .end = {}, .health = 0};
  const CableChange slow{.at_s = 9, .cable = "h0-leaf0", .end = 1, .health = 0.25};
  const CableChange late{.at_s = 12, .cable = "h0-leaf0", .end = 1, .health = 1};
  for (const CableChange& change : {cut, slow, late}) {
    ASSERT_TRUE(NoteCableChange(folder.path().string(), change).ok());
  }
  EXPECT_THAT(ReadCableChanges(folder.path().string(), 0, 100), ElementsAre(slow, cut, late)) << "by time";
  EXPECT_THAT(ReadCableChanges(folder.path().string(), 9.5, 11), ElementsAre(cut));
}

TEST(CableChanges, PassesOverWhatIsNone) {
  const TemporaryFolder folder;
  EXPECT_TRUE(ReadCableChanges(folder.path().string(), 0, 100).empty()) << "no file";
  std::ofstream(folder.File("cables.jsonl")) << "nonsense\n[1]\n{\"at_s\": \"x\", \"cable\": \"a-b\", \"health\": 0}\n"
                                             << "{\"at_s\": 1, \"cable\": \"a-b\", \"health\": 0, \"end\": -1}\n"
                                             << "{\"at_s\": 2, \"cable\": \"a-b\", \"health\": 0}\n{\"at_s\": 3, \"ca";
  EXPECT_THAT(ReadCableChanges(folder.path().string(), 0, 100),
              ElementsAre(CableChange{.at_s = 2, .cable = "a-b", .end = {}, .health = 0}));
}

TEST(CableChanges, SayWhenTheyCannotBeNoted) {
  const Status status = NoteCableChange("/nowhere", {.at_s = 1, .cable = "a-b", .end = {}, .health = 0});
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("/nowhere/cables.jsonl"));
}

}  // namespace
}  // namespace fairlead::lab

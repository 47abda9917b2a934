#include "service/steering/audit_lines.h"

#include <gtest/gtest.h>

namespace fairlead::service {
namespace {

using report::Json;

class AuditLinesTest : public testing::Test {
 protected:
  static Json Numbers(const std::deque<Json>& lines) { return lines; }

  std::vector<Json> log_;
  size_t room_ = 100;  // for lines in the log
  AuditLines lines_{[this](const Json& line) {
                      if (log_.size() >= room_) return Unavailable("the log is full");
                      log_.push_back(line);
                      return OkStatus();
                    },
                    3};
};

TEST_F(AuditLinesTest, ItGoesOnWhereItStuck) {
  for (int i = 1; i <= 3; ++i) lines_.Add(i);
  room_ = 2;
  EXPECT_EQ(lines_.Write().message(), "the log is full");
  EXPECT_FALSE(lines_.Write().ok());
  EXPECT_EQ(Json(log_), Json({1, 2}));
  EXPECT_EQ(Numbers(lines_.shown()), Json({1, 2})) << "what is in the log, and no more";
  room_ = 100;
  EXPECT_TRUE(lines_.Write().ok());
  EXPECT_TRUE(lines_.Write().ok());
  EXPECT_EQ(Json(log_), Json({1, 2, 3}));
}

TEST_F(AuditLinesTest, TheLastOnesAreShown) {
  for (int i = 1; i <= 4; ++i) {
    lines_.Add(i);
    EXPECT_TRUE(lines_.Write().ok());
    lines_.EndBatch();
  }
  EXPECT_EQ(Numbers(lines_.shown()), Json({2, 3, 4}));
  EXPECT_EQ(Json(log_), Json({1, 2, 3, 4}));
}

// Killed after the first of two lines: which were written is not known, so both are again, before what is new.
TEST_F(AuditLinesTest, TheNextProcessWritesWhatARecordSays) {
  EXPECT_FALSE(lines_.ToRecord().has_value());
  lines_.Add(1);
  lines_.Add("n\xff");  // broken UTF-8 is no reason to lose a line
  room_ = 1;
  EXPECT_FALSE(lines_.Write().ok());
  const auto record = lines_.ToRecord();
  ASSERT_TRUE(record.has_value());
  std::vector<Json> log;
  AuditLines next([&log](const Json& line) { return log.push_back(line), OkStatus(); }, 3);
  ASSERT_TRUE(next.Restore(*record));
  next.Add(3);
  EXPECT_TRUE(next.Write().ok());
  EXPECT_EQ(Json(log), Json({1, "n\xef\xbf\xbd", 3}));
  EXPECT_FALSE(next.Restore("{"));
  EXPECT_FALSE(next.Restore("7"));
}

TEST_F(AuditLinesTest, WithoutALogNothingHasToBeKept) {
  AuditLines lines({}, 3);
  lines.Add(1);
  EXPECT_FALSE(lines.ToRecord().has_value());
  EXPECT_TRUE(lines.Write().ok());
  EXPECT_EQ(Numbers(lines.shown()), Json({1}));
}

}  // namespace
}  // namespace fairlead::service

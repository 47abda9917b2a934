#include "experiment/paper_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::experiment {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view kHead = "title: t\npaper: p\n";

std::string MessageOf(const std::string& rows) {
  return ParsePaperTable(std::string(kHead) + rows, "paper.yaml").status().message();
}

TEST(PaperTableTest, ReadsRowsInOrderAndLeavesOutWhatIsNotPublished) {
  const auto table = ParsePaperTable(
      "title: t\npaper: p\nseed: 7\nrows:\n"
      "  - {name: b, unit: s, paper: 2, low: 1, high: 3, note: n}\n"
      "  - {name: a, unit: share, high: 0.03}\n",
      "paper.yaml");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->title, "t");
  EXPECT_EQ(table->source, "p");
  EXPECT_EQ(table->seed, 7u);
  ASSERT_EQ(table->rows.size(), 2u);
  EXPECT_EQ(table->rows[0].name, "b");
  EXPECT_EQ(table->rows[0].paper, 2.0);
  EXPECT_EQ(table->rows[0].note, "n");
  EXPECT_EQ(table->rows[1].unit, "share");
  EXPECT_FALSE(table->rows[1].paper.has_value());
  EXPECT_FALSE(table->rows[1].low.has_value());
  EXPECT_EQ(table->rows[1].high, 0.03);
}

TEST(PaperTableTest, RefusesWithFileLineAndReason) {
  EXPECT_THAT(MessageOf("rows: []\n"), HasSubstr("at least one row"));
  EXPECT_THAT(MessageOf("rows:\n  - {name: a, unit: s, papper: 3}\n"),
              AllOf(HasSubstr("paper.yaml:4"), HasSubstr("papper")));
  EXPECT_THAT(MessageOf("rows:\n  - {name: a}\n"), HasSubstr("unit"));
  EXPECT_THAT(MessageOf("rows:\n  - {name: a, unit: s}\n  - {name: a, unit: s}\n"),
              AllOf(HasSubstr("paper.yaml:5"), HasSubstr("'a'")));
  EXPECT_THAT(MessageOf("rows:\n  - {name: a, unit: s, low: 2, high: 1}\n"), HasSubstr("at most high"));
  EXPECT_THAT(MessageOf("rows:\n  - {name: a, unit: s, paper: .nan}\n"), HasSubstr("paper"));
}

}  // namespace
}  // namespace fairlead::experiment

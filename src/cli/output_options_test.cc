#include "cli/output_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/output_files.h"

namespace fairlead::cli {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const OutputOptions& options, std::initializer_list<std::string_view> paths = {}) {
  return std::string(OutputFiles::Prepare(options, paths).status().message());
}

TEST(OutputOptionsTest, FormatJsonIsJsonToStdout) {
  EXPECT_EQ((OutputOptions{.json = "", .format = "json"}).json_path(), "-");
  EXPECT_EQ((OutputOptions{.json = "", .format = "csv"}).json_path(), "");
  EXPECT_EQ((OutputOptions{.json = "x.json", .format = "csv"}).json_path(), "x.json");
  EXPECT_EQ(OutputOptions().document_format(), report::OutputFormat::kTable);
}

TEST(OutputOptionsTest, AnythingThatLeavesOneResultOnStdoutIsFine) {
  EXPECT_TRUE(OutputFiles::Prepare({}).ok());
  EXPECT_TRUE(OutputFiles::Prepare({.json = "-", .format = "table"}).ok());
  EXPECT_TRUE(OutputFiles::Prepare({.json = "-", .format = "json"}).ok());
  EXPECT_TRUE(OutputFiles::Prepare({.json = "", .format = "json"}, {""}).ok());
  EXPECT_TRUE(OutputFiles::Prepare({.json = "a.json", .format = "table"}, {"-"}).ok());
}

TEST(OutputOptionsTest, TwoResultsOnStdoutAreRefused) {
  EXPECT_THAT(ErrorOf({.json = "a.json", .format = "json"}),
              HasSubstr("--format json prints the JSON that --json a.json"));
  EXPECT_THAT(ErrorOf({.json = "-", .format = "csv"}), HasSubstr("--format csv prints to stdout"));
  EXPECT_THAT(ErrorOf({.json = "", .format = "markdown"}, {"-"}), HasSubstr("--format markdown prints to stdout"));
  EXPECT_THAT(ErrorOf({.json = "", .format = "json"}, {"-"}), HasSubstr("only one output can be '-'"));
  EXPECT_THAT(ErrorOf({.json = "-", .format = "table"}, {"-"}), HasSubstr("only one output can be '-'"));
}

}  // namespace
}  // namespace fairlead::cli

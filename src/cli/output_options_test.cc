#include "cli/output_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/temporary_folder.h"
#include "cli/output_files.h"

namespace fairlead::cli {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const OutputOptions& options, std::initializer_list<std::string_view> paths = {},
                    const PageOptions& page = {}) {
  return std::string(OutputFiles::Prepare(options, paths, page).status().message());
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

TEST(OutputOptionsTest, APageIsOneOfTheResults) {
  EXPECT_THAT(ErrorOf({.json = "-", .format = "table"}, {}, {.html = "-", .figures = ""}),
              HasSubstr("only one output can be '-'"));
  EXPECT_THAT(ErrorOf({}, {"-"}, {.html = "-", .figures = ""}), HasSubstr("only one output can be '-'"));
  EXPECT_THAT(ErrorOf({}, {}, {.html = "", .figures = "-"}), HasSubstr("expected the name of a folder"));
  EXPECT_EQ(ErrorOf({}, {}, {.html = "-", .figures = ""}), "");
}

TEST(OutputOptionsTest, FiguresNeedAFolder) {
  const TemporaryFolder folder;
  std::ofstream(folder.File("file")) << "x";
  EXPECT_THAT(ErrorOf({}, {}, {.html = "", .figures = folder.File("file")}), HasSubstr("cannot create the folder"));
  EXPECT_EQ(ErrorOf({}, {}, {.html = "", .figures = folder.File("new/folder")}), "");
  EXPECT_TRUE(std::filesystem::is_directory(folder.File("new/folder")));
}

TEST(OutputOptionsTest, APageIsRenderedOnceForBoth) {
  const TemporaryFolder folder;
  const PageOptions options{.html = folder.File("page.html"), .figures = folder.File("figures")};
  auto files = OutputFiles::Prepare({}, {}, options);
  ASSERT_TRUE(files.ok());
  int num_rendered = 0;
  testing::internal::CaptureStdout();
  files->WritePage(options, [&] {
    ++num_rendered;
    return std::string("<svg viewBox=\"0 0 9 9\" aria-label=\"A &amp; B\">\n</svg>\n");
  });
  files->WritePage({}, [&] { return std::to_string(++num_rendered); });
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "Page written to " + options.html + "\n1 figure written to " + options.figures + "\n");
  EXPECT_EQ(num_rendered, 1);
  EXPECT_TRUE(std::filesystem::exists(options.figures + "/01-a-b.svg"));
  EXPECT_TRUE(std::filesystem::exists(options.figures + "/01-a-b.pdf"));
  EXPECT_FALSE(std::filesystem::exists(options.figures + "/01-a-b.csv")) << "it has no numbers";
}

}  // namespace
}  // namespace fairlead::cli

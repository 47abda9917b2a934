#include "experiment/experiment_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/text_table.h"

namespace fairlead::experiment {
namespace {

using testing::HasSubstr;
using testing::Not;

ResultRow MakeRow(const std::string& name, std::optional<double> paper, std::optional<double> ours) {
  ResultRow row;
  row.published.name = name;
  row.published.unit = "share";
  row.published.paper = paper;
  row.ours = ours;
  return row;
}

ExperimentResult ExampleResult() {
  ExperimentResult result;
  result.name = "crux-example";
  result.title = "An example <b>";
  result.source = "Somebody, somewhere";
  result.seed = 3;
  result.wall_s = 1.5;
  result.rows = {MakeRow("inside", 0.9, 0.95), MakeRow("outside", 0.9, 0.5), MakeRow("free", std::nullopt, 12.25),
                 MakeRow("missing", 1, std::nullopt)};
  result.rows[0].published.low = 0.9;
  result.rows[1].published.low = 0.9;
  result.rows[1].published.high = 1;
  result.rows[1].published.note = "why it differs & more";
  result.figures = {{"a figure", "<svg></svg>", "a caption"}};
  result.answer = "What came <out>.";
  result.tables = {{"a short table", {"case", "value"}, {{"one", 1.5}, {"two", std::nan("")}}, false},
                   {"a long table", {"text"}, {{"only on the page"}}, true}};
  result.notes = {"a note of some words"};
  return result;
}

TEST(FormatValueTest, FourSignificantDigitsWithoutExponent) {
  EXPECT_EQ(FormatValue(0.97692), "0.9769");
  EXPECT_EQ(FormatValue(41.6667), "41.67");
  EXPECT_EQ(FormatValue(1500), "1,500");
  EXPECT_EQ(FormatValue(2.9375), "2.938");
  EXPECT_EQ(FormatValue(5), "5");
  EXPECT_EQ(FormatValue(0), "0");
  EXPECT_EQ(FormatValue(-0.25), "-0.25");
  EXPECT_EQ(FormatValue(123456.7), "123,457");
  EXPECT_EQ(FormatValue(std::nullopt), report::kUnknown);
}

TEST(ExperimentReportTest, TextShowsEveryRowInAHundredColumns) {
  setenv("COLUMNS", "100", 1);
  ExperimentResult result = ExampleResult();
  result.rows[0].published.name = std::string(150, 'n');
  const std::string text = RenderText(result).Render();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(report::DisplayWidth(line), report::kTextWidth) << line;
  EXPECT_THAT(text, HasSubstr("yes"));
  EXPECT_THAT(text, HasSubstr("NO"));
  EXPECT_THAT(text, HasSubstr("0.9 .. 1"));
  EXPECT_THAT(text, HasSubstr(">= 0.9"));
  EXPECT_THAT(text, HasSubstr("[1] why it differs"));
  EXPECT_THAT(text, HasSubstr("* a note"));
  EXPECT_THAT(text, Not(HasSubstr("PARTIAL")));
  EXPECT_LT(text.find("What came <out>."), text.find("inside band?"));
  EXPECT_THAT(text, HasSubstr("\na short table\ncase  value\n"));
  EXPECT_THAT(text, HasSubstr("one     1.5\n"));
  EXPECT_THAT(text, Not(HasSubstr("long table")));
  result.is_partial = true;
  EXPECT_THAT(RenderText(result).Render(), HasSubstr("PARTIAL"));
}

TEST(ExperimentReportTest, JsonHasTheKeysOthersRelyOn) {
  const report::Json json = ToJson(ExampleResult());
  EXPECT_EQ(
      json.dump(),
      R"({"experiment":"crux-example","seed":3,"reduced":false,"wall_s":1.5,"answer":"What came <out>.","rows":[)"
      R"({"name":"inside","unit":"share","paper":0.9,"ours":0.95,"low":0.9,"high":null,"inside":true,"note":null},)"
      R"({"name":"outside","unit":"share","paper":0.9,"ours":0.5,"low":0.9,"high":1.0,"inside":false,)"
      R"("note":"why it differs & more"},)"
      R"({"name":"free","unit":"share","paper":null,"ours":12.25,"low":null,"high":null,"inside":null,"note":null},)"
      R"({"name":"missing","unit":"share","paper":1.0,"ours":null,"low":null,"high":null,"inside":null,"note":null}],)"
      R"("tables":[{"title":"a short table","columns":["case","value"],"lines":[["one",1.5],["two",null]]},)"
      R"({"title":"a long table","columns":["text"],"lines":[["only on the page"]]}]})");
}

TEST(ExperimentReportTest, PageHoldsEverySectionAndFetchesNothing) {
  const std::vector<ExperimentResult> results = {ExampleResult(), ExampleResult()};
  const std::string page = RenderHtml(results, "fairlead experiment run 'a<b'");
  size_t num_figures = 0;
  for (size_t at = page.find("<svg"); at != std::string::npos; at = page.find("<svg", at + 1)) ++num_figures;
  EXPECT_EQ(num_figures, 2u);
  EXPECT_THAT(page, HasSubstr("An example &lt;b&gt;"));
  EXPECT_THAT(page, HasSubstr("why it differs &amp; more"));
  EXPECT_THAT(page, HasSubstr("a&lt;b"));
  EXPECT_THAT(page, HasSubstr("<p>What came &lt;out&gt;.</p>"));
  EXPECT_THAT(page, HasSubstr("<h3>a short table</h3>"));
  EXPECT_THAT(page, HasSubstr("<summary>a long table</summary>"));
  EXPECT_THAT(page, HasSubstr("only on the page"));
  EXPECT_THAT(page.substr(0, page.find("</main>")), Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("src=\"http")));
}

}  // namespace
}  // namespace fairlead::experiment

#include "report/document.h"

#include <gtest/gtest.h>

#include "report/number_format.h"
#include "report/printable_text.h"

namespace fairlead::report {
namespace {

TextTable MakeTable() {
  TextTable table({{"  job", Align::kLeft}, {"busy", Align::kRight, "G, %", "share of time spent computing"}});
  table.AddRow({"  bert", "61.0"});
  table.AddRow({"  other", std::string(kUnknown)});
  return table;
}

TEST(DocumentTest, TableFormatIsTheTextAsAddedWithALegendUnderTables) {
  Document document = "Title\n\n";
  document += MakeTable();
  document += "\nThe end.\n";
  EXPECT_EQ(document.Render(OutputFormat::kTable),
            "Title\n\n"
            "         G, %\n"
            "  job    busy\n"
            "-------------\n"
            "  bert   61.0\n"
            "  other     –\n"
            "  busy: share of time spent computing.\n"
            "\nThe end.\n");
}

TEST(DocumentTest, WithoutMeaningsATableIsWhatTextTableRenders) {
  TextTable table({{"name"}, {"n", Align::kRight}});
  table.AddRow({"a name", "7"});
  EXPECT_EQ(Document(table).Render(OutputFormat::kTable, 80), table.Render(80));
  EXPECT_EQ(Document(table).Render(OutputFormat::kTable, 8), table.Render(8));
}

TEST(DocumentTest, LegendsAreWrappedAndPrintedOnce) {
  const std::string meaning =
      "a phrase that is long enough to be wrapped, as it goes on and on, beyond the width of a paragraph of text";
  TextTable first({{"a", Align::kLeft, "", meaning}});
  TextTable second({{"a", Align::kLeft, "", meaning}, {"b", Align::kLeft, "", "another"}});
  const std::string text = (Document(first) + Document(second)).Render(OutputFormat::kTable);
  EXPECT_EQ(text,
            "a\n-\n"
            "  a: a phrase that is long enough to be wrapped, as it goes on and on, beyond the width of a\n"
            "  paragraph of text.\n"
            "a  b\n----\n"
            "  b: another.\n");
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    EXPECT_LE(DisplayWidth(text.substr(begin, end - begin)), kTextWidth);
  }
}

TEST(DocumentTest, LegendsTellColumnsOfOneHeadingApart) {
  const Document document =
      TextTable({{"mean", Align::kRight, "seen", "one"}, {"mean", Align::kRight, "unseen", "two"}});
  EXPECT_NE(document.Render().find("  mean (seen): one. mean (unseen): two.\n"), std::string::npos);
}

TEST(DocumentTest, TextAndDocumentsAreAppendedInOrder) {
  Document document;
  EXPECT_TRUE(document.empty());
  document += "";
  EXPECT_TRUE(document.empty());
  document += std::string("a");
  Document rest = "b\n";
  rest += MakeTable();
  document += rest;
  EXPECT_TRUE(document.Render().starts_with("ab\n"));
  EXPECT_TRUE(("x" + document).Render().starts_with("xab\n"));
}

TEST(DocumentTest, CsvHasTheTablesOnly) {
  Document document = "Title\n\n";
  document += MakeTable();
  document += "\nbetween\n";
  document += MakeTable();
  const std::string table = "job,\"G, %: busy\"\nbert,61.0\nother,\n";
  EXPECT_EQ(document.Render(OutputFormat::kCsv), table + "\n" + table);
}

TEST(DocumentTest, CsvQuotesAsRfc4180Requires) {
  TextTable table({{"a \"b\", c"}, {"line\nbreak"}, {"größe"}});
  table.AddRow({"comma, here", "a \"quote\"", "名前"});
  table.AddRow({"a|b", "line\nbreak", "'single'"});
  EXPECT_EQ(Document(table).Render(OutputFormat::kCsv),
            "\"a \"\"b\"\", c\",line break,größe\n"
            "\"comma, here\",\"a \"\"quote\"\"\",名前\n"
            "a|b,line break,'single'\n");
}

TEST(DocumentTest, CsvOfARowWithoutContentIsNoEmptyLine) {
  TextTable table({{"a"}});
  table.AddRow({""});
  table.AddRow({"b"});
  EXPECT_EQ(Document(table).Render(OutputFormat::kCsv), "a\n\"\"\nb\n");
}

TEST(DocumentTest, EmptyTablesHaveHeadings) {
  const Document document = TextTable({{"a"}, {"b", Align::kRight}});
  EXPECT_EQ(document.Render(OutputFormat::kCsv), "a,b\n");
  EXPECT_EQ(document.Render(OutputFormat::kMarkdown), "| a | b |\n| --- | ---: |\n");
  EXPECT_EQ(document.Render(OutputFormat::kTable), "a  b\n----\n");
}

TEST(DocumentTest, NamesAreNeverCutButInTables) {
  const std::string name(300, 'n');
  TextTable table({{"name"}});
  table.AddRow({name});
  EXPECT_EQ(Document(table).Render(OutputFormat::kCsv, 20), "name\n" + name + "\n");
  EXPECT_EQ(Document(table).Render(OutputFormat::kMarkdown, 20), "| name |\n| --- |\n| " + name + " |\n");
  EXPECT_EQ(Document(table).Render(OutputFormat::kTable, 20).find(name), std::string::npos);
}

TEST(DocumentTest, MarkdownSeparatesParagraphsAndTables) {
  Document document = "# Title\n  indented a|b\n";
  document += MakeTable();
  document += "after\n";
  EXPECT_EQ(document.Render(OutputFormat::kMarkdown),
            "\\# Title\n"
            "\n"
            "indented a|b\n"
            "\n"
            "| job | G, %: busy |\n"
            "| --- | ---: |\n"
            "| bert | 61.0 |\n"
            "| other | – |\n"
            "\n"
            "busy: share of time spent computing.\n"
            "\n"
            "after\n");
}

TEST(DocumentTest, MarkdownEscapesCells) {
  TextTable table({{"a|b"}});
  table.AddRow({"x | y, \"z\" <job>"});
  EXPECT_EQ(Document(table).Render(OutputFormat::kMarkdown), "| a\\|b |\n| --- |\n| x \\| y, \"z\" \\<job> |\n");
}

TEST(DocumentTest, MarkdownJoinsWhatWasWrapped) {
  const std::string sentence =
      "This is a long sentence that was wrapped for a terminal, so that its words stand on two lines, or on three of "
      "them if it goes on for as long as this one does, which says nothing.";
  const std::string text =
      "  - " + WrapText(sentence, kTextWidth - 4, 4) + WrapText(sentence, kTextWidth, 2) + "End.\n";
  EXPECT_EQ(Document(text).Render(OutputFormat::kMarkdown), "- " + sentence + "\n\n" + sentence + "\n\nEnd.\n");
}

TEST(DocumentTest, RendererGoesOnWhereItEnded) {
  DocumentRenderer csv(OutputFormat::kCsv);
  EXPECT_EQ(csv.Render("only text\n"), "");
  EXPECT_EQ(csv.Render(MakeTable()).front(), 'j');
  EXPECT_EQ(csv.Render(MakeTable()).front(), '\n');
  DocumentRenderer table(OutputFormat::kTable, 100);
  EXPECT_NE(table.Render(MakeTable()).find("busy: "), std::string::npos);
  EXPECT_EQ(table.Render(MakeTable()).find("busy: "), std::string::npos);
}

TEST(DocumentTest, JsonIsNotADocumentsBusiness) {
  EXPECT_EQ(Document(MakeTable()).Render(OutputFormat::kJson), "");
  EXPECT_EQ(OutputFormatNames().size(), 4u);
  EXPECT_EQ(OutputFormatNames()[static_cast<size_t>(OutputFormat::kMarkdown)], "markdown");
}

}  // namespace
}  // namespace fairlead::report

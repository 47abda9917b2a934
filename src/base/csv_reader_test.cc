#include "base/csv_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <streambuf>

#include "base/random.h"

namespace fairlead {
namespace {

using ::testing::HasSubstr;

Result<CsvReader> Reader(const std::string& text, const CsvOptions& options = {}) {
  return CsvReader::FromStream(std::make_unique<std::istringstream>(text), "t.csv", options);
}

// All fields of the named columns, rows joined by ';', or the message of the first error.
std::string ReadAll(const std::string& text, const std::vector<std::string>& names, const CsvOptions& options = {}) {
  auto reader = Reader(text, options);
  if (!reader.ok()) return reader.status().message();
  std::vector<size_t> columns;
  for (const std::string& name : names) {
    const auto column = reader->Column(name);
    if (!column.ok()) return column.status().message();
    columns.push_back(*column);
  }
  std::string all;
  while (reader->Next()) {
    for (const size_t column : columns) all += std::string(reader->field(column)) + "|";
    all += ";";
  }
  return reader->status().ok() ? all : reader->status().message();
}

TEST(CsvReaderTest, ReadsByColumnNameInAnyOrder) {
  EXPECT_EQ(ReadAll("a,b,c\n1,2,3\n4,5,6\n", {"c", "a"}), "3|1|;6|4|;");
}

TEST(CsvReaderTest, AcceptsWhatSpreadsheetsWrite) {
  EXPECT_EQ(ReadAll("\xef\xbb\xbf"
                    "a,b\r\n1,2\r\n",
                    {"a", "b"}),
            "1|2|;")
      << "byte order mark and CRLF";
  EXPECT_EQ(ReadAll("a,b\n1,2", {"a", "b"}), "1|2|;") << "no final newline";
  EXPECT_EQ(ReadAll("a,b\n\n1,2\n\n\n3,4\n\n", {"a", "b"}), "1|2|;3|4|;") << "blank lines";
  EXPECT_EQ(ReadAll("a,b\n\"x, \"\"y\"\"\",2\n", {"a", "b"}), "x, \"y\"|2|;") << "quotes";
  EXPECT_EQ(ReadAll("a,b\n\"x\n\ny\",2\n", {"a"}), "x\n\ny|;") << "line ends in quotes";
  EXPECT_EQ(ReadAll("a,b\n 1 ,,\n,\n", {"a", "b"}), "1||;||;") << "spaces, empty fields, a surplus empty field";
  EXPECT_EQ(ReadAll("a,,\n1\n", {"a"}), "1|;") << "unnamed columns may be missing";
}

TEST(CsvReaderTest, MessagesNameFileLineExpectedAndFound) {
  EXPECT_EQ(ReadAll("a,b\n1,2\n3\n", {"a"}), "t.csv:3: expected 2 fields as in the header, found 1");
  EXPECT_EQ(ReadAll("a,b\n1,2,3\n", {"a"}), "t.csv:2: expected 2 fields as in the header, found 3");
  EXPECT_EQ(ReadAll("a,b\n\"1\n\n\",2\n3,4,5\n", {"a"}), "t.csv:5: expected 2 fields as in the header, found 3")
      << "the record of lines 2 to 4 counts three lines";
  EXPECT_EQ(ReadAll("a,b\n", {"z"}), "t.csv:1: expected one column 'z', found 0; the header has: a, b");
  EXPECT_EQ(ReadAll("a,a\n", {"a"}), "t.csv:1: expected one column 'a', found 2; the header has: a, a");
  EXPECT_EQ(ReadAll("", {}), "t.csv: the file is empty; expected a header line with column names");
  EXPECT_EQ(ReadAll("\n\n", {}), "t.csv: the file is empty; expected a header line with column names");
  EXPECT_THAT(ReadAll("a,b\n1,\"2\n3,4\n", {"a"}), HasSubstr("t.csv:2: a quoted field does not end"));
  EXPECT_THAT(ReadAll("a,b\n1,2\n3,4\"5\n", {"a"}), HasSubstr("t.csv:3: a quote inside a field"));
  EXPECT_THAT(ReadAll("a,b\r1,2\r", {"a"}), HasSubstr("t.csv:1: contains a lone carriage return"));
  EXPECT_THAT(ReadAll(std::string("a,b\n1,\0\n", 8), {"a"}), HasSubstr("t.csv:2: contains a NUL byte"));
  EXPECT_EQ(CsvReader::Open("/nonexistent.csv").status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(CsvReader::Open("/").ok());
}

TEST(CsvReaderTest, StaysAtTheErrorAndNamesTheLineOfTheRow) {
  auto reader = Reader("a\n1\n\n2\nx,y\n3\n");
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(reader->Next());
  EXPECT_EQ(reader->Where(), "t.csv:2");
  EXPECT_TRUE(reader->Next());
  EXPECT_EQ(reader->line(), 4u);
  EXPECT_FALSE(reader->Next());
  EXPECT_FALSE(reader->Next());
  EXPECT_THAT(reader->status().message(), HasSubstr("t.csv:5"));
}

// A gigabyte without a line end, made up on the fly.
class EndlessBuffer : public std::streambuf {
 public:
  uint64_t bytes_served() const { return bytes_served_; }

 private:
  std::streamsize xsgetn(char* out, std::streamsize size) override {
    if (bytes_served_ >= uint64_t{1} << 30) return 0;
    std::fill_n(out, size, 'x');
    bytes_served_ += static_cast<uint64_t>(size);
    return size;
  }
  uint64_t bytes_served_ = 0;
};

TEST(CsvReaderTest, RefusesEndlessRecordsAfterTheLimit) {
  EndlessBuffer endless;
  CsvOptions options;
  options.max_record_bytes = 1000;
  const auto reader = CsvReader::FromStream(std::make_unique<std::istream>(&endless), "t.csv", options);
  EXPECT_EQ(reader.status().message(), "t.csv:1: a record is longer than 1000 bytes; is this a CSV file?");
  EXPECT_LE(endless.bytes_served(), 1u << 17) << "two blocks at most";

  // "aaaa\n" has 5 bytes; a quoted field that spans lines counts as one record: 3 + 3 + 3 = 9 bytes.
  options.max_record_bytes = 5;
  EXPECT_EQ(ReadAll("aaaa\nbbbb\n", {"aaaa"}, options), "bbbb|;");
  EXPECT_THAT(ReadAll("aaaa\nbbbbb\n", {"aaaa"}, options), HasSubstr("t.csv:2: a record is longer than 5 bytes"));
  EXPECT_THAT(ReadAll("a\n\"b\nc\nd\"\n", {"a"}, options), HasSubstr("a record is longer than 5 bytes"));
  options.max_columns = 2;
  EXPECT_THAT(ReadAll("a,b,c\n", {}, options), HasSubstr("t.csv:1: a record is longer"));
  options.max_record_bytes = 100;
  EXPECT_THAT(ReadAll("a,b,c\n", {}, options), HasSubstr("t.csv:1: expected at most 2 columns, found 3"));
}

std::string Quoted(const std::string& field) {
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// Law: whatever is written with quotes is read back, at any size of field against the reader's blocks.
TEST(CsvReaderTest, WriteThenReadIsIdentity) {
  Random random(1);
  constexpr std::string_view kAlphabet = "ab ,\"\n\xc3\xa4;'";
  for (int round = 0; round < 50; ++round) {
    std::string text = "x,y\n";
    std::string expected;
    for (uint64_t rows = random.Below(20); rows > 0; --rows) {
      for (int column = 0; column < 2; ++column) {
        std::string field;
        for (uint64_t n = random.Below(round % 10 == 0 ? 20000 : 8); n > 0; --n) {
          field += kAlphabet[random.Below(kAlphabet.size())];
        }
        text += Quoted(field) + (column == 0 ? "," : "\n");
        expected += field + "|";
      }
      expected += ";";
    }
    ASSERT_EQ(ReadAll(text, {"x", "y"}), expected) << "round " << round;
  }
}

}  // namespace
}  // namespace fairlead

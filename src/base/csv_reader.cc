#include "base/csv_reader.h"

#include <csv.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "base/check.h"

namespace fairlead {

namespace internal {

// Fields of one row: text one after the other, and where each ends.
struct CsvRow {
  std::string text;
  std::vector<size_t> ends;

  void Clear() {
    text.clear();
    ends.clear();
  }
  std::string_view field(size_t i) const {
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::string_view(text).substr(begin, ends[i] - begin);
  }
};

struct CsvReaderState {
  std::unique_ptr<std::istream> stream;
  std::string name;
  CsvOptions options;
  csv_parser parser{};
  Status error;
  std::vector<char> block;  // bytes read, [block_position, block.size()) not yet parsed
  size_t block_position = 0;
  std::string physical_line;
  uint64_t num_lines = 0;  // physical lines read
  uint64_t row_line = 0;   // where the current row begins
  CsvRow row;
  size_t num_rows_done = 0;  // by the last call of csv_parse
  std::vector<std::string> columns;

  CsvReaderState() { FL_CHECK(csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) == 0); }
  ~CsvReaderState() { csv_free(&parser); }
  CsvReaderState(const CsvReaderState&) = delete;
  CsvReaderState& operator=(const CsvReaderState&) = delete;
};

}  // namespace internal

using internal::CsvReaderState;

namespace {

constexpr size_t kStreamBlockBytes = 1u << 16;
constexpr size_t kMaxShownColumns = 20;

void KeepError(CsvReaderState& state, uint64_t line, const std::string& message) {
  if (state.error.ok()) state.error = InvalidArgument(fmt::format("{}:{}: {}", state.name, line, message));
}

// Callbacks of libcsv; they must not throw through C, and nothing here does but running out of memory.
void OnField(void* text, size_t size, void* data) {
  auto& row = static_cast<CsvReaderState*>(data)->row;
  if (size > 0) row.text.append(static_cast<const char*>(text), size);
  row.ends.push_back(row.text.size());
}

void OnRow(int /*terminator*/, void* data) { ++static_cast<CsvReaderState*>(data)->num_rows_done; }

bool FillBlock(CsvReaderState& state) {
  state.block.resize(kStreamBlockBytes);
  state.stream->read(state.block.data(), static_cast<std::streamsize>(kStreamBlockBytes));
  state.block.resize(static_cast<size_t>(state.stream->gcount()));
  state.block_position = 0;
  return !state.block.empty();
}

// Reads one physical line with its end, at most `max_bytes` long. False at the end of the file and after an error.
bool ReadLine(CsvReaderState& state, size_t max_bytes) {
  std::string& line = state.physical_line;
  line.clear();
  while (line.empty() || line.back() != '\n') {
    if (state.block_position == state.block.size() && !FillBlock(state)) break;
    const char* begin = state.block.data() + state.block_position;
    const size_t available = state.block.size() - state.block_position;
    const void* end = std::memchr(begin, '\n', available);
    const size_t size = end == nullptr ? available : static_cast<size_t>(static_cast<const char*>(end) - begin) + 1;
    if (line.size() + size > max_bytes) {
      KeepError(state, state.num_lines + 1,
                fmt::format("a record is longer than {} bytes; is this a CSV file?", state.options.max_record_bytes));
      return false;
    }
    line.append(begin, size);
    state.block_position += size;
  }
  if (state.stream->bad()) {
    if (state.error.ok()) state.error = Unavailable(fmt::format("{}: reading failed", state.name));
    return false;
  }
  if (line.empty()) return false;
  ++state.num_lines;
  return true;
}

bool CheckLine(CsvReaderState& state) {
  std::string& line = state.physical_line;
  if (state.num_lines == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
  if (line.find('\0') != std::string::npos) {
    KeepError(state, state.num_lines, "contains a NUL byte; expected text");
    return false;
  }
  const size_t carriage_return = line.find('\r');
  if (carriage_return != std::string::npos && line.compare(carriage_return, 2, "\r\n") != 0) {
    KeepError(state, state.num_lines, "contains a lone carriage return; expected lines that end in LF or CRLF");
    return false;
  }
  return true;
}

// Parses lines until a record is complete. False at the end of the file and after an error.
bool ReadRecord(CsvReaderState& state) {
  state.row.Clear();
  state.num_rows_done = 0;
  size_t record_bytes = 0;
  while (state.num_rows_done == 0) {
    if (!ReadLine(state, state.options.max_record_bytes - record_bytes)) break;
    if (record_bytes == 0) state.row_line = state.num_lines;
    if (!CheckLine(state)) return false;
    const std::string& line = state.physical_line;
    record_bytes += line.size();
    if (csv_parse(&state.parser, line.data(), line.size(), OnField, OnRow, &state) != line.size()) {
      KeepError(state, state.num_lines,
                "a quote inside a field; expected the whole field in quotes, and quotes in it doubled");
      return false;
    }
    // A blank line makes no row, and an open quote continues.
    const bool is_blank =
        state.num_rows_done == 0 && state.row.ends.empty() && line.find_first_not_of(" \t\r\n") == std::string::npos;
    if (is_blank && state.parser.quoted == 0) record_bytes = 0;
  }
  if (!state.error.ok()) return false;
  if (state.num_rows_done == 0 && csv_fini(&state.parser, OnField, OnRow, &state) != 0) {
    KeepError(state, state.row_line, "a quoted field does not end before the end of the file");
    return false;
  }
  if (state.num_rows_done == 0) return false;
  if (state.row.ends.size() > state.options.max_columns) {
    KeepError(state, state.row_line,
              fmt::format("expected at most {} columns, found {}", state.options.max_columns, state.row.ends.size()));
    return false;
  }
  return true;
}

// Rows and header must agree wherever either has content.
bool CheckWidth(CsvReaderState& state) {
  const size_t found = state.row.ends.size();
  const size_t expected = state.columns.size();
  size_t named = expected;
  while (named > 0 && state.columns[named - 1].empty()) --named;
  size_t filled = found;
  while (filled > 0 && state.row.field(filled - 1).empty()) --filled;
  if (found >= named && filled <= expected) return true;
  KeepError(state, state.row_line, fmt::format("expected {} fields as in the header, found {}", expected, found));
  return false;
}

}  // namespace

CsvReader::CsvReader(std::unique_ptr<CsvReaderState> state) : state_(std::move(state)) {}
CsvReader::CsvReader(CsvReader&&) noexcept = default;
CsvReader& CsvReader::operator=(CsvReader&&) noexcept = default;
CsvReader::~CsvReader() = default;

Result<CsvReader> CsvReader::Open(const std::string& path, const CsvOptions& options) {
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file) return NotFound(fmt::format("{}: cannot be opened; expected a readable CSV file", path));
  return FromStream(std::move(file), path, options);
}

Result<CsvReader> CsvReader::FromStream(std::unique_ptr<std::istream> stream, const std::string& name,
                                        const CsvOptions& options) {
  auto state = std::make_unique<CsvReaderState>();
  state->stream = std::move(stream);
  state->name = name;
  state->options = options;
  if (!ReadRecord(*state)) {
    if (!state->error.ok()) return state->error;
    return InvalidArgument(fmt::format("{}: the file is empty; expected a header line with column names", name));
  }
  for (size_t i = 0; i < state->row.ends.size(); ++i) state->columns.emplace_back(state->row.field(i));
  return CsvReader(std::move(state));
}

bool CsvReader::HasColumn(std::string_view name) const {
  return std::find(state_->columns.begin(), state_->columns.end(), name) != state_->columns.end();
}

Result<size_t> CsvReader::Column(std::string_view name) const {
  const auto& columns = state_->columns;
  const auto count = std::count(columns.begin(), columns.end(), name);
  if (count == 1) {
    return static_cast<size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
  }
  std::vector<std::string> shown;
  for (const std::string& column : columns) {
    if (!column.empty() && shown.size() < kMaxShownColumns) shown.push_back(column.substr(0, 40));
  }
  return InvalidArgument(fmt::format("{}:1: expected one column '{}', found {}; the header has: {}", state_->name, name,
                                     count, fmt::join(shown, ", ")));
}

bool CsvReader::Next() { return state_->error.ok() && ReadRecord(*state_) && CheckWidth(*state_); }

Status CsvReader::status() const { return state_->error; }

std::string_view CsvReader::field(size_t column) const {
  FL_CHECK(column < state_->columns.size());
  return column < state_->row.ends.size() ? state_->row.field(column) : std::string_view();
}

uint64_t CsvReader::line() const { return state_->row_line; }

std::string CsvReader::Where() const { return fmt::format("{}:{}", state_->name, state_->row_line); }

}  // namespace fairlead

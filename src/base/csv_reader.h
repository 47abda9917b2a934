// Streaming reader of CSV files by column name: bounded memory, and one clear message with file:line when a row is
// wrong.
//
//     FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
//     FL_ASSIGN_OR_RETURN(const size_t ip, reader.Column("ip"));
//     while (reader.Next()) Use(reader.field(ip));
//     FL_RETURN_IF_ERROR(reader.status());
//
// Understood: LF and CRLF, a UTF-8 byte order mark, quoted fields ("a ""b"", c") that may span lines, blank lines, a
// last line without end. Columns that are not requested are ignored; spaces around unquoted fields are dropped.
// Refused: NUL bytes, lone carriage returns, stray quotes, rows with too many or too few fields, records over the
// limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fairlead {

namespace internal {
struct CsvReaderState;
}

struct CsvOptions {
  // Longest record in bytes, line ends included. Raising it allows longer fields and takes as much memory; a file
  // without line ends is refused after this many bytes.
  size_t max_record_bytes = 1u << 20;
  // Most columns of a file.
  size_t max_columns = 4096;
};

// Cost: one pass over the file.
class CsvReader {
 public:
  // Opens the file and reads its header. Errors: kNotFound (no such file), kInvalidArgument (no header, and all of
  // Next()).
  static Result<CsvReader> Open(const std::string& path, const CsvOptions& options = {});
  // The same for any stream; `name` replaces the file name in messages.
  static Result<CsvReader> FromStream(std::unique_ptr<std::istream> stream, const std::string& name,
                                      const CsvOptions& options = {});

  CsvReader(CsvReader&&) noexcept;
  CsvReader& operator=(CsvReader&&) noexcept;
  ~CsvReader();

  // Index of the column with this header, for field(). Errors: kInvalidArgument when the header has none or two of
  // them, with the columns it has.
  Result<size_t> Column(std::string_view name) const;
  bool HasColumn(std::string_view name) const;

  // Reads the next row. False at the end of the file and after an error; then see status().
  bool Next();
  Status status() const;

  // A field of the row read last, valid until the next Next(). Fields left out at the end of a row are empty; that is
  // allowed only where the header is empty too.
  std::string_view field(size_t column) const;

  // Line on which the row read last begins; the first line is 1.
  uint64_t line() const;
  // "file:line" of the row read last.
  std::string Where() const;

 private:
  explicit CsvReader(std::unique_ptr<internal::CsvReaderState> state);
  std::unique_ptr<internal::CsvReaderState> state_;
};

}  // namespace fairlead

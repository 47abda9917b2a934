// Text files of recordings as input, in bounded memory: whole, or line by line.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>

#include "base/status.h"

namespace fairlead::telemetry {

// What gzip or Zstandard has packed is unpacked, in memory. Errors: kNotFound (no such file), kInvalidArgument (a
// folder; packed and damaged), kResourceExhausted (unpacks to more than `unpacked_bytes_max`).
Result<std::unique_ptr<std::istream>> OpenInput(const std::string& path, size_t unpacked_bytes_max = size_t{1} << 30);

// Errors: kResourceExhausted beyond `bytes_max`, kUnavailable when reading fails.
Result<std::string> ReadWhole(std::istream& stream, const std::string& name, size_t bytes_max);

// Lines without their ends; LF or CRLF, a UTF-8 byte order mark is dropped.
//
//     while (lines.Next()) Use(lines.text());
//     FL_RETURN_IF_ERROR(lines.status());
class LineReader {
 public:
  // `name` replaces the file in messages. `stream` must outlive the reader.
  LineReader(std::istream& stream, std::string name, size_t line_bytes_max)
      : stream_(&stream), name_(std::move(name)), line_bytes_max_(line_bytes_max) {}

  // False at the end and after an error: a line over the limit, or a failing disk.
  bool Next();
  const Status& status() const { return status_; }
  const std::string& text() const { return text_; }
  // Of the line read last; the first line is 1.
  uint64_t number() const { return number_; }
  // "file:line" of the line read last.
  std::string Where() const;
  // Whether the line read last had an end: a file that was cut off has none there.
  bool is_complete() const { return is_complete_; }

 private:
  std::istream* stream_;
  std::string name_;
  size_t line_bytes_max_;
  std::string text_;
  uint64_t number_ = 0;
  bool is_complete_ = false;
  Status status_;
};

}  // namespace fairlead::telemetry

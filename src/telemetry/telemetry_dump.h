// Our own form of a recording of telemetry: JSON lines, in order of arrival.
//
//     {"fairlead_telemetry":3,"layout":{"job":4,"ranks":[{"host":0},{"host":1}],"communicators":[{"ranks":[0,1]}]}}
//     {"rank_report":{"job":4,"rank":0,"number":0,"at":1000000000,"operations":[…],"connections":[…]}}
//     {"host_report":{"job":4,"host":0,"number":0,"at":1000000000,"ranks":[{"rank":0}]}}
//
// The members are in model/telemetry_fields.h. Writing and reading back gives the same records; only text that is no
// UTF-8 is changed. The first line is the layout of the job that the recording is of, and its number is the version:
//     1   reports tell only what is new
//     2   and how far the rank is: progress, operations_since, busy_connections; pending operations stand in every
//         report. A report of version 1 is one that does not tell.
//     3   and where the threads of ranks are that have done nothing for a while
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "base/status.h"
#include "codec/json_text.h"
#include "model/telemetry.h"
#include "telemetry/input_text.h"
#include "telemetry/record_check.h"

namespace fairlead::telemetry {

inline constexpr uint64_t kTelemetryDumpVersion = 3;  // that is written; it and all before are read
inline constexpr std::string_view kTelemetryDumpKey = "fairlead_telemetry";

// Writes record by record.
class TelemetryWriter {
 public:
  // `out` must outlive the writer.
  explicit TelemetryWriter(std::ostream& out) : out_(&out) {}
  // Errors: kInvalidArgument for what the reader would refuse (the first record is no layout, a later one is, or it
  // does not fit the layout), kUnavailable when `out` fails. A refused record leaves no trace.
  Status Write(const model::TelemetryRecord& record);

 private:
  std::ostream* out_;
  std::unique_ptr<model::JobLayout> layout_;
  std::optional<RecordChecker> checker_;
};

struct TelemetryReaderOptions {
  // Whether a recording that ends within a record, as one of a killed process does, is read up to there. Off: that is
  // an error. See TelemetryReader::is_cut_off().
  bool accept_cut_off = false;
  // Longest line in bytes; a reader takes a few times as much memory. The line of a layout needs about 60 bytes for
  // each rank and 6 for each place in a communicator.
  size_t line_bytes_max = size_t{1} << 28;
};

// Reads record by record, in memory that does not grow with the file.
//
//     FL_ASSIGN_OR_RETURN(TelemetryReader reader, TelemetryReader::Open(path));
//     while (reader.Next()) Use(reader.record());
//     FL_RETURN_IF_ERROR(reader.status());
class TelemetryReader {
 public:
  // Reads the layout. Errors: kNotFound, kInvalidArgument (empty, another format, another version, a bad layout).
  static Result<TelemetryReader> Open(const std::string& path, const TelemetryReaderOptions& options = {});
  // The same for any stream; `name` replaces the file in messages.
  static Result<TelemetryReader> FromStream(std::unique_ptr<std::istream> stream, const std::string& name,
                                            const TelemetryReaderOptions& options = {});

  const model::JobLayout& layout() const { return *layout_; }

  // Reads the next record; the layout is none of them. False at the end and after an error; see status().
  bool Next();
  // kInvalidArgument, "file:line: path: expected …, found …": no JSON, an unknown or repeated key, a wrong type, a
  // negative count, an id that the layout does not have, the layout for the second time, the end within a record.
  const Status& status() const { return status_; }
  const model::TelemetryRecord& record() const { return record_; }
  // Read so far, without the layout.
  uint64_t num_records() const { return num_records_; }
  // Whether the end was reached within a record; only with accept_cut_off.
  bool is_cut_off() const { return is_cut_off_; }

 private:
  TelemetryReader(std::unique_ptr<std::istream> stream, const std::string& name, const TelemetryReaderOptions& options);
  Status ReadLayout();
  Status ReadRecord(const codec::Json& json);
  Status HandleCutOff();

  TelemetryReaderOptions options_;
  std::string name_;
  std::unique_ptr<std::istream> stream_;
  LineReader lines_;
  std::unique_ptr<model::JobLayout> layout_;
  std::optional<RecordChecker> checker_;
  model::TelemetryRecord record_;
  Status status_;
  uint64_t num_records_ = 0;
  bool is_cut_off_ = false;
};

}  // namespace fairlead::telemetry

// The neutral file form of a trace: one CSV that generators and importers write and everything else reads.
//
//     job_id,submit_s,duration_s,gpus,gpus_per_host,model
//     j17,3600,240.5,16,8,GPT-13b
//
// Columns are found by name, further ones are ignored; rows may be in any order. A job without GPUs has 0 in both
// columns. Writing and reading back gives the same jobs, to the last bit of every number.
#pragma once

#include <array>
#include <istream>
#include <memory>
#include <ostream>
#include <string>

#include "base/csv_reader.h"
#include "base/status.h"
#include "trace/trace.h"

namespace fairlead::trace {

// Reads row by row; memory does not grow with the file.
//
//     FL_ASSIGN_OR_RETURN(TraceReader reader, TraceReader::Open(path));
//     while (reader.Next()) {
//       FL_RETURN_IF_ERROR(reader.row_status());
//       Use(reader.job());
//     }
//     FL_RETURN_IF_ERROR(reader.status());
class TraceReader {
 public:
  // Errors: kNotFound, kInvalidArgument (no header, a column is missing).
  static Result<TraceReader> Open(const std::string& path);
  // The same for any stream; `name` replaces the file name in messages.
  static Result<TraceReader> FromStream(std::unique_ptr<std::istream> stream, const std::string& name);

  // Reads the next row. False at the end, and where the file stops being CSV; then see status().
  bool Next();
  Status status() const { return csv_.status(); }
  // What is wrong with the row read last, as "file:line: column: …"; reading can go on.
  const Status& row_status() const { return row_status_; }
  // The row read last, whole only when row_status() is ok.
  const TraceJob& job() const { return job_; }
  uint64_t line() const { return csv_.line(); }
  std::string Where() const { return csv_.Where(); }

 private:
  static constexpr size_t kNumColumns = 6;
  TraceReader(CsvReader csv, std::array<size_t, kNumColumns> columns) : csv_(std::move(csv)), columns_(columns) {}
  static Result<TraceReader> FindColumns(CsvReader csv);
  Status ReadRow();

  CsvReader csv_;
  std::array<size_t, kNumColumns> columns_;
  TraceJob job_;
  Status row_status_;
};

// All jobs, sorted; the title is the name. Errors: those of the reader, the first bad row, and kInvalidArgument for a
// job_id that appears twice.
Result<Trace> LoadNeutralTrace(const std::string& path);
Result<Trace> ReadNeutralTrace(std::unique_ptr<std::istream> stream, const std::string& name);

// Writes row by row.
class TraceWriter {
 public:
  // Writes the header. `out` must outlive the writer.
  explicit TraceWriter(std::ostream& out);
  // Errors: those of ValidateJob, naming the job, and kUnavailable when `out` fails.
  Status Write(const TraceJob& job);

 private:
  std::ostream& out_;
};

// The whole file as text.
Result<std::string> RenderNeutralTrace(const std::vector<TraceJob>& jobs);

}  // namespace fairlead::trace

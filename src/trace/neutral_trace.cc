#include "trace/neutral_trace.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/whole_number.h"

namespace fairlead::trace {

namespace {

constexpr std::array<std::string_view, 6> kColumns = {"job_id", "submit_s",      "duration_s",
                                                      "gpus",   "gpus_per_host", "model"};

// A number of the whole field. Errors: "column: expected …, found '…'".
template <class T>
Status ParseNumber(std::string_view column, std::string_view text, std::string_view expected, T* value) {
  if (ParseWhole(text, value)) return OkStatus();
  return InvalidArgument(fmt::format("{}: expected {}, found '{}'", column, expected, text.substr(0, 40)));
}

std::string FormatSeconds(double seconds) {
  // Whole seconds, the usual case, without ".0".
  if (seconds == std::floor(seconds)) return fmt::format("{:.0f}", seconds);
  return fmt::format("{}", seconds);
}

// Quoted where a comma, a quote or spaces at an end would change the reading.
std::string FormatName(const std::string& name) {
  const bool is_plain =
      name.find_first_of(",\"") == std::string::npos && (name.empty() || (name.front() != ' ' && name.back() != ' '));
  if (is_plain) return name;
  std::string quoted(1, '"');
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace

Result<TraceReader> TraceReader::Open(const std::string& path) {
  FL_ASSIGN_OR_RETURN(CsvReader csv, CsvReader::Open(path));
  return FindColumns(std::move(csv));
}

Result<TraceReader> TraceReader::FromStream(std::unique_ptr<std::istream> stream, const std::string& name) {
  FL_ASSIGN_OR_RETURN(CsvReader csv, CsvReader::FromStream(std::move(stream), name));
  return FindColumns(std::move(csv));
}

Result<TraceReader> TraceReader::FindColumns(CsvReader csv) {
  std::array<size_t, kNumColumns> columns{};
  for (size_t i = 0; i < kNumColumns; ++i) {
    FL_ASSIGN_OR_RETURN(columns[i], csv.Column(kColumns[i]));
  }
  return TraceReader(std::move(csv), columns);
}

bool TraceReader::Next() {
  if (!csv_.Next()) return false;
  row_status_ = ReadRow();
  if (!row_status_.ok()) row_status_ = InvalidArgument(fmt::format("{}: {}", Where(), row_status_.message()));
  return true;
}

Status TraceReader::ReadRow() {
  const auto field = [this](size_t i) { return csv_.field(columns_[i]); };
  job_.id = field(0);
  FL_RETURN_IF_ERROR(ParseNumber(kColumns[1], field(1), "seconds", &job_.submit_s));
  FL_RETURN_IF_ERROR(ParseNumber(kColumns[2], field(2), "seconds", &job_.duration_s));
  FL_RETURN_IF_ERROR(ParseNumber(kColumns[3], field(3), "an integer from 0", &job_.gpus));
  FL_RETURN_IF_ERROR(ParseNumber(kColumns[4], field(4), "an integer from 0", &job_.gpus_per_host));
  job_.model = field(5);
  return ValidateJob(job_);
}

namespace {

Result<Trace> ReadAll(TraceReader reader, const std::string& name) {
  Trace trace;
  trace.title = name;
  std::set<std::string, std::less<>> ids;
  while (reader.Next()) {
    FL_RETURN_IF_ERROR(reader.row_status());
    if (!ids.insert(reader.job().id).second) {
      return InvalidArgument(
          fmt::format("{}: job_id: '{}' appears twice; expected one row per job", reader.Where(), reader.job().id));
    }
    trace.jobs.push_back(reader.job());
  }
  FL_RETURN_IF_ERROR(reader.status());
  SortJobs(&trace.jobs);
  return trace;
}

}  // namespace

Result<Trace> LoadNeutralTrace(const std::string& path) {
  FL_ASSIGN_OR_RETURN(TraceReader reader, TraceReader::Open(path));
  return ReadAll(std::move(reader), path);
}

Result<Trace> ReadNeutralTrace(std::unique_ptr<std::istream> stream, const std::string& name) {
  FL_ASSIGN_OR_RETURN(TraceReader reader, TraceReader::FromStream(std::move(stream), name));
  return ReadAll(std::move(reader), name);
}

TraceWriter::TraceWriter(std::ostream& out) : out_(out) { out_ << fmt::format("{}\n", fmt::join(kColumns, ",")); }

Status TraceWriter::Write(const TraceJob& job) {
  if (const Status valid = ValidateJob(job); !valid.ok()) {
    return InvalidArgument(fmt::format("job '{}': {}", job.id.substr(0, kMaxNameBytes), valid.message()));
  }
  out_ << fmt::format("{},{},{},{},{},{}\n", FormatName(job.id), FormatSeconds(job.submit_s),
                      FormatSeconds(job.duration_s), job.gpus, job.gpus_per_host, FormatName(job.model));
  return out_ ? OkStatus() : Unavailable("writing the trace failed");
}

Result<std::string> RenderNeutralTrace(const std::vector<TraceJob>& jobs) {
  std::ostringstream out;
  TraceWriter writer(out);
  for (const TraceJob& job : jobs) FL_RETURN_IF_ERROR(writer.Write(job));
  return std::move(out).str();
}

}  // namespace fairlead::trace

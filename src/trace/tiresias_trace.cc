#include "trace/tiresias_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/csv_reader.h"
#include "base/whole_number.h"

namespace fairlead::trace {
namespace {

template <class Number>
Result<Number> ReadNumber(const CsvReader& reader, size_t column, std::string_view name) {
  const std::string_view text = reader.field(column);
  if (const std::optional<Number> value = ParseWhole<Number>(text)) return *value;
  return InvalidArgument(
      fmt::format("{}: {}: expected a number, found '{}'", reader.Where(), name, text.substr(0, 40)));
}

Result<Trace> ReadTrace(CsvReader reader, uint32_t gpus_per_host) {
  FL_ASSIGN_OR_RETURN(const size_t id, reader.Column("job_id"));
  FL_ASSIGN_OR_RETURN(const size_t gpus, reader.Column("num_gpu"));
  FL_ASSIGN_OR_RETURN(const size_t submit, reader.Column("submit_time"));
  FL_ASSIGN_OR_RETURN(const size_t duration, reader.Column("duration"));
  FL_ASSIGN_OR_RETURN(const size_t model, reader.Column("model_name"));
  Trace trace;
  trace.title = "Tiresias";
  trace.notes.push_back(fmt::format("The data has no hosts: up to {} GPUs on each.", gpus_per_host));
  while (reader.Next()) {
    TraceJob job;
    job.id = reader.field(id);
    FL_ASSIGN_OR_RETURN(job.gpus, ReadNumber<uint32_t>(reader, gpus, "num_gpu"));
    FL_ASSIGN_OR_RETURN(job.submit_s, ReadNumber<double>(reader, submit, "submit_time"));
    FL_ASSIGN_OR_RETURN(job.duration_s, ReadNumber<double>(reader, duration, "duration"));
    job.gpus_per_host = std::min(job.gpus, gpus_per_host);
    job.model = reader.field(model);
    if (const Status status = ValidateJob(job); !status.ok()) {
      return InvalidArgument(fmt::format("{}: {}", reader.Where(), status.message()));
    }
    trace.jobs.push_back(std::move(job));
  }
  FL_RETURN_IF_ERROR(reader.status());
  SortJobs(&trace.jobs);
  return trace;
}

// Ids are compared after sorting by them.
Status CheckIds(const Trace& trace, const std::string& name) {
  std::vector<std::string_view> ids;
  for (const TraceJob& job : trace.jobs) ids.push_back(job.id);
  std::ranges::sort(ids);
  const auto twice = std::ranges::adjacent_find(ids);
  if (twice == ids.end()) return OkStatus();
  return InvalidArgument(fmt::format("{}: job_id: '{}' appears twice; expected each once", name, *twice));
}

}  // namespace

Result<Trace> LoadTiresiasTrace(const std::string& path, uint32_t gpus_per_host) {
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
  FL_ASSIGN_OR_RETURN(Trace trace, ReadTrace(std::move(reader), gpus_per_host));
  FL_RETURN_IF_ERROR(CheckIds(trace, path));
  return trace;
}

Result<Trace> ReadTiresiasTrace(std::unique_ptr<std::istream> stream, const std::string& name, uint32_t gpus_per_host) {
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::FromStream(std::move(stream), name));
  FL_ASSIGN_OR_RETURN(Trace trace, ReadTrace(std::move(reader), gpus_per_host));
  FL_RETURN_IF_ERROR(CheckIds(trace, name));
  return trace;
}

Result<std::vector<double>> LoadServiceSamples(const std::string& path) {
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
  FL_ASSIGN_OR_RETURN(const size_t duration, reader.Column("duration"));
  std::vector<double> samples;
  while (reader.Next()) {
    FL_ASSIGN_OR_RETURN(const double sample, ReadNumber<double>(reader, duration, "duration"));
    if (!(sample > 0) || !std::isfinite(sample)) {
      return InvalidArgument(
          fmt::format("{}: duration: expected GPU-seconds above 0, found {}", reader.Where(), sample));
    }
    samples.push_back(sample);
  }
  FL_RETURN_IF_ERROR(reader.status());
  if (samples.empty()) return InvalidArgument(path + ": no samples; expected at least one row");
  return samples;
}

}  // namespace fairlead::trace

#include "prediction/job_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/csv_reader.h"
#include "base/whole_number.h"
#include "prediction/number_column.h"

namespace fairlead::prediction {

namespace {

constexpr std::array<std::string_view, 3> kScheduleNames = {"constant", "drops", "smooth"};

// Columns of jobs.csv that are plain numbers.
struct NumberField {
  std::string_view name;
  double JobDescription::*member;
};
constexpr NumberField kNumberFields[] = {{"parameters", &JobDescription::parameters},
                                         {"layers", &JobDescription::layers},
                                         {"flop_per_sample", &JobDescription::flop_per_sample},
                                         {"convolution_share", &JobDescription::convolution_share},
                                         {"attention_share", &JobDescription::attention_share},
                                         {"recurrent_share", &JobDescription::recurrent_share},
                                         {"embedding_share", &JobDescription::embedding_share},
                                         {"global_batch", &JobDescription::global_batch},
                                         {"learning_rate", &JobDescription::learning_rate},
                                         {"samples_per_epoch", &JobDescription::samples_per_epoch},
                                         {"restarts", &JobDescription::restarts},
                                         {"target_loss", &JobDescription::target_loss},
                                         {"total_iterations", &JobDescription::total_iterations}};

std::string_view TextField(const CsvReader& reader, std::string_view name) {
  if (!reader.HasColumn(name)) return {};
  const auto column = reader.Column(name);
  return column.ok() ? reader.field(*column) : std::string_view();
}

Status ReadSchedule(const CsvReader& reader, JobDescription* job) {
  const std::string_view text = TextField(reader, "schedule");
  if (text.empty()) return OkStatus();
  const auto found = std::ranges::find(kScheduleNames, text);
  if (found == kScheduleNames.end()) {
    return InvalidArgument(
        fmt::format("{}: schedule: expected constant, drops or smooth, found '{}'", reader.Where(), text));
  }
  job->schedule = static_cast<RateSchedule>(found - kScheduleNames.begin());
  return OkStatus();
}

Status ReadDrops(const CsvReader& reader, JobDescription* job) {
  std::string_view text = TextField(reader, "rate_drops");
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const std::optional<double> drop = ParseWhole<double>(item);
    if (!drop || !(job->rate_drops.empty() || *drop > job->rate_drops.back())) {
      return InvalidArgument(fmt::format(
          "{}: rate_drops: expected growing iterations separated by semicolons, found '{}'", reader.Where(), item));
    }
    job->rate_drops.push_back(*drop);
  }
  return OkStatus();
}

struct JobColumns {
  size_t name = 0;
  std::vector<NumberColumn> numbers;  // of kNumberFields
  NumberColumn adaptive, synchronous, end;
};

Result<JobColumns> FindJobColumns(const CsvReader& reader) {
  JobColumns columns;
  FL_ASSIGN_OR_RETURN(columns.name, reader.Column("job"));
  for (const NumberField& field : kNumberFields) {
    FL_ASSIGN_OR_RETURN(NumberColumn column, NumberColumn::Optional(reader, field.name, 0));
    columns.numbers.push_back(std::move(column));
  }
  FL_ASSIGN_OR_RETURN(columns.adaptive, NumberColumn::Optional(reader, "adaptive", 0));
  FL_ASSIGN_OR_RETURN(columns.synchronous, NumberColumn::Optional(reader, "synchronous", 1));
  FL_ASSIGN_OR_RETURN(columns.end,
                      NumberColumn::Optional(reader, "end_iteration", std::numeric_limits<double>::infinity()));
  return columns;
}

Result<JobDescription> ReadDescription(const CsvReader& reader, const JobColumns& columns) {
  JobDescription job;
  job.name = reader.field(columns.name);
  if (job.name.empty()) return InvalidArgument(reader.Where() + ": job: expected a name, found nothing");
  for (size_t i = 0; i < std::size(kNumberFields); ++i) {
    FL_ASSIGN_OR_RETURN(const double value, columns.numbers[i].Read(reader));
    if (!(value >= 0) || !std::isfinite(value)) {
      return InvalidArgument(
          fmt::format("{}: {}: expected a number from 0, found {}", reader.Where(), kNumberFields[i].name, value));
    }
    job.*kNumberFields[i].member = value;
  }
  FL_ASSIGN_OR_RETURN(const double adaptive, columns.adaptive.Read(reader));
  FL_ASSIGN_OR_RETURN(const double synchronous, columns.synchronous.Read(reader));
  job.is_adaptive = adaptive != 0;
  job.is_synchronous = synchronous != 0;
  FL_RETURN_IF_ERROR(ReadSchedule(reader, &job));
  FL_RETURN_IF_ERROR(ReadDrops(reader, &job));
  return job;
}

using JobIndex = std::map<std::string, size_t, std::less<>>;

Result<JobIndex> ReadJobs(CsvReader reader, const std::string& name, JobTable* table) {
  FL_ASSIGN_OR_RETURN(const JobColumns columns, FindJobColumns(reader));
  table->has_ends = reader.HasColumn("end_iteration");
  JobIndex index;
  while (reader.Next()) {
    FL_ASSIGN_OR_RETURN(JobDescription job, ReadDescription(reader, columns));
    FL_ASSIGN_OR_RETURN(const double end, columns.end.Read(reader));
    if (!index.emplace(job.name, table->jobs.size()).second) {
      return InvalidArgument(
          fmt::format("{}: job '{}' appears here a second time; names must differ", reader.Where(), job.name));
    }
    table->jobs.push_back({std::move(job), {}});
    table->true_ends.push_back(end);
  }
  FL_RETURN_IF_ERROR(reader.status());
  if (table->jobs.empty()) return InvalidArgument(name + ": has no jobs; expected at least one line");
  return index;
}

std::string NumberText(double value) { return std::isfinite(value) ? fmt::format("{}", value) : std::string(); }

Result<JobTable> ReadTables(CsvReader jobs, const std::string& jobs_name, CsvReader reader) {
  JobTable table;
  FL_ASSIGN_OR_RETURN(const JobIndex index, ReadJobs(std::move(jobs), jobs_name, &table));
  FL_ASSIGN_OR_RETURN(const size_t name, reader.Column("job"));
  FL_ASSIGN_OR_RETURN(const NumberColumn iteration, NumberColumn::Required(reader, "iteration"));
  FL_ASSIGN_OR_RETURN(const NumberColumn loss, NumberColumn::Required(reader, "loss"));
  FL_ASSIGN_OR_RETURN(const NumberColumn seconds, NumberColumn::Optional(reader, "iteration_time_s", 0));
  while (reader.Next()) {
    const auto job = index.find(reader.field(name));
    if (job == index.end()) {
      return InvalidArgument(fmt::format("{}: job '{}' is not in {}", reader.Where(), reader.field(name), jobs_name));
    }
    EpochReport epoch;
    FL_ASSIGN_OR_RETURN(epoch.iteration, iteration.Read(reader));
    FL_ASSIGN_OR_RETURN(epoch.loss, loss.Read(reader));
    FL_ASSIGN_OR_RETURN(epoch.iteration_time_s, seconds.Read(reader));
    table.jobs[job->second].epochs.push_back(epoch);
  }
  FL_RETURN_IF_ERROR(reader.status());
  return table;
}

}  // namespace

Result<JobTable> LoadJobTable(const std::string& jobs_path, const std::string& curves_path) {
  FL_ASSIGN_OR_RETURN(CsvReader jobs, CsvReader::Open(jobs_path));
  FL_ASSIGN_OR_RETURN(CsvReader curves, CsvReader::Open(curves_path));
  return ReadTables(std::move(jobs), jobs_path, std::move(curves));
}

Result<JobTable> ReadJobTable(NamedStream jobs, NamedStream curves) {
  FL_ASSIGN_OR_RETURN(CsvReader job_reader, CsvReader::FromStream(std::move(jobs.stream), jobs.name));
  FL_ASSIGN_OR_RETURN(CsvReader curve_reader, CsvReader::FromStream(std::move(curves.stream), curves.name));
  return ReadTables(std::move(job_reader), jobs.name, std::move(curve_reader));
}

JobTable ToJobTable(std::vector<GeneratedJob> jobs) {
  JobTable table;
  table.has_ends = true;
  for (GeneratedJob& job : jobs) {
    table.jobs.push_back(std::move(job.record));
    table.true_ends.push_back(job.true_end);
  }
  return table;
}

std::string JobsToCsv(const JobTable& table) {
  std::string text = "job";
  for (const NumberField& field : kNumberFields) text += fmt::format(",{}", field.name);
  text += ",schedule,rate_drops,adaptive,synchronous,end_iteration\n";
  for (size_t i = 0; i < table.jobs.size(); ++i) {
    const JobDescription& job = table.jobs[i].description;
    text += job.name;
    for (const NumberField& field : kNumberFields) text += fmt::format(",{}", job.*field.member);
    text += fmt::format(",{},{},{:d},{:d},{}\n", kScheduleNames[static_cast<size_t>(job.schedule)],
                        fmt::join(job.rate_drops, ";"), job.is_adaptive, job.is_synchronous,
                        NumberText(table.true_ends[i]));
  }
  return text;
}

std::string CurvesToCsv(const JobTable& table) {
  std::string text = "job,iteration,loss,iteration_time_s\n";
  for (const JobRecord& job : table.jobs) {
    for (const EpochReport& epoch : job.epochs) {
      text += fmt::format("{},{},{},{}\n", job.description.name, epoch.iteration, epoch.loss, epoch.iteration_time_s);
    }
  }
  return text;
}

}  // namespace fairlead::prediction

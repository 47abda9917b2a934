#include "sim/elastic/neutral_workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/csv_reader.h"
#include "base/file_reader.h"
#include "base/whole_number.h"
#include "prediction/number_column.h"

namespace fairlead::sim {
namespace {

using prediction::NumberColumn;

// Where only a duration is known, an iteration is a second.
constexpr double kIterationS = 1;
constexpr double kMostGpus = 4096;
constexpr double kMostWeight = 1e6;

Result<double> ReadTime(const NumberColumn& column, const CsvReader& reader, std::string_view what) {
  FL_ASSIGN_OR_RETURN(const double value, column.Read(reader));
  if (value >= 0 && std::isfinite(value)) return value;
  return InvalidArgument(fmt::format("{}: {} is {}; expected seconds, 0 or more", reader.Where(), what, value));
}

Result<uint32_t> ReadGpus(const NumberColumn& column, const CsvReader& reader, std::string_view what) {
  FL_ASSIGN_OR_RETURN(const double value, column.Read(reader));
  if (value >= 1 && value <= kMostGpus && value == std::floor(value)) return static_cast<uint32_t>(value);
  return InvalidArgument(
      fmt::format("{}: {} is {}; expected a whole number from 1 to {}", reader.Where(), what, value, kMostGpus));
}

// Adds the job; `where` is put before what is wrong with it.
Status Add(const MeasuredJob& job, const std::string& where, OwnedWorkload* workload) {
  const Status added = AddMeasuredJob(job, workload);
  return added.ok() ? added : InvalidArgument(fmt::format("{}: {}", where, added.message()));
}

Result<OwnedWorkload> Finish(const std::string& path, OwnedWorkload workload) {
  if (workload.jobs.empty()) return InvalidArgument(fmt::format("{}: no job in it", path));
  const Status status = FinishWorkload(&workload);
  if (!status.ok()) return InvalidArgument(fmt::format("{}: {}", path, status.message()));
  return workload;
}

// "1:0.5 2:0.28" -> iterations a second.
Result<MeasuredSpeeds> ParseSpeeds(std::string_view text, const std::string& where) {
  MeasuredSpeeds speeds;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const size_t colon = word.find(':');
    uint32_t gpus = 0;
    double seconds = 0;
    const bool is_pair = colon != std::string::npos && ParseWhole(std::string_view(word).substr(0, colon), &gpus) &&
                         ParseWhole(std::string_view(word).substr(colon + 1), &seconds);
    if (!is_pair || gpus == 0 || gpus > kMostGpus || !(seconds > 0) || !std::isfinite(seconds)) {
      return InvalidArgument(fmt::format("{}: speeds has '{}'; expected GPUS:SECONDS, such as 4:0.15", where, word));
    }
    if (!speeds.emplace(gpus, 1 / seconds).second) {
      return InvalidArgument(fmt::format("{}: speeds has {} GPUs twice", where, gpus));
    }
  }
  return speeds;
}

class NeutralRows {
 public:
  static Result<NeutralRows> Open(const std::string& path) {
    FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
    NeutralRows rows(std::move(reader));
    FL_RETURN_IF_ERROR(rows.FindColumns());
    return rows;
  }

  bool Next() { return reader_.Next(); }
  Status status() const { return reader_.status(); }
  std::string Where() const { return reader_.Where(); }

  Result<MeasuredJob> Read() const {
    MeasuredJob job;
    job.name = reader_.field(name_);
    job.application = application_ ? std::string(reader_.field(*application_)) : job.name;
    FL_ASSIGN_OR_RETURN(job.submission_s, ReadTime((*numbers_)[kSubmit], reader_, "submit"));
    FL_ASSIGN_OR_RETURN(job.requested_gpus, ReadGpus((*numbers_)[kGpus], reader_, "gpus"));
    FL_ASSIGN_OR_RETURN(const double batch, (*numbers_)[kBatch].Read(reader_));
    if (!(batch >= 0 && batch <= 1e9)) {
      return InvalidArgument(fmt::format("{}: batch is {}; expected 0 to 1e9", Where(), batch));
    }
    job.global_batch = static_cast<uint32_t>(batch);
    FL_ASSIGN_OR_RETURN(job.weight, (*numbers_)[kWeight].Read(reader_));
    if (!(job.weight > 0 && job.weight <= kMostWeight)) {
      return InvalidArgument(
          fmt::format("{}: weight is {}; expected above 0, at most {}", Where(), job.weight, kMostWeight));
    }
    if (tenant_) job.tenant = reader_.field(*tenant_);
    FL_RETURN_IF_ERROR(ReadSpeeds(&job));
    FL_RETURN_IF_ERROR(ReadSizes(&job));
    return job;
  }

 private:
  enum Number : uint8_t { kSubmit, kGpus, kBatch, kDuration, kSteps, kMin, kMax, kWeight, kNumNumbers };
  explicit NeutralRows(CsvReader reader) : reader_(std::move(reader)) {}

  Status FindColumns() {
    FL_ASSIGN_OR_RETURN(name_, reader_.Column("job"));
    numbers_.emplace();
    for (const std::string_view column : {"submit", "gpus"}) {
      FL_ASSIGN_OR_RETURN(NumberColumn number, NumberColumn::Required(reader_, column));
      numbers_->push_back(std::move(number));
    }
    for (const std::string_view column : {"batch", "duration", "steps", "min", "max"}) {
      FL_ASSIGN_OR_RETURN(NumberColumn number, NumberColumn::Optional(reader_, column, 0));
      numbers_->push_back(std::move(number));
    }
    FL_ASSIGN_OR_RETURN(NumberColumn weight, NumberColumn::Optional(reader_, "weight", 1));
    numbers_->push_back(std::move(weight));
    if (reader_.HasColumn("speeds")) {
      FL_ASSIGN_OR_RETURN(speeds_, reader_.Column("speeds"));
    }
    if (reader_.HasColumn("tenant")) {
      FL_ASSIGN_OR_RETURN(tenant_, reader_.Column("tenant"));
    }
    if (reader_.HasColumn("app")) {
      FL_ASSIGN_OR_RETURN(application_, reader_.Column("app"));
    }
    return OkStatus();
  }

  Status ReadSpeeds(MeasuredJob* job) const {
    FL_ASSIGN_OR_RETURN(const double duration_s, ReadTime((*numbers_)[kDuration], reader_, "duration"));
    FL_ASSIGN_OR_RETURN(const double steps, (*numbers_)[kSteps].Read(reader_));
    if (!(steps >= 0) || !std::isfinite(steps)) {
      return InvalidArgument(fmt::format("{}: steps is {}; expected 0 or more", Where(), steps));
    }
    if (speeds_ && !reader_.field(*speeds_).empty()) {
      FL_ASSIGN_OR_RETURN(job->speeds, ParseSpeeds(reader_.field(*speeds_), Where()));
      const auto own = job->speeds.find(job->requested_gpus);
      if (own == job->speeds.end()) {
        return InvalidArgument(
            fmt::format("{}: speeds has nothing for the {} GPUs that the job asks for", Where(), job->requested_gpus));
      }
      job->num_iterations = steps > 0 ? steps : duration_s * own->second;
    } else if (duration_s > 0) {
      job->num_iterations = steps > 0 ? steps : duration_s / kIterationS;
      job->speeds[job->requested_gpus] = job->num_iterations / duration_s;
    }
    if (job->num_iterations > 0) return OkStatus();
    return InvalidArgument(fmt::format(
        "{}: how long the job takes is unknown; expected a duration above 0, or steps and speeds", Where()));
  }

  Status ReadSizes(MeasuredJob* job) const {
    const auto bound = [&](Number column, double otherwise) -> Result<double> {
      FL_ASSIGN_OR_RETURN(const double value, (*numbers_)[column].Read(reader_));
      return value > 0 ? value : otherwise;
    };
    FL_ASSIGN_OR_RETURN(const double least, bound(kMin, 1));
    FL_ASSIGN_OR_RETURN(const double most, bound(kMax, kMostGpus));
    for (const auto& [gpus, speed] : job->speeds) {
      if (gpus >= least && gpus <= most) job->allowed_gpus.push_back(gpus);
    }
    if (job->requested_gpus >= least && job->requested_gpus <= most) return OkStatus();
    return InvalidArgument(fmt::format("{}: the job asks for {} GPUs, but may run on {} to {}", Where(),
                                       job->requested_gpus, least, most));
  }

  CsvReader reader_;
  size_t name_ = 0;
  std::optional<size_t> application_;
  std::optional<size_t> tenant_;
  std::optional<size_t> speeds_;
  std::optional<std::vector<NumberColumn>> numbers_;  // [Number]
};

// One line of a Gavel trace; nothing when it has another number of fields.
struct GavelFields {
  std::string_view kind;
  std::string_view iterations;
  std::string_view gpus;
  std::string_view arrival;
};

std::optional<GavelFields> SplitGavelLine(std::string_view line) {
  std::vector<std::string_view> fields;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find('\t', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  if (fields.size() == 7) return GavelFields{fields[0], fields[4], fields[6], fields[5]};
  if (fields.size() == 10) return GavelFields{fields[0], fields[5], fields[6], fields[9]};
  return std::nullopt;
}

// "ResNet-18 (batch size 16)" -> its speeds by GPUs.
Result<MeasuredSpeeds> SpeedsOfKind(std::string_view kind, const ModelSpeeds& speeds, const std::string& where) {
  constexpr std::string_view kBatch = " (batch size ";
  const size_t at = kind.find(kBatch);
  uint32_t batch = 1;
  const std::string model(kind.substr(0, at));
  if (at != std::string_view::npos) {
    std::string_view digits = kind.substr(at + kBatch.size());
    if (!digits.ends_with(')') || !ParseWhole(digits.substr(0, digits.size() - 1), &batch)) batch = 0;
  }
  const auto found = speeds.find(model);
  if (found != speeds.end() && found->second.contains(batch)) return found->second.at(batch);
  return InvalidArgument(fmt::format("{}: no speeds of '{}' in Gavel's table", where, kind));
}

Result<MeasuredJob> ReadGavelLine(std::string_view line, const ModelSpeeds& speeds, const std::string& where) {
  const auto fields = SplitGavelLine(line);
  if (!fields) return InvalidArgument(where + ": expected 7 or 10 fields with tabs between them");
  MeasuredJob job;
  job.application = fields->kind;
  if (!ParseWhole(fields->gpus, &job.requested_gpus) || job.requested_gpus == 0 || job.requested_gpus > kMostGpus) {
    return InvalidArgument(fmt::format("{}: '{}' GPUs; expected a whole number above 0", where, fields->gpus));
  }
  const bool has_numbers =
      ParseWhole(fields->iterations, &job.num_iterations) && ParseWhole(fields->arrival, &job.submission_s);
  if (!has_numbers || !(job.num_iterations > 0) || !(job.submission_s >= 0) || !std::isfinite(job.submission_s)) {
    return InvalidArgument(fmt::format("{}: {} iterations, arrival at {} s; expected numbers, 0 or more", where,
                                       fields->iterations, fields->arrival));
  }
  FL_ASSIGN_OR_RETURN(const MeasuredSpeeds all, SpeedsOfKind(fields->kind, speeds, where));
  const auto own = all.find(job.requested_gpus);
  if (own != all.end()) job.speeds[own->first] = own->second;
  return job;
}

}  // namespace

Result<OwnedWorkload> LoadNeutralWorkload(const std::string& path) {
  FL_ASSIGN_OR_RETURN(NeutralRows rows, NeutralRows::Open(path));
  OwnedWorkload workload;
  while (rows.Next()) {
    FL_ASSIGN_OR_RETURN(const MeasuredJob job, rows.Read());
    FL_RETURN_IF_ERROR(Add(job, rows.Where(), &workload));
  }
  FL_RETURN_IF_ERROR(rows.status());
  return Finish(path, std::move(workload));
}

Result<OwnedWorkload> LoadTiresiasWorkload(const std::string& path) {
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
  FL_ASSIGN_OR_RETURN(const size_t id, reader.Column("job_id"));
  FL_ASSIGN_OR_RETURN(const size_t model, reader.Column("model_name"));
  FL_ASSIGN_OR_RETURN(const NumberColumn gpus, NumberColumn::Required(reader, "num_gpu"));
  FL_ASSIGN_OR_RETURN(const NumberColumn submit, NumberColumn::Required(reader, "submit_time"));
  FL_ASSIGN_OR_RETURN(const NumberColumn iterations, NumberColumn::Required(reader, "iterations"));
  FL_ASSIGN_OR_RETURN(const NumberColumn duration, NumberColumn::Required(reader, "duration"));
  OwnedWorkload workload;
  while (reader.Next()) {
    MeasuredJob job;
    job.name = reader.field(id);
    job.application = reader.field(model);
    FL_ASSIGN_OR_RETURN(job.submission_s, ReadTime(submit, reader, "submit_time"));
    FL_ASSIGN_OR_RETURN(job.requested_gpus, ReadGpus(gpus, reader, "num_gpu"));
    FL_ASSIGN_OR_RETURN(job.num_iterations, iterations.Read(reader));
    FL_ASSIGN_OR_RETURN(const double duration_s, ReadTime(duration, reader, "duration"));
    if (!(duration_s > 0 && job.num_iterations > 0)) {
      return InvalidArgument(fmt::format("{}: {} iterations in {} s; expected numbers above 0", reader.Where(),
                                         job.num_iterations, duration_s));
    }
    job.speeds[job.requested_gpus] = job.num_iterations / duration_s;
    FL_RETURN_IF_ERROR(Add(job, reader.Where(), &workload));
  }
  FL_RETURN_IF_ERROR(reader.status());
  return Finish(path, std::move(workload));
}

Result<OwnedWorkload> LoadGavelWorkload(const std::string& path, const GpuTypeSpeeds& speeds,
                                        const std::string& gpu_type) {
  const auto type = speeds.find(gpu_type);
  if (type == speeds.end()) {
    std::vector<std::string> types;
    for (const auto& [name, unused] : speeds) types.push_back(name);
    return InvalidArgument(
        fmt::format("no speeds of the GPU '{}' in Gavel's table; it has {}", gpu_type, fmt::join(types, ", ")));
  }
  FL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  OwnedWorkload workload;
  std::istringstream lines(text);
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const std::string where = fmt::format("{}:{}", path, number);
    FL_ASSIGN_OR_RETURN(MeasuredJob job, ReadGavelLine(line, type->second, where));
    job.name = fmt::format("job-{}", number);
    FL_RETURN_IF_ERROR(Add(job, where, &workload));
  }
  return Finish(path, std::move(workload));
}

}  // namespace fairlead::sim

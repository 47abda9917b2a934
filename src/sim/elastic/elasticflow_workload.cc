#include "sim/elastic/elasticflow_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/csv_reader.h"
#include "prediction/number_column.h"

namespace fairlead::sim {
namespace {

namespace fs = std::filesystem;
using prediction::NumberColumn;

constexpr uint32_t kMaxTableGpus = 4096;

// A number that must be whole, and small enough to count with.
Result<uint32_t> ReadCount(const NumberColumn& column, const CsvReader& reader, std::string_view name) {
  FL_ASSIGN_OR_RETURN(const double value, column.Read(reader));
  if (value >= 1 && value <= 1e9 && value == std::floor(value)) return static_cast<uint32_t>(value);
  return InvalidArgument(fmt::format("{}: {}: expected a whole number above 0, found {}", reader.Where(), name, value));
}

struct GpuColumn {
  uint32_t num_gpus = 0;
  NumberColumn speed;
};

// All columns with a number of GPUs as name of GPUs.
Result<std::vector<GpuColumn>> FindGpuColumns(const CsvReader& reader, const std::string& path) {
  std::vector<GpuColumn> columns;
  for (uint32_t gpus = 1; gpus <= kMaxTableGpus; gpus *= 2) {
    const std::string name = std::to_string(gpus);
    if (!reader.HasColumn(name)) continue;
    FL_ASSIGN_OR_RETURN(NumberColumn speed,
                        NumberColumn::Optional(reader, name, std::numeric_limits<double>::quiet_NaN()));
    columns.push_back({gpus, std::move(speed)});
  }
  if (!columns.empty()) return columns;
  return InvalidArgument(fmt::format("{}:1: no column is a number of GPUs; expected 1, 2, 4, …", path));
}

Result<BatchSpeeds> LoadModel(const std::string& path) {
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
  FL_ASSIGN_OR_RETURN(const NumberColumn batch, NumberColumn::Required(reader, "global_batch_size"));
  FL_ASSIGN_OR_RETURN(const std::vector<GpuColumn> columns, FindGpuColumns(reader, path));
  BatchSpeeds speeds;
  while (reader.Next()) {
    FL_ASSIGN_OR_RETURN(const uint32_t size, ReadCount(batch, reader, "global_batch_size"));
    const auto [entry, is_new] = speeds.try_emplace(size);
    if (!is_new) return InvalidArgument(fmt::format("{}: the batch {} appears twice", reader.Where(), size));
    for (const GpuColumn& column : columns) {
      FL_ASSIGN_OR_RETURN(entry->second[column.num_gpus], column.speed.Read(reader));
    }
  }
  FL_RETURN_IF_ERROR(reader.status());
  return speeds;
}

class JobReader {
 public:
  static Result<JobReader> Open(const std::string& path) {
    FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
    FL_ASSIGN_OR_RETURN(const size_t id, reader.Column("job_id"));
    FL_ASSIGN_OR_RETURN(const size_t model, reader.Column("model_name"));
    FL_ASSIGN_OR_RETURN(NumberColumn submit, NumberColumn::Required(reader, "submit_time"));
    FL_ASSIGN_OR_RETURN(NumberColumn batch, NumberColumn::Required(reader, "batch_size"));
    FL_ASSIGN_OR_RETURN(NumberColumn gpus, NumberColumn::Required(reader, "num_gpu"));
    FL_ASSIGN_OR_RETURN(NumberColumn iterations, NumberColumn::Required(reader, "iteration"));
    return JobReader(std::move(reader), id, model,
                     {std::move(submit), std::move(batch), std::move(gpus), std::move(iterations)});
  }

  bool Next() { return reader_.Next(); }
  Status status() const { return reader_.status(); }

  // The row read last, added to the workload.
  Status Read(const std::map<std::string, BatchSpeeds>& speeds, OwnedWorkload* workload) const {
    ElasticJobSpec job;
    job.name = reader_.field(id_);
    FL_ASSIGN_OR_RETURN(job.submission_s, columns_[0].Read(reader_));
    FL_ASSIGN_OR_RETURN(job.global_batch, ReadCount(columns_[1], reader_, "batch_size"));
    FL_ASSIGN_OR_RETURN(job.requested_gpus, ReadCount(columns_[2], reader_, "num_gpu"));
    MeasuredApplication application{std::string(reader_.field(model_)), job.global_batch, 0, {}};
    FL_ASSIGN_OR_RETURN(application.num_iterations, columns_[3].Read(reader_));
    const auto model = speeds.find(application.name);
    if (model == speeds.end()) {
      return InvalidArgument(fmt::format("{}: model_name: no speeds of '{}'; expected a file <model>.csv",
                                         reader_.Where(), application.name));
    }
    const auto batch = model->second.find(job.global_batch);
    if (batch == model->second.end()) {
      return InvalidArgument(fmt::format("{}: batch_size: no speeds of {} with a batch of {}", reader_.Where(),
                                         application.name, job.global_batch));
    }
    application.speeds = batch->second;
    auto profile = ProfileOfMeasured(application);
    if (!profile.ok()) return InvalidArgument(fmt::format("{}: {}", reader_.Where(), profile.status().message()));
    workload->profiles.push_back(std::make_unique<const ApplicationProfile>(std::move(*profile)));
    job.profile = workload->profiles.back().get();
    workload->jobs.push_back(std::move(job));
    return OkStatus();
  }

 private:
  JobReader(CsvReader reader, size_t id, size_t model, std::vector<NumberColumn> columns)
      : reader_(std::move(reader)), id_(id), model_(model), columns_(std::move(columns)) {}

  CsvReader reader_;
  size_t id_;
  size_t model_;
  std::vector<NumberColumn> columns_;  // submit_time, batch_size, num_gpu, iteration
};

}  // namespace

Result<std::map<std::string, BatchSpeeds>> LoadElasticflowSpeeds(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  }
  if (error || files.empty()) {
    return NotFound(fmt::format("{}: {}; expected a folder with a file <model>.csv for each model", folder,
                                error ? error.message() : "has no .csv files"));
  }
  std::ranges::sort(files);
  std::map<std::string, BatchSpeeds> speeds;
  for (const fs::path& file : files) {
    FL_ASSIGN_OR_RETURN(speeds[file.stem().string()], LoadModel(file.string()));
  }
  return speeds;
}

Result<OwnedWorkload> LoadElasticflowWorkload(const std::string& path, const std::map<std::string, BatchSpeeds>& speeds,
                                              size_t most_jobs) {
  FL_ASSIGN_OR_RETURN(JobReader reader, JobReader::Open(path));
  OwnedWorkload workload;
  while (workload.jobs.size() < most_jobs && reader.Next()) FL_RETURN_IF_ERROR(reader.Read(speeds, &workload));
  FL_RETURN_IF_ERROR(reader.status());
  const Status status = FinishWorkload(&workload);
  if (!status.ok()) return InvalidArgument(fmt::format("{}: {}", path, status.message()));
  return workload;
}

}  // namespace fairlead::sim

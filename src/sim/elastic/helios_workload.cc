#include "sim/elastic/helios_workload.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/csv_reader.h"
#include "prediction/number_column.h"
#include "sim/elastic/log_time.h"

namespace fairlead::sim {
namespace {

constexpr double kMostJobGpus = 1e6;
}  // namespace

Result<OwnedWorkload> LoadHeliosWorkload(const std::string& path) {
  using prediction::NumberColumn;
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
  FL_ASSIGN_OR_RETURN(const size_t id, reader.Column("job_id"));
  FL_ASSIGN_OR_RETURN(const size_t user, reader.Column("user"));
  FL_ASSIGN_OR_RETURN(const size_t submit, reader.Column("submit_time"));
  FL_ASSIGN_OR_RETURN(const NumberColumn gpus, NumberColumn::Required(reader, "gpu_num"));
  FL_ASSIGN_OR_RETURN(const NumberColumn duration, NumberColumn::Required(reader, "duration"));
  std::optional<size_t> cluster;
  if (reader.HasColumn("vc")) {
    FL_ASSIGN_OR_RETURN(cluster, reader.Column("vc"));
  }
  OwnedWorkload workload;
  while (reader.Next()) {
    FL_ASSIGN_OR_RETURN(const double num_gpus, gpus.Read(reader));
    FL_ASSIGN_OR_RETURN(const double duration_s, duration.Read(reader));
    const auto submission_s = ParseLogTime(reader.field(submit));
    if (!submission_s) {
      return InvalidArgument(fmt::format("{}: submit_time is '{}'; expected a time such as 2020-04-01 00:05:21",
                                         reader.Where(), reader.field(submit)));
    }
    if (!(num_gpus >= 0 && num_gpus <= kMostJobGpus && num_gpus == std::floor(num_gpus)) ||
        !std::isfinite(duration_s)) {
      return InvalidArgument(fmt::format("{}: {} GPUs for {} s; expected a whole number, and a finite time",
                                         reader.Where(), num_gpus, duration_s));
    }
    if (num_gpus == 0 || duration_s <= 0) {
      ++workload.num_passed_over;
      continue;
    }
    MeasuredJob job;
    job.name = reader.field(id);
    job.application = reader.field(user);
    if (cluster) job.tenant = reader.field(*cluster);
    job.submission_s = static_cast<double>(*submission_s);
    job.requested_gpus = static_cast<uint32_t>(num_gpus);
    job.num_iterations = duration_s;  // of a second each
    job.speeds[job.requested_gpus] = 1;
    const Status added = AddMeasuredJob(job, &workload);
    if (!added.ok()) return InvalidArgument(fmt::format("{}: {}", reader.Where(), added.message()));
  }
  FL_RETURN_IF_ERROR(reader.status());
  if (workload.jobs.empty()) return InvalidArgument(fmt::format("{}: no job with GPUs in it", path));
  const Status status = FinishWorkload(&workload);
  if (!status.ok()) return InvalidArgument(fmt::format("{}: {}", path, status.message()));
  return workload;
}

}  // namespace fairlead::sim

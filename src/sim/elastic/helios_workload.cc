#include "sim/elastic/helios_workload.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/csv_reader.h"
#include "prediction/number_column.h"

namespace fairlead::sim {
namespace {

constexpr double kMostJobGpus = 1e6;
constexpr int64_t kSecondsPerDay = 86'400;

// A number of as many digits as are left of `*text` before `behind` (0: the end), which is taken off, too.
std::optional<int> TakeNumber(std::string_view* text, char behind) {
  const size_t end = behind == 0 ? text->size() : text->find(behind);
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  int value = 0;
  const auto [at, error] = std::from_chars(text->data(), text->data() + end, value);
  if (error != std::errc() || at != text->data() + end || value < 0) return std::nullopt;
  text->remove_prefix(behind == 0 ? end : end + 1);
  return value;
}

// "2020-04-01 00:05:21", also with a zone behind, which all rows share: seconds since 1970 of the same clock.
std::optional<int64_t> ParseTime(std::string_view text) {
  text = text.substr(0, text.find('+'));
  std::array<int, 6> parts{};
  constexpr std::array<char, 6> kBehind = {'-', '-', ' ', ':', ':', 0};
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto part = TakeNumber(&text, kBehind[i]);
    if (!part) return std::nullopt;
    parts[i] = *part;
  }
  const std::chrono::year_month_day date{std::chrono::year(parts[0]),
                                         std::chrono::month(static_cast<unsigned>(parts[1])),
                                         std::chrono::day(static_cast<unsigned>(parts[2]))};
  if (!date.ok() || parts[3] > 23 || parts[4] > 59 || parts[5] > 60) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * kSecondsPerDay + int64_t{parts[3]} * 3600 + int64_t{parts[4]} * 60 + parts[5];
}

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
    const auto submission_s = ParseTime(reader.field(submit));
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

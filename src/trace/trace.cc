#include "trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>

namespace fairlead::trace {

namespace {

// Names travel through CSV, YAML and terminals.
Status ValidateName(std::string_view what, std::string_view name) {
  if (name.size() > kMaxNameBytes) {
    return InvalidArgument(fmt::format("{}: expected at most {} bytes, found {}", what, kMaxNameBytes, name.size()));
  }
  const bool is_printable = std::none_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
  if (is_printable) return OkStatus();
  return InvalidArgument(fmt::format("{}: contains a control character; expected one line of text", what));
}

Status ValidateSeconds(std::string_view what, double seconds) {
  if (seconds >= 0 && seconds <= kMaxSeconds) return OkStatus();  // NaN fails both
  return InvalidArgument(fmt::format("{}: expected seconds in [0, {:.0f}], found {}", what, kMaxSeconds, seconds));
}

}  // namespace

Status ValidateJob(const TraceJob& job) {
  if (job.id.empty()) return InvalidArgument("job_id: is empty; expected a name");
  FL_RETURN_IF_ERROR(ValidateName("job_id", job.id));
  FL_RETURN_IF_ERROR(ValidateSeconds("submit_s", job.submit_s));
  FL_RETURN_IF_ERROR(ValidateSeconds("duration_s", job.duration_s));
  if (job.gpus > kMaxGpusPerJob) {
    return InvalidArgument(fmt::format("gpus: expected an integer in [0, {}], found {}", kMaxGpusPerJob, job.gpus));
  }
  const uint32_t share_min = job.gpus > 0 ? 1 : 0;
  if (job.gpus_per_host < share_min || job.gpus_per_host > job.gpus) {
    return InvalidArgument(fmt::format("gpus_per_host: expected an integer in [{}, {}] for a job of {} GPUs, found {}",
                                       share_min, job.gpus, job.gpus, job.gpus_per_host));
  }
  return ValidateName("model", job.model);
}

void SortJobs(std::vector<TraceJob>* jobs) {
  std::sort(jobs->begin(), jobs->end(), [](const TraceJob& a, const TraceJob& b) {
    return std::tie(a.submit_s, a.id) < std::tie(b.submit_s, b.id);
  });
}

uint32_t NumDays(const std::vector<TraceJob>& jobs) {
  double last_s = -1;
  for (const TraceJob& job : jobs) last_s = std::max(last_s, job.submit_s);
  return last_s < 0 ? 0 : static_cast<uint32_t>(last_s / kSecondsPerDay) + 1;
}

}  // namespace fairlead::trace

#include "sim/elastic/philly_workload.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/elastic/log_time.h"

namespace fairlead::sim {
namespace {

using Json = nlohmann::json;

// Why the log can't be read; empty: it can.
using Fault = std::string;

// A text of the object; nothing: it is missing, null, or "None".
std::optional<std::string> TextOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string() || *found == "None") return std::nullopt;
  return found->get<std::string>();
}

uint32_t CountGpus(const Json& attempt) {
  uint32_t count = 0;
  const auto hosts = attempt.find("detail");
  if (hosts == attempt.end() || !hosts->is_array()) return 0;
  for (const Json& host : *hosts) {
    const auto gpus = host.is_object() ? host.find("gpus") : host.end();
    if (gpus != host.end() && gpus->is_array()) count += static_cast<uint32_t>(gpus->size());
  }
  return count;
}

// Attempts of a job, one after the other.
struct Attempts {
  double gpu_seconds = 0;
  double longest_s = 0;
  uint32_t gpus_of_longest = 0;

  Fault Add(const Json& attempt) {
    if (!attempt.is_object()) return "an attempt is no object";
    const auto start = TextOf(attempt, "start_time");
    const auto end = TextOf(attempt, "end_time");
    const uint32_t gpus = CountGpus(attempt);
    if (!start || !end || gpus == 0) return "";
    const auto start_s = ParseLogTime(*start);
    const auto end_s = ParseLogTime(*end);
    if (!start_s || !end_s) {
      return fmt::format("an attempt runs from '{}' to '{}'; expected times such as 2017-10-09 07:01:55", *start, *end);
    }
    const auto length_s = static_cast<double>(*end_s - *start_s);
    if (length_s < 0) return fmt::format("an attempt ends at {}, before it starts at {}", *end, *start);
    gpu_seconds += length_s * gpus;
    if (length_s > longest_s) {
      longest_s = length_s;
      gpus_of_longest = gpus;
    }
    return "";
  }
};

Fault AddJob(const Json& entry, OwnedWorkload* workload) {
  if (!entry.is_object()) return "no object";
  const auto id = TextOf(entry, "jobid");
  if (!id) return "jobid is missing";
  Attempts attempts;
  const auto listed = entry.find("attempts");
  if (listed != entry.end() && listed->is_array()) {
    for (const Json& attempt : *listed) {
      if (Fault fault = attempts.Add(attempt); !fault.empty()) return fault;
    }
  }
  if (attempts.gpus_of_longest == 0) {
    ++workload->num_passed_over;
    return "";
  }
  const std::string submitted = TextOf(entry, "submitted_time").value_or("");
  const auto submitted_s = ParseLogTime(submitted);
  if (!submitted_s) {
    return fmt::format("submitted_time is '{}'; expected a time such as 2017-10-09 07:01:55", submitted);
  }
  MeasuredJob job;
  job.name = *id;
  job.application = TextOf(entry, "user").value_or(*id);
  job.tenant = TextOf(entry, "vc").value_or("");
  job.submission_s = static_cast<double>(*submitted_s);
  job.requested_gpus = attempts.gpus_of_longest;
  job.num_iterations = attempts.gpu_seconds / attempts.gpus_of_longest;  // of a second each
  job.speeds[job.requested_gpus] = 1;
  return std::string(AddMeasuredJob(job, workload).message());
}

}  // namespace

bool LooksLikePhilly(const std::string& path) {
  std::ifstream file(path);
  char first = 0;
  return file >> first && first == '[';
}

Result<OwnedWorkload> LoadPhillyWorkload(const std::string& path) {
  std::ifstream file(path);
  if (!file) return NotFound(fmt::format("{}: can't be opened", path));
  const Json log = Json::parse(file, nullptr, false);
  if (!log.is_array())
    return InvalidArgument(fmt::format("{}: expected a JSON list of jobs, as Philly's job log", path));
  OwnedWorkload workload;
  for (size_t i = 0; i < log.size(); ++i) {
    if (const Fault fault = AddJob(log[i], &workload); !fault.empty()) {
      return InvalidArgument(fmt::format("{}: job {}: {}", path, i, fault));
    }
  }
  if (workload.jobs.empty()) return InvalidArgument(fmt::format("{}: no job with GPUs in it", path));
  const Status status = FinishWorkload(&workload);
  if (!status.ok()) return InvalidArgument(fmt::format("{}: {}", path, status.message()));
  return workload;
}

}  // namespace fairlead::sim

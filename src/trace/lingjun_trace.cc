#include "trace/lingjun_trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/csv_reader.h"
#include "trace/lingjun_pods.h"
#include "trace/lingjun_time.h"

namespace fairlead::trace {

namespace {

using HostSet = std::set<std::string, std::less<>>;

Result<HostSet> ReadHosts(CsvReader reader) {
  FL_ASSIGN_OR_RETURN(const size_t ip, reader.Column("ip"));
  HostSet hosts;
  while (reader.Next()) hosts.emplace(reader.field(ip));
  FL_RETURN_IF_ERROR(reader.status());
  return hosts;
}

// A time that may be missing, or may be no time.
struct TimeField {
  bool is_empty = true;
  std::optional<int64_t> seconds;

  explicit TimeField(std::string_view text) : is_empty(text.empty()), seconds(ParseLingjunTime(text)) {}
  bool is_broken() const { return !is_empty && !seconds; }
};

// A job before second 0 is known.
struct ImportedJob {
  TraceJob job;  // without submit_s
  int64_t submit_s = 0;
  int64_t running_s = 0;
  std::optional<int64_t> end_s;  // nothing: still running
};

struct JobColumns {
  size_t id, job_name, model, is_deleted, submitted, running, stopped, finished, created;

  static Result<JobColumns> Find(const CsvReader& reader) {
    JobColumns columns{};
    FL_ASSIGN_OR_RETURN(columns.id, reader.Column("id"));
    FL_ASSIGN_OR_RETURN(columns.job_name, reader.Column("job_name"));
    FL_ASSIGN_OR_RETURN(columns.model, reader.Column("model"));
    FL_ASSIGN_OR_RETURN(columns.is_deleted, reader.Column("is_deleted"));
    FL_ASSIGN_OR_RETURN(columns.submitted, reader.Column("gmt_job_submitted"));
    FL_ASSIGN_OR_RETURN(columns.running, reader.Column("gmt_job_running"));
    FL_ASSIGN_OR_RETURN(columns.stopped, reader.Column("gmt_job_stopped"));
    FL_ASSIGN_OR_RETURN(columns.finished, reader.Column("gmt_job_finished"));
    FL_ASSIGN_OR_RETURN(columns.created, reader.Column("gmt_created"));
    return columns;
  }
};

// GPUs of a job, if they fit a trace.
bool SetGpus(const PodSum& sum, TraceJob* job) {
  if (sum.gpus > kMaxGpusPerJob) return false;
  job->gpus = static_cast<uint32_t>(sum.gpus);
  job->gpus_per_host = sum.gpus_per_pod_max;
  return true;
}

// Reads job.csv into jobs; takes the pods of each from the sums.
class JobReader {
 public:
  JobReader(CsvReader reader, const JobColumns& columns, PodSums* pods, CleaningReport* report)
      : reader_(std::move(reader)), columns_(columns), pods_(*pods), report_(*report) {}

  Result<std::vector<ImportedJob>> Read(const std::function<bool()>& after_row) {
    while (reader_.Next()) {
      ++report_.num_job_rows;
      AddRow();
      if (!after_row()) return Status(StatusCode::kCancelled, "stopped while reading the jobs");
    }
    FL_RETURN_IF_ERROR(reader_.status());
    return std::move(jobs_);
  }

 private:
  void Add(Trap trap) { report_.Add(trap, report_.count(trap) == 0 ? reader_.Where() : ""); }

  void AddRow() {
    const std::string name(reader_.field(columns_.job_name));
    std::string id(reader_.field(columns_.id));
    if (id.empty()) id = name;
    // The pods belong to the row, whatever becomes of it.
    const auto node = pods_.extract(name);
    if (!names_.insert(name).second || !ids_.insert(id).second) return Add(Trap::kDuplicateJob);
    ImportedJob imported;
    imported.job.id = std::move(id);
    if (!ReadTimes(&imported)) return;
    if (reader_.field(columns_.is_deleted) == "1") Add(Trap::kDeleted);
    imported.job.model = reader_.field(columns_.model);
    if (imported.job.model.empty()) {
      Add(Trap::kEmptyModel);
      imported.job.model = "unknown";
    }
    if (node.empty() || node.mapped().num_pods == 0) Add(Trap::kJobWithoutPods);
    if (!node.empty() && !SetGpus(node.mapped(), &imported.job)) return Add(Trap::kTooLarge);
    if (!ValidateJob(imported.job).ok()) return Add(Trap::kTooLarge);
    jobs_.push_back(std::move(imported));
  }

  // False: the row is to be dropped, and is counted.
  bool ReadTimes(ImportedJob* imported) {
    const TimeField submitted(reader_.field(columns_.submitted)), running(reader_.field(columns_.running));
    const TimeField stopped(reader_.field(columns_.stopped)), finished(reader_.field(columns_.finished));
    const auto drop = [this](Trap trap) {
      Add(trap);
      return false;
    };
    if (submitted.is_broken() || running.is_broken() || stopped.is_broken() || finished.is_broken()) {
      return drop(Trap::kUnreadableTime);
    }
    if (running.is_empty) {
      if (submitted.is_empty && stopped.is_empty && finished.is_empty) Add(Trap::kNoTimes);
      return drop(Trap::kNeverRan);
    }
    imported->running_s = *running.seconds;
    const TimeField created(reader_.field(columns_.created));
    imported->submit_s = submitted.seconds.value_or(created.seconds.value_or(imported->running_s));
    if (imported->running_s < imported->submit_s) return drop(Trap::kRanBeforeSubmitted);
    imported->end_s = finished.is_empty ? stopped.seconds : finished.seconds;
    if (!imported->end_s) {
      Add(Trap::kStillRunning);
      return true;
    }
    if (*imported->end_s < imported->running_s) return drop(Trap::kEndedBeforeRunning);
    if (finished.is_empty) Add(Trap::kStoppedNotFinished);
    if (*imported->end_s == imported->running_s) Add(Trap::kZeroMinutes);
    return true;
  }

  CsvReader reader_;
  JobColumns columns_;
  PodSums& pods_;
  CleaningReport& report_;
  std::unordered_set<std::string> names_, ids_;
  std::vector<ImportedJob> jobs_;
};

// Jobs that are in worker.csv only. In order of name, as hash maps have none.
void AddPodsWithoutJob(const PodSums& pods, const LingjunImportOptions& options, CleaningReport* report,
                       std::vector<ImportedJob>* jobs) {
  const std::map<std::string_view, const PodSum*> ordered = [&] {
    std::map<std::string_view, const PodSum*> result;
    for (const auto& [name, sum] : pods) result.emplace(name, &sum);
    return result;
  }();
  for (const auto& [name, sum] : ordered) {
    const bool has_times =
        sum->first_created_s && sum->last_finished_s && *sum->first_created_s <= *sum->last_finished_s;
    if (!options.keep_pods_without_job || sum->num_pods == 0 || !has_times) {
      report->Add(Trap::kPodsWithoutJobDropped, name);
      continue;
    }
    ImportedJob imported;
    imported.job.id = name;
    imported.job.model = "unknown";
    imported.submit_s = imported.running_s = *sum->first_created_s;
    imported.end_s = sum->last_finished_s;
    const bool is_usable = SetGpus(*sum, &imported.job) && ValidateJob(imported.job).ok();
    report->Add(is_usable ? Trap::kPodsWithoutJobKept : Trap::kTooLarge, name);
    if (is_usable) jobs->push_back(std::move(imported));
  }
}

// Gives the jobs without an end one, or drops them.
void EndRunningJobs(const LingjunImportOptions& options, std::vector<ImportedJob>* jobs) {
  if (!options.keep_still_running) {
    std::erase_if(*jobs, [](const ImportedJob& imported) { return !imported.end_s; });
    return;
  }
  int64_t last_s = 0;
  for (const ImportedJob& imported : *jobs) last_s = std::max(last_s, imported.end_s.value_or(imported.running_s));
  for (ImportedJob& imported : *jobs) imported.end_s = imported.end_s.value_or(last_s);
}

// Labels that differ only in case, each group as "GPT-13b 205, GPT-13B 33".
std::vector<std::string> FindCaseVariants(const std::vector<TraceJob>& jobs) {
  std::map<std::string, std::map<std::string, uint64_t>> groups;
  for (const TraceJob& job : jobs) {
    std::string folded = job.model;
    for (char& c : folded) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    ++groups[folded][job.model];
  }
  std::vector<std::string> variants;
  for (const auto& [folded, labels] : groups) {
    if (labels.size() < 2) continue;
    std::vector<std::string> parts;
    for (const auto& [label, count] : labels) parts.push_back(fmt::format("{} {}", label, count));
    variants.push_back(fmt::format("{}", fmt::join(parts, ", ")));
  }
  return variants;
}

Result<LingjunImport> Assemble(std::vector<ImportedJob> jobs, const LingjunImportOptions& options,
                               CleaningReport report) {
  EndRunningJobs(options, &jobs);
  if (jobs.empty()) {
    return InvalidArgument(
        fmt::format("no job is left of {} job rows and {} worker rows; are these job.csv and "
                    "worker.csv of the Lingjun data set?",
                    report.num_job_rows, report.num_worker_rows));
  }
  constexpr int64_t kDay = 86400;
  int64_t first_s = jobs.front().submit_s;
  for (const ImportedJob& imported : jobs) first_s = std::min(first_s, imported.submit_s);
  const int64_t start_s = first_s / kDay * kDay;
  LingjunImport result;
  for (ImportedJob& imported : jobs) {
    imported.job.submit_s = static_cast<double>(imported.submit_s - start_s);
    imported.job.duration_s =
        std::max(options.min_duration_s, static_cast<double>(*imported.end_s - imported.running_s));
    if (!ValidateJob(imported.job).ok()) {
      report.Add(Trap::kTooLarge, imported.job.id);
      continue;
    }
    report.num_gpu_jobs += imported.job.gpus > 0;
    result.trace.jobs.push_back(std::move(imported.job));
  }
  SortJobs(&result.trace.jobs);
  report.num_jobs = result.trace.jobs.size();
  report.case_variants = FindCaseVariants(result.trace.jobs);
  result.trace.title = "Lingjun 2023, imported";
  result.trace.notes = {"Alibaba Lingjun 2023 data set (Apache-2.0); cite Cao et al., Crux, SIGCOMM 2024.",
                        fmt::format("Second 0 is {} of the files' clock, which has no zone and counts minutes.",
                                    FormatLingjunTime(start_s))};
  result.report = std::move(report);
  return result;
}

// One input: its reader, and how far it is read. The stream belongs to the reader.
struct Input {
  CsvReader reader;
  std::istream* stream;
  double size;  // bytes; 0: unknown
};

Result<Input> OpenInput(std::unique_ptr<std::istream> stream, const std::string& name, double size) {
  std::istream* raw = stream.get();
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::FromStream(std::move(stream), name));
  return Input{std::move(reader), raw, size};
}

// Reports progress of two inputs read one after the other, every so many rows.
class ProgressMeter {
 public:
  ProgressMeter(const LingjunImportOptions& options, double total_bytes) : options_(options), total_(total_bytes) {}

  // A function for the rows of `input`.
  std::function<bool()> Follow(const Input& input) {
    return [this, stream = input.stream, size = input.size, before = std::exchange(before_, before_ + input.size)] {
      constexpr uint64_t kRowsBetween = 4096;
      if (!options_.progress || ++rows_ % kRowsBetween != 0 || total_ <= 0) return true;
      // At the end of the file there is no position any more.
      const auto position = static_cast<double>(stream->tellg());
      return options_.progress((before + (position < 0 ? size : position)) / total_);
    };
  }

 private:
  const LingjunImportOptions& options_;
  double total_;
  double before_ = 0;
  uint64_t rows_ = 0;
};

Result<LingjunImport> Import(Input jobs, Input workers, std::optional<Input> topology,
                             const LingjunImportOptions& options) {
  CleaningReport report;
  HostSet hosts;
  PodOptions pod_options{.drop_without_duration = options.drop_pods_without_duration};
  if (topology) {
    FL_ASSIGN_OR_RETURN(hosts, ReadHosts(std::move(topology->reader)));
    report.num_hosts = hosts.size();
    pod_options.known_hosts = &hosts;
  }
  ProgressMeter meter(options, jobs.size + workers.size);
  const std::function<bool()> after_pod = meter.Follow(workers);
  FL_ASSIGN_OR_RETURN(PodSums pods, SumPods(std::move(workers.reader), pod_options, after_pod, &report));
  FL_ASSIGN_OR_RETURN(const JobColumns columns, JobColumns::Find(jobs.reader));
  const std::function<bool()> after_job = meter.Follow(jobs);
  FL_ASSIGN_OR_RETURN(std::vector<ImportedJob> imported,
                      JobReader(std::move(jobs.reader), columns, &pods, &report).Read(after_job));
  AddPodsWithoutJob(pods, options, &report, &imported);
  return Assemble(std::move(imported), options, std::move(report));
}

Result<Input> OpenFile(const std::string& path) {
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file) return NotFound(fmt::format("{}: cannot be opened; expected a readable CSV file", path));
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return OpenInput(std::move(file), path, error ? 0.0 : static_cast<double>(size));
}

Status ValidateOptions(const LingjunImportOptions& options) {
  if (options.min_duration_s >= 0 && options.min_duration_s <= kMaxSeconds) return OkStatus();
  return InvalidArgument(
      fmt::format("min_duration_s: expected seconds in [0, {:.0f}], found {}", kMaxSeconds, options.min_duration_s));
}

}  // namespace

Result<LingjunImport> ImportLingjun(const LingjunFiles& files, const LingjunImportOptions& options) {
  FL_RETURN_IF_ERROR(ValidateOptions(options));
  FL_ASSIGN_OR_RETURN(Input jobs, OpenFile(files.jobs));
  FL_ASSIGN_OR_RETURN(Input workers, OpenFile(files.workers));
  std::optional<Input> topology;
  if (!files.topology.empty()) {
    FL_ASSIGN_OR_RETURN(topology, OpenFile(files.topology));
  }
  return Import(std::move(jobs), std::move(workers), std::move(topology), options);
}

Result<LingjunImport> ImportLingjun(LingjunStreams streams, const LingjunImportOptions& options) {
  FL_RETURN_IF_ERROR(ValidateOptions(options));
  FL_ASSIGN_OR_RETURN(Input jobs, OpenInput(std::move(streams.jobs), "job.csv", 0));
  FL_ASSIGN_OR_RETURN(Input workers, OpenInput(std::move(streams.workers), "worker.csv", 0));
  std::optional<Input> topology;
  if (streams.topology) {
    FL_ASSIGN_OR_RETURN(topology, OpenInput(std::move(streams.topology), "topo.csv", 0));
  }
  return Import(std::move(jobs), std::move(workers), std::move(topology), options);
}

}  // namespace fairlead::trace

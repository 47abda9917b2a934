#include "trace/lingjun_pods.h"

#include <algorithm>
#include <map>

#include "trace/lingjun_time.h"
#include "trace/pod_resources.h"

namespace fairlead::trace {

namespace {

struct Columns {
  size_t job_name, host_ip, created, running, finished, resources;

  static Result<Columns> Find(const CsvReader& reader) {
    Columns columns{};
    FL_ASSIGN_OR_RETURN(columns.job_name, reader.Column("job_name"));
    FL_ASSIGN_OR_RETURN(columns.host_ip, reader.Column("host_ip"));
    FL_ASSIGN_OR_RETURN(columns.created, reader.Column("gmt_created"));
    FL_ASSIGN_OR_RETURN(columns.running, reader.Column("gmt_pod_running"));
    FL_ASSIGN_OR_RETURN(columns.finished, reader.Column("gmt_pod_finished"));
    FL_ASSIGN_OR_RETURN(columns.resources, reader.Column("RES"));
    return columns;
  }
};

// RES texts repeat: a handful of pod shapes makes up most of the file.
class ResourceCache {
 public:
  // Nothing: the text can't be read.
  std::optional<PodResources> Parse(std::string_view text) {
    const auto found = known_.find(text);
    if (found != known_.end()) return found->second;
    const Result<PodResources> parsed = ParsePodResources(text);
    const auto resources = parsed.ok() ? std::make_optional(*parsed) : std::nullopt;
    if (known_.size() >= kMaxTexts) known_.clear();
    known_.emplace(text, resources);
    return resources;
  }

 private:
  static constexpr size_t kMaxTexts = 1024;
  std::map<std::string, std::optional<PodResources>, std::less<>> known_;
};

class PodReader {
 public:
  PodReader(CsvReader reader, const Columns& columns, const PodOptions& options, CleaningReport* report)
      : reader_(std::move(reader)), columns_(columns), options_(options), report_(*report) {}

  Result<PodSums> Read(const std::function<bool()>& after_row) {
    while (reader_.Next()) {
      ++report_.num_worker_rows;
      AddRow();
      if (!after_row()) return Status(StatusCode::kCancelled, "stopped while reading the pods");
    }
    FL_RETURN_IF_ERROR(reader_.status());
    return std::move(sums_);
  }

 private:
  void Add(Trap trap) {
    // The first place is kept; making its text for each pod would cost more than the rest of the row.
    report_.Add(trap, report_.count(trap) == 0 ? reader_.Where() : "");
  }

  void AddRow() {
    const std::string_view name = reader_.field(columns_.job_name);
    auto sum = sums_.find(name);
    if (sum == sums_.end()) sum = sums_.emplace(name, PodSum{}).first;

    const std::string_view text = reader_.field(columns_.resources);
    if (text.empty()) return Add(Trap::kPodWithoutResources);
    const std::optional<PodResources> resources = cache_.Parse(text);
    if (!resources) return Add(Trap::kPodUnreadableResources);
    if (!AddTimes(&sum->second)) return;
    AddHost(&sum->second);
    report_.num_rdma_pods += resources->rdma;
    sum->second.num_pods += 1;
    sum->second.gpus += resources->gpus;
    sum->second.gpus_per_pod_max = std::max(sum->second.gpus_per_pod_max, resources->gpus);
  }

  // False: the pod is to be left out.
  bool AddTimes(PodSum* sum) {
    const std::string_view created_text = reader_.field(columns_.created);
    const std::string_view finished_text = reader_.field(columns_.finished);
    const auto created = ParseLingjunTime(created_text);
    const auto finished = ParseLingjunTime(finished_text);
    if (created_text.empty() || finished_text.empty()) {
      Add(Trap::kPodWithoutTime);
    } else {
      const auto running = ParseLingjunTime(reader_.field(columns_.running));
      if (!created || !finished || *finished <= running.value_or(*created)) {
        Add(Trap::kPodWithoutDuration);
        if (options_.drop_without_duration) return false;
      }
    }
    if (created) sum->first_created_s = std::min(*created, sum->first_created_s.value_or(*created));
    if (finished) sum->last_finished_s = std::max(*finished, sum->last_finished_s.value_or(*finished));
    return true;
  }

  void AddHost(PodSum* sum) {
    if (options_.known_hosts == nullptr || options_.known_hosts->contains(reader_.field(columns_.host_ip))) return;
    Add(Trap::kPodOnUnknownHost);
    if (!sum->on_unknown_host) Add(Trap::kJobOnUnknownHost);
    sum->on_unknown_host = true;
  }

  CsvReader reader_;
  Columns columns_;
  const PodOptions& options_;
  CleaningReport& report_;
  ResourceCache cache_;
  PodSums sums_;
};

}  // namespace

Result<PodSums> SumPods(CsvReader reader, const PodOptions& options, const std::function<bool()>& after_row,
                        CleaningReport* report) {
  FL_ASSIGN_OR_RETURN(const Columns columns, Columns::Find(reader));
  return PodReader(std::move(reader), columns, options, report).Read(after_row);
}

}  // namespace fairlead::trace

#include "trace/lingjun_example.h"

#include <fmt/format.h>

#include <streambuf>

#include "base/random.h"
#include "trace/lingjun_time.h"

namespace fairlead::trace {

namespace {

constexpr size_t kNumUnnamedColumns = 98;
// 2023-07-15 00:00: days from 1970 are 53 * 365 + 13 leap days + 195.
constexpr int64_t kFirstDay = (53 * 365 + 13 + 195) * int64_t{86400};

std::string Hash(uint64_t x) {
  return fmt::format("{:016x}{:016x}{:016x}{:016x}", MixBits(x), MixBits(x + 1), MixBits(x + 2), MixBits(x + 3));
}

std::string QuoteField(const std::string& text) {
  std::string quoted(1, '"');
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

std::string Resources(uint32_t gpus) {
  if (gpus == 0) return R"({"cpu": "500m", "memory": "512Mi", "ephemeral-storage": "20Gi"})";
  return fmt::format(
      R"({{"cpu": "{}", "memory": "{}Gi", "nvidia.com/gpu": "{}", "ephemeral-storage": "1Ti", "koordinator.sh/rdma": "1"}})",
      12 * gpus, 200 * gpus, gpus);
}

class ExampleBuilder {
 public:
  explicit ExampleBuilder(uint64_t seed) : random_(seed) {
    example_.jobs = LingjunJobHeader();
    example_.workers = LingjunPodHeader();
    example_.topology = "ip,DSW,PSW,ASW\n";
    for (uint64_t host = 0; host < kNumHosts; ++host) {
      example_.topology += fmt::format("{},G6,P{},S{}\n", Hash(host), 8 + host % 3, host / 8);
    }
    example_.planted.num_hosts = kNumHosts;
  }

  void AddGoodJob() {
    LingjunJobRow row = NextRow();
    const uint64_t kind = random_.Below(4);
    const auto gpus = static_cast<uint32_t>(kind == 0   ? 0
                                            : kind == 1 ? 1 + random_.Below(7)
                                                        : 8 * (1 + random_.Below(4)));
    if (random_.Below(4) == 0) {
      row.stopped = std::exchange(row.finished, "");
      row.status = "Stopped";
      Plant(Trap::kStoppedNotFinished);
    }
    if (random_.Below(3) == 0) {
      row.is_deleted = "1";
      Plant(Trap::kDeleted);
    }
    AddPods(row, gpus);
    Expect(row, gpus);
  }

  void AddDroppedRows() {
    const auto add = [this](Trap trap, auto&& change) {
      LingjunJobRow row = NextRow();
      change(&row);
      AddPods(row, 8);
      AddRow(row);
      Plant(trap);
    };
    add(Trap::kNeverRan, [](LingjunJobRow* r) { r->running.clear(); });
    add(Trap::kNeverRan, [](LingjunJobRow* r) { r->running.clear(), r->finished.clear(), r->stopped = r->submitted; });
    add(Trap::kNeverRan, [](LingjunJobRow* r) { r->submitted = r->running = r->finished = r->created = ""; });
    Plant(Trap::kNoTimes);
    add(Trap::kStillRunning, [](LingjunJobRow* r) { r->finished.clear(), r->status = "Running"; });
    add(Trap::kRanBeforeSubmitted, [](LingjunJobRow* r) { r->running = "2023/7/5 15:18"; });
    add(Trap::kUnreadableTime, [](LingjunJobRow* r) { r->finished = "2023-07-20T01:00:00Z"; });
    add(Trap::kEndedBeforeRunning, [](LingjunJobRow* r) { r->finished = "2023/7/14 23:59"; });
    add(Trap::kDuplicateJob, [this](LingjunJobRow* r) { r->id = first_id_; });
    add(Trap::kTooLarge, [](LingjunJobRow* r) { r->model = std::string(300, 'x'); });
  }

  void AddOddJobs() {
    LingjunJobRow row = NextRow();
    row.finished = row.running;
    AddPods(row, 8);
    Expect(row, 8);
    Plant(Trap::kZeroMinutes);

    row = NextRow();
    row.model = "";
    AddPods(row, 8);
    Plant(Trap::kEmptyModel);
    Expect(row, 8);

    row = NextRow();
    row.model = "GPT-13B";
    AddPods(row, 16);
    Expect(row, 16);
    Plant(Trap::kJobWithoutPods);
    Expect(NextRow(), 0);
  }

  // Each is the ninth to twelfth GPU of a job with a complete first pod.
  void AddOddPods() {
    const auto add = [this](Trap trap, uint32_t gpus, auto&& change) {
      const LingjunJobRow row = NextRow();
      AddPods(row, 8);
      LingjunPodRow pod{row.job_name, Hash(1), row.submitted, "", row.finished, Resources(4)};
      change(&pod);
      AddPod(pod);
      Plant(trap);
      Expect(row, gpus);
    };
    add(Trap::kPodWithoutTime, 12, [](LingjunPodRow* p) { p->created.clear(); });
    add(Trap::kPodWithoutTime, 12, [](LingjunPodRow* p) { p->finished.clear(); });
    add(Trap::kPodWithoutDuration, 12, [](LingjunPodRow* p) { p->finished = p->created; });
    add(Trap::kPodWithoutDuration, 12, [](LingjunPodRow* p) { p->finished = "soon"; });
    add(Trap::kPodOnUnknownHost, 12, [](LingjunPodRow* p) { p->host_ip = Hash(999); });
    Plant(Trap::kJobOnUnknownHost);
    add(Trap::kPodWithoutResources, 8, [](LingjunPodRow* p) { p->resources.clear(); });
    add(Trap::kPodUnreadableResources, 8, [](LingjunPodRow* p) { p->resources = R"({"nvidia.com/gpu": "many"})"; });
    add(Trap::kPodUnreadableResources, 8, [](LingjunPodRow* p) { p->resources = "8"; });
  }

  void AddPodsWithoutJob() {
    AddPod({"dlcwithtimes", Hash(2), "2023/7/20 10:00", "", "2023/7/20 12:00", Resources(8)});
    AddPod({"dlcwithtimes", Hash(3), "2023/7/20 10:01", "2023/7/20 10:02", "2023/7/20 12:30", Resources(8)});
    Plant(Trap::kPodsWithoutJobKept);
    // Five days and ten hours after the first midnight; 10:00 to 12:30.
    example_.expected.push_back({.id = "dlcwithtimes",
                                 .submit_s = 5 * kSecondsPerDay + 36000,
                                 .duration_s = 9000,
                                 .gpus = 16,
                                 .gpus_per_host = 8,
                                 .model = "unknown"});
    AddPod({"dlcwithouttimes", Hash(2), "", "", "", Resources(8)});
    Plant(Trap::kPodWithoutTime);
    Plant(Trap::kPodsWithoutJobDropped);
  }

  LingjunExample Build() && {
    SortJobs(&example_.expected);
    example_.planted.num_jobs = example_.expected.size();
    for (const TraceJob& job : example_.expected) example_.planted.num_gpu_jobs += job.gpus > 0;
    return std::move(example_);
  }

 private:
  static constexpr uint64_t kNumHosts = 64;

  void Plant(Trap trap) { example_.planted.Add(trap, ""); }

  // A good row with GPUs to be added; the first one is on the first day.
  LingjunJobRow NextRow() {
    constexpr const char* kModels[] = {"unknown", "cognitive", "llama", "GPT-13b"};
    const bool is_first = next_id_ == 10288;
    const int64_t submit_s = kFirstDay + 60 * (47 + (is_first ? 0 : static_cast<int64_t>(random_.Below(22'000))));
    const int64_t running_s = submit_s + 60 * static_cast<int64_t>(random_.Below(5));
    LingjunJobRow row;
    row.id = fmt::format("{}", next_id_);
    row.job_name = fmt::format("dlc{:x}", MixBits(next_id_++) >> 8);
    if (is_first) first_id_ = row.id;
    row.model = kModels[random_.Below(4)];
    row.status = "Succeeded";
    row.submitted = row.created = FormatLingjunTime(submit_s);
    row.running = FormatLingjunTime(running_s);
    row.finished = FormatLingjunTime(running_s + 60 * static_cast<int64_t>(1 + random_.Below(5000)));
    return row;
  }

  void AddRow(const LingjunJobRow& row) {
    example_.jobs += RenderRow(row);
    ++example_.planted.num_job_rows;
  }

  void AddPod(const LingjunPodRow& pod) {
    example_.workers += RenderRow(pod);
    ++example_.planted.num_worker_rows;
  }

  // Full pods of 8 and one with the rest.
  void AddPods(const LingjunJobRow& row, uint32_t gpus) {
    const std::string end = row.finished.empty() ? row.stopped : row.finished;
    const std::string created = row.submitted.empty() ? "2023/7/16 01:00" : row.submitted;
    for (uint32_t begin = 0; begin == 0 || begin < gpus; begin += 8) {
      AddPod({row.job_name, Hash(random_.Below(kNumHosts)), created, "",
              ParseLingjunTime(end).value_or(0) > *ParseLingjunTime(created) ? end : "2023/8/6 00:00",
              Resources(std::min(8u, gpus - begin))});
    }
  }

  // Adds a row that will be in the trace.
  void Expect(const LingjunJobRow& row, uint32_t gpus) {
    AddRow(row);
    const int64_t submit_s = *ParseLingjunTime(row.submitted);
    const int64_t end_s = *ParseLingjunTime(row.finished.empty() ? row.stopped : row.finished);
    example_.expected.push_back({.id = row.id,
                                 .submit_s = static_cast<double>(submit_s - kFirstDay),
                                 .duration_s = static_cast<double>(end_s - *ParseLingjunTime(row.running)),
                                 .gpus = gpus,
                                 .gpus_per_host = std::min(8u, gpus),
                                 .model = row.model.empty() ? "unknown" : row.model});
  }

  Random random_;
  uint64_t next_id_ = 10288;
  std::string first_id_;
  LingjunExample example_;
};

// Makes rows on demand.
class WorkerStream : public std::streambuf {
 public:
  WorkerStream(uint64_t num_rows, uint64_t num_jobs) : num_rows_(num_rows), num_jobs_(num_jobs) {}

 protected:
  int_type underflow() override {
    if (next_row_ > num_rows_) return traits_type::eof();
    text_ = next_row_ == 0
                ? LingjunPodHeader()
                : RenderRow(LingjunPodRow{fmt::format("dlc{}", next_row_ % num_jobs_), Hash(next_row_),
                                          "2023/7/20 10:00", "2023/7/20 10:02", "2023/7/20 12:30", Resources(8)});
    ++next_row_;
    setg(text_.data(), text_.data(), text_.data() + text_.size());
    return traits_type::to_int_type(text_.front());
  }

 private:
  uint64_t num_rows_, num_jobs_;
  uint64_t next_row_ = 0;  // 0: the header
  std::string text_;
};

class WorkerIstream : public std::istream {
 public:
  WorkerIstream(uint64_t num_rows, uint64_t num_jobs) : std::istream(nullptr), buffer_(num_rows, num_jobs) {
    rdbuf(&buffer_);
  }

 private:
  WorkerStream buffer_;
};

}  // namespace

std::string LingjunJobHeader() {
  return "id,uid,job_name,kind,namespace,model,status,reason,reason_code,etcd_version,cluster_id,tenant_id,group_id,"
         "user_id,"
         "is_enable_gpu_topo_aware,is_deleted,is_in_k8s,gmt_job_submitted,gmt_job_running,gmt_job_stopped,gmt_job_"
         "finished,"
         "gmt_created,gmt_modified,extended,job_max_running_time_minutes,workspace_id,workspace_name,resource_id,"
         "priority,"
         "resource_level,sub_status,job_restart_times" +
         std::string(kNumUnnamedColumns, ',') + "\n";
}

std::string RenderRow(const LingjunJobRow& row) {
  const std::string hash = Hash(1);
  return fmt::format(
      "{},{},{},PyTorchJob,{},{},{},\"a reason, in words\",Code,{},{},{},{},{},0,{},0,{},{},{},{},{},{},,0,{},{},"
      "{},1.0,L0,Normal,{}\n",
      row.id, hash, row.job_name, hash, QuoteField(row.model), row.status, hash, hash, hash, hash, hash, row.is_deleted,
      row.submitted, row.running, row.stopped, row.finished, row.created, row.created, hash, hash, hash,
      std::string(kNumUnnamedColumns, ','));
}

std::string LingjunPodHeader() {
  return "id,job_name,worker_name,replica_type,host_ip,gmt_created,gmt_pod_running,gmt_pod_finished,RES\n";
}

std::string RenderRow(const LingjunPodRow& row) {
  return fmt::format("1,{},{}-worker-0,worker,{},{},{},{},{}\n", row.job_name, row.job_name, row.host_ip, row.created,
                     row.running, row.finished, QuoteField(row.resources));
}

LingjunExample MakeLingjunExample(size_t num_jobs, uint64_t seed) {
  ExampleBuilder builder(seed);
  for (size_t i = 0; i < num_jobs; ++i) builder.AddGoodJob();
  builder.AddDroppedRows();
  builder.AddOddJobs();
  builder.AddOddPods();
  builder.AddPodsWithoutJob();
  return std::move(builder).Build();
}

std::unique_ptr<std::istream> MakeEndlessWorkers(uint64_t num_rows, uint64_t num_jobs) {
  return std::make_unique<WorkerIstream>(num_rows, num_jobs);
}

}  // namespace fairlead::trace

#include "service/agent/gpu_meter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "base/file_reader.h"
#include "base/steady_seconds.h"
#include "service/agent/segment_folder.h"
#include "shm/job_name.h"
#include "telemetry/dcgm_metrics.h"

namespace fairlead::service {

namespace {

constexpr std::string_view kJobVariable = "FAIRLEAD_JOB=";
constexpr size_t kEnvironmentBytesMax = size_t{4} << 20;
// An exporter looks each 30 s as a rule: what it says holds for no longer than two looks.
constexpr Seconds kExporterPeriod(30);
constexpr double kExporterSpanMaxS = 2 * kExporterPeriod.value();
constexpr std::string_view kMpsServer = "nvidia-cuda-mps";  // as long as the kernel lets names be

// Floating-point operations of one SM in a cycle, where the unit is active all the time.
struct SmRates {
  int major, minor;  // compute capability
  uint32_t cores;
  double hmma, dfma, fp64, fp32, fp16;
};
constexpr int kAnyMinor = -1;
// Of 9 measured to be 2 to 4 % higher than this; the others are from data sheets.
constexpr SmRates kSmRates[] = {{7, 0, 64, 1024, 0, 64, 128, 256},
                                {8, 0, 64, 2048, 128, 64, 128, 512},
                                {9, kAnyMinor, 128, 4096, 256, 128, 256, 512},
                                {10, kAnyMinor, 128, 8192, 256, 128, 256, 512},
                                {12, kAnyMinor, 128, 1024, 4, 4, 256, 256}};

const SmRates* FindRates(int major, int minor) {
  const auto* rates = std::ranges::find_if(
      kSmRates, [&](const SmRates& of) { return of.major == major && (of.minor == minor || of.minor == kAnyMinor); });
  return rates == std::end(kSmRates) ? nullptr : rates;
}

// Shares of the time in which units were active, 0 to 1.
struct Activity {
  double sm = 0;
  double hmma = 0, dfma = 0, fp64 = 0, fp32 = 0, fp16 = 0;
};

struct Work {
  double flop = 0;
  double busy_s = 0;
};

// A process, not its number: numbers come again.
struct ProcessIdentity {
  int32_t pid = 0;
  uint64_t start = 0;  // ProcessStat::start
  auto operator<=>(const ProcessIdentity&) const = default;
};

struct MeteredProcess {
  std::string job;  // as it calls it
  uint32_t user = 0;
  Work work;
};

using MeteredProcesses = std::map<ProcessIdentity, MeteredProcess>;

std::string JobOf(std::string_view environment) {
  while (!environment.empty()) {
    const std::string_view variable = environment.substr(0, environment.find('\0'));
    if (variable.starts_with(kJobVariable)) return std::string(variable.substr(kJobVariable.size()));
    environment.remove_prefix(std::min(environment.size(), variable.size() + 1));
  }
  return {};
}

class Gpu {
 public:
  // Args: has_exporter: a GPU without counters is measured by one. Errors: what it lacks.
  static Result<Gpu> Open(const nvml::Library& nvml, nvml::Device device, bool has_exporter) {
    Gpu gpu(nvml, device);
    nvml::GpmSupport support = {.version = 1, .is_supported = 0};
    int major = 0;
    int minor = 0;
    uint32_t cores = 0;
    FL_RETURN_IF_ERROR(nvml.Check(nvml->GpmQueryDeviceSupport(device, &support), "counters"));
    FL_RETURN_IF_ERROR(nvml.Check(nvml->DeviceGetCudaComputeCapability(device, &major, &minor), "compute capability"));
    FL_RETURN_IF_ERROR(nvml.Check(nvml->DeviceGetNumGpuCores(device, &cores), "number of cores"));
    const SmRates* rates = FindRates(major, minor);
    if (support.is_supported == 0 && !has_exporter) {
      return Unavailable("it has no counters of its work (Hopper and later have; a DCGM exporter may, see --dcgm)");
    }
    if (rates == nullptr) return Unavailable(fmt::format("compute capability {}.{} is unknown", major, minor));
    gpu.rates_ = *rates;
    gpu.num_sms_ = cores / rates->cores;
    gpu.sampled_s_ = SteadySeconds();
    if (support.is_supported == 0) return gpu;
    for (nvml::Sample* sample : {&gpu.earlier_, &gpu.later_}) {
      FL_RETURN_IF_ERROR(nvml.Check(nvml->GpmSampleAlloc(sample), "memory for counters"));
    }
    FL_RETURN_IF_ERROR(nvml.Check(nvml->GpmSampleGet(device, gpu.earlier_), "counters"));
    gpu.sampled_s_ = SteadySeconds();
    return gpu;
  }
  ~Gpu() {
    for (nvml::Sample sample : {earlier_, later_}) {
      if (sample != nullptr) (*nvml_)->GpmSampleFree(sample);
    }
  }
  Gpu(Gpu&& other) noexcept
      : nvml_(other.nvml_),
        device_(other.device_),
        rates_(other.rates_),
        num_sms_(other.num_sms_),
        earlier_(std::exchange(other.earlier_, nullptr)),
        later_(std::exchange(other.later_, nullptr)),
        sampled_s_(other.sampled_s_) {}
  Gpu& operator=(Gpu&&) = delete;

  nvml::Device device() const { return device_; }
  bool has_counters() const { return earlier_ != nullptr; }

  // By its counters, since the call before. Errors: those of the driver; then nothing is known of the time since.
  Result<Work> Measure() {
    FL_RETURN_IF_ERROR(nvml_->Check((*nvml_)->GpmSampleGet(device_, later_), "counters"));
    const double now_s = SteadySeconds();
    const double seconds = now_s - std::exchange(sampled_s_, now_s);
    nvml::GpmMetrics request = {};
    request.version = 1;
    request.num_metrics = nvml::kMetrics.size();
    request.earlier = earlier_;
    request.later = later_;
    for (size_t m = 0; m < nvml::kMetrics.size(); ++m) request.metrics[m].id = static_cast<uint32_t>(nvml::kMetrics[m]);
    const Status status = nvml_->Check((*nvml_)->GpmMetricsGet(&request), "counters");
    std::swap(earlier_, later_);
    FL_RETURN_IF_ERROR(status);
    const auto active = [&](nvml::Metric metric) {
      const auto at = std::ranges::find(nvml::kMetrics, metric) - nvml::kMetrics.begin();
      const nvml::GpmMetric& got = request.metrics[static_cast<size_t>(at)];
      return got.code == nvml::kSuccess && got.value > 0 ? std::min(got.value, 100.0) / 100 : 0.0;
    };
    return WorkOf({.sm = active(nvml::Metric::kSmActive),
                   .hmma = active(nvml::Metric::kTensorHmma),
                   .dfma = active(nvml::Metric::kTensorDfma),
                   .fp64 = active(nvml::Metric::kFp64),
                   .fp32 = active(nvml::Metric::kFp32),
                   .fp16 = active(nvml::Metric::kFp16)},
                  seconds);
  }

  // By what an exporter says of the time since the call before. Errors: those of the driver, likewise.
  Result<Work> Take(const telemetry::DcgmActivity& said) {
    const double now_s = SteadySeconds();
    const double seconds = std::min(now_s - std::exchange(sampled_s_, now_s), kExporterSpanMaxS);
    // It does not tell tensor cores' 64-bit operations from others.
    return WorkOf({.sm = said.sm, .hmma = said.tensor, .fp64 = said.fp64, .fp32 = said.fp32, .fp16 = said.fp16},
                  seconds);
  }

 private:
  Gpu(const nvml::Library& nvml, nvml::Device device) : nvml_(&nvml), device_(device) {}

  Result<Work> WorkOf(const Activity& active, double seconds) const {
    uint32_t clock_mhz = 0;
    FL_RETURN_IF_ERROR(nvml_->Check((*nvml_)->DeviceGetClockInfo(device_, nvml::kSmClock, &clock_mhz), "clock"));
    const double of_a_cycle = active.hmma * rates_.hmma + active.dfma * rates_.dfma + active.fp64 * rates_.fp64 +
                              active.fp32 * rates_.fp32 + active.fp16 * rates_.fp16;
    return Work{.flop = of_a_cycle * num_sms_ * clock_mhz * 1e6 * seconds, .busy_s = active.sm * seconds};
  }

  const nvml::Library* nvml_;
  nvml::Device device_;
  SmRates rates_ = {};
  uint32_t num_sms_ = 0;
  nvml::Sample earlier_ = nullptr;  // null: it has no counters
  nvml::Sample later_ = nullptr;
  double sampled_s_ = 0;
};

}  // namespace

class GpuMeter::Loop {
 public:
  Loop(std::shared_ptr<const nvml::Library> nvml, const GpuMeterOptions& options)
      : options_(options), nvml_(std::move(nvml)) {}
  ~Loop() {
    {
      const std::lock_guard lock(stop_mutex_);
      is_stopping_ = true;
    }
    stopping_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  Status Begin() {
    FL_ASSIGN_OR_RETURN(const auto devices, nvml_->Devices());
    for (size_t index = 0; index < devices.size(); ++index) {
      auto gpu = Gpu::Open(*nvml_, devices[index], options_.take_dcgm != nullptr);
      if (gpu.ok()) {
        gpus_.push_back(std::move(*gpu));
        numbers_.push_back(static_cast<uint32_t>(index));
      } else {
        const auto name = nvml_->NameOf(devices[index]);
        unmeasured_.push_back(
            fmt::format("GPU {} ({}): {}", index, name.ok() ? *name : "no name", gpu.status().message()));
      }
    }
    if (gpus_.empty()) {
      return {StatusCode::kFailedPrecondition,
              unmeasured_.empty() ? "there are no GPUs" : fmt::format("{}", fmt::join(unmeasured_, "; "))};
    }
    processes_.resize(gpus_.size());
    thread_ = std::thread([this] { Run(); });
    return OkStatus();
  }

  std::vector<agent::GpuSums> Read(JobIdentifier* jobs, SimTime at) const {
    std::map<std::string, agent::GpuSums> sums_of;
    const std::lock_guard lock(mutex_);
    for (size_t gpu = 0; gpu < processes_.size(); ++gpu) {
      std::set<std::string> on_gpu;
      for (const auto& [identity, process] : processes_[gpu]) {
        if (process.job.empty()) continue;
        const std::string key = jobs->KeyOf(process.job, process.user, identity.pid, at);
        agent::GpuSums& sums = sums_of[key];
        sums.job = key;
        if (on_gpu.insert(key).second) ++sums.num_gpus;
        sums.resolution = std::max(sums.resolution, ResolutionOf(gpu));
        sums.flop += Flop(process.work.flop);
        sums.busy += Seconds(process.work.busy_s);
      }
    }
    std::vector<agent::GpuSums> result;
    result.reserve(sums_of.size());
    for (auto& [key, sums] : sums_of) result.push_back(std::move(sums));
    return result;
  }

  // How long a GPU's sums stay what they are.
  Seconds ResolutionOf(size_t gpu) const {
    return gpus_[gpu].has_counters() ? options_.period.seconds() : kExporterPeriod;
  }

  std::string Describe() const {
    std::string text = fmt::format("measures the work of {} GPU{}", gpus_.size(), gpus_.size() == 1 ? "" : "s");
    const auto by_exporter = std::ranges::count_if(gpus_, [](const Gpu& gpu) { return !gpu.has_counters(); });
    if (by_exporter > 0) text += fmt::format(", {} of them by the DCGM exporter", by_exporter);
    for (const std::string& reason : unmeasured_) text += "; not of " + reason;
    return text;
  }

 private:
  void Run() {
    const auto period = std::chrono::nanoseconds(options_.period.ns());
    auto next = std::chrono::steady_clock::now();
    auto next_processes = next;
    std::unique_lock lock(stop_mutex_);
    while (!is_stopping_) {
      lock.unlock();
      if (next_processes <= next) {
        LookForProcesses();
        next_processes = next + std::chrono::nanoseconds(options_.process_period.ns());
      }
      Measure();
      next = std::max(next + period, std::chrono::steady_clock::now());
      lock.lock();
      stopping_.wait_until(lock, next, [this] { return is_stopping_; });
    }
  }

  void Measure() {
    std::map<uint32_t, telemetry::DcgmActivity> said;
    if (options_.take_dcgm) said = telemetry::ReadDcgmActivity(options_.take_dcgm());
    for (size_t g = 0; g < gpus_.size(); ++g) {
      if (gpus_[g].has_counters()) {
        Share(g, gpus_[g].Measure());
      } else if (const auto found = said.find(numbers_[g]); found != said.end()) {
        Share(g, gpus_[g].Take(found->second));
      }
    }
  }

  void Share(size_t g, const Result<Work>& work) {
    if (!work.ok()) return;
    const std::lock_guard lock(mutex_);
    for (auto& [identity, process] : processes_[g]) {
      process.work.flop += work->flop / static_cast<double>(processes_[g].size());
      process.work.busy_s += work->busy_s / static_cast<double>(processes_[g].size());
    }
  }

  void LookForProcesses() {
    for (size_t g = 0; g < gpus_.size(); ++g) {
      const auto pids = nvml_->ProcessesOn(gpus_[g].device());
      if (!pids.ok()) continue;  // those of before
      MeteredProcesses there = ProcessesThere(*pids, processes_[g]);
      const std::lock_guard lock(mutex_);
      processes_[g] = std::move(there);
    }
  }

  // Args: known: those of before; what can't be read now is as it was.
  MeteredProcesses ProcessesThere(const std::vector<int32_t>& pids, const MeteredProcesses& known) const {
    MeteredProcesses there;
    for (const int32_t pid : pids) {
      const auto stat = ReadProcessStat(options_.proc_folder, pid);
      if (!stat.ok()) {
        there.insert(known.lower_bound({.pid = pid, .start = 0}), known.upper_bound({.pid = pid, .start = UINT64_MAX}));
        continue;
      }
      if (stat->state == model::ProcessState::kGone) continue;
      const ProcessIdentity identity = {.pid = pid, .start = stat->start};
      MeteredProcess process;
      const auto before = known.find(identity);
      if (before != known.end()) process = before->second;
      // One that names no job is looked at again: it may have been about to start its program.
      const bool is_known = !process.job.empty() || Identify(pid, &process) || before != known.end();
      if (is_known) there.emplace(identity, std::move(process));
    }
    return there;
  }

  // Whose work it does. False: it has ended, or nothing is known of it, or it only works for others.
  bool Identify(int32_t pid, MeteredProcess* process) const {
    const std::string folder = fmt::format("{}/{}", options_.proc_folder, pid);
    const auto user = ReadProcessUser(options_.proc_folder, pid);
    if (!user.ok() || !user->has_value()) return false;
    if (ReadFileIfThere(folder + "/comm").starts_with(kMpsServer)) return false;
    const auto environment = ReadWholeFile(folder + "/environ", kEnvironmentBytesMax);
    process->job = environment.ok() ? JobOf(*environment) : "";
    if (!shm::IsProcessJobName(process->job)) process->job.clear();
    process->user = **user;
    return true;
  }

  const GpuMeterOptions options_;
  const std::shared_ptr<const nvml::Library> nvml_;
  std::vector<Gpu> gpus_;                // of the thread, once it runs
  std::vector<uint32_t> numbers_;        // NVML's, as gpus_
  std::vector<std::string> unmeasured_;  // why

  mutable std::mutex mutex_;
  std::vector<MeteredProcesses> processes_;  // [GPU]; changed by the thread only

  std::mutex stop_mutex_;
  std::condition_variable stopping_;
  bool is_stopping_ = false;
  std::thread thread_;
};

Result<std::unique_ptr<GpuMeter>> GpuMeter::Start(std::shared_ptr<const nvml::Library> nvml,
                                                  const GpuMeterOptions& options) {
  auto loop = std::make_unique<Loop>(std::move(nvml), options);
  FL_RETURN_IF_ERROR(loop->Begin());
  return std::unique_ptr<GpuMeter>(new GpuMeter(std::move(loop)));
}

GpuMeter::GpuMeter(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
GpuMeter::~GpuMeter() = default;

std::vector<agent::GpuSums> GpuMeter::Read(JobIdentifier* jobs, SimTime at) const { return loop_->Read(jobs, at); }

std::string GpuMeter::Describe() const { return loop_->Describe(); }

}  // namespace fairlead::service

#include "service/agent/symptom_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/file_reader.h"
#include "base/printable_ascii.h"
#include "telemetry/kernel_message.h"

namespace fairlead::service {

namespace fs = std::filesystem;
using model::HostSymptom;
using model::HostSymptomRecord;

namespace {

constexpr size_t kRecordBytesMax = 8192;  // of /dev/kmsg; longer ones don't exist
constexpr size_t kRecordsOfLook = 4096;   // a flood waits for the next look
constexpr size_t kTextBytesMax = 200;

struct PortCounter {
  const char* file;  // in the folder of a port
  HostSymptom symptom;
  const char* text;
};
constexpr std::array kPortCounters = {
    PortCounter{"counters/link_downed", HostSymptom::kLinkDown, "its link went down"},
    PortCounter{"counters/link_error_recovery", HostSymptom::kNicErrors, "its link was trained again"},
    PortCounter{"counters/symbol_error", HostSymptom::kNicErrors, "symbol errors"},
    PortCounter{"hw_counters/rx_icrc_encapsulated", HostSymptom::kNicErrors, "packets with wrong check sums"},
};

struct ThrottleReason {
  uint64_t bit;
  const char* text;
};
constexpr std::array kThrottleReasons = {
    ThrottleReason{nvml::kHardwareSlowdown, "hardware slowdown"},
    ThrottleReason{nvml::kSoftwareThermal, "software thermal slowdown"},
    ThrottleReason{nvml::kHardwareThermal, "hardware thermal slowdown"},
    ThrottleReason{nvml::kPowerBrake, "power brake"},
};

// The kernel's messages may quote anything.
std::string CleanText(std::string_view text) { return PrintableAscii(text.substr(0, kTextBytesMax)); }

void Add(HostSymptom symptom, uint32_t device, std::string text, std::vector<HostSymptomRecord>* symptoms) {
  HostSymptomRecord record = {.symptom = symptom, .device = device, .text = std::move(text)};
  const bool is_new = std::ranges::find(*symptoms, record) == symptoms->end();
  if (is_new && symptoms->size() < SymptomWatch::kSymptomsOfLook) symptoms->push_back(std::move(record));
}

// Names in a folder, ascending; none where there is no such folder.
std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  std::ranges::sort(names);
  return names;
}

std::optional<uint64_t> ReadCount(const std::string& path) {
  const std::string text = ReadFileIfThere(path);
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() ? std::optional(count) : std::nullopt;
}

}  // namespace

SymptomWatch::SymptomWatch(const SymptomWatchOptions& options)
    : options_(options), kernel_log_(open(options.kernel_log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  if (!kernel_log_.is_open()) {
    kernel_log_status_ = Unavailable(fmt::format("{}: {}", options.kernel_log, std::strerror(errno)));
  } else {
    lseek(kernel_log_.get(), 0, SEEK_END);
  }
  if (options_.nvml != nullptr) {
    auto devices = options_.nvml->Devices();
    if (devices.ok()) gpus_ = std::move(*devices);
  }
  Look();
}

std::vector<HostSymptomRecord> SymptomWatch::Look() {
  Symptoms symptoms;
  ReadKernelLog(&symptoms);
  AskNvml(&symptoms);
  ReadDcgm(&symptoms);
  ReadPorts(&symptoms);
  return symptoms;
}

// Each read gives one record; one that was overwritten before it was read is EPIPE, and reading goes on behind it.
void SymptomWatch::ReadKernelLog(Symptoms* symptoms) {
  if (!kernel_log_.is_open()) return;
  std::array<char, kRecordBytesMax> bytes;
  for (size_t turn = 0; turn < kRecordsOfLook; ++turn) {
    const ssize_t size = read(kernel_log_.get(), bytes.data(), bytes.size());
    if (size < 0 && (errno == EPIPE || errno == EINTR)) continue;
    if (size <= 0) return;
    const auto message = telemetry::ReadKernelRecord({bytes.data(), static_cast<size_t>(size)});
    if (!message.has_value()) continue;
    const auto symptom = telemetry::ReadKernelMessage(*message);
    if (!symptom.has_value()) continue;
    const uint32_t device = model::IsOfGpu(symptom->symptom) ? GpuAt(symptom->device) : 0;
    Add(symptom->symptom, device, CleanText(*message), symptoms);
  }
}

void SymptomWatch::AskNvml(Symptoms* symptoms) {
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    const auto& nvml = *options_.nvml;
    uint64_t reasons = 0;
    if (nvml->DeviceGetCurrentClocksThrottleReasons(gpus_[gpu], &reasons) == nvml::kSuccess) {
      std::vector<std::string_view> texts;
      for (const ThrottleReason& reason : kThrottleReasons) {
        if ((reasons & reason.bit) != 0) texts.emplace_back(reason.text);
      }
      if (!texts.empty()) {
        Add(HostSymptom::kGpuThrottled, static_cast<uint32_t>(gpu),
            fmt::format("clocks reduced: {}", fmt::join(texts, ", ")), symptoms);
      }
    }
    uint64_t errors = 0;
    const nvml::Code code =
        nvml->DeviceGetTotalEccErrors(gpus_[gpu], nvml::kUncorrectedErrors, nvml::kSinceDriverLoad, &errors);
    if (code != nvml::kSuccess) continue;  // as on GPUs without ECC
    const auto [known, is_first] = memory_errors_.try_emplace(gpu, errors);
    if (!is_first && errors > known->second) {
      Add(HostSymptom::kGpuMemoryError, static_cast<uint32_t>(gpu),
          fmt::format("{} uncorrected memory errors", errors - known->second), symptoms);
    }
    known->second = errors;
  }
}

// Less often than there are looks.
void SymptomWatch::ReadDcgm(Symptoms* symptoms) {
  if (!options_.take_dcgm) return;
  const std::string text = options_.take_dcgm();
  if (text.empty()) return;
  for (const HostSymptomRecord& record : dcgm_.Read(text)) {
    Add(record.symptom, record.device, CleanText(record.text), symptoms);
  }
}

void SymptomWatch::ReadPorts(Symptoms* symptoms) {
  for (const std::string& device : NamesIn(options_.port_folder)) {
    const std::string ports = fmt::format("{}/{}/ports", options_.port_folder, device);
    for (const std::string& port : NamesIn(ports)) {
      for (const PortCounter& counter : kPortCounters) {
        const std::string path = fmt::format("{}/{}/{}", ports, port, counter.file);
        const auto count = ReadCount(path);
        if (!count.has_value()) continue;
        const auto [known, is_first] = port_counts_.try_emplace(path, *count);
        if (!is_first && *count > known->second) {
          const std::string name = fmt::format("{} port {}", device, port);
          Add(counter.symptom, 0, fmt::format("{}: {} (+{})", CleanText(name), counter.text, *count - known->second),
              symptoms);
        }
        known->second = *count;  // drivers that are loaded again begin at 0
      }
    }
  }
}

uint32_t SymptomWatch::GpuAt(std::string_view pci_address) const {
  if (pci_address.empty()) return 0;
  const std::vector<std::string> names = NamesIn(options_.gpu_folder);  // few, and looked for with errors only
  const auto at = std::ranges::find_if(names, [&](const std::string& name) { return name.starts_with(pci_address); });
  return at == names.end() ? 0 : static_cast<uint32_t>(at - names.begin());
}

}  // namespace fairlead::service

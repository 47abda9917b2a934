#include "telemetry/dcgm_metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "telemetry/kernel_message.h"

namespace fairlead::telemetry {

namespace {

using model::HostSymptom;
using model::HostSymptomRecord;

constexpr std::string_view kPrefix = "DCGM_FI_DEV_";
constexpr std::string_view kActivityPrefix = "DCGM_FI_PROF_";
// Of an instance of a divided GPU.
constexpr std::string_view kInstanceLabel = "GPU_I_ID";
constexpr uint32_t kGpusMax = 1024;
// Blank values of DCGM are near the greatest of a signed integer.
constexpr double kBlankFrom = 1e18;
constexpr size_t kValuesMax = 16'384;

struct GrowingField {
  std::string_view name;
  HostSymptom symptom;
  std::string_view text;
};
constexpr std::array kGrowingFields = {
    GrowingField{"ECC_DBE_VOL_TOTAL", HostSymptom::kGpuMemoryError, "uncorrected memory errors"},
    GrowingField{"ECC_DBE_AGG_TOTAL", HostSymptom::kGpuMemoryError, "uncorrected memory errors ever"},
    GrowingField{"UNCORRECTABLE_REMAPPED_ROWS", HostSymptom::kGpuMemoryError, "rows remapped for uncorrected errors"},
    GrowingField{"NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", HostSymptom::kNvlinkError, "NVLink flits with wrong check sums"},
    GrowingField{"NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", HostSymptom::kNvlinkError, "NVLink data with wrong check sums"},
    GrowingField{"NVLINK_REPLAY_ERROR_COUNT_TOTAL", HostSymptom::kNvlinkError, "NVLink replays"},
    GrowingField{"NVLINK_RECOVERY_ERROR_COUNT_TOTAL", HostSymptom::kNvlinkError, "NVLink recoveries"},
};

struct ActivityField {
  std::string_view name;
  double DcgmActivity::*share;
};
constexpr std::array kActivityFields = {
    ActivityField{"SM_ACTIVE", &DcgmActivity::sm},          ActivityField{"PIPE_TENSOR_ACTIVE", &DcgmActivity::tensor},
    ActivityField{"PIPE_FP64_ACTIVE", &DcgmActivity::fp64}, ActivityField{"PIPE_FP32_ACTIVE", &DcgmActivity::fp32},
    ActivityField{"PIPE_FP16_ACTIVE", &DcgmActivity::fp16},
};

struct Reason {
  uint64_t bit;
  std::string_view text;
};
constexpr std::array kThrottleReasons = {
    Reason{0x8, "hardware slowdown"},
    Reason{0x20, "software thermal slowdown"},
    Reason{0x40, "hardware thermal slowdown"},
    Reason{0x80, "power brake"},
};

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

std::string_view TakeName(std::string_view* text) {
  const auto end = std::ranges::find_if_not(*text, IsNameChar);
  const std::string_view name = text->substr(0, static_cast<size_t>(end - text->begin()));
  text->remove_prefix(name.size());
  return name;
}

void SkipBlanks(std::string_view* text) { text->remove_prefix(std::min(text->find_first_not_of(" \t"), text->size())); }

bool Take(char c, std::string_view* text) {
  if (!text->starts_with(c)) return false;
  text->remove_prefix(1);
  return true;
}

// Behind the opening quote, with the closing one.
std::optional<std::string> TakeQuoted(std::string_view* text) {
  std::string value;
  while (!text->empty()) {
    const char c = text->front();
    text->remove_prefix(1);
    if (c == '"') return value;
    if (c != '\\') {
      value += c;
      continue;
    }
    if (text->empty()) return std::nullopt;
    value += text->front() == 'n' ? '\n' : text->front();
    text->remove_prefix(1);
  }
  return std::nullopt;
}

// Behind the opening brace, with the closing one.
bool TakeLabels(std::string_view* text, PrometheusSample* sample) {
  for (;;) {
    SkipBlanks(text);
    if (Take('}', text)) return true;
    const std::string_view name = TakeName(text);
    SkipBlanks(text);
    if (name.empty() || !Take('=', text)) return false;
    SkipBlanks(text);
    if (!Take('"', text)) return false;
    std::optional<std::string> value = TakeQuoted(text);
    if (!value.has_value()) return false;
    sample->labels.insert_or_assign(std::string(name), std::move(*value));
    SkipBlanks(text);
    if (!Take(',', text) && !text->starts_with('}')) return false;
  }
}

std::optional<uint32_t> GpuOf(const PrometheusSample& sample) {
  const auto label = sample.labels.find("gpu");
  if (label == sample.labels.end()) return std::nullopt;
  const std::string& text = label->second;
  uint32_t gpu = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gpu);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && gpu < kGpusMax;
  return is_number ? std::optional(gpu) : std::nullopt;
}

// What this Xid is a sign of, as in the kernel's log; nothing: the job's own mistake, or mended.
std::optional<HostSymptom> SymptomOfXid(double xid) {
  if (!(xid >= 1) || xid > 100'000) return std::nullopt;
  const auto found = ReadKernelMessage(fmt::format("NVRM: Xid (PCI:0000:00:00): {}, ", static_cast<uint32_t>(xid)));
  return found.has_value() ? std::optional(found->symptom) : std::nullopt;
}

}  // namespace

std::optional<PrometheusSample> ReadPrometheusLine(std::string_view line) {
  SkipBlanks(&line);
  PrometheusSample sample;
  sample.name = TakeName(&line);
  if (sample.name.empty()) return std::nullopt;
  SkipBlanks(&line);
  if (Take('{', &line) && !TakeLabels(&line, &sample)) return std::nullopt;
  SkipBlanks(&line);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), sample.value);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  // A time may follow.
  return line.empty() || line.front() == ' ' || line.front() == '\t' || line.front() == '\r' ? std::optional(sample)
                                                                                             : std::nullopt;
}

std::map<uint32_t, DcgmActivity> ReadDcgmActivity(std::string_view text) {
  std::map<uint32_t, DcgmActivity> activities;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto sample = ReadPrometheusLine(line);
    if (!sample.has_value() || !sample->name.starts_with(kActivityPrefix)) continue;
    const auto field =
        std::ranges::find(kActivityFields, sample->name.substr(kActivityPrefix.size()), &ActivityField::name);
    const std::optional<uint32_t> gpu = GpuOf(*sample);
    if (field == kActivityFields.end() || !gpu.has_value() || sample->labels.contains(kInstanceLabel)) continue;
    if (!(sample->value >= 0 && sample->value <= 1)) continue;  // blank, or no share
    activities[*gpu].*(field->share) = sample->value;
  }
  return activities;
}

double DcgmMetrics::GrowthOf(const Key& key, double value) {
  if (values_.size() >= kValuesMax && !values_.contains(key)) return 0;
  const auto [known, is_first] = values_.try_emplace(key, value);
  const double growth = is_first ? 0 : value - known->second;
  known->second = value;
  return std::max(growth, 0.0);
}

std::vector<HostSymptomRecord> DcgmMetrics::Read(std::string_view text) {
  std::vector<HostSymptomRecord> symptoms;
  const auto add = [&](HostSymptom symptom, uint32_t gpu, std::string what) {
    symptoms.push_back({.symptom = symptom, .device = gpu, .text = std::move(what)});
  };
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto sample = ReadPrometheusLine(line);
    if (!sample.has_value() || !sample->name.starts_with(kPrefix)) continue;
    const std::optional<uint32_t> gpu = GpuOf(*sample);
    if (!gpu.has_value() || !(sample->value >= 0) || sample->value >= kBlankFrom) continue;
    const std::string_view field = sample->name.substr(kPrefix.size());
    const Key key(std::string(field), *gpu);
    if (field == "XID_ERRORS") {
      const auto known = values_.find(key);
      const bool is_new = known != values_.end() && known->second != sample->value;
      GrowthOf(key, sample->value);
      const auto symptom = is_new ? SymptomOfXid(sample->value) : std::nullopt;
      if (symptom.has_value()) add(*symptom, *gpu, fmt::format("Xid {:.0f} (DCGM)", sample->value));
    } else if (field == "ROW_REMAP_FAILURE") {
      if (sample->value > 0) add(HostSymptom::kGpuMemoryError, *gpu, "a row can't be remapped (DCGM)");
    } else if (field == "CLOCKS_EVENT_REASONS" || field == "CLOCK_THROTTLE_REASONS") {
      std::vector<std::string_view> texts;
      for (const Reason& reason : kThrottleReasons) {
        if ((static_cast<uint64_t>(sample->value) & reason.bit) != 0) texts.push_back(reason.text);
      }
      if (!texts.empty()) {
        add(HostSymptom::kGpuThrottled, *gpu, fmt::format("clocks reduced: {} (DCGM)", fmt::join(texts, ", ")));
      }
    } else if (field == "THERMAL_VIOLATION") {
      if (GrowthOf(key, sample->value) > 0) add(HostSymptom::kGpuThrottled, *gpu, "clocks reduced: heat (DCGM)");
    } else {
      const auto growing = std::ranges::find(kGrowingFields, field, &GrowingField::name);
      if (growing == kGrowingFields.end()) continue;
      const double growth = GrowthOf(key, sample->value);
      if (growth > 0) add(growing->symptom, *gpu, fmt::format("{} (DCGM: +{:.0f})", growing->text, growth));
    }
  }
  return symptoms;
}

}  // namespace fairlead::telemetry

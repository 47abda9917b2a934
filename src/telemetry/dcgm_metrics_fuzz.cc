// Any bytes as the exporter's text, twice: names come from the line, and devices are few.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "telemetry/dcgm_metrics.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto sample = fairlead::telemetry::ReadPrometheusLine(text);
  if (sample.has_value()) FL_CHECK(sample->name.data() >= text.data() && sample->name.size() <= text.size());
  fairlead::telemetry::DcgmMetrics metrics;
  metrics.Read(text.substr(0, size / 2));
  for (const auto& symptom : metrics.Read(text)) FL_CHECK(symptom.device < 1024);
  for (const auto& [gpu, activity] : fairlead::telemetry::ReadDcgmActivity(text)) {
    FL_CHECK(gpu < 1024 && activity.tensor >= 0 && activity.tensor <= 1);
  }
  return 0;
}

// Any bytes as files of a foreign format: an error, or a recording that fits its own layout. The first byte chooses the
// format, a line "---" ends a file.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "telemetry/import_texts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace telemetry = fairlead::telemetry;
  if (size == 0) return 0;
  constexpr telemetry::RecordingFormat kFormats[] = {telemetry::RecordingFormat::kFlightRecorder,
                                                     telemetry::RecordingFormat::kInspector,
                                                     telemetry::RecordingFormat::kRas};
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<std::pair<std::string, std::string>> files;
  for (size_t end = 0; end != std::string::npos;) {
    end = text.find("\n---\n");
    files.emplace_back("fuzz" + std::to_string(files.size()), text.substr(0, end));
    if (end != std::string::npos) text.erase(0, end + 5);
  }
  for (const auto& [name, content] : files) {
    const auto format = telemetry::DetectFormat(content, name);
    FL_CHECK(format.ok() || format.status().message().starts_with(name + ":"));
  }
  const auto recording = telemetry::ImportTexts(kFormats[data[0] % 3], files);
  FL_CHECK_MSG(recording.status().code() != fairlead::StatusCode::kInternal, recording.status().message());
  return 0;
}

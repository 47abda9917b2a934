#include "telemetry/detect_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "base/check.h"
#include "telemetry/flight_recorder.h"
#include "telemetry/nccl_inspector.h"
#include "telemetry/nccl_ras.h"
#include "telemetry/pickle_reader.h"
#include "telemetry/ras_text.h"
#include "telemetry/telemetry_dump.h"

namespace fairlead::telemetry {

namespace {

constexpr std::array kFormats = {RecordingFormat::kDump, RecordingFormat::kFlightRecorder, RecordingFormat::kInspector,
                                 RecordingFormat::kRas};

struct Mark {
  std::string_view key;  // that occurs only in files of the format
  RecordingFormat format;
};

constexpr std::array kMarks = std::to_array<Mark>({
    {kTelemetryDumpKey, RecordingFormat::kDump},
    {"inspector_output_format_version", RecordingFormat::kInspector},
    {"coll_perf", RecordingFormat::kInspector},
    {"p2p_perf", RecordingFormat::kInspector},
    {"communicators_count", RecordingFormat::kRas},
    {"missing_ranks", RecordingFormat::kRas},
    {"collective_counts", RecordingFormat::kRas},
    {"pg_config", RecordingFormat::kFlightRecorder},
    {"pg_status", RecordingFormat::kFlightRecorder},
    {"collective_seq_id", RecordingFormat::kFlightRecorder},
    {"profiling_name", RecordingFormat::kFlightRecorder},
});

// Texts that a colon follows, in order.
std::vector<std::string_view> FindKeys(std::string_view text) {
  std::vector<std::string_view> keys;
  for (size_t begin = text.find('"'); begin != std::string_view::npos; begin = text.find('"', begin)) {
    size_t end = begin + 1;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    if (end >= text.size()) break;
    const size_t next = text.find_first_not_of(" \t\r\n", end + 1);
    if (next != std::string_view::npos && text[next] == ':') keys.push_back(text.substr(begin + 1, end - begin - 1));
    begin = end + 1;
  }
  return keys;
}

// What else the file may be, and what to do then.
std::string_view GuessForeign(std::string_view head) {
  if (IsPickle(head)) return "is a pickle, but not one of PyTorch's flight recorder";
  if (head.starts_with("\x1f\x8b")) return "is compressed; unpack it with gunzip";
  if (head.starts_with("\x28\xb5\x2f\xfd")) return "is compressed; unpack it with unzstd";
  if (head.starts_with("PK\x03\x04")) return "is an archive; unpack it with unzip";
  if (head.find('\0') != std::string_view::npos) return "is no text; recordings are JSON in UTF-8";
  return "";
}

// Texts of a pickle are plain in it.
bool IsOfFlightRecorder(std::string_view pickle) {
  constexpr std::array<std::string_view, 5> kKeys = {"pg_config", "pg_status", "collective_seq_id", "profiling_name",
                                                     "nccl_comm_state"};
  return std::ranges::any_of(kKeys, [&](std::string_view key) { return pickle.find(key) != std::string_view::npos; });
}

}  // namespace

std::string_view Name(RecordingFormat format) {
  switch (format) {
    case RecordingFormat::kDump:
      return "dump";
    case RecordingFormat::kFlightRecorder:
      return "flight-recorder";
    case RecordingFormat::kInspector:
      return "inspector";
    case RecordingFormat::kRas:
      return "ras";
  }
  return "";
}

Result<RecordingFormat> ParseFormat(std::string_view name) {
  std::vector<std::string_view> names;
  for (const RecordingFormat format : kFormats) {
    if (Name(format) == name) return format;
    names.push_back(Name(format));
  }
  return InvalidArgument(fmt::format("format: expected one of {}, found '{}'", fmt::join(names, ", "), name));
}

Result<RecordingFormat> DetectFormat(std::string_view head, const std::string& name) {
  head = head.substr(0, kDetectionBytes);
  if (head.find_first_not_of(" \t\r\n") == std::string_view::npos) return InvalidArgument(name + ": is empty");
  if (IsPickle(head) && IsOfFlightRecorder(head)) return RecordingFormat::kFlightRecorder;
  const std::string_view foreign = GuessForeign(head);
  if (!foreign.empty()) return InvalidArgument(fmt::format("{}: {}", name, foreign));
  if (IsRasText(head)) return RecordingFormat::kRas;
  const std::vector<std::string_view> keys = FindKeys(head);
  const std::set<std::string_view> known(keys.begin(), keys.end());
  for (const Mark& mark : kMarks) {
    if (known.contains(mark.key)) return mark.format;
  }
  return InvalidArgument(
      fmt::format("{}: expected a recording of fairlead, a PyTorch flight recorder dump, a file of NCCL "
                  "Inspector or an answer of NCCL RAS, and found none of them; name it with --input-format",
                  name));
}

std::unique_ptr<Importer> CreateImporter(RecordingFormat format) {
  switch (format) {
    case RecordingFormat::kFlightRecorder:
      return std::make_unique<FlightRecorderImporter>();
    case RecordingFormat::kInspector:
      return std::make_unique<NcclInspectorImporter>();
    case RecordingFormat::kRas:
      return std::make_unique<NcclRasImporter>();
    case RecordingFormat::kDump:
      break;
  }
  FL_CHECK(false);
  return nullptr;
}

}  // namespace fairlead::telemetry

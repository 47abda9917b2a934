// Which kind of recording a file is: by its content, whatever it is called.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "telemetry/recording.h"

namespace fairlead::telemetry {

enum class RecordingFormat {
  kDump,            // our own, telemetry_dump.h
  kFlightRecorder,  // flight_recorder.h
  kInspector,       // nccl_inspector.h
  kRas,             // nccl_ras.h
};

// "dump", "flight-recorder", "inspector", "ras".
std::string_view Name(RecordingFormat format);
// Errors: kInvalidArgument, with the names there are.
Result<RecordingFormat> ParseFormat(std::string_view name);

// This much of a file is enough to tell.
inline constexpr size_t kDetectionBytes = size_t{1} << 16;

// Args: the first kDetectionBytes of a file, or all of a shorter one; `name` replaces the file in messages. Errors:
// kInvalidArgument: what it is instead, as far as that is known, and what to do about it.
Result<RecordingFormat> DetectFormat(std::string_view head, const std::string& name);

// Of a foreign format; our own has none, see TelemetryReader.
std::unique_ptr<Importer> CreateImporter(RecordingFormat format);

}  // namespace fairlead::telemetry

// For tests and fuzzers: an import of texts, checked.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "telemetry/detect_format.h"

namespace fairlead::telemetry {

// Args: file names and contents. Errors: those of the importer, and kInternal when the recording that it made does not
// fit its own layout, is not in order of time, or does not survive writing and reading back.
Result<Recording> ImportTexts(RecordingFormat format, const std::vector<std::pair<std::string, std::string>>& files);

// The one report of a rank; nothing if there are none or several.
const model::RankReport* FindReport(const Recording& recording, uint32_t rank);

}  // namespace fairlead::telemetry

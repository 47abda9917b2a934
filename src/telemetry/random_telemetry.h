// Random layouts and reports for property tests and fuzzers: every field takes its extremes, all ids fit the layout.
#pragma once

#include <vector>

#include "base/random.h"
#include "model/telemetry.h"

namespace fairlead::telemetry {

model::JobLayout DrawLayout(Random& random);
model::RankReport DrawRankReport(const model::JobLayout& layout, Random& random);
model::HostReport DrawHostReport(const model::JobLayout& layout, Random& random);
// The layout and `num_reports` reports.
std::vector<model::TelemetryRecord> DrawRecording(size_t num_reports, Random& random);

}  // namespace fairlead::telemetry

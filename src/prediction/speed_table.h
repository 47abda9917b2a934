// Reading tables of measured speeds with parameter servers.
//
// CSV with a header. Required: model, global_batch, num_ps, num_workers, and one of step_time_s (an empty field means
// that the measurement failed) or total_samples_per_s. Optional: num_gpus, cores_per_ps, cores_per_worker. Other
// columns are ignored, so the public table of DL2 (converted to CSV) is read as it is.
#pragma once

#include <istream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "prediction/speed_model.h"

namespace fairlead::prediction {

// Model name -> its measurements, in the order of the file.
using SpeedTable = std::map<std::string, std::vector<SpeedObservation>>;

// Errors: those of CsvReader; kInvalidArgument for a field that is no number or an impossible configuration, with
// file:line.
Result<SpeedTable> LoadSpeedTable(const std::string& path);
// The same from a stream; `name` replaces the file name in messages.
Result<SpeedTable> ReadSpeedTable(std::unique_ptr<std::istream> stream, const std::string& name);

}  // namespace fairlead::prediction

// Any bytes as a table of measured speeds: an error that names the file, or measurements to which a model with no
// negative time can be fitted, or which are refused with a reason.
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>

#include "base/check.h"
#include "prediction/speed_model.h"
#include "prediction/speed_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace prediction = fairlead::prediction;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto table = prediction::ReadSpeedTable(std::make_unique<std::istringstream>(text), "fuzz.csv");
  if (!table.ok()) {
    FL_CHECK_MSG(table.status().message().starts_with("fuzz.csv"), table.status().message());
    return 0;
  }
  FL_CHECK(!table->empty());
  for (const auto& [model, observations] : *table) {
    const auto fitted = prediction::FitSpeedModel(observations);
    if (!fitted.ok()) continue;
    for (const prediction::SpeedObservation& observation : observations) {
      FL_CHECK(fitted->IterationTime(observation.configuration).value() >= 0);
    }
  }
  return 0;
}

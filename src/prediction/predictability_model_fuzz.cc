// Any bytes as a model file, and as the content that its checksum protects: an error that names the file, or a model
// with scores in [0, 1] that survives writing and reading back.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "prediction/job_features.h"
#include "prediction/predictability_model.h"

namespace {

namespace prediction = fairlead::prediction;

void CheckModel(const prediction::PredictabilityModel& model) {
  for (const double value : {0.0, 1.0, -1e3, 1e300}) {
    prediction::FeatureValues features{};
    features.fill(value);
    const double score = model.Score(features);
    FL_CHECK(score >= 0 && score <= 1);
  }
  const auto again = prediction::PredictabilityModel::Parse(model.ToText(), "again.json");
  FL_CHECK_MSG(again.ok(), again.status().message());
  FL_CHECK(again->ToText() == model.ToText());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto parse : {prediction::PredictabilityModel::Parse, prediction::PredictabilityModel::ParseContent}) {
    const auto model = parse(text, "fuzz.json");
    if (model.ok()) {
      CheckModel(*model);
    } else {
      FL_CHECK_MSG(model.status().message().starts_with("fuzz.json"), model.status().message());
    }
  }
  return 0;
}

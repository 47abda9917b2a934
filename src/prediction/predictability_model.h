// The classifier as a whole: trained on finished jobs, saved, loaded, asked for a score and for what moved it.
//
// File        JSON: {"format": "fairlead-predictability", "version": 1, "checksum": "…16 hexadecimal digits",
//             "model": {"learner", "features", "medians", "mean", "deviation", "content"}}. The checksum covers the
//             text of "model"; a file that was cut or edited is refused. Version 1 is read by this and later releases.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "prediction/classifier_selection.h"
#include "prediction/job_features.h"
#include "prediction/job_table.h"

namespace fairlead::prediction {

// What one feature did to a score.
struct ScoreInfluence {
  std::string feature;
  double value = 0;
  double usual = 0;  // its median over the training rows
  double moved = 0;  // the score less what it would be with the usual value
};

class PredictabilityModel {
 public:
  // Args: the table's columns are kFeatureNames; `selection` keeps at least one.
  static PredictabilityModel Train(const FeatureTable& table, LearnerKind kind, const FeatureSelection& selection,
                                   uint64_t seed);

  // Errors: kNotFound; kInvalidArgument for a file of another format, version or checksum, naming what was found.
  static Result<PredictabilityModel> Load(const std::string& path);
  static Result<PredictabilityModel> Parse(std::string_view text, const std::string& name);
  // What the envelope of format, version and checksum holds: for fuzzers, which can't guess checksums.
  static Result<PredictabilityModel> ParseContent(std::string_view text, const std::string& name);
  Status Save(const std::string& path) const;
  std::string ToText() const;

  LearnerKind kind() const { return classifier_.learner->kind(); }
  size_t num_features() const { return classifier_.columns.size(); }

  // In [0, 1]; 0.5 and more: predictable.
  double Score(const FeatureValues& features) const;
  // Influences, strongest first. They need not add up to the score: features act together.
  std::vector<ScoreInfluence> Explain(const FeatureValues& features) const;

 private:
  static Result<PredictabilityModel> FromJson(const nlohmann::json& content);

  TrainedClassifier classifier_;
  Eigen::VectorXd medians_;  // [feature of kFeatureNames]
};

// Rows for prefixes of finished jobs: of each job the shortest, and every `stride`-th epoch after that. Neighbouring
// prefixes are much alike; a larger stride costs little accuracy and saves most of the training time.
FeatureTable MakeTrainingTable(const JobTable& jobs, size_t stride = 1);

}  // namespace fairlead::prediction

#include "prediction/predictability_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/file_reader.h"
#include "base/file_writer.h"
#include "base/random.h"
#include "base/statistics.h"
#include "prediction/loss_cleaning.h"
#include "prediction/matrix_json.h"
#include "prediction/predictability.h"

namespace fairlead::prediction {

namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "fairlead-predictability";
constexpr int kVersion = 1;

std::string Checksum(std::string_view text) {
  uint64_t hash = MixBits(text.size());
  for (const char c : text) hash = CombineHash(hash, static_cast<unsigned char>(c));
  return fmt::format("{:016x}", hash);
}

Eigen::VectorXd ToVector(const FeatureValues& features) {
  return Eigen::Map<const Eigen::VectorXd>(features.data(), static_cast<Eigen::Index>(features.size()));
}

Result<std::vector<size_t>> ColumnsFromJson(const json& model) {
  std::vector<size_t> columns;
  const auto found = model.find("features");
  if (found == model.end() || !found->is_array() || found->empty()) {
    return InvalidArgument("features: expected a list of names");
  }
  for (const json& name : *found) {
    const auto known = std::ranges::find(kFeatureNames, name.is_string() ? name.get<std::string>() : "");
    if (known == kFeatureNames.end()) {
      return InvalidArgument(fmt::format("features: this release has no feature {}", name.dump()));
    }
    columns.push_back(static_cast<size_t>(known - kFeatureNames.begin()));
  }
  return columns;
}

Status CheckEnvelope(const json& file) {
  if (!file.is_object() || !file.contains("format") || file["format"] != kFormat) {
    return InvalidArgument(fmt::format("is no predictability model (expected \"format\": \"{}\")", kFormat));
  }
  if (!file.contains("version") || file["version"] != kVersion) {
    return InvalidArgument(fmt::format("has version {}, this release reads version {}; train the model again",
                                       file.contains("version") ? file["version"].dump() : "none", kVersion));
  }
  if (!file.contains("model") || !file["model"].is_object() || !file.contains("checksum") ||
      file["checksum"] != Checksum(file["model"].dump())) {
    return InvalidArgument("does not fit its checksum: it was cut or edited; copy or train it again");
  }
  return OkStatus();
}

}  // namespace

PredictabilityModel PredictabilityModel::Train(const FeatureTable& table, LearnerKind kind,
                                               const FeatureSelection& selection, uint64_t seed) {
  FL_CHECK(table.num_columns() == kNumFeatures);
  PredictabilityModel model;
  model.classifier_ = TrainClassifier(table, kind, selection, seed);
  model.medians_.resize(table.x.cols());
  for (Eigen::Index j = 0; j < table.x.cols(); ++j) {
    model.medians_(j) = Median({table.x.col(j).begin(), table.x.col(j).end()});
  }
  return model;
}

double PredictabilityModel::Score(const FeatureValues& features) const { return classifier_.Score(ToVector(features)); }

std::vector<ScoreInfluence> PredictabilityModel::Explain(const FeatureValues& features) const {
  const Eigen::VectorXd values = ToVector(features);
  const double score = classifier_.Score(values);
  std::vector<ScoreInfluence> influences;
  for (const size_t column : classifier_.columns) {
    const auto j = static_cast<Eigen::Index>(column);
    Eigen::VectorXd changed = values;
    changed(j) = medians_(j);
    influences.push_back({.feature = std::string(kFeatureNames[column]),
                          .value = values(j),
                          .usual = medians_(j),
                          .moved = score - classifier_.Score(changed)});
  }
  std::ranges::stable_sort(influences, std::greater(), [](const ScoreInfluence& i) { return std::abs(i.moved); });
  return influences;
}

std::string PredictabilityModel::ToText() const {
  json names = json::array();
  for (const size_t column : classifier_.columns) names.push_back(kFeatureNames[column]);
  const json model = {{"learner", Name(kind())},
                      {"features", names},
                      {"medians", VectorToJson(medians_)},
                      {"mean", VectorToJson(classifier_.standardization.mean)},
                      {"deviation", VectorToJson(classifier_.standardization.deviation)},
                      {"content", classifier_.learner->ToJson()}};
  const json file = {
      {"format", kFormat}, {"version", kVersion}, {"checksum", Checksum(model.dump())}, {"model", model}};
  return file.dump() + "\n";
}

Status PredictabilityModel::Save(const std::string& path) const { return WriteFileAtomically(path, ToText()); }

Result<PredictabilityModel> PredictabilityModel::FromJson(const json& content) {
  PredictabilityModel model;
  FL_ASSIGN_OR_RETURN(std::vector<size_t> columns, ColumnsFromJson(content));
  const size_t count = columns.size();
  FL_ASSIGN_OR_RETURN(Eigen::VectorXd medians, VectorFromJson(content, "medians", kNumFeatures));
  FL_ASSIGN_OR_RETURN(Eigen::VectorXd mean, VectorFromJson(content, "mean", count));
  FL_ASSIGN_OR_RETURN(Eigen::VectorXd deviation, VectorFromJson(content, "deviation", count));
  if (!(deviation.array() > 0).all()) return InvalidArgument("deviation: expected positive numbers");
  const auto kind = FindLearnerKind(content.value("learner", json()).is_string() ? content["learner"].get<std::string>()
                                                                                 : std::string());
  if (!kind) return InvalidArgument("learner: expected knn, logistic, forest, svm or mlp");
  FL_ASSIGN_OR_RETURN(auto learner, LearnerFromJson(*kind, content.value("content", json()), count));
  model.classifier_ = {std::move(columns), {std::move(mean), std::move(deviation)}, std::move(learner)};
  model.medians_ = std::move(medians);
  return model;
}

namespace {

Result<PredictabilityModel> Named(Result<PredictabilityModel> model, const std::string& name) {
  if (model.ok()) return model;
  return InvalidArgument(name + ": " + model.status().message());
}

}  // namespace

Result<PredictabilityModel> PredictabilityModel::Parse(std::string_view text, const std::string& name) {
  const json file = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const Status status = CheckEnvelope(file);
  return Named(status.ok() ? FromJson(file["model"]) : Result<PredictabilityModel>(status), name);
}

Result<PredictabilityModel> PredictabilityModel::ParseContent(std::string_view text, const std::string& name) {
  const json content = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!content.is_object()) return InvalidArgument(name + ": expected a JSON object");
  return Named(FromJson(content), name);
}

Result<PredictabilityModel> PredictabilityModel::Load(const std::string& path) {
  const Result<std::string> text = ReadWholeFile(path);
  if (text.ok()) return Parse(*text, path);
  return Status(text.status().code(), text.status().message() + "; make one with 'fairlead predict train'");
}

FeatureTable MakeTrainingTable(const JobTable& jobs, size_t stride) {
  FL_CHECK(stride >= 1);
  const LabelOptions options;
  std::vector<FeatureValues> rows;
  std::vector<double> labels;
  FeatureTable table;
  for (size_t job = 0; job < jobs.jobs.size(); ++job) {
    const JobRecord& record = jobs.jobs[job];
    const std::vector<int> job_labels = LabelPrefixes(record, jobs.true_ends[job], options);
    for (size_t i = 0; i < job_labels.size(); i += stride) {
      const std::span<const EpochReport> epochs(record.epochs);
      rows.push_back(ComputeFeatures(record.description, epochs.first(options.first_prefix + i)));
      labels.push_back(job_labels[i]);
      table.groups.push_back(job);
    }
  }
  table.names.assign(kFeatureNames.begin(), kFeatureNames.end());
  table.x.resize(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(kNumFeatures));
  table.y.resize(static_cast<Eigen::Index>(rows.size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    table.x.row(static_cast<Eigen::Index>(i)) = ToVector(rows[i]).transpose();
    table.y(static_cast<Eigen::Index>(i)) = labels[i];
  }
  return table;
}

}  // namespace fairlead::prediction

#include "experiment/outcome_store.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file_writer.h"
#include "version.h"

namespace fairlead::experiment {

namespace {

using Json = nlohmann::json;

// JSON has no NaN: a value that could not be found is null.
Json ValueToJson(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

double ValueOf(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

Json IdentityOf(const OutcomeKey& key) {
  return {{"experiment", key.name}, {"version", kVersion}, {"seed", key.seed}, {"reduced", key.reduced}};
}

// Throws what nlohmann-json throws.
KeptOutcome ParseOutcome(const Json& json) {
  KeptOutcome kept;
  kept.wall_s = json.at("wall_s").get<double>();
  for (const Json& value : json.at("values")) {
    kept.outcome.Set(value.at("row").get<std::string>(), ValueOf(value.at("value")));
  }
  for (const Json& figure : json.at("figures")) {
    kept.outcome.figures.push_back({figure.at("heading").get<std::string>(), figure.at("svg").get<std::string>(),
                                    figure.at("caption").get<std::string>()});
  }
  kept.outcome.notes = json.at("notes").get<std::vector<std::string>>();
  return kept;
}

}  // namespace

std::optional<KeptOutcome> OutcomeStore::Find(const OutcomeKey& key) const {
  std::ifstream file(PathOf(key), std::ios::binary);
  const Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("run", Json()) != IdentityOf(key)) return std::nullopt;
  try {
    return ParseOutcome(json);
  } catch (const Json::exception&) {
    return std::nullopt;  // it was edited
  }
}

Status OutcomeStore::Keep(const OutcomeKey& key, const KeptOutcome& kept) const {
  Json json = {{"run", IdentityOf(key)},
               {"wall_s", kept.wall_s},
               {"values", Json::array()},
               {"figures", Json::array()},
               {"notes", kept.outcome.notes}};
  for (const auto& [row, value] : kept.outcome.values) {
    json["values"].push_back({{"row", row}, {"value", ValueToJson(value)}});
  }
  for (const report::PageFigure& figure : kept.outcome.figures) {
    json["figures"].push_back({{"heading", figure.heading}, {"svg", figure.svg}, {"caption", figure.caption}});
  }
  return WriteFileAtomically(PathOf(key), json.dump(1) + "\n");
}

}  // namespace fairlead::experiment

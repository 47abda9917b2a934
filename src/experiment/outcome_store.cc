#include "experiment/outcome_store.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <variant>

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
  return {{"experiment", key.name},
          {"version", kVersion},
          {"seed", key.seed},
          {"reduced", key.reduced},
          {"num_draws", key.num_draws}};
}

Json KeptTable(const ResultTable& table) {
  Json lines = Json::array();
  for (const auto& line : table.lines) {
    Json cells = Json::array();
    for (const ResultTable::Cell& cell : line) {
      const auto* text = std::get_if<std::string>(&cell);
      cells.push_back(text != nullptr ? Json(*text) : ValueToJson(std::get<double>(cell)));
    }
    lines.push_back(std::move(cells));
  }
  return {{"title", table.title}, {"columns", table.columns}, {"lines", lines}, {"is_long", table.is_long}};
}

// Throws what nlohmann-json throws.
ResultTable ParseTable(const Json& json) {
  ResultTable table{.title = json.at("title").get<std::string>(),
                    .columns = json.at("columns").get<std::vector<std::string>>(),
                    .lines = {},
                    .is_long = json.at("is_long").get<bool>()};
  for (const Json& line : json.at("lines")) {
    auto& cells = table.lines.emplace_back();
    for (const Json& cell : line) {
      cells.push_back(cell.is_string() ? ResultTable::Cell(cell.get<std::string>()) : ResultTable::Cell(ValueOf(cell)));
    }
  }
  return table;
}

// Throws what nlohmann-json throws.
KeptOutcome ParseOutcome(const Json& json) {
  KeptOutcome kept;
  kept.wall_s = json.at("wall_s").get<double>();
  kept.outcome.answer = json.at("answer").get<std::string>();
  for (const Json& table : json.at("tables")) kept.outcome.tables.push_back(ParseTable(table));
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
  Json json = {{"run", IdentityOf(key)},     {"wall_s", kept.wall_s},   {"answer", kept.outcome.answer},
               {"values", Json::array()},    {"tables", Json::array()}, {"figures", Json::array()},
               {"notes", kept.outcome.notes}};
  for (const auto& [row, value] : kept.outcome.values) {
    json["values"].push_back({{"row", row}, {"value", ValueToJson(value)}});
  }
  for (const ResultTable& table : kept.outcome.tables) json["tables"].push_back(KeptTable(table));
  for (const report::PageFigure& figure : kept.outcome.figures) {
    json["figures"].push_back({{"heading", figure.heading}, {"svg", figure.svg}, {"caption", figure.caption}});
  }
  return WriteFileAtomically(PathOf(key), json.dump(1) + "\n");
}

}  // namespace fairlead::experiment

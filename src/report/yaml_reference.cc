#include "report/yaml_reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "report/number_format.h"

namespace fairlead::report {

namespace {

bool IsNumber(const YamlKey& key) {
  return key.type == YamlType::kInteger || key.type == YamlType::kNumber || key.type == YamlType::kIntegers;
}

// 1,000,000 rather than 1e+06; 1e-06 as it is.
std::string BoundText(double bound) {
  const bool is_count = bound >= 0 && bound == std::floor(bound) && bound < 1e10;
  return is_count ? FormatCount(static_cast<uint64_t>(bound)) : fmt::format("{:g}", bound);
}

Json BoundJson(double bound) {
  if (bound == std::floor(bound) && std::abs(bound) < 1e15) return static_cast<int64_t>(bound);
  return bound;
}

// --- schema

Json MapSchema(const YamlMapKeys& map);

Json ScalarSchema(const YamlKey& key) {
  const bool is_integer = key.type == YamlType::kInteger || key.type == YamlType::kIntegers;
  if (!IsNumber(key)) {
    Json schema = {{"type", key.type == YamlType::kSwitch ? "boolean" : "string"}};
    if (key.choices != nullptr) schema["enum"] = key.choices();
    // A name may look like a number.
    if (schema["type"] == "string" && key.choices == nullptr) schema["type"] = {"string", "number"};
    return schema;
  }
  Json schema = {{"type", is_integer ? "integer" : "number"}};
  if (std::isfinite(key.min)) schema["minimum"] = BoundJson(key.min);
  if (std::isfinite(key.max)) schema["maximum"] = BoundJson(key.max);
  if (key.unit == NumberUnit::kNone) return schema;
  const Json with_unit = {{"type", "string"}, {"pattern", "^[0-9.eE+-]+ ?[:A-Za-zµ/0-9]+$"}};
  return {{"anyOf", {schema, with_unit}}};
}

Json KeySchema(const YamlKey& key) {
  Json schema;
  switch (key.type) {
    case YamlType::kMap:
      schema = MapSchema(*key.map);
      break;
    case YamlType::kMaps:
      schema = {{"type", "array"}, {"items", MapSchema(*key.map)}};
      break;
    case YamlType::kTexts:
    case YamlType::kIntegers: {
      const Json item = ScalarSchema(key);
      schema = {{"anyOf", {item, {{"type", "array"}, {"items", item}}}}};
      break;
    }
    default:
      schema = ScalarSchema(key);
  }
  std::string description(key.meaning);
  if (const std::string_view unit = UnitName(key.unit); !unit.empty()) {
    description += fmt::format(" In {}, or with a unit, as in {}.", unit, UnitExample(key.unit));
  }
  if (!key.fallback.empty()) description += fmt::format(" Default: {}.", key.fallback);
  if (!key.otherwise.empty()) description += fmt::format(" Default: {}.", key.otherwise);
  schema["description"] = description;
  return schema;
}

// What holds only for maps of one kind: their own keys, and no key of other kinds.
Json KindSchema(const YamlMapKeys& map, std::string_view kind) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const YamlKey& key : map.keys) {
    if (key.kinds.empty()) continue;
    const YamlKey* declared = FindYamlKey(map, key.name, kind);
    const std::string name(key.name);
    if (declared == nullptr) {
      properties[name] = false;
    } else if (declared == &key) {
      properties[name] = KeySchema(key);
      if (key.is_required) required.push_back(name);
    }
  }
  const std::string kind_key(map.kind_key);
  return {{"if", {{"properties", {{kind_key, {{"const", kind}}}}}, {"required", {kind_key}}}},
          {"then", {{"properties", std::move(properties)}, {"required", std::move(required)}}}};
}

Json MapSchema(const YamlMapKeys& map) {
  Json properties = Json::object();
  Json required = Json::array();
  Json dependencies = Json::object();
  Json all_of = Json::array();
  for (const YamlKey& key : map.keys) {
    const std::string name(key.name);
    if (!key.with.empty()) dependencies[name] = {key.with};
    if (!key.kinds.empty()) {
      // Described for each kind below; here only so that the name is known.
      if (!properties.contains(name)) properties[name] = {{"description", key.meaning}};
      continue;
    }
    properties[name] = KeySchema(key);
    if (key.is_required) required.push_back(name);
  }
  for (const std::string_view group : map.exactly_one) {
    Json one_of = Json::array();
    for (const std::string_view name : SplitAtSpaces(group)) one_of.push_back({{"required", {name}}});
    all_of.push_back({{"oneOf", std::move(one_of)}});
  }
  if (!map.kind_key.empty()) {
    for (const std::string_view kind : FindYamlKey(map, map.kind_key, "")->choices()) {
      all_of.push_back(KindSchema(map, kind));
    }
  }
  Json schema = {{"type", "object"},
                 {"description", map.meaning},
                 {"properties", std::move(properties)},
                 {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = std::move(required);
  if (!dependencies.empty()) schema["dependencies"] = std::move(dependencies);
  if (!all_of.empty()) schema["allOf"] = std::move(all_of);
  return schema;
}

// --- page

std::string TypeText(const YamlKey& key) {
  switch (key.type) {
    case YamlType::kText:
      return key.choices == nullptr ? "text" : fmt::format("`{}`", fmt::join(key.choices(), "`, `"));
    case YamlType::kTexts:
      return key.choices == nullptr ? "list of texts" : fmt::format("list of `{}`", fmt::join(key.choices(), "`, `"));
    case YamlType::kSwitch:
      return "`true`, `false`";
    case YamlType::kInteger:
      return "integer";
    case YamlType::kIntegers:
      return "list of integers";
    case YamlType::kMap:
      return fmt::format("[{}](#{})", key.map->name, key.map->name);
    case YamlType::kMaps: {
      std::string anchor(key.map->name);
      std::ranges::replace(anchor, ' ', '-');
      return fmt::format("list of [{}](#{})", key.map->name, anchor);
    }
    case YamlType::kNumber:
      break;
  }
  const std::string_view unit = UnitName(key.unit);
  if (key.unit == NumberUnit::kRatio) return "number, or a ratio as `2:1`";
  return unit.empty() ? "number" : fmt::format("number, in {}", unit);
}

std::string RangeText(const YamlKey& key) {
  if (!IsNumber(key)) return "";
  if (std::isfinite(key.min) && std::isfinite(key.max)) {
    return fmt::format("{} to {}", BoundText(key.min), BoundText(key.max));
  }
  return std::isfinite(key.min) ? fmt::format("from {}", BoundText(key.min)) : "";
}

std::string DefaultText(const YamlKey& key) {
  if (key.is_required) return "required";
  if (!key.fallback.empty()) return fmt::format("`{}`", key.fallback);
  return std::string(key.otherwise);
}

std::string MeaningText(const YamlKey& key) {
  std::string text(key.meaning);
  if (!key.with.empty()) text += fmt::format(" Only beside `{}`.", key.with);
  if (!key.kinds.empty()) text += fmt::format(" Kinds: {}.", fmt::join(SplitAtSpaces(key.kinds), ", "));
  return text;
}

std::string MapPage(const YamlMapKeys& map) {
  std::string page = fmt::format("## {}\n\n{}\n\n", map.name, map.meaning);
  for (const std::string_view group : map.exactly_one) {
    page += fmt::format("Exactly one of `{}` has to be there.\n\n", fmt::join(SplitAtSpaces(group), "`, `"));
  }
  page += "| key | type | range | default | meaning | example |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const YamlKey& key : map.keys) {
    page += fmt::format("| `{}` | {} | {} | {} | {} | `{}: {}` |\n", key.name, TypeText(key), RangeText(key),
                        DefaultText(key), MeaningText(key), key.name, key.example);
  }
  return page;
}

void ListMaps(const YamlMapKeys& map, std::vector<const YamlMapKeys*>* maps) {
  if (std::ranges::count(*maps, &map) > 0) return;
  maps->push_back(&map);
  for (const YamlKey& key : map.keys) {
    if (key.map != nullptr) ListMaps(*key.map, maps);
  }
}

}  // namespace

Json YamlSchema(const YamlMapKeys& root, const std::string& id) {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"$id", id}, {"title", root.name}};
  schema.update(MapSchema(root));
  return schema;
}

std::string YamlReferencePage(const YamlMapKeys& root, const std::string& introduction) {
  std::vector<const YamlMapKeys*> maps;
  ListMaps(root, &maps);
  std::string page = introduction;
  for (const YamlMapKeys* map : maps) page += "\n" + MapPage(*map);
  return page;
}

}  // namespace fairlead::report

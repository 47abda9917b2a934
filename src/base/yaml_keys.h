// What the keys of a YAML file are: each declared once, in a table.
//
// The reader takes types, ranges, defaults and units from the declaration (yaml_reader.h: YamlMap::Declare), and
// refuses keys that have none. The reference page and the JSON schema are made from the same tables
// (report/yaml_reference.h). So neither can name a key that the reader does not know, nor miss one that it does.
//
//     constexpr YamlKey kJob[] = {
//         {.name = "gpus", .type = YamlType::kInteger, .meaning = "GPUs of the job.", .example = "16",
//          .is_required = true, .min = 1, .max = 1e9},
//         {.name = "arrival_s", .type = YamlType::kNumber, .unit = NumberUnit::kSeconds, .meaning = "When it arrives.",
//          .example = "1h", .fallback = "0", .min = 0, .max = 1e9},
//     };
//     constexpr YamlMapKeys kJobKeys = {.name = "job", .meaning = "One training job.", .keys = kJob};
#pragma once

#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/unit_text.h"

namespace fairlead {

enum class YamlType : uint8_t {
  kText,
  kInteger,
  kNumber,
  kSwitch,    // true or false
  kTexts,     // a list; one text counts as a list of one
  kIntegers,  // a list
  kMap,
  kMaps,  // a list of maps
};

struct YamlMapKeys;

struct YamlKey {
  std::string_view name;
  YamlType type = YamlType::kText;
  NumberUnit unit = NumberUnit::kNone;  // of numbers; in it unless the file says another (base/unit_text.h)
  std::string_view meaning;             // sentences
  std::string_view example;             // a value, as YAML
  bool is_required = false;
  std::string_view fallback = {};   // the value that holds without the key, as YAML
  std::string_view otherwise = {};  // where that is not a constant: the rule, as text
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::vector<std::string_view> (*choices)() = nullptr;  // the only texts allowed
  const YamlMapKeys* map = nullptr;                      // keys of a kMap, or of each of kMaps
  std::string_view kinds = {};  // only for these kinds of the map, separated by spaces; empty: for all
  std::string_view with = {};   // only beside this key
};

// The keys of one map.
struct YamlMapKeys {
  std::string_view name;     // "job"
  std::string_view meaning;  // a sentence
  std::span<const YamlKey> keys;
  // The key whose value is the kind of the map; empty: all maps are of one kind. A key may be declared once for each
  // kind.
  std::string_view kind_key = {};
  std::span<const std::string_view> exactly_one = {};  // of the keys in each entry, separated by spaces
};

// The declaration of `key` in a map of `kind` ("" where it has none); nullptr: there is none.
const YamlKey* FindYamlKey(const YamlMapKeys& map, std::string_view key, std::string_view kind);

// "a b c" -> {a, b, c}
std::vector<std::string_view> SplitAtSpaces(std::string_view words);

}  // namespace fairlead

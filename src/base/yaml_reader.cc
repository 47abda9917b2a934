#include "base/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "base/check.h"
#include "base/file_reader.h"
#include "base/nearest_word.h"

namespace fairlead {

namespace internal {

struct YamlDocumentState {
  std::string name;
  YAML::Node root;
  Status error;
  // Values that were set have marks on lines behind those of the file, one line for each.
  size_t num_lines = 0;
  std::vector<std::string> sources;
};

struct YamlNodeHandle {
  YAML::Node node;
};

}  // namespace internal

namespace {

using internal::YamlDocumentState;
using internal::YamlNodeHandle;

// Deeper nesting than any of our files has; refused before yaml-cpp recurses over it.
constexpr int kMaxDepth = 64;
constexpr size_t kMaxShownValue = 60;

std::string Shorten(std::string_view value) {
  if (value.size() <= kMaxShownValue) return std::string(value);
  return fmt::format("{}… ({} characters)", value.substr(0, kMaxShownValue), value.size());
}

std::string Describe(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return fmt::format("'{}'", Shorten(node.Scalar()));
    case YAML::NodeType::Sequence:
      return fmt::format("a list of {}", node.size());
    case YAML::NodeType::Map:
      return "a map";
    default:
      return "nothing";
  }
}

int LineOf(const YAML::Node& node) { return node.Mark().is_null() ? 0 : node.Mark().line + 1; }

// "fabric.yaml:12", or what set the value.
std::string PlaceOf(const YamlDocumentState& document, const YAML::Node& node) {
  const auto line = static_cast<size_t>(LineOf(node));
  if (line > document.num_lines) return document.sources.at(line - document.num_lines - 1);
  return line > 0 ? fmt::format("{}:{}", document.name, line) : document.name;
}

void KeepError(YamlDocumentState& document, const YAML::Node& at, const std::string& path, std::string_view message) {
  if (!document.error.ok()) return;
  const std::string where = PlaceOf(document, at);
  document.error = InvalidArgument(path.empty() ? fmt::format("{}: {}", where, message)
                                                : fmt::format("{}: {}: {}", where, path, message));
}

std::optional<int64_t> ParseInt(const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || text.empty()) return std::nullopt;
  return value;
}

// Rejects input that would make the recursive parser overflow the stack: flow brackets, or indentation of block
// collections, nested deeper than kMaxDepth.
bool NestsTooDeep(std::string_view text) {
  int flow_depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' || c == '{') {
      if (++flow_depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      flow_depth = std::max(0, flow_depth - 1);
    } else if (c == '\n') {
      // "- - - -" and "? ? ?" open one block level each on the same line.
      int openers = 0;
      size_t k = i + 1;
      while (k < text.size() && (text[k] == ' ' || text[k] == '-' || text[k] == '?')) openers += text[k++] != ' ';
      if (openers > kMaxDepth || k - i > size_t{4} * kMaxDepth) return true;
    }
  }
  return false;
}

// A duplicate key would silently hide one of its values.
bool FindDuplicateKey(const YAML::Node& node, YAML::Node* duplicate) {
  if (node.IsMap()) {
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (entry.first.IsScalar() && !seen.insert(entry.first.Scalar()).second) {
        *duplicate = entry.first;
        return true;
      }
      if (FindDuplicateKey(entry.second, duplicate)) return true;
    }
  } else if (node.IsSequence()) {
    for (const auto& item : node) {
      if (FindDuplicateKey(item, duplicate)) return true;
    }
  }
  return false;
}

template <class T>
std::string RangeText(T min, T max) {
  const bool open_above = max >= std::numeric_limits<T>::max() / 2;
  return open_above ? fmt::format(">= {}", min) : fmt::format("in [{}, {}]", min, max);
}

// "a number in [0, 1]", "a number of seconds in [0, 10] (or with a unit, as in 250ms)"
std::string NumberText(NumberUnit unit, double min, double max) {
  const std::string_view name = UnitName(unit);
  const std::string_view example = UnitExample(unit);
  return fmt::format("a number{} {}{}", name.empty() ? "" : fmt::format(" of {}", name), RangeText(min, max),
                     example.empty() ? "" : fmt::format(" (or with a unit, as in {})", example));
}

// A bound of a declaration as an integer.
int64_t IntBound(double bound) {
  constexpr double kLargest = 9.2e18;
  if (bound >= kLargest) return std::numeric_limits<int64_t>::max();
  if (bound <= -kLargest) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(bound);
}

std::vector<std::string> NamesOf(const YamlMapKeys& keys, std::string_view kind) {
  std::vector<std::string> names;
  for (const YamlKey& key : keys.keys) {
    if (FindYamlKey(keys, key.name, kind) == &key) names.emplace_back(key.name);
  }
  std::ranges::sort(names);
  return names;
}

bool IsKind(const YamlMapKeys& keys, std::string_view kind) {
  const YamlKey* key = FindYamlKey(keys, keys.kind_key, "");
  return key != nullptr && std::ranges::count(key->choices(), kind) > 0;
}

// For which kinds a key is declared: "clos3, double-sided".
std::string KindsOf(const YamlMapKeys& keys, std::string_view name) {
  std::vector<std::string_view> kinds;
  for (const YamlKey& key : keys.keys) {
    if (key.name != name) continue;
    for (const std::string_view kind : SplitAtSpaces(key.kinds)) kinds.push_back(kind);
  }
  return fmt::format("{}", fmt::join(kinds, ", "));
}

std::string UnknownKeyMessage(std::string_view shown, std::string_view key, std::span<const std::string> known) {
  const std::string nearest = NearestWord(key, known);
  if (!nearest.empty()) return fmt::format("unknown key {}; did you mean '{}'?", shown, nearest);
  return fmt::format("unknown key {}; known here: {}", shown, fmt::join(known, ", "));
}

}  // namespace

Result<YamlDocument> YamlDocument::LoadFile(const std::string& path) {
  const Result<std::string> text = ReadWholeFile(path, kMaxFileBytes);
  if (text.ok()) return Parse(*text, path);
  if (text.status().code() != StatusCode::kResourceExhausted) return text.status();
  return Status(StatusCode::kResourceExhausted,
                fmt::format("{}: larger than {} MiB; this is no configuration file", path, kMaxFileBytes >> 20));
}

Result<YamlDocument> YamlDocument::Parse(std::string_view text, const std::string& name) {
  auto state = std::make_shared<YamlDocumentState>();
  state->name = name;
  state->num_lines = static_cast<size_t>(std::ranges::count(text, '\n')) + 1;
  if (text.find('\0') != std::string_view::npos) return InvalidArgument(name + ": contains a NUL byte; expected text");
  if (NestsTooDeep(text)) {
    return InvalidArgument(fmt::format("{}: nested deeper than {} levels", name, kMaxDepth));
  }
  try {
    state->root = YAML::Load(std::string(text));
    if (!state->root.IsDefined() || state->root.IsNull()) {
      return InvalidArgument(name + ": the file is empty; expected a YAML map");
    }
    if (!state->root.IsMap()) {
      return InvalidArgument(fmt::format("{}:{}: expected a map at the top level, found {}", name, LineOf(state->root),
                                         Describe(state->root)));
    }
    YAML::Node duplicate;
    if (FindDuplicateKey(state->root, &duplicate)) {
      return InvalidArgument(
          fmt::format("{}:{}: the key '{}' appears twice in one map", name, LineOf(duplicate), duplicate.Scalar()));
    }
  } catch (const YAML::Exception& e) {
    return InvalidArgument(fmt::format("{}:{}: not valid YAML: {}", name, e.mark.line + 1, e.msg));
  }
  return YamlDocument(std::move(state));
}

namespace {

std::vector<std::string> SplitAtDots(std::string_view path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool HasKey(const YAML::Node& map, const std::string& key) {
  return std::any_of(map.begin(), map.end(),
                     [&](const auto& entry) { return entry.first.IsScalar() && entry.first.Scalar() == key; });
}

// Of an element that is called so: by its number, or by its key `name`.
std::optional<size_t> FindElement(const YAML::Node& list, const std::string& called) {
  const std::optional<int64_t> number = ParseInt(called);
  if (number.has_value() && *number >= 0 && static_cast<size_t>(*number) < list.size()) return *number;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i].IsMap() || !HasKey(list[i], "name")) continue;
    const YAML::Node name = list[i]["name"];
    if (name.IsScalar() && name.Scalar() == called) return i;
  }
  return std::nullopt;
}

// Sets `value` at `parts` below `node`; null: takes it away. `make`: a node of this text that has the value's mark.
// Returns what is wrong; empty: nothing.
std::string SetBelow(YAML::Node node, std::span<const std::string> parts, const std::string& path,
                     const YAML::Node& value, const std::function<YAML::Node(const std::string&)>& make) {
  const std::string& part = parts.front();
  const bool is_last = parts.size() == 1;
  const std::string shown = path.empty() ? part : path + "." + part;
  if (part.empty()) return "expected keys with a dot between them";
  if (node.IsSequence()) {
    const auto element = FindElement(node, part);
    if (!element.has_value()) {
      return fmt::format("{}: has no element '{}'; expected its number, 0 to {}, or its name", path, part,
                         static_cast<int64_t>(node.size()) - 1);
    }
    if (!is_last) return SetBelow(node[*element], parts.subspan(1), shown, value, make);
    if (value.IsNull()) {
      node.remove(*element);
    } else {
      node[*element] = value;
    }
    return "";
  }
  if (!node.IsMap()) return fmt::format("{}: has no keys, it is {}", path, Describe(node));
  if (HasKey(node, part)) {
    if (!is_last) return SetBelow(node[part], parts.subspan(1), shown, value, make);
    node.remove(part);
    if (!value.IsNull()) node[make(part)] = value;
    return "";
  }
  if (value.IsNull()) return fmt::format("{}: there is nothing to take away", shown);
  YAML::Node inner = value;
  for (size_t i = parts.size() - 1; i > 0; --i) {
    YAML::Node map = make("{}");
    map[make(parts[i])] = inner;
    inner.reset(map);
  }
  node[make(part)] = inner;
  return "";
}

}  // namespace

Status YamlDocument::Set(std::string_view path, std::string_view value, const std::string& source) {
  const std::string above(state_->num_lines + state_->sources.size(), '\n');
  const auto make = [&above](const std::string& text) { return YAML::Load(above + text); };
  if (value.find('\0') != std::string_view::npos || NestsTooDeep(value)) {
    return InvalidArgument(source + ": expected a value in YAML");
  }
  try {
    const YAML::Node parsed = make(std::string(value));
    YAML::Node duplicate;
    if (FindDuplicateKey(parsed, &duplicate)) {
      return InvalidArgument(fmt::format("{}: the key '{}' appears twice in one map", source, duplicate.Scalar()));
    }
    const std::vector<std::string> parts = SplitAtDots(path);
    if (parts.size() > kMaxDepth) return InvalidArgument(source + ": expected fewer keys");
    const std::string fault = SetBelow(state_->root, parts, "", parsed, make);
    if (!fault.empty()) return InvalidArgument(fmt::format("{}: {}", source, fault));
  } catch (const YAML::Exception& e) {
    return InvalidArgument(fmt::format("{}: not valid YAML: {}", source, e.msg));
  }
  state_->sources.push_back(source);
  return OkStatus();
}

YamlMap YamlDocument::Root() const {
  return YamlMap(state_, std::make_shared<YamlNodeHandle>(YamlNodeHandle{state_->root}), "");
}

const std::string& YamlDocument::name() const { return state_->name; }
Status YamlDocument::status() const { return state_->error; }

YamlMap::YamlMap(std::shared_ptr<YamlDocumentState> document, std::shared_ptr<YamlNodeHandle> node, std::string path)
    : document_(std::move(document)), node_(std::move(node)), path_(std::move(path)) {}

std::shared_ptr<YamlNodeHandle> YamlMap::Find(std::string_view key) const {
  if (!node_->node.IsMap()) return nullptr;
  for (const auto& entry : node_->node) {
    if (entry.first.IsScalar() && entry.first.Scalar() == key) {
      return std::make_shared<YamlNodeHandle>(YamlNodeHandle{entry.second});
    }
  }
  return nullptr;
}

std::shared_ptr<YamlNodeHandle> YamlMap::Require(std::string_view key) {
  auto found = Find(key);
  if (!found) {
    known_.emplace_back(key);
    KeepError(*document_, node_->node, path_, fmt::format("the key '{}' is missing", key));
  }
  return found;
}

std::string YamlMap::PathOf(std::string_view key) const {
  if (key.empty()) return path_;
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

bool YamlMap::Has(std::string_view key) const { return Find(key) != nullptr; }

std::string YamlMap::Kind() const {
  if (keys_ == nullptr || keys_->kind_key.empty()) return "";
  const auto found = Find(keys_->kind_key);
  return found && found->node.IsScalar() ? found->node.Scalar() : "";
}

const YamlKey* YamlMap::Declared(std::string_view key) const {
  if (keys_ == nullptr) return nullptr;
  const YamlKey* declared = FindYamlKey(*keys_, key, Kind());
  FL_CHECK_MSG(declared != nullptr, fmt::format("{}: the key '{}' is read but not declared", keys_->name, key));
  return declared;
}

const YamlKey& YamlMap::RequireDeclared(std::string_view key, YamlType type) {
  const YamlKey* declared = Declared(key);
  FL_CHECK_MSG(declared != nullptr && declared->type == type, fmt::format("the key '{}' is declared otherwise", key));
  if (declared->is_required) Require(key);
  return *declared;
}

void YamlMap::CheckKnown(const YamlMapKeys& keys) {
  const std::string kind = Kind();
  for (const auto& entry : node_->node) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    const YamlKey* declared = FindYamlKey(keys, name, kind);
    if (declared == nullptr) {
      const std::string kinds = KindsOf(keys, name);
      if (!kinds.empty() && !IsKind(keys, kind)) continue;  // reported where the kind is read
      const std::string message =
          kinds.empty() ? UnknownKeyMessage(Describe(entry.first), name, NamesOf(keys, kind))
                        : fmt::format("the key '{}' is not for {} '{}', only for {}", name, keys.kind_key, kind, kinds);
      return KeepError(*document_, entry.first, path_, message);
    }
    if (declared->with.empty() || Has(declared->with)) continue;
    return KeepError(*document_, entry.first, path_,
                     fmt::format("the key '{}' matters only beside '{}', which is missing", name, declared->with));
  }
}

void YamlMap::CheckOne(std::string_view group) {
  const std::vector<std::string_view> names = SplitAtSpaces(group);
  const auto count = std::ranges::count_if(names, [this](std::string_view name) { return Has(name); });
  if (count == 1) return;
  std::string list(names.front());
  for (size_t i = 1; i < names.size(); ++i)
    list += fmt::format("{}{}", i + 1 < names.size() ? ", " : " and ", names[i]);
  Fail("", fmt::format("expected exactly one of the keys {}, found {}", list, count == 0 ? "none" : "more"));
}

void YamlMap::Declare(const YamlMapKeys& keys) {
  if (keys_ == &keys) return;
  keys_ = &keys;
  if (!node_->node.IsMap()) return;
  CheckKnown(keys);
  for (const std::string_view group : keys.exactly_one) CheckOne(group);
}

int64_t YamlMap::Int(std::string_view key) {
  const YamlKey& declared = RequireDeclared(key, YamlType::kInteger);
  return Int(key, ParseInt(std::string(declared.fallback)).value_or(IntBound(declared.min)));
}

int64_t YamlMap::Int(std::string_view key, int64_t fallback) {
  const YamlKey& declared = RequireDeclared(key, YamlType::kInteger);
  return Int(key, fallback, IntBound(declared.min), IntBound(declared.max));
}

double YamlMap::Double(std::string_view key) {
  const YamlKey& declared = RequireDeclared(key, YamlType::kNumber);
  return Double(key, ParseWithUnit(declared.fallback, declared.unit).value_or(declared.min));
}

double YamlMap::Double(std::string_view key, double fallback) {
  const YamlKey& declared = RequireDeclared(key, YamlType::kNumber);
  return Double(key, fallback, declared.min, declared.max);
}

bool YamlMap::Bool(std::string_view key) {
  return Bool(key, RequireDeclared(key, YamlType::kSwitch).fallback == "true");
}

std::string YamlMap::String(std::string_view key) {
  return String(key, std::string(RequireDeclared(key, YamlType::kText).fallback));
}

size_t YamlMap::Choice(std::string_view key) {
  const YamlKey& declared = RequireDeclared(key, YamlType::kText);
  const std::vector<std::string_view> choices = declared.choices();
  const auto fallback = std::ranges::find(choices, declared.fallback) - choices.begin();
  return Choice(key, declared.fallback.empty() ? 0 : static_cast<size_t>(fallback), choices);
}

std::vector<int64_t> YamlMap::Ints(std::string_view key) {
  const YamlKey& declared = RequireDeclared(key, YamlType::kIntegers);
  return Ints(key, IntBound(declared.min), IntBound(declared.max));
}

int64_t YamlMap::RequiredInt(std::string_view key, int64_t min, int64_t max) {
  return Require(key) ? Int(key, min, min, max) : min;
}

int64_t YamlMap::Int(std::string_view key, int64_t fallback, int64_t min, int64_t max) {
  known_.emplace_back(key);
  const auto found = Find(key);
  if (!found) return fallback;
  const auto value = found->node.IsScalar() ? ParseInt(found->node.Scalar()) : std::nullopt;
  if (value && *value >= min && *value <= max) return *value;
  KeepError(*document_, found->node, PathOf(key),
            fmt::format("expected an integer {}, found {}", RangeText(min, max), Describe(found->node)));
  return fallback;
}

double YamlMap::RequiredDouble(std::string_view key, double min, double max) {
  return Require(key) ? Double(key, min, min, max) : min;
}

double YamlMap::Double(std::string_view key, double fallback, double min, double max) {
  known_.emplace_back(key);
  const auto found = Find(key);
  if (!found) return fallback;
  const YamlKey* declared = Declared(key);
  const NumberUnit unit = declared == nullptr ? NumberUnit::kNone : declared->unit;
  const auto value = found->node.IsScalar() ? ParseWithUnit(found->node.Scalar(), unit) : std::nullopt;
  if (value && *value >= min && *value <= max) return *value;
  KeepError(*document_, found->node, PathOf(key),
            fmt::format("expected {}, found {}", NumberText(unit, min, max), Describe(found->node)));
  return fallback;
}

bool YamlMap::Bool(std::string_view key, bool fallback) {
  known_.emplace_back(key);
  const auto found = Find(key);
  if (!found) return fallback;
  if (found->node.IsScalar()) {
    if (found->node.Scalar() == "true") return true;
    if (found->node.Scalar() == "false") return false;
  }
  KeepError(*document_, found->node, PathOf(key), "expected true or false, found " + Describe(found->node));
  return fallback;
}

std::string YamlMap::RequiredString(std::string_view key) { return Require(key) ? String(key, "") : ""; }

std::string YamlMap::String(std::string_view key, std::string fallback) {
  known_.emplace_back(key);
  const auto found = Find(key);
  if (!found) return fallback;
  if (found->node.IsScalar() && !found->node.Scalar().empty()) return found->node.Scalar();
  KeepError(*document_, found->node, PathOf(key), "expected a text, found " + Describe(found->node));
  return fallback;
}

size_t YamlMap::RequiredChoice(std::string_view key, std::span<const std::string_view> choices) {
  return Require(key) ? Choice(key, 0, choices) : 0;
}

size_t YamlMap::Choice(std::string_view key, size_t fallback, std::span<const std::string_view> choices) {
  known_.emplace_back(key);
  const auto found = Find(key);
  if (!found) return fallback;
  if (found->node.IsScalar()) {
    const auto match = std::find(choices.begin(), choices.end(), found->node.Scalar());
    if (match != choices.end()) return static_cast<size_t>(match - choices.begin());
  }
  const std::vector<std::string> words(choices.begin(), choices.end());
  KeepError(*document_, found->node, PathOf(key),
            fmt::format("expected one of {}, found {}{}", fmt::join(choices, ", "), Describe(found->node),
                        found->node.IsScalar() ? DidYouMean(found->node.Scalar(), words) : ""));
  return fallback;
}

template <class T, class Parse>
std::vector<T> YamlMap::List(std::string_view key, std::string_view expected, const Parse& parse) {
  known_.emplace_back(key);
  const auto found = Find(key);
  if (!found) return {};
  const YAML::Node& node = found->node;
  const size_t count = node.IsSequence() ? node.size() : 1;
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i) {
    const YAML::Node item = node.IsSequence() ? node[i] : node;
    std::optional<T> value = item.IsScalar() ? parse(item.Scalar()) : std::nullopt;
    if (!value) {
      KeepError(*document_, item, PathOf(key), fmt::format("expected {}, found {}", expected, Describe(item)));
      return {};
    }
    values.push_back(std::move(*value));
  }
  return values;
}

std::vector<double> YamlMap::Doubles(std::string_view key, double min, double max) {
  return List<double>(key, "numbers " + RangeText(min, max), [&](const std::string& text) {
    const auto value = ParseWithUnit(text, NumberUnit::kNone);
    return value && *value >= min && *value <= max ? value : std::nullopt;
  });
}

std::vector<int64_t> YamlMap::Ints(std::string_view key, int64_t min, int64_t max) {
  return List<int64_t>(key, "integers " + RangeText(min, max), [&](const std::string& text) {
    const auto value = ParseInt(text);
    return value && *value >= min && *value <= max ? value : std::nullopt;
  });
}

std::vector<std::string> YamlMap::Texts(std::string_view key) {
  return List<std::string>(key, "text", [](const std::string& text) { return std::make_optional(text); });
}

std::vector<std::string> YamlMap::Strings(std::string_view key) {
  std::vector<std::string> texts = List<std::string>(
      key, "texts", [](const std::string& text) { return text.empty() ? std::nullopt : std::make_optional(text); });
  const YamlKey* declared = Declared(key);
  if (declared == nullptr || declared->choices == nullptr) return texts;
  const std::vector<std::string_view> choices = declared->choices();
  for (const std::string& text : texts) {
    if (std::ranges::count(choices, text) > 0) continue;
    const std::vector<std::string> words(choices.begin(), choices.end());
    Fail(key, fmt::format("expected one of {}, found '{}'{}", fmt::join(choices, ", "), Shorten(text),
                          DidYouMean(text, words)));
    return {};
  }
  return texts;
}

std::optional<YamlMap> YamlMap::Map(std::string_view key) {
  known_.emplace_back(key);
  const auto found = Find(key);
  if (!found) return std::nullopt;
  if (!found->node.IsMap()) {
    KeepError(*document_, found->node, PathOf(key), "expected a map, found " + Describe(found->node));
    return std::nullopt;
  }
  YamlMap map(document_, found, PathOf(key));
  DeclareInner(key, &map);
  return map;
}

void YamlMap::DeclareInner(std::string_view key, YamlMap* inner) const {
  const YamlKey* declared = Declared(key);
  if (declared != nullptr && declared->map != nullptr) inner->Declare(*declared->map);
}

YamlMap YamlMap::RequiredMap(std::string_view key) {
  Require(key);
  auto map = Map(key);
  if (map) return *map;
  YamlMap empty(document_, std::make_shared<YamlNodeHandle>(YamlNodeHandle{YAML::Node(YAML::NodeType::Map)}),
                PathOf(key));
  DeclareInner(key, &empty);
  return empty;
}

std::vector<YamlMap> YamlMap::Maps(std::string_view key) {
  std::vector<YamlMap> maps;
  known_.emplace_back(key);
  const auto found = Find(key);
  if (!found) return maps;
  if (!found->node.IsSequence()) {
    KeepError(*document_, found->node, PathOf(key), "expected a list of maps, found " + Describe(found->node));
    return maps;
  }
  size_t index = 0;
  for (const auto& item : found->node) {
    const std::string path = fmt::format("{}[{}]", PathOf(key), index++);
    if (!item.IsMap()) {
      KeepError(*document_, item, path, "expected a map, found " + Describe(item));
      return {};
    }
    maps.emplace_back(document_, std::make_shared<YamlNodeHandle>(YamlNodeHandle{item}), path);
    DeclareInner(key, &maps.back());
  }
  return maps;
}

std::vector<std::pair<std::string, YamlMap>> YamlMap::NamedMaps() {
  std::vector<std::pair<std::string, YamlMap>> maps;
  for (const std::string& key : Keys()) {
    if (auto map = Map(key)) maps.emplace_back(key, *map);
  }
  return maps;
}

std::vector<std::string> YamlMap::Keys() const {
  std::vector<std::string> keys;
  if (!node_->node.IsMap()) return keys;
  for (const auto& entry : node_->node) {
    if (entry.first.IsScalar()) keys.push_back(entry.first.Scalar());
  }
  return keys;
}

void YamlMap::Fail(std::string_view key, std::string_view message) {
  const auto found = key.empty() ? nullptr : Find(key);
  KeepError(*document_, found ? found->node : node_->node, PathOf(key), message);
}

std::string YamlMap::Where(std::string_view key) const {
  const auto found = key.empty() ? nullptr : Find(key);
  return PlaceOf(*document_, found ? found->node : node_->node);
}

bool YamlMap::ok() const { return document_->error.ok(); }

Status YamlMap::Finish() {
  if (!document_->error.ok()) return document_->error;
  if (!node_->node.IsMap()) return OkStatus();
  for (const auto& entry : node_->node) {
    const bool is_known =
        entry.first.IsScalar() && std::find(known_.begin(), known_.end(), entry.first.Scalar()) != known_.end();
    if (is_known) continue;
    std::vector<std::string> expected = known_;
    std::sort(expected.begin(), expected.end());
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    KeepError(*document_, entry.first, path_, UnknownKeyMessage(Describe(entry.first), name, expected));
    return document_->error;
  }
  return OkStatus();
}

}  // namespace fairlead

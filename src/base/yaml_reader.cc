#include "base/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "base/file_reader.h"

namespace fairlead {

namespace internal {

struct YamlDocumentState {
  std::string name;
  YAML::Node root;
  Status error;
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

void KeepError(YamlDocumentState& document, const YAML::Node& at, const std::string& path, std::string_view message) {
  if (!document.error.ok()) return;
  const int line = LineOf(at);
  const std::string where = line > 0 ? fmt::format("{}:{}", document.name, line) : document.name;
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

std::optional<double> ParseDouble(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || text.empty() || !std::isfinite(value)) return std::nullopt;
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
          fmt::format("{}:{}: the key '{}' stands twice in one map", name, LineOf(duplicate), duplicate.Scalar()));
    }
  } catch (const YAML::Exception& e) {
    return InvalidArgument(fmt::format("{}:{}: not valid YAML: {}", name, e.mark.line + 1, e.msg));
  }
  return YamlDocument(std::move(state));
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
  const auto value = found->node.IsScalar() ? ParseDouble(found->node.Scalar()) : std::nullopt;
  if (value && *value >= min && *value <= max) return *value;
  KeepError(*document_, found->node, PathOf(key),
            fmt::format("expected a number {}, found {}", RangeText(min, max), Describe(found->node)));
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
  KeepError(*document_, found->node, PathOf(key),
            fmt::format("expected one of {}, found {}", fmt::join(choices, ", "), Describe(found->node)));
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
    const auto value = ParseDouble(text);
    return value && *value >= min && *value <= max ? value : std::nullopt;
  });
}

std::vector<int64_t> YamlMap::Ints(std::string_view key, int64_t min, int64_t max) {
  return List<int64_t>(key, "integers " + RangeText(min, max), [&](const std::string& text) {
    const auto value = ParseInt(text);
    return value && *value >= min && *value <= max ? value : std::nullopt;
  });
}

std::vector<std::string> YamlMap::Strings(std::string_view key) {
  return List<std::string>(
      key, "texts", [](const std::string& text) { return text.empty() ? std::nullopt : std::make_optional(text); });
}

std::optional<YamlMap> YamlMap::Map(std::string_view key) {
  known_.emplace_back(key);
  const auto found = Find(key);
  if (!found) return std::nullopt;
  if (!found->node.IsMap()) {
    KeepError(*document_, found->node, PathOf(key), "expected a map, found " + Describe(found->node));
    return std::nullopt;
  }
  return YamlMap(document_, found, PathOf(key));
}

YamlMap YamlMap::RequiredMap(std::string_view key) {
  Require(key);
  auto map = Map(key);
  if (map) return *map;
  return YamlMap(document_, std::make_shared<YamlNodeHandle>(YamlNodeHandle{YAML::Node(YAML::NodeType::Map)}),
                 PathOf(key));
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
  return fmt::format("{}:{}", document_->name, LineOf(found ? found->node : node_->node));
}

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
    KeepError(*document_, entry.first, path_,
              fmt::format("unknown key {}; known here: {}", Describe(entry.first), fmt::join(expected, ", ")));
    return document_->error;
  }
  return OkStatus();
}

}  // namespace fairlead

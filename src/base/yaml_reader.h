// Strict reading of YAML files: every key is known, typed and in range, or one message says which line is wrong.
//
// A loader asks a YamlMap for the keys it knows. The first error is kept in the document, later reads return defaults,
// and Finish() reports the error or the first key that was not read, with the known keys listed. So a loader reads like
// a list of its keys:
//
//     FL_ASSIGN_OR_RETURN(YamlDocument document, YamlDocument::LoadFile(path));
//     YamlMap root = document.Root();
//     options.hosts = root.RequiredInt("hosts", 1, 1'000'000);
//     options.speed = GigabitsPerSecond(root.Double("speed_gbps", 200, 1e-3, 1e6));
//     FL_RETURN_IF_ERROR(root.Finish());
//     FL_RETURN_IF_ERROR(document.status());
//
// A map whose keys are declared in a table (yaml_keys.h) takes types, ranges and defaults from there, and understands
// numbers with units; the rest of its loader stays the same:
//
//     root.Declare(kRackKeys);
//     options.hosts = root.Int("hosts");
//     options.speed = GigabitsPerSecond(root.Double("speed_gbps"));      // "400", "400Gb/s", "0.4 Tb/s"
//
// Values can be set from elsewhere before they are read, as by a command line (YamlDocument::Set).
//
// Messages: "fabric.yaml:12: hosts: expected an integer in [1, 1000000], found '-3'".
// The parser's exceptions end in yaml_reader.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/yaml_keys.h"

namespace fairlead {

class YamlMap;

namespace internal {
struct YamlDocumentState;  // parsed tree, file name, first error
struct YamlNodeHandle;     // one node of the tree
}  // namespace internal

// One parsed YAML file. Copies share the same document.
class YamlDocument {
 public:
  // Larger files are refused: configuration is written by people.
  static constexpr size_t kMaxFileBytes = 16u << 20;

  // Errors: kNotFound (no such file), kFailedPrecondition (it can't be read), kResourceExhausted (too large),
  // kInvalidArgument (not YAML, empty, or the top level is no map), each naming file and line.
  static Result<YamlDocument> LoadFile(const std::string& path);
  // `name` replaces the file name in messages.
  static Result<YamlDocument> Parse(std::string_view text, const std::string& name);

  // A value in place of the file's, or beside what it has: `path` names it by keys, and elements of lists by their number
  // or by their `name`, as in "fabric.leaves", "jobs.0.gpus", "jobs.bert.gpus"; maps that are missing are made. `value`
  // is YAML; an empty one takes the key away. Messages about it name `source` instead of file and line.
  // Before the first Root(). Errors: kInvalidArgument: there is no such place, or the value is no YAML.
  Status Set(std::string_view path, std::string_view value, const std::string& source);

  YamlMap Root() const;
  const std::string& name() const;
  // The first error that any reader of this document met.
  Status status() const;

 private:
  explicit YamlDocument(std::shared_ptr<internal::YamlDocumentState> state) : state_(std::move(state)) {}
  std::shared_ptr<internal::YamlDocumentState> state_;
};

// One map of the document. Every getter marks its key as known. `Required…` report a missing key; the others
// return `fallback`. Numbers must be finite and within [min, max].
class YamlMap {
 public:
  YamlMap(std::shared_ptr<internal::YamlDocumentState> document, std::shared_ptr<internal::YamlNodeHandle> node,
          std::string path);

  bool Has(std::string_view key) const;

  // From now on the keys of this map, and of those in it, are the declared ones, which have to outlive the document.
  // Keeps an error for keys that are unknown, that belong to another kind of this map or beside another key, and for
  // more or less than one of those of which there has to be one. Declaring the same keys again does nothing.
  void Declare(const YamlMapKeys& keys);

  // By the declaration. A missing key that is required keeps an error; other missing ones are the declared fallback, or
  // the given one.
  int64_t Int(std::string_view key);
  int64_t Int(std::string_view key, int64_t fallback);
  double Double(std::string_view key);
  double Double(std::string_view key, double fallback);
  bool Bool(std::string_view key);
  std::string String(std::string_view key);
  size_t Choice(std::string_view key);
  std::vector<int64_t> Ints(std::string_view key);

  // By the caller. In a map with declared keys this is for ranges that depend on other keys.
  int64_t RequiredInt(std::string_view key, int64_t min, int64_t max);
  int64_t Int(std::string_view key, int64_t fallback, int64_t min, int64_t max);
  double RequiredDouble(std::string_view key, double min, double max);
  double Double(std::string_view key, double fallback, double min, double max);
  bool Bool(std::string_view key, bool fallback);
  // A non-empty scalar.
  std::string RequiredString(std::string_view key);
  std::string String(std::string_view key, std::string fallback);
  // One of `choices`; returns its index.
  size_t RequiredChoice(std::string_view key, std::span<const std::string_view> choices);
  size_t Choice(std::string_view key, size_t fallback, std::span<const std::string_view> choices);
  // A list of numbers (a single number counts as a list of one).
  std::vector<double> Doubles(std::string_view key, double min, double max);
  std::vector<int64_t> Ints(std::string_view key, int64_t min, int64_t max);
  std::vector<std::string> Strings(std::string_view key);
  // The same for scalars of any kind as written in the file, empty ones too.
  std::vector<std::string> Texts(std::string_view key);
  // A nested map; absent -> nullopt.
  std::optional<YamlMap> Map(std::string_view key);
  // A nested map that must be there; on error an empty map is returned and the error is kept.
  YamlMap RequiredMap(std::string_view key);
  // A list of maps; absent -> empty.
  std::vector<YamlMap> Maps(std::string_view key);
  // Every key of this map whose value is a map, in file order; marks all keys as known.
  std::vector<std::pair<std::string, YamlMap>> NamedMaps();
  // Keys of this map in file order; marks nothing.
  std::vector<std::string> Keys() const;

  // Keeps an error of the caller's own at `key` (or at the map, when `key` is empty): "file:line: path: message".
  void Fail(std::string_view key, std::string_view message);
  // "file:line" of `key`, for messages about several files.
  std::string Where(std::string_view key) const;
  // Whether the document has no error so far.
  bool ok() const;
  // The document's first error, or an error about the first key that was not read.
  Status Finish();

 private:
  std::shared_ptr<internal::YamlNodeHandle> Find(std::string_view key) const;
  std::shared_ptr<internal::YamlNodeHandle> Require(std::string_view key);
  std::string PathOf(std::string_view key) const;
  // The value of the key that tells kinds of this map apart.
  std::string Kind() const;
  // The declaration of a key; nullptr where nothing is declared. Asking for a key that is not is our fault.
  const YamlKey* Declared(std::string_view key) const;
  const YamlKey& RequireDeclared(std::string_view key, YamlType type);
  void CheckKnown(const YamlMapKeys& keys);
  void CheckOne(std::string_view group);
  void DeclareInner(std::string_view key, YamlMap* inner) const;
  // A list of scalars (one scalar counts as a list of one), each turned into a T by `parse`, which may say no.
  template <class T, class Parse>
  std::vector<T> List(std::string_view key, std::string_view expected, const Parse& parse);

  std::shared_ptr<internal::YamlDocumentState> document_;
  std::shared_ptr<internal::YamlNodeHandle> node_;
  std::string path_;
  const YamlMapKeys* keys_ = nullptr;
  std::vector<std::string> known_;
};

}  // namespace fairlead

// Records as JSON objects (record.h): members by name, rules and laws left to a FieldChecker.
//
// Instants and durations are nanoseconds, enumerations and ids numbers, addresses text, quantities in SI units; an id
// that is not valid, and every other default of an optional field, is left out. A variant is an object with one member,
// named after its kind. Hosts are names where the archive has HostNames.
//
// Errors name the path and what was expected: "ranks[3].gpu: expected an integer from 0 to 4294967295, found -1".
#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/ip_address.h"
#include "base/sim_time.h"
#include "codec/host_names.h"
#include "codec/json_text.h"
#include "codec/record.h"

namespace fairlead::codec {

// Files of our own are read strictly; foreign ones grow members that we need not know.
enum class UnknownKeys { kRefused, kIgnored };

struct JsonReading {
  JsonReading(UnknownKeys keys) : unknown_keys(keys) {}  // NOLINT(google-explicit-constructor): most need no more
  JsonReading(UnknownKeys keys, HostNames* names) : unknown_keys(keys), hosts(names) {}

  UnknownKeys unknown_keys;
  HostNames* hosts = nullptr;  // null: ids are numbers
};

// Each ReadValue fills `value` and returns what is wrong, empty if nothing is: ": expected …, found …" for the value
// itself, ".name…" or "[index]…" for one inside it.
std::string ReadInteger(const Json& json, uint64_t high, uint64_t* value);
std::string ReadSigned(const Json& json, int64_t low, int64_t high, int64_t* value);
std::string ReadText(const Json& json, std::string* value);
std::string ReadAddress(const Json& json, IpAddress* value);  // "::" is one that is unset
std::string ReadBool(const Json& json, bool* value);
std::string ReadNumber(const Json& json, double* value);
std::string ReadInfinite(const Json& json, double* value);  // or a number
std::string ExpectedButFound(std::string_view expected, const Json& json);

class JsonReader {
 public:
  JsonReader(const Json& object, JsonReading reading) : object_(object), reading_(reading) {
    if (!object.is_object()) error_ = ExpectedButFound("an object", object);
  }

  template <class T, class Rule = AnyValue>
  void Required(const char* name, T& value, Rule rule = {}) {
    const bool is_there = Read(name, value, rule);
    if (!is_there && error_.empty()) error_ = fmt::format(".{}: is missing", name);
  }
  template <class T, class Rule = AnyValue>
  void Optional(const char* name, T& value, Rule rule = {}) {
    Read(name, value, rule);
  }
  template <class T, class Rule = AnyValue>
  void Required(int /*number*/, const char* name, T& value, Rule rule = {}) {
    Required(name, value, rule);
  }
  template <class T, class Rule = AnyValue>
  void Optional(int /*number*/, const char* name, T& value, Rule rule = {}) {
    Optional(name, value, rule);
  }
  template <class T>
  void Inline(const char* name, T& value) {
    Required(name, value);
  }
  template <class Kind, class Variant>
  void OneOf(const char* name, Variant& value) {
    if (error_.empty() && object_.contains(name)) Read(name, value.template emplace<Kind>(), AnyValue());
  }
  template <class FindFault>
  void Law(FindFault /*find_fault*/) {}

  size_t num_found() const { return num_found_; }
  // What is wrong with the object, empty if nothing is.
  std::string Finish() const;

 private:
  template <class T, class Rule>
  bool Read(const char* name, T& value, Rule rule);

  static constexpr size_t kNumFieldsMax = 24;

  const Json& object_;
  JsonReading reading_;
  std::array<std::string_view, kNumFieldsMax> known_;
  size_t num_known_ = 0;
  size_t num_found_ = 0;
  std::string error_;
};

class JsonWriter {
 public:
  // Args: hosts: null: ids are numbers.
  explicit JsonWriter(const HostNames* hosts = nullptr) : hosts_(hosts) {}

  template <class T, class Rule = AnyValue>
  void Required(const char* name, const T& value, Rule /*rule*/ = {}) {
    object_[name] = std::same_as<Rule, MaybeInfinite> ? WriteInfinite(value) : WriteValue(value);
  }
  template <class T, class Rule = AnyValue>
  void Optional(const char* name, const T& value, Rule rule = {}) {
    if (!(value == T())) Required(name, value, rule);
  }
  template <class T, class Rule = AnyValue>
  void Required(int /*number*/, const char* name, const T& value, Rule rule = {}) {
    Required(name, value, rule);
  }
  template <class T, class Rule = AnyValue>
  void Optional(int /*number*/, const char* name, const T& value, Rule rule = {}) {
    Optional(name, value, rule);
  }
  template <class T>
  void Inline(const char* name, const T& value) {
    Required(name, value);
  }
  template <class Kind, class Variant>
  void OneOf(const char* name, const Variant& value) {
    if (const auto* kind = std::get_if<Kind>(&value)) Required(name, *kind);
  }
  template <class FindFault>
  void Law(FindFault /*find_fault*/) {}

  Json Take() { return std::move(object_); }

 private:
  template <class T>
  Json WriteValue(const T& value) const;
  template <class T>
  Json WriteInfinite(const T& value) const;

  const HostNames* hosts_;
  Json object_ = Json::object();
};

template <class T>
std::string ReadValue(const Json& json, JsonReading reading, T* value);

template <class Item>
std::string ReadItems(const Json& json, JsonReading reading, Item* items, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    std::string error = ReadValue(json[i], reading, &items[i]);
    if (!error.empty()) return fmt::format("[{}]{}", i, error);
  }
  return "";
}

template <class Item>
std::string ReadContainer(const Json& json, JsonReading reading, std::vector<Item>* items) {
  if (!json.is_array()) return ExpectedButFound("a list", json);
  items->assign(json.size(), Item());
  return ReadItems(json, reading, items->data(), json.size());
}

// A list that may be shorter: the rest stays as it is.
template <class Item, size_t N>
std::string ReadContainer(const Json& json, JsonReading reading, std::array<Item, N>* items) {
  if (!json.is_array() || json.size() > N) return ExpectedButFound(fmt::format("a list of at most {}", N), json);
  return ReadItems(json, reading, items->data(), json.size());
}

// An object whose members are named freely.
template <class Item>
std::string ReadContainer(const Json& json, JsonReading reading, std::map<std::string, Item>* items) {
  if (!json.is_object()) return ExpectedButFound("an object", json);
  for (const auto& [name, item] : json.items()) {
    std::string error = ReadValue(item, reading, &(*items)[name]);
    if (!error.empty()) return fmt::format(".{}{}", DescribeValue(Json(name)), error);
  }
  return "";
}

template <class Collection>
requires kIsCollection<Collection> std::string ReadContainer(const Json& json, JsonReading reading,
                                                             Collection* collection) {
  std::vector<typename Collection::value_type> items;
  std::string error = ReadContainer(json, reading, &items);
  *collection = Collection(items.begin(), items.end());
  return error;
}

template <class Item>
std::string ReadContainer(const Json& json, JsonReading reading, std::optional<Item>* item) {
  if (json.is_null()) return "";
  return ReadValue(json, reading, &item->emplace());
}

template <class T>
std::string ReadValue(const Json& json, JsonReading reading, T* value) {
  if constexpr (std::same_as<T, bool>) {
    return ReadBool(json, value);
  } else if constexpr (std::same_as<T, std::string>) {
    return ReadText(json, value);
  } else if constexpr (std::same_as<T, IpAddress>) {
    return ReadAddress(json, value);
  } else if constexpr (std::same_as<T, double>) {
    return ReadNumber(json, value);
  } else if constexpr (kIsQuantity<T>) {
    double number = 0;
    std::string error = ReadNumber(json, &number);
    *value = T(number);
    return error;
  } else if constexpr (std::same_as<T, SimTime> || std::same_as<T, SimDuration>) {
    using Limits = std::numeric_limits<int64_t>;
    int64_t ns = 0;
    std::string error = ReadSigned(json, Limits::min(), Limits::max(), &ns);
    *value = T(ns);
    return error;
  } else if constexpr (kIsId<T> || std::is_enum_v<T> || std::unsigned_integral<T>) {
    if constexpr (std::same_as<T, HostId>) {
      if (reading.hosts != nullptr && (json.is_null() || json.is_string())) {
        *value = json.is_null() ? HostId() : reading.hosts->Find(json.get_ref<const std::string&>());
        return "";
      }
    }
    uint64_t number = 0;
    uint64_t high = std::numeric_limits<uint32_t>::max() - uint64_t{1};  // of ids: the greatest means none
    if constexpr (std::is_enum_v<T>) high = LastEnumerator<T>();
    if constexpr (std::unsigned_integral<T>) high = std::numeric_limits<T>::max();
    std::string error = ReadInteger(json, high, &number);
    if constexpr (kIsId<T>) *value = T(static_cast<uint32_t>(number));
    if constexpr (!kIsId<T>) *value = static_cast<T>(number);
    return error;
  } else if constexpr (std::signed_integral<T>) {
    int64_t number = 0;
    std::string error = ReadSigned(json, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), &number);
    *value = static_cast<T>(number);
    return error;
  } else if constexpr (requires { ReadContainer(json, reading, value); }) {
    return ReadContainer(json, reading, value);
  } else {
    JsonReader reader(json, reading);
    Describe(reader, *value);
    std::string error = reader.Finish();
    if constexpr (requires { value->valueless_by_exception(); }) {
      if (error.empty() && reader.num_found() != 1) error = ExpectedButFound("one member, named after its kind", json);
    }
    return error;
  }
}

template <class T, class Rule>
bool JsonReader::Read(const char* name, T& value, Rule /*rule*/) {
  if (!error_.empty()) return true;
  FL_CHECK(num_known_ < kNumFieldsMax);
  known_[num_known_++] = name;
  const auto member = object_.find(name);
  if (member == object_.end()) return false;
  ++num_found_;
  std::string error;
  if constexpr (std::same_as<Rule, MaybeInfinite>) {
    error = ReadInfinite(*member, &value);
  } else {
    error = ReadValue(*member, reading_, &value);
  }
  if (!error.empty()) error_ = fmt::format(".{}{}", name, error);
  return true;
}

template <class T>
Json JsonWriter::WriteValue(const T& value) const {
  if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
    return value;
  } else if constexpr (std::same_as<T, IpAddress>) {
    return value.ToString();
  } else if constexpr (std::same_as<T, SimTime> || std::same_as<T, SimDuration>) {
    return value.ns();
  } else if constexpr (std::same_as<T, HostId>) {
    return hosts_ == nullptr ? Json(value.value()) : hosts_->ToJson(value);
  } else if constexpr (kIsId<T> || kIsQuantity<T>) {
    return value.value();
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<uint64_t>(value);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? WriteValue(*value) : Json();
  } else if constexpr (kIsMap<T>) {
    Json members = Json::object();
    for (const auto& [name, item] : value) members[name] = WriteValue(item);
    return members;
  } else if constexpr (kIsCollection<T>) {
    Json items = Json::array();
    for (const auto& item : value) items.push_back(WriteValue(item));
    return items;
  } else if constexpr (requires { value.size(); }) {
    Json items = Json::array();
    size_t size = value.size();
    // Arrays of fixed size end with the last item that says something.
    if constexpr (!requires { value.capacity(); }) {
      while (size > 0 && value[size - 1] == typename T::value_type()) --size;
    }
    for (size_t i = 0; i < size; ++i) items.push_back(WriteValue(value[i]));
    return items;
  } else {
    JsonWriter writer(hosts_);
    Describe(writer, value);
    return writer.Take();
  }
}

template <class T>
Json JsonWriter::WriteInfinite(const T& value) const {
  if constexpr (std::same_as<T, double>) {
    if (!std::isfinite(value)) return fmt::format("{}", value);
  }
  return WriteValue(value);
}

// Args: hosts: null: ids are numbers.
template <class Record>
Json ToJson(const Record& record, const HostNames* hosts = nullptr) {
  JsonWriter writer(hosts);
  Describe(writer, record);
  return writer.Take();
}

}  // namespace fairlead::codec

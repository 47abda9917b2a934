// The fields of a structure as members of a JSON object: one description of a structure serves for reading and for
// writing it.
//
//     template <class Archive, IsRecord<Place> Record>
//     void Describe(Archive& archive, Record& place) {
//       archive.Required("host", place.host);
//       archive.Optional("gpu", place.gpu);   // left out where it is the default
//     }
//
// Errors name the path and what was expected: "ranks[3].gpu: expected an integer from 0 to 4294967295, found -1".
#pragma once

#include <fmt/format.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/sim_time.h"
#include "telemetry/json_text.h"

namespace fairlead::telemetry {

// Matches T and const T: a description that is used for both directions.
template <class T, class Record>
concept IsRecord = std::same_as<std::remove_const_t<T>, Record>;

// Files of our own are read strictly; foreign ones grow members that we need not know.
enum class UnknownKeys { kRefused, kIgnored };

// How many values an enumeration has: 0 .. n - 1. Specialized where it is read or written.
template <class Enum>
inline constexpr uint64_t kNumEnumerators = 0;

// Each ReadValue fills `value` and returns what is wrong, empty if nothing is: ": expected …, found …" for the value
// itself, ".name…" or "[index]…" for one inside it.
std::string ReadInteger(const Json& json, uint64_t high, uint64_t* value);
std::string ReadSigned(const Json& json, int64_t low, int64_t high, int64_t* value);
std::string ReadText(const Json& json, std::string* value);
std::string ReadBool(const Json& json, bool* value);
std::string ReadNumber(const Json& json, double* value);
std::string ExpectedButFound(std::string_view expected, const Json& json);

class FieldReader {
 public:
  FieldReader(const Json& object, UnknownKeys unknown_keys) : object_(object), unknown_keys_(unknown_keys) {
    if (!object.is_object()) error_ = ExpectedButFound("an object", object);
  }

  template <class T>
  void Required(const char* name, T& value) {
    const bool is_there = Read(name, value);
    if (!is_there && error_.empty()) error_ = fmt::format(".{}: is missing", name);
  }
  template <class T>
  void Optional(const char* name, T& value) {
    Read(name, value);
  }

  // What is wrong with the object, empty if nothing is.
  std::string Finish() const;

 private:
  template <class T>
  bool Read(const char* name, T& value);

  static constexpr size_t kNumFieldsMax = 20;

  const Json& object_;
  UnknownKeys unknown_keys_;
  std::array<std::string_view, kNumFieldsMax> known_;
  size_t num_known_ = 0;
  size_t num_found_ = 0;
  std::string error_;
};

class FieldWriter {
 public:
  template <class T>
  void Required(const char* name, const T& value) {
    object_[name] = WriteValue(value);
  }
  template <class T>
  void Optional(const char* name, const T& value) {
    if (!(value == T())) Required(name, value);
  }
  Json Take() { return std::move(object_); }

 private:
  template <class T>
  static Json WriteValue(const T& value);

  Json object_ = Json::object();
};

template <class T>
inline constexpr bool kIsId = false;
template <class Tag>
inline constexpr bool kIsId<Id<Tag>> = true;

template <class T>
std::string ReadValue(const Json& json, UnknownKeys unknown_keys, T* value);

template <class Item>
std::string ReadItems(const Json& json, UnknownKeys unknown_keys, Item* items, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    std::string error = ReadValue(json[i], unknown_keys, &items[i]);
    if (!error.empty()) return fmt::format("[{}]{}", i, error);
  }
  return "";
}

template <class Item>
std::string ReadContainer(const Json& json, UnknownKeys unknown_keys, std::vector<Item>* items) {
  if (!json.is_array()) return ExpectedButFound("a list", json);
  items->assign(json.size(), Item());
  return ReadItems(json, unknown_keys, items->data(), json.size());
}

// A list that may be shorter: the rest stays as it is.
template <class Item, size_t N>
std::string ReadContainer(const Json& json, UnknownKeys unknown_keys, std::array<Item, N>* items) {
  if (!json.is_array() || json.size() > N) return ExpectedButFound(fmt::format("a list of at most {}", N), json);
  return ReadItems(json, unknown_keys, items->data(), json.size());
}

template <class Item>
std::string ReadContainer(const Json& json, UnknownKeys unknown_keys, std::optional<Item>* item) {
  if (json.is_null()) return "";
  return ReadValue(json, unknown_keys, &item->emplace());
}

template <class T>
std::string ReadValue(const Json& json, UnknownKeys unknown_keys, T* value) {
  if constexpr (std::same_as<T, bool>) {
    return ReadBool(json, value);
  } else if constexpr (std::same_as<T, std::string>) {
    return ReadText(json, value);
  } else if constexpr (std::same_as<T, double>) {
    return ReadNumber(json, value);
  } else if constexpr (std::same_as<T, SimTime> || std::same_as<T, SimDuration>) {
    using Limits = std::numeric_limits<int64_t>;
    int64_t ns = 0;
    std::string error = ReadSigned(json, Limits::min(), Limits::max(), &ns);
    *value = T(ns);
    return error;
  } else if constexpr (kIsId<T> || std::is_enum_v<T> || std::unsigned_integral<T>) {
    uint64_t number = 0;
    uint64_t high = std::numeric_limits<uint32_t>::max() - uint64_t{1};  // of ids: the greatest means none
    if constexpr (std::is_enum_v<T>) high = kNumEnumerators<T> - 1;
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
  } else if constexpr (requires { ReadContainer(json, unknown_keys, value); }) {
    return ReadContainer(json, unknown_keys, value);
  } else {
    FieldReader reader(json, unknown_keys);
    Describe(reader, *value);
    return reader.Finish();
  }
}

template <class T>
bool FieldReader::Read(const char* name, T& value) {
  if (!error_.empty()) return true;
  FL_CHECK(num_known_ < kNumFieldsMax);
  known_[num_known_++] = name;
  const auto member = object_.find(name);
  if (member == object_.end()) return false;
  ++num_found_;
  std::string error = ReadValue(*member, unknown_keys_, &value);
  if (!error.empty()) error_ = fmt::format(".{}{}", name, error);
  return true;
}

template <class T>
Json FieldWriter::WriteValue(const T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
    return value;
  } else if constexpr (std::same_as<T, SimTime> || std::same_as<T, SimDuration>) {
    return value.ns();
  } else if constexpr (kIsId<T>) {
    return value.value();
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<uint64_t>(value);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? WriteValue(*value) : Json();
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
    FieldWriter writer;
    Describe(writer, value);
    return writer.Take();
  }
}

}  // namespace fairlead::telemetry

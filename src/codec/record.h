// One description of a record serves all its forms.
//
//     template <class Archive, codec::IsRecord<Place> Record>
//     void Describe(Archive& archive, Record& place) {
//       archive.Required(1, "host", place.host);
//       archive.Optional(2, "gpu", place.gpu);   // left out where it is the default
//       archive.Required(3, "share", place.share, codec::Positive());
//       archive.Law([&] { return place.gpu < 8 ? "" : "gpu: there are 8"; });
//     }
//
//     archive          uses                for
//     JsonReader       names               files and what is kept (json_archive.h)
//     JsonWriter       names
//     ProtobufReader   numbers             messages (protobuf_archive.h)
//     ProtobufWriter   numbers
//     FieldChecker     rules and laws      what comes from outside (field_rules.h)
//     RandomFiller     rules               tests (random_archive.h)
//
// A record that is never a message leaves the numbers out. A `rule` narrows the values of one field, or says how it is
// a message's; a law is about several fields. Laws and rules return what is wrong, empty if nothing is.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/sim_time.h"
#include "base/units.h"

namespace fairlead::codec {

// Matches T and const T: a description that is used for both directions.
template <class T, class Record>
concept IsRecord = std::same_as<std::remove_const_t<T>, Record>;

// How many values an enumeration has: 0 .. n - 1. Specialized where it is read or written.
template <class Enum>
inline constexpr uint64_t kNumEnumerators = 0;

// The greatest number of one.
template <class Enum>
constexpr uint64_t LastEnumerator() {
  static_assert(kNumEnumerators<Enum> > 0, "specialize kNumEnumerators for this type, before it is described");
  return kNumEnumerators<Enum> - 1;
}

template <class T>
inline constexpr bool kIsId = false;
template <class Tag>
inline constexpr bool kIsId<Id<Tag>> = true;

template <class T>
inline constexpr bool kIsQuantity = false;
template <class Tag>
inline constexpr bool kIsQuantity<Quantity<Tag>> = true;

template <class T>
inline constexpr bool kIsList = false;
template <class Item>
inline constexpr bool kIsList<std::vector<Item>> = true;

// Other containers of values.
template <class T>
inline constexpr bool kIsCollection = false;
template <class Item>
inline constexpr bool kIsCollection<std::deque<Item>> = true;
template <class Item>
inline constexpr bool kIsCollection<std::set<Item>> = true;

template <class T>
inline constexpr bool kIsArray = false;
template <class Item, size_t N>
inline constexpr bool kIsArray<std::array<Item, N>> = true;

template <class T>
inline constexpr bool kIsMap = false;
template <class Item>
inline constexpr bool kIsMap<std::map<std::string, Item>> = true;

template <class T>
inline constexpr bool kIsOptional = false;
template <class Item>
inline constexpr bool kIsOptional<std::optional<Item>> = true;

// One value without parts.
template <class T>
concept IsScalar =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || kIsId<T> || kIsQuantity<T> || std::same_as<T, SimTime> ||
    std::same_as<T, SimDuration> || std::same_as<T, std::string> || std::same_as<T, IpAddress>;

// What Describe() describes.
template <class T>
concept IsDescribed = !IsScalar<T> && !kIsList<T> && !kIsCollection<T> && !kIsArray<T> && !kIsMap<T> && !kIsOptional<T>;

// An error of an archive as a person reads it: without the sign that joins it to what is before.
inline std::string WithoutJoint(const std::string& error) {
  return error.substr(error.starts_with(": ") ? 2 : error.starts_with('.') ? 1 : 0);
}

// ---- Rules ----

struct AnyValue {};

// Over 0, and finite.
struct Positive {
  std::string Fault(double value) const {
    if (std::isfinite(value) && value > 0) return "";
    return fmt::format(": expected a number over 0, found {}", value);
  }
  template <class Tag>
  std::string Fault(Quantity<Tag> value) const {
    return Fault(value.value());
  }
  std::string Fault(SimDuration value) const {
    return value.ns() > 0 ? "" : fmt::format(": expected a time over 0, found {} ns", value.ns());
  }
};

// At least 0, and finite; at most `most`.
struct Amount {
  double most = std::numeric_limits<double>::max();

  std::string Fault(double value) const {
    if (value >= 0 && value <= most) return "";
    return most == std::numeric_limits<double>::max()
               ? fmt::format(": expected a number of at least 0, found {}", value)
               : fmt::format(": expected 0 to {}, found {}", most, value);
  }
};

// Of lists.
struct AtMost {
  size_t most = 0;

  template <class Item>
  std::string Fault(const std::vector<Item>& items) const {
    return items.size() <= most ? "" : fmt::format(": expected at most {}, found {}", most, items.size());
  }
};

// Addresses that may be missing.
struct MaybeUnset {};

// Numbers that JSON has no form for: a text there.
struct MaybeInfinite {};

// How a field is written in messages, where that is not what its type has by itself.
struct Fixed64 {};   // numbers of which most are large
struct FromOne {};   // enumerations: 0 means that the field is missing, which is an error
struct Negated {};   // a bool that is mostly true: it says when it is not
struct PlainInt {};  // of both signs, and mostly positive

}  // namespace fairlead::codec

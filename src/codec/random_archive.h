// Random records, each value within its type and rule (record.h): for properties of what writes and reads them. Laws
// between fields are the caller's to keep. Never linked into products.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>

#include "base/random.h"
#include "codec/record.h"

namespace fairlead::codec {

// Small numbers and the largest ones are where mistakes are.
template <class Integer>
Integer AnyInteger(Random* random) {
  switch (random->Below(4)) {
    case 0:
      return static_cast<Integer>(random->Below(3));
    case 1:
      return static_cast<Integer>(std::numeric_limits<Integer>::max() - random->Below(2));
    default:
      return static_cast<Integer>((*random)());
  }
}

inline IpAddress AnyAddress(Random* random) {
  if (random->Below(2) == 0) return IpAddress::FromIpv4(AnyInteger<uint32_t>(random));
  std::array<uint8_t, 16> bytes;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>((*random)());
  return IpAddress(bytes);
}

inline std::string AnyText(Random* random) {
  static constexpr std::array<std::string_view, 9> kPieces = {
      "a", "job-", "/0", "é", "训练", " ", "\t\"\\{}", "\n", std::string_view("\0", 1)};
  std::string text;
  while (random->Below(3) != 0) text += kPieces[random->Below(kPieces.size())];
  return text;
}

class RandomFiller {
 public:
  explicit RandomFiller(Random* random) : random_(random) {}

  template <class T, class Rule = AnyValue>
  void Required(const char* /*name*/, T& value, Rule rule = {}) {
    Fill(&value, rule);
  }
  template <class T, class Rule = AnyValue>
  void Optional(const char* /*name*/, T& value, Rule rule = {}) {
    if (random_->Below(3) == 0) {
      value = T();
    } else {
      Fill(&value, rule);
    }
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
  void Inline(const char* /*name*/, T& value) {
    Describe(*this, value);
  }
  template <class Kind, class Variant>
  void OneOf(int /*number*/, const char* /*name*/, Variant& value) {
    if (num_kinds_++ == 0) kind_ = random_->Below(std::variant_size_v<Variant>);
    if (num_kinds_ == kind_ + 1) Fill(&value.template emplace<Kind>(), AnyValue());
  }
  template <class FindFault>
  void Law(FindFault /*find_fault*/) {}

 private:
  template <class T, class Rule>
  void Fill(T* value, const Rule& rule) {
    if constexpr (requires { rule.Fill(random_, value); }) {
      rule.Fill(random_, value);
    } else if constexpr (std::same_as<T, std::string>) {
      *value = AnyText(random_);
    } else if constexpr (std::same_as<T, IpAddress>) {
      *value = std::same_as<Rule, MaybeUnset> && random_->Below(3) == 0 ? IpAddress() : AnyAddress(random_);
    } else if constexpr (std::same_as<T, bool>) {
      *value = random_->Below(2) == 0;
    } else if constexpr (std::same_as<T, SimTime> || std::same_as<T, SimDuration>) {
      *value =
          T(std::same_as<Rule, Positive> ? 1 + static_cast<int64_t>((*random_)() >> 2) : AnyInteger<int64_t>(random_));
    } else if constexpr (std::same_as<T, double> || kIsQuantity<T>) {
      *value = T(AnyNumber(rule));
    } else if constexpr (std::is_enum_v<T>) {
      *value = static_cast<T>(random_->Below(LastEnumerator<T>() + 1));
    } else if constexpr (kIsId<T>) {
      *value = T(static_cast<uint32_t>(random_->Below(std::numeric_limits<uint32_t>::max())));
    } else if constexpr (std::integral<T>) {
      *value = AnyInteger<T>(random_);
    } else if constexpr (kIsOptional<T>) {
      if (random_->Below(2) == 0) {
        value->reset();
      } else {
        Fill(&value->emplace(), rule);
      }
    } else if constexpr (kIsList<T>) {
      value->resize(random_->Below(5));
      for (auto& item : *value) Fill(&item, rule);
    } else if constexpr (kIsArray<T>) {
      *value = {};
      const size_t size = random_->Below(value->size() + 1);
      for (size_t i = 0; i < size; ++i) Fill(&(*value)[i], rule);
    } else {
      RandomFiller filler(random_);
      Describe(filler, *value);
    }
  }

  template <class Rule>
  double AnyNumber(const Rule& rule) {
    if constexpr (requires { rule.most; }) return rule.most * random_->Uniform();
    if (!std::same_as<Rule, Positive> && random_->Below(4) == 0) return 0;
    return std::numeric_limits<double>::min() + random_->Exponential(1e9);
  }

  Random* random_;
  size_t num_kinds_ = 0;
  size_t kind_ = 0;
};

template <class Record>
Record RandomRecord(Random* random) {
  Record record;
  RandomFiller filler(random);
  Describe(filler, record);
  return record;
}

}  // namespace fairlead::codec

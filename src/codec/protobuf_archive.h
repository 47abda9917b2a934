// Records as protobuf messages (record.h), by the numbers of their fields.
//
//     in C++                               in a .proto file
//     bool, unsigned integers, Id, enum    bool, uint32, uint64
//     signed integers                      sint32, sint64; with PlainInt int32, int64
//     double, Quantity                     double
//     SimTime                              sfixed64, ns
//     SimDuration                          int64, ns
//     std::string                          string
//     IpAddress                            bytes: 4 of IPv4, 16 of IPv6, in network order; with MaybeUnset none, too
//     std::optional, optional Id           optional
//     std::vector, std::array              repeated; the zeros at the end of an array are left out
//     a record                             its message
//     a record that is Inline              its fields
//     std::variant, described by OneOf     oneof
//
// As protobuf has it, numbers that are 0 and texts that are empty are left out, the last value of a field counts, and
// unknown fields are skipped. Other than there, a number that its C++ type cannot hold is an error, and so are an address
// and an enumeration FromOne that are missing, and a variant without one of its kinds.
//
// Errors name the path and what was expected: "paths_wanted.connections[2].source: expected an address of …".
// Reference  protobuf.dev/programming-guides/encoding.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"
#include "codec/field_rules.h"
#include "codec/record.h"

namespace fairlead::codec {

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// ---- Values as numbers ----

template <class T, class Rule>
constexpr WireType WireTypeOf() {
  if (std::same_as<T, std::string> || std::same_as<T, IpAddress> || IsDescribed<T>) return WireType::kBytes;
  const bool is_fixed =
      std::same_as<T, double> || kIsQuantity<T> || std::same_as<T, SimTime> || std::same_as<Rule, Fixed64>;
  return is_fixed ? WireType::kFixed64 : WireType::kVarint;
}

template <class T, class Rule>
uint64_t ToWire(const T& value) {
  if constexpr (std::same_as<Rule, Negated>) {
    return value ? 0 : 1;
  } else if constexpr (std::same_as<Rule, FromOne>) {
    return static_cast<uint64_t>(value) + 1;
  } else if constexpr (std::same_as<T, SimTime> || std::same_as<T, SimDuration>) {
    return static_cast<uint64_t>(value.ns());
  } else if constexpr (kIsId<T>) {
    return value.value();
  } else if constexpr (kIsQuantity<T>) {
    return std::bit_cast<uint64_t>(value.value());
  } else if constexpr (std::same_as<T, double>) {
    return std::bit_cast<uint64_t>(value);
  } else if constexpr (std::signed_integral<T> && !std::same_as<Rule, PlainInt>) {
    const auto wide = static_cast<int64_t>(value);
    return static_cast<uint64_t>(wide) << 1 ^ static_cast<uint64_t>(wide >> 63);
  } else if constexpr (std::signed_integral<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  } else {
    return static_cast<uint64_t>(value);
  }
}

// The error, empty if there is none.
template <class T, class Rule>
std::string FromWire(uint64_t wire, T* value) {
  const auto out_of = [](uint64_t most, uint64_t found) {
    return fmt::format(": expected 0 to {}, found {}", most, found);
  };
  if constexpr (std::same_as<Rule, Negated>) {
    *value = wire == 0;
  } else if constexpr (std::same_as<Rule, FromOne>) {
    if (wire == 0 || wire - 1 > LastEnumerator<T>()) {
      return fmt::format(": expected one that this version knows, found {}", wire);
    }
    *value = static_cast<T>(wire - 1);
  } else if constexpr (std::same_as<T, SimTime> || std::same_as<T, SimDuration>) {
    *value = T(static_cast<int64_t>(wire));
  } else if constexpr (kIsQuantity<T> || std::same_as<T, double>) {
    *value = T(std::bit_cast<double>(wire));
  } else if constexpr (std::same_as<T, bool>) {
    *value = wire != 0;
  } else if constexpr (std::signed_integral<T>) {
    const bool is_plain = std::same_as<Rule, PlainInt>;
    const auto wide = static_cast<int64_t>(is_plain ? wire : wire >> 1 ^ (~(wire & 1) + 1));
    if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) {
      return fmt::format(": expected {} to {}, found {}", std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
                         wide);
    }
    *value = static_cast<T>(wide);
  } else {
    uint64_t most = std::numeric_limits<uint32_t>::max() - uint64_t{1};  // of ids: the greatest means none
    if constexpr (std::is_enum_v<T>) most = LastEnumerator<T>();
    if constexpr (std::unsigned_integral<T>) most = std::numeric_limits<T>::max();
    if (wire > most) return out_of(most, wire);
    if constexpr (kIsId<T>) *value = T(static_cast<uint32_t>(wire));
    if constexpr (!kIsId<T>) *value = static_cast<T>(wire);
  }
  return "";
}

// ---- Writing ----

// Gathers the bytes of one message.
class ProtobufWriter {
 public:
  template <class T, class Rule = AnyValue>
  void Required(int number, const char* /*name*/, const T& value, Rule /*rule*/ = {}) {
    if constexpr (IsDescribed<T>) {
      WriteMessage(number, value);
    } else if constexpr (IsScalar<T>) {
      if (!IsEmpty<Rule>(value)) WriteScalar<Rule>(number, value);
    } else if constexpr (kIsOptional<T>) {
      if (value.has_value()) WriteScalar<Rule>(number, *value);
    } else {
      WriteList<Rule>(number, value);
    }
  }
  template <class T, class Rule = AnyValue>
  void Optional(int number, const char* name, const T& value, Rule rule = {}) {
    if constexpr (kIsId<T>) {
      if (value.valid()) WriteScalar<Rule>(number, value);
    } else {
      Required(number, name, value, rule);
    }
  }
  template <class T>
  void Inline(const char* /*name*/, const T& value) {
    Describe(*this, value);
  }
  template <class Kind, class Variant>
  void OneOf(int number, const char* /*name*/, const Variant& value) {
    if (const auto* kind = std::get_if<Kind>(&value)) WriteMessage(number, *kind);
  }
  template <class FindFault>
  void Law(FindFault /*find_fault*/) {}

  std::string Take() { return std::move(bytes_); }

 private:
  template <class Rule, class T>
  static bool IsEmpty(const T& value) {
    if constexpr (std::same_as<T, std::string>) {
      return value.empty();
    } else if constexpr (std::same_as<T, IpAddress>) {
      return std::same_as<Rule, MaybeUnset> && value.is_unset();
    } else {
      return ToWire<T, Rule>(value) == 0;
    }
  }

  template <class Rule, class T>
  void WriteScalar(int number, const T& value) {
    AppendTag(number, WireTypeOf<T, Rule>());
    AppendScalar<Rule>(value);
  }
  template <class Rule, class T>
  void AppendScalar(const T& value) {
    if constexpr (std::same_as<T, std::string>) {
      AppendBytes(value);
    } else if constexpr (std::same_as<T, IpAddress>) {
      AppendAddress(value, std::same_as<Rule, MaybeUnset>);
    } else if constexpr (WireTypeOf<T, Rule>() == WireType::kFixed64) {
      AppendFixed64(ToWire<T, Rule>(value));
    } else {
      AppendVarint(ToWire<T, Rule>(value));
    }
  }

  template <class Record>
  void WriteMessage(int number, const Record& record) {
    AppendTag(number, WireType::kBytes);
    const size_t begin = bytes_.size();
    Describe(*this, record);
    InsertLength(begin);
  }

  template <class Rule, class List>
  void WriteList(int number, const List& list) {
    using Item = typename List::value_type;
    if constexpr (IsDescribed<Item>) {
      for (const Item& item : list) WriteMessage(number, item);
    } else if constexpr (WireTypeOf<Item, Rule>() == WireType::kBytes) {
      for (const Item& item : list) WriteScalar<Rule>(number, item);
    } else {
      size_t size = list.size();
      if constexpr (kIsArray<List>) {
        while (size > 0 && list[size - 1] == Item()) --size;
      }
      if (size == 0) return;
      AppendTag(number, WireType::kBytes);
      const size_t begin = bytes_.size();
      for (size_t i = 0; i < size; ++i) AppendScalar<Rule>(list[i]);
      InsertLength(begin);
    }
  }

  void AppendTag(int number, WireType type) {
    AppendVarint(static_cast<uint64_t>(number) << 3 | static_cast<uint64_t>(type));
  }
  void AppendVarint(uint64_t value);
  void AppendFixed64(uint64_t value);
  void AppendBytes(std::string_view bytes);
  void AppendAddress(const IpAddress& address, bool may_be_unset);
  // Before what has been appended since `begin`.
  void InsertLength(size_t begin);

  std::string bytes_;
};

// ---- Reading ----

// Takes bytes of a message from the front.
class WireBytes {
 public:
  explicit WireBytes(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  // Each returns false where the bytes end too early or cannot be.
  bool TakeTag(int* number, WireType* type);
  bool TakeVarint(uint64_t* value);
  bool TakeFixed64(uint64_t* value);
  bool TakeBytes(std::string_view* bytes);
  bool Skip(WireType type);

 private:
  std::string_view rest_;
};

// What the lists of one message may take in memory, however few bytes it has: an empty message in a list takes two.
inline constexpr size_t kListBytesMax = size_t{64} << 20;

// Describe() is called with it once before the fields of a message (all become what a missing field is), once for each
// field, and once after the last (rules and laws).
class ProtobufReader {
 public:
  explicit ProtobufReader(size_t* list_bytes) : list_bytes_(list_bytes) {}

  // The error, empty if there is none: then `record` is the message.
  template <class Record>
  std::string Read(std::string_view bytes, Record* record) {
    Describe(*this, *record);
    WireBytes input(bytes);
    step_ = Step::kField;
    while (!input.empty()) {
      if (!input.TakeTag(&number_, &type_)) return kDamaged;
      input_ = &input;
      is_taken_ = false;
      Describe(*this, *record);
      if (!error_.empty()) return error_;
      if (!is_taken_ && !input.Skip(type_)) return kDamaged;
    }
    step_ = Step::kEnd;
    Describe(*this, *record);
    if constexpr (requires { record->valueless_by_exception(); }) {
      if (seen_ == 0) return ": expected one kind of message that this version knows, found none";
    }
    return error_;
  }

  template <class T, class Rule = AnyValue>
  void Required(int number, const char* name, T& value, Rule rule = {}) {
    Field(number, name, &value, rule, false);
  }
  template <class T, class Rule = AnyValue>
  void Optional(int number, const char* name, T& value, Rule rule = {}) {
    Field(number, name, &value, rule, true);
  }
  template <class T>
  void Inline(const char* /*name*/, T& value) {
    Describe(*this, value);
  }
  template <class Kind, class Variant>
  void OneOf(int number, const char* name, Variant& value) {
    if (step_ != Step::kField || number != number_) return;
    Fail(name, ReadMessage(&value.template emplace<Kind>()));
    Mark(number);
  }
  template <class FindFault>
  void Law(FindFault find_fault) {
    if (step_ != Step::kEnd || !error_.empty()) return;
    const std::string fault = find_fault();
    if (!fault.empty()) error_ = "." + fault;
  }

 private:
  enum class Step : uint8_t { kBegin, kField, kEnd };

  static constexpr const char* kDamaged = ": expected a message, found bytes that are none";
  static constexpr int kNumberMax = 63;

  template <class T, class Rule>
  void Field(int number, const char* name, T* value, const Rule& rule, bool is_optional) {
    if (step_ == Step::kField && number != number_) return;
    if (!error_.empty()) return;
    switch (step_) {
      case Step::kBegin:
        return Clear<Rule>(value, is_optional);
      case Step::kField:
        Fail(name, Take<Rule>(value));
        return Mark(number);
      case Step::kEnd:
        const bool is_seen = (seen_ >> number & 1) != 0;
        if constexpr (IsDescribed<T>) {
          if (!is_seen) return Fail(name, ProtobufReader(list_bytes_).Read("", value));
        } else if constexpr (std::same_as<T, IpAddress> && !std::same_as<Rule, MaybeUnset>) {
          if (!is_seen) return Fail(name, TakeAddress("", false, value));
        } else if constexpr (std::same_as<Rule, FromOne>) {
          if (!is_seen) return Fail(name, FromWire<T, Rule>(0, value));
        }
        return Fail(name, FindFieldFault(*value, rule));
    }
  }

  template <class Rule, class T>
  static void Clear(T* value, bool is_optional) {
    if constexpr (kIsId<T>) {
      *value = is_optional ? T() : T(0u);
    } else if constexpr (IsScalar<T> && !std::same_as<T, IpAddress> && !std::same_as<T, std::string> &&
                         !std::same_as<Rule, FromOne>) {
      FromWire<T, Rule>(0, value);
    } else if constexpr (!IsDescribed<T>) {
      *value = T();
    }
  }

  template <class Rule, class T>
  std::string Take(T* value) {
    if constexpr (IsDescribed<T>) {
      *value = T();
      return ReadMessage(value);
    } else if constexpr (IsScalar<T>) {
      return TakeScalar<Rule>(value);
    } else if constexpr (kIsOptional<T>) {
      return TakeScalar<Rule>(&value->emplace());
    } else {
      return TakeItems<Rule>(value);
    }
  }

  template <class Record>
  std::string ReadMessage(Record* record) {
    std::string_view bytes;
    if (type_ != WireType::kBytes || !input_->TakeBytes(&bytes)) return kDamaged;
    return ProtobufReader(list_bytes_).Read(bytes, record);
  }

  template <class Rule, class T>
  std::string TakeScalar(T* value) {
    if (type_ != WireTypeOf<T, Rule>()) return kDamaged;
    return TakeScalarOf<Rule>(input_, value);
  }
  template <class Rule, class T>
  static std::string TakeScalarOf(WireBytes* input, T* value) {
    if constexpr (std::same_as<T, std::string> || std::same_as<T, IpAddress>) {
      std::string_view bytes;
      if (!input->TakeBytes(&bytes)) return kDamaged;
      if constexpr (std::same_as<T, std::string>) return TakeText(bytes, value);
      if constexpr (std::same_as<T, IpAddress>) return TakeAddress(bytes, std::same_as<Rule, MaybeUnset>, value);
    } else {
      uint64_t wire = 0;
      const bool is_fixed = WireTypeOf<T, Rule>() == WireType::kFixed64;
      if (!(is_fixed ? input->TakeFixed64(&wire) : input->TakeVarint(&wire))) return kDamaged;
      return FromWire<T, Rule>(wire, value);
    }
  }

  // One item, or several numbers in a row.
  template <class Rule, class List>
  std::string TakeItems(List* list) {
    using Item = typename List::value_type;
    constexpr WireType kItemType = WireTypeOf<Item, Rule>();
    if (kItemType == WireType::kBytes || type_ == kItemType) {
      return AddItem(list, [&](Item* item) {
        if constexpr (IsDescribed<Item>) return ReadMessage(item);
        if constexpr (!IsDescribed<Item>) return TakeScalar<Rule>(item);
      });
    }
    std::string_view bytes;
    if (type_ != WireType::kBytes || !input_->TakeBytes(&bytes)) return kDamaged;
    WireBytes items(bytes);
    while (!items.empty()) {
      std::string error = AddItem(list, [&](Item* item) {
        if constexpr (IsDescribed<Item>) return std::string();
        if constexpr (!IsDescribed<Item>) return TakeScalarOf<Rule>(&items, item);
      });
      if (!error.empty()) return error;
    }
    return "";
  }

  template <class List, class ReadItem>
  std::string AddItem(List* list, ReadItem read_item) {
    using Item = typename List::value_type;
    size_t place = 0;
    if constexpr (kIsArray<List>) {
      place = num_array_items_++;
      if (place >= list->size()) return fmt::format(": expected at most {}", list->size());
    } else {
      if (sizeof(Item) > *list_bytes_) return fmt::format(": expected lists of at most {} MiB", kListBytesMax >> 20);
      *list_bytes_ -= sizeof(Item);
      place = list->size();
      list->emplace_back();
    }
    std::string error = read_item(&(*list)[place]);
    return error.empty() ? error : fmt::format("[{}]{}", place, error);
  }

  static std::string TakeText(std::string_view bytes, std::string* text);
  static std::string TakeAddress(std::string_view bytes, bool may_be_unset, IpAddress* address);

  void Mark(int number) {
    FL_CHECK(number <= kNumberMax);
    is_taken_ = true;
    seen_ |= uint64_t{1} << number;
  }
  void Fail(const char* name, const std::string& error) {
    if (!error.empty()) error_ = fmt::format(".{}{}", name, error);
  }

  size_t* list_bytes_;
  Step step_ = Step::kBegin;
  WireBytes* input_ = nullptr;
  int number_ = 0;
  WireType type_ = WireType::kVarint;
  bool is_taken_ = false;
  uint64_t seen_ = 0;           // [number] of those that were there
  size_t num_array_items_ = 0;  // a record has at most one array
  std::string error_;
};

template <class Record>
std::string WriteProtobuf(const Record& record) {
  ProtobufWriter writer;
  Describe(writer, record);
  return writer.Take();
}

// The error, empty if there is none.
template <class Record>
std::string ReadProtobuf(std::string_view bytes, Record* record) {
  size_t list_bytes = kListBytesMax;
  return WithoutJoint(ProtobufReader(&list_bytes).Read(bytes, record));
}

}  // namespace fairlead::codec

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
// unknown fields are skipped. Other than there, a number that its C++ type cannot hold is an error, and so are an
// address and an enumeration FromOne that are missing, and a variant without one of its kinds.
//
// Errors name the path and what was expected: "paths_wanted.connections[2].source: expected an address of …".
// Reference  protobuf.dev/programming-guides/encoding.
#pragma once

#include <fmt/format.h>

#include <array>
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

inline constexpr size_t kVarintBytesMax = 10;

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// ---- Values as numbers ----

template <class T, class Rule>
constexpr WireType WireTypeOf() {
  if (std::same_as<T, std::string> || std::same_as<T, IpAddress> || IsDescribed<T>) return WireType::kBytes;
  const bool is_fixed =
      std::same_as<T, double> || kIsQuantity<T> || std::same_as<T, SimTime> || std::same_as<Rule, Fixed64>;
  return is_fixed ? WireType::kFixed64 : WireType::kVarint;
}

template <class Rule>
int64_t SignedOf(uint64_t wire) {
  return static_cast<int64_t>(std::same_as<Rule, PlainInt> ? wire : wire >> 1 ^ (~(wire & 1) + 1));
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

// The greatest number that a field can have.
template <class T, class Rule>
constexpr uint64_t LargestOnWire() {
  if constexpr (std::same_as<Rule, FromOne>) {
    return LastEnumerator<T>() + 1;
  } else if constexpr (std::is_enum_v<T>) {
    return LastEnumerator<T>();
  } else if constexpr (kIsId<T>) {
    return std::numeric_limits<uint32_t>::max() - uint64_t{1};  // the greatest means none
  } else if constexpr (std::unsigned_integral<T> && !std::same_as<T, bool>) {
    return std::numeric_limits<T>::max();
  } else {
    return std::numeric_limits<uint64_t>::max();
  }
}

// False: there is no such value of its type (WireFault()).
template <class T, class Rule>
bool FromWire(uint64_t wire, T* value) {
  if (wire > LargestOnWire<T, Rule>()) return false;
  if constexpr (std::same_as<Rule, Negated>) {
    *value = wire == 0;
  } else if constexpr (std::same_as<Rule, FromOne>) {
    if (wire == 0) return false;
    *value = static_cast<T>(wire - 1);
  } else if constexpr (std::same_as<T, SimTime> || std::same_as<T, SimDuration>) {
    *value = T(static_cast<int64_t>(wire));
  } else if constexpr (kIsQuantity<T> || std::same_as<T, double>) {
    *value = T(std::bit_cast<double>(wire));
  } else if constexpr (std::same_as<T, bool>) {
    *value = wire != 0;
  } else if constexpr (std::signed_integral<T>) {
    const int64_t wide = SignedOf<Rule>(wire);
    if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) return false;
    *value = static_cast<T>(wide);
  } else if constexpr (kIsId<T>) {
    *value = T(static_cast<uint32_t>(wire));
  } else {
    *value = static_cast<T>(wire);
  }
  return true;
}

// What is wrong with a number that FromWire() does not take.
template <class T, class Rule>
[[gnu::cold, gnu::noinline]] std::string WireFault(uint64_t wire) {
  if constexpr (std::same_as<Rule, FromOne>) {
    return fmt::format(": expected one that this version knows, found {}", wire);
  } else if constexpr (std::signed_integral<T>) {
    return fmt::format(": expected {} to {}, found {}", std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
                       SignedOf<Rule>(wire));
  } else {
    return fmt::format(": expected 0 to {}, found {}", LargestOnWire<T, Rule>(), wire);
  }
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
    const size_t begin = BeginBytes(number);
    Describe(*this, record);
    EndBytes(begin);
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
      const size_t begin = BeginBytes(number);
      for (size_t i = 0; i < size; ++i) AppendScalar<Rule>(list[i]);
      EndBytes(begin);
    }
  }

  void AppendTag(int number, WireType type) {
    AppendVarint(static_cast<uint64_t>(number) << 3 | static_cast<uint64_t>(type));
  }
  void AppendVarint(uint64_t value) {
    std::array<char, kVarintBytesMax> bytes;
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>(value | 0x80);
    bytes[size++] = static_cast<char>(value);
    bytes_.append(bytes.data(), size);
  }
  void AppendFixed64(uint64_t value) {
    std::array<char, 8> bytes;
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(value >> (8 * i));
    bytes_.append(bytes.data(), bytes.size());
  }
  void AppendBytes(std::string_view bytes);
  void AppendAddress(const IpAddress& address, bool may_be_unset);
  // What is appended between the two is the value of a field, after its length.
  size_t BeginBytes(int number) {
    AppendTag(number, WireType::kBytes);
    bytes_ += '\0';
    return bytes_.size();
  }
  void EndBytes(size_t begin);

  std::string bytes_;
};

// ---- Reading ----

// Takes bytes of a message from the front.
class WireBytes {
 public:
  explicit WireBytes(std::string_view bytes = {}) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  size_t size() const { return rest_.size(); }
  // Each returns false where the bytes end too early or cannot be.
  bool TakeTag(int* number, WireType* type);
  bool TakeVarint(uint64_t* value) {
    if (rest_.empty() || static_cast<uint8_t>(rest_[0]) >= 0x80) return TakeLongVarint(value);
    *value = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return true;
  }
  bool TakeFixed64(uint64_t* value);
  bool TakeBytes(std::string_view* bytes);
  bool Skip(WireType type);

 private:
  bool TakeLongVarint(uint64_t* value);

  std::string_view rest_;
};

// What the lists of one message may take in memory, however few bytes it has: an empty message in a list takes two.
inline constexpr size_t kListBytesMax = size_t{64} << 20;

// Describe() takes the fields in the order of their numbers, as writers send them, in one go; others in further ones. A
// field that may still come is judged only when the bytes have ended.
class ProtobufReader {
 public:
  explicit ProtobufReader(size_t* list_bytes) : list_bytes_(list_bytes) {}

  // The error, empty if there is none: then `record` is the message. Args: record: default.
  template <class Record>
  std::string Read(std::string_view bytes, Record* record) {
    input_ = WireBytes(bytes);
    NextField();
    for (is_first_ = true; is_first_ || has_field_ || is_one_postponed_; is_first_ = false) {
      is_one_postponed_ = is_one_taken_ = false;
      Describe(*this, *record);
      if (is_failed_) return error_;
      if (!has_field_ || is_one_taken_) continue;
      if (!input_.Skip(type_)) return kDamaged;
      NextField();
      // Nobody has judged the whole while that was still to come.
      is_one_postponed_ = !has_field_;
    }
    if (is_failed_) return error_;
    if constexpr (requires { record->valueless_by_exception(); }) {
      if (seen_ == 0) return ": expected one kind of message that this version knows, found none";
    }
    return "";
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
    while (IsNext(number)) Taken(number, name, ReadMessage(&value.template emplace<Kind>()));
  }
  // Comes after the fields that it is about.
  template <class FindFault>
  void Law(FindFault find_fault) {
    if (has_field_ || is_one_postponed_ || is_failed_) return;
    const std::string fault = find_fault();
    if (!fault.empty()) Wrong("." + fault);
  }

 private:
  static constexpr const char* kDamaged = ": expected a message, found bytes that are none";
  static constexpr int kNumberMax = 63;

  template <class T, class Rule>
  void Field(int number, const char* name, T* value, const Rule& rule, bool is_optional) {
    if (is_first_) Clear<Rule>(value, is_optional);
    bool is_new = is_first_;
    for (; IsNext(number); is_new = true) Taken(number, name, Take<Rule>(value));
    if constexpr (CanBeWrong<T, Rule>()) {
      if (is_failed_ || (IsSeen(number) && !is_new)) return;
      if (IsSeen(number)) return Judge(name, FindFieldFault(*value, rule));
      if (!has_field_) return Judge(name, JudgeMissing(value, rule));
      is_one_postponed_ = true;
    }
  }

  // Besides not being a value at all.
  template <class T, class Rule>
  static constexpr bool CanBeWrong() {
    return IsDescribed<T> || std::same_as<T, IpAddress> || std::same_as<Rule, FromOne> || kIsQuantity<T> ||
           requires(const Rule& rule, const T& value) {
      rule.Fault(value);
    };
  }
  bool IsSeen(int number) const { return (seen_ >> number & 1) != 0; }
  void Judge(const char* name, std::string error) {
    if (error.empty()) return;
    Wrong(std::move(error));
    Name(name);
  }

  // The next field is this one.
  bool IsNext(int number) const { return has_field_ && number == number_ && !is_failed_; }
  void NextField() {
    has_field_ = !input_.empty();
    if (has_field_ && !input_.TakeTag(&number_, &type_)) Wrong(kDamaged);
  }
  // Args: is_good: else `error_` says what is wrong with the value.
  void Taken(int number, const char* name, bool is_good) {
    FL_CHECK(number <= kNumberMax);
    is_one_taken_ = true;
    seen_ |= uint64_t{1} << number;
    if (!is_good) return Name(name);
    NextField();
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

  template <class T, class Rule>
  std::string JudgeMissing(T* value, const Rule& rule) {
    if constexpr (IsDescribed<T>) {
      return ProtobufReader(list_bytes_).Read("", value);
    } else if constexpr (std::same_as<T, IpAddress> && !std::same_as<Rule, MaybeUnset>) {
      return TakeAddress("", false, value);
    } else if constexpr (std::same_as<Rule, FromOne>) {
      return WireFault<T, Rule>(0);
    } else {
      return FindFieldFault(*value, rule);
    }
  }

  // Each returns false, and leaves the error, where the value cannot be.
  template <class Rule, class T>
  bool Take(T* value) {
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
  bool ReadMessage(Record* record) {
    std::string_view bytes;
    if (type_ != WireType::kBytes || !input_.TakeBytes(&bytes)) return Wrong(kDamaged);
    ProtobufReader reader(list_bytes_);
    std::string error = reader.Read(bytes, record);
    return error.empty() || Wrong(std::move(error));
  }

  template <class Rule, class T>
  bool TakeScalar(T* value) {
    if (type_ != WireTypeOf<T, Rule>()) return Wrong(kDamaged);
    return TakeScalarOf<Rule>(&input_, value);
  }
  template <class Rule, class T>
  bool TakeScalarOf(WireBytes* input, T* value) {
    if constexpr (std::same_as<T, std::string> || std::same_as<T, IpAddress>) {
      std::string_view bytes;
      if (!input->TakeBytes(&bytes)) return Wrong(kDamaged);
      std::string error;
      if constexpr (std::same_as<T, std::string>) error = TakeText(bytes, value);
      if constexpr (std::same_as<T, IpAddress>) error = TakeAddress(bytes, std::same_as<Rule, MaybeUnset>, value);
      return error.empty() || Wrong(std::move(error));
    } else {
      uint64_t wire = 0;
      constexpr bool kIsFixed = WireTypeOf<T, Rule>() == WireType::kFixed64;
      if (!(kIsFixed ? input->TakeFixed64(&wire) : input->TakeVarint(&wire))) return Wrong(kDamaged);
      return FromWire<T, Rule>(wire, value) || Wrong(WireFault<T, Rule>(wire));
    }
  }

  // One item, or several numbers in a row.
  template <class Rule, class List>
  bool TakeItems(List* list) {
    using Item = typename List::value_type;
    constexpr WireType kItemType = WireTypeOf<Item, Rule>();
    if (kItemType == WireType::kBytes || type_ == kItemType) {
      return AddItem(list, [&](Item* item) {
        if constexpr (IsDescribed<Item>) return ReadMessage(item);
        if constexpr (!IsDescribed<Item>) return TakeScalar<Rule>(item);
      });
    }
    std::string_view bytes;
    if (type_ != WireType::kBytes || !input_.TakeBytes(&bytes)) return Wrong(kDamaged);
    WireBytes items(bytes);
    while (!items.empty()) {
      const bool is_good = AddItem(list, [&](Item* item) {
        if constexpr (IsDescribed<Item>) return false;
        if constexpr (!IsDescribed<Item>) return TakeScalarOf<Rule>(&items, item);
      });
      if (!is_good) return false;
    }
    return true;
  }

  template <class List, class ReadItem>
  bool AddItem(List* list, ReadItem read_item) {
    using Item = typename List::value_type;
    size_t place = 0;
    if constexpr (kIsArray<List>) {
      place = num_array_items_++;
      if (place >= list->size()) return Wrong(fmt::format(": expected at most {}", list->size()));
    } else {
      if (sizeof(Item) > *list_bytes_) {
        return Wrong(fmt::format(": expected lists of at most {} MiB", kListBytesMax >> 20));
      }
      *list_bytes_ -= sizeof(Item);
      place = list->size();
      list->emplace_back();
    }
    Item* item = &(*list)[place];
    if (!read_item(item)) return Wrong(fmt::format("[{}]{}", place, error_));
    if constexpr (kIsQuantity<Item>) {
      const std::string error = FindFieldFault(*item, AnyValue());
      if (!error.empty()) return Wrong(fmt::format("[{}]{}", place, error));
    }
    return true;
  }

  static std::string TakeText(std::string_view bytes, std::string* text);
  static std::string TakeAddress(std::string_view bytes, bool may_be_unset, IpAddress* address);

  [[gnu::cold, gnu::noinline]] bool Wrong(std::string error) {
    is_failed_ = true;
    error_ = std::move(error);
    return false;
  }
  // What is wrong is inside of this field.
  [[gnu::cold, gnu::noinline]] void Name(const char* name) { error_ = fmt::format(".{}{}", name, error_); }

  size_t* list_bytes_;
  WireBytes input_;
  // Of the field that comes next.
  bool has_field_ = false;
  int number_ = 0;
  WireType type_ = WireType::kVarint;
  bool is_first_ = true;
  bool is_one_taken_ = false;
  bool is_one_postponed_ = false;
  bool is_failed_ = false;
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
  *record = Record();
  size_t list_bytes = kListBytesMax;
  return WithoutJoint(ProtobufReader(&list_bytes).Read(bytes, record));
}

}  // namespace fairlead::codec

#include "telemetry/pickle_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace fairlead::telemetry {

using codec::Json;

namespace {

constexpr uint64_t kCopiesMax = 8;
constexpr uint64_t kCopiesFree = 4096;
constexpr size_t kLongBytesMax = 8;

enum class Kind : uint8_t { kNone, kBool, kInteger, kFloat, kText, kList, kTuple, kDict };

struct Value {
  Kind kind = Kind::kNone;
  int64_t number = 0;  // of bool and integer; bits of a float
  std::string_view text;
  std::vector<uint32_t> items;  // of lists and tuples; key, value, key, value, … of dictionaries
};

// Opcodes that do something; empty: none.
std::string_view RefusedName(uint8_t opcode) {
  switch (opcode) {
    case 'c':
      return "GLOBAL";
    case 0x93:
      return "STACK_GLOBAL";
    case 'R':
      return "REDUCE";
    case 'b':
      return "BUILD";
    case 0x81:
      return "NEWOBJ";
    case 0x92:
      return "NEWOBJ_EX";
    case 'i':
      return "INST";
    case 'o':
      return "OBJ";
    case 'P':
      return "PERSID";
    case 'Q':
      return "BINPERSID";
    case 0x82:
    case 0x83:
    case 0x84:
      return "EXT";
    default:
      return "";
  }
}

class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Result<Json> Run() {
    while (!is_stopped_) {
      at_ = next_;
      uint8_t opcode = 0;
      FL_RETURN_IF_ERROR(TakeByte(&opcode));
      FL_RETURN_IF_ERROR(Do(opcode));
    }
    if (stack_.size() != 1 || !marks_.empty()) return Fail("values are left over at the end");
    Json json;
    uint64_t budget = kCopiesMax * bytes_.size() + kCopiesFree;
    FL_RETURN_IF_ERROR(ToJson(stack_.back(), 0, &budget, &json));
    return json;
  }

 private:
  Status Fail(const std::string& what) const {
    return InvalidArgument(fmt::format("{}: byte {}: {}", name_, at_, what));
  }

  Status Take(uint64_t count, std::string_view* bytes) {
    if (count > bytes_.size() - next_) return Fail("the file ends in the midst of a value");
    *bytes = bytes_.substr(next_, count);
    next_ += count;
    return OkStatus();
  }

  Status TakeByte(uint8_t* byte) {
    std::string_view one;
    FL_RETURN_IF_ERROR(Take(1, &one));
    *byte = static_cast<uint8_t>(one[0]);
    return OkStatus();
  }

  // Little endian.
  Status TakeNumber(size_t width, uint64_t* number) {
    std::string_view bytes;
    FL_RETURN_IF_ERROR(Take(width, &bytes));
    *number = 0;
    for (size_t i = width; i-- > 0;) *number = *number << 8 | static_cast<uint8_t>(bytes[i]);
    return OkStatus();
  }

  void Push(Value value) {
    values_.push_back(std::move(value));
    stack_.push_back(static_cast<uint32_t>(values_.size() - 1));
  }
  void PushNumber(Kind kind, int64_t number) { Push({.kind = kind, .number = number, .text = {}, .items = {}}); }
  void PushEmpty(Kind kind) { Push({.kind = kind, .number = 0, .text = {}, .items = {}}); }

  Status PushText(size_t width) {
    uint64_t size = 0;
    FL_RETURN_IF_ERROR(TakeNumber(width, &size));
    Value value{.kind = Kind::kText, .number = 0, .text = {}, .items = {}};
    FL_RETURN_IF_ERROR(Take(size, &value.text));
    if (!IsUtf8(value.text)) return Fail("a text is not UTF-8");
    Push(std::move(value));
    return OkStatus();
  }

  Status PushLong() {
    uint8_t size = 0;
    FL_RETURN_IF_ERROR(TakeByte(&size));
    if (size > kLongBytesMax)
      return Fail(fmt::format("an integer of {} bytes; expected {} at most", size, kLongBytesMax));
    uint64_t number = 0;
    FL_RETURN_IF_ERROR(TakeNumber(size, &number));
    const unsigned spare = 8 * static_cast<unsigned>(kLongBytesMax - size);
    const int64_t extended = size == 0 ? 0 : static_cast<int64_t>(number << spare) >> spare;
    PushNumber(Kind::kInteger, extended);
    return OkStatus();
  }

  Status PushFloat() {
    std::string_view bytes;
    FL_RETURN_IF_ERROR(Take(8, &bytes));
    uint64_t bits = 0;
    for (const char byte : bytes) bits = bits << 8 | static_cast<uint8_t>(byte);
    PushNumber(Kind::kFloat, std::bit_cast<int64_t>(bits));
    return OkStatus();
  }

  Status PushMemo(size_t width) {
    uint64_t index = 0;
    FL_RETURN_IF_ERROR(TakeNumber(width, &index));
    const auto found = memo_.find(index);
    if (found == memo_.end()) return Fail(fmt::format("memo {} was never written", index));
    stack_.push_back(found->second);
    return OkStatus();
  }

  Status WriteMemo(uint64_t index) {
    if (stack_.size() == Floor()) return Fail("there is nothing to remember");
    memo_[index] = stack_.back();
    return OkStatus();
  }

  // Values below belong to what is outside of the latest mark.
  size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }

  Status PopMany(size_t count, std::vector<uint32_t>* items) {
    if (stack_.size() < Floor() + count) return Fail("a value is missing on the stack");
    items->assign(stack_.end() - static_cast<ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return OkStatus();
  }

  Status PopToMark(std::vector<uint32_t>* items) {
    if (marks_.empty()) return Fail("a mark is missing on the stack");
    FL_RETURN_IF_ERROR(PopMany(stack_.size() - marks_.back(), items));
    marks_.pop_back();
    return OkStatus();
  }

  Status PushTuple(std::vector<uint32_t> items) {
    Push({.kind = Kind::kTuple, .number = 0, .text = {}, .items = std::move(items)});
    return OkStatus();
  }

  // Adds to the list or dictionary on top.
  Status AddItems(Kind kind, const std::vector<uint32_t>& items) {
    if (stack_.size() == Floor()) return Fail("a value is missing on the stack");
    Value& container = values_[stack_.back()];
    if (container.kind != kind || (kind == Kind::kDict && items.size() % 2 != 0)) {
      return Fail(kind == Kind::kDict ? "expected a dictionary and pairs" : "expected a list");
    }
    container.items.insert(container.items.end(), items.begin(), items.end());
    return OkStatus();
  }

  Status TakeAndAdd(Kind kind, size_t count) {
    std::vector<uint32_t> items;
    FL_RETURN_IF_ERROR(count == 0 ? PopToMark(&items) : PopMany(count, &items));
    return AddItems(kind, items);
  }

  Status TakeTuple(size_t count, bool has_mark) {
    std::vector<uint32_t> items;
    FL_RETURN_IF_ERROR(has_mark ? PopToMark(&items) : PopMany(count, &items));
    return PushTuple(std::move(items));
  }

  Status Do(uint8_t opcode) {
    uint64_t number = 0;
    switch (opcode) {
      case 0x80: {  // PROTO
        FL_RETURN_IF_ERROR(TakeNumber(1, &number));
        return number >= 2 && number <= 5 ? OkStatus() : Fail(fmt::format("protocol {}; expected 2 to 5", number));
      }
      case 0x95:  // FRAME: its length says nothing that the opcodes do not
        return TakeNumber(8, &number);
      case '.':
        is_stopped_ = true;
        return OkStatus();
      case '(':
        marks_.push_back(stack_.size());
        return OkStatus();
      case 'N':
        PushEmpty(Kind::kNone);
        return OkStatus();
      case 0x88:
      case 0x89:
        PushNumber(Kind::kBool, opcode == 0x88 ? 1 : 0);
        return OkStatus();
      case '}':
        PushEmpty(Kind::kDict);
        return OkStatus();
      case ']':
        PushEmpty(Kind::kList);
        return OkStatus();
      case 'K':
      case 'M':
        FL_RETURN_IF_ERROR(TakeNumber(opcode == 'K' ? 1 : 2, &number));
        PushNumber(Kind::kInteger, static_cast<int64_t>(number));
        return OkStatus();
      case 'J':
        FL_RETURN_IF_ERROR(TakeNumber(4, &number));
        PushNumber(Kind::kInteger, static_cast<int32_t>(static_cast<uint32_t>(number)));
        return OkStatus();
      case 0x8a:
        return PushLong();
      case 'G':
        return PushFloat();
      case 'X':
        return PushText(4);
      case 0x8c:
        return PushText(1);
      default:
        return DoOnStack(opcode);
    }
  }

  // Opcodes that need what is there already.
  Status DoOnStack(uint8_t opcode) {
    uint64_t number = 0;
    switch (opcode) {
      case ')':
        return PushTuple({});
      case 0x85:
      case 0x86:
      case 0x87:
        return TakeTuple(opcode - 0x84u, /*has_mark=*/false);
      case 't':
        return TakeTuple(0, /*has_mark=*/true);
      case 'a':
        return TakeAndAdd(Kind::kList, 1);
      case 'e':
        return TakeAndAdd(Kind::kList, 0);
      case 's':
        return TakeAndAdd(Kind::kDict, 2);
      case 'u':
        return TakeAndAdd(Kind::kDict, 0);
      case 'q':
      case 'r':
        FL_RETURN_IF_ERROR(TakeNumber(opcode == 'q' ? 1 : 4, &number));
        return WriteMemo(number);
      case 0x94:
        return WriteMemo(memo_.size());
      case 'h':
        return PushMemo(1);
      case 'j':
        return PushMemo(4);
      default:
        break;
    }
    const std::string_view refused = RefusedName(opcode);
    if (!refused.empty()) {
      return Fail(fmt::format("{} would run code of the file and is refused; a flight recorder has none", refused));
    }
    return Fail(fmt::format("opcode 0x{:02x} is not expected in a flight recorder", opcode));
  }

  Status KeyOf(uint32_t index, std::string* key) const {
    const Value& value = values_[index];
    if (value.kind == Kind::kText) {
      *key = value.text;
    } else if (value.kind == Kind::kInteger) {
      *key = fmt::format("{}", value.number);
    } else {
      return Fail("a key of a dictionary is neither text nor integer");
    }
    return OkStatus();
  }

  Status ToJson(uint32_t index, size_t depth, uint64_t* budget, Json* json) const {
    if (depth > kPickleDepthMax) return Fail(fmt::format("nested more than {} deep", kPickleDepthMax));
    if ((*budget)-- == 0) return Fail("the same values are repeated too often");
    const Value& value = values_[index];
    switch (value.kind) {
      case Kind::kNone:
        return OkStatus();
      case Kind::kBool:
        *json = value.number != 0;
        return OkStatus();
      case Kind::kInteger:
        *json = value.number < 0 ? Json(value.number) : Json(static_cast<uint64_t>(value.number));
        return OkStatus();
      case Kind::kFloat: {
        const auto number = std::bit_cast<double>(value.number);
        if (std::isfinite(number)) *json = number;
        return OkStatus();
      }
      case Kind::kText:
        *json = std::string(value.text);
        // A text that is shared counts by its bytes as well.
        if (*budget < value.text.size() / sizeof(Value)) return Fail("the same values are repeated too often");
        *budget -= value.text.size() / sizeof(Value);
        return OkStatus();
      case Kind::kDict:
        return DictToJson(value, depth, budget, json);
      case Kind::kList:
      case Kind::kTuple:
        *json = Json::array();
        for (const uint32_t item : value.items) {
          json->push_back(Json());
          FL_RETURN_IF_ERROR(ToJson(item, depth + 1, budget, &json->back()));
        }
        return OkStatus();
    }
    return OkStatus();
  }

  Status DictToJson(const Value& value, size_t depth, uint64_t* budget, Json* json) const {
    *json = Json::object();
    for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
      std::string key;
      FL_RETURN_IF_ERROR(KeyOf(value.items[i], &key));
      if (values_[value.items[i + 1]].kind == Kind::kNone) continue;
      FL_RETURN_IF_ERROR(ToJson(value.items[i + 1], depth + 1, budget, &(*json)[key]));
    }
    return OkStatus();
  }

  std::string_view bytes_;
  const std::string& name_;
  size_t at_ = 0;  // of the opcode
  size_t next_ = 0;
  bool is_stopped_ = false;
  std::vector<Value> values_;
  std::vector<uint32_t> stack_;  // [position] value
  std::vector<size_t> marks_;    // positions in the stack
  std::unordered_map<uint64_t, uint32_t> memo_;
};

}  // namespace

bool IsPickle(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

Result<Json> ParsePickle(std::string_view bytes, const std::string& name) { return PickleMachine(bytes, name).Run(); }

}  // namespace fairlead::telemetry

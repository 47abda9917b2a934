// Chakra traces for tests, written byte by byte: a second opinion on the schema's field numbers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workload/chakra_trace.h"

namespace fairlead::workload {

// The wire format of protocol buffers.
inline std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string NumberField(uint32_t field, uint64_t value) { return Varint(field << 3) + Varint(value); }
inline std::string BytesField(uint32_t field, std::string_view value) {
  return Varint(field << 3 | 2) + Varint(value.size()) + std::string(value);
}
inline std::string Framed(const std::string& message) { return Varint(message.size()) + message; }

// Attributes: int64 (field 9), bool (27), string (29), list of bool (28).
inline std::string IntAttribute(std::string_view name, uint64_t value) {
  return BytesField(1, name) + NumberField(9, value);
}
inline std::string BoolAttribute(std::string_view name, bool value) {
  return BytesField(1, name) + NumberField(27, value ? 1 : 0);
}
inline std::string TextAttribute(std::string_view name, std::string_view value) {
  return BytesField(1, name) + BytesField(29, value);
}

using Dependencies = std::vector<uint64_t>;

// One trace, node by node.
class ExampleTrace {
 public:
  // Metadata of schema 0.0.4.
  ExampleTrace() : ExampleTrace(BytesField(1, "0.0.4")) {}
  explicit ExampleTrace(const std::string& metadata) : bytes_(Framed(metadata)) {}

  ExampleTrace& Node(uint64_t id, uint32_t type, const Dependencies& dependencies,
                     std::initializer_list<std::string> attributes, const std::string& more = "") {
    std::string node = NumberField(1, id) + BytesField(2, "node") + NumberField(3, type);
    std::string packed;
    for (const uint64_t dependency : dependencies) packed += Varint(dependency);
    if (!packed.empty()) node += BytesField(5, packed);
    for (const std::string& attribute : attributes) node += BytesField(10, attribute);
    bytes_ += Framed(node + more);
    return *this;
  }
  ExampleTrace& Compute(uint64_t id, const Dependencies& dependencies, uint64_t microseconds) {
    return Node(id, 4, dependencies, {BoolAttribute("is_cpu_op", false)}, NumberField(7, microseconds));
  }
  ExampleTrace& Collective(uint64_t id, const Dependencies& dependencies, uint64_t type, uint64_t bytes,
                           std::string_view group = "") {
    return Node(id, 7, dependencies,
                {IntAttribute("comm_type", type), IntAttribute("comm_size", bytes), TextAttribute("pg_name", group)});
  }
  ExampleTrace& Send(uint64_t id, const Dependencies& dependencies, uint64_t to, uint64_t bytes) {
    return Node(id, 5, dependencies, {IntAttribute("comm_dst", to), IntAttribute("comm_size", bytes)});
  }
  ExampleTrace& Receive(uint64_t id, const Dependencies& dependencies, uint64_t from, uint64_t bytes) {
    return Node(id, 6, dependencies, {IntAttribute("comm_src", from), IntAttribute("comm_size", bytes)});
  }
  // PyTorch's way: Python lists around JSON.
  ExampleTrace& Groups(uint64_t id, std::string_view json) {
    const std::string text = "['" + std::string(json) + "']";
    return Node(id, 1, {}, {}, BytesField(2, "## process_group:init ##") + BytesField(8, BytesField(1, text)));
  }

  const std::string& bytes() const { return bytes_; }

  Result<ChakraTrace> Read(uint32_t rank = 0, const ChakraOptions& options = {}) const {
    std::istringstream input(bytes_);
    return ReadChakraTrace(input, "t.et", rank, options);
  }

 private:
  std::string bytes_;
};

enum ExampleCommType : uint64_t { kAllReduce = 0, kAllGather = 2, kBroadcast = 5, kAllToAll = 6, kReduceScatter = 7 };

}  // namespace fairlead::workload

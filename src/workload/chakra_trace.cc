#include "workload/chakra_trace.h"

#include <chakra.pb.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/printable_ascii.h"

namespace fairlead::workload {
namespace {

using collective::CollectiveKind;
using Json = nlohmann::json;

constexpr double kMaxBytes = 1e18;
constexpr double kMaxSeconds = 1e9;
constexpr uint32_t kMaxRank = 1u << 20;

// Node types of the schema.
enum NodeType : uint32_t { kInvalid, kMetadata, kMemoryLoad, kMemoryStore, kComp, kSend, kReceive, kCollective };

// Text of a file, fit to be printed.
std::string Printable(std::string_view text) { return PrintableAscii(text.substr(0, 60)); }

std::optional<double> NumberOf(const chakra_proto::Attribute& attribute) {
  using Proto = chakra_proto::Attribute;
  switch (attribute.value_case()) {
    case Proto::kDoubleValue:
      return attribute.double_value();
    case Proto::kFloatValue:
      return attribute.float_value();
    case Proto::kInt32Value:
      return attribute.int32_value();
    case Proto::kInt64Value:
      return static_cast<double>(attribute.int64_value());
    case Proto::kUint32Value:
      return attribute.uint32_value();
    case Proto::kUint64Value:
      return static_cast<double>(attribute.uint64_value());
    case Proto::kSint32Value:
      return attribute.sint32_value();
    case Proto::kSint64Value:
      return static_cast<double>(attribute.sint64_value());
    case Proto::kFixed32Value:
      return attribute.fixed32_value();
    case Proto::kFixed64Value:
      return static_cast<double>(attribute.fixed64_value());
    case Proto::kSfixed32Value:
      return attribute.sfixed32_value();
    case Proto::kSfixed64Value:
      return static_cast<double>(attribute.sfixed64_value());
    case Proto::kBoolValue:
      return attribute.bool_value() ? 1 : 0;
    default:
      return std::nullopt;
  }
}

// One list of groups: [{"pg_name": "1", "ranks": [0, 1]}, …]; false where it is none.
bool ReadGroups(const Json& json, std::map<std::string, std::vector<uint32_t>>& groups) {
  if (!json.is_array()) return false;
  for (const Json& item : json) {
    if (!item.is_object() || !item.contains("pg_name") || !item.contains("ranks")) return false;
    const Json& name = item["pg_name"];
    const Json& ranks = item["ranks"];
    if (!name.is_string() || !ranks.is_array()) return false;
    std::vector<uint32_t>& members = groups[name.get<std::string>()];
    members.clear();
    for (const Json& rank : ranks) {
      if (!rank.is_number_unsigned() || rank.get<uint64_t>() > kMaxRank) return false;
      members.push_back(static_cast<uint32_t>(rank.get<uint64_t>()));
    }
  }
  return true;
}

class TraceReader {
 public:
  TraceReader(std::istream& input, const std::string& name, uint32_t rank, const ChakraOptions& options)
      : input_(input), options_(options) {
    trace_.name = name;
    trace_.rank = rank;
  }

  Result<ChakraTrace> Read();

 private:
  Status Fail(std::string_view problem) const { return InvalidArgument(fmt::format("{}: {}", trace_.name, problem)); }
  Status FailNode(std::string_view problem) const {
    return InvalidArgument(
        fmt::format("{}: node {} '{}': {}", trace_.name, proto_.id(), Printable(proto_.name()), problem));
  }
  Status NotSupported(std::string_view problem) const {
    return {StatusCode::kUnimplemented, FailNode(problem).message()};
  }

  // The bytes of the next message; nothing at the end of the file.
  Result<std::optional<std::string>> NextMessage();
  Result<std::optional<uint32_t>> NextLength();
  Status ReadMetadata(const std::string& message);
  Status CheckSchema(std::string_view schema) const;
  Status ReadNode(const std::string& message);

  const chakra_proto::Attribute* Find(std::string_view name) const;
  // A number in [0, max].
  Result<std::optional<double>> Number(std::string_view name, double max) const;
  Result<double> RequiredNumber(std::string_view name, double max) const;
  Status ReadCompute(ChakraNode& node);
  Status ReadCollective(ChakraNode& node);
  Status CheckInvolvedDimensions() const;
  Status ReadPointToPoint(ChakraNode& node);
  Status ReadProcessGroups();

  std::istream& input_;
  const ChakraOptions& options_;
  ChakraTrace trace_;
  chakra_proto::Node proto_;  // the one being read
};

Result<std::optional<uint32_t>> TraceReader::NextLength() {
  uint64_t length = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    const int byte = input_.get();
    if (byte == std::istream::traits_type::eof()) {
      if (shift == 0) return std::optional<uint32_t>();
      return Fail("ends inside the length of a message; expected a whole file");
    }
    length |= uint64_t{static_cast<uint32_t>(byte) & 0x7f} << shift;
    if ((byte & 0x80) != 0) continue;
    if (length <= kMaxChakraMessageBytes) return std::optional<uint32_t>(static_cast<uint32_t>(length));
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("{}: a message of {} bytes; expected at most {}, as in a Chakra execution trace (.et)",
                              trace_.name, length, kMaxChakraMessageBytes));
  }
  return Fail("a length of more than five bytes; expected a Chakra execution trace (.et)");
}

Result<std::optional<std::string>> TraceReader::NextMessage() {
  FL_ASSIGN_OR_RETURN(const std::optional<uint32_t> length, NextLength());
  if (!length) return std::optional<std::string>();
  std::string message(*length, '\0');
  input_.read(message.data(), static_cast<std::streamsize>(*length));
  if (static_cast<uint32_t>(input_.gcount()) == *length) return std::optional<std::string>(std::move(message));
  return Fail(fmt::format("ends inside a message of {} bytes; expected a whole file", *length));
}

Status TraceReader::CheckSchema(std::string_view schema) const {
  if (schema == "0.0.4" || schema.ends_with("chakra.0.0.4") || schema.ends_with("chakra.1.0.0")) return OkStatus();
  return {StatusCode::kUnimplemented,
          fmt::format("{}: schema '{}' is not supported; supported: 0.0.4 and 1.0.0 of MLCommons Chakra", trace_.name,
                      Printable(schema))};
}

Status TraceReader::ReadMetadata(const std::string& message) {
  chakra_proto::GlobalMetadata metadata;
  if (!metadata.ParseFromString(message)) {
    return Fail(
        "the first message is no GlobalMetadata; expected a Chakra execution trace (.et), not packed with gzip");
  }
  std::vector<chakra_proto::Attribute> attributes(metadata.attributes().begin(), metadata.attributes().end());
  for (const std::string& field : metadata.version_or_attribute()) {
    // A version is digits and dots, which no attribute is: its first byte would be the tag of a field.
    const bool is_version = !field.empty() && field.find_first_not_of("0123456789.") == std::string::npos;
    if (is_version) {
      FL_RETURN_IF_ERROR(CheckSchema(field));
    } else if (!attributes.emplace_back().ParseFromString(field)) {
      return Fail(fmt::format("schema version '{}'; expected 0.0.4 or 1.0.0 of MLCommons Chakra", Printable(field)));
    }
  }
  for (const chakra_proto::Attribute& attribute : attributes) {
    if (attribute.name() == "schema") FL_RETURN_IF_ERROR(CheckSchema(attribute.string_value()));
  }
  return OkStatus();
}

const chakra_proto::Attribute* TraceReader::Find(std::string_view name) const {
  const auto& attributes = proto_.attributes();
  const auto found =
      std::find_if(attributes.begin(), attributes.end(), [&](const auto& a) { return a.name() == name; });
  return found == attributes.end() ? nullptr : &*found;
}

Result<std::optional<double>> TraceReader::Number(std::string_view name, double max) const {
  const chakra_proto::Attribute* attribute = Find(name);
  if (attribute == nullptr) return std::optional<double>();
  const auto value = NumberOf(*attribute);
  if (value && *value >= 0 && *value <= max) return value;
  return FailNode(fmt::format("{}: expected a number in [0, {:.0e}], found {}", name, max,
                              value ? fmt::format("{}", *value) : "something else"));
}

Result<double> TraceReader::RequiredNumber(std::string_view name, double max) const {
  FL_ASSIGN_OR_RETURN(const std::optional<double> value, Number(name, max));
  if (!value) return FailNode(fmt::format("expected the attribute {}, found none", name));
  return *value;
}

Status TraceReader::ReadCompute(ChakraNode& node) {
  Seconds duration(static_cast<double>(proto_.duration_us()) * 1e-6);
  FL_ASSIGN_OR_RETURN(const std::optional<double> is_host, Number("is_cpu_op", 1));
  if (is_host.value_or(0) != 0) {
    ++trace_.num_host_nodes;
    trace_.host_time += duration;
    return OkStatus();
  }
  FL_ASSIGN_OR_RETURN(const std::optional<double> operations, Number("num_ops", 1e30));
  FL_ASSIGN_OR_RETURN(const std::optional<double> tensor_size, Number("tensor_size", kMaxBytes));
  if (proto_.duration_us() == 0 && operations.value_or(0) > 0) {
    if (!(options_.gpu_peak > FlopPerSecond(0))) {
      return FailNode("has num_ops and no duration; give the peak rate of a GPU to turn operations into time");
    }
    duration = Flop(*operations) / options_.gpu_peak;
    if (options_.memory_bandwidth > BytesPerSecond(0)) {
      duration = std::max(duration, Bytes(tensor_size.value_or(0)) / options_.memory_bandwidth);
    }
  }
  if (!(duration.value() <= kMaxSeconds)) return FailNode(fmt::format("computes for {:.3g} s", duration.value()));
  node.kind = ChakraNodeKind::kCompute;
  node.duration = duration;
  return OkStatus();
}

// [true, true, …] means all ranks. Anything else refers to the dimensions of a network that only ASTRA-sim knows.
Status TraceReader::CheckInvolvedDimensions() const {
  const chakra_proto::Attribute* attribute = Find("involved_dim");
  if (attribute == nullptr) return OkStatus();
  const auto& dimensions = attribute->bool_list().values();
  if (std::all_of(dimensions.begin(), dimensions.end(), [](bool involved) { return involved; })) return OkStatus();
  return NotSupported(
      "involved_dim picks dimensions of a logical network, which is not supported; supported: all dimensions, or "
      "process "
      "groups (pg_name)");
}

Status TraceReader::ReadCollective(ChakraNode& node) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "all-reduce", "reduce",         "all-gather",           "gather", "scatter", "broadcast",
      "all-to-all", "reduce-scatter", "reduce-scatter-block", "barrier"};
  FL_ASSIGN_OR_RETURN(const double type, RequiredNumber("comm_type", 1e9));
  FL_RETURN_IF_ERROR(CheckInvolvedDimensions());
  if (const chakra_proto::Attribute* group = Find("pg_name")) node.group = group->string_value();
  if (type == 9) {
    ++trace_.num_barriers;
    return OkStatus();
  }
  if (type == 0) {
    node.collective = CollectiveKind::kHierarchicalAllReduce;
  } else if (type == 2) {
    node.collective = CollectiveKind::kHierarchicalAllGather;
  } else if (type == 5) {
    node.collective = CollectiveKind::kBroadcast;
  } else if (type == 6) {
    node.collective = CollectiveKind::kRailAllToAll;
  } else if (type == 7) {
    node.collective = CollectiveKind::kHierarchicalReduceScatter;
  } else {
    const std::string found =
        type < kNames.size() ? std::string(kNames[static_cast<size_t>(type)]) : fmt::format("comm_type {}", type);
    return NotSupported(fmt::format(
        "{} is not supported; supported: all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, barrier",
        found));
  }
  FL_ASSIGN_OR_RETURN(const double bytes, RequiredNumber("comm_size", kMaxBytes));
  node.kind = ChakraNodeKind::kCollective;
  node.bytes = Bytes(bytes);
  return OkStatus();
}

Status TraceReader::ReadPointToPoint(ChakraNode& node) {
  const bool is_send = proto_.type() == kSend;
  FL_ASSIGN_OR_RETURN(const double bytes, RequiredNumber("comm_size", kMaxBytes));
  FL_ASSIGN_OR_RETURN(const double peer, RequiredNumber(is_send ? "comm_dst" : "comm_src", kMaxRank));
  FL_ASSIGN_OR_RETURN(const std::optional<double> self, Number(is_send ? "comm_src" : "comm_dst", kMaxRank));
  if (self.value_or(trace_.rank) != trace_.rank) {
    return FailNode(fmt::format("{} {} rank {}; this is the trace of rank {}", is_send ? "sends" : "receives",
                                is_send ? "from" : "as", *self, trace_.rank));
  }
  if (peer == trace_.rank || peer != std::floor(peer)) {
    return FailNode(fmt::format("expected another rank as partner, found {}", peer));
  }
  node.kind = is_send ? ChakraNodeKind::kSend : ChakraNodeKind::kReceive;
  node.bytes = Bytes(bytes);
  node.peer = static_cast<uint32_t>(peer);
  return OkStatus();
}

// PyTorch's description of its process groups: a JSON list, inside one or two more lists written by Python.
Status TraceReader::ReadProcessGroups() {
  if (proto_.name().find("process_group:init") == std::string::npos) return OkStatus();
  const std::string& text = proto_.inputs().values();
  const size_t begin = text.find("[{");
  const size_t end = text.rfind("}]");
  if (begin == text.npos || end == text.npos || end < begin) return OkStatus();
  const Json json = Json::parse(text.substr(begin, end + 2 - begin), nullptr, false);
  if (ReadGroups(json, trace_.groups)) return OkStatus();
  return FailNode("the description of process groups is not a list of {\"pg_name\", \"ranks\"}");
}

Status TraceReader::ReadNode(const std::string& message) {
  if (trace_.nodes.size() >= kMaxChakraNodes) {
    return {StatusCode::kResourceExhausted, fmt::format("{}: more than {} nodes", trace_.name, kMaxChakraNodes)};
  }
  proto_.Clear();
  if (!proto_.ParseFromString(message)) {
    return Fail(fmt::format("message {} is no Node; expected a Chakra execution trace", trace_.nodes.size() + 1));
  }
  ChakraNode node;
  node.id = proto_.id();
  node.dependencies.assign(proto_.data_dependencies().begin(), proto_.data_dependencies().end());
  node.dependencies.insert(node.dependencies.end(), proto_.control_dependencies().begin(),
                           proto_.control_dependencies().end());
  switch (proto_.type()) {
    case kMetadata:
      FL_RETURN_IF_ERROR(ReadProcessGroups());
      break;
    case kMemoryLoad:
    case kMemoryStore:
      ++trace_.num_memory_nodes;
      break;
    case kComp:
      FL_RETURN_IF_ERROR(ReadCompute(node));
      break;
    case kSend:
    case kReceive:
      FL_RETURN_IF_ERROR(ReadPointToPoint(node));
      break;
    case kCollective:
      FL_RETURN_IF_ERROR(ReadCollective(node));
      break;
    case kInvalid:
      break;
    default:
      return NotSupported(fmt::format(
          "node type {} is not supported; supported: 0 to 7 (metadata, memory, compute, send, receive, collective)",
          proto_.type()));
  }
  trace_.nodes.push_back(std::move(node));
  return OkStatus();
}

Result<ChakraTrace> TraceReader::Read() {
  FL_ASSIGN_OR_RETURN(std::optional<std::string> message, NextMessage());
  if (!message) return Fail("is empty; expected a Chakra execution trace (.et)");
  FL_RETURN_IF_ERROR(ReadMetadata(*message));
  while (true) {
    FL_ASSIGN_OR_RETURN(message, NextMessage());
    if (!message) return std::move(trace_);
    FL_RETURN_IF_ERROR(ReadNode(*message));
  }
}

}  // namespace

Result<ChakraTrace> ReadChakraTrace(std::istream& input, const std::string& name, uint32_t rank,
                                    const ChakraOptions& options) {
  return TraceReader(input, name, rank, options).Read();
}

Result<std::map<std::string, std::vector<uint32_t>>> ParseChakraGroups(const std::string& text,
                                                                       const std::string& name) {
  const Status bad =
      InvalidArgument(fmt::format("{}: expected a map of lists of ranks such as {{\"1\": [0, 1]}}", name));
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return bad;
  Json list = Json::array();
  for (const auto& [group, ranks] : json.items()) list.push_back({{"pg_name", group}, {"ranks", ranks}});
  std::map<std::string, std::vector<uint32_t>> groups;
  if (!ReadGroups(list, groups)) return bad;
  return groups;
}

}  // namespace fairlead::workload

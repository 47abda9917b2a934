#include "telemetry/nccl_inspector.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "codec/json_archive.h"
#include "telemetry/input_text.h"
#include "telemetry/inspector_timeline.h"
#include "telemetry/operation_names.h"

namespace fairlead::telemetry {

using codec::ExpectedButFound, codec::Json, codec::ParseJson, codec::ReadValue, codec::UnknownKeys;

struct InspectorHeader {
  std::string id;
  uint64_t rank = 0;
  uint64_t n_ranks = 0;
};

struct InspectorMetadata {
  std::string version;
  uint64_t dump_timestamp_us = 0;
  std::string hostname;
  uint64_t pid = 0;
};

struct InspectorKernelEvent {
  uint64_t start_us = 0;
  uint64_t stop_us = 0;
};

struct InspectorEventTimes {
  uint64_t coll_start_us = 0, coll_stop_us = 0;
  uint64_t p2p_start_us = 0, p2p_stop_us = 0;
  std::vector<InspectorKernelEvent> kernels;
};

// Of a collective or a send or receive.
struct InspectorPerf {
  std::string name;
  uint64_t sequence = 0;
  int32_t peer = -1;
  uint64_t bytes = 0;
  double duration_us = 0;
  InspectorEventTimes times;
};
struct InspectorCollective : InspectorPerf {};
struct InspectorP2p : InspectorPerf {};

struct InspectorStep {
  uint64_t bytes = 0;
  std::optional<uint64_t> wire_us, gpu_produce_us, peer_credit_us, flush_us, gpu_consume_us;
};

struct InspectorProxyTrace {
  std::string record_type;
  uint16_t channel = 0;
  int32_t peer = -1;
  std::string direction;
  std::vector<InspectorStep> steps;
};

struct InspectorLine {
  std::optional<InspectorHeader> header;
  std::optional<InspectorMetadata> metadata;
  std::optional<InspectorCollective> collective;
  std::optional<InspectorP2p> p2p;
  std::optional<InspectorProxyTrace> proxy;
};

template <class Archive, codec::IsRecord<InspectorHeader> Record>
void Describe(Archive& archive, Record& header) {
  archive.Required("id", header.id);
  archive.Required("rank", header.rank);
  archive.Required("n_ranks", header.n_ranks);
}

template <class Archive, codec::IsRecord<InspectorMetadata> Record>
void Describe(Archive& archive, Record& metadata) {
  archive.Required("inspector_output_format_version", metadata.version);
  archive.Required("dump_timestamp_us", metadata.dump_timestamp_us);
  archive.Required("hostname", metadata.hostname);
  archive.Required("pid", metadata.pid);
}

template <class Archive, codec::IsRecord<InspectorKernelEvent> Record>
void Describe(Archive& archive, Record& event) {
  archive.Optional("kernel_start_ts", event.start_us);
  archive.Optional("kernel_stop_ts", event.stop_us);
}

template <class Archive, codec::IsRecord<InspectorEventTimes> Record>
void Describe(Archive& archive, Record& times) {
  archive.Optional("coll_start_ts", times.coll_start_us);
  archive.Optional("coll_stop_ts", times.coll_stop_us);
  archive.Optional("p2p_start_ts", times.p2p_start_us);
  archive.Optional("p2p_stop_ts", times.p2p_stop_us);
  archive.Optional("kernel_events", times.kernels);
}

template <class Archive, codec::IsRecord<InspectorCollective> Record>
void Describe(Archive& archive, Record& collective) {
  archive.Required("coll", collective.name);
  archive.Required("coll_sn", collective.sequence);
  archive.Required("coll_msg_size_bytes", collective.bytes);
  archive.Required("coll_exec_time_us", collective.duration_us);
  archive.Optional("event_trace_ts", collective.times);
}

template <class Archive, codec::IsRecord<InspectorP2p> Record>
void Describe(Archive& archive, Record& p2p) {
  archive.Required("p2p", p2p.name);
  archive.Required("p2p_sn", p2p.sequence);
  archive.Required("p2p_peer", p2p.peer);
  archive.Required("p2p_msg_size_bytes", p2p.bytes);
  archive.Required("p2p_exec_time_us", p2p.duration_us);
  archive.Optional("event_trace_ts", p2p.times);
}

template <class Archive, codec::IsRecord<InspectorStep> Record>
void Describe(Archive& archive, Record& step) {
  archive.Optional("trans_size_bytes", step.bytes);
  archive.Optional("wire_us", step.wire_us);
  archive.Optional("gpu_produce_us", step.gpu_produce_us);
  archive.Optional("peer_credit_us", step.peer_credit_us);
  archive.Optional("flush_us", step.flush_us);
  archive.Optional("gpu_consume_us", step.gpu_consume_us);
}

template <class Archive, codec::IsRecord<InspectorProxyTrace> Record>
void Describe(Archive& archive, Record& proxy) {
  archive.Required("record_type", proxy.record_type);
  archive.Required("channel_id", proxy.channel);
  archive.Required("peer", proxy.peer);
  archive.Required("direction", proxy.direction);
  archive.Optional("steps", proxy.steps);
}

template <class Archive, codec::IsRecord<InspectorLine> Record>
void Describe(Archive& archive, Record& line) {
  archive.Optional("header", line.header);
  archive.Optional("metadata", line.metadata);
  archive.Optional("coll_perf", line.collective);
  archive.Optional("p2p_perf", line.p2p);
  archive.Optional("proxy_trace", line.proxy);
}

namespace {

// Instants and durations beyond this count as damage: 1970 plus some 70,000 years.
constexpr uint64_t kMicrosecondsMax = uint64_t{1} << 51;
constexpr size_t kLineBytesMax = size_t{1} << 26;

// Fills the instants from an event trace, where it is whole.
void SetTimes(const InspectorEventTimes& times, InspectorOperation* operation) {
  const uint64_t begin = times.coll_start_us + times.p2p_start_us;  // one of them is 0
  uint64_t start = 0;
  uint64_t stop = 0;
  for (const InspectorKernelEvent& kernel : times.kernels) {
    if (kernel.start_us != 0 && (start == 0 || kernel.start_us < start)) start = kernel.start_us;
    stop = std::max(stop, kernel.stop_us);
  }
  if (begin == 0 || start < begin || stop < start || stop >= kMicrosecondsMax) return;
  operation->enqueued_us = static_cast<int64_t>(begin);
  operation->started_us = static_cast<int64_t>(start);
  operation->finished_us = static_cast<int64_t>(stop);
}

// Reads the lines of one file.
class InspectorFile {
 public:
  InspectorFile(std::map<InspectorSource, uint32_t>* sources, std::vector<InspectorOperation>* operations,
                std::vector<InspectorMessage>* messages)
      : sources_(*sources), operations_(*operations), messages_(*messages) {}

  // Returns what is wrong, empty if nothing is.
  std::string Add(const Json& json) {
    InspectorLine line;
    std::string error = ReadValue(json, UnknownKeys::kIgnored, &line);
    if (!error.empty()) return error;
    if (line.header && line.metadata) error = SetSource(*line.header, *line.metadata);
    if (!error.empty()) return error;
    if (!line.collective && !line.p2p && !line.proxy) return "";
    // Newer versions identify the writer once, before the lines of a dump.
    if (!has_source_) return ": expected a header and metadata in this line or before it";
    if (line.collective) error = AddOperation(*line.collective, "coll_perf");
    if (line.p2p && error.empty()) error = AddOperation(*line.p2p, "p2p_perf");
    if (line.proxy && error.empty()) error = AddProxy(*line.proxy, json["proxy_trace"]);
    return error;
  }

 private:
  std::string SetSource(const InspectorHeader& header, const InspectorMetadata& metadata) {
    if (!metadata.version.starts_with("v4.") && !metadata.version.starts_with("v5.")) {
      return ".metadata.inspector_output_format_version" + ExpectedButFound("v4.x or v5.x", Json(metadata.version));
    }
    if (metadata.dump_timestamp_us >= kMicrosecondsMax) return ".metadata.dump_timestamp_us: is no instant";
    const InspectorSource source = {header.id, header.n_ranks, header.rank, {metadata.hostname, metadata.pid, -1}};
    source_ = sources_.try_emplace(source, static_cast<uint32_t>(sources_.size())).first->second;
    dumped_us_ = static_cast<int64_t>(metadata.dump_timestamp_us);
    num_ranks_ = header.n_ranks;
    has_source_ = true;
    return "";
  }

  std::string AddOperation(const InspectorPerf& perf, const char* key) {
    if (!(perf.duration_us >= 0 && perf.duration_us < static_cast<double>(kMicrosecondsMax))) {
      return fmt::format(".{}: {} microseconds is no duration", key, perf.duration_us);
    }
    InspectorOperation operation;
    operation.source = source_;
    operation.kind = NcclOperationKind(perf.name);
    operation.sequence = perf.sequence;
    operation.peer = perf.peer;
    // What an all-to-all moves may differ from rank to rank; it is nothing to compare.
    operation.bytes = operation.kind == model::OperationKind::kAllToAll ? 0 : perf.bytes;
    operation.duration_us = static_cast<int64_t>(perf.duration_us);
    operation.dumped_us = dumped_us_;
    SetTimes(perf.times, &operation);
    operations_.push_back(operation);
    return "";
  }

  std::string AddProxy(const InspectorProxyTrace& proxy, const Json& json) {
    if (proxy.direction != "send" && proxy.direction != "recv") {
      return ".proxy_trace.direction" + ExpectedButFound("'send' or 'recv'", Json(proxy.direction));
    }
    if (proxy.peer < 0 || static_cast<uint64_t>(proxy.peer) >= num_ranks_)
      return "";  // of another communicator's proxy
    if (proxy.record_type == "proxy_step") {
      InspectorStep step;
      std::string error = ReadValue(json, UnknownKeys::kIgnored, &step);
      if (!error.empty()) return ".proxy_trace" + error;
      AddMessage(proxy, step);
    }
    for (const InspectorStep& step : proxy.steps) AddMessage(proxy, step);
    return "";
  }

  void AddMessage(const InspectorProxyTrace& proxy, const InspectorStep& step) {
    const auto us = [](const std::optional<uint64_t>& value) {
      return static_cast<int64_t>(std::min(value.value_or(0), kMicrosecondsMax >> 20));  // sums stay far from 64 bits
    };
    if (!step.wire_us) return;  // not complete
    InspectorMessage message;
    message.source = source_;
    message.is_send = proxy.direction == "send";
    message.channel = proxy.channel;
    message.peer = static_cast<uint32_t>(proxy.peer);
    message.dumped_us = dumped_us_;
    message.bytes = std::min(step.bytes, kMicrosecondsMax);
    // What a receiver calls wire is its wait for the data, the sender's lateness included.
    message.wire_us = message.is_send ? us(step.wire_us) : 0;
    message.wait_for_peer_us = message.is_send ? us(step.peer_credit_us) : us(step.wire_us);
    message.wait_for_gpu_us = message.is_send ? us(step.gpu_produce_us) : us(step.flush_us) + us(step.gpu_consume_us);
    messages_.push_back(message);
  }

  std::map<InspectorSource, uint32_t>& sources_;
  std::vector<InspectorOperation>& operations_;
  std::vector<InspectorMessage>& messages_;
  bool has_source_ = false;
  uint32_t source_ = 0;
  uint64_t num_ranks_ = 0;
  int64_t dumped_us_ = 0;
};

}  // namespace

Status NcclInspectorImporter::Add(std::istream& file, const std::string& name) {
  LineReader lines(file, name, kLineBytesMax);
  InspectorFile parser(&sources_, &operations_, &messages_);
  has_file_ = true;
  while (lines.Next()) {
    if (lines.text().find_first_not_of(" \t") == std::string::npos) continue;
    const Result<Json> json = ParseJson(lines.text(), name, lines.number());
    // A running process is interrupted within its last line.
    if (!json.ok() && !lines.is_complete() && lines.number() > 1) break;
    if (!json.ok()) return json.status();
    const std::string error = parser.Add(*json);
    if (error.empty()) continue;
    return InvalidArgument(fmt::format("{}: {}", lines.Where(), codec::WithoutJoint(error)));
  }
  return lines.status();
}

Result<Recording> NcclInspectorImporter::Finish() {
  if (!has_file_) return InvalidArgument("no file of NCCL Inspector was given");
  if (sources_.empty()) return InvalidArgument("the files of NCCL Inspector hold no operation");
  std::vector<InspectorSource> sources(sources_.size());
  for (const auto& [source, index] : sources_) sources[index] = source;
  return MergeInspector(sources, std::move(operations_), messages_);
}

}  // namespace fairlead::telemetry

#include "telemetry/flight_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "codec/json_archive.h"
#include "telemetry/operation_names.h"
#include "telemetry/pickle_reader.h"
#include "telemetry/recording.h"

namespace fairlead::telemetry {

using codec::DescribeValue, codec::ExpectedButFound, codec::Json, codec::ParseJson, codec::ReadInteger,
    codec::ReadSigned, codec::ReadValue, codec::UnknownKeys;

// PyTorch writes some numbers as text.
struct IntegerOrText {
  int64_t value = -1;
};

struct FlightFrame {
  std::string name;  // of the function
  std::string file;
  int64_t line = 0;
};

template <class Archive, codec::IsRecord<FlightFrame> Record>
void Describe(Archive& archive, Record& frame) {
  archive.Optional("name", frame.name);
  archive.Optional("filename", frame.file);
  archive.Optional("line", frame.line);
}

struct FlightEntry {
  std::vector<FlightFrame> frames;  // innermost first
  uint64_t record_id = 0;
  int64_t group_id = -1;
  std::vector<std::string> process_group;  // name, description
  std::optional<uint64_t> collective_sequence;
  uint64_t p2p_sequence = 0;
  std::string profiling_name;
  int64_t created = 0;
  std::optional<int64_t> started;
  std::optional<int64_t> finished;
  std::string state;
  bool is_p2p = false;
  bool is_retired = false;
  int64_t timeout_ms = 0;
  std::vector<std::vector<int64_t>> input_sizes;
  std::vector<std::string> input_types;
  std::vector<std::vector<int64_t>> output_sizes;
  std::vector<std::string> output_types;
};

template <class Archive, codec::IsRecord<FlightEntry> Record>
void Describe(Archive& archive, Record& entry) {
  archive.Optional("frames", entry.frames);
  archive.Required("record_id", entry.record_id);
  archive.Optional("pg_id", entry.group_id);
  archive.Required("process_group", entry.process_group);
  archive.Optional("collective_seq_id", entry.collective_sequence);
  archive.Optional("p2p_seq_id", entry.p2p_sequence);
  archive.Required("profiling_name", entry.profiling_name);
  archive.Required("time_created_ns", entry.created);
  archive.Optional("time_discovered_started_ns", entry.started);
  archive.Optional("time_discovered_completed_ns", entry.finished);
  archive.Required("state", entry.state);
  archive.Optional("is_p2p", entry.is_p2p);
  archive.Optional("retired", entry.is_retired);
  archive.Optional("timeout_ms", entry.timeout_ms);
  archive.Optional("input_sizes", entry.input_sizes);
  archive.Optional("input_dtypes", entry.input_types);
  archive.Optional("output_sizes", entry.output_sizes);
  archive.Optional("output_dtypes", entry.output_types);
}

std::string ReadContainer(const Json& json, codec::JsonReading /*reading*/, IntegerOrText* number) {
  constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();
  if (!json.is_string()) return ReadSigned(json, -1, kHigh, &number->value);
  const auto& text = json.get_ref<const std::string&>();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number->value);
  const bool is_good = error == std::errc() && end == text.data() + text.size() && number->value >= -1;
  return is_good ? "" : ExpectedButFound("an integer from -1", json);
}

struct GroupStatus {
  std::optional<IntegerOrText> last_completed;
};

template <class Archive, codec::IsRecord<GroupStatus> Record>
void Describe(Archive& archive, Record& status) {
  archive.Optional("last_completed_collective", status.last_completed);
}

namespace {

constexpr int64_t kInstantMax = std::numeric_limits<int64_t>::max() / 4;
constexpr int64_t kNsPerMs = 1'000'000;

// "[0, 1, 5]", or the list itself.
Result<std::vector<uint32_t>> ParseRanks(const Json& json) {
  Json list = json;
  if (json.is_string()) {
    FL_ASSIGN_OR_RETURN(list, ParseJson(json.get_ref<const std::string&>(), "ranks"));
  }
  std::vector<uint32_t> ranks;
  const std::string error = ReadValue(list, UnknownKeys::kIgnored, &ranks);
  if (!error.empty()) return InvalidArgument("ranks" + error);
  std::vector<uint32_t> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return InvalidArgument("a rank appears twice");
  if (!sorted.empty() && sorted.back() >= kNumImportedRanksMax) {
    return InvalidArgument(fmt::format("expected ranks below {}, found {}", kNumImportedRanksMax, sorted.back()));
  }
  return ranks;
}

// Elements of all tensors times bytes; 0 where that is unknown or beyond 64 bits.
uint64_t BytesOf(const std::vector<std::vector<int64_t>>& sizes, const std::vector<std::string>& types) {
  uint64_t sum = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    uint64_t bytes = i < types.size() ? TorchTypeBytes(types[i]) : 0;
    for (const int64_t size : sizes[i]) {
      if (size < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) return 0;
    }
    if (bytes == 0 || __builtin_add_overflow(sum, bytes, &sum)) return 0;
  }
  return sum;
}

// Of an operation, where it must be the same on every rank: what an all-gather gathers in sum, what others put in.
uint64_t ComparableBytes(const FlightEntry& entry, model::OperationKind kind) {
  switch (kind) {
    case model::OperationKind::kAllToAll:
    case model::OperationKind::kUnknown:
      return 0;
    case model::OperationKind::kAllGather:
    case model::OperationKind::kReceive:
      return BytesOf(entry.output_sizes, entry.output_types);
    default:
      return BytesOf(entry.input_sizes, entry.input_types);
  }
}

// Frames of PyTorch itself say nothing about the program.
bool IsOfLibrary(const FlightFrame& frame) {
  return frame.file.find("/torch/") != std::string::npos || frame.file.find("/megatron/core/") != std::string::npos;
}

// "step (train.py:88)" of the innermost frame of the program; empty: no frame was kept.
std::string PlaceOf(const std::vector<FlightFrame>& frames) {
  if (frames.empty()) return "";
  auto frame = std::ranges::find_if_not(frames, IsOfLibrary);
  if (frame == frames.end()) frame = frames.begin();
  const size_t slash = frame->file.rfind('/');
  return fmt::format("{} ({}:{})", frame->name,
                     slash == std::string::npos ? frame->file : frame->file.substr(slash + 1), frame->line);
}

class FlightTraceParser {
 public:
  FlightTraceParser(const Json& json, const std::string& name) : json_(json) { trace_.file = name; }

  Result<RankTrace> Parse() {
    if (!json_.is_object()) return Fail("expected an object, found " + DescribeValue(json_));
    FL_RETURN_IF_ERROR(CheckVersion());
    FL_RETURN_IF_ERROR(FindRank());
    FL_RETURN_IF_ERROR(ReadGroups());
    const auto entries = json_.find("entries");
    if (entries != json_.end()) FL_RETURN_IF_ERROR(ReadEntries(*entries));
    FL_RETURN_IF_ERROR(ReadStatus());
    Trim();
    return std::move(trace_);
  }

 private:
  Status Fail(const std::string& what) const { return InvalidArgument(fmt::format("{}: {}", trace_.file, what)); }

  Status CheckVersion() const {
    const auto version = json_.find("version");
    if (version == json_.end()) return Fail("version: is missing; is this a dump of PyTorch's flight recorder?");
    if (version->is_string() && version->get_ref<const std::string&>().starts_with("2.")) return OkStatus();
    return Fail("version: expected 2.x (PyTorch 2.4 and later), found " + DescribeValue(*version));
  }

  Status FindRank() {
    const auto member = json_.find("rank");
    uint64_t rank = 0;
    if (member != json_.end()) {
      const std::string error = ReadInteger(*member, kNumImportedRanksMax - 1, &rank);
      if (!error.empty()) return Fail("rank" + error);
    } else {
      std::string_view stem = trace_.file;
      if (stem.ends_with(".gz")) stem.remove_suffix(3);
      if (stem.ends_with(".json")) stem.remove_suffix(5);
      const size_t digits = stem.find_last_not_of("0123456789") + 1;
      const auto [end, error] = std::from_chars(stem.data() + digits, stem.data() + stem.size(), rank);
      if (error != std::errc() || rank >= kNumImportedRanksMax) {
        return Fail(
            "whose rank is this? Expected a name that ends with it, such as nccl_trace_rank_12, or \"rank\": 12");
      }
    }
    trace_.rank = static_cast<uint32_t>(rank);
    return OkStatus();
  }

  Status ReadGroups() {
    const auto config = json_.find("pg_config");
    if (config == json_.end()) return OkStatus();
    if (!config->is_object()) return Fail("pg_config: expected an object, found " + DescribeValue(*config));
    for (const auto& [name, group] : config->items()) {
      const auto ranks = group.is_object() ? group.find("ranks") : group.end();
      if (!group.is_object() || ranks == group.end()) return Fail("pg_config: a group does not tell its ranks");
      Result<std::vector<uint32_t>> parsed = ParseRanks(*ranks);
      if (!parsed.ok()) return Fail("pg_config: " + parsed.status().message());
      keys_[name] = {name, *std::move(parsed)};
      const auto description = group.find("desc");
      const bool is_described = description != group.end() && description->is_string();
      trace_.groups[keys_[name]].description = is_described ? description->get<std::string>() : "";
    }
    return OkStatus();
  }

  Status ReadEntries(const Json& entries) {
    if (!entries.is_array()) return Fail("entries: expected a list, found " + DescribeValue(entries));
    for (size_t i = 0; i < entries.size(); ++i) {
      FlightEntry entry;
      std::string error = ReadValue(entries[i], UnknownKeys::kIgnored, &entry);
      if (error.empty()) error = AddEntry(entry);
      if (!error.empty()) return Fail(fmt::format("entries[{}]{}", i, error));
      if (i == 0) trace_.is_whole = entry.record_id == 0;
    }
    return OkStatus();
  }

  std::string AddEntry(const FlightEntry& entry) {
    if (entry.process_group.size() != 2) return ".process_group: expected a name and a description";
    const auto operation = ParseTorchOperation(entry.profiling_name);
    if (!operation)
      return ".profiling_name" + ExpectedButFound("such as 'nccl:all_reduce'", Json(entry.profiling_name));
    if (entry.state != "scheduled" && entry.state != "started" && entry.state != "completed") {
      return ".state" + ExpectedButFound("'scheduled', 'started' or 'completed'", Json(entry.state));
    }
    if (!entry.is_p2p && !entry.collective_sequence)
      return ".collective_seq_id: is missing; version 2.1 and later have it";
    for (const int64_t time :
         {entry.created, entry.started.value_or(0), entry.finished.value_or(0), entry.timeout_ms}) {
      if (time < 0 || time > kInstantMax) return fmt::format(": {} is no instant", time);
    }
    const GroupKey& key = keys_.try_emplace(entry.process_group[0], GroupKey{entry.process_group[0], {}}).first->second;
    GroupTrace& group = trace_.groups[key];
    group.description = entry.process_group[1];
    if (entry.group_id >= 0) group.number = entry.group_id;
    AddEvent(MakeEvent(entry, *operation), operation->ends_group, entry.is_p2p ? &group.p2p : &group.collectives);
    return "";
  }

  TraceEvent MakeEvent(const FlightEntry& entry, const TorchOperation& operation) {
    TraceEvent event;
    event.sequence = entry.is_p2p ? entry.p2p_sequence : *entry.collective_sequence;
    event.kind = operation.kind;
    event.peer = operation.peer;
    event.bytes = ComparableBytes(entry, operation.kind);
    const auto& types = entry.input_types.empty() ? entry.output_types : entry.input_types;
    if (!types.empty()) event.data_type = NcclDataType(types.front());
    event.created = entry.created;
    event.place = PlaceOf(entry.frames);
    // An instant of 0 is an unknown one.
    if (entry.started.value_or(0) > 0) {
      event.started = entry.started;
      trace_.measures_start = true;
    } else if (entry.state != "scheduled") {
      event.started = entry.created;
    }
    if (entry.state == "completed") {
      event.finished = std::max(entry.finished.value_or(0), event.started.value_or(entry.created));
    }
    NoteInstants(entry, event);
    return event;
  }

  void NoteInstants(const FlightEntry& entry, const TraceEvent& event) {
    if (trace_.earliest == 0 || event.created < trace_.earliest) trace_.earliest = event.created;
    trace_.latest = std::max({trace_.latest, event.created, event.started.value_or(0), event.finished.value_or(0)});
    // Given up before it was complete: its time has passed.
    if (entry.is_retired && !event.finished && entry.timeout_ms < kInstantMax / kNsPerMs) {
      trace_.latest = std::max(trace_.latest, event.created + entry.timeout_ms * kNsPerMs);
    }
  }

  static void AddEvent(TraceEvent event, bool ends_group, std::vector<TraceEvent>* events) {
    auto member = events->rbegin();
    for (; member != events->rend() && member->sequence == event.sequence; ++member) {
      if (!ends_group) continue;
      // Members of a group have no events of their own: they start and end with it.
      member->started = event.started;
      member->finished = event.finished;
    }
    event.ordinal = static_cast<uint32_t>(member - events->rbegin());
    if (!ends_group || event.ordinal == 0) events->push_back(std::move(event));
  }

  Status ReadStatus() {
    const auto status = json_.find("pg_status");
    if (status == json_.end()) return OkStatus();
    if (!status->is_object()) return Fail("pg_status: expected an object, found " + DescribeValue(*status));
    for (const auto& [id_text, json] : status->items()) {
      GroupStatus group_status;
      const std::string error = ReadValue(json, UnknownKeys::kIgnored, &group_status);
      if (!error.empty()) return Fail(fmt::format("pg_status{}", error));
      int64_t id = -1;
      std::from_chars(id_text.data(), id_text.data() + id_text.size(), id);
      if (id >= 0 && group_status.last_completed) trace_.last_completed[id] = group_status.last_completed->value;
    }
    return OkStatus();
  }

  void Trim() {
    for (auto& [key, group] : trace_.groups) {
      for (std::vector<TraceEvent>* events : {&group.collectives, &group.p2p}) {
        if (events->size() <= kNumTraceEventsMax) continue;
        const auto end = events->end() - static_cast<std::ptrdiff_t>(kNumTraceEventsMax);
        trace_.num_unfinished_dropped += static_cast<uint64_t>(
            std::count_if(events->begin(), end, [](const TraceEvent& event) { return !event.finished; }));
        events->erase(events->begin(), end);
        trace_.is_whole = false;
      }
    }
  }

  const Json& json_;
  RankTrace trace_;
  std::map<std::string, GroupKey> keys_;  // [name]
};

}  // namespace

Result<RankTrace> ParseFlightTrace(std::string_view text, const std::string& name) {
  FL_ASSIGN_OR_RETURN(const Json json, IsPickle(text) ? ParsePickle(text, name) : ParseJson(text, name));
  return FlightTraceParser(json, name).Parse();
}

}  // namespace fairlead::telemetry

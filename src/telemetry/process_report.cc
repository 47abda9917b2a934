#include "telemetry/process_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/printable_ascii.h"

namespace fairlead::telemetry {

namespace {

constexpr int64_t kInstantMin = -(int64_t{1} << 61);
constexpr int64_t kInstantMax = int64_t{1} << 62;
constexpr int64_t kDurationMax = int64_t{1} << 61;
constexpr uint64_t kCountMax = uint64_t{1} << 62;
constexpr uint32_t kRanksMax = uint32_t{1} << 20;

// The first thing that is wrong is kept.
class Fault {
 public:
  std::string Take() { return std::move(text_); }
  bool is_found() const { return !text_.empty(); }

  void Text(std::string_view field, const std::string& text, size_t most = kProcessTextMax) {
    const bool is_printable = std::ranges::all_of(text, IsPrintableAscii);
    if (text.size() <= most && is_printable) return;
    Note(field, fmt::format("at most {} characters of printable ASCII", most), fmt::format("{} bytes", text.size()));
  }
  void Instant(std::string_view field, SimTime time) {
    if (IsReportInstant(time)) return;
    Note(field, "-2^61 to 2^62 ns", fmt::format("{}", time.ns()));
  }
  void Sum(std::string_view field, SimDuration duration) {
    if (duration.ns() >= 0 && duration.ns() <= kDurationMax) return;
    Note(field, "0 to 2^61 ns", fmt::format("{}", duration.ns()));
  }
  void Count(std::string_view field, uint64_t count, uint64_t most = kCountMax) {
    if (count > most) Note(field, fmt::format("at most {}", most), fmt::format("{}", count));
  }
  void Place(std::string_view field, model::CommunicatorId id, size_t num_communicators) {
    if (id.valid() && id.index() < num_communicators) return;
    Note(field, fmt::format("one of {}", num_communicators), id.valid() ? fmt::format("{}", id.value()) : "none");
  }
  void Peer(std::string_view field, model::RankId peer) {
    if (peer.valid()) Count(field, peer.value(), kRanksMax - 1);
  }

 private:
  void Note(std::string_view field, std::string_view expected, std::string_view found) {
    if (text_.empty()) text_ = fmt::format("{}: expected {}, found {}", field, expected, found);
  }

  std::string text_;
};

void Check(const ProcessCommunicator& communicator, Fault* fault) {
  fault->Text("name", communicator.name);
  fault->Count("num_ranks", communicator.num_ranks, kRanksMax);
  fault->Count("rank", static_cast<uint64_t>(std::max(communicator.rank, 0)), kRanksMax);
}

void Check(const model::OperationRecord& operation, size_t num_communicators, Fault* fault) {
  fault->Place("communicator", operation.communicator, num_communicators);
  fault->Count("bytes", operation.bytes);
  fault->Text("data_type", operation.data_type);
  fault->Peer("peer", operation.peer);
  fault->Instant("enqueued", operation.enqueued);
  if (operation.started.has_value()) fault->Instant("started", *operation.started);
  if (operation.finished.has_value()) fault->Instant("finished", *operation.finished);
}

void Check(const model::ThreadGroup& group, Fault* fault) {
  fault->Text("name", group.name);
  fault->Text("place", group.place, kThreadPlaceMax);
}

void Check(const model::ProgressRecord& progress, size_t num_communicators, Fault* fault) {
  fault->Place("communicator", progress.communicator, num_communicators);
  fault->Peer("peer", progress.peer);
}

void Check(const model::ConnectionRecord& connection, size_t num_communicators, Fault* fault) {
  fault->Place("communicator", connection.key.communicator, num_communicators);
  fault->Peer("peer", connection.key.peer);
  if (!connection.key.peer.valid()) fault->Count("peer", connection.key.peer.value(), kRanksMax - 1);
  fault->Count("messages", connection.messages);
  fault->Count("bytes", connection.bytes);
  fault->Sum("wire_time", connection.wire_time);
  fault->Sum("wire_time_max", connection.wire_time_max);
  fault->Sum("wait_for_gpu", connection.wait_for_gpu);
  fault->Sum("wait_for_peer", connection.wait_for_peer);
  fault->Instant("phase_since", connection.phase_since);
  fault->Instant("last_progress", connection.last_progress);
}

// Empty, or ".operations[2].peer: …".
template <class Record, class CheckOne>
std::string FindIn(std::string_view list, const std::vector<Record>& records, CheckOne check) {
  for (size_t i = 0; i < records.size(); ++i) {
    Fault fault;
    check(records[i], &fault);
    if (fault.is_found()) return fmt::format("{}[{}].{}", list, i, fault.Take());
  }
  return "";
}

}  // namespace

bool IsReportInstant(SimTime time) { return time.ns() >= kInstantMin && time.ns() <= kInstantMax; }

size_t NumRecords(const ProcessReport& report) {
  return report.communicators.size() + report.operations.size() + report.progress.size() + report.connections.size() +
         report.threads.size();
}

std::string FindFault(const ProcessReport& report) {
  Fault fault;
  fault.Instant("at", report.at);
  if (report.operations_since.has_value()) fault.Instant("operations_since", *report.operations_since);
  fault.Count("records", NumRecords(report), kProcessRecordsMax);
  fault.Count("threads", report.threads.size(), kThreadGroupsMax);
  if (fault.is_found()) return fault.Take();
  const size_t num = report.communicators.size();
  std::string text = FindIn("communicators", report.communicators, [](const auto& one, Fault* f) { Check(one, f); });
  if (text.empty()) {
    text = FindIn("operations", report.operations, [&](const auto& one, Fault* f) { Check(one, num, f); });
  }
  if (text.empty()) {
    text = FindIn("progress", report.progress, [&](const auto& one, Fault* f) { Check(one, num, f); });
  }
  if (text.empty()) {
    text = FindIn("connections", report.connections, [&](const auto& one, Fault* f) { Check(one, num, f); });
  }
  if (text.empty()) text = FindIn("threads", report.threads, [](const auto& one, Fault* f) { Check(one, f); });
  return text;
}

std::string FindFault(const SeenProcess& process) {
  Fault fault;
  if (process.exit.at.has_value()) fault.Instant("ended_at", *process.exit.at);
  fault.Sum("ended_within", process.exit.within);
  return fault.is_found() ? fault.Take() : FindFault(process.report);
}

}  // namespace fairlead::telemetry

#include "telemetry/segment_tracker.h"

#include <algorithm>

#include "base/check.h"
#include "telemetry/operation_names.h"

namespace fairlead::telemetry {

namespace {

using model::CommunicatorId;
using model::ConnectionRecord;
using model::OperationKind;
using model::OperationRecord;
using model::ProgressRecord;
using model::RankId;

constexpr uint32_t kKernelEvents = 1u << 6;  // of NCCL's mask

// What the GPU's instant is on the host's clock, within the bounds in which it must lie.
int64_t OnHost(uint64_t gpu_ns, const std::optional<int64_t>& offset, int64_t first, int64_t last) {
  if (!offset.has_value()) return std::max(first, last);
  const auto host_ns = static_cast<int64_t>(gpu_ns + static_cast<uint64_t>(*offset));
  return std::clamp(host_ns, first, std::max(first, last));
}

bool RanBackwards(const SegmentConnection& before, const SegmentConnection& now) {
  return now.messages < before.messages || now.bytes < before.bytes || now.wire_ns < before.wire_ns ||
         now.wait_for_gpu_ns < before.wait_for_gpu_ns || now.wait_for_peer_ns < before.wait_for_peer_ns;
}

// Greatest wire time of one message since `since_ns`, as far as the windows tell.
int64_t GreatestSince(const SegmentConnection& now, int64_t since_ns) {
  const int64_t first_window = since_ns / shm::kMaximumWindowNs;
  int64_t greatest = now.maximum_window >= first_window ? now.wire_ns_max[0] : 0;
  if (now.maximum_window - 1 >= first_window) greatest = std::max(greatest, now.wire_ns_max[1]);
  return greatest;
}

// The windows reach back beyond the look before: of a greatest time that the histogram since then doesn't have, the
// middle of its last bin is left.
int64_t LimitByBins(int64_t greatest_ns, const std::array<uint32_t, model::kNumWireTimeBins>& bins) {
  size_t end = bins.size();
  while (end > 0 && bins[end - 1] == 0) --end;
  if (end == 0 || end == bins.size() || greatest_ns < (int64_t{1000} << end)) return greatest_ns;
  return (int64_t{1500} << end) / 2;
}

}  // namespace

SegmentTracker::SegmentTracker(const SegmentTrackerOptions& options) : options_(options) {}

ProcessReport SegmentTracker::Look(const SegmentContents& contents, int64_t at_ns) {
  FL_CHECK(at_ns >= 0 && at_ns <= kMaxSegmentNs);
  const std::pair process(contents.pid, contents.process_start);
  if (process_ != process) StartAnew(contents);
  at_ns_ = std::max(at_ns, before_ns_);
  ProcessReport report;
  report.job = contents.job;
  report.pid = contents.pid;
  report.process_start = contents.process_start;
  report.global_rank = contents.global_rank;
  report.number = number_++;
  report.at = HostTime(at_ns_);
  report.num_dropped = contents.num_dropped;
  report.num_damaged = contents.num_damaged;
  may_tell_kernels_ = contents.wanted_events == 0 || (contents.wanted_events & kKernelEvents) != 0;
  FollowCommunicators(contents, &report);
  FollowOperations(contents);
  for (auto& [slot, communicator] : communicators_) {
    for (auto& [key, lane] : communicator.lanes) {
      for (LaneItem& item : lane.items) item.is_over = IsOver(communicator, *item.operation);
    }
    if (communicator.is.num_ranks != 0) TellLanes(&communicator, place_in_report_.at(slot), &report);
  }
  FollowConnections(contents, &report);
  if (report.number > 0) report.operations_since = since_;
  since_ = report.number > 0 ? HostTime(before_ns_) : report.at;
  before_ns_ = at_ns_;
  skips_ = false;
  return report;
}

void SegmentTracker::StartAnew(const SegmentContents& contents) {
  skips_ = options_.skips_past && !process_.has_value();
  process_.emplace(contents.pid, contents.process_start);
  number_ = 0;
  before_ns_ = 0;
  since_.reset();
  communicators_.clear();
  states_.assign(shm::kNumOperations, {});
}

void SegmentTracker::FollowCommunicators(const SegmentContents& contents, ProcessReport* report) {
  place_in_report_.clear();
  reported_.clear();
  report->is_finalizing = !contents.communicators.empty();
  for (const SegmentCommunicator& now : contents.communicators) {
    const auto [entry, is_new] = communicators_.try_emplace(now.slot);
    Communicator& known = entry->second;
    const bool is_other = now.id != known.is.id || now.rank != known.is.rank || now.num_ranks != known.is.num_ranks ||
                          (known.is.is_finalized && !now.is_finalized);
    if (!is_new && is_other) known = Communicator();
    known.is = now;
    place_in_report_[now.slot] = CommunicatorId(report->communicators.size());
    report->communicators.push_back({.id = now.id,
                                     .name = now.name,
                                     .num_ranks = now.num_ranks,
                                     .rank = now.rank,
                                     .is_finalized = now.is_finalized});
    report->is_finalizing &= now.is_finalized;
  }
  std::erase_if(communicators_, [&](const auto& entry) { return !place_in_report_.contains(entry.first); });
}

// Puts the operations that have not been reported often enough into their lanes, in order of issue.
void SegmentTracker::FollowOperations(const SegmentContents& contents) {
  for (auto& [slot, communicator] : communicators_) {
    communicator.begun_launches.clear();
    for (auto& [key, lane] : communicator.lanes) lane.items.clear();
    communicator.lanes.try_emplace(LaneKey());
  }
  for (const SegmentOperation& operation : contents.operations) {
    Communicator& communicator = communicators_.at(operation.communicator);
    OperationState& state = StateOf(operation);
    if (state.ticket != operation.ticket) state = {.ticket = operation.ticket};
    if (communicator.is.num_ranks == 0 || state.times_reported >= kTimesToTell) continue;
    if (operation.kernel_began_reported_ns != 0) {
      communicator.tells_kernels = true;
      AddLaunch({operation.enqueued_ns, operation.enqueue_ended_ns}, &communicator.begun_launches);
    }
    communicator.num_issued = std::max(communicator.num_issued, operation.issue_index + 1);
    LaneKey key;
    if (IsTransfer(operation.kind)) key = {operation.kind, static_cast<uint32_t>(operation.root_or_peer)};
    Lane& lane = communicator.lanes[key];
    if (IsTransfer(operation.kind)) lane.enqueued = std::max(lane.enqueued, operation.sequence + 1);
    lane.items.push_back({.operation = &operation});
  }
  for (auto& [slot, communicator] : communicators_) {
    uint64_t transfers = 0;
    size_t num_collectives = 0;
    for (auto& [key, lane] : communicator.lanes) {
      std::ranges::stable_sort(lane.items, {}, [](const LaneItem& item) { return item.operation->issue_index; });
      transfers = IsTransfer(key.kind) ? std::min(transfers + lane.enqueued, kMaxSegmentCount) : transfers;
      if (!IsTransfer(key.kind)) num_collectives = lane.items.size();
    }
    // What is no send and no receive is a collective, whether it was seen or not.
    Lane& collectives = communicator.lanes[LaneKey()];
    const uint64_t rest = communicator.num_issued - std::min(communicator.num_issued, transfers);
    collectives.enqueued = std::max({collectives.enqueued, rest, uint64_t{num_collectives}});
    for (auto& [key, lane] : communicator.lanes) lane.enqueued = std::max(lane.enqueued, uint64_t{lane.items.size()});
  }
}

bool SegmentTracker::IsOver(const Communicator& communicator, const SegmentOperation& operation) const {
  if (states_[(operation.ticket - 1) % shm::kNumOperations].times_reported > 0) return true;
  if (communicator.is.is_finalized) return true;
  if (operation.enqueue_ended_ns == 0) return false;
  if (operation.num_parts > 0) {
    return operation.num_parts_live == 0 && at_ns_ - operation.last_part_ended_ns >= kSettleNs;
  }
  const int64_t waited = at_ns_ - operation.enqueue_ended_ns;
  if (communicator.is.num_ranks == 1) return waited >= kSettleNs;
  return !TellsKernels(communicator) && waited >= kUnreportedNs;
}

bool SegmentTracker::HasBegun(const Communicator& communicator, const SegmentOperation& operation) const {
  if (!TellsKernels(communicator)) return operation.num_parts > 0;
  return operation.kernel_began_reported_ns != 0 ||
         std::ranges::any_of(communicator.begun_launches, [&](const Launch& launch) {
           return launch.Overlaps({operation.enqueued_ns, operation.enqueue_ended_ns});
         });
}

void SegmentTracker::AddLaunch(Launch launch, std::vector<Launch>* launches) {
  for (Launch& known : *launches) {
    if (!known.Overlaps(launch)) continue;
    known = {std::min(known.from_ns, launch.from_ns), std::max(known.to_ns, launch.to_ns)};
    return;
  }
  launches->push_back(launch);
}

void SegmentTracker::TellLanes(Communicator* communicator, CommunicatorId id, ProcessReport* report) {
  for (auto& [key, lane] : communicator->lanes) {
    report->progress.push_back(TellLane(*communicator, key, &lane, id, report));
  }
}

ProgressRecord SegmentTracker::TellLane(const Communicator& communicator, const LaneKey& key, Lane* lane,
                                        CommunicatorId id, ProcessReport* report) {
  // Passed by a later launch: over, at an unknown time.
  int64_t latest_over_ns = -1;
  for (auto item = lane->items.rbegin(); item != lane->items.rend(); ++item) {  // NOLINT(modernize-loop-convert)
    const int64_t enqueued_ns = item->operation->enqueued_ns;
    if (item->is_over) {
      latest_over_ns = std::max(latest_over_ns, enqueued_ns);
    } else if (latest_over_ns - enqueued_ns >= kLaunchNs) {
      StateOf(*item->operation).times_reported = kTimesToTell;
      item->is_over = true;
    }
  }
  const auto first_pending = std::ranges::find_if(lane->items, [](const LaneItem& item) { return !item.is_over; });
  for (auto item = lane->items.begin(); item != first_pending; ++item) {
    OperationState& state = StateOf(*item->operation);
    if (state.times_reported >= kTimesToTell) continue;
    const bool has_instants = item->operation->enqueue_ended_ns != 0 && item->operation->num_parts_live == 0;
    if (skips_ || !has_instants) {
      state.times_reported = kTimesToTell;
      continue;
    }
    ++state.times_reported;
    TellOperation(ToRecord(communicator, *item->operation, id, true), report);
  }
  ProgressRecord progress;
  progress.communicator = id;
  progress.kind = key.kind;
  if (IsTransfer(key.kind)) progress.peer = RankId(key.peer);
  progress.enqueued = lane->enqueued;
  progress.started = progress.finished = lane->enqueued - static_cast<uint64_t>(lane->items.end() - first_pending);
  bool all_started = true;
  for (auto item = first_pending; item != lane->items.end(); ++item) {
    const OperationRecord record = ToRecord(communicator, *item->operation, id, false);
    TellOperation(record, report);
    all_started &= record.started.has_value();
    progress.started += all_started ? 1 : 0;
  }
  return progress;
}

// The library's own numbers may repeat themselves; the diagnosis could not tell such operations apart.
void SegmentTracker::TellOperation(const OperationRecord& record, ProcessReport* report) {
  if (reported_.emplace(record.communicator, record.kind, record.sequence, record.peer).second) {
    report->operations.push_back(record);
  }
}

OperationRecord SegmentTracker::ToRecord(const Communicator& communicator, const SegmentOperation& operation,
                                         CommunicatorId id, bool is_over) const {
  OperationRecord record;
  record.communicator = id;
  record.kind = operation.kind;
  record.sequence = operation.sequence;
  record.issue_index = operation.issue_index;
  const uint64_t element_bytes = NcclTypeBytes(operation.data_type);
  if (element_bytes != 0 && operation.count <= kMaxSegmentCount / element_bytes) {
    record.bytes = operation.count * element_bytes;
  }
  record.data_type = operation.data_type;
  if (operation.kind == OperationKind::kBroadcast || operation.kind == OperationKind::kReduce) {
    record.root = operation.root_or_peer;
  }
  if (IsTransfer(operation.kind)) record.peer = RankId(static_cast<uint32_t>(operation.root_or_peer));
  const int64_t enqueued_ns = operation.enqueued_ns;
  record.enqueued = HostTime(enqueued_ns);
  const std::optional<int64_t>& offset = communicator.is.gpu_clock_offset;
  int64_t started_ns = std::max(enqueued_ns, operation.enqueue_ended_ns);
  if (operation.kernel_began_reported_ns != 0) {
    started_ns = OnHost(operation.kernel_began_gpu_ns, offset, enqueued_ns, operation.kernel_began_reported_ns);
  }
  if (is_over || HasBegun(communicator, operation)) record.started = HostTime(started_ns);
  int64_t finished_ns = std::max(started_ns, operation.last_part_ended_ns);
  if (operation.kernel_ended_gpu_ns != 0 && operation.last_part_ended_ns != 0) {
    finished_ns = OnHost(operation.kernel_ended_gpu_ns, offset, started_ns, operation.last_part_ended_ns);
  }
  if (is_over) record.finished = HostTime(finished_ns);
  return record;
}

void SegmentTracker::FollowConnections(const SegmentContents& contents, ProcessReport* report) {
  std::map<uint32_t, std::map<EndKey, uint32_t>> torn;
  for (const SegmentConnection& now : contents.connections) {
    Communicator& communicator = communicators_.at(now.communicator);
    if (communicator.is.num_ranks == 0) continue;
    if (now.version % 2 != 0) torn[now.communicator][{now.channel, now.direction, now.peer}] = now.version;
    ConnectionRecord record = TellConnection(&communicator, now);
    const bool is_busy = record.phase != model::TransferPhase::kIdle;
    const bool has_news = record.messages != 0 || record.bytes != 0 || record.wire_time != SimDuration() ||
                          record.wait_for_gpu != SimDuration() || record.wait_for_peer != SimDuration();
    if (!is_busy && !has_news) continue;
    record.key.communicator = place_in_report_.at(now.communicator);
    report->busy_connections += is_busy ? 1 : 0;
    report->connections.push_back(record);
  }
  for (auto& [slot, communicator] : communicators_) communicator.torn = std::move(torn[slot]);
}

ConnectionRecord SegmentTracker::TellConnection(Communicator* communicator, const SegmentConnection& now) {
  ConnectionRecord record;
  record.key.channel = now.channel;
  record.key.direction = now.direction;
  record.key.peer = RankId(now.peer);
  record.in_flight = now.num_in_flight;
  record.phase = now.phase;
  record.phase_since = HostTime(now.phase_since_ns);
  record.last_progress = HostTime(now.last_progress_ns);
  const EndKey key(now.channel, now.direction, now.peer);
  // While it changes, sums may not fit together: the next look tells. If it stays like that, its process is stopped.
  const auto torn = communicator->torn.find(key);
  const bool is_stalled = torn != communicator->torn.end() && torn->second == now.version;
  if (now.version % 2 != 0 && !is_stalled && !skips_) return record;
  const auto [entry, is_new] = communicator->ends.try_emplace(key);
  SegmentConnection& before = entry->second;
  if (RanBackwards(before, now)) before = SegmentConnection();
  if (skips_) before = now;
  record.messages = now.messages - before.messages;
  record.bytes = now.bytes - before.bytes;
  record.wire_time = SimDuration(now.wire_ns - before.wire_ns);
  record.wait_for_gpu = SimDuration(now.wait_for_gpu_ns - before.wait_for_gpu_ns);
  record.wait_for_peer = SimDuration(now.wait_for_peer_ns - before.wait_for_peer_ns);
  for (size_t i = 0; i < model::kNumWireTimeBins; ++i) {
    record.wire_time_bins[i] = now.wire_time_bins[i] - before.wire_time_bins[i];  // also where it has gone round
  }
  const int64_t greatest = LimitByBins(GreatestSince(now, before_ns_), record.wire_time_bins);
  record.wire_time_max = std::min(record.wire_time, SimDuration(greatest));
  before = now;
  return record;
}

}  // namespace fairlead::telemetry

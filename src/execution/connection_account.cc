#include "execution/connection_account.h"

#include <algorithm>
#include <bit>

namespace fairlead::execution {

namespace {

using model::ConnectionKey;
using model::ConnectionRecord;
using model::Direction;
using model::TransferPhase;

size_t WireTimeBin(Instant duration) {
  const auto microseconds = static_cast<uint64_t>(std::max<Instant>(duration, 0)) / 1000;
  const auto bin = static_cast<size_t>(std::bit_width(microseconds | 1) - 1);
  return std::min(bin, model::kNumWireTimeBins - 1);
}

struct PhaseAndStart {
  TransferPhase phase = TransferPhase::kIdle;
  Instant since = 0;
};

PhaseAndStart PhaseAt(const MessageInstants& message, Direction direction, Instant at) {
  const bool sends = direction == Direction::kSend;
  if (message.posted > at) return {};
  if (message.first > at) {
    return {sends ? TransferPhase::kSendWaitsForGpu : TransferPhase::kReceivePosted, message.posted};
  }
  if (message.second > at) {
    return {sends ? TransferPhase::kSendWaitsForPeer : TransferPhase::kReceiveFlushing, message.first};
  }
  return {sends ? TransferPhase::kSendOnWire : TransferPhase::kReceiveWaitsForGpu, message.second};
}

}  // namespace

ConnectionAccount::ConnectionAccount(const ConnectionKey& key, const ReportWindows& windows)
    : windows_(windows), window_end_(windows.End(0)) {
  open_.key = key;
}

void ConnectionAccount::Fold(const MessageInstants& message, uint64_t bytes) {
  ++open_.messages;
  open_.bytes += bytes;
  if (open_.key.direction == Direction::kSend) {
    // Messages that queue behind one another would each count the others' times.
    const Instant wire = message.done - std::max(message.second, open_.last_progress.ns());
    open_.wire_time += SimDuration(wire);
    open_.wire_time_max = std::max(open_.wire_time_max, SimDuration(wire));
    ++open_.wire_time_bins[WireTimeBin(wire)];
    open_.wait_for_gpu += SimDuration(message.first - message.posted);
    open_.wait_for_peer += SimDuration(message.second - message.first);
  } else {
    open_.wait_for_peer += SimDuration(message.first - message.posted);
    open_.wait_for_gpu += SimDuration(message.done - message.first);
  }
  open_.last_progress = SimTime(message.done);
}

ConnectionRecord ConnectionAccount::Snapshot(const MessageInstants* message, Instant at) const {
  ConnectionRecord record = open_;
  if (message == nullptr) return record;
  const PhaseAndStart phase = PhaseAt(*message, open_.key.direction, at);
  if (phase.phase == TransferPhase::kIdle) return record;
  record.phase = phase.phase;
  record.phase_since = SimTime(phase.since);
  record.in_flight = message->in_flight;
  return record;
}

void ConnectionAccount::StartWindow(uint64_t window) {
  ConnectionRecord fresh;
  fresh.key = open_.key;
  fresh.last_progress = open_.last_progress;
  open_ = fresh;
  window_ = window;
  window_end_ = windows_.End(window);
}

bool ConnectionAccount::CloseWindowsUntil(const MessageInstants& message) {
  if (stuck_.has_value()) return false;
  if (IsNever(message.done)) {
    stuck_ = message;
    return false;
  }
  while (message.done > window_end_) {
    const ConnectionRecord record = Snapshot(&message, window_end_);
    if (IsWorthReporting(record)) closed_.emplace_back(window_, record);
    // Windows in which nothing was posted say nothing.
    const Instant idle = std::min(message.posted, message.done) - window_end_;
    const uint64_t skipped = idle > windows_.period ? static_cast<uint64_t>(idle / windows_.period) : 0;
    StartWindow(window_ + 1 + skipped);
  }
  return true;
}

std::optional<ConnectionRecord> ConnectionAccount::Take(uint64_t window) {
  if (!closed_.empty() && closed_.front().first == window) {
    const ConnectionRecord record = closed_.front().second;
    closed_.erase(closed_.begin());
    return record;
  }
  if (window < window_) return std::nullopt;
  if (open_.messages == 0 && !stuck_.has_value()) {
    window_ = window + 1;
    window_end_ = windows_.End(window_);
    return std::nullopt;
  }
  const ConnectionRecord record = Snapshot(stuck_.has_value() ? &*stuck_ : nullptr, windows_.End(window));
  StartWindow(window + 1);
  return IsWorthReporting(record) ? std::optional(record) : std::nullopt;
}

}  // namespace fairlead::execution

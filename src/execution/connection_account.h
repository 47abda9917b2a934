// The aggregates of one end of a connection: messages are added as they are simulated, reports are taken out.
//
// Problem     An operation is simulated to its end in one step, but reports are due every second, also in its midst.
//             Keeping the instants of all messages until then would need memory in the number of messages.
// Method      Messages come in order of completion. The sums of the present window (the time between two reports) stay
//             open until a message completes after its end; then the window is closed with that message's phase at that
//             moment, since it was the oldest under way. A message that never completes is kept: it is what all later
//             reports show.
// Cost        A few additions a message; one record for each window that a message straddles.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "execution/instant.h"
#include "model/telemetry.h"

namespace fairlead::execution {

// When the agent of a host reads its ranks: window w ends at `first_end` + w * `period`.
struct ReportWindows {
  Instant first_end = 0;
  Instant period = 1;

  Instant End(uint64_t window) const { return first_end + static_cast<Instant>(window) * period; }
};

// One message as one end of its connection sees it, ascending.
//   send:    posted | (GPU fills) | first: filled | (peer not ready) | second: handed over | (wire) | done: completed
//   receive: posted | (no data)   | first: data   | (flush)          | second: flushed     | (GPU)  | done: taken
struct MessageInstants {
  Instant posted = 0;
  Instant first = 0;
  Instant second = 0;
  Instant done = 0;
  uint32_t in_flight = 1;  // messages posted and not done just before this one is done
};

class ConnectionAccount {
 public:
  ConnectionAccount(const model::ConnectionKey& key, const ReportWindows& windows);

  const model::ConnectionKey& key() const { return open_.key; }

  // Messages must come in order of `done`; after one that is never done all others are ignored.
  void Add(const MessageInstants& message, uint64_t bytes) {
    if (message.done > window_end_ && !CloseWindowsUntil(message)) return;
    Fold(message, bytes);
  }

  // The record of window `window`: nothing if nothing happened and nothing is under way. Windows must be taken in
  // ascending order, and only when all messages that complete in them were added.
  std::optional<model::ConnectionRecord> Take(uint64_t window);

 private:
  void Fold(const MessageInstants& message, uint64_t bytes);
  // Closes the windows that end before the message is done. False: it never is.
  bool CloseWindowsUntil(const MessageInstants& message);
  model::ConnectionRecord Snapshot(const MessageInstants* message, Instant at) const;
  bool IsWorthReporting(const model::ConnectionRecord& record) const {
    return record.messages > 0 || record.phase != model::TransferPhase::kIdle;
  }
  void StartWindow(uint64_t window);

  model::ConnectionRecord open_;  // of window_
  ReportWindows windows_;
  uint64_t window_ = 0;
  Instant window_end_;
  std::optional<MessageInstants> stuck_;
  // Those closed and not taken yet, ascending.
  std::vector<std::pair<uint64_t, model::ConnectionRecord>> closed_;
};

}  // namespace fairlead::execution

// The picture of a job: what each rank is doing on each communicator, as far as its reports tell.
//
// Problem     reports come once a second from tens of thousands of ranks, on clocks that differ, and some are lost,
//             late, repeated, truncated or contradict each other; ranks go silent and return. The detectors need: which
//             operations are pending, which ranks have not arrived, what moved last, in which phase connections are
//             stuck, and which of this may be out of date because a report is missing.
// Method      operations by communicator (collective_table.h, transfer_table.h), gaps by reporter (report_sequence.h).
//             A report that tells all that is pending makes good for those lost before it.
//             Instants of a host become instants of the master by their age in the report that tells them, so that
//             clocks need not agree; a report that was under way for long makes them too late, never too early.
//             What all ranks have finished is handed out and dropped.
// Cost        a report: linear in its content, times a logarithm. Memory: linear in ranks, connections and pending
//             operations times their ranks.
// Guarantees  damaged records are counted and change nothing. The same reports once more change nothing.
// Reference   docs/spec/c4.md sections 3 and 4.1.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "diagnosis/c4d/collective_table.h"
#include "diagnosis/c4d/completed_operation.h"
#include "diagnosis/c4d/duration_history.h"
#include "diagnosis/c4d/report_sequence.h"
#include "diagnosis/c4d/transfer_table.h"
#include "diagnosis/c4d/wait_history.h"
#include "model/place_names.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

// State of one end of a connection in the last report of its rank.
struct ConnectionState {
  model::ConnectionKey key;
  uint32_t in_flight = 0;
  uint32_t serial = 0;  // of that report
  model::TransferPhase phase = model::TransferPhase::kIdle;
  SimTime phase_since;  // on the master's clock
};

// A communicator that a rank belongs to, and as which of its ranks.
struct Membership {
  model::CommunicatorId communicator;
  uint32_t position = 0;
};

struct RankState {
  uint32_t host = 0;                    // index of JobPicture::hosts()
  std::vector<Membership> memberships;  // ascending
  ReportSequence numbers;
  // The newest report that was complete about its operations, or about its connections. What was missed before it is no
  // matter, and a rank that has sent one is not believed to have nothing to tell by one that was truncated.
  struct WholeReport {
    uint32_t serial = 0;  // 0: none
    SimTime heard;
  };
  WholeReport reported_operations;
  WholeReport reported_connections;
  // On the master's clock; zero: never.
  SimTime last_heard;
  bool has_reported = false;  // at least one report
  SimTime last_progress;
  bool is_silent = false;
  bool is_finalizing = false;
  model::ProcessState process = model::ProcessState::kRunning;
  model::ProcessExit exit;  // of one that is gone
  // Of one that is gone, on the master's clock: it died after the one, and not after the other.
  SimTime alive_until = SimTime(std::numeric_limits<int64_t>::min());  // not yet seen alive
  SimTime gone_at;
  std::vector<ConnectionState> connections;  // ascending keys
  std::vector<model::ThreadGroup> threads;   // as last told
  SimTime threads_heard;                     // on the master's clock
};

struct HostState {
  struct Symptom {
    model::HostSymptomRecord record;
    SimTime heard;
  };
  static constexpr size_t kMaxSymptoms = 64;
  // For so long a symptom says something of what is seen.
  static constexpr SimDuration kSymptomHolds = SimDuration(600'000'000'000);

  HostId id;
  std::vector<model::RankId> ranks;
  ReportSequence numbers;
  SimTime last_heard;                  // of any report from there, on the master's clock
  std::optional<SimTime> last_answer;  // likewise, of a sign of the host that tells nothing of its ranks
  std::vector<Symptom> symptoms;
};

struct CommunicatorState {
  explicit CommunicatorState(uint32_t num_ranks) : collectives(num_ranks), transfers(num_ranks) {}

  CollectiveTable collectives;
  TransferTable transfers;
  // The latest operations that all ranks have finished, as a ring from `num_remembered` modulo its size.
  static constexpr size_t kRemembered = 8;
  std::vector<OperationSignature> remembered;
  size_t num_remembered = 0;
  DurationHistory durations;
  WaitHistory waits;
  SimTime last_progress;       // of any of its ranks, on the master's clock
  uint64_t num_completed = 0;  // collectives by all ranks, transfers by one end
};

// A disagreement about an operation that came up; whether it persists is checked later.
struct Dispute {
  model::CommunicatorId communicator;
  OpenOperation operation;  // as it was when it completed
};

// What was wrong with the telemetry.
struct PictureCounters {
  uint64_t reports = 0;
  uint64_t repeated_reports = 0;
  uint64_t foreign_reports = 0;  // of another job, or of ranks and hosts that there are not
  uint64_t damaged_records = 0;  // name what there is not
  uint64_t contradictions = 0;
  uint64_t incomplete_operations = 0;  // completed, but instants or agreement were missing

  friend bool operator==(const PictureCounters&, const PictureCounters&) = default;
};

class JobPicture {
 public:
  using CompletionSink = std::function<void(const CompletedOperation&)>;

  // Errors: kInvalidArgument: ids out of range, a rank twice in a communicator.
  static Status ValidateLayout(const model::JobLayout& layout);

  // Args: layout valid; start on the master's clock; names: for texts.
  JobPicture(model::JobLayout layout, SimTime start, model::PlaceNames names = {});

  // Returns whether the report was news, not a repetition or of another rank. Calls `sink` for each collective that all
  // ranks have now finished and reported; its spans live as long as the call.
  bool Add(SimTime now, const model::RankReport& report, const CompletionSink& sink);
  bool Add(SimTime now, const model::HostReport& report);
  // The host is there, though its agent can't report. Other hosts than those of the job are passed over.
  void NoteAnswer(SimTime now, HostId host);
  // Operations complete without ranks that have reported nothing for that long, while others have. Cost: O(ranks).
  void NoteSilence(SimTime now, SimDuration silent_after);

  const model::JobLayout& layout() const { return layout_; }
  const model::PlaceNames& names() const { return names_; }
  const IdVector<model::RankId, RankState>& ranks() const { return ranks_; }
  const std::vector<HostState>& hosts() const { return hosts_; }
  const IdVector<model::CommunicatorId, CommunicatorState>& communicators() const { return communicators_; }
  const PictureCounters& counters() const { return counters_; }
  SimTime last_heard() const { return last_heard_; }  // of any rank
  // Whoever collects reports has been away until then: nobody's silence before says anything.
  void NoteOwnSilence(SimTime until) { listening_since_ = until; }
  // Since when nothing has come of the host, as far as somebody listened.
  SimTime SilentSince(const HostState& host) const { return std::max(host.last_heard, listening_since_); }
  SimTime last_progress() const { return last_progress_; }

  // Position of a rank in a communicator; nothing if it is no member.
  std::optional<uint32_t> PositionOf(model::RankId rank, model::CommunicatorId communicator) const;
  // Connections of the rank on that communicator.
  std::span<const ConnectionState> ConnectionsOf(model::RankId rank, model::CommunicatorId communicator) const;
  const ConnectionState* FindConnection(model::RankId rank, const model::ConnectionKey& key) const;

  // State of the oldest message under way on one of the rank's connections, by all reports.
  model::TransferPhase PhaseOf(model::RankId rank, const ConnectionState& connection) const {
    const bool is_idle =
        connection.serial < ranks_[rank].reported_connections.serial;  // or else it would have been reported
    return is_idle ? model::TransferPhase::kIdle : connection.phase;
  }

  // Whether the rank would have reported by now if an operation had changed on its side up to `time` since its report
  // of that serial. Args: how long reports may take to arrive, and to be missed.
  bool IsUpToDate(model::RankId rank, uint32_t serial, SimTime time, SimDuration report_delay) const {
    return IsReportedSince(rank, ranks_[rank].reported_operations, serial, time, report_delay);
  }
  // The same of a connection.
  bool IsUpToDate(model::RankId rank, const ConnectionState& connection, SimTime time, SimDuration report_delay) const {
    return IsReportedSince(rank, ranks_[rank].reported_connections, connection.serial, time, report_delay);
  }
  // Whether a report made within [from, until] that is missing may have contained an operation that no other report
  // has.
  bool MayHideOperation(model::RankId rank, SimTime from, SimTime until) const {
    return ranks_[rank].numbers.HasGapBetween(from, until, ranks_[rank].reported_operations.serial);
  }

  // Disputed operations that completed since the call before.
  std::vector<Dispute> TakeSettledDisputes() { return std::exchange(settled_disputes_, {}); }
  // Communicators with operations about which ranks disagree, in order of appearance; may have been settled.
  const std::vector<model::CommunicatorId>& disputed() const { return disputed_; }

 private:
  void AddOperation(SimTime now, const model::RankReport& report, uint32_t serial,
                    const model::OperationRecord& record);
  void AddProgress(SimTime now, const model::RankReport& report, uint32_t serial, const model::ProgressRecord& record);
  // Whether the report tells all about the operations of its rank.
  bool TellsAllOperations(const model::RankReport& report);
  bool IsReportedSince(model::RankId rank, const RankState::WholeReport& whole, uint32_t serial, SimTime time,
                       SimDuration report_delay) const {
    const RankState& state = ranks_[rank];
    const SimTime heard = whole.serial > 0 ? whole.heard : state.last_heard;
    return heard > time && !state.numbers.HasGap(std::max(serial, whole.serial), time + report_delay);
  }
  void AddConnection(SimTime now, const model::RankReport& report, uint32_t serial,
                     const model::ConnectionRecord& record, size_t hint);
  // Args: pending_since: what has moved now, or anything else of the communicator; nothing: nothing was pending.
  void NoteProgress(model::RankId rank, model::CommunicatorId communicator, SimTime time,
                    std::optional<SimTime> pending_since);
  // Since when at least something has been pending; nothing: nothing is.
  static std::optional<SimTime> PendingSince(const CommunicatorState& communicator);
  void HandOutCompleted(model::CommunicatorId id, const CompletionSink& sink);
  // Args: at: of the report, on its host's clock. The first word about an end counts.
  static void NoteLiveness(SimTime now, SimTime at, const model::RankLiveness& liveness, RankState* rank);
  HostState* FindHost(HostId id);
  void SetSilent(model::RankId rank, bool is_silent);

  model::JobLayout layout_;
  model::PlaceNames names_;
  IdVector<model::RankId, RankState> ranks_;
  std::vector<HostState> hosts_;  // ascending ids
  IdVector<model::CommunicatorId, CommunicatorState> communicators_;
  SimTime last_heard_;
  SimTime listening_since_;
  SimTime last_progress_;
  std::vector<Dispute> settled_disputes_;
  std::vector<model::CommunicatorId> disputed_;
  PictureCounters counters_;
  std::vector<RankInstants> instants_;          // of one call
  std::vector<model::CommunicatorId> touched_;  // of one call
  SimTime start_;
  std::vector<uint64_t> pending_;  // of one call: [progress record]
};

}  // namespace fairlead::diagnosis::c4d

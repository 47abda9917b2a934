// How long did each rank keep others waiting by what it did itself, rather than by waiting?
//
// Problem     a rank's operation begins late because its GPU or its host thread took long, or because it had to wait
//             for data of another rank. Only the first is its own doing. Receives may be posted long before they are
//             needed, so the time inside them says nothing.
// Notation    output: the start of a collective or of a send;  input: the end of a collective or of a receive
//             gap(output) = output - the latest output before it, or the latest input that it can have waited for
//             A receive that was enqueued after the output gated something else, even if it ended first: receives run
//             on streams of their own, work is done in the order in which it is enqueued. Of two on one communicator
//             the order of issue tells; of one elsewhere that was enqueued at the same instant and ended first, the
//             output may be the consequence, unless a send or a collective was issued before it on its communicator
//             that has not begun either: outputs begin in the order in which they are issued.
// Method      own(r) = sum of gaps, but for the kSpared longest: a rank that waits for data gets it as an input, and
//             only what comes after counts. The part of a gap before the operation was enqueued is the host thread's.
//             All on the clock of one host, without regard to others.
// Cost        O(operations of a report, sorted) per report; memory per rank for what it received since its last output.
// Guarantees  a report that is repeated or late changes nothing; across one that was lost no gap is counted, unless the
//             next one tells what happened meanwhile.
// Differs     the page compares the time inside collectives, of which the straggler has least. That is the complement,
//             and breaks where receives overlap with computing.
// Reference   docs/spec/c4.md section 6, step 4 ("least total time inside collectives") and step 6.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class OwnTime {
 public:
  explicit OwnTime(const model::JobLayout& layout) : ranks_(layout.ranks.size()) {}

  // Gets the outputs of a rank in order. Args: own_seconds: nothing: unknown.
  struct Output {
    const model::OperationRecord& operation;
    SimTime at;
    std::optional<double> own_seconds;
    double host_seconds = 0;
  };
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void OnOutput(size_t rank, const Output& output) = 0;
    // Outputs are missing.
    virtual void OnGap(size_t rank) = 0;
  };

  // Args: sink: nothing: none.
  void Add(const model::RankReport& report, Sink* sink = nullptr);

  // No gap is counted from what was added to what comes. Args: rank of the layout.
  void BeginAnew(model::RankId rank) { ranks_[rank.index()].newest_report.reset(); }

  struct OfRank {
    double seconds = 0;       // own(r), the longest gaps left out
    double host_seconds = 0;  // of that, before operations were enqueued
    // Of the host thread: from the enqueueing or the end of an operation before to the next enqueueing, the longest
    // left out. Unlike the others it counts where the rank would have had to wait anyhow.
    double idle_seconds = 0;
    uint64_t outputs = 0;  // that were counted
    uint32_t reports = 0;
    uint32_t reports_missing = 0;  // skipped by the numbers of those that came, and not made good for
    double span = 0;               // seconds between the first and last instant of the window
  };
  // [rank] of what was added since the call before, which is forgotten.
  std::vector<OfRank> Take();

 private:
  static constexpr size_t kSpared = 3;
  static constexpr size_t kReceivedMax = 256;
  struct Gap {
    double seconds = 0;
    double host_seconds = 0;
  };
  enum class EventKind : uint8_t { kReceived, kCollectiveEnded, kOutput, kEnqueued };
  struct Event {
    SimTime at;
    EventKind kind = EventKind::kOutput;
    SimTime enqueued;
    const model::OperationRecord* operation = nullptr;  // of the report at hand
  };
  struct Received {
    SimTime at;
    SimTime enqueued;
    model::CommunicatorId communicator;
    uint64_t issue_index = 0;
  };
  struct Rank {
    std::optional<uint64_t> newest_report;
    SimTime newest_at;
    // Output or end of a collective; nothing: the next gap is unknown.
    std::optional<SimTime> latest;
    std::vector<Received> received;                 // since then
    std::optional<SimTime> host_latest;             // enqueueing or end of an operation
    std::array<double, kSpared> longest_idle = {};  // ascending
    std::optional<SimTime> first;                   // event of the window
    SimTime last;
    OfRank sum;                             // all gaps
    std::array<Gap, kSpared> longest = {};  // ascending
  };
  // An output of a report, by communicator and order of issue.
  struct Issued {
    model::CommunicatorId communicator;
    uint64_t issue_index = 0;
    SimTime begun;  // it and all before it on the communicator; Never(): not yet

    friend auto operator<=>(const Issued& a, const Issued& b) {
      return std::pair(a.communicator, a.issue_index) <=> std::pair(b.communicator, b.issue_index);
    }
    friend bool operator==(const Issued&, const Issued&) = default;
  };
  // Whether the output may have waited for it.
  bool IsIssuedBefore(const Received& received, const Event& output);
  // When all outputs that were issued before it on its communicator have begun.
  SimTime OutputsBeforeBegun(const Received& received);
  void CollectIssued(const model::RankReport& report);
  void CollectEvents(const model::RankReport& report, SimTime after);
  Gap AddOutput(Rank& rank, const Event& output);
  static void AddIdle(Rank& rank, const Event& event);
  static void Forget(Rank& rank);

  std::vector<Rank> ranks_;
  // Of the report at hand.
  std::vector<Event> events_;
  std::vector<Issued> issued_;                   // ascending
  const model::RankReport* unsorted_ = nullptr;  // issued_ is still to be filled from it
};

}  // namespace fairlead::diagnosis::c4d

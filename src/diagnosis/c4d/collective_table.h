// The collective operations of one communicator that not all its ranks have finished.
//
// Problem     ranks tell what they have enqueued, started and finished in reports that may be lost, late, repeated or
//             contradict each other. Which operations are pending, on whom, and do the ranks mean the same ones?
// Method      operations of a communicator run in the order in which they were issued, so a later one that has started
//             or finished says the same of the earlier ones: watermarks per rank. Ranks are aligned by issue index; on
//             communicators that carry sends, too, by kind and sequence, as ranks may issue different numbers of sends.
//             What a rank says once more may add instants; one that changes its mind about what an operation is
//             loses its vote. How many operations a rank says there were raises its watermarks likewise, where it
//             issues nothing but collectives.
// Cost        O(log pending) a record, on communicators with sends O(pending).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/completed_operation.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

// How far a rank is with an operation; ascending.
enum class Stage : uint8_t { kAbsent, kEnqueued, kStarted, kFinished };

// The instants of a record on the master's clock, and the report that carried them.
struct RecordContext {
  uint32_t serial = 0;
  SimTime enqueued;
  SimTime advanced;  // latest of started and finished; enqueued if neither
};

// What ranks have to agree on.
struct OperationSignature {
  model::OperationKind kind = model::OperationKind::kUnknown;
  uint64_t sequence = 0;
  uint64_t bytes = 0;
  std::string data_type;
  int32_t root = -1;

  // Whether both can be the same operation; what is unknown agrees with everything.
  bool Agrees(const OperationSignature& other) const;
  // Whether they differ only in what ranks may differ in: the bytes of an all-to-all.
  bool MayDiffer(const OperationSignature& other) const;
  friend bool operator==(const OperationSignature&, const OperationSignature&) = default;
};

struct MemberProgress {
  Stage stage = Stage::kAbsent;
  bool is_implied = false;   // finished, by what came later; its instants are not known
  bool contradicts = false;  // itself
  uint32_t serial = 0;       // of the report that carried the stage
  SimTime enqueued;          // on the host's clock, as all instants of a member
  SimTime started;
  SimTime finished;
};

struct OpenOperation {
  struct Deviation {
    uint32_t position;
    OperationSignature signature;
  };

  OperationSignature signature;  // as reported by the first rank
  uint64_t issue_index = 0;      // likewise
  SimTime since;                 // first enqueued, on the master's clock
  uint32_t num_finished = 0;
  bool has_holes = false;               // instants or agreement of a rank are missing
  std::vector<Deviation> deviations;    // of ranks that say otherwise
  std::vector<MemberProgress> members;  // [rank of the communicator]
};

class CollectiveTable {
 public:
  struct Outcome {
    bool is_news = false;      // a stage that was not known
    bool contradicts = false;  // the previous statement of the same rank, or itself
    bool deviates = false;     // from what other ranks say, for the first time
  };

  // More pending operations than that: the oldest are forgotten.
  static constexpr size_t kMaxOpen = 8192;

  explicit CollectiveTable(uint32_t num_ranks) : marks_(num_ranks) {}

  // Args: record of a collective; position of its rank in the communicator.
  Outcome Add(uint32_t position, const model::OperationRecord& record, const RecordContext& context);

  // Args: how far the rank at that position says it is with the collectives. Only the fields `is_news` and
  // `contradicts` of the outcome are used.
  Outcome AddProgress(uint32_t position, const model::ProgressRecord& progress);

  // Whether the rank at that position tells anything at all. Operations complete without one that does not.
  void SetSilent(uint32_t position, bool is_silent);

  // Operations are aligned by kind and sequence from now on.
  void AlignByKind() { is_aligned_by_kind_ = true; }

  // Removes and returns the next operation that all ranks but the silent ones have finished.
  std::optional<OpenOperation> TakeCompleted();

  // Ascending by issue.
  const std::deque<OpenOperation>& open() const { return open_; }
  // How far the rank is with that operation, by all its reports.
  Stage StageOf(const OpenOperation& operation, uint32_t position) const;
  // The latest report in which the rank spoke of a collective here; 0: none.
  uint32_t LastSerial(uint32_t position) const { return marks_[position].serial; }
  // Operations dropped because too many were pending.
  uint64_t num_forgotten() const { return num_forgotten_; }

 private:
  // Issue indices below are at that stage at least.
  struct Marks {
    uint64_t enqueued = 0;
    uint64_t started = 0;
    uint64_t finished = 0;
    uint32_t serial = 0;
    bool is_known = false;
    bool is_silent = false;
  };

  OpenOperation* Find(const model::OperationRecord& record);
  OpenOperation& Insert(const model::OperationRecord& record, SimTime since);
  bool CheckSignature(OpenOperation* operation, uint32_t position, const model::OperationRecord& record,
                      Outcome* outcome);
  static void Raise(Marks* marks, const model::OperationRecord& record);
  void FinishEarlier(uint32_t position, const model::OperationRecord& record, uint64_t from);
  // Those with issue indices in [from, end).
  void FinishUnseen(uint32_t position, uint64_t from, uint64_t end);
  void FinishUnseen(uint32_t position, OpenOperation* operation);
  void MarkFinished(OpenOperation* operation, MemberProgress* member);
  bool Precedes(const OpenOperation& operation, const model::OperationRecord& record) const;
  // Silent ranks may have finished it before they fell silent.
  bool IsCompleted(const OpenOperation& operation) const {
    return operation.num_finished + num_silent_ >= operation.members.size() && LacksOnlySilent(operation);
  }
  bool LacksOnlySilent(const OpenOperation& operation) const;

  bool is_aligned_by_kind_ = false;
  uint64_t num_forgotten_ = 0;
  size_t num_completed_ = 0;  // of open_, not taken yet
  uint32_t num_silent_ = 0;
  std::deque<OpenOperation> open_;
  std::vector<Marks> marks_;  // [rank of the communicator]
};

}  // namespace fairlead::diagnosis::c4d

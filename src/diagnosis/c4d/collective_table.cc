#include "diagnosis/c4d/collective_table.h"

#include <algorithm>

namespace fairlead::diagnosis::c4d {
namespace {

using model::OperationKind;
using model::OperationRecord;

// A rank does not issue more operations than that between two reports; a record beyond is damaged.
constexpr uint64_t kMaxLeap = 1 << 20;

OperationSignature SignatureOf(const OperationRecord& record) {
  return {record.kind, record.sequence, record.bytes, record.data_type, record.root};
}

Stage StageReportedBy(const OperationRecord& record) {
  if (record.finished) return Stage::kFinished;
  return record.started ? Stage::kStarted : Stage::kEnqueued;
}

// Whether the instants are in the order in which they must have happened.
bool IsOrdered(const OperationRecord& record) {
  if (record.started && *record.started < record.enqueued) return false;
  return !record.finished || (record.started && *record.finished >= *record.started);
}

}  // namespace

bool OperationSignature::Agrees(const OperationSignature& other) const {
  if (kind != OperationKind::kUnknown && other.kind != OperationKind::kUnknown) {
    if (kind != other.kind || sequence != other.sequence) return false;
  }
  if (bytes != 0 && other.bytes != 0 && bytes != other.bytes) return false;
  if (!data_type.empty() && !other.data_type.empty() && data_type != other.data_type) return false;
  return root < 0 || other.root < 0 || root == other.root;
}

bool OperationSignature::MayDiffer(const OperationSignature& other) const {
  if (kind != OperationKind::kAllToAll || other.kind != kind) return false;
  OperationSignature same = other;
  same.bytes = bytes;
  return Agrees(same);
}

CollectiveTable::Outcome CollectiveTable::Add(uint32_t position, const OperationRecord& record,
                                              const RecordContext& context) {
  Outcome outcome;
  Marks& marks = marks_[position];
  if (!IsOrdered(record) || (marks.is_known && record.issue_index > marks.enqueued + kMaxLeap)) {
    outcome.contradicts = true;
    return outcome;
  }
  OpenOperation* operation = Find(record);
  const bool is_over = marks.is_known && record.issue_index < marks.finished;
  if (operation == nullptr && is_over) return outcome;  // late or repeated
  if (operation == nullptr) operation = &Insert(record, context.enqueued);
  MemberProgress& member = operation->members[position];
  if (!CheckSignature(operation, position, record, &outcome)) return outcome;
  const Stage stage = StageReportedBy(record);
  const bool fills_hole = member.is_implied && stage == Stage::kFinished && member.finished == SimTime();
  if (stage <= member.stage && !fills_hole) return outcome;
  outcome.is_news = !fills_hole;
  member.enqueued = record.enqueued;
  member.started = record.started.value_or(SimTime());
  member.finished = record.finished.value_or(SimTime());
  member.serial = std::max(member.serial, context.serial);
  marks.serial = std::max(marks.serial, context.serial);
  if (fills_hole) {
    member.is_implied = false;
    return outcome;
  }
  member.stage = stage;
  operation->since = std::min(operation->since, context.enqueued);
  const uint64_t finished_before = marks.finished;
  Raise(&marks, record);
  if (stage == Stage::kFinished) {
    MarkFinished(operation, &member);
    FinishEarlier(position, record, finished_before);
  }
  return outcome;
}

CollectiveTable::Outcome CollectiveTable::AddProgress(uint32_t position, const model::ProgressRecord& progress) {
  Outcome outcome;
  Marks& marks = marks_[position];
  const bool is_ordered = progress.finished <= progress.started && progress.started <= progress.enqueued;
  if (!is_ordered || (marks.is_known && progress.enqueued > marks.enqueued + kMaxLeap)) {
    outcome.contradicts = true;
    return outcome;
  }
  // Counts of collectives are no issue indices where there are sends between them.
  if (is_aligned_by_kind_) return outcome;
  outcome.is_news = marks.is_known && (progress.enqueued > marks.enqueued || progress.started > marks.started ||
                                       progress.finished > marks.finished);
  const uint64_t finished_before = marks.finished;
  marks.is_known = true;
  marks.enqueued = std::max(marks.enqueued, progress.enqueued);
  marks.started = std::max(marks.started, progress.started);
  marks.finished = std::max(marks.finished, progress.finished);
  FinishUnseen(position, finished_before, marks.finished);
  return outcome;
}

void CollectiveTable::SetSilent(uint32_t position, bool is_silent) {
  if (marks_[position].is_silent == is_silent) return;
  marks_[position].is_silent = is_silent;
  num_silent_ = is_silent ? num_silent_ + 1 : num_silent_ - 1;
  num_completed_ = static_cast<size_t>(
      std::count_if(open_.begin(), open_.end(), [this](const OpenOperation& o) { return IsCompleted(o); }));
}

bool CollectiveTable::LacksOnlySilent(const OpenOperation& operation) const {
  if (operation.num_finished == 0) return false;
  if (num_silent_ == 0) return true;
  for (size_t i = 0; i < marks_.size(); ++i) {
    if (operation.members[i].stage != Stage::kFinished && !marks_[i].is_silent) return false;
  }
  return true;
}

std::optional<OpenOperation> CollectiveTable::TakeCompleted() {
  if (num_completed_ == 0) return std::nullopt;
  const auto completed =
      std::find_if(open_.begin(), open_.end(), [this](const OpenOperation& o) { return IsCompleted(o); });
  --num_completed_;
  OpenOperation operation = std::move(*completed);
  open_.erase(completed);
  for (const MemberProgress& m : operation.members) operation.has_holes |= m.is_implied || m.contradicts;
  for (const auto& d : operation.deviations) operation.has_holes |= !operation.signature.MayDiffer(d.signature);
  return operation;
}

Stage CollectiveTable::StageOf(const OpenOperation& operation, uint32_t position) const {
  const MemberProgress& member = operation.members[position];
  const Marks& marks = marks_[position];
  if (is_aligned_by_kind_ || !marks.is_known) return member.stage;
  Stage implied = Stage::kAbsent;
  if (operation.issue_index < marks.enqueued) implied = Stage::kEnqueued;
  if (operation.issue_index < marks.started) implied = Stage::kStarted;
  // A later one has started: this one has ended, whether reported or not.
  if (operation.issue_index < marks.finished || operation.issue_index + 1 < marks.started) implied = Stage::kFinished;
  return std::max(member.stage, implied);
}

OpenOperation* CollectiveTable::Find(const OperationRecord& record) {
  if (is_aligned_by_kind_) {
    const auto found = std::find_if(open_.begin(), open_.end(), [&](const OpenOperation& o) {
      return o.signature.kind == record.kind && o.signature.sequence == record.sequence;
    });
    return found == open_.end() ? nullptr : &*found;
  }
  const auto found =
      std::lower_bound(open_.begin(), open_.end(), record.issue_index,
                       [](const OpenOperation& o, uint64_t issue_index) { return o.issue_index < issue_index; });
  return found == open_.end() || found->issue_index != record.issue_index ? nullptr : &*found;
}

OpenOperation& CollectiveTable::Insert(const OperationRecord& record, SimTime since) {
  if (open_.size() >= kMaxOpen) {
    num_completed_ -= IsCompleted(open_.front()) ? 1 : 0;
    open_.pop_front();
    ++num_forgotten_;
  }
  const auto place =
      std::upper_bound(open_.begin(), open_.end(), record.issue_index,
                       [](uint64_t issue_index, const OpenOperation& o) { return issue_index < o.issue_index; });
  OpenOperation& operation = *open_.emplace(place);
  operation.signature = SignatureOf(record);
  operation.issue_index = record.issue_index;
  operation.since = since;
  operation.members.resize(marks_.size());
  // Statements of ranks about later operations hold for this one, too.
  if (is_aligned_by_kind_) return operation;
  for (size_t i = 0; i < marks_.size(); ++i) {
    if (!marks_[i].is_known || marks_[i].finished <= record.issue_index) continue;
    operation.members[i].is_implied = true;
    MarkFinished(&operation, &operation.members[i]);
  }
  return operation;
}

bool CollectiveTable::CheckSignature(OpenOperation* operation, uint32_t position, const OperationRecord& record,
                                     Outcome* outcome) {
  MemberProgress& member = operation->members[position];
  auto& deviations = operation->deviations;
  const auto deviation =
      std::find_if(deviations.begin(), deviations.end(), [&](const auto& d) { return d.position == position; });
  const bool has_spoken = member.stage != Stage::kAbsent && !member.is_implied;
  const OperationSignature signature = SignatureOf(record);
  if (has_spoken) {
    const bool agrees =
        deviation != deviations.end() ? deviation->signature.Agrees(signature) : operation->signature.Agrees(signature);
    if (agrees) return true;
    member.contradicts = true;
    if (deviation != deviations.end()) deviations.erase(deviation);
    outcome->contradicts = true;
    return false;
  }
  if (!operation->signature.Agrees(signature)) {
    deviations.push_back({position, signature});
    outcome->deviates = true;
  }
  return true;
}

void CollectiveTable::Raise(Marks* marks, const OperationRecord& record) {
  const uint64_t after = record.issue_index + 1;
  // What was before the first record of a rank is not known: it may have been missed, or be from before our start.
  if (!marks->is_known) marks->enqueued = marks->started = marks->finished = 0;
  marks->is_known = true;
  marks->enqueued = std::max(marks->enqueued, after);
  if (record.started) marks->started = std::max(marks->started, after);
  if (record.finished) marks->finished = std::max(marks->finished, after);
}

void CollectiveTable::FinishEarlier(uint32_t position, const OperationRecord& record, uint64_t from) {
  if (!is_aligned_by_kind_) {
    FinishUnseen(position, from, record.issue_index);
    return;
  }
  for (OpenOperation& operation : open_) {
    if (Precedes(operation, record)) FinishUnseen(position, &operation);
  }
}

void CollectiveTable::FinishUnseen(uint32_t position, uint64_t from, uint64_t end) {
  auto operation = std::lower_bound(open_.begin(), open_.end(), from,
                                    [](const OpenOperation& o, uint64_t issue) { return o.issue_index < issue; });
  for (; operation != open_.end() && operation->issue_index < end; ++operation) FinishUnseen(position, &*operation);
}

void CollectiveTable::FinishUnseen(uint32_t position, OpenOperation* operation) {
  MemberProgress& member = operation->members[position];
  if (member.stage == Stage::kFinished) return;
  member.is_implied = true;
  member.finished = SimTime();
  MarkFinished(operation, &member);
}

void CollectiveTable::MarkFinished(OpenOperation* operation, MemberProgress* member) {
  const bool was_completed = IsCompleted(*operation);
  member->stage = Stage::kFinished;
  ++operation->num_finished;
  if (!was_completed && IsCompleted(*operation)) ++num_completed_;
}

bool CollectiveTable::Precedes(const OpenOperation& operation, const OperationRecord& record) const {
  return operation.signature.kind == record.kind && operation.signature.sequence < record.sequence;
}

}  // namespace fairlead::diagnosis::c4d

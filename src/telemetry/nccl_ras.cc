#include "telemetry/nccl_ras.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "codec/json_archive.h"
#include "telemetry/input_text.h"
#include "telemetry/operation_names.h"
#include "telemetry/ras_text.h"

namespace fairlead::telemetry {

using codec::DescribeValue, codec::Json, codec::ParseJson, codec::ReadValue, codec::RepairCommas, codec::UnknownKeys;

struct RasStatusFields {
  int32_t async_error = 0;
  bool finalize_called = false;
  bool destroy_flag = false;
  bool abort_flag = false;
  bool unresponsive = false;
  bool considered_dead = false;
};

struct RasRankFields {
  uint64_t rank = 0;
  std::string host;
  int64_t pid = -1;
  int64_t cuda_dev = -1;
  RasStatusFields status;
  std::map<std::string, uint64_t> counts;
  // Some versions have the state of a missing rank beside its number.
  bool unresponsive = false;
  bool considered_dead = false;
};

struct RasCommunicatorFields {
  std::string hash;
  std::string secondary_hash;
  uint64_t size = 0;
  std::vector<RasRankFields> ranks;
  std::vector<RasRankFields> missing_ranks;
};

struct RasFields {
  std::string nccl_version;
  std::string timestamp;
  std::vector<RasCommunicatorFields> communicators;
};

template <class Archive, codec::IsRecord<RasStatusFields> Record>
void Describe(Archive& archive, Record& status) {
  archive.Optional("async_error", status.async_error);
  archive.Optional("finalize_called", status.finalize_called);
  archive.Optional("destroy_flag", status.destroy_flag);
  archive.Optional("abort_flag", status.abort_flag);
  archive.Optional("unresponsive", status.unresponsive);
  archive.Optional("considered_dead", status.considered_dead);
}

template <class Archive, codec::IsRecord<RasRankFields> Record>
void Describe(Archive& archive, Record& rank) {
  archive.Required("rank", rank.rank);
  archive.Optional("host", rank.host);
  archive.Optional("pid", rank.pid);
  archive.Optional("cuda_dev", rank.cuda_dev);
  archive.Optional("status", rank.status);
  archive.Optional("collective_counts", rank.counts);
  archive.Optional("unresponsive", rank.unresponsive);
  archive.Optional("considered_dead", rank.considered_dead);
}

template <class Archive, codec::IsRecord<RasCommunicatorFields> Record>
void Describe(Archive& archive, Record& communicator) {
  archive.Required("hash", communicator.hash);
  archive.Optional("secondary_hash", communicator.secondary_hash);
  archive.Required("size", communicator.size);
  archive.Optional("ranks", communicator.ranks);
  archive.Optional("missing_ranks", communicator.missing_ranks);
}

template <class Archive, codec::IsRecord<RasFields> Record>
void Describe(Archive& archive, Record& answer) {
  archive.Required("nccl_version", answer.nccl_version);
  archive.Optional("timestamp", answer.timestamp);
  archive.Required("communicators", answer.communicators);
}

namespace {

using model::OperationKind;

// "2026-11-21 09:30:00" as seconds; nothing for what is no such text.
std::optional<int64_t> ParseTimestamp(const std::string& text) {
  std::tm time = {};
  if (text.empty() || strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &time) == nullptr) return std::nullopt;
  return static_cast<int64_t>(timegm(&time));
}

RasRank ToRank(const RasRankFields& fields, bool is_missing) {
  RasRank rank;
  rank.rank = fields.rank;
  rank.is_process_known = fields.pid >= 0;
  if (rank.is_process_known) rank.process = {fields.host, static_cast<uint64_t>(fields.pid), fields.cuda_dev};
  rank.is_missing = is_missing;
  rank.is_dead = fields.status.considered_dead || fields.considered_dead;
  rank.is_unresponsive = fields.status.unresponsive || fields.unresponsive;
  rank.is_finalizing = fields.status.finalize_called || fields.status.destroy_flag;
  rank.is_aborted = fields.status.abort_flag;
  rank.error = fields.status.async_error;
  for (const auto& [name, count] : fields.counts) {
    const OperationKind kind = NcclOperationKind(name);
    // Sends and receives have no counterpart to be matched with: their peers are not given.
    const bool is_p2p = IsTransfer(kind);
    if (!is_p2p && kind != OperationKind::kUnknown) rank.counts[kind] = std::max(rank.counts[kind], count);
  }
  return rank;
}

Result<RasSnapshot> ParseSnapshot(const std::string& text, const std::string& name) {
  // Text before the object, such as the "OK" of a server that was queried by hand, is not part of it.
  const size_t brace = text.find('{');
  const size_t begin = brace == std::string::npos ? 0 : brace;
  const auto first_line =
      1 + static_cast<uint64_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
  FL_ASSIGN_OR_RETURN(const Json json, ParseJson(RepairCommas(std::string_view(text).substr(begin)), name, first_line));
  RasFields fields;
  const std::string error = ReadValue(json, UnknownKeys::kIgnored, &fields);
  if (!error.empty()) return InvalidArgument(fmt::format("{}: {}", name, codec::WithoutJoint(error)));
  RasSnapshot snapshot;
  snapshot.file = name;
  const std::optional<int64_t> time = ParseTimestamp(fields.timestamp);
  if (!time && !fields.timestamp.empty()) {
    return InvalidArgument(fmt::format("{}: timestamp: expected such as '2026-01-31 12:00:00', found {}", name,
                                       DescribeValue(Json(fields.timestamp))));
  }
  snapshot.time_s = time.value_or(0);
  for (const RasCommunicatorFields& entry : fields.communicators) {
    RasCommunicator communicator;
    communicator.name = entry.secondary_hash.empty() ? entry.hash : entry.hash + " " + entry.secondary_hash;
    communicator.size = entry.size;
    for (const RasRankFields& rank : entry.ranks) communicator.ranks.push_back(ToRank(rank, false));
    for (const RasRankFields& rank : entry.missing_ranks) communicator.ranks.push_back(ToRank(rank, true));
    snapshot.communicators.push_back(std::move(communicator));
  }
  return snapshot;
}

class RasMerger {
 public:
  explicit RasMerger(std::vector<RasSnapshot>* snapshots) : snapshots_(*snapshots) {}

  Result<Recording> Merge() {
    if (snapshots_.empty()) return InvalidArgument("no answer of NCCL RAS was given");
    SetTimes();
    std::stable_sort(snapshots_.begin(), snapshots_.end(),
                     [](const RasSnapshot& a, const RasSnapshot& b) { return a.time_s < b.time_s; });
    FL_RETURN_IF_ERROR(CheckTimes());
    FL_RETURN_IF_ERROR(FindRanks());
    for (const RasSnapshot& snapshot : snapshots_) AddSnapshot(snapshot);
    AddNotes();
    for (const uint32_t rank : unresponsive_) recording_.unanswered.emplace_back(rank);
    const size_t num = snapshots_.size();
    const bool is_apart = num > 1 && snapshots_[num - 1].time_s - snapshots_[num - 2].time_s >= kStalledAfterS;
    recording_.is_stalled = is_apart && !has_moved_ && !ends_.empty();
    return std::move(recording_);
  }

 private:
  // RAS does not always know the process of a rank that does not answer. In the largest communicator the number of the
  // rank identifies it; elsewhere it does not, and the rank is left out.
  void NameUnknown() {
    const RasCommunicator* largest = nullptr;
    for (const RasSnapshot& snapshot : snapshots_) {
      for (const RasCommunicator& communicator : snapshot.communicators) {
        const bool is_larger = largest == nullptr || communicator.size > largest->size ||
                               (communicator.size == largest->size && communicator.name < largest->name);
        if (is_larger) largest = &communicator;
      }
    }
    if (largest == nullptr) return;
    const std::string name = largest->name;
    std::map<uint64_t, RankProcess> known;  // processes of the largest, from any answer
    const auto for_each = [this](const auto& act) {
      for (RasSnapshot& snapshot : snapshots_) {
        for (RasCommunicator& communicator : snapshot.communicators) act(communicator);
      }
    };
    for_each([&](RasCommunicator& communicator) {
      for (const RasRank& rank : communicator.ranks) {
        if (communicator.name == name && rank.is_process_known) known.emplace(rank.rank, rank.process);
      }
    });
    for_each([&](RasCommunicator& communicator) {
      if (communicator.name != name) {
        std::erase_if(communicator.ranks, [](const RasRank& rank) { return !rank.is_process_known; });
      }
      for (RasRank& rank : communicator.ranks) {
        if (rank.is_process_known) continue;
        const RankProcess unknown = {fmt::format("host of rank {}", rank.rank), 0, -1};
        rank.process = known.emplace(rank.rank, unknown).first->second;
      }
    });
  }

  void SetTimes() {
    const bool has_times = std::ranges::any_of(snapshots_, [](const RasSnapshot& one) { return one.time_s != 0; });
    if (has_times || snapshots_.size() < 2) return;
    for (size_t i = 0; i < snapshots_.size(); ++i) snapshots_[i].time_s = static_cast<int64_t>(i) * kApartS;
    recording_.notes.emplace_back("The answers have no times: they are taken a minute apart, in the order given.");
  }

  Status CheckTimes() const {
    constexpr int64_t kSpanMax = 1'000'000'000;
    if (snapshots_.back().time_s - snapshots_.front().time_s <= kSpanMax) return OkStatus();
    return InvalidArgument(fmt::format("{} and {} are years apart; give the answers of one job",
                                       snapshots_.front().file, snapshots_.back().file));
  }

  Status FindRanks() {
    NameUnknown();
    for (const RasSnapshot& snapshot : snapshots_) {
      for (const RasCommunicator& communicator : snapshot.communicators) {
        for (const RasRank& rank : communicator.ranks) {
          const Status status = table_.Add(communicator.name, communicator.size, rank.rank, rank.process);
          if (!status.ok()) return InvalidArgument(fmt::format("{}: {}", snapshot.file, status.message()));
        }
      }
    }
    table_.Number(&recording_);
    if (recording_.layout.ranks.empty()) {
      return InvalidArgument(fmt::format("{}: tells of no communicator", snapshots_.front().file));
    }
    return OkStatus();
  }

  void AddSnapshot(const RasSnapshot& snapshot) {
    const SimTime at = SimTime::FromSeconds(Seconds(static_cast<double>(snapshot.time_s - snapshots_.front().time_s)));
    // It is the last answer that counts.
    unresponsive_.clear();
    has_moved_ = false;
    std::map<model::RankId, model::RankReport> reports;
    for (const RasCommunicator& communicator : snapshot.communicators) AddOperations(communicator, at, &reports);
    std::map<model::RankId, bool> is_gone;  // of reported ranks
    std::set<model::RankId> silent;
    for (const RasCommunicator& communicator : snapshot.communicators) {
      for (const RasRank& rank : communicator.ranks) {
        const model::RankId id = table_.RankOf(rank.process);
        is_gone[id] = is_gone[id] || rank.is_dead;
        if (rank.is_dead || rank.is_unresponsive) silent.insert(id);
        if (!rank.is_missing) reports[id].is_finalizing |= rank.is_finalizing;
        if (rank.error != 0) num_errors_[rank.error].insert(id.value());
        if (rank.is_aborted) num_errors_[0].insert(id.value());
        if (rank.is_unresponsive && !rank.is_dead) unresponsive_.insert(id.value());
        if (rank.is_missing && !rank.is_dead && !rank.is_unresponsive) absent_.insert(id.value());
      }
    }
    AddHostReports(is_gone, silent, at);
    for (auto& [rank, report] : reports) {
      if (silent.contains(rank)) continue;
      report.job = recording_.layout.job;
      report.rank = rank;
      report.number = numbers_[rank]++;
      report.at = at;
      recording_.reports.emplace_back(std::move(report));
    }
  }

  // A host with only silent ranks gives no answer: it has no report.
  void AddHostReports(const std::map<model::RankId, bool>& is_gone, const std::set<model::RankId>& silent, SimTime at) {
    std::map<HostId, model::HostReport> hosts;
    for (const auto& [rank, gone] : is_gone) {
      if (silent.contains(rank) && !gone) continue;
      model::HostReport& host = hosts[recording_.layout.ranks[rank.index()].host];
      model::RankLiveness liveness;
      liveness.rank = rank;
      if (gone) {
        liveness.state = model::ProcessState::kGone;
        liveness.exit.end = model::ProcessEnd::kBroken;
      }
      host.ranks.push_back(liveness);
    }
    for (auto& [id, host] : hosts) {
      host.job = recording_.layout.job;
      host.host = id;
      host.number = host_numbers_[id]++;
      host.at = at;
      recording_.reports.emplace_back(std::move(host));
    }
  }

  void AddOperations(const RasCommunicator& communicator, SimTime at,
                     std::map<model::RankId, model::RankReport>* reports) {
    std::set<OperationKind> kinds;
    for (const RasRank& rank : communicator.ranks) {
      for (const auto& [kind, count] : rank.counts) kinds.insert(kind);
    }
    for (const OperationKind kind : kinds) AddOperationsOf(communicator, kind, at, reports);
  }

  // Operations between the least and the greatest count are under way; those below the least, that were reported as
  // under way before or are the last, are finished.
  void AddOperationsOf(const RasCommunicator& communicator, OperationKind kind, SimTime at,
                       std::map<model::RankId, model::RankReport>* reports) {
    uint64_t low = std::numeric_limits<uint64_t>::max();
    uint64_t high = 0;
    for (const RasRank& rank : communicator.ranks) {
      if (rank.is_missing) continue;
      const auto count = rank.counts.find(kind);
      const uint64_t value = count == rank.counts.end() ? 0 : count->second;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    if (high == 0) return;
    const auto [reported, is_new] = first_unreported_.try_emplace({communicator.name, kind}, low > 0 ? low - 1 : 0);
    const uint64_t first = std::min(reported->second, low);
    // Operations that move are not stuck; those reported before stay reported.
    const auto [before, is_first] = ends_.try_emplace({communicator.name, kind}, low, high);
    const bool stands = is_first || before->second == std::pair(low, high);
    has_moved_ |= !stands;
    before->second = {low, high};
    num_apart_ = std::max(num_apart_, high - low);
    for (const RasRank& rank : communicator.ranks) {
      if (rank.is_missing || !rank.counts.contains(kind)) continue;
      model::RankReport& report = (*reports)[table_.RankOf(rank.process)];
      const uint64_t count = rank.counts.at(kind);
      for (uint64_t sequence = first; sequence < low && sequence - first < kNumOperationsMax; ++sequence) {
        report.operations.push_back(MakeOperation(communicator.name, kind, sequence, true, at));
      }
      for (uint64_t sequence = low; stands && sequence < count && sequence - low < kNumOperationsMax; ++sequence) {
        report.operations.push_back(MakeOperation(communicator.name, kind, sequence, false, at));
      }
    }
    reported->second = low;
  }

  model::OperationRecord MakeOperation(const std::string& communicator, OperationKind kind, uint64_t sequence,
                                       bool is_finished, SimTime at) {
    model::OperationRecord operation;
    operation.communicator = table_.CommunicatorOf(communicator);
    operation.kind = kind;
    operation.sequence = sequence;
    // The order among kinds is not given: each kind has its own positions, the same ones on every rank.
    operation.issue_index = sequence * model::kNumOperationKinds + static_cast<uint64_t>(kind);
    // An operation is reported again when it is finished: it began when it was first reported.
    operation.enqueued = begun_.try_emplace({operation.communicator, kind, sequence}, at).first->second;
    operation.started = operation.enqueued;
    if (is_finished) operation.finished = at;
    return operation;
  }

  void AddNotes() {
    std::vector<std::string>& notes = recording_.notes;
    for (const RasSnapshot& snapshot : snapshots_) {
      for (const std::string& note : snapshot.notes) {
        if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
      }
    }
    if (snapshots_.size() == 1 && num_apart_ > 0) {
      notes.push_back(
          fmt::format("One answer shows one instant: ranks are up to {} operations apart. If a second answer, "
                      "a minute later, shows other counts, the job is not stuck; give both files.",
                      num_apart_));
    }
    for (const auto& [error, ranks] : num_errors_) {
      const std::vector<uint32_t> list(ranks.begin(), ranks.end());
      notes.push_back(error == 0 ? fmt::format("NCCL was asked to abort on rank {}.", ListNumbers(list))
                                 : fmt::format("NCCL reports error {} on rank {}.", error, ListNumbers(list)));
    }
    if (!unresponsive_.empty()) {
      notes.push_back(fmt::format("The process of rank {} gives no answer to RAS.",
                                  ListNumbers({unresponsive_.begin(), unresponsive_.end()})));
    }
    if (!absent_.empty()) {
      notes.push_back(fmt::format("The process of rank {} answers, but not for every communicator of the rank.",
                                  ListNumbers({absent_.begin(), absent_.end()})));
    }
  }

  // As the diagnosis suspects what it watches itself.
  static constexpr int64_t kStalledAfterS = 10;
  static constexpr int64_t kApartS = 60;
  // Of a rank that is far ahead, or that went far since the answer before: what was under way then is among the first.
  static constexpr uint64_t kNumOperationsMax = 64;

  std::vector<RasSnapshot>& snapshots_;
  RankTable table_;
  Recording recording_;
  std::map<std::pair<std::string, OperationKind>, uint64_t> first_unreported_;
  std::map<std::pair<std::string, OperationKind>, std::pair<uint64_t, uint64_t>> ends_;  // least and greatest count
  std::map<std::tuple<model::CommunicatorId, OperationKind, uint64_t>, SimTime> begun_;
  std::map<model::RankId, uint64_t> numbers_;
  std::map<HostId, uint64_t> host_numbers_;
  std::map<int32_t, std::set<uint32_t>> num_errors_;  // [ncclResult_t; 0: asked to abort] ranks
  std::set<uint32_t> unresponsive_;
  bool has_moved_ = false;  // since the answer before
  std::set<uint32_t> absent_;
  uint64_t num_apart_ = 0;
};

}  // namespace

Status NcclRasImporter::Add(std::istream& file, const std::string& name) {
  FL_ASSIGN_OR_RETURN(const std::string text, ReadWhole(file, name, kImportedFileBytesMax));
  FL_ASSIGN_OR_RETURN(RasSnapshot snapshot, IsRasText(text) ? ParseRasText(text, name) : ParseSnapshot(text, name));
  snapshots_.push_back(std::move(snapshot));
  return OkStatus();
}

Result<Recording> NcclRasImporter::Finish() { return RasMerger(&snapshots_).Merge(); }

}  // namespace fairlead::telemetry

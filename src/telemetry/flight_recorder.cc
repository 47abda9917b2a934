#include "telemetry/flight_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "telemetry/input_text.h"

namespace fairlead::telemetry {

namespace {

using model::OperationKind;
using model::OperationRecord;
using model::RankId;

// Finished operations before the first unfinished one that are worth telling.
constexpr size_t kNumFinishedKept = 16;
// Process groups of which is shown where the program issued what is not finished.
constexpr size_t kNumPendingShown = 4;

// One rank in one group.
struct Participant {
  const RankTrace* trace = nullptr;
  const GroupTrace* group = nullptr;
  model::RankReport* report = nullptr;
  // The last collective that is known to be finished, with all before it; -1: not known.
  int64_t last_completed = -1;
};

struct EventKey {
  uint64_t sequence = 0;
  uint32_t ordinal = 0;

  friend auto operator<=>(const EventKey&, const EventKey&) = default;
};

EventKey KeyOf(const TraceEvent& event) { return {event.sequence, event.ordinal}; }

OperationRecord ToRecord(const TraceEvent& event, int64_t base) {
  OperationRecord record;
  record.kind = event.kind;
  record.bytes = event.bytes;
  record.data_type = event.data_type;
  record.enqueued = SimTime(event.created - base);
  if (event.started) record.started = SimTime(*event.started - base);
  if (event.finished) record.finished = SimTime(*event.finished - base);
  return record;
}

// Where nothing measures when kernels start, the oldest unfinished operation is the one that a stream works on.
void AssumeStart(const Participant& participant, bool is_oldest, OperationRecord* record) {
  if (participant.trace->measures_start || !is_oldest || record->started || record->finished) return;
  record->started = record->enqueued;
}

// The collectives of one group, matched over its ranks.
class CollectiveMerger {
 public:
  CollectiveMerger(const std::vector<Participant>& participants, model::CommunicatorId communicator, int64_t base)
      : participants_(participants), communicator_(communicator), base_(base) {
    for (const Participant& participant : participants_) window_ = std::max(window_, FirstKnown(participant));
    for (const Participant& participant : participants_) {
      for (const TraceEvent& event : participant.group->collectives) {
        if (event.sequence >= window_) references_.emplace(KeyOf(event), &event);
      }
    }
    FindFirstKept();
  }

  // Adds the operations of each rank to its report.
  void Merge() const {
    for (const Participant& participant : participants_) MergeOne(participant);
  }

 private:
  // From this launch on, the trace says everything about its rank. A trace without anything knows nothing, and does
  // not narrow what others know.
  static uint64_t FirstKnown(const Participant& participant) {
    const std::vector<TraceEvent>& events = participant.group->collectives;
    if (events.empty() || participant.trace->is_whole) return 0;
    const EventKey first = KeyOf(events.front());
    const int64_t completed = participant.last_completed;
    if (completed >= 0 && first.sequence <= static_cast<uint64_t>(completed) + 1) return 0;
    return first.sequence + (first.ordinal > 0 ? 1 : 0);
  }

  static bool IsKnownCompleted(const Participant& participant, const EventKey& key) {
    const int64_t completed = participant.last_completed;
    return completed >= 0 && key.sequence <= static_cast<uint64_t>(completed);
  }

  // Position of the first reported key: a few before the first that some rank has not finished.
  void FindFirstKept() {
    EventKey first_pending = {UINT64_MAX, UINT32_MAX};
    for (const Participant& participant : participants_) {
      auto key = references_.begin();
      for (const TraceEvent& event : participant.group->collectives) {
        if (event.sequence < window_) continue;
        while (key != references_.end() && key->first < KeyOf(event) && IsKnownCompleted(participant, key->first))
          ++key;
        if (key == references_.end() || key->first != KeyOf(event) || !event.finished) break;
        ++key;
      }
      while (key != references_.end() && IsKnownCompleted(participant, key->first)) ++key;
      if (key != references_.end()) first_pending = std::min(first_pending, key->first);
    }
    const auto pending = references_.lower_bound(first_pending);
    const auto position = static_cast<size_t>(std::distance(references_.begin(), pending));
    first_kept_ = position - std::min(position, kNumFinishedKept);
  }

  void MergeOne(const Participant& participant) const {
    const std::vector<TraceEvent>& events = participant.group->collectives;
    auto own = events.begin();
    while (own != events.end() && own->sequence < window_) ++own;
    std::array<uint64_t, model::kNumOperationKinds> counts = {};
    size_t position = 0;
    bool is_oldest = true;
    for (const auto& [key, reference] : references_) {
      const bool is_own = own != events.end() && KeyOf(*own) == key;
      const TraceEvent& event = is_own ? *own++ : *reference;
      const uint64_t sequence = counts[static_cast<size_t>(event.kind)]++;
      const size_t index = position++;
      if (index < first_kept_ || (!is_own && !IsKnownCompleted(participant, key))) continue;
      OperationRecord record = ToRecord(event, base_);
      if (!is_own) record.started = record.finished = record.finished.value_or(record.enqueued);
      record.communicator = communicator_;
      record.sequence = sequence;
      record.issue_index = index;
      AssumeStart(participant, is_oldest, &record);
      is_oldest = is_oldest && record.finished.has_value();
      participant.report->operations.push_back(std::move(record));
    }
  }

  const std::vector<Participant>& participants_;
  model::CommunicatorId communicator_;
  int64_t base_;
  uint64_t window_ = 0;
  std::map<EventKey, const TraceEvent*> references_;
  size_t first_kept_ = 0;
};

// Sends and receives of one rank in one group. Errors: a peer beyond the group.
Status MergeP2p(const Participant& participant, const std::vector<uint32_t>& ranks, model::CommunicatorId communicator,
                int64_t base) {
  std::map<std::pair<OperationKind, uint32_t>, uint64_t> counts;
  uint64_t index = 0;
  bool is_oldest = true;
  for (const TraceEvent& event : participant.group->p2p) {
    if (event.peer && *event.peer >= ranks.size()) {
      return InvalidArgument(fmt::format("{}: a send or receive names rank {} of a process group of {}",
                                         participant.trace->file, *event.peer, ranks.size()));
    }
    if (event.finished && !participant.trace->is_whole) continue;
    OperationRecord record = ToRecord(event, base);
    record.communicator = communicator;
    record.sequence = counts[{event.kind, event.peer.value_or(0)}]++;
    record.issue_index = index++;
    if (event.peer) record.peer = RankId(ranks[*event.peer]);
    AssumeStart(participant, is_oldest, &record);
    is_oldest = is_oldest && record.finished.has_value();
    participant.report->operations.push_back(std::move(record));
  }
  return OkStatus();
}

// Where the ranks of a group issued what none of them has all finished: "rank 0 and 1 at step (train.py:88)".
std::string PlacesOfPending(const std::vector<Participant>& participants, const std::string& group) {
  const TraceEvent* oldest = nullptr;
  for (const Participant& participant : participants) {
    const auto& events = participant.group->collectives;
    const auto pending = std::ranges::find_if(events, [](const TraceEvent& event) { return !event.finished; });
    if (pending != events.end() && (oldest == nullptr || KeyOf(*pending) < KeyOf(*oldest))) oldest = &*pending;
  }
  if (oldest == nullptr) return "";
  std::map<std::string, std::vector<uint32_t>> ranks_at;
  for (const Participant& participant : participants) {
    for (const TraceEvent& event : participant.group->collectives) {
      if (KeyOf(event) == KeyOf(*oldest) && !event.place.empty())
        ranks_at[event.place].push_back(participant.trace->rank);
    }
  }
  std::string text;
  for (const auto& [place, ranks] : ranks_at) {
    text += fmt::format("{}rank {} at {}", text.empty() ? "" : ", ", ListNumbers(ranks), place);
  }
  if (text.empty()) return "";
  return fmt::format("Collective {} of process group {} is not finished; issued by {}.", oldest->sequence, group, text);
}

class FlightMerger {
 public:
  explicit FlightMerger(std::vector<RankTrace>* traces) : traces_(*traces) {}

  Result<Recording> Merge() {
    if (traces_.empty()) return InvalidArgument("no file of a flight recorder was given");
    std::sort(traces_.begin(), traces_.end(), [](const RankTrace& a, const RankTrace& b) { return a.rank < b.rank; });
    FL_RETURN_IF_ERROR(CheckFiles());
    FL_RETURN_IF_ERROR(CompleteGroups());
    MakeLayout();
    FL_RETURN_IF_ERROR(MakeReports());
    AddNotes();
    return std::move(recording_);
  }

 private:
  Status CheckFiles() const {
    const RankTrace* first = nullptr;  // with a default group
    const GroupKey* world = nullptr;
    for (size_t i = 0; i < traces_.size(); ++i) {
      if (i > 0 && traces_[i].rank == traces_[i - 1].rank) {
        return InvalidArgument(fmt::format("{} and {} are both of rank {}; give the files of one dump",
                                           traces_[i - 1].file, traces_[i].file, traces_[i].rank));
      }
      for (const auto& [key, group] : traces_[i].groups) {
        if (group.description != "default_pg" || key.ranks.empty()) continue;
        if (first == nullptr) first = &traces_[i];
        if (world == nullptr) world = &key;
        if (key.ranks == world->ranks) continue;
        return InvalidArgument(fmt::format("{} and {} are of different jobs: {} and {} ranks", first->file,
                                           traces_[i].file, world->ranks.size(), key.ranks.size()));
      }
    }
    return OkStatus();
  }

  // Gives groups that a file does not describe the ranks that another file tells.
  Status CompleteGroups() {
    std::map<std::string, std::vector<GroupKey>> known;
    for (const RankTrace& trace : traces_) {
      for (const auto& [key, group] : trace.groups) {
        if (!key.ranks.empty()) known[key.name].push_back(key);
      }
    }
    for (RankTrace& trace : traces_) {
      std::map<GroupKey, GroupTrace> groups;
      for (auto& [key, group] : trace.groups) {
        const auto contains = [&trace](const GroupKey& k) {
          return std::count(k.ranks.begin(), k.ranks.end(), trace.rank) > 0;
        };
        GroupKey full = key;
        if (key.ranks.empty()) {
          const std::vector<GroupKey>& candidates = known[key.name];
          const auto found = std::find_if(candidates.begin(), candidates.end(), contains);
          if (found == candidates.end() && group.collectives.empty() && group.p2p.empty()) continue;
          if (found != candidates.end()) full = *found;
        }
        if (!contains(full)) {
          return InvalidArgument(
              fmt::format("{}: process group '{}' has {} ranks and {} is none of them; is this the file of that rank?",
                          trace.file, full.name.substr(0, 60), full.ranks.size(), trace.rank));
        }
        groups.emplace(std::move(full), std::move(group));
      }
      trace.groups = std::move(groups);
    }
    return OkStatus();
  }

  void MakeLayout() {
    uint32_t num_ranks = traces_.back().rank + 1;
    for (const RankTrace& trace : traces_) {
      for (const auto& [key, group] : trace.groups) {
        num_ranks = std::max(num_ranks, *std::max_element(key.ranks.begin(), key.ranks.end()) + 1);
        GroupPlace& place = places_[{key.name.size(), key}];
        if (!group.description.empty()) place.description = group.description;
        place.has_p2p = place.has_p2p || !group.p2p.empty();
      }
    }
    model::JobLayout& layout = recording_.layout;
    layout.job = JobId(0);
    layout.ranks.resize(num_ranks);
    for (uint32_t rank = 0; rank < num_ranks; ++rank) {
      layout.ranks[rank].host = HostId(rank);
      recording_.host_names.push_back(fmt::format("host of rank {}", rank));
    }
    for (auto& [key, place] : places_) {
      const std::string name = fmt::format("{} {}", key.second.name, place.description);
      place.collectives = AddCommunicator(name, key.second.ranks);
      if (place.has_p2p) place.p2p = AddCommunicator(name + " p2p", key.second.ranks);
    }
  }

  model::CommunicatorId AddCommunicator(const std::string& name, const std::vector<uint32_t>& ranks) {
    model::Communicator communicator;
    communicator.name = name;
    for (const uint32_t rank : ranks) communicator.ranks.emplace_back(rank);
    recording_.layout.communicators.push_back(std::move(communicator));
    return model::CommunicatorId(recording_.layout.communicators.size() - 1);
  }

  // A dump of what is under way may tell no operation of a group; then its status is the one with the number that the
  // group has in all other files, if they agree.
  static void FindCompleted(std::vector<Participant>* participants) {
    std::set<int64_t> numbers;
    for (const Participant& participant : *participants) {
      if (participant.group->number) numbers.insert(*participant.group->number);
    }
    for (Participant& participant : *participants) {
      const bool is_numbered = participant.group->number.has_value();
      if (!is_numbered && numbers.size() != 1) continue;
      const auto& completed = participant.trace->last_completed;
      const auto status = completed.find(is_numbered ? *participant.group->number : *numbers.begin());
      // Sends and receives count in the same number, so it says nothing where there are any.
      if (status != completed.end() && participant.group->p2p.empty()) participant.last_completed = status->second;
    }
  }

  Status MakeReports() {
    int64_t base = 0;
    int64_t latest = 0;
    for (const RankTrace& trace : traces_) {
      if (trace.earliest > 0 && (base == 0 || trace.earliest < base)) base = trace.earliest;
      latest = std::max(latest, trace.latest);
    }
    recording_.latest_unix_ns = latest;
    std::vector<model::RankReport> reports(traces_.size());
    std::map<std::pair<size_t, GroupKey>, std::vector<Participant>> participants;
    for (size_t i = 0; i < traces_.size(); ++i) {
      reports[i].job = recording_.layout.job;
      reports[i].rank = RankId(traces_[i].rank);
      reports[i].at = SimTime(latest - base);
      for (const auto& [key, group] : traces_[i].groups) {
        participants[{key.name.size(), key}].push_back({&traces_[i], &group, &reports[i], -1});
      }
    }
    for (const auto& [key, place] : places_) {
      FindCompleted(&participants[key]);
      const std::string pending = PlacesOfPending(participants[key], key.second.name);
      if (!pending.empty() && pending_.size() < kNumPendingShown) pending_.push_back(pending);
      CollectiveMerger(participants[key], place.collectives, base).Merge();
      for (const Participant& participant : participants[key]) {
        FL_RETURN_IF_ERROR(MergeP2p(participant, key.second.ranks, place.p2p, base));
      }
    }
    for (model::RankReport& report : reports) {
      model::HostReport host;
      host.job = report.job;
      host.host = HostId(report.rank.value());
      host.at = report.at;
      host.ranks.push_back({.rank = report.rank});  // it has written its file
      recording_.reports.emplace_back(std::move(host));
      recording_.reports.emplace_back(std::move(report));
    }
    return OkStatus();
  }

  void AddNotes() {
    std::vector<uint32_t> missing, unmeasured;
    uint64_t num_dropped = 0;
    bool has_lost_p2p = false;
    for (uint32_t rank = 0; rank < recording_.layout.ranks.size(); ++rank) missing.push_back(rank);
    for (const RankTrace& trace : traces_) {
      missing.erase(std::lower_bound(missing.begin(), missing.end(), trace.rank));
      if (!trace.measures_start) unmeasured.push_back(trace.rank);
      num_dropped += trace.num_unfinished_dropped;
      for (const auto& [key, group] : trace.groups) has_lost_p2p |= !group.p2p.empty() && !trace.is_whole;
    }
    std::vector<std::string>& notes = recording_.notes;
    notes.emplace_back("The files do not name hosts: each rank counts as a host of its own.");
    if (!missing.empty()) {
      notes.push_back(
          fmt::format("There is no file of rank {}: it wrote none, or it was not given.", ListNumbers(missing)));
    }
    if (!unmeasured.empty()) {
      notes.push_back(fmt::format(
          "Rank {} did not record when kernels start (TORCH_NCCL_ENABLE_TIMING=1 would): its oldest unfinished "
          "operation of each group counts as started.",
          ListNumbers(unmeasured)));
    }
    if (has_lost_p2p) {
      notes.emplace_back(
          "Older sends and receives were overwritten: the unfinished ones are matched in order, which can be wrong by "
          "one.");
    }
    notes.insert(notes.end(), pending_.begin(), pending_.end());
    if (num_dropped > 0) {
      notes.push_back(
          fmt::format("{} unfinished operations are older than the newest {} of their group and were left out.",
                      num_dropped, kNumTraceEventsMax));
    }
  }

  struct GroupPlace {
    std::string description;
    bool has_p2p = false;
    model::CommunicatorId collectives;
    model::CommunicatorId p2p;
  };

  std::vector<RankTrace>& traces_;
  std::map<std::pair<size_t, GroupKey>, GroupPlace> places_;  // shorter names first: "2" before "10"
  Recording recording_;
  std::vector<std::string> pending_;  // notes about what is not finished
};

}  // namespace

Status FlightRecorderImporter::Add(std::istream& file, const std::string& name) {
  FL_ASSIGN_OR_RETURN(const std::string text, ReadWhole(file, name, kImportedFileBytesMax));
  FL_ASSIGN_OR_RETURN(RankTrace trace, ParseFlightTrace(text, name));
  traces_.push_back(std::move(trace));
  return OkStatus();
}

Result<Recording> FlightRecorderImporter::Finish() { return FlightMerger(&traces_).Merge(); }

}  // namespace fairlead::telemetry

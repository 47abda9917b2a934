#include "diagnosis/c4d/wait_walks.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fairlead::diagnosis::c4d {
namespace {

using model::RankId;

class WaitWalks {
 public:
  WaitWalks(const JobPicture& picture, const Hindrances& hindrances, const WaitGraphQuery& query, WaitGraph* graph)
      : picture_(picture),
        hindrances_(hindrances),
        query_(query),
        graph_(*graph),
        num_ranks_(static_cast<uint32_t>(picture.ranks().size())) {}

  WaitEnds Follow() {
    LookIntoStarted();
    std::vector<uint32_t> starts;
    for (uint32_t i = 0; i < graph_.operations.size(); ++i) {
      if (graph_.operations[i].is_stuck) starts.push_back(num_ranks_ + i);
    }
    for (const std::vector<uint32_t>& sink : FindReachableSinks(graph_.edges, starts)) AddSink(sink);
    LeaveOutLinksOfFrozen();
    LeaveOutLaterSilence();
    return std::move(ends_);
  }

 private:
  void AddSink(const std::vector<uint32_t>& sink) {
    if (sink.size() > 1) {
      AddCycle(sink);
    } else if (sink.front() < num_ranks_) {
      AddRank(RankId(sink.front()));
    } else {
      AddStuckOperation(sink.front() - num_ranks_);
    }
  }

  void AddRank(RankId rank) {
    switch (hindrances_[rank]) {
      case Hindrance::kGone:
        ends_.has_ended = true;  // if it was a death, the death watch names it
        if (!picture_.ranks()[rank].exit.is_broken()) ends_.left.push_back(rank);
        return;
      case Hindrance::kSilent:
        ends_.gone.push_back(rank);
        return;
      case Hindrance::kStopped:
        if (query_.silence.report_stopped) ends_.stopped.push_back(rank);
        return;
      case Hindrance::kLeaving:
        return;
      case Hindrance::kUnseen:
        ends_.unseen.insert(rank);
        return;
      case Hindrance::kNone:
        break;
    }
    if (!HasStopped(rank)) return;
    if (IsSurelyMissing(rank)) {
      ends_.absent.push_back(rank);
    } else {
      ends_.unseen.insert(rank);
    }
  }

  // Whether the rank is known not to have begun an operation, and not to be inside of another that a missing report
  // contained.
  bool IsSurelyMissing(RankId rank) const {
    const bool is_missing = std::ranges::any_of(graph_.operations, [&](const PendingOperation& operation) {
      return operation.is_stuck && Lacks(operation, rank);
    });
    if (!is_missing || !query_.has_clock) return is_missing;
    return !picture_.MayHideOperation(rank, picture_.ranks()[rank].last_progress - query_.hang.suspect_after,
                                      picture_.last_progress() + query_.ReportDelay());
  }

  // A rank that does something elsewhere is late, but does not hang.
  bool HasStopped(RankId rank) const {
    if (!query_.has_clock) return true;
    SimDuration suspect_time = query_.hang.suspect_after;
    for (const PendingOperation& operation : graph_.operations) {
      if (operation.is_stuck && Lacks(operation, rank)) suspect_time = std::min(suspect_time, operation.suspect_time);
    }
    return query_.now - picture_.ranks()[rank].last_progress >= suspect_time;
  }
  static bool Lacks(const PendingOperation& operation, RankId rank) {
    return std::ranges::find(operation.missing, rank) != operation.missing.end();
  }

  void AddCycle(const std::vector<uint32_t>& sink) {
    for (const uint32_t node : sink) {
      if (node < num_ranks_) continue;
      const PendingOperation& operation = graph_.operations[node - num_ranks_];
      // No patience resolves a circle; this one only has to be no trick of reports under way.
      if (!operation.is_stalled) return;
    }
    ends_.cycles.push_back(sink);
  }

  // Operations from which no rank is known to be missing. Those of a communicator share its connections and wait for
  // each other there (single sends and receives all with all), so they are looked into together.
  void LookIntoStarted() {
    data_of_.resize(graph_.operations.size());
    std::map<model::CommunicatorId, std::vector<uint32_t>> started;
    for (uint32_t i = 0; i < graph_.operations.size(); ++i) {
      const PendingOperation& operation = graph_.operations[i];
      if (operation.missing.empty() && operation.hindered.empty()) started[operation.communicator].push_back(i);
    }
    for (const auto& [communicator, operations] : started) LookInto(communicator, operations);
  }

  // If connections do not tell where the data is, those that may be missing are waited for.
  void LookInto(model::CommunicatorId communicator, const std::vector<uint32_t>& operations) {
    std::set<RankId> ranks;
    for (const uint32_t i : operations) {
      const PendingOperation& operation = graph_.operations[i];
      ranks.insert(operation.inside.begin(), operation.inside.end());
      ranks.insert(operation.doubtful.begin(), operation.doubtful.end());
    }
    data_.push_back(FindStuckData(picture_, communicator, {ranks.begin(), ranks.end()}, query_));
    for (const uint32_t i : operations) {
      data_of_[i] = static_cast<uint32_t>(data_.size() - 1);
      if (data_.back().is_certain()) continue;
      for (const RankId rank : graph_.operations[i].doubtful) graph_.edges[num_ranks_ + i].push_back(rank.value());
    }
  }

  void AddStuckOperation(uint32_t index) {
    const PendingOperation& operation = graph_.operations[index];
    if (!operation.is_stuck) return;
    ends_.stuck.push_back(&operation);
    if (IsLastInside(operation)) AddIfFrozen(operation);
    AddData(data_of_[index]);
    if (data_[data_of_[index]].has_connections) return;
    // The only one that has not left is the one that does not go on.
    if (IsLastInside(operation)) {
      ends_.gpus.insert(operation.inside.front());
    } else {
      ends_.out_of_sight.push_back(&operation);
    }
  }

  void AddData(uint32_t index) {
    if (!added_data_.insert(index).second) return;
    const StuckData& data = data_[index];
    ends_.links.insert(ends_.links.end(), data.links.begin(), data.links.end());
    ends_.gpus.insert(data.gpus.begin(), data.gpus.end());
    ends_.relays.insert(data.relays.begin(), data.relays.end());
    ends_.relays.insert(data.absent.begin(), data.absent.end());
    ends_.unseen.insert(data.unsure.begin(), data.unsure.end());
  }

  // A rank that is left behind, and to which nothing is under way any more, does not look after its messages. Unless it
  // has done so: sends and receives of a group end together, and it may wait for another one.
  void AddIfFrozen(const PendingOperation& operation) {
    const RankId rank = operation.inside.front();
    const auto direction =
        operation.kind == model::OperationKind::kSend ? model::Direction::kSend : model::Direction::kReceive;
    const bool waits_for_group =
        operation.peer.valid() && !IsUnderWay(rank, operation.communicator, direction, operation.peer);
    if (!waits_for_group && !IsSentTo(rank, operation.communicator)) frozen_.insert(rank);
  }

  // Whether the rank says that messages to the peer, or from there, are under way.
  bool IsUnderWay(RankId rank, model::CommunicatorId communicator, model::Direction direction, RankId peer) const {
    return std::ranges::any_of(picture_.ConnectionsOf(rank, communicator), [&](const ConnectionState& state) {
      return state.key.direction == direction && state.key.peer == peer &&
             picture_.PhaseOf(rank, state) != model::TransferPhase::kIdle;
    });
  }

  static bool IsLastInside(const PendingOperation& operation) {
    return operation.num_finished > 0 && operation.inside.size() == 1 && operation.missing.empty() &&
           operation.doubtful.empty() && operation.hindered.empty();
  }

  // Whether anything is under way to the rank on that communicator, by what its senders say.
  bool IsSentTo(RankId rank, model::CommunicatorId communicator) const {
    const std::vector<RankId>& ranks = picture_.layout().communicators[communicator.index()].ranks;
    return std::any_of(ranks.begin(), ranks.end(),
                       [&](RankId sender) { return IsUnderWay(sender, communicator, model::Direction::kSend, rank); });
  }

  // What a frozen rank says is on the wire may have arrived long ago.
  void LeaveOutLinksOfFrozen() {
    const size_t num_links = ends_.links.size();
    std::erase_if(ends_.links, [&](const StuckLink& link) { return frozen_.contains(link.from); });
    if (ends_.links.empty() && num_links > 0) ends_.gpus = frozen_;
  }

  // An agent may be away for reasons of its own. Of several hosts, those that fell silent first account for the stall;
  // where a rank that can be seen has stopped, only if they fell silent before.
  void LeaveOutLaterSilence() {
    std::vector<RankId> seen = ends_.absent;
    seen.insert(seen.end(), ends_.stopped.begin(), ends_.stopped.end());
    const auto heard_of = [&](RankId rank) { return picture_.hosts()[picture_.ranks()[rank].host].last_heard; };
    SimTime first_silent = SimTime::Never();
    for (const RankId rank : ends_.gone) first_silent = std::min(first_silent, heard_of(rank));
    std::erase_if(ends_.gone, [&](RankId silent) {
      const SimTime heard = heard_of(silent);
      const bool is_later = heard > first_silent + query_.ReportDelay() || std::ranges::any_of(seen, [&](RankId rank) {
                              return picture_.ranks()[rank].last_progress < heard + query_.ReportDelay();
                            });
      if (is_later) ends_.unseen.insert(silent);
      return is_later;
    });
  }

  const JobPicture& picture_;
  const Hindrances& hindrances_;
  const WaitGraphQuery& query_;
  WaitGraph& graph_;
  uint32_t num_ranks_;

  WaitEnds ends_;
  std::set<RankId> frozen_;
  std::vector<StuckData> data_;    // of operations from which no rank is known to be missing
  std::vector<uint32_t> data_of_;  // [operation] index of data_; else of no meaning
  std::set<uint32_t> added_data_;
};

}  // namespace

WaitEnds FollowWaits(const JobPicture& picture, const Hindrances& hindrances, const WaitGraphQuery& query,
                     WaitGraph* graph) {
  return WaitWalks(picture, hindrances, query, graph).Follow();
}

}  // namespace fairlead::diagnosis::c4d

#include "diagnosis/c4d/wait_graph.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fairlead::diagnosis::c4d {
namespace {

using model::CommunicatorId;
using model::OperationKind;
using model::RankId;

// Of report periods: a report tells of a period that began one before it was made, and may be under way for a while.
constexpr double kReportDelay = 2.5;

class Builder {
 public:
  Builder(const JobPicture& picture, const Hindrances& hindrances, const WaitGraphQuery& query)
      : picture_(picture), hindrances_(hindrances), query_(query) {}

  WaitGraph Build() {
    for (size_t c = 0; c < picture_.communicators().size(); ++c) {
      AddCollectives(CommunicatorId(c));
      AddTransfers(CommunicatorId(c));
    }
    AddEdges();
    return std::move(graph_);
  }

 private:
  void AddCollectives(CommunicatorId id) {
    const CommunicatorState& communicator = picture_.communicators()[id];
    const std::vector<RankId>& ranks = picture_.layout().communicators[id.index()].ranks;
    std::vector<bool> is_inside_earlier(ranks.size(), false);
    for (const OpenOperation& open : communicator.collectives.open()) {
      PendingOperation operation;
      operation.communicator = id;
      operation.kind = open.signature.kind;
      operation.sequence = open.signature.sequence;
      operation.waiting_since = std::max(open.since, communicator.last_progress);
      for (uint32_t i = 0; i < ranks.size(); ++i) {
        const Stage stage = communicator.collectives.StageOf(open, i);
        // Operations of a communicator run one after the other: the first one is where the rank is.
        if (stage == Stage::kStarted && !is_inside_earlier[i]) {
          is_inside_earlier[i] = true;
          operation.inside.push_back(ranks[i]);
        } else if (stage < Stage::kStarted) {
          AddAbsent(ranks[i], communicator.collectives.LastSerial(i), communicator, &operation);
        }
      }
      Finish(std::move(operation), communicator, open.signature.bytes);
    }
  }

  void AddTransfers(CommunicatorId id) {
    const CommunicatorState& communicator = picture_.communicators()[id];
    if (communicator.transfers.num_pending_lanes() == 0) return;
    const std::vector<RankId>& ranks = picture_.layout().communicators[id.index()].ranks;
    // A transfer that both ends are inside of is one operation.
    std::map<std::tuple<uint32_t, uint32_t, uint64_t>, bool> seen;
    for (uint32_t i = 0; i < ranks.size(); ++i) {
      for (const Lane& lane : communicator.transfers.lanes(i)) {
        if (!lane.is_pending() || lane.StageOf(lane.finished) != Stage::kStarted) continue;
        const bool is_send = lane.kind == OperationKind::kSend;
        bool& is_known = seen[{is_send ? i : lane.peer, is_send ? lane.peer : i, lane.finished}];
        if (!is_known) AddTransfer(id, ranks[i], i, lane);
        is_known = true;
      }
    }
  }

  void AddTransfer(CommunicatorId id, RankId rank, uint32_t position, const Lane& lane) {
    const CommunicatorState& communicator = picture_.communicators()[id];
    PendingOperation operation;
    operation.communicator = id;
    operation.kind = lane.kind;
    operation.sequence = lane.finished;
    operation.waiting_since = std::max(lane.since, communicator.last_progress);
    operation.inside = {rank};
    const RankId peer = picture_.layout().communicators[id.index()].ranks[lane.peer];
    const Lane* opposite = communicator.transfers.Opposite(position, lane);
    const Stage stage = opposite == nullptr ? Stage::kAbsent : opposite->StageOf(lane.finished);
    if (stage == Stage::kStarted) operation.inside.push_back(peer);
    if (stage < Stage::kStarted) {
      AddAbsent(peer, opposite == nullptr ? 0 : opposite->serial, communicator, &operation);
    }
    Finish(std::move(operation), communicator, lane.bytes.empty() ? 0 : lane.bytes.front());
  }

  void AddAbsent(RankId rank, uint32_t serial, const CommunicatorState& communicator, PendingOperation* operation) {
    const RankState& state = picture_.ranks()[rank];
    const double periods = query_.silence.report_period.seconds().value() * kReportDelay;
    const SimTime horizon = communicator.last_progress + SimDuration::FromSeconds(Seconds(periods));
    const bool is_known = state.last_heard > communicator.last_progress && !state.numbers.HasGap(serial, horizon);
    (is_known || !query_.has_clock ? operation->missing : operation->doubtful).push_back(rank);
  }

  void Finish(PendingOperation operation, const CommunicatorState& communicator, uint64_t bytes) {
    if (operation.inside.empty()) return;
    const SimDuration limit = SuspectTime(communicator, operation.kind, bytes, query_.hang);
    operation.is_stuck = !query_.has_clock || query_.now - operation.waiting_since >= limit;
    graph_.operations.push_back(std::move(operation));
  }

  void AddEdges() {
    const auto num_ranks = static_cast<uint32_t>(picture_.ranks().size());
    graph_.edges.resize(num_ranks + graph_.operations.size());
    for (uint32_t i = 0; i < graph_.operations.size(); ++i) {
      const PendingOperation& operation = graph_.operations[i];
      std::vector<uint32_t>& waited_for = graph_.edges[num_ranks + i];
      for (const RankId rank : operation.missing) waited_for.push_back(rank.value());
      for (const RankId rank : operation.doubtful) {
        if (IsHindered(rank)) waited_for.push_back(rank.value());
      }
      for (const RankId rank : operation.inside) {
        if (IsHindered(rank)) {
          waited_for.push_back(rank.value());
        } else {
          graph_.edges[rank.index()].push_back(num_ranks + i);
        }
      }
    }
  }

  bool IsHindered(RankId rank) const {
    return hindrances_[rank] != Hindrance::kNone && hindrances_[rank] != Hindrance::kUnseen;
  }

  const JobPicture& picture_;
  const Hindrances& hindrances_;
  const WaitGraphQuery& query_;
  WaitGraph graph_;
};

}  // namespace

SimDuration SuspectTime(const CommunicatorState& communicator, OperationKind kind, uint64_t bytes,
                        const HangOptions& options) {
  const bool is_warm = communicator.num_completed >= options.warm_up_operations;
  const SimDuration patience = options.suspect_after * (is_warm ? 1 : options.warm_up_factor);
  const SimDuration usual = communicator.durations.Median(kind, bytes);
  return std::max(patience, SimDuration::FromSeconds(Seconds(usual.seconds().value() * options.suspect_durations)));
}

bool MayHang(const JobPicture& picture, const WaitGraphQuery& query) {
  if (!query.has_clock) return true;
  return std::any_of(picture.communicators().begin(), picture.communicators().end(), [&](const CommunicatorState& c) {
    const bool is_pending = !c.collectives.open().empty() || c.transfers.num_pending_lanes() > 0;
    return is_pending && query.now - c.last_progress >= query.hang.suspect_after;
  });
}

WaitGraph BuildWaitGraph(const JobPicture& picture, const Hindrances& hindrances, const WaitGraphQuery& query) {
  return Builder(picture, hindrances, query).Build();
}

}  // namespace fairlead::diagnosis::c4d

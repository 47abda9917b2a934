#include "diagnosis/c4d/wait_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace fairlead::diagnosis::c4d {
namespace {

using model::CommunicatorId;
using model::OperationKind;
using model::RankId;

class Builder {
 public:
  Builder(const JobPicture& picture, const Hindrances& hindrances, const WaitGraphQuery& query)
      : picture_(picture),
        hindrances_(hindrances),
        query_(query),
        oldest_unstarted_(picture.ranks().size(), SimTime::Never()) {}

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
      BeginMembers(operation, communicator, open.signature.bytes);
      for (uint32_t i = 0; i < ranks.size(); ++i) {
        const Stage stage = communicator.collectives.StageOf(open, i);
        // Operations of a communicator run one after the other: the first one is where the rank is.
        if (stage == Stage::kStarted && is_inside_earlier[i]) continue;
        is_inside_earlier[i] = is_inside_earlier[i] || stage == Stage::kStarted;
        AddMember({ranks[i], stage, communicator.collectives.LastSerial(i), open.members[i].enqueued, SimTime()},
                  communicator, &operation);
      }
      Finish(std::move(operation), communicator, open.signature.bytes);
    }
  }

  void AddTransfers(CommunicatorId id) {
    const CommunicatorState& communicator = picture_.communicators()[id];
    if (communicator.transfers.num_pending_lanes() == 0) return;
    const std::vector<RankId>& ranks = picture_.layout().communicators[id.index()].ranks;
    // A transfer that both ends are inside of is one operation.
    std::set<std::tuple<uint32_t, uint32_t, uint64_t>> seen;
    for (uint32_t i = 0; i < ranks.size(); ++i) {
      for (const Lane& lane : communicator.transfers.lanes(i)) {
        if (lane.StageOf(lane.oldest()) != Stage::kStarted) {
          NoteUnstarted(ranks[i], lane, communicator);
          continue;
        }
        const bool is_send = lane.kind == OperationKind::kSend;
        const bool is_new = seen.insert({is_send ? i : lane.peer, is_send ? lane.peer : i, lane.oldest()}).second;
        if (is_new) AddTransfer(id, i, lane);
      }
    }
  }

  void AddTransfer(CommunicatorId id, uint32_t position, const Lane& lane) {
    const CommunicatorState& communicator = picture_.communicators()[id];
    const std::vector<RankId>& ranks = picture_.layout().communicators[id.index()].ranks;
    PendingOperation operation;
    operation.communicator = id;
    operation.kind = lane.kind;
    const uint64_t sequence = lane.oldest();
    operation.sequence = sequence;
    operation.waiting_since = std::max(lane.since, communicator.last_progress);
    const PendingTransfer* pending = lane.Find(sequence);
    const uint64_t bytes = pending == nullptr ? 0 : pending->bytes;
    BeginMembers(operation, communicator, bytes);
    AddMember(MemberOf(ranks[position], lane, sequence), communicator, &operation);
    const Lane* opposite = communicator.transfers.Opposite(position, lane);
    const RankId peer = ranks[lane.peer];
    operation.peer = peer;
    AddMember(
        opposite == nullptr ? Member{.rank = peer, .enqueued = {}, .started = {}} : MemberOf(peer, *opposite, sequence),
        communicator, &operation);
    Finish(std::move(operation), communicator, bytes);
  }

  struct Member {
    RankId rank;
    Stage stage = Stage::kAbsent;
    uint32_t serial = 0;    // of the report that carried it
    SimTime enqueued;       // on its host's clock
    SimTime started;        // likewise; of transfers only, zero: unknown
    bool has_next = false;  // another transfer of its lane was launched with it: the host runs ahead
  };

  struct Inside {
    uint32_t operation;  // index
    Member member;
  };

  static Member MemberOf(RankId rank, const Lane& lane, uint64_t sequence) {
    const PendingTransfer* pending = lane.Find(sequence);
    const PendingTransfer* next = lane.Find(sequence + 1);
    return {.rank = rank,
            .stage = lane.StageOf(sequence),
            .serial = lane.serial,
            .enqueued = pending == nullptr ? SimTime() : pending->enqueued,
            .started = pending == nullptr ? SimTime() : pending->started,
            .has_next = pending != nullptr && next != nullptr && IsOneLaunch(pending->enqueued, next->enqueued)};
  }

  // Calls of a group reach NCCL together, but a busy host is held up between them.
  static bool IsOneLaunch(SimTime a, SimTime b) {
    constexpr SimDuration kHeldUp(50'000'000);
    return std::max(a, b) - std::min(a, b) <= kHeldUp;
  }

  // A transfer that the rank has enqueued and no rank is inside of.
  void NoteUnstarted(RankId rank, const Lane& lane, const CommunicatorState& communicator) {
    const Member member = MemberOf(rank, lane, lane.oldest());
    if (member.stage == Stage::kEnqueued && IsCertain(member, communicator)) NoteUnstarted(member);
  }
  void NoteUnstarted(const Member& member) {
    if (member.enqueued == SimTime()) return;
    SimTime& oldest = oldest_unstarted_[member.rank];
    oldest = std::min(oldest, member.enqueued);
  }

  void BeginMembers(const PendingOperation& operation, const CommunicatorState& communicator, uint64_t bytes) {
    constexpr double kUsualTimes = 3;
    inside_.clear();
    const Seconds usual = communicator.durations.Median(operation.kind, bytes).seconds();
    overdue_at_ = operation.waiting_since + query_.ReportDelay() + SimDuration::FromSeconds(usual * kUsualTimes);
  }

  // Whether the rank was inside of the operation when this was stuck already: then its silence, which came later, is not
  // what keeps the others there.
  bool WasInsideBefore(const Member& member) const {
    return member.stage == Stage::kStarted && picture_.ranks()[member.rank].last_heard >= overdue_at_;
  }

  void AddMember(const Member& member, const CommunicatorState& communicator, PendingOperation* operation) {
    if (member.stage == Stage::kFinished) {
      ++operation->num_finished;
      return;
    }
    const bool is_certain = IsCertain(member, communicator);
    switch (hindrances_[member.rank]) {
      case Hindrance::kNone:
        break;
      case Hindrance::kUnseen:
        if (member.stage < Stage::kStarted) operation->doubtful.push_back(member.rank);
        return;
      case Hindrance::kSilent:
        if (!query_.has_clock || !WasInsideBefore(member)) operation->hindered.push_back(member.rank);
        return;
      default:
        operation->hindered.push_back(member.rank);
        return;
    }
    if (member.stage < Stage::kStarted) {
      (is_certain ? operation->missing : operation->doubtful).push_back(member.rank);
      if (is_certain && member.stage == Stage::kEnqueued) NoteUnstarted(member);
    } else {
      inside_.push_back(member);
      if (is_certain) operation->inside.push_back(member.rank);
    }
  }

  // Whether the rank would have reported a later stage by now.
  bool IsCertain(const Member& member, const CommunicatorState& communicator) const {
    // Of one that has never reported, nothing is known: neither that it has come nor that it has not.
    if (!picture_.ranks()[member.rank].has_reported) return false;
    return !query_.has_clock ||
           picture_.IsUpToDate(member.rank, member.serial, communicator.last_progress, query_.ReportDelay());
  }

  void Finish(PendingOperation operation, const CommunicatorState& communicator, uint64_t bytes) {
    if (operation.inside.empty()) return;
    operation.inside.clear();
    for (const Member& member : inside_) {
      operation.inside.push_back(member.rank);
      insides_.push_back({static_cast<uint32_t>(graph_.operations.size()), member});
    }
    const bool may_still_come = operation.num_finished == 0 && operation.hindered.empty();
    operation.suspect_time = may_still_come ? SuspectTime(communicator, operation.kind, bytes, query_.hang)
                                            : PlainSuspectTime(communicator, query_.hang);
    const SimDuration waited = query_.now - operation.waiting_since;
    operation.is_stuck = !query_.has_clock || waited >= operation.suspect_time;
    operation.is_stalled = !query_.has_clock || waited >= query_.hang.suspect_after;
    graph_.operations.push_back(std::move(operation));
  }

  void AddEdges() {
    const auto num_ranks = static_cast<uint32_t>(picture_.ranks().size());
    graph_.edges.resize(num_ranks + graph_.operations.size());
    for (uint32_t i = 0; i < graph_.operations.size(); ++i) {
      const PendingOperation& operation = graph_.operations[i];
      std::vector<uint32_t>& waited_for = graph_.edges[num_ranks + i];
      for (const RankId rank : operation.missing) waited_for.push_back(rank.value());
      for (const RankId rank : operation.hindered) waited_for.push_back(rank.value());
    }
    for (const Inside& inside : insides_) {
      const RankId rank = inside.member.rank;
      if (inside.member.enqueued > oldest_unstarted_[rank]) continue;
      graph_.edges[rank.index()].push_back(num_ranks + inside.operation);
    }
    AddWaitsForGroups();
  }

  // Sends and receives of a group end together: one that lacks nobody waits for others of its ranks, if those lack
  // somebody.
  void AddWaitsForGroups() {
    const auto num_ranks = static_cast<uint32_t>(picture_.ranks().size());
    std::map<RankId, std::vector<Member>> waiting;  // in what lacks somebody
    std::vector<std::vector<Member>> members(graph_.operations.size());
    for (const Inside& inside : insides_) {
      if (!graph_.operations[inside.operation].peer.valid()) continue;
      members[inside.operation].push_back(inside.member);
      const bool lacks_somebody = !graph_.edges[num_ranks + inside.operation].empty();
      if (lacks_somebody) waiting[inside.member.rank].push_back(inside.member);
    }
    const auto waits_for_group = [&](const Member& member) {
      const auto found = waiting.find(member.rank);
      return found != waiting.end() &&
             std::ranges::any_of(found->second, [&](const Member& other) { return MayBeOfOneGroup(other, member); });
    };
    for (uint32_t i = 0; i < graph_.operations.size(); ++i) {
      const PendingOperation& operation = graph_.operations[i];
      std::vector<uint32_t>& waited_for = graph_.edges[num_ranks + i];
      const bool lacks_somebody = !waited_for.empty() || !operation.doubtful.empty();
      if (!operation.peer.valid() || lacks_somebody || !std::ranges::all_of(members[i], waits_for_group)) continue;
      for (const RankId rank : operation.inside) waited_for.push_back(rank.value());
    }
  }
  // Two transfers of a rank. Those of a group are launched together, and start together unless NCCL makes several
  // kernels of them. In a pipeline each is by itself: they start one after the other, and where they are launched
  // together, by a host that runs ahead, so are further ones of the same lanes.
  static bool MayBeOfOneGroup(const Member& a, const Member& b) {
    constexpr SimDuration kOneKernel(5'000'000);  // its channels start one after the other on a busy device
    if (a.started == SimTime() || b.started == SimTime()) return true;
    if (std::max(a.started, b.started) - std::min(a.started, b.started) <= kOneKernel) return true;
    const bool is_one_launch =
        a.enqueued != SimTime() && b.enqueued != SimTime() && IsOneLaunch(a.enqueued, b.enqueued);
    return is_one_launch && !a.has_next && !b.has_next;
  }

  const JobPicture& picture_;
  const Hindrances& hindrances_;
  const WaitGraphQuery& query_;
  WaitGraph graph_;
  std::vector<Member> inside_;  // of the operation at hand
  SimTime overdue_at_;          // likewise: usual ones have ended by then, and reports have told of it
  std::vector<Inside> insides_;
  IdVector<RankId, SimTime> oldest_unstarted_;  // enqueued, on the host's clock
};

}  // namespace

SimDuration WaitGraphQuery::ReportDelay() const {
  // A report tells of a period that began one before it was made, and may be under way for a while.
  constexpr double kPeriods = 2.5;
  return SimDuration::FromSeconds(Seconds(silence.report_period.seconds().value() * kPeriods));
}

SimDuration PlainSuspectTime(const CommunicatorState& communicator, const HangOptions& options) {
  const std::optional<SimDuration> longest = communicator.waits.Longest();
  if (!longest) return options.suspect_after;
  const double most = options.suspect_after.seconds().value();
  const double waits = longest->seconds().value() * options.rhythmic_waits;
  return SimDuration::FromSeconds(Seconds(std::clamp(waits, most * options.rhythmic_share, most)));
}

SimDuration SuspectTime(const CommunicatorState& communicator, OperationKind kind, uint64_t bytes,
                        const HangOptions& options) {
  const bool is_warm = communicator.num_completed >= options.warm_up_operations;
  const SimDuration patience =
      is_warm ? PlainSuspectTime(communicator, options) : options.suspect_after * options.warm_up_factor;
  const SimDuration usual = communicator.durations.Median(kind, bytes);
  return std::max(patience, SimDuration::FromSeconds(Seconds(usual.seconds().value() * options.suspect_durations)));
}

bool MayHang(const JobPicture& picture, const WaitGraphQuery& query) {
  if (!query.has_clock) return true;
  return std::any_of(picture.communicators().begin(), picture.communicators().end(), [&](const CommunicatorState& c) {
    const bool is_pending = !c.collectives.open().empty() || c.transfers.num_pending_lanes() > 0;
    return is_pending && query.now - c.last_progress >= PlainSuspectTime(c, query.hang);
  });
}

WaitGraph BuildWaitGraph(const JobPicture& picture, const Hindrances& hindrances, const WaitGraphQuery& query) {
  return Builder(picture, hindrances, query).Build();
}

}  // namespace fairlead::diagnosis::c4d

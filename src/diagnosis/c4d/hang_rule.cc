#include "diagnosis/c4d/hang_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "diagnosis/c4d/hang_candidates.h"
#include "diagnosis/c4d/stuck_element.h"
#include "diagnosis/c4d/stuck_graph.h"
#include "diagnosis/c4d/wording.h"
#include "model/culprits.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::RankId;
using model::SubCause;
using model::Syndrome;

// Of what may be work.
constexpr double kBusyConfidence = 0.3;
// That a rank is at fault which tells nothing: any other may hide behind it.
constexpr double kNoDataConfidence = 0.5;

class HangRule {
 public:
  HangRule(const JobPicture& picture, const Hindrances& hindrances, const WaitGraphQuery& query)
      : picture_(picture),
        layout_(picture.layout()),
        names_(picture.names()),
        hindrances_(hindrances),
        query_(query),
        graph_(BuildWaitGraph(picture, hindrances, query)),
        num_ranks_(static_cast<uint32_t>(picture.ranks().size())) {
    LookIntoStarted();
  }

  std::vector<Suspect> Find() {
    std::vector<uint32_t> starts;
    for (uint32_t i = 0; i < graph_.operations.size(); ++i) {
      if (graph_.operations[i].is_stuck) starts.push_back(num_ranks_ + i);
    }
    if (starts.empty()) return {};
    for (const std::vector<uint32_t>& sink : FindReachableSinks(graph_.edges, starts)) AddSink(sink);
    LeaveOutLinksOfFrozen();
    LeaveOutLaterSilence();
    std::vector<Suspect> suspects;
    AddRankSuspect(Syndrome::kDead, gone_, &suspects);
    AddRankSuspect(Syndrome::kNonCommHang, left_, &suspects);
    AddRankSuspect(Syndrome::kNonCommHang, stopped_, &suspects);
    AddRankSuspect(Syndrome::kNonCommHang, absent_, &suspects);
    AddCommHang(&suspects);
    AddCycles(&suspects);
    return suspects;
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
        has_ended_ = true;  // if it was a death, the death watch names it
        if (!picture_.ranks()[rank].exit.is_broken()) left_.push_back(rank);
        return;
      case Hindrance::kSilent:
        gone_.push_back(rank);
        return;
      case Hindrance::kStopped:
        if (query_.silence.report_stopped) stopped_.push_back(rank);
        return;
      case Hindrance::kLeaving:
        return;
      case Hindrance::kUnseen:
        unseen_.insert(rank);
        return;
      case Hindrance::kNone:
        break;
    }
    if (!HasStopped(rank)) return;
    if (IsSurelyMissing(rank)) {
      absent_.push_back(rank);
    } else {
      unseen_.insert(rank);
    }
  }

  // Whether the rank is known not to have begun an operation, and not to be inside of another that a missing report
  // contained.
  bool IsSurelyMissing(RankId rank) const {
    const bool is_missing =
        std::any_of(graph_.operations.begin(), graph_.operations.end(), [&](const PendingOperation& operation) {
          return operation.is_stuck &&
                 std::find(operation.missing.begin(), operation.missing.end(), rank) != operation.missing.end();
        });
    if (!is_missing || !query_.has_clock) return is_missing;
    return !picture_.MayHideOperation(rank, picture_.ranks()[rank].last_progress - query_.hang.suspect_after,
                                      picture_.last_progress() + query_.ReportDelay());
  }

  // A rank that does something elsewhere is late, but does not hang.
  bool HasStopped(RankId rank) const {
    return !query_.has_clock || query_.now - picture_.ranks()[rank].last_progress >= query_.hang.suspect_after;
  }

  void AddCycle(const std::vector<uint32_t>& sink) {
    for (const uint32_t node : sink) {
      if (node < num_ranks_) continue;
      const PendingOperation& operation = graph_.operations[node - num_ranks_];
      // No patience resolves a circle; this one only has to be no trick of reports under way.
      if (!operation.is_stalled) return;
    }
    cycles_.push_back(sink);
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
    stuck_.push_back(&operation);
    if (IsLastInside(operation)) AddIfFrozen(operation);
    AddData(data_of_[index]);
    if (data_[data_of_[index]].has_connections) return;
    // The only one that has not left is the one that does not go on.
    if (IsLastInside(operation)) {
      gpus_.insert(operation.inside.front());
    } else {
      out_of_sight_.push_back(&operation);
    }
  }

  void AddData(uint32_t index) {
    if (!added_data_.insert(index).second) return;
    const StuckData& data = data_[index];
    links_.insert(links_.end(), data.links.begin(), data.links.end());
    gpus_.insert(data.gpus.begin(), data.gpus.end());
    relays_.insert(data.relays.begin(), data.relays.end());
    relays_.insert(data.absent.begin(), data.absent.end());
    unseen_.insert(data.unsure.begin(), data.unsure.end());
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
    const std::vector<RankId>& ranks = layout_.communicators[communicator.index()].ranks;
    return std::any_of(ranks.begin(), ranks.end(),
                       [&](RankId sender) { return IsUnderWay(sender, communicator, model::Direction::kSend, rank); });
  }

  // What a frozen rank says is on the wire may have arrived long ago.
  void LeaveOutLinksOfFrozen() {
    const size_t num_links = links_.size();
    std::erase_if(links_, [&](const StuckLink& link) { return frozen_.contains(link.from); });
    if (links_.empty() && num_links > 0) gpus_ = frozen_;
  }

  // An agent may be away for reasons of its own. Of several hosts, those that fell silent first account for the stall;
  // where a rank that can be seen has stopped, only if they fell silent before.
  void LeaveOutLaterSilence() {
    std::vector<RankId> seen = absent_;
    seen.insert(seen.end(), stopped_.begin(), stopped_.end());
    const auto heard_of = [&](RankId rank) { return picture_.hosts()[picture_.ranks()[rank].host].last_heard; };
    SimTime first_silent = SimTime::Never();
    for (const RankId rank : gone_) first_silent = std::min(first_silent, heard_of(rank));
    std::erase_if(gone_, [&](RankId silent) {
      const SimTime heard = heard_of(silent);
      const bool is_later = heard > first_silent + query_.ReportDelay() || std::ranges::any_of(seen, [&](RankId rank) {
                              return picture_.ranks()[rank].last_progress < heard + query_.ReportDelay();
                            });
      if (is_later) unseen_.insert(silent);
      return is_later;
    });
  }

  // The operation that shows what the suspect is held for: the one that has waited the longest for these ranks.
  const PendingOperation* OldestWaitingFor(const std::vector<RankId>& ranks) const {
    const PendingOperation* oldest = nullptr;
    for (const PendingOperation& operation : graph_.operations) {
      if (!operation.is_stuck || (oldest != nullptr && oldest->waiting_since <= operation.waiting_since)) continue;
      const auto waits_for = [&](RankId rank) {
        return std::find(operation.missing.begin(), operation.missing.end(), rank) != operation.missing.end() ||
               std::find(operation.doubtful.begin(), operation.doubtful.end(), rank) != operation.doubtful.end() ||
               std::find(operation.hindered.begin(), operation.hindered.end(), rank) != operation.hindered.end();
      };
      if (std::any_of(ranks.begin(), ranks.end(), waits_for)) oldest = &operation;
    }
    return oldest;
  }

  size_t NumWaiting() const {
    std::set<RankId> waiting;
    for (const PendingOperation& operation : graph_.operations) {
      waiting.insert(operation.inside.begin(), operation.inside.end());
    }
    return waiting.size();
  }

  // "7 ranks wait", "1 rank waits".
  std::string Waiting() const {
    const size_t num = NumWaiting();
    return num == 1 ? "1 rank waits" : fmt::format("{} ranks wait", num);
  }

  void SetOperation(const PendingOperation* operation, Suspect* suspect) const {
    if (operation == nullptr) return;
    suspect->communicator = operation->communicator;
    suspect->operation = operation->kind;
    suspect->sequence = operation->sequence;
    const SimDuration waited = query_.now - operation->waiting_since;
    const SimDuration limit = query_.hang.suspect_after;
    if (query_.has_clock) {
      suspect->evidence.push_back({"time without progress of " + OperationText(*operation), waited.seconds().value(),
                                   limit.seconds().value(), "s"});
    }
    suspect->evidence.push_back({"ranks that wait", static_cast<double>(NumWaiting()), 0, "ranks"});
  }

  std::string OperationText(const PendingOperation& operation) const {
    return DescribeOperation(layout_, operation.communicator, operation.kind, operation.sequence);
  }

  // Why a rank has not come, by what it and its host say.
  SubCause CauseOf(RankId rank, const PendingOperation* operation) const {
    for (const HostState::Symptom& symptom : picture_.hosts()[picture_.ranks()[rank].host].symptoms) {
      if (symptom.record.device != layout_.ranks[rank.index()].gpu) continue;
      switch (symptom.record.symptom) {
        case model::HostSymptom::kGpuMemoryError:
        case model::HostSymptom::kNvlinkError:
        case model::HostSymptom::kGpuError:
        case model::HostSymptom::kGpuLost:
        case model::HostSymptom::kPcieError:
          return SubCause::kGpuError;
        default:
          break;
      }
    }
    if (hindrances_[rank] == Hindrance::kStopped) return SubCause::kProcess;
    return operation != nullptr && HasEnqueued(rank, *operation) ? SubCause::kGpu : SubCause::kHostThread;
  }

  bool HasEnqueued(RankId rank, const PendingOperation& wanted) const {
    const auto position = picture_.PositionOf(rank, wanted.communicator);
    if (!position) return false;
    const CommunicatorState& communicator = picture_.communicators()[wanted.communicator];
    for (const OpenOperation& open : communicator.collectives.open()) {
      if (open.signature.kind != wanted.kind || open.signature.sequence != wanted.sequence) continue;
      return communicator.collectives.StageOf(open, *position) == Stage::kEnqueued;
    }
    for (const Lane& lane : communicator.transfers.lanes(*position)) {
      if (lane.kind != wanted.kind && lane.StageOf(wanted.sequence) == Stage::kEnqueued) return true;
    }
    return false;
  }

  // Whether a rank is the one that programs let do what is to be done once.
  auto IsLeader() const {
    return [this](RankId rank) {
      if (rank == RankId(0)) return true;
      return std::ranges::all_of(picture_.ranks()[rank].memberships,
                                 [](const Membership& membership) { return membership.position == 0; });
    };
  }

  void AddRankSuspect(Syndrome syndrome, const std::vector<RankId>& ranks, std::vector<Suspect>* suspects) const {
    if (ranks.empty()) return;
    const PendingOperation* operation = OldestWaitingFor(ranks);
    Suspect suspect;
    suspect.syndrome = syndrome;
    suspect.culprits = syndrome == Syndrome::kDead ? HostCulprits(ranks) : RankCulprits(layout_, ranks);
    suspect.confidence = 0.95;
    SetOperation(operation, &suspect);
    suspect.sub_cause = CauseOf(ranks.front(), operation);
    suspect.may_be_busy = syndrome == Syndrome::kNonCommHang && suspect.sub_cause == SubCause::kHostThread &&
                          query_.has_clock && operation != nullptr && std::ranges::all_of(ranks, IsLeader());
    const std::string what = operation != nullptr ? OperationText(*operation) : "an operation";
    const std::string who = Describe(layout_, names_, suspect.culprits);
    if (syndrome == Syndrome::kDead) {
      suspect.sub_cause = SubCause::kUnknown;
      suspect.summary = fmt::format("{} does not answer any more, and {} for it in {}", who, Waiting(), what);
    } else if (picture_.ranks()[ranks.front()].process == model::ProcessState::kGone) {
      suspect.sub_cause = SubCause::kProcess;
      suspect.may_be_busy = false;
      suspect.summary =
          fmt::format("The process of {} has ended without an error, and {} for it in {}", who, Waiting(), what);
    } else if (suspect.sub_cause == SubCause::kProcess) {
      suspect.summary =
          fmt::format("The process of {} is stopped (signal or debugger), and {} for it in {}", who, Waiting(), what);
    } else {
      suspect.summary =
          fmt::format("{} {} not begun {}{}, and {}", who, ranks.size() > 1 ? "have" : "has", what,
                      suspect.sub_cause == SubCause::kGpu ? " that its host thread has enqueued" : "", Waiting());
    }
    const bool is_early = suspect.may_be_busy && query_.now - operation->waiting_since <
                                                     query_.hang.suspect_after + query_.hang.leader_patience;
    if (is_early) {
      suspect.confidence = kBusyConfidence;
      suspect.summary += "; as the first of its groups it may be saving or evaluating";
    }
    suspects->push_back(std::move(suspect));
  }

  // No other rank explains it: ranks that can't be seen, or of which reports are missing.
  void AddUnseen(std::vector<Suspect>* suspects) const {
    std::vector<RankId> silent;
    for (const RankId rank : unseen_) {
      if (hindrances_[rank] == Hindrance::kUnseen) silent.push_back(rank);
    }
    const std::vector<RankId> all(unseen_.begin(), unseen_.end());
    AddRankSuspect(silent.empty() ? Syndrome::kNonCommHang : Syndrome::kDead, silent.empty() ? all : silent, suspects);
    Suspect& suspect = suspects->back();
    suspect.confidence = 0.6;
    if (!silent.empty()) return;
    if (all.size() == 1 && !picture_.ranks()[all.front()].has_reported) {
      suspect.confidence = kNoDataConfidence;
      suspect.sub_cause = SubCause::kUnknown;
      suspect.summary = fmt::format("{} has sent no telemetry; as far as is known, {} for it",
                                    Describe(layout_, names_, suspect.culprits), Waiting());
      return;
    }
    if (all.size() == 1) {
      NameHostInDoubt(all.front(), &suspect);
      return;
    }
    // Any of them may be the one. At most one innocent rank is named.
    suspect.summary = fmt::format("{} for one of {}, whose reports are missing", Waiting(),
                                  Describe(layout_, names_, suspect.culprits));
    suspect.culprits.clear();
    suspect.confidence = 0.3;
    std::vector<model::Candidate> candidates;
    for (const RankId rank : all) {
      const bool has_reported = picture_.ranks()[rank].has_reported;
      candidates.push_back(CandidateOf(
          rank, has_reported ? "its latest reports are missing, and it may not have begun what others wait in"
                             : "it has sent no telemetry, and it may not have begun what others wait in"));
    }
    SetCandidates(std::move(candidates), &suspect);
  }

  model::Candidate CandidateOf(RankId rank, std::string why) const {
    return RankCandidate(picture_, rank, std::move(why), query_);
  }

  // An operation inside of a host may have stopped on any of its ranks, just as the one in doubt may not have begun it.
  void NameHostInDoubt(RankId rank, Suspect* suspect) const {
    const PendingOperation* operation = OldestWaitingFor({rank});
    if (operation == nullptr || operation->inside.empty()) return;
    const HostId host = layout_.ranks[rank.index()].host;
    const bool is_inside_host = std::all_of(operation->inside.begin(), operation->inside.end(),
                                            [&](RankId r) { return layout_.ranks[r.index()].host == host; });
    if (!is_inside_host) return;
    suspect->culprits = {model::HostCulprit(host)};
    suspect->summary =
        fmt::format("{} has stopped inside {}, or {}, whose reports are missing, has not begun it; {}",
                    OperationText(*operation), names_.Of(host), Describe(layout_, names_, rank), Waiting());
  }

  // A host that is silent is gone with all its ranks.
  std::vector<model::Culprit> HostCulprits(const std::vector<RankId>& ranks) const {
    std::set<HostId> silent;
    std::vector<RankId> others;
    for (const RankId rank : ranks) {
      if (hindrances_[rank] == Hindrance::kSilent || hindrances_[rank] == Hindrance::kUnseen) {
        silent.insert(layout_.ranks[rank.index()].host);
      } else {
        others.push_back(rank);
      }
    }
    std::vector<model::Culprit> culprits = RankCulprits(layout_, others);
    for (const HostId host : silent) culprits.push_back(model::HostCulprit(host));
    std::sort(culprits.begin(), culprits.end());
    return culprits;
  }

  void AddCommHang(std::vector<Suspect>* suspects) const {
    if (links_.empty() && gpus_.empty() && out_of_sight_.empty() && !unseen_.empty()) {
      if (absent_.empty() && gone_.empty() && !has_ended_ && cycles_.empty()) AddUnseen(suspects);
      return;
    }
    if (stuck_.empty()) return;
    Suspect suspect;
    suspect.syndrome = Syndrome::kCommHang;
    suspect.confidence = 0.9;
    const PendingOperation* oldest = *std::min_element(
        stuck_.begin(), stuck_.end(), [](const auto* a, const auto* b) { return a->waiting_since < b->waiting_since; });
    SetOperation(oldest, &suspect);
    const std::string what = OperationText(*oldest);
    if (!links_.empty()) {
      suspect.culprits = LocateStuckElement(layout_, links_);
      suspect.sub_cause = SubCause::kNetwork;
      suspect.evidence.push_back(
          {"connections with data sent that never arrived", static_cast<double>(links_.size()), 0, "connections"});
      suspect.summary = fmt::format("Data of {} was sent over {} and never arrived; {}", what,
                                    Describe(layout_, names_, suspect.culprits), Waiting());
    } else if (!gpus_.empty() || (out_of_sight_.empty() && !relays_.empty())) {
      NameGpu(what, &suspect);
    } else {
      NameHostOutOfSight(what, &suspect);
    }
    suspects->push_back(std::move(suspect));
  }

  // Of several ranks that wait for their GPUs only one is at fault: it is named if it is known, or else their host.
  void NameGpu(const std::string& what, Suspect* suspect) const {
    const std::set<RankId>& found = gpus_.empty() ? relays_ : gpus_;
    const std::vector<RankId> ranks(found.begin(), found.end());
    std::set<HostId> hosts;
    for (const RankId rank : ranks) hosts.insert(layout_.ranks[rank.index()].host);
    suspect->sub_cause = CauseOf(ranks.front(), nullptr) == SubCause::kGpuError ? SubCause::kGpuError : SubCause::kGpu;
    if (hosts.size() > 1) {
      suspect->confidence = 0.3;
      suspect->summary = fmt::format("One of {} is stuck inside {}, and it is not known which; {}",
                                     Describe(layout_, names_, ranks), what, Waiting());
      AddGpuCandidates(ranks, suspect);
      return;
    }
    const bool is_sure = ranks.size() == 1 && !gpus_.empty();
    suspect->culprits = {is_sure ? model::RankCulprit(layout_, ranks.front()) : model::HostCulprit(*hosts.begin())};
    suspect->confidence = is_sure ? 0.9 : 0.7;
    suspect->summary = fmt::format("{} of {} is stuck inside {}; {}", is_sure ? "The GPU" : "A GPU",
                                   Describe(layout_, names_, suspect->culprits), what, Waiting());
  }

  void AddGpuCandidates(const std::vector<RankId>& ranks, Suspect* suspect) const {
    std::vector<model::Candidate> candidates;
    for (const RankId rank : ranks) {
      std::string why = "no other rank is seen to keep its GPU from going on";
      if (gpus_.empty()) why += ", except for GPUs of its host, which can't be seen";
      candidates.push_back(CandidateOf(rank, std::move(why)));
    }
    SetCandidates(std::move(candidates), suspect);
  }

  // Operations over NVLink have no messages: at best, all their ranks are on one host.
  void NameHostOutOfSight(const std::string& what, Suspect* suspect) const {
    std::map<HostId, std::set<RankId>> hosts;  // and their ranks inside
    for (const PendingOperation* operation : out_of_sight_) {
      for (const RankId rank : operation->inside) hosts[layout_.ranks[rank.index()].host].insert(rank);
    }
    suspect->confidence = 0.5;
    if (hosts.size() == 1) {
      suspect->culprits = {model::HostCulprit(hosts.begin()->first)};
      suspect->summary = fmt::format("{} has stopped inside {}; {}", what, names_.Of(hosts.begin()->first), Waiting());
      return;
    }
    suspect->confidence = 0.2;
    suspect->summary =
        fmt::format("{} was begun by all its ranks and has stopped, and it is not known where; {}", what, Waiting());
    std::vector<model::Candidate> candidates;
    for (const auto& [host, inside] : hosts) {
      std::string why = fmt::format("{} of it {} inside, and none of their messages is seen",
                                    inside.size() == 1 ? "1 rank" : fmt::format("{} ranks", inside.size()),
                                    inside.size() == 1 ? "is" : "are");
      candidates.push_back(HostCandidate(picture_, {inside.begin(), inside.end()}, std::move(why), query_));
    }
    SetCandidates(std::move(candidates), suspect);
  }

  // Of all ranks that have or should have begun it.
  static double PartInside(const PendingOperation& operation) {
    const auto inside = static_cast<double>(operation.inside.size());
    return inside / (inside + static_cast<double>(operation.missing.size()));
  }

  // Who of a circle has gone another way than the others: those inside of the operation that fewest of the circle are
  // inside of. Ranks outside of the circle don't count: they have done both, or have nothing to do with one of them. Of
  // equally many, those of the operation that lacks more ranks; none if most are missing from neither.
  std::vector<RankId> FindStrayed(const std::vector<uint32_t>& cycle) const {
    std::set<RankId> ranks;
    for (const uint32_t node : cycle) {
      if (node < num_ranks_) ranks.insert(RankId(node));
    }
    std::vector<RankId> least;
    double part_of_least = 0;
    for (const uint32_t node : cycle) {
      if (node < num_ranks_) continue;
      const PendingOperation& operation = graph_.operations[node - num_ranks_];
      std::vector<RankId> camp;
      std::copy_if(operation.inside.begin(), operation.inside.end(), std::back_inserter(camp),
                   [&](RankId rank) { return ranks.contains(rank); });
      const double part = PartInside(operation);
      if (least.empty() || std::pair(camp.size(), part) < std::pair(least.size(), part_of_least)) {
        least = std::move(camp);
        part_of_least = part;
      }
    }
    const bool are_few = 2 * least.size() < ranks.size() || (2 * least.size() == ranks.size() && part_of_least <= 0.5);
    return are_few ? least : std::vector<RankId>();
  }

  void AddCycles(std::vector<Suspect>* suspects) const {
    if (cycles_.empty()) return;
    std::set<RankId> culprits;
    const PendingOperation* shown = nullptr;
    std::string text;
    for (const std::vector<uint32_t>& cycle : cycles_) {
      for (const uint32_t node : cycle) {
        if (node < num_ranks_) continue;
        shown = &graph_.operations[node - num_ranks_];
        if (text.size() < 200) text += (text.empty() ? "" : ", ") + OperationText(*shown);
      }
      const std::vector<RankId> strayed = FindStrayed(cycle);
      culprits.insert(strayed.begin(), strayed.end());
    }
    Suspect suspect;
    suspect.syndrome = Syndrome::kMismatch;
    suspect.confidence = 0.7;
    suspect.culprits = RankCulprits(layout_, {culprits.begin(), culprits.end()});
    SetOperation(shown, &suspect);
    suspect.summary =
        fmt::format("Ranks wait for each other in a circle: they began {} in different orders; {} used another order",
                    text, culprits.empty() ? "it is not known who" : Describe(layout_, names_, suspect.culprits));
    if (culprits.empty()) AddCycleCandidates(&suspect);
    suspects->push_back(std::move(suspect));
  }

  // Each rank of the circles, with what it waits in.
  void AddCycleCandidates(Suspect* suspect) const {
    std::map<RankId, const PendingOperation*> ranks;
    for (const std::vector<uint32_t>& cycle : cycles_) {
      const std::set<uint32_t> nodes(cycle.begin(), cycle.end());
      for (const uint32_t node : cycle) {
        if (node < num_ranks_) continue;
        const PendingOperation& operation = graph_.operations[node - num_ranks_];
        for (const RankId rank : operation.inside) {
          if (nodes.contains(rank.value())) ranks.emplace(rank, &operation);
        }
      }
    }
    std::vector<model::Candidate> candidates;
    for (const auto& [rank, operation] : ranks) {
      candidates.push_back(CandidateOf(
          rank,
          fmt::format("it waits inside of {}, which others of the circle have not begun", OperationText(*operation))));
    }
    SetCandidates(std::move(candidates), suspect);
  }

  const JobPicture& picture_;
  const model::JobLayout& layout_;
  const model::PlaceNames& names_;
  const Hindrances& hindrances_;
  const WaitGraphQuery& query_;
  WaitGraph graph_;
  uint32_t num_ranks_;

  // Where the walks end.
  std::vector<RankId> gone_;  // with their hosts
  std::vector<RankId> left_;  // without an error
  bool has_ended_ = false;    // a process, with an error or without
  std::vector<RankId> stopped_;
  std::vector<RankId> absent_;
  std::vector<const PendingOperation*> stuck_;         // all have started
  std::vector<const PendingOperation*> out_of_sight_;  // of them: nothing under way on the network
  std::vector<std::vector<uint32_t>> cycles_;
  std::vector<StuckLink> links_;
  std::set<RankId> gpus_;
  std::set<RankId> relays_;
  std::set<RankId> frozen_;
  std::vector<StuckData> data_;    // of operations from which no rank is known to be missing
  std::vector<uint32_t> data_of_;  // [operation] index of data_; else of no meaning
  std::set<uint32_t> added_data_;
  std::set<RankId> unseen_;  // that may be the cause, for all that is missing of their reports
};

}  // namespace

std::vector<Suspect> FindHangs(const JobPicture& picture, const Hindrances& hindrances, const WaitGraphQuery& query) {
  if (!MayHang(picture, query)) return {};
  return HangRule(picture, hindrances, query).Find();
}

}  // namespace fairlead::diagnosis::c4d

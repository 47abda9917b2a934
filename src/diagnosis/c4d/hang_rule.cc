#include "diagnosis/c4d/hang_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "diagnosis/c4d/hang_candidates.h"
#include "diagnosis/c4d/stuck_element.h"
#include "diagnosis/c4d/wait_walks.h"
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

// What is said of the ends of waits.
class HangRule {
 public:
  // Args: must outlive this; ends: of the graph's waits.
  HangRule(const JobPicture& picture, const Hindrances& hindrances, const WaitGraphQuery& query, const WaitGraph& graph,
           const WaitEnds& ends)
      : picture_(picture),
        layout_(picture.layout()),
        names_(picture.names()),
        hindrances_(hindrances),
        query_(query),
        graph_(graph),
        ends_(ends),
        num_ranks_(static_cast<uint32_t>(picture.ranks().size())) {}

  std::vector<Suspect> Suspects() const {
    std::vector<Suspect> suspects;
    AddRankSuspect(Syndrome::kDead, ends_.gone, &suspects);
    AddRankSuspect(Syndrome::kNonCommHang, ends_.left, &suspects);
    AddRankSuspect(Syndrome::kNonCommHang, ends_.stopped, &suspects);
    AddRankSuspect(Syndrome::kNonCommHang, ends_.absent, &suspects);
    AddCommHang(&suspects);
    AddCycles(&suspects);
    return suspects;
  }

 private:
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
    if (query_.has_clock) {
      suspect->evidence.push_back({"time without progress of " + OperationText(*operation), waited.seconds().value(),
                                   operation->suspect_time.seconds().value(), "s"});
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
    for (const RankId rank : ends_.unseen) {
      if (hindrances_[rank] == Hindrance::kUnseen) silent.push_back(rank);
    }
    const std::vector<RankId> all(ends_.unseen.begin(), ends_.unseen.end());
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
    if (ends_.links.empty() && ends_.gpus.empty() && ends_.out_of_sight.empty() && !ends_.unseen.empty()) {
      if (ends_.absent.empty() && ends_.gone.empty() && !ends_.has_ended && ends_.cycles.empty()) AddUnseen(suspects);
      return;
    }
    if (ends_.stuck.empty()) return;
    Suspect suspect;
    suspect.syndrome = Syndrome::kCommHang;
    suspect.confidence = 0.9;
    const PendingOperation* oldest =
        *std::min_element(ends_.stuck.begin(), ends_.stuck.end(),
                          [](const auto* a, const auto* b) { return a->waiting_since < b->waiting_since; });
    SetOperation(oldest, &suspect);
    const std::string what = OperationText(*oldest);
    if (!ends_.links.empty()) {
      suspect.culprits = LocateStuckElement(layout_, ends_.links);
      suspect.sub_cause = SubCause::kNetwork;
      suspect.evidence.push_back(
          {"connections with data sent that never arrived", static_cast<double>(ends_.links.size()), 0, "connections"});
      suspect.summary = fmt::format("Data of {} was sent over {} and never arrived; {}", what,
                                    Describe(layout_, names_, suspect.culprits), Waiting());
    } else if (!ends_.gpus.empty() || (ends_.out_of_sight.empty() && !ends_.relays.empty())) {
      NameGpu(what, &suspect);
    } else {
      NameHostOutOfSight(what, &suspect);
    }
    suspects->push_back(std::move(suspect));
  }

  // Of several ranks that wait for their GPUs only one is at fault: it is named if it is known, or else their host.
  void NameGpu(const std::string& what, Suspect* suspect) const {
    const std::set<RankId>& found = ends_.gpus.empty() ? ends_.relays : ends_.gpus;
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
    const bool is_sure = ranks.size() == 1 && !ends_.gpus.empty();
    suspect->culprits = {is_sure ? model::RankCulprit(layout_, ranks.front()) : model::HostCulprit(*hosts.begin())};
    suspect->confidence = is_sure ? 0.9 : 0.7;
    suspect->summary = fmt::format("{} of {} is stuck inside {}; {}", is_sure ? "The GPU" : "A GPU",
                                   Describe(layout_, names_, suspect->culprits), what, Waiting());
  }

  void AddGpuCandidates(const std::vector<RankId>& ranks, Suspect* suspect) const {
    std::vector<model::Candidate> candidates;
    for (const RankId rank : ranks) {
      std::string why = "no other rank is seen to keep its GPU from going on";
      if (ends_.gpus.empty()) why += ", except for GPUs of its host, which can't be seen";
      candidates.push_back(CandidateOf(rank, std::move(why)));
    }
    SetCandidates(std::move(candidates), suspect);
  }

  // Operations over NVLink have no messages: at best, all their ranks are on one host.
  void NameHostOutOfSight(const std::string& what, Suspect* suspect) const {
    std::map<HostId, std::set<RankId>> hosts;  // and their ranks inside
    for (const PendingOperation* operation : ends_.out_of_sight) {
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
    if (ends_.cycles.empty()) return;
    std::set<RankId> culprits;
    const PendingOperation* shown = nullptr;
    std::string text;
    for (const std::vector<uint32_t>& cycle : ends_.cycles) {
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
    for (const std::vector<uint32_t>& cycle : ends_.cycles) {
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
  const WaitGraph& graph_;
  const WaitEnds& ends_;
  uint32_t num_ranks_;
};

}  // namespace

std::vector<Suspect> FindHangs(const JobPicture& picture, const Hindrances& hindrances, const WaitGraphQuery& query) {
  if (!MayHang(picture, query)) return {};
  WaitGraph graph = BuildWaitGraph(picture, hindrances, query);
  if (std::ranges::none_of(graph.operations, &PendingOperation::is_stuck)) return {};
  const WaitEnds ends = FollowWaits(picture, hindrances, query, &graph);
  return HangRule(picture, hindrances, query, graph, ends).Suspects();
}

}  // namespace fairlead::diagnosis::c4d

#include "traffic/path_upkeep.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "traffic/path_selector.h"

namespace fairlead::traffic {
namespace {

// What jobs count for before it is their turn: they decide between ways that are as good for those before them.
constexpr double kLaterShare = 1e-6;

// Which of a job's paths in force are still among the candidates.
enum class Stay { kNone, kInPart, kWhole };

using Changes = std::vector<std::optional<std::vector<model::Path>>>;
using Use = SelectionMemory::Use;

// Args: candidates: of these flows; the paths are among them.
std::vector<Use> CollectUses(std::span<const model::FlowDemand> flows, std::span<const model::Path> paths,
                             const JobCandidates& candidates) {
  std::vector<Use> uses;
  for (size_t f = 0; f < paths.size(); ++f) {
    const topology::PathCandidates of_flow = candidates.Of(f);
    const bool has_choice = of_flow.size() > 1;
    const size_t first_free = has_choice ? of_flow.head.size() : paths[f].size();
    const size_t end_free = has_choice ? paths[f].size() - of_flow.tail.size() : paths[f].size();
    for (size_t i = 0; i < paths[f].size(); ++i) {
      uses.push_back({paths[f][i], i < first_free || i >= end_free, flows[f].bytes.value()});
    }
  }
  std::stable_sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.link < b.link; });
  size_t num_merged = 0;
  for (const Use& use : uses) {
    if (num_merged > 0 && uses[num_merged - 1].link == use.link) {
      uses[num_merged - 1].bytes += use.bytes;
      uses[num_merged - 1].is_fixed |= use.is_fixed;
    } else {
      uses[num_merged++] = use;
    }
  }
  uses.resize(num_merged);
  uses.shrink_to_fit();
  return uses;
}

// One call of KeepPaths.
class Keeper {
 public:
  Keeper(std::span<const PathRequest> requests, const LinkTable& links, const CandidateSource& source,
         const PathSelectionOptions& options, SelectionMemory* memory)
      : requests_(requests),
        source_(source),
        options_(options),
        memory_(memory),
        selector_(links, options),
        order_(SortByPrecedence(requests)),
        stays_(requests.size()),
        keeps_(requests.size()),
        num_moves_left_(*options.max_moved_jobs),
        changed_(requests.size()) {}

  // Args: loads: null, or what receives them.
  Changes Run(LazyIdVector<LinkId, LinkLoad>* loads) {
    memory_->BeginKeeping(requests_);
    for (const uint32_t r : order_) stays_[r] = FindStay(r);
    FindTurns();
    if (loads == nullptr && num_turns_ == 0 && num_moves_left_ == 0) return std::move(changed_);
    AddThoseWhoStay();
    for (size_t turn = 0; turn < order_.size(); ++turn) {
      if (loads == nullptr && turn >= num_turns_ && num_moves_left_ == 0) break;
      TakeTurn(turn);
    }
    if (loads != nullptr) *loads = selector_.TakeLinks();
    return std::move(changed_);
  }

 private:
  SelectionMemory::Job& job(uint32_t r) { return memory_->job(requests_[r].id); }
  const JobCandidates& CandidatesOf(uint32_t r) {
    SelectionMemory::Job& mine = job(r);
    if (mine.candidates.num_flows() != requests_[r].flows.size()) mine.candidates.Collect(requests_[r].flows, source_);
    return mine.candidates;
  }
  void Remember(uint32_t r, std::span<const model::Path> paths, std::vector<Use> uses) {
    SelectionMemory::Job& mine = job(r);
    mine.paths.Assign(paths);
    mine.uses = std::move(uses);
    mine.traffic = nullptr;
    mine.is_placed = true;
  }

  Stay FindStay(uint32_t r);
  void FindTurns();
  void AddThoseWhoStay();
  void TakeTurn(size_t turn);
  bool TryToMove(uint32_t r);

  const std::span<const PathRequest> requests_;
  const CandidateSource& source_;
  const PathSelectionOptions& options_;
  SelectionMemory* const memory_;
  PathSelector selector_;
  const std::vector<uint32_t> order_;        // of requests, by precedence
  std::vector<Stay> stays_;                  // [request]
  std::vector<std::vector<uint8_t>> keeps_;  // [request][flow], where some stay
  uint32_t num_moves_left_;
  // No paths change before the first turn, and from num_turns_ on only where jobs are moved.
  size_t first_turn_ = 0;
  size_t num_turns_ = 0;
  Changes changed_;
};

Stay Keeper::FindStay(uint32_t r) {
  const PathRequest& request = requests_[r];
  if (request.paths_in_force.empty() && !request.flows.empty()) return Stay::kNone;
  SelectionMemory::Job& mine = job(r);
  if (mine.is_placed) {
    if (request.traffic != nullptr && request.traffic == mine.traffic) return Stay::kWhole;
    mine.traffic = request.traffic;
    if (mine.paths.Equals(request.paths_in_force)) return Stay::kWhole;
  }
  const JobCandidates& candidates = CandidatesOf(r);
  std::vector<uint8_t> keeps(request.flows.size());
  for (size_t f = 0; f < keeps.size(); ++f) {
    const topology::PathCandidates of_flow = candidates.Of(f);
    const model::Path& path = request.paths_in_force[f];
    keeps[f] = of_flow.size() == 0 ? path.empty() : FindCandidate(of_flow, path) != kNoCandidate;
  }
  if (std::ranges::all_of(keeps, [](uint8_t stays) { return stays != 0; })) {
    Remember(r, request.paths_in_force, CollectUses(request.flows, request.paths_in_force, candidates));
    return Stay::kWhole;
  }
  if (options_.unit == PathUnit::kJob) return Stay::kNone;
  keeps_[r] = std::move(keeps);
  return Stay::kInPart;
}

void Keeper::FindTurns() {
  const auto chooses = [&](uint32_t r) { return stays_[r] != Stay::kWhole; };
  num_turns_ = order_.size();
  while (num_turns_ > 0 && !chooses(order_[num_turns_ - 1])) --num_turns_;
  if (num_moves_left_ > 0) return;
  first_turn_ = static_cast<size_t>(std::find_if(order_.begin(), order_.end(), chooses) - order_.begin());
}

// In full those whose turn has no part in what is chosen.
void Keeper::AddThoseWhoStay() {
  for (size_t turn = 0; turn < order_.size(); ++turn) {
    const uint32_t r = order_[turn];
    if (stays_[r] == Stay::kWhole) selector_.AddShare(requests_[r], job(r).uses, turn < first_turn_ ? 1 : kLaterShare);
  }
}

void Keeper::TakeTurn(size_t turn) {
  const uint32_t r = order_[turn];
  const PathRequest& request = requests_[r];
  if (stays_[r] == Stay::kWhole) {
    if (turn >= first_turn_) selector_.AddShare(request, job(r).uses, 1 - kLaterShare);
    if (num_moves_left_ > 0 && TryToMove(r)) --num_moves_left_;
    return;
  }
  const JobCandidates& candidates = CandidatesOf(r);
  memory_->CountChosen();
  std::vector<model::Path> paths = stays_[r] == Stay::kInPart ? selector_.PlaceRest(request, candidates, keeps_[r])
                                                              : selector_.Place(request, candidates);
  Remember(r, paths, CollectUses(request.flows, paths, candidates));
  changed_[r] = std::move(paths);
}

// Returns whether the job was moved.
bool Keeper::TryToMove(uint32_t r) {
  const PathRequest& request = requests_[r];
  const double worst_before = selector_.WorstOf(job(r).uses, false);
  // No other path helps a job whose worst link is on all of them.
  if (!IsClearlyLess(selector_.WorstOf(job(r).uses, true), worst_before)) return false;
  const JobCandidates& candidates = CandidatesOf(r);
  memory_->CountChosen();
  selector_.AddShare(request, job(r).uses, -1);
  std::vector<model::Path> paths = selector_.Place(request, candidates);
  std::vector<Use> uses = CollectUses(request.flows, paths, candidates);
  if (IsClearlyLess(selector_.WorstOf(uses, false), worst_before * (1 - options_.hysteresis))) {
    Remember(r, paths, std::move(uses));
    changed_[r] = std::move(paths);
    return true;
  }
  selector_.AddShare(request, uses, -1);
  selector_.AddShare(request, job(r).uses, 1);
  return false;
}

}  // namespace

Changes KeepPaths(std::span<const PathRequest> requests, const LinkTable& links, const CandidateSource& source,
                  const PathSelectionOptions& options, SelectionMemory* memory, LazyIdVector<LinkId, LinkLoad>* loads) {
  FL_CHECK(options.max_moved_jobs.has_value());
  SelectionMemory own;
  return Keeper(requests, links, source, options, memory == nullptr ? &own : memory).Run(loads);
}

}  // namespace fairlead::traffic

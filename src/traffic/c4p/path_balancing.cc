#include "traffic/c4p/path_balancing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace fairlead::traffic::c4p {

namespace {

// What rounding can add to a usage.
constexpr double kSlack = 1e-9;
// Rounds over all links; each repairs nearly everything, the next ones what chains have shifted.
constexpr int kMaxRounds = 8;
// Moves for each QP that may move: with unequal weights and links of unequal health, steps that each help can go round.
constexpr size_t kMovesMax = 64;

}  // namespace

PathBalancing::PathBalancing(PathAllocator* allocator, std::span<const uint32_t> movable)
    : allocator_(allocator), catalogue_(allocator->catalogue_), movable_(movable.begin(), movable.end()) {
  std::sort(movable_.begin(), movable_.end());
  allocator_->may_move_.resize(allocator_->slots_.size(), 0);
  allocator_->in_chain_.resize(allocator_->slots_.size(), 0);
  for (const uint32_t slot : movable_) {
    const Reservation& mine = allocator_->slots_[slot].reservation;
    original_.push_back({mine.plane, mine.path});
    allocator_->may_move_[slot] = 1;
  }
}

PathBalancing::~PathBalancing() {
  for (const uint32_t slot : movable_) allocator_->may_move_[slot] = 0;
}

std::vector<ReservationId> PathBalancing::Run() {
  bool has_moved = true;
  size_t num_left = kMovesMax * movable_.size();
  for (int round = 0; round < kMaxRounds && has_moved; ++round) {
    has_moved = false;
    for (const LinkId link : LinksByUsage()) {
      for (; num_left > 0 && IsOverloaded(link) && Relieve(link); --num_left) has_moved = true;
    }
  }
  std::vector<ReservationId> moved;
  for (size_t m = 0; m < movable_.size(); ++m) {
    const Reservation& mine = allocator_->slots_[movable_[m]].reservation;
    if (Choice{mine.plane, mine.path} != original_[m]) moved.emplace_back(movable_[m]);
  }
  return moved;
}

std::vector<LinkId> PathBalancing::LinksByUsage() const {
  std::vector<LinkId> links;
  for (const uint32_t slot : movable_) {
    for (const LinkId link : allocator_->slots_[slot].reservation.middle()) {
      if (!std::exchange(allocator_->is_listed_[link], uint8_t{1})) links.push_back(link);
    }
  }
  for (const LinkId link : links) allocator_->is_listed_[link] = 0;
  std::sort(links.begin(), links.end(), [&](LinkId a, LinkId b) {
    return std::pair(-allocator_->Usage(a, 0), a) < std::pair(-allocator_->Usage(b, 0), b);
  });
  return links;
}

double PathBalancing::FairUsage(LinkId link) {
  const topology::Fabric& fabric = catalogue_->fabric();
  if (fabric.tier(link) != topology::LinkTier::kLeafSpine) return allocator_->FairUsage(link);
  const bool is_up = fabric.kind(fabric.source(link)) == topology::NodeKind::kLeaf;
  const auto [entry, is_new] =
      (is_up ? fair_up_ : fair_down_).try_emplace(is_up ? fabric.source(link) : fabric.destination(link));
  if (is_new) entry->second = allocator_->FairUsage(link);
  return entry->second;
}

double PathBalancing::LightestOn(LinkId link) const {
  double lightest = std::numeric_limits<double>::infinity();
  for (const uint32_t slot : allocator_->users_[link]) {
    if (allocator_->may_move_[slot]) lightest = std::min(lightest, allocator_->slots_[slot].reservation.weight);
  }
  return lightest;
}

double PathBalancing::Limit(LinkId link, double weight) {
  return (FairUsage(link) + weight / catalogue_->fabric().capacity(link).value()) * (1 - kSlack);
}

bool PathBalancing::IsOverloaded(LinkId link) {
  if (allocator_->Usage(link, 0) < Limit(link, 0)) return false;  // the lightest
  const double lightest = LightestOn(link);
  if (std::isinf(lightest)) return false;  // none here may move
  return allocator_->Usage(link, 0) >= Limit(link, lightest);
}

bool PathBalancing::HasRoom(LinkId link, double weight) {
  return allocator_->Usage(link, weight) < Limit(link, std::min(weight, LightestOn(link)));
}

bool PathBalancing::Relieve(LinkId link) {
  return RelieveDirectly(link) || RelieveByChain(link) || RelieveAtACost(link);
}

std::vector<uint32_t> PathBalancing::MovableKindsOn(LinkId link) const {
  using Kind = std::tuple<NodeId, NodeId, uint32_t, uint32_t, double>;
  std::vector<std::pair<Kind, uint32_t>> found;
  for (const uint32_t slot : allocator_->users_[link]) {
    if (!allocator_->may_move_[slot] || allocator_->in_chain_[slot]) continue;
    const Reservation& mine = allocator_->slots_[slot].reservation;
    found.push_back({{catalogue_->ports(mine.source)[mine.plane].leaf,
                      catalogue_->ports(mine.destination)[mine.plane].leaf, mine.plane, mine.path, mine.weight},
                     slot});
  }
  std::sort(found.begin(), found.end());
  const auto is_same_kind = [](const auto& a, const auto& b) { return a.first == b.first; };
  found.erase(std::unique(found.begin(), found.end(), is_same_kind), found.end());
  std::vector<uint32_t> slots;
  for (const auto& [kind, slot] : found) slots.push_back(slot);
  std::sort(slots.begin(), slots.end());
  return slots;
}

const LeafPaths& PathBalancing::PathsOf(uint32_t slot) const {
  const Reservation& mine = allocator_->slots_[slot].reservation;
  return catalogue_->Paths(catalogue_->ports(mine.source)[mine.plane].leaf,
                           catalogue_->ports(mine.destination)[mine.plane].leaf);
}

std::span<const LinkId> PathBalancing::Middle(uint32_t slot, Choice choice) const {
  return PathsOf(slot).path(choice.path);
}

double PathBalancing::UsageAfter(uint32_t slot, Choice choice) {
  const Reservation& mine = allocator_->slots_[slot].reservation;
  const auto now = mine.middle();
  double worst = 0;
  for (const LinkId link : Middle(slot, choice)) {
    if (std::find(now.begin(), now.end(), link) != now.end()) continue;
    worst = std::max(worst, allocator_->Usage(link, mine.weight) / FairUsage(link));
  }
  return worst;
}

bool PathBalancing::HasRoom(uint32_t slot, Choice choice) {
  const Reservation& mine = allocator_->slots_[slot].reservation;
  const auto now = mine.middle();
  for (const LinkId link : Middle(slot, choice)) {
    if (std::find(now.begin(), now.end(), link) == now.end() && !HasRoom(link, mine.weight)) return false;
  }
  return true;
}

// The first QP that has somewhere to go will do.
bool PathBalancing::RelieveDirectly(LinkId link) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  return MoveAway(link, kAny, true, [&](uint32_t slot, Choice choice) { return HasRoom(slot, choice); });
}

bool PathBalancing::RelieveAtACost(LinkId link) {
  const double now = allocator_->Usage(link, 0) / FairUsage(link);
  return MoveAway(link, now * (1 - kSlack), false, [](uint32_t, Choice) { return true; });
}

template <class Allows>
bool PathBalancing::MoveAway(LinkId link, double bound, bool take_first_slot, Allows allows) {
  double least = bound;
  std::optional<Step> best;
  for (const uint32_t slot : MovableKindsOn(link)) {
    const uint32_t plane = allocator_->slots_[slot].reservation.plane;
    const uint32_t num_paths = PathsOf(slot).num_paths;
    for (uint32_t i = 0; i < num_paths; ++i) {
      const Choice choice{plane, i};
      const auto path = Middle(slot, choice);
      if (std::find(path.begin(), path.end(), link) != path.end()) continue;
      const double usage = UsageAfter(slot, choice);
      if (!(usage < least) || !allows(slot, choice)) continue;
      least = usage;
      best = Step{slot, choice};
    }
    if (best && take_first_slot) break;
  }
  if (best) allocator_->MoveTo(best->slot, best->choice);
  return best.has_value();
}

bool PathBalancing::RelieveByChain(LinkId link) {
  const topology::Fabric& fabric = catalogue_->fabric();
  if (fabric.tier(link) != topology::LinkTier::kLeafSpine) return false;
  const bool is_up = fabric.kind(fabric.source(link)) == topology::NodeKind::kLeaf;
  const auto spine_of = [&](LinkId other) { return is_up ? fabric.destination(other) : fabric.source(other); };
  for (const uint32_t slot : MovableKindsOn(link)) {
    for (const LinkId sibling : catalogue_->Siblings(link)) {
      if (spine_of(sibling) == spine_of(link)) continue;
      if (!HasRoom(sibling, allocator_->slots_[slot].reservation.weight)) continue;
      if (TryChain(slot, spine_of(link), spine_of(sibling))) return true;
    }
  }
  return false;
}

bool PathBalancing::TryChain(uint32_t first, NodeId from_spine, NodeId to_spine) {
  steps_.clear();
  std::optional<uint32_t> next = first;
  NodeId target = to_spine;
  bool is_done = false;
  while (next && !is_done) {
    const auto choice = PathOver(*next, target);
    if (!choice) break;
    // Asked before the move: afterwards the QP is one of those that the link carries.
    std::optional<LinkId> full;
    for (const LinkId link : Middle(*next, *choice)) {
      if (!HasRoom(link, allocator_->slots_[*next].reservation.weight)) full = link;
    }
    Move(*next, *choice);
    is_done = !full.has_value();
    // Who goes next goes the other way, where a QP has just left.
    target = target == to_spine ? from_spine : to_spine;
    if (full) next = ChooseVictim(*full, target);
  }
  for (const Step& step : steps_) allocator_->in_chain_[step.slot] = 0;
  if (!is_done) Undo();
  return is_done;
}

std::optional<PathBalancing::Choice> PathBalancing::PathOver(uint32_t slot, NodeId spine) {
  const uint32_t plane = allocator_->slots_[slot].reservation.plane;
  const LeafPaths& paths = PathsOf(slot);
  if (paths.length != 2) return std::nullopt;
  const uint32_t num_paths = paths.num_paths;
  std::optional<Choice> best;
  double least = std::numeric_limits<double>::infinity();
  for (uint32_t i = 0; i < num_paths; ++i) {
    const Choice choice{plane, i};
    if (catalogue_->fabric().destination(Middle(slot, choice).front()) != spine) continue;
    const double usage = UsageAfter(slot, choice);
    if (usage >= least) continue;
    least = usage;
    best = choice;
  }
  return best;
}

std::optional<uint32_t> PathBalancing::ChooseVictim(LinkId link, NodeId spine) {
  std::optional<uint32_t> best;
  double least = std::numeric_limits<double>::infinity();
  for (const uint32_t slot : MovableKindsOn(link)) {
    const auto choice = PathOver(slot, spine);
    if (!choice) continue;
    const double usage = UsageAfter(slot, *choice);
    if (usage >= least) continue;
    least = usage;
    best = slot;
  }
  return best;
}

void PathBalancing::Move(uint32_t slot, Choice choice) {
  const Reservation& mine = allocator_->slots_[slot].reservation;
  steps_.push_back({slot, {mine.plane, mine.path}});
  allocator_->in_chain_[slot] = 1;
  allocator_->MoveTo(slot, choice);
}

void PathBalancing::Undo() {
  for (; !steps_.empty(); steps_.pop_back()) allocator_->MoveTo(steps_.back().slot, steps_.back().choice);
}

}  // namespace fairlead::traffic::c4p

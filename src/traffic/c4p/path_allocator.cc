#include "traffic/c4p/path_allocator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "traffic/c4p/path_balancing.h"

namespace fairlead::traffic::c4p {

namespace {

// Differences of usages below this share are rounding, and never choose a path.
constexpr double kTie = 1e-9;

bool IsLess(double a, double b) { return a * (1 + kTie) < b; }

Reservation RequestedBy(JobId job, const QueuePairRequest& request) {
  return {.job = job,
          .connection = request.connection,
          .queue_pair = request.queue_pair,
          .source = request.source,
          .destination = request.destination,
          .weight = request.weight,
          .links = {}};
}

}  // namespace

PathAllocator::PathAllocator(PathCatalogue* catalogue)
    : catalogue_(catalogue),
      use_(catalogue->fabric().num_links()),
      users_(catalogue->fabric().num_links()),
      job_users_(catalogue->fabric().num_links()),
      connection_users_(catalogue->fabric().num_links()),
      is_listed_(catalogue->fabric().num_links()) {
  for (size_t l = 0; l < use_.size(); ++l) {
    const LinkId link(l);
    use_[link].inverse_capacity = 1 / (catalogue->fabric().capacity(link).value() * catalogue->health(link));
  }
}

std::vector<ReservationId> PathAllocator::Allocate(JobId job, std::span<const QueuePairRequest> batch) {
  ReserveSlots(batch.size());
  std::vector<uint32_t> order(batch.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return batch[a].weight > batch[b].weight; });
  CountJob(job, 1);
  std::vector<ReservationId> ids(batch.size());
  for (const uint32_t r : order) ids[r] = AllocateOne(job, batch[r]);
  ForgetConnection();
  CountJob(job, -1);
  Balance(ids);
  return ids;
}

ReservationId PathAllocator::AllocateOne(JobId job, const QueuePairRequest& request) {
  FL_CHECK(request.queue_pair < request.num_queue_pairs && request.weight > 0 && std::isfinite(request.weight));
  const Reservation requested = RequestedBy(job, request);
  const uint32_t planes = CountPlanes(requested);
  const bool has_plane = planes > 0 && request.num_queue_pairs >= planes;
  TurnToConnection({job, request.connection});
  const auto choice = Choose(requested, has_plane ? request.queue_pair % planes : EmptierPlane(requested));
  if (!choice) return ReservationId();
  const uint32_t slot = TakeSlot(requested, *choice);
  CountUser(slot, 1, &job_users_);
  CountUser(slot, 1, &connection_users_);
  return ReservationId(slot);
}

void PathAllocator::CountJob(JobId job, int32_t sign) {
  const auto first = jobs_.find(job);
  if (first == jobs_.end()) return;
  for (uint32_t s = first->second; s != kNoSlot; s = slots_[s].in_job.next) CountUser(s, sign, &job_users_);
}

void PathAllocator::CountConnection(ConnectionKey key, int32_t sign) {
  const auto first = connections_.find(key);
  if (first == connections_.end()) return;
  for (uint32_t s = first->second; s != kNoSlot; s = slots_[s].in_connection.next) {
    CountUser(s, sign, &connection_users_);
  }
}

void PathAllocator::TurnToConnection(ConnectionKey key) {
  if (connection_ == key) return;
  ForgetConnection();
  connection_ = key;
  CountConnection(key, 1);
}

void PathAllocator::ForgetConnection() {
  if (connection_) CountConnection(*connection_, -1);
  connection_.reset();
}

uint32_t PathAllocator::CountPlanes(const Reservation& requested) const {
  return static_cast<uint32_t>(
      std::min(catalogue_->ports(requested.source).size(), catalogue_->ports(requested.destination).size()));
}

// The plane with the emptiest fuller port; 0 where there is none.
uint32_t PathAllocator::EmptierPlane(const Reservation& requested) const {
  uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (uint32_t p = 0; p < CountPlanes(requested); ++p) {
    const double usage = std::max(Usage(catalogue_->ports(requested.source)[p].up, requested.weight),
                                  Usage(catalogue_->ports(requested.destination)[p].down, requested.weight));
    if (!IsLess(usage, least)) continue;
    least = usage;
    best = p;
  }
  return best;
}

double PathAllocator::FairUsage(LinkId link) const {
  double load = 0;
  double capacity = 0;
  for (const LinkId sibling : catalogue_->Siblings(link)) {
    const double mine = 1 / use_[sibling].inverse_capacity;
    capacity += mine;
    if (mine > 0) load += use_[sibling].load;
  }
  return capacity > 0 ? load / capacity : 0;
}

double PathAllocator::Imbalance() const {
  double greatest = 1;
  for (size_t l = 0; l < use_.size(); ++l) {
    const LinkId link(l);
    if (use_[link].load == 0 || catalogue_->fabric().tier(link) < topology::LinkTier::kLeafSpine) continue;
    if (catalogue_->health(link) > 0) greatest = std::max(greatest, Usage(link, 0) / FairUsage(link));
  }
  return greatest;
}

double PathAllocator::WorstUsage(std::span<const LinkId> path, double more, double limit) const {
  double worst = 0;
  for (const LinkId link : path) {
    worst = std::max(worst, Usage(link, more));
    if (worst > limit) break;
  }
  return worst;
}

PathAllocator::Cost PathAllocator::CostOf(std::span<const LinkId> path, double worst) const {
  Cost cost{.worst = worst};
  for (const LinkId link : path) {
    cost.of_connection = std::max(cost.of_connection, connection_users_[link]);
    cost.of_job = std::max(cost.of_job, job_users_[link]);
    cost.sum += Usage(link, 0);
  }
  return cost;
}

// On the wanted plane; on another where that has no healthy path.
std::optional<PathAllocator::Choice> PathAllocator::Choose(const Reservation& requested, uint32_t plane) {
  const uint32_t planes = CountPlanes(requested);
  for (uint32_t i = 0; i < planes; ++i) {
    if (const auto choice = ChooseOnPlane(requested, (plane + i) % planes)) return choice;
  }
  return std::nullopt;
}

std::optional<PathAllocator::Choice> PathAllocator::ChooseOnPlane(const Reservation& requested, uint32_t plane) {
  const NicPort& from = catalogue_->ports(requested.source)[plane];
  const NicPort& to = catalogue_->ports(requested.destination)[plane];
  if (catalogue_->health(from.up) == 0 || catalogue_->health(to.down) == 0) return std::nullopt;
  const LeafPaths& paths = catalogue_->Paths(from.leaf, to.leaf);
  std::optional<Choice> best;
  Cost least;
  double limit = std::numeric_limits<double>::max();
  for (uint32_t i = 0; i < paths.num_paths; ++i) {
    const std::span<const LinkId> path = paths.path(i);
    const double worst = WorstUsage(path, requested.weight, limit);
    if (worst > limit) continue;
    const Cost cost = CostOf(path, worst);
    if (best && !IsLess(worst, least.worst)) {
      const auto mine = std::pair(cost.of_connection, cost.of_job);
      const auto theirs = std::pair(least.of_connection, least.of_job);
      if (mine > theirs || (mine == theirs && !IsLess(cost.sum, least.sum))) continue;
    }
    best = Choice{plane, i};
    least = cost;
    limit = worst * (1 + kTie);
  }
  return best;
}

ReservationId PathAllocator::Adopt(JobId job, const QueuePairRequest& request, std::span<const LinkId> path) {
  const Reservation mine = RequestedBy(job, request);
  const auto choice = FindChoice(mine, path);
  return choice ? ReservationId(TakeSlot(mine, *choice)) : ReservationId();
}

std::optional<PathAllocator::Choice> PathAllocator::FindChoice(const Reservation& reservation,
                                                               std::span<const LinkId> path) {
  if (path.size() < 2) return std::nullopt;
  for (uint32_t p = 0; p < CountPlanes(reservation); ++p) {
    const NicPort& from = catalogue_->ports(reservation.source)[p];
    const NicPort& to = catalogue_->ports(reservation.destination)[p];
    if (path.front() != from.up || path.back() != to.down) continue;
    const LeafPaths& paths = catalogue_->Paths(from.leaf, to.leaf);
    const std::optional<uint32_t> index = paths.Find(path.subspan(1, path.size() - 2));
    return index ? std::optional(Choice{p, *index}) : std::nullopt;
  }
  return std::nullopt;
}

uint32_t PathAllocator::TakeSlot(const Reservation& reservation, Choice choice) {
  uint32_t slot = static_cast<uint32_t>(slots_.size());
  if (free_slots_.empty()) {
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  Slot& mine = slots_[slot];
  mine.reservation = reservation;
  mine.is_held = true;
  ++num_held_;
  const ConnectionKey key{reservation.job, reservation.connection};
  Prepend(slot, &Slot::in_connection, &connections_.try_emplace(key, kNoSlot).first->second);
  Prepend(slot, &Slot::in_job, &jobs_.try_emplace(reservation.job, kNoSlot).first->second);
  SetRoute(&mine.reservation, choice);
  PutOnLinks(slot);
  return slot;
}

void PathAllocator::ReserveSlots(size_t more) {
  const size_t needed = slots_.size() + more - std::min(more, free_slots_.size());
  if (needed > slots_.capacity()) slots_.reserve(std::max(needed, 2 * slots_.capacity()));
}

void PathAllocator::Prepend(uint32_t slot, Neighbours Slot::*list, uint32_t* first) {
  slots_[slot].*list = {.previous = kNoSlot, .next = *first};
  if (*first != kNoSlot) (slots_[*first].*list).previous = slot;
  *first = slot;
}

bool PathAllocator::Unlink(uint32_t slot, Neighbours Slot::*list, uint32_t* first) {
  const Neighbours mine = slots_[slot].*list;
  if (mine.next != kNoSlot) (slots_[mine.next].*list).previous = mine.previous;
  (mine.previous == kNoSlot ? *first : (slots_[mine.previous].*list).next) = mine.next;
  return *first == kNoSlot;
}

void PathAllocator::Release(ReservationId id) {
  FL_CHECK(IsHeld(id));
  const uint32_t slot = id.value();
  Slot& mine = slots_[slot];
  TakeOffLinks(slot);
  const auto connection = connections_.find({mine.reservation.job, mine.reservation.connection});
  if (Unlink(slot, &Slot::in_connection, &connection->second)) connections_.erase(connection);
  const auto job = jobs_.find(mine.reservation.job);
  if (Unlink(slot, &Slot::in_job, &job->second)) jobs_.erase(job);
  mine.is_held = false;
  free_slots_.push_back(slot);
  --num_held_;
}

void PathAllocator::SetRoute(Reservation* reservation, Choice choice) {
  const NicPort& from = catalogue_->ports(reservation->source)[choice.plane];
  const NicPort& to = catalogue_->ports(reservation->destination)[choice.plane];
  const std::span<const LinkId> middle = catalogue_->Paths(from.leaf, to.leaf).path(choice.path);
  reservation->plane = choice.plane;
  reservation->path = choice.path;
  reservation->num_links = static_cast<uint32_t>(middle.size()) + 2;
  reservation->links[0] = from.up;
  std::copy(middle.begin(), middle.end(), reservation->links.begin() + 1);
  reservation->links[middle.size() + 1] = to.down;
}

void PathAllocator::PutOnLinks(uint32_t slot) {
  Slot& mine = slots_[slot];
  for (uint32_t i = 0; i < mine.reservation.num_links; ++i) {
    const LinkId link = mine.reservation.links[i];
    use_[link].load += mine.reservation.weight;
    mine.positions[i] = static_cast<uint32_t>(users_[link].size());
    users_[link].push_back(slot);
  }
}

void PathAllocator::TakeOffLinks(uint32_t slot) {
  const Slot& mine = slots_[slot];
  for (uint32_t i = 0; i < mine.reservation.num_links; ++i) {
    const LinkId link = mine.reservation.links[i];
    std::vector<uint32_t>& users = users_[link];
    const uint32_t last = users.back();
    users[mine.positions[i]] = last;
    Slot& moved = slots_[last];
    const auto at = std::find(moved.reservation.links.begin(), moved.reservation.links.end(), link);
    moved.positions[static_cast<size_t>(at - moved.reservation.links.begin())] = mine.positions[i];
    users.pop_back();
    // Sums of many additions and subtractions drift; an empty link is exactly empty.
    use_[link].load = users.empty() ? 0 : use_[link].load - mine.reservation.weight;
  }
}

void PathAllocator::MoveTo(uint32_t slot, Choice choice) {
  TakeOffLinks(slot);
  SetRoute(&slots_[slot].reservation, choice);
  PutOnLinks(slot);
}

void PathAllocator::CountUser(uint32_t slot, int32_t sign, IdVector<LinkId, uint32_t>* users) const {
  for (const LinkId link : slots_[slot].reservation.middle()) (*users)[link] += static_cast<uint32_t>(sign);
}

bool PathAllocator::SetHealth(LinkId link, double health) {
  if (!catalogue_->SetHealth(link, health)) return false;
  use_[link].inverse_capacity = 1 / (catalogue_->fabric().capacity(link).value() * health);
  if (health > 0) {
    down_.erase(link);
  } else {
    down_.insert(link);
  }
  return true;
}

std::vector<ReservationId> PathAllocator::MoveOffUnhealthyLinks(std::vector<ReservationId>* stranded) {
  std::vector<uint32_t> displaced;
  for (const LinkId link : down_) displaced.insert(displaced.end(), users_[link].begin(), users_[link].end());
  std::sort(displaced.begin(), displaced.end());
  displaced.erase(std::unique(displaced.begin(), displaced.end()), displaced.end());
  std::stable_sort(displaced.begin(), displaced.end(),
                   [&](uint32_t a, uint32_t b) { return slots_[a].reservation.weight > slots_[b].reservation.weight; });
  std::vector<ReservationId> moved;
  // Those still to be placed are no load that others should avoid.
  for (const uint32_t s : displaced) TakeOffLinks(s);
  for (const uint32_t s : displaced) {
    Reservation& mine = slots_[s].reservation;
    TurnToConnection({mine.job, mine.connection});
    const auto choice = Choose(mine, mine.plane);
    ForgetConnection();
    if (choice) SetRoute(&mine, *choice);
    PutOnLinks(s);
    (choice ? moved : *stranded).emplace_back(s);
  }
  std::sort(moved.begin(), moved.end());
  Balance(moved);
  return moved;
}

std::vector<ReservationId> PathAllocator::Balance(std::span<const ReservationId> movable) {
  std::vector<uint32_t> slots;
  for (const ReservationId id : movable) {
    if (id.valid() && catalogue_->IsUsable(reservation(id).route())) slots.push_back(id.value());
  }
  return PathBalancing(this, slots).Run();
}

std::vector<ReservationId> PathAllocator::BalanceAll() {
  std::vector<ReservationId> all;
  for (uint32_t s = 0; s < slots_.size(); ++s) {
    if (slots_[s].is_held) all.emplace_back(s);
  }
  return Balance(all);
}

size_t PathAllocator::MemoryBytes() const {
  size_t bytes = slots_.capacity() * sizeof(Slot) + free_slots_.capacity() * sizeof(uint32_t) +
                 use_.size() * (sizeof(LinkUse) + sizeof(std::vector<uint32_t>) + 2 * sizeof(uint32_t) + 1);
  for (const std::vector<uint32_t>& users : users_) bytes += users.capacity() * sizeof(uint32_t);
  // A node of a hash map: the pair, the next node, the hash; a bucket.
  bytes += (connections_.size() + jobs_.size()) * (sizeof(ConnectionKey) + sizeof(uint32_t) + 3 * sizeof(void*));
  return bytes;
}

}  // namespace fairlead::traffic::c4p

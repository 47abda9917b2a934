#include "traffic/c4p/path_reservations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "topology/fabric.h"

namespace fairlead::traffic::c4p {

PathReservations::PathReservations(PathCatalogue* catalogue, const LinkWatch& links, const C4pOptions& options,
                                   ConnectionTable* connections)
    : catalogue_(catalogue), links_(links), connections_(connections), allocator_(catalogue), imbalance_(options) {}

std::vector<QueuePairRef> PathReservations::Place(JobId job, std::span<const QueuePairRef> refs) {
  std::vector<QueuePairRequest> batch;
  batch.reserve(refs.size());
  for (const QueuePairRef ref : refs) batch.push_back(connections_->RequestOf(ref));
  const std::vector<ReservationId> ids = allocator_.Allocate(job, batch);
  std::vector<QueuePairRef> placed;
  placed.reserve(refs.size());
  for (size_t i = 0; i < refs.size(); ++i) {
    Note(refs[i], ids[i]);
    if (ids[i].valid()) placed.push_back(refs[i]);
  }
  imbalance_.NoteChange();
  return placed;
}

bool PathReservations::Adopt(QueuePairRef ref, const HeldPath& held) {
  imbalance_.NoteChange();
  unmanaged_.insert(ref);
  const ConnectionState& connection = connections_->at(ref.connection);
  const auto from = catalogue_->ports(connection.request.source);
  const auto to = catalogue_->ports(connection.request.destination);
  const bool has_plane = held.is_managed && held.plane < std::min(from.size(), to.size());
  const LeafPaths* paths = has_plane ? &catalogue_->Paths(from[held.plane].leaf, to[held.plane].leaf) : nullptr;
  if (paths == nullptr || held.path >= paths->num_paths) return false;
  std::vector<LinkId> route = {from[held.plane].up};
  const auto middle = paths->path(held.path);
  route.insert(route.end(), middle.begin(), middle.end());
  route.push_back(to[held.plane].down);
  Note(ref, allocator_.Adopt(connection.lease.job, connections_->RequestOf(ref), route));
  return true;
}

void PathReservations::Release(QueuePairRef ref) {
  if (HasPath(ref)) {
    allocator_.Release(connections_->at(ref).reservation);
    connections_->SetReservation(ref, ReservationId());
  }
  unmanaged_.erase(ref);
  off_plane_.erase(ref);
  imbalance_.NoteChange();
}

bool PathReservations::SetHealth(LinkId link, double health) {
  if (!allocator_.SetHealth(link, health)) return false;
  imbalance_.NoteChange();
  return true;
}

PathReservations::Evacuation PathReservations::LeaveLostLinks() {
  std::vector<ReservationId> without;
  Evacuation evacuation = {.moved = NoteMoved(allocator_.MoveOffUnhealthyLinks(&without)), .stranded = {}};
  for (const ReservationId id : without) {
    const QueuePairRef ref = connections_->OwnerOf(id);
    allocator_.Release(id);
    Note(ref, ReservationId());
    evacuation.stranded.push_back(ref);
  }
  return evacuation;
}

std::vector<QueuePairRef> PathReservations::ReturnToPlanes() {
  std::vector<QueuePairRef> returned;
  for (const QueuePairRef ref : std::set<QueuePairRef>(off_plane_)) {
    const ConnectionState& connection = connections_->at(ref.connection);
    const uint32_t home = HomePlane(connection.request, ref.queue_pair, 0);
    if (!HasUsablePath(connection.request, home, LinkUse::kFirstChoice)) continue;
    off_plane_.erase(ref);
    allocator_.Release(connections_->at(ref).reservation);
    Place(connection.lease.job, {&ref, 1});
    returned.push_back(ref);
  }
  return returned;
}

std::vector<QueuePairRef> PathReservations::RetryUnmanaged() {
  std::map<JobId, std::vector<QueuePairRef>> jobs;
  for (const QueuePairRef ref : unmanaged_) jobs[connections_->at(ref.connection).lease.job].push_back(ref);
  std::vector<QueuePairRef> placed;
  for (const auto& [job, refs] : jobs) {
    const std::vector<QueuePairRef> of_job = Place(job, refs);
    placed.insert(placed.end(), of_job.begin(), of_job.end());
  }
  return placed;
}

std::vector<QueuePairRef> PathReservations::Balance() { return NoteMoved(allocator_.BalanceAll()); }

std::vector<QueuePairRef> PathReservations::BalanceIfUneven(SimTime now) {
  if (!imbalance_.Look(now, [this] { return allocator_.Imbalance(); })) return {};
  std::vector<QueuePairRef> moved = Balance();
  imbalance_.NoteBalanced();
  return moved;
}

void PathReservations::Note(QueuePairRef ref, ReservationId id) {
  connections_->SetReservation(ref, id);
  if (!id.valid()) {
    off_plane_.erase(ref);
    unmanaged_.insert(ref);
    return;
  }
  if (!unmanaged_.empty()) unmanaged_.erase(ref);
  const uint32_t plane = allocator_.reservation(id).plane;
  if (HomePlane(connections_->at(ref.connection).request, ref.queue_pair, plane) != plane) off_plane_.insert(ref);
}

std::vector<QueuePairRef> PathReservations::NoteMoved(std::span<const ReservationId> ids) {
  std::vector<QueuePairRef> moved;
  moved.reserve(ids.size());
  for (const ReservationId id : ids) {
    const QueuePairRef ref = connections_->OwnerOf(id);
    Note(ref, id);
    moved.push_back(ref);
  }
  return moved;
}

// Where there are at least as many queue pairs as planes each has its own (docs/spec/c4.md section 9.5); else any is as
// good.
uint32_t PathReservations::HomePlane(const ConnectionRequest& request, uint32_t queue_pair, uint32_t otherwise) const {
  const auto planes = static_cast<uint32_t>(
      std::min(catalogue_->ports(request.source).size(), catalogue_->ports(request.destination).size()));
  return planes > 0 && request.num_queue_pairs >= planes ? queue_pair % planes : otherwise;
}

bool PathReservations::HasUsablePath(const ConnectionRequest& request, uint32_t plane, LinkUse worst) const {
  const NicPort& from = catalogue_->ports(request.source)[plane];
  const NicPort& to = catalogue_->ports(request.destination)[plane];
  const auto may_use = [&](LinkId link) { return UseOf(links_.state(link)) <= worst; };
  if (!may_use(from.up) || !may_use(to.down)) return false;
  const LeafPaths& paths = catalogue_->Paths(from.leaf, to.leaf);
  for (uint32_t i = 0; i < paths.num_paths; ++i) {
    if (std::ranges::all_of(paths.path(i), may_use)) return true;
  }
  return false;
}

std::string PathReservations::ExplainNoPath(const ConnectionRequest& request) const {
  const topology::Fabric& fabric = catalogue_->fabric();
  std::string why = fmt::format("c4p: no healthy path from {} to {}:", fabric.NodeName(fabric.node_of(request.source)),
                                fabric.NodeName(fabric.node_of(request.destination)));
  const auto from = catalogue_->ports(request.source);
  const auto to = catalogue_->ports(request.destination);
  const size_t planes = std::min(from.size(), to.size());
  if (planes == 0) why += " no ports";
  for (size_t p = 0; p < planes; ++p) {
    const uint32_t num_paths = catalogue_->Paths(from[p].leaf, to[p].leaf).num_paths;
    why += fmt::format(" plane {}: ", p);
    if (catalogue_->health(from[p].up) == 0) {
      why += fabric.LinkName(from[p].up) + " is down;";
    } else if (catalogue_->health(to[p].down) == 0) {
      why += fabric.LinkName(to[p].down) + " is down;";
    } else if (num_paths == 0) {
      why += "its leaves are not joined;";
    } else {
      why += fmt::format("{} of {} paths cross links that are down;",
                         HasUsablePath(request, static_cast<uint32_t>(p), LinkUse::kLastResort) ? 0 : num_paths,
                         num_paths);
    }
  }
  return why + " the job goes on by the fabric's own hash, and gets paths when links return";
}

}  // namespace fairlead::traffic::c4p

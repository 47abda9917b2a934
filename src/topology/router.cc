#include "topology/router.h"

#include <algorithm>

#include "base/check.h"
#include "base/random.h"
#include "topology/host_routes.h"
#include "topology/network_routes.h"

namespace fairlead::topology {

namespace {

uint64_t HashOf(const model::FiveTuple& tuple) {
  const uint64_t addresses = uint64_t{tuple.source_address} << 32 | tuple.destination_address;
  const uint64_t rest = uint64_t{tuple.source_port} << 24 | uint64_t{tuple.destination_port} << 8 | tuple.protocol;
  return CombineHash(MixBits(addresses), rest);
}

void AppendSpan(std::span<const LinkId> links, model::Path* path) {
  path->insert(path->end(), links.begin(), links.end());
}

}  // namespace

uint64_t PathCandidates::PathIndex(size_t i) const {
  if (num_paths == num_candidates) return i;
  // i * num_paths / num_candidates in 128 bits.
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(i) * num_paths / num_candidates);
}

model::Path PathCandidates::Path(size_t i) const {
  model::Path path(head.begin(), head.end());
  AppendSpan(middle(i), &path);
  AppendSpan(tail, &path);
  return path;
}

Router::Router(const Fabric& fabric, size_t cache_bytes)
    : fabric_(&fabric),
      is_up_(std::make_unique<std::vector<uint8_t>>(fabric.num_links(), uint8_t{1})),
      host_routes_(std::make_unique<HostRoutes>(fabric, *is_up_)),
      network_routes_(std::make_unique<NetworkRoutes>(fabric, *is_up_, cache_bytes)) {}

Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;

void Router::SetHealth(const LinkHealth& health) {
  FL_CHECK(health.size() == fabric_->num_links());
  bool changed = false;
  for (size_t l = 0; l < health.size(); ++l) {
    const uint8_t up = health[LinkId(l)] > 0 ? 1 : 0;
    changed |= (*is_up_)[l] != up;
    (*is_up_)[l] = up;
  }
  if (!changed) return;
  host_routes_->Reset();
  network_routes_->Reset();
}

bool Router::IsInsideHost(GpuId source, GpuId destination) const {
  FL_DCHECK(source != destination);
  return fabric_->host_of(source) == fabric_->host_of(destination);
}

uint64_t Router::CountPaths(GpuId source, GpuId destination) const {
  if (IsInsideHost(source, destination)) {
    model::Path path;
    return host_routes_->AppendGpuToGpu(source, destination, &path) ? 1 : 0;
  }
  if (!host_routes_->GpuToNic(source) || !host_routes_->NicToGpu(destination)) return 0;
  return network_routes_->Count(fabric_->nic_of(source), fabric_->nic_of(destination));
}

void Router::AppendPath(GpuId source, GpuId destination, uint64_t index, model::Path* path) const {
  if (IsInsideHost(source, destination)) {
    FL_CHECK(index == 0 && host_routes_->AppendGpuToGpu(source, destination, path));
    return;
  }
  const auto head = host_routes_->GpuToNic(source);
  FL_CHECK(head.has_value());
  AppendSpan(*head, path);
  network_routes_->Append(fabric_->nic_of(source), fabric_->nic_of(destination), index, path);
  const auto tail = host_routes_->NicToGpu(destination);
  FL_CHECK(tail.has_value());
  AppendSpan(*tail, path);
}

// candidate_links_ holds head, tail, middles: the segments of HostRoutes would not outlive each other.
PathCandidates Router::FindCandidates(GpuId source, GpuId destination, size_t max_candidates) const {
  FL_CHECK(max_candidates >= 1);
  PathCandidates candidates;
  candidates.num_paths = CountPaths(source, destination);
  if (candidates.num_paths == 0) return candidates;
  candidates.num_candidates = std::min<uint64_t>(candidates.num_paths, max_candidates);
  candidate_links_.clear();
  if (IsInsideHost(source, destination)) {
    host_routes_->AppendGpuToGpu(source, destination, &candidate_links_);
    candidates.head = candidate_links_;
    return candidates;
  }
  const NicId source_nic = fabric_->nic_of(source);
  const NicId destination_nic = fabric_->nic_of(destination);
  AppendSpan(*host_routes_->GpuToNic(source), &candidate_links_);
  const size_t head_length = candidate_links_.size();
  AppendSpan(*host_routes_->NicToGpu(destination), &candidate_links_);
  const size_t ends_length = candidate_links_.size();
  candidates.middle_length = network_routes_->Length(source_nic, destination_nic);
  if (candidates.num_candidates == candidates.num_paths) {
    candidate_links_.resize(ends_length + candidates.num_candidates * candidates.middle_length);
    network_routes_->WriteAll(source_nic, destination_nic, candidate_links_.data() + ends_length);
  } else {
    for (size_t i = 0; i < candidates.num_candidates; ++i) {
      network_routes_->Append(source_nic, destination_nic, candidates.PathIndex(i), &candidate_links_);
    }
  }
  const std::span<const LinkId> links(candidate_links_);
  candidates.head = links.first(head_length);
  candidates.tail = links.subspan(head_length, ends_length - head_length);
  candidates.middles = links.subspan(ends_length);
  return candidates;
}

bool Router::AppendEcmpPath(GpuId source, GpuId destination, const model::FiveTuple& tuple, uint64_t seed,
                            model::Path* path, std::optional<uint32_t> port) const {
  if (IsInsideHost(source, destination)) return host_routes_->AppendGpuToGpu(source, destination, path);
  const size_t old_size = path->size();
  const auto head = host_routes_->GpuToNic(source);
  if (!head) return false;
  AppendSpan(*head, path);
  const auto tail = host_routes_->NicToGpu(destination);
  if (!tail || !network_routes_->AppendHashed(fabric_->nic_of(source), fabric_->nic_of(destination), HashOf(tuple),
                                              seed, port, path)) {
    path->resize(old_size);
    return false;
  }
  AppendSpan(*tail, path);
  return true;
}

}  // namespace fairlead::topology

#include "traffic/c4p/lease_table.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::traffic::c4p {

LeaseTable::LeaseTable(SimDuration ttl) : ttl_(ttl) { FL_CHECK(ttl > SimDuration(0)); }

void LeaseTable::Grant(LeaseId id, SimTime now) {
  const auto [lease, is_new] = leases_.try_emplace(id, Lease{.renewed_at = now, .queued_under = now + ttl_});
  lease->second.renewed_at = now;
  if (!is_new) return;
  queue_.emplace(now + ttl_, id);
  // Messages of the host before its first lease do not matter: its stamp is not later than the lease's own.
  ++hosts_.try_emplace(id.host, Host{.renewed_at = now}).first->second.num_leases;
}

bool LeaseTable::Renew(LeaseId id, SimTime now) {
  const auto lease = leases_.find(id);
  if (lease == leases_.end()) return false;
  lease->second.renewed_at = now;
  return true;
}

size_t LeaseTable::RenewAll(HostId host, SimTime now) {
  const auto entry = hosts_.find(host);
  if (entry == hosts_.end()) return 0;
  entry->second.renewed_at = now;
  return entry->second.num_leases;
}

bool LeaseTable::Release(LeaseId id) {
  const auto lease = leases_.find(id);
  if (lease == leases_.end()) return false;
  queue_.erase({lease->second.queued_under, id});
  Erase(lease);
  return true;
}

std::vector<LeaseId> LeaseTable::Expire(SimTime now) {
  std::vector<LeaseId> ended;
  while (!queue_.empty() && queue_.begin()->first <= now) {
    const auto lease = leases_.find(queue_.begin()->second);
    const SimTime deadline = DeadlineOf(lease->first, lease->second);
    queue_.erase(queue_.begin());
    if (deadline > lease->second.queued_under) {
      lease->second.queued_under = deadline;
      queue_.emplace(deadline, lease->first);
      continue;
    }
    ended.push_back(lease->first);
    Erase(lease);
  }
  return ended;
}

std::optional<SimTime> LeaseTable::Deadline(LeaseId id) const {
  const auto lease = leases_.find(id);
  if (lease == leases_.end()) return std::nullopt;
  return DeadlineOf(id, lease->second);
}

size_t LeaseTable::CountOf(HostId host) const {
  const auto entry = hosts_.find(host);
  return entry == hosts_.end() ? 0 : entry->second.num_leases;
}

SimTime LeaseTable::DeadlineOf(LeaseId id, const Lease& lease) const {
  return std::max(lease.renewed_at, hosts_.at(id.host).renewed_at) + ttl_;
}

void LeaseTable::Erase(std::map<LeaseId, Lease>::iterator lease) {
  const auto host = hosts_.find(lease->first.host);
  if (--host->second.num_leases == 0) hosts_.erase(host);
  leases_.erase(lease);
}

}  // namespace fairlead::traffic::c4p

#include "slurm/host_watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fairlead::slurm {

HostWatch::HostWatch(const std::vector<std::string>& fabric_hosts, std::string spares) : spares_(std::move(spares)) {
  for (size_t h = 0; h < fabric_hosts.size(); ++h) hosts_[fabric_hosts[h]] = HostId(h);
}

std::vector<std::string> HostWatch::TakeNewUnknown(const ClusterState& state) {
  std::set<std::string> unknown;
  for (const Node& node : state.nodes) {
    if (!hosts_.contains(node.name)) unknown.insert(node.name);
  }
  std::vector<std::string> news;
  std::ranges::set_difference(unknown, unknown_, std::back_inserter(news));
  unknown_ = std::move(unknown);
  return news;
}

std::vector<HostId> HostWatch::TakeNewSpares(const ClusterState& state) {
  std::set<std::string> free;
  for (const Reservation& reservation : state.reservations) {
    if (spares_.empty() || reservation.name != spares_) continue;
    free.insert(reservation.hosts.begin(), reservation.hosts.end());
  }
  for (const Node& node : state.nodes) {
    if (!node.is_up || node.is_drained || node.is_busy) free.erase(node.name);
  }
  std::erase_if(free, [this](const std::string& host) { return !hosts_.contains(host); });
  std::vector<HostId> news;
  for (const std::string& host : free) {
    if (!free_.contains(host)) news.push_back(hosts_.at(host));
  }
  free_ = std::move(free);
  return news;
}

}  // namespace fairlead::slurm

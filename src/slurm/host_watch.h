// Hosts of Slurm beside those of the fabric: which of them the fabric has not, and which spares have become free.
//
// Each answer is about what is new since the reading before: a host that is unknown is told of once while it is, and a
// spare is offered when it becomes free, so that one which a step could not take stays in doubt.
//
// Thread      one at a time.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "slurm/cluster_state.h"

namespace fairlead::slurm {

class HostWatch {
 public:
  // Args: fabric_hosts [host]: names. spares: reservation that keeps spares free; empty: there is none.
  HostWatch(const std::vector<std::string>& fabric_hosts, std::string spares);

  // Nodes that the fabric has not, by name.
  std::vector<std::string> TakeNewUnknown(const ClusterState& state);
  // Hosts of the reservation where something could start at once, by name.
  std::vector<HostId> TakeNewSpares(const ClusterState& state);
  // Nodes that the fabric has not, as of the last reading.
  size_t num_unknown() const { return unknown_.size(); }

 private:
  std::map<std::string, HostId> hosts_;  // of the fabric
  const std::string spares_;
  std::set<std::string> unknown_;
  std::set<std::string> free_;  // spares
};

}  // namespace fairlead::slurm

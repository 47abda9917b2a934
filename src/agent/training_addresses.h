// Which connections are about training: those from a training NIC of this host to one of another host.
//
// Problem     processes of a job also connect to file systems, loggers and each other on this host. Only the controller
//             knows the NICs of other hosts, and asking it about such connections each time would make them wait.
// Method      NICs of this host are known. Other addresses are taken for NICs until the controller says that it knows
//             none of them: then they are strangers for a while, and nothing is asked about them.
// Guarantees  a stranger is one no longer than it is remembered, so that a NIC that joins the fabric is found. No more
//             than num_strangers_max are remembered, the last one always.
// Cost        O(NICs + log of strangers) a question; O(strangers) for a new one.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "base/ip_address.h"
#include "base/sim_time.h"

namespace fairlead::agent {

class TrainingAddresses {
 public:
  // Args: nics: of this host; stranger_memory: how long a stranger is one; num_strangers_max: > 0.
  TrainingAddresses(std::vector<IpAddress> nics, SimDuration stranger_memory, size_t num_strangers_max = 65'536)
      : nics_(std::move(nics)), stranger_memory_(stranger_memory), num_strangers_max_(num_strangers_max) {}

  // Of this host.
  bool IsNic(const IpAddress& address) const;
  // From here to another host.
  bool AreTraining(const IpAddress& source, const IpAddress& destination) const {
    return IsNic(source) && !IsNic(destination);
  }

  // The controller knows no NIC of this address. Time never runs backwards.
  void AddStranger(const IpAddress& address, SimTime now);
  bool IsStranger(const IpAddress& address, SimTime now) const;

 private:
  const std::vector<IpAddress> nics_;
  const SimDuration stranger_memory_;
  const size_t num_strangers_max_;
  std::map<IpAddress, SimTime> strangers_;  // until when
};

}  // namespace fairlead::agent

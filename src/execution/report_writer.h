// The agents of all hosts: once a period each reads its ranks and sends their reports, and its own.
//
// What a rank has recorded is what its process had seen: of a frozen process that is what happened before it froze. A
// process that is gone has no reports; the host's report says that it is gone. Instants are shown on the host's clock.
#pragma once

#include <cstdint>
#include <vector>

#include "execution/fault_effects.h"
#include "execution/host_clock.h"
#include "execution/operation_log.h"
#include "execution/report_channel.h"
#include "execution/training_program.h"
#include "execution/transfer_simulator.h"

namespace fairlead::execution {

// Hosts are read at different moments of a period.
std::vector<ReportWindows> DrawReportWindows(uint32_t num_hosts, const NoiseOptions& noise, Random& random);

class ReportWriter {
 public:
  struct Sources {
    const JobShape* shape;
    const model::JobLayout* layout;
    const FaultEffects* effects;
    const TrainingProgram* program;
    TransferSimulator* simulator;
    OperationLog* log;
  };
  ReportWriter(const Sources& sources, const NoiseOptions& noise, std::vector<ReportWindows> windows, uint64_t seed);

  // Sends all reports that are due up to `until`, in order of time; everything before must have been simulated.
  void WriteUntil(Instant until, ReportChannel& channel);

  const HostClock& ClockOf(HostId host) const { return clocks_[host.index()]; }

 private:
  void WriteHost(HostId host, Instant at, ReportChannel& channel);
  // Reads the rank in any case, since reading forgets.
  model::RankReport ReadRank(model::RankId rank, const HostClock& clock, Instant at);
  model::HostReport ReadHost(HostId host, Instant at) const;
  bool HasExited(model::RankId rank, Instant at) const;

  Sources sources_;
  NoiseOptions noise_;
  std::vector<ReportWindows> windows_;  // [host]
  std::vector<HostClock> clocks_;       // [host]
  std::vector<HostId> order_;           // hosts by the moment of their reading
  uint64_t window_ = 0;                 // of the next report
  size_t next_ = 0;                     // into order_
};

}  // namespace fairlead::execution

// Which hosts are to be checked, and how (node_checks.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"

namespace fairlead::controller {

struct NodeCheckRequest {
  uint64_t number = 0;  // of the check, chosen by who asks; new
  std::vector<HostId> hosts;
  SimDuration transfer_length = SimDuration(2'000'000'000);  // of each transfer, up to a minute
  SimDuration burn_in_length;                                // 0: there is none; up to kTestLengthMax
  uint32_t num_streams = 4;                                  // of each transfer, 1 .. kTestStreamsMax
  bool while_training = false;                               // hosts of jobs, too, at a hundredth of the speed
  std::string who;                                           // for the events
};

}  // namespace fairlead::controller

// Which end of a connection that moves nothing is at fault: the diagnosis asks, tests of hosts answer.
//
//     JobWatch --> SlowEndQuestion --> slow_end_tests.h --> SlowEndAnswer --> JobWatch
#pragma once

#include <vector>

#include "base/ids.h"
#include "model/finding.h"
#include "node_check/slow_end.h"

namespace fairlead::controller {

struct SlowEndQuestion {
  model::FindingId finding;
  HostId sender;
  HostId receiver;
  NicId sender_nic;    // of the connection; invalid: not known
  NicId receiver_nic;  // likewise
  // Hosts of the job that nothing is held against: they are idle while it hangs.
  std::vector<HostId> bystanders = {};

  friend bool operator==(const SlowEndQuestion&, const SlowEndQuestion&) = default;
};

struct SlowEndAnswer {
  model::FindingId finding;
  node_check::SlowEnd end = node_check::SlowEnd::kUndecided;
  // What each end reaches with a bystander, of what the bystanders reach with each other; negative: not known.
  double sender_share = -1;
  double receiver_share = -1;

  friend bool operator==(const SlowEndAnswer&, const SlowEndAnswer&) = default;
};

}  // namespace fairlead::controller

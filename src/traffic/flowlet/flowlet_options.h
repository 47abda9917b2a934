// Open points of routing by load, flow by flow.
#pragma once

#include "base/status.h"
#include "base/units.h"
#include "traffic/sender_rules.h"

namespace fairlead::traffic::flowlet {

struct FlowletOptions {
  // From here on a gap never comes.
  static constexpr double kNeverS = 1000;

  PathRule rule = PathRule::kConga;
  // A block of a flow that begins after so long a silence, or the first one, chooses its path anew. In [0, kNeverS].
  // kNeverS: flows stay on the paths of their hashes. RDMA sends without gaps inside a block.
  Seconds gap = Seconds(500e-6);
  // Flows that send choose anew so often. In [0, kNeverS]; 0: they don't. Shorter: nearer to an even load, more packets
  // out of order.
  Seconds remap = Seconds(0);

  // Whether any flow ever chooses.
  bool chooses() const { return gap.value() < kNeverS || remap.value() > 0; }
  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

}  // namespace fairlead::traffic::flowlet

// A path: the directed links a flow crosses, in order, from GPU to GPU.
#pragma once

#include <vector>

#include "base/ids.h"

namespace fairlead::model {

using Path = std::vector<LinkId>;

// What the hash of a switch sees of a connection. RoCE v2: UDP, destination port 4791, the source port chosen freely.
struct FiveTuple {
  uint32_t source_address = 0;
  uint32_t destination_address = 0;
  uint16_t source_port = 0;
  uint16_t destination_port = 4791;
  uint8_t protocol = 17;
};

}  // namespace fairlead::model

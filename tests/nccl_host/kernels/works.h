// The algorithms of NCCL's collectives, as one block (a channel of one rank) does its part.
#pragma once

#include "kernels/arithmetic.h"
#include "kernels/block.h"

namespace fairlead::nccl_host {

// What NCCL encodes in the number of a kernel's function.
struct CollectiveKind {
  int function = 0;   // ncclFunc_t
  int operation = 0;  // ncclDevRedOp_t
  int type = 0;       // ncclDataType_t
  int algorithm = 0;
  int protocol = 0;
};

// Returns: false: this algorithm or protocol is not here.
bool RunCollective(Block* block, const CollectiveKind& kind, ncclDevWorkColl* work);

// Sends and receives of a batch: they run side by side, since each may wait for one of the others.
void RunSendsAndReceives(Block* block, ncclDevWorkP2p* const* works, size_t num_works);

}  // namespace fairlead::nccl_host

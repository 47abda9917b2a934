#pragma once

#include "kernels/works.h"

namespace fairlead::nccl_host {

// Args: function: number that NCCL's host code has given to a kernel's function, as in ncclDevWorkBatch::funcId.
CollectiveKind KindOfFunction(int function);

}  // namespace fairlead::nccl_host

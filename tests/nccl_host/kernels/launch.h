// Runs on CPUs what NCCL launches on a GPU.
#pragma once

namespace fairlead::nccl_host {

// One of NCCL's kernels, from its argument buffer (ncclDevKernelArgs and what follows), with a block for each channel.
// Returns when all blocks have ended: the work is done, or the communicator was aborted. Ends the process where the
// kernel would need what this stand-in does not have, and says so.
void RunKernel(const void* arguments, unsigned num_blocks);

}  // namespace fairlead::nccl_host

// Which memory is a GPU's, when all of it is the host's?
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>

namespace fairlead::nccl_host {

struct Allocation {
  void* begin = nullptr;
  size_t bytes = 0;
  cudaMemoryType type = cudaMemoryTypeUnregistered;
};

// What the address lies in; nothing: memory that CUDA does not know (pageable memory of the host).
std::optional<Allocation> FindAllocation(const void* address);

}  // namespace fairlead::nccl_host

#include "cuda/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/streams.h"

namespace fairlead::nccl_host {
namespace {

// NCCL aligns what it shares to pages, and asks for no more.
constexpr size_t kAlignment = 4096;

class Allocations {
 public:
  void Add(const Allocation& added) {
    const std::scoped_lock lock(mutex_);
    by_begin_[reinterpret_cast<uintptr_t>(added.begin)] = added;
  }
  void Remove(void* begin) {
    const std::scoped_lock lock(mutex_);
    by_begin_.erase(reinterpret_cast<uintptr_t>(begin));
  }
  std::optional<Allocation> Find(const void* address) {
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    const std::scoped_lock lock(mutex_);
    auto behind = by_begin_.upper_bound(wanted);
    if (behind == by_begin_.begin()) return std::nullopt;
    const auto& [begin, found] = *--behind;
    if (wanted >= begin + found.bytes) return std::nullopt;
    return found;
  }

 private:
  std::mutex mutex_;
  std::map<uintptr_t, Allocation> by_begin_;
};

Allocations& All() {
  static auto* const all = new Allocations;
  return *all;
}

// Memory that no one touches takes no room: NCCL reserves far more than a test uses.
cudaError_t Allocate(void** address, size_t bytes, cudaMemoryType type) {
  const size_t rounded = (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  *address = aligned_alloc(kAlignment, rounded);
  if (*address == nullptr) return cudaErrorMemoryAllocation;
  All().Add({.begin = *address, .bytes = rounded, .type = type});
  return cudaSuccess;
}
// As memset(), without touching whole pages that become zero: NCCL clears all that it reserves.
void Set(void* to, int value, size_t bytes) {
  auto* const begin = static_cast<std::byte*>(to);
  const auto at = reinterpret_cast<uintptr_t>(to);
  const size_t head = (kAlignment - at % kAlignment) % kAlignment;
  const auto found = FindAllocation(to);
  const bool is_private = found && found->type == cudaMemoryTypeDevice;  // that of the host may be shared
  if (value != 0 || bytes < head + kAlignment || !is_private) {
    memset(to, value, bytes);
    return;
  }
  const size_t pages = (bytes - head) / kAlignment * kAlignment;
  memset(begin, 0, head);
  if (madvise(begin + head, pages, MADV_DONTNEED) != 0) memset(begin + head, 0, pages);
  memset(begin + head + pages, 0, bytes - head - pages);
}
cudaError_t Free(void* address) {
  if (address == nullptr) return cudaSuccess;
  All().Remove(address);
  free(address);
  return cudaSuccess;
}

}  // namespace

std::optional<Allocation> FindAllocation(const void* address) { return All().Find(address); }

}  // namespace fairlead::nccl_host

using fairlead::nccl_host::All;
using fairlead::nccl_host::Allocate;
using fairlead::nccl_host::FindAllocation;
using fairlead::nccl_host::Free;
using fairlead::nccl_host::Set;
using fairlead::nccl_host::StreamOf;

extern "C" {

cudaError_t cudaMalloc(void** address, size_t bytes) { return Allocate(address, bytes, cudaMemoryTypeDevice); }
cudaError_t cudaFree(void* address) { return Free(address); }
cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned) {
  return Allocate(address, bytes, cudaMemoryTypeHost);
}
cudaError_t cudaFreeHost(void* address) { return Free(address); }
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void* address, size_t bytes, unsigned) {
  All().Add({.begin = address, .bytes = bytes, .type = cudaMemoryTypeHost});
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* address) {
  All().Remove(address);
  return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  *pool = reinterpret_cast<cudaMemPool_t>(new char);
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  delete reinterpret_cast<char*>(pool);
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMallocFromPoolAsync(void** address, size_t bytes, cudaMemPool_t, cudaStream_t) {
  return cudaMalloc(address, bytes);
}
cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
  StreamOf(stream)->Put([address] { Free(address); });
  return cudaSuccess;
}

// As CUDA does, pageable memory is read before the call returns.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  if (FindAllocation(from)) {
    StreamOf(stream)->Put([=] { memcpy(to, from, bytes); });
    return cudaSuccess;
  }
  const auto* begin = static_cast<const char*>(from);
  auto copy = std::make_shared<std::vector<char>>(begin, begin + bytes);
  StreamOf(stream)->Put([to, copy] { memcpy(to, copy->data(), copy->size()); });
  return cudaSuccess;
}
// NCCL's copy engines are for GPUs that share memory.
cudaError_t cudaMemcpyBatchAsync(void* const*, const void* const*, const size_t*, size_t, cudaMemcpyAttributes*,
                                 size_t*, size_t, cudaStream_t) {
  return cudaErrorNotSupported;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return cudaStreamSynchronize(nullptr);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  StreamOf(stream)->Put([=] { Set(to, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  cudaMemsetAsync(to, value, bytes, nullptr);
  return cudaStreamSynchronize(nullptr);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  *attributes = {};
  const auto found = FindAllocation(address);
  attributes->type = found ? found->type : cudaMemoryTypeUnregistered;
  cudaGetDevice(&attributes->device);
  attributes->hostPointer = const_cast<void*>(address);
  if (found) attributes->devicePointer = const_cast<void*>(address);
  return cudaSuccess;
}

// Ranks are on hosts of their own: none of them shares memory with another one.
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) { return cudaErrorNotSupported; }
cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned) { return cudaErrorNotSupported; }
cudaError_t cudaIpcCloseMemHandle(void*) { return cudaErrorNotSupported; }

}  // extern "C"

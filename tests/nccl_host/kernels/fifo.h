// How does a kernel hand data to NCCL's proxies, and take what they have received?
//
// A connection is a ring of NCCL_STEPS buffers of a step each in memory that kernel and proxy share:
//
//     Simple   sender     waits for head + NCCL_STEPS >= step, fills buffers, writes their size, then tail = step
//              receiver   waits for tail >= step, reads buffers, then head = step
//     LL       sender     the same with head; lines of 8 bytes of data carry the number of their step, and no tail
//              receiver   waits for that number in every line, then head = step
//
// `step` counts all steps of the connection and is kept in it from kernel to kernel. Thread: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/block.h"

namespace fairlead::nccl_host {

// How a chunk is cut with the simple protocol; with LL it is one step.
struct Slicing {
  int slices_per_chunk = 1;
  int steps_per_slice = 1;

  int steps_per_chunk() const { return slices_per_chunk * steps_per_slice; }
};

class SendEnd {
 public:
  virtual ~SendEnd() = default;
  // Where the next slice goes, once there is room. Of an aborted communicator it is some memory.
  virtual std::byte* Reserve(size_t bytes) = 0;
  // The slice is complete.
  virtual void Post() = 0;
};

class ReceiveEnd {
 public:
  virtual ~ReceiveEnd() = default;
  // The next slice, once it is there. Of an aborted communicator it is some memory.
  virtual const std::byte* Await(size_t bytes) = 0;
  // The slice has been read.
  virtual void Release() = 0;
};

// Args: protocol: NCCL_PROTO_SIMPLE or NCCL_PROTO_LL.
std::unique_ptr<SendEnd> OpenSendEnd(Block* block, ncclConnInfo* connection, int protocol, Slicing slicing);
std::unique_ptr<ReceiveEnd> OpenReceiveEnd(Block* block, ncclConnInfo* connection, int protocol, Slicing slicing);

}  // namespace fairlead::nccl_host

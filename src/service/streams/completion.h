// The end of an operation of gRPC: how a completion queue notifies its owner.
#pragma once

#include <grpcpp/completion_queue.h>

#include <chrono>
#include <functional>

namespace fairlead::service {

// Called when what it was given for is over; ok: as it should. gRPC carries its address as the tag.
using Completion = std::function<void(bool ok)>;

// Calls the next one of `queue`, which it waits for. TIMEOUT: there was none until then; SHUTDOWN: there will be none.
inline grpc::CompletionQueue::NextStatus Complete(grpc::CompletionQueue* queue,
                                                  std::chrono::steady_clock::time_point until) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(until.time_since_epoch()).count();
  const gpr_timespec deadline = {ns / 1'000'000'000, static_cast<int32_t>(ns % 1'000'000'000), GPR_CLOCK_MONOTONIC};
  void* tag = nullptr;
  bool ok = false;
  const auto status = queue->AsyncNext(&tag, &ok, deadline);
  if (status == grpc::CompletionQueue::GOT_EVENT) (*static_cast<Completion*>(tag))(ok);
  return status;
}

}  // namespace fairlead::service

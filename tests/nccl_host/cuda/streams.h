// In which order does work on streams happen, when no GPU does it?
//
// A stream is a thread that does what was put on it, one piece after the other; a kernel is such a piece. As with CUDA,
// nobody waits for a stream but by an event or by synchronizing.
#pragma once

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace fairlead::nccl_host {

// Thread: any.
class Stream {
 public:
  Stream() = default;
  ~Stream();  // after all that was put on it
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void Put(std::function<void()> work);
  // How many pieces of work were put on it so far.
  uint64_t num_put() const;
  // Until so many are done.
  void WaitFor(uint64_t number) const;
  bool IsDone(uint64_t number) const;

 private:
  void Work();

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  uint64_t num_put_ = 0;
  uint64_t num_done_ = 0;
  bool is_closed_ = false;
  std::thread thread_;  // from the first piece of work
};

// That of a handle; the null handle and the two special ones are one stream of the process.
std::shared_ptr<Stream> StreamOf(cudaStream_t handle);

// The event happens when the stream has done what is on it now.
void RecordOn(cudaEvent_t event, const std::shared_ptr<Stream>& stream);

}  // namespace fairlead::nccl_host

#include "cuda/streams.h"

#include <set>
#include <utility>
#include <vector>

namespace fairlead::nccl_host {
namespace {

// What a cudaStream_t and a cudaEvent_t point to.
struct StreamHandle {
  std::shared_ptr<Stream> stream = std::make_shared<Stream>();
};
struct EventHandle {
  std::mutex mutex;
  std::shared_ptr<Stream> stream;  // null: never recorded, which counts as happened
  uint64_t number = 0;

  std::pair<std::shared_ptr<Stream>, uint64_t> Get() {
    const std::scoped_lock lock(mutex);
    return {stream, number};
  }
};

// Streams that have not been destroyed.
class Registry {
 public:
  void Add(StreamHandle* handle) {
    const std::scoped_lock lock(mutex_);
    handles_.insert(handle);
  }
  void Remove(StreamHandle* handle) {
    const std::scoped_lock lock(mutex_);
    handles_.erase(handle);
  }
  std::vector<std::shared_ptr<Stream>> All() {
    const std::scoped_lock lock(mutex_);
    std::vector<std::shared_ptr<Stream>> all;
    for (const StreamHandle* const handle : handles_) all.push_back(handle->stream);
    return all;
  }

 private:
  std::mutex mutex_;
  std::set<StreamHandle*> handles_;
};
Registry& Streams() {
  static auto* const streams = new Registry;
  return *streams;
}

StreamHandle* Of(cudaStream_t handle) { return reinterpret_cast<StreamHandle*>(handle); }
EventHandle* Of(cudaEvent_t handle) { return reinterpret_cast<EventHandle*>(handle); }

}  // namespace

Stream::~Stream() {
  {
    const std::scoped_lock lock(mutex_);
    is_closed_ = true;
  }
  changed_.notify_all();
  if (!thread_.joinable()) return;
  // Its own last piece of work may be what lets go of it.
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void Stream::Put(std::function<void()> work) {
  const std::scoped_lock lock(mutex_);
  waiting_.push_back(std::move(work));
  ++num_put_;
  if (!thread_.joinable()) thread_ = std::thread([this] { Work(); });
  changed_.notify_all();
}

void Stream::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
    ++num_done_;
    changed_.notify_all();
  }
}

uint64_t Stream::num_put() const {
  const std::scoped_lock lock(mutex_);
  return num_put_;
}

void Stream::WaitFor(uint64_t number) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this, number] { return num_done_ >= number; });
}

bool Stream::IsDone(uint64_t number) const {
  const std::scoped_lock lock(mutex_);
  return num_done_ >= number;
}

std::shared_ptr<Stream> StreamOf(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread) {
    // Never destroyed: other threads may use it while the process ends.
    static auto* const process_stream = new std::shared_ptr<Stream>(std::make_shared<Stream>());
    return *process_stream;
  }
  return Of(handle)->stream;
}

void RecordOn(cudaEvent_t event, const std::shared_ptr<Stream>& stream) {
  EventHandle* const handle = Of(event);
  const std::scoped_lock lock(handle->mutex);
  handle->stream = stream;
  handle->number = stream->num_put();
}

}  // namespace fairlead::nccl_host

using fairlead::nccl_host::EventHandle;
using fairlead::nccl_host::Of;
using fairlead::nccl_host::Stream;
using fairlead::nccl_host::StreamHandle;
using fairlead::nccl_host::StreamOf;
using fairlead::nccl_host::Streams;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  auto* const handle = new StreamHandle;
  Streams().Add(handle);
  *stream = reinterpret_cast<cudaStream_t>(handle);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Streams().Remove(Of(stream));
  delete Of(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::shared_ptr<Stream> found = StreamOf(stream);
  found->WaitFor(found->num_put());
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  for (const std::shared_ptr<Stream>& stream : Streams().All()) stream->WaitFor(stream->num_put());
  return cudaStreamSynchronize(nullptr);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const std::shared_ptr<Stream> found = StreamOf(stream);
  return found->IsDone(found->num_put()) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  *id = reinterpret_cast<uintptr_t>(StreamOf(stream).get());
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  auto [other, number] = Of(event)->Get();
  const std::shared_ptr<Stream> found = StreamOf(stream);
  if (other == nullptr || other == found) return cudaSuccess;
  found->Put([other = std::move(other), number = number] { other->WaitFor(number); });
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  StreamOf(stream)->Put([function, data] { function(data); });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new EventHandle);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete Of(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  fairlead::nccl_host::RecordOn(event, StreamOf(stream));
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const auto [stream, number] = Of(event)->Get();
  return stream == nullptr || stream->IsDone(number) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const auto [stream, number] = Of(event)->Get();
  if (stream != nullptr) stream->WaitFor(number);
  return cudaSuccess;
}

}  // extern "C"

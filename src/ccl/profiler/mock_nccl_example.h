// For tests and benchmarks of the profiler plugin: imitates NCCL through the plugin's binary interface, and reads the
// segment as the agent does.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "ccl/profiler/nccl_profiler_abi.h"
#include "shm/profiler_segment.h"

namespace fairlead::ccl {

// One version of the interface. Plugin: its struct; EventDescriptor and Arguments: its parameters.
template <typename PluginType, typename EventDescriptorType, typename ArgumentsType>
struct Version {
  using Plugin = PluginType;
  using EventDescriptor = EventDescriptorType;
  using Arguments = ArgumentsType;
};
struct Version1 : Version<nccl::PluginV1, nccl::DescriptorV1, nccl::StateArgumentsV1> {
  static constexpr char kSymbol[] = "ncclProfiler_v1";
};
struct Version2 : Version<nccl::PluginV2, nccl::DescriptorV2, nccl::StateArgumentsV1> {
  static constexpr char kSymbol[] = "ncclProfiler_v2";
};
struct Version3 : Version<nccl::PluginV3, nccl::DescriptorV3, nccl::StateArgumentsV1> {
  static constexpr char kSymbol[] = "ncclProfiler_v3";
};
struct Version4 : Version<nccl::PluginV4, nccl::DescriptorV4, nccl::StateArguments> {
  static constexpr char kSymbol[] = "ncclProfiler_v4";
};
struct Version5 : Version<nccl::PluginV5, nccl::DescriptorV5, nccl::StateArguments> {
  static constexpr char kSymbol[] = "ncclProfiler_v5";
};
struct Version6 : Version<nccl::PluginV6, nccl::DescriptorV6, nccl::StateArguments> {
  static constexpr char kSymbol[] = "ncclProfiler_v6";
};

// The library, opened as NCCL does.
class PluginLibrary {
 public:
  PluginLibrary() : handle_(dlopen(FAIRLEAD_PROFILER_LIBRARY, RTLD_NOW | RTLD_LOCAL)) {}
  ~PluginLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  template <typename V>
  const typename V::Plugin* Get() const {
    return handle_ == nullptr ? nullptr : static_cast<const typename V::Plugin*>(dlsym(handle_, V::kSymbol));
  }

 private:
  void* handle_;
};

// One communicator of one rank.
template <typename V>
class MockCommunicator {
 public:
  MockCommunicator(const PluginLibrary& library, uint64_t id, int num_ranks = 8, int rank = 0, int* mask = nullptr)
      : plugin_(library.Get<V>()), id_(id) {
    int own_mask = 0;
    int* target = mask != nullptr ? mask : &own_mask;
    if constexpr (std::is_same_v<decltype(plugin_->init), nccl::InitV1>) {
      result_ = plugin_->init(&context_, target);
    } else if constexpr (std::is_same_v<decltype(plugin_->init), nccl::InitV4>) {
      result_ = plugin_->init(&context_, target, "test", id, 2, num_ranks, rank, nullptr);
    } else {
      result_ = plugin_->init(&context_, id, target, "test", 2, num_ranks, rank, nullptr);
    }
    own_mask_ = own_mask;
  }

  nccl::Result result() const { return result_; }
  void* context() const { return context_; }
  int own_mask() const { return own_mask_; }
  void Finalize() { FL_CHECK(plugin_->finalize(context_) == nccl::kSuccess); }

  void* StartAllReduce(uint64_t sequence, size_t count = 1024) {
    typename V::EventDescriptor descriptor = Make(nccl::kCollective, nullptr);
    auto& collective = descriptor.body.collective;
    collective.sequence = sequence;
    collective.count = count;
    collective.root = 0;
    if constexpr (requires { collective.communicator; }) {
      collective.communicator = id_;
      collective.name = "test";
    }
    if constexpr (std::is_same_v<V, Version1>) {
      collective.function = 4;
      collective.data_type = 7;
    } else {
      collective.function = "AllReduce";
      collective.data_type = "ncclFloat32";
      collective.algorithm = "RING";
      collective.protocol = "SIMPLE";
    }
    return Start(&descriptor);
  }

  void* StartPointToPoint(bool is_send, int peer, size_t count = 77) {
    typename V::EventDescriptor descriptor = Make(nccl::kPointToPoint, nullptr);
    auto& operation = descriptor.body.point_to_point;
    operation.count = count;
    operation.peer = peer;
    if constexpr (requires { operation.communicator; }) {
      operation.communicator = id_;
      operation.name = "test";
    }
    if constexpr (std::is_same_v<V, Version1>) {
      operation.function = is_send ? 6 : 7;
    } else {
      operation.function = is_send ? "Send" : "Recv";
      operation.data_type = "ncclInt8";
    }
    return Start(&descriptor);
  }

  // Args: pid 0: this process's.
  void* StartProxyOperation(void* parent, bool is_send, int peer = 1, uint8_t channel = 0, pid_t pid = 0) {
    typename V::EventDescriptor descriptor = Make(nccl::kProxyOperation, parent);
    descriptor.body.proxy_operation = {pid != 0 ? pid : pid_, channel, peer, 16, 1 << 20, is_send ? 1 : 0};
    return Start(&descriptor);
  }

  void* StartStep(void* parent, int step) {
    typename V::EventDescriptor descriptor = Make(nccl::kProxyStep, parent);
    descriptor.body.proxy_step.step = step;
    return Start(&descriptor);
  }

  void* StartKernel(void* parent, uint8_t channel, uint64_t gpu_ns) {
    typename V::EventDescriptor descriptor = Make(nccl::kKernelChannel, parent);
    descriptor.body.kernel_channel = {channel, gpu_ns};
    return Start(&descriptor);
  }

  void* StartOther(uint64_t type, void* parent) {
    typename V::EventDescriptor descriptor = Make(type, parent);
    return Start(&descriptor);
  }

  void Record(void* handle, int state, size_t value = 0) {
    typename V::Arguments arguments = {};
    memcpy(&arguments, &value, sizeof(value));
    FL_CHECK(plugin_->record_event_state(handle, state, &arguments) == nccl::kSuccess);
  }
  void RecordNothing(void* handle, int state) {
    FL_CHECK(plugin_->record_event_state(handle, state, nullptr) == nccl::kSuccess);
  }
  void Stop(void* handle) { FL_CHECK(plugin_->stop_event(handle) == nccl::kSuccess); }

  // A whole message, with all states in NCCL's order.
  void Send(void* proxy_operation, int number, size_t bytes) {
    void* step = StartStep(proxy_operation, number);
    Record(step, nccl::kSendGpuWait);
    Record(step, nccl::kSendPeerWait);
    Record(step, nccl::kSendWait, bytes);
    Stop(step);
  }
  void Receive(void* proxy_operation, int number, size_t bytes) {
    void* step = StartStep(proxy_operation, number);
    Record(step, nccl::kReceiveWait);
    Record(step, nccl::kReceiveFlushWait, bytes);
    Record(step, nccl::kReceiveGpuWait);
    Stop(step);
  }

 private:
  typename V::EventDescriptor Make(uint64_t type, void* parent) {
    typename V::EventDescriptor descriptor;
    memset(static_cast<void*>(&descriptor), 0xa5, sizeof(descriptor));  // what NCCL does not fill is anything
    descriptor.type = static_cast<decltype(descriptor.type)>(type);
    descriptor.parent = parent;
    return descriptor;
  }
  void* Start(typename V::EventDescriptor* descriptor) {
    void* handle = nullptr;
    FL_CHECK(plugin_->start_event(context_, &handle, descriptor) == nccl::kSuccess);
    return handle;
  }

  const typename V::Plugin* plugin_;
  uint64_t id_;
  void* context_ = nullptr;
  nccl::Result result_ = nccl::kSuccess;
  int own_mask_ = 0;
  pid_t pid_ = getpid();
};

// The segment of a process, read from its file.
class SegmentView {
 public:
  explicit SegmentView(const std::string& folder, pid_t pid = getpid()) {
    const int file = open((folder + "/fairlead-" + std::to_string(pid)).c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void* memory = mmap(nullptr, sizeof(shm::ProfilerSegment), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory != MAP_FAILED) segment_ = static_cast<shm::ProfilerSegment*>(memory);
  }
  ~SegmentView() {
    if (segment_ != nullptr) munmap(segment_, sizeof(shm::ProfilerSegment));
  }
  SegmentView(const SegmentView&) = delete;
  SegmentView& operator=(const SegmentView&) = delete;

  bool is_there() const { return segment_ != nullptr; }
  shm::SegmentHeader& header() const { return segment_->header; }

  // Of the communicator with that id; null: none is live.
  const shm::CommunicatorSlot* Communicator(uint64_t id, uint32_t* index = nullptr) const {
    for (uint32_t i = 0; i < shm::kNumCommunicators; ++i) {
      const shm::CommunicatorSlot& slot = segment_->communicators[i];
      if (slot.state != uint32_t(shm::CommunicatorState::kLive) || slot.id != id) continue;
      if (index != nullptr) *index = i;
      return &slot;
    }
    return nullptr;
  }
  std::vector<const shm::OperationSlot*> Operations(uint64_t id) const {
    uint32_t index = shm::kNumCommunicators;
    Communicator(id, &index);
    std::vector<const shm::OperationSlot*> found;
    for (const shm::OperationSlot& slot : segment_->operations) {
      if (slot.ticket != 0 && slot.communicator == index) found.push_back(&slot);
    }
    return found;
  }
  std::vector<const shm::ConnectionSlot*> Connections(uint64_t id) const {
    uint32_t index = shm::kNumCommunicators;
    Communicator(id, &index);
    std::vector<const shm::ConnectionSlot*> found;
    for (const shm::ConnectionSlot& slot : segment_->connections) {
      if (slot.key > shm::kGoneConnection && shm::CommunicatorOf(slot.key) == index) found.push_back(&slot);
    }
    return found;
  }

 private:
  shm::ProfilerSegment* segment_ = nullptr;
};

}  // namespace fairlead::ccl

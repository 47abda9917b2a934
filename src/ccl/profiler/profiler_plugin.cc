// libnccl-profiler-fairlead.so: the symbols that NCCL looks for, newest version first, and what differs between them.
//
// Every version is one adaptor from its descriptors to the recorder; nothing is decided here. All functions return
// success, always: a plugin that fails init is unloaded, and still finalized.
#include <cstring>

#include "ccl/export.h"
#include "ccl/profiler/event_handle.h"
#include "ccl/profiler/nccl_profiler_abi.h"
#include "ccl/profiler/recorder.h"

namespace fairlead::ccl {
namespace {

using nccl::Result;

constexpr char kName[] = "Fairlead";

shm::OperationKind KindOf(const char* function) {
  struct Named {
    const char* name;
    shm::OperationKind kind;
  };
  static constexpr Named kNames[] = {{"AllReduce", shm::OperationKind::kAllReduce},
                                     {"AllGather", shm::OperationKind::kAllGather},
                                     {"ReduceScatter", shm::OperationKind::kReduceScatter},
                                     {"Send", shm::OperationKind::kSend},
                                     {"Recv", shm::OperationKind::kReceive},
                                     {"Broadcast", shm::OperationKind::kBroadcast},
                                     {"Reduce", shm::OperationKind::kReduce},
                                     {"AlltoAll", shm::OperationKind::kAllToAll},
                                     {"AllToAll", shm::OperationKind::kAllToAll}};
  if (function == nullptr) return shm::OperationKind::kUnknown;
  for (const Named& named : kNames) {
    if (strcmp(function, named.name) == 0) return named.kind;
  }
  return shm::OperationKind::kUnknown;
}

// Version 1 gives numbers instead of names.
shm::OperationKind KindOf(uint8_t function) {
  static constexpr shm::OperationKind kKinds[] = {shm::OperationKind::kBroadcast, shm::OperationKind::kReduce,
                                                  shm::OperationKind::kAllGather, shm::OperationKind::kReduceScatter,
                                                  shm::OperationKind::kAllReduce, shm::OperationKind::kUnknown,
                                                  shm::OperationKind::kSend,      shm::OperationKind::kReceive};
  return function < sizeof(kKinds) / sizeof(kKinds[0]) ? kKinds[function] : shm::OperationKind::kUnknown;
}
const char* NameOfType(uint8_t type) {
  static constexpr const char* kNames[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                                           "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
  return type < sizeof(kNames) / sizeof(kNames[0]) ? kNames[type] : nullptr;
}
const char* NameOfType(const char* type) { return type; }

// Names of algorithm and protocol; version 1 gives numbers, which we leave out.
const char* TextOf(const char* text) { return text; }
const char* TextOf(uint8_t) { return nullptr; }

template <typename Collective>
uint8_t NumChannels(const Collective& collective) {
  if constexpr (requires { collective.num_channels; }) {
    return collective.num_channels;
  } else {
    return collective.num_channels_max;
  }
}

template <typename Collective>
OperationEvent ReadCollective(const Collective& collective) {
  OperationEvent event;
  event.kind = KindOf(collective.function);
  event.sequence = collective.sequence;
  event.count = collective.count;
  event.root_or_peer = collective.root;
  event.num_channels = NumChannels(collective);
  event.data_type = NameOfType(collective.data_type);
  event.algorithm = TextOf(collective.algorithm);
  event.protocol = TextOf(collective.protocol);
  return event;
}

// num_channels is not filled by NCCL's own shim of version 4 (item 15, see recorder.h), so it is left out.
template <typename PointToPoint>
OperationEvent ReadPointToPoint(const PointToPoint& point_to_point) {
  OperationEvent event;
  event.kind = KindOf(point_to_point.function);
  event.count = point_to_point.count;
  event.root_or_peer = point_to_point.peer;
  event.data_type = NameOfType(point_to_point.data_type);
  return event;
}

// Up to version 3 communicators are named by their operations.
template <typename Operation>
void NameCommunicator(void* context, const Operation& operation) {
  if constexpr (requires { operation.communicator; }) {
    ProcessRecorder().NameCommunicator(context, operation.communicator, operation.name);
  }
}

template <typename EventDescriptor>
Result StartEvent(void* context, void** handle, EventDescriptor* descriptor) {
  if (handle == nullptr) return nccl::kSuccess;
  *handle = Pack({HandleKind::kParent, 0, 0, 0});
  if (descriptor == nullptr) return nccl::kSuccess;
  Recorder& recorder = ProcessRecorder();
  const auto& body = descriptor->body;
  switch (static_cast<uint64_t>(descriptor->type)) {
    case nccl::kCollective:
      NameCommunicator(context, body.collective);
      *handle = recorder.StartOperation(context, ReadCollective(body.collective));
      break;
    case nccl::kPointToPoint:
      NameCommunicator(context, body.point_to_point);
      *handle = recorder.StartOperation(context, ReadPointToPoint(body.point_to_point));
      break;
    case nccl::kProxyOperation: {
      const nccl::ProxyOperation& operation = body.proxy_operation;
      *handle = recorder.StartProxyOperation(context, descriptor->parent,
                                             {.pid = operation.pid,
                                              .channel = operation.channel,
                                              .peer = static_cast<uint32_t>(operation.peer),
                                              .is_send = operation.is_send != 0});
      break;
    }
    case nccl::kProxyStep:
      *handle = recorder.StartProxyStep(descriptor->parent, body.proxy_step.step);
      break;
    case nccl::kKernelChannel:
      *handle = recorder.StartKernelChannel(descriptor->parent, body.kernel_channel.gpu_timer_ns);
      break;
    default:
      break;  // not recorded, but a parent of others
  }
  return nccl::kSuccess;
}

Result StopEvent(void* handle) {
  ProcessRecorder().Stop(handle);
  return nccl::kSuccess;
}

// In both forms of the arguments the bytes come first, and the GPU's timer is there, too.
template <typename Arguments>
uint64_t BytesOf(const Arguments* arguments) {
  return arguments == nullptr ? 0 : arguments->transferred_bytes;
}

template <typename Arguments>
Result RecordEventState(void* handle, int state, Arguments* arguments) {
  Recorder& recorder = ProcessRecorder();
  switch (state) {
    case nccl::kSendGpuWait:
    case nccl::kSendPeerWait:
    case nccl::kSendWait:
    case nccl::kReceiveWait:
    case nccl::kReceiveFlushWait:
    case nccl::kReceiveGpuWait:
      recorder.ChangeStepState(handle, state, BytesOf(arguments));
      break;
    case nccl::kKernelChannelStop:
      // The GPU's timer is where steps have their bytes.
      if (arguments != nullptr) recorder.EndKernelChannel(handle, BytesOf(arguments));
      break;
    default:
      break;
  }
  return nccl::kSuccess;
}

Result Finalize(void* context) {
  ProcessRecorder().EndCommunicator(context);
  return nccl::kSuccess;
}

void Begin(void** context, uint64_t id, int* mask, const char* name, int num_nodes, int num_ranks, int rank) {
  if (context != nullptr) {
    *context = ProcessRecorder().BeginCommunicator(id, name, num_nodes, num_ranks, rank, mask);
  }
}

Result Init1(void** context, int* mask) {
  Begin(context, 0, mask, nullptr, 0, 0, -1);
  return nccl::kSuccess;
}
Result Init4(void** context, int* mask, const char* name, uint64_t communicator, int num_nodes, int num_ranks, int rank,
             nccl::Logger) {
  Begin(context, communicator, mask, name, num_nodes, num_ranks, rank);
  return nccl::kSuccess;
}
Result Init5(void** context, uint64_t communicator, int* mask, const char* name, int num_nodes, int num_ranks, int rank,
             nccl::Logger) {
  Begin(context, communicator, mask, name, num_nodes, num_ranks, rank);
  return nccl::kSuccess;
}

}  // namespace
}  // namespace fairlead::ccl

// NOLINTBEGIN(readability-identifier-naming): names that NCCL looks for
using namespace fairlead::ccl;  // NOLINT(google-build-using-namespace): what follows stands outside for C
FAIRLEAD_EXPORT const nccl::PluginV1 ncclProfiler_v1 = {
    kName, Init1, StartEvent<nccl::DescriptorV1>, StopEvent, RecordEventState<nccl::StateArgumentsV1>, Finalize};
FAIRLEAD_EXPORT const nccl::PluginV2 ncclProfiler_v2 = {
    kName, Init1, StartEvent<nccl::DescriptorV2>, StopEvent, RecordEventState<nccl::StateArgumentsV1>, Finalize};
FAIRLEAD_EXPORT const nccl::PluginV3 ncclProfiler_v3 = {
    kName, Init1, StartEvent<nccl::DescriptorV3>, StopEvent, RecordEventState<nccl::StateArgumentsV1>, Finalize};
FAIRLEAD_EXPORT const nccl::PluginV4 ncclProfiler_v4 = {
    kName, Init4, StartEvent<nccl::DescriptorV4>, StopEvent, RecordEventState<nccl::StateArguments>, Finalize};
FAIRLEAD_EXPORT const nccl::PluginV5 ncclProfiler_v5 = {
    kName, Init5, StartEvent<nccl::DescriptorV5>, StopEvent, RecordEventState<nccl::StateArguments>, Finalize};
FAIRLEAD_EXPORT const nccl::PluginV6 ncclProfiler_v6 = {
    kName, Init5, StartEvent<nccl::DescriptorV6>, StopEvent, RecordEventState<nccl::StateArguments>, Finalize};
// NOLINTEND(readability-identifier-naming)

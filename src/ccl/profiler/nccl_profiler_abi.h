// The binary interface of NCCL's profiler plugins, versions 1 to 6, as far as a plugin needs it.
//
// Own declarations, written from the layout that the library uses: every offset is asserted below. All versions have
// the same five functions and differ in the parameters of `init` and in the descriptor of an event.
// Reference   docs/papers/c4.md (what the telemetry is for); NVIDIA/nccl, src/plugin/profiler.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace fairlead::ccl::nccl {

// What every function returns. Others mean errors to NCCL, and a plugin of ours has none to tell.
enum Result : int { kSuccess = 0 };

using Logger = void (*)(int level, unsigned long subsystems, const char* file, int line, const char* format, ...);

// Bits of the activation mask and values of `type`.
enum EventType : uint64_t {
  kGroup = 1 << 0,
  kCollective = 1 << 1,
  kPointToPoint = 1 << 2,
  kProxyOperation = 1 << 3,
  kProxyStep = 1 << 4,
  kProxyControl = 1 << 5,
  kKernelChannel = 1 << 6,
  kNetPlugin = 1 << 7,
  kGroupApi = 1 << 8,  // from here on: since version 5
  kCollectiveApi = 1 << 9,
  kPointToPointApi = 1 << 10,
  kKernelLaunch = 1 << 11,
  kCopyEngineCollective = 1 << 12,  // from here on: since version 6
  kCopyEngineSync = 1 << 13,
  kCopyEngineBatch = 1 << 14,
};

// States of recordEventState.
enum EventState : int {
  kProxyOperationInProgress = 19,  // since version 4
  kGroupStartEnded = 23,           // of kGroupApi, since version 5: the call that opened the group has returned
  kGroupEndBegan = 24,             // likewise: the call that ends it has begun
  kSendGpuWait = 8,
  kSendWait = 9,
  kReceiveWait = 10,
  kReceiveFlushWait = 11,
  kReceiveGpuWait = 12,
  kSendPeerWait = 20,  // since version 4
  kKernelChannelStop = 22,
};

// Versions 4 to 6; a union of these.
union StateArguments {
  size_t transferred_bytes;  // of steps; fresh in kSendWait and kReceiveFlushWait
  int appended_operations;   // of kProxyControl
  void* network_data;
  uint64_t gpu_timer_ns;  // of kKernelChannelStop
};
static_assert(sizeof(StateArguments) == 8);

// Versions 1 to 3.
struct StateArgumentsV1 {
  size_t transferred_bytes;
  int steps;
};
static_assert(sizeof(StateArgumentsV1) == 16);

// ---- What the union of a descriptor begins with ----

// Alike in all versions.
struct ProxyOperation {
  pid_t pid;  // of the process that owns the operation
  uint8_t channel;
  int peer;  // rank of the communicator
  int num_steps;
  int chunk_size;
  int is_send;
};
struct ProxyStep {
  int step;
};
// Since version 4; version 3 has the channel only.
struct KernelChannel {
  uint8_t channel;
  uint64_t gpu_timer_ns;
};

struct CollectiveV4 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* data_type;
  uint8_t num_channels;
  uint8_t num_warps;
  const char* algorithm;
  const char* protocol;
};
struct PointToPointV4 {
  const char* function;
  void* buffer;
  const char* data_type;
  size_t count;
  int peer;
  uint8_t num_channels;
};

struct CollectiveV5 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* data_type;
  uint8_t num_channels;
  uint8_t num_warps;
  const char* algorithm;
  const char* protocol;
  void* parent_group;  // handle of a kGroup event
};
struct PointToPointV5 {
  const char* function;
  void* buffer;
  const char* data_type;
  size_t count;
  int peer;
  uint8_t num_channels;
  void* parent_group;
};
struct GroupApi {
  bool is_graph_captured;
  int depth;
};
struct CollectiveApi {
  const char* function;
  size_t count;
  const char* data_type;
  int root;
  void* stream;
  bool is_graph_captured;
};
struct PointToPointApi {
  const char* function;
  size_t count;
  const char* data_type;
  void* stream;
  bool is_graph_captured;
};
struct KernelLaunch {
  void* stream;
};

struct CollectiveV1 {
  const char* name;
  uint64_t communicator;
  uint64_t sequence;
  uint8_t function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  uint8_t data_type;
  uint32_t operation;
  size_t traffic_bytes;
  uint8_t num_channels_max;
  uint8_t num_warps;
  uint8_t algorithm;
  uint8_t protocol;
  int is_collnet;
  int is_nvls;
};
struct PointToPointV1 {
  const char* name;
  uint64_t communicator;
  uint8_t function;
  void* buffer;
  uint8_t data_type;
  size_t count;
  int peer;
};
struct CollectiveV2 {
  const char* name;
  uint64_t communicator;
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* data_type;
  size_t traffic_bytes;
  uint8_t num_channels_max;
  uint8_t num_warps;
  const char* algorithm;
  const char* protocol;
};
struct CollectiveV3 {
  const char* name;
  uint64_t communicator;
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* data_type;
  uint8_t num_channels_max;
  uint8_t num_warps;
  const char* algorithm;
  const char* protocol;
};
struct PointToPointV2 {
  const char* name;
  uint64_t communicator;
  const char* function;
  void* buffer;
  const char* data_type;
  size_t count;
  int peer;
};

// ---- Descriptors ----

// Type is the header's first field: one byte up to version 4, eight from version 5. `Body` is a union, padded to the
// size that NCCL gives it.
template <typename Type, typename Body>
struct Descriptor {
  Type type;
  void* parent;
  int rank;
  Body body;
};

template <typename Collective, typename PointToPoint, size_t Bytes>
union Body {
  Collective collective;
  PointToPoint point_to_point;
  ProxyOperation proxy_operation;
  ProxyStep proxy_step;
  KernelChannel kernel_channel;
  // Since version 5.
  GroupApi group_api;
  CollectiveApi collective_api;
  PointToPointApi point_to_point_api;
  KernelLaunch kernel_launch;
  uint64_t padding[Bytes / 8];
};

using DescriptorV1 = Descriptor<uint8_t, Body<CollectiveV1, PointToPointV1, 96>>;
using DescriptorV2 = Descriptor<uint8_t, Body<CollectiveV2, PointToPointV2, 104>>;
using DescriptorV3 = Descriptor<uint8_t, Body<CollectiveV3, PointToPointV2, 96>>;
using DescriptorV4 = Descriptor<uint8_t, Body<CollectiveV4, PointToPointV4, 80>>;
using DescriptorV5 = Descriptor<uint64_t, Body<CollectiveV5, PointToPointV5, 88>>;
using DescriptorV6 = DescriptorV5;

static_assert(sizeof(DescriptorV1) == 120 && sizeof(DescriptorV2) == 128 && sizeof(DescriptorV3) == 120);
static_assert(sizeof(DescriptorV4) == 104 && sizeof(DescriptorV5) == 112);
static_assert(offsetof(DescriptorV4, parent) == 8 && offsetof(DescriptorV5, parent) == 8);
static_assert(offsetof(DescriptorV4, rank) == 16 && offsetof(DescriptorV5, rank) == 16);
static_assert(offsetof(DescriptorV1, body) == 24 && offsetof(DescriptorV2, body) == 24);
static_assert(offsetof(DescriptorV3, body) == 24);
static_assert(offsetof(DescriptorV4, body) == 24 && offsetof(DescriptorV5, body) == 24);

// Offsets of fields, counted from the body, which begins at 24.
static_assert(offsetof(ProxyOperation, channel) == 28 - 24 && offsetof(ProxyOperation, peer) == 32 - 24);
static_assert(offsetof(ProxyOperation, num_steps) == 36 - 24 && offsetof(ProxyOperation, chunk_size) == 40 - 24);
static_assert(offsetof(ProxyOperation, is_send) == 44 - 24);
static_assert(offsetof(KernelChannel, gpu_timer_ns) == 32 - 24);
static_assert(offsetof(CollectiveV4, function) == 32 - 24 && offsetof(CollectiveV4, send_buffer) == 40 - 24);
static_assert(offsetof(CollectiveV4, receive_buffer) == 48 - 24 && offsetof(CollectiveV4, count) == 56 - 24);
static_assert(offsetof(CollectiveV4, root) == 64 - 24 && offsetof(CollectiveV4, data_type) == 72 - 24);
static_assert(offsetof(CollectiveV4, num_channels) == 80 - 24 && offsetof(CollectiveV4, num_warps) == 81 - 24);
static_assert(offsetof(CollectiveV4, algorithm) == 88 - 24 && offsetof(CollectiveV4, protocol) == 96 - 24);
static_assert(offsetof(PointToPointV4, buffer) == 32 - 24 && offsetof(PointToPointV4, data_type) == 40 - 24);
static_assert(offsetof(PointToPointV4, count) == 48 - 24 && offsetof(PointToPointV4, peer) == 56 - 24);
static_assert(offsetof(PointToPointV4, num_channels) == 60 - 24);
static_assert(offsetof(CollectiveV5, sequence) == 24 - 24 && offsetof(CollectiveV5, function) == 32 - 24);
static_assert(offsetof(CollectiveV5, count) == 56 - 24 && offsetof(CollectiveV5, root) == 64 - 24);
static_assert(offsetof(CollectiveV5, data_type) == 72 - 24 && offsetof(CollectiveV5, num_channels) == 80 - 24);
static_assert(offsetof(CollectiveV5, protocol) == 96 - 24 && offsetof(CollectiveV5, parent_group) == 104 - 24);
static_assert(offsetof(PointToPointV5, data_type) == 40 - 24 && offsetof(PointToPointV5, count) == 48 - 24);
static_assert(offsetof(PointToPointV5, peer) == 56 - 24 && offsetof(PointToPointV5, num_channels) == 60 - 24);
static_assert(offsetof(PointToPointV5, parent_group) == 64 - 24);
static_assert(offsetof(GroupApi, depth) == 28 - 24 && offsetof(CollectiveApi, count) == 32 - 24);
static_assert(offsetof(CollectiveApi, data_type) == 40 - 24 && offsetof(CollectiveApi, root) == 48 - 24);
static_assert(offsetof(CollectiveApi, stream) == 56 - 24 && offsetof(CollectiveApi, is_graph_captured) == 64 - 24);
static_assert(offsetof(PointToPointApi, data_type) == 40 - 24 && offsetof(PointToPointApi, stream) == 48 - 24);
static_assert(offsetof(PointToPointApi, is_graph_captured) == 56 - 24);
static_assert(offsetof(CollectiveV1, communicator) == 32 - 24 && offsetof(CollectiveV1, sequence) == 40 - 24);
static_assert(offsetof(CollectiveV1, function) == 48 - 24 && offsetof(CollectiveV1, send_buffer) == 56 - 24);
static_assert(offsetof(CollectiveV1, receive_buffer) == 64 - 24 && offsetof(CollectiveV1, count) == 72 - 24);
static_assert(offsetof(CollectiveV1, root) == 80 - 24 && offsetof(CollectiveV1, data_type) == 84 - 24);
static_assert(offsetof(CollectiveV1, operation) == 88 - 24 && offsetof(CollectiveV1, traffic_bytes) == 96 - 24);
static_assert(offsetof(CollectiveV1, num_channels_max) == 104 - 24 && offsetof(CollectiveV1, protocol) == 107 - 24);
static_assert(offsetof(CollectiveV1, is_collnet) == 108 - 24 && offsetof(CollectiveV1, is_nvls) == 112 - 24);
static_assert(offsetof(PointToPointV1, function) == 40 - 24 && offsetof(PointToPointV1, buffer) == 48 - 24);
static_assert(offsetof(PointToPointV1, data_type) == 56 - 24 && offsetof(PointToPointV1, count) == 64 - 24);
static_assert(offsetof(PointToPointV1, peer) == 72 - 24);
static_assert(offsetof(CollectiveV2, function) == 48 - 24 && offsetof(CollectiveV2, data_type) == 88 - 24);
static_assert(offsetof(CollectiveV2, traffic_bytes) == 96 - 24 && offsetof(CollectiveV2, num_channels_max) == 104 - 24);
static_assert(offsetof(CollectiveV2, algorithm) == 112 - 24 && offsetof(CollectiveV2, protocol) == 120 - 24);
static_assert(offsetof(CollectiveV3, num_channels_max) == 96 - 24 && offsetof(CollectiveV3, num_warps) == 97 - 24);
static_assert(offsetof(CollectiveV3, algorithm) == 104 - 24 && offsetof(CollectiveV3, protocol) == 112 - 24);
static_assert(offsetof(PointToPointV2, function) == 40 - 24 && offsetof(PointToPointV2, data_type) == 56 - 24);
static_assert(offsetof(PointToPointV2, count) == 64 - 24 && offsetof(PointToPointV2, peer) == 72 - 24);

// ---- The plugin ----

using InitV1 = Result (*)(void** context, int* mask);
using InitV4 = Result (*)(void** context, int* mask, const char* name, uint64_t communicator, int num_nodes,
                          int num_ranks, int rank, Logger logger);
using InitV5 = Result (*)(void** context, uint64_t communicator, int* mask, const char* name, int num_nodes,
                          int num_ranks, int rank, Logger logger);

template <typename Init, typename EventDescriptor, typename Arguments>
struct Plugin {
  const char* name;
  Init init;
  Result (*start_event)(void* context, void** handle, EventDescriptor* descriptor);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, Arguments* arguments);
  Result (*finalize)(void* context);
};
using PluginV1 = Plugin<InitV1, DescriptorV1, StateArgumentsV1>;
using PluginV2 = Plugin<InitV1, DescriptorV2, StateArgumentsV1>;
using PluginV3 = Plugin<InitV1, DescriptorV3, StateArgumentsV1>;
using PluginV4 = Plugin<InitV4, DescriptorV4, StateArguments>;
using PluginV5 = Plugin<InitV5, DescriptorV5, StateArguments>;
using PluginV6 = PluginV5;
static_assert(sizeof(PluginV4) == 48 && offsetof(PluginV4, finalize) == 40);

}  // namespace fairlead::ccl::nccl

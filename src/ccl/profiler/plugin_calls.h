// The other side of NCCL's profiler interface: opens a plugin as NCCL does, and calls it.
//
// Method      NCCL_PROFILER_PLUGIN is a file or a path, or the X of libnccl-profiler-X.so; the newest version of the
//             interface that the library has is used. All versions are called through one description of events.
// Limits      versions 4 to 6, those of NCCL 2.27 and later.
// Reference   NVIDIA/nccl, src/plugin/profiler.cc and src/plugin/profiler/profiler_v*.cc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace fairlead::ccl {

// A communicator of this process, as reported to a plugin.
struct PluginCommunicator {
  uint64_t id = 0;
  std::string name;
  int num_nodes = 1;
  int num_ranks = 1;
  int rank = 0;
};

// The description of an event's start that a plugin receives; which fields count follows from the type.
struct PluginEvent {
  uint64_t type = 0;  // nccl::EventType
  void* parent = nullptr;
  void* parent_group = nullptr;  // of collectives, sends and receives, since version 5
  int rank = 0;
  const char* function = nullptr;  // must outlive the call
  uint64_t sequence = 0;
  uint64_t count = 0;  // elements of one byte
  int peer = -1;
  uint8_t num_channels = 0;
  int group_depth = 0;
  uint8_t channel = 0;
  int num_steps = 0;
  int chunk_bytes = 0;
  bool is_send = false;
  int step = 0;
  uint64_t gpu_timer_ns = 0;
};

class PluginCalls {
 public:
  virtual ~PluginCalls() = default;

  virtual int version() const = 0;
  // Since version 5 events of the program's calls are parents of operations; before, those of groups do.
  bool has_api_events() const { return version() >= 5; }

  // Errors: kUnavailable: the plugin refuses. Args: mask: has to outlive the plugin's use: it may be written at any
  // time.
  virtual Result<void*> Begin(const PluginCommunicator& communicator, int* mask) = 0;
  virtual void* Start(void* context, const PluginEvent& event) = 0;
  virtual void Stop(void* handle) = 0;
  // Args: value: bytes or the GPU's timer, as the state wants it.
  virtual void Record(void* handle, int state, uint64_t value) = 0;
  virtual void End(void* context) = 0;
};

// Args: name: value of NCCL_PROFILER_PLUGIN; null or empty: not set.
// Errors: kNotFound: no such library, or no plugin in it; says what was looked for.
Result<std::unique_ptr<PluginCalls>> LoadPlugin(const char* name);

}  // namespace fairlead::ccl

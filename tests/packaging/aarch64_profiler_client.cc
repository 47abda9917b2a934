// Plays NCCL to the profiler plugin for one operation, for aarch64_test.py: prints "ready" once it has begun, and ends
// it at the end of the input.
//
//     aarch64_profiler_client LIBRARY
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>

#include "ccl/profiler/nccl_profiler_abi.h"

namespace nccl = fairlead::ccl::nccl;

namespace {
void Log(int, uint64_t, const char*, int, const char*, ...) {}
}  // namespace

int main(int argc, char** argv) {
  void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr) return fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "expected a library"), 2;
  const auto* plugin = static_cast<const nccl::PluginV5*>(dlsym(library, "ncclProfiler_v5"));
  void *context = nullptr, *operation = nullptr, *kernel = nullptr;
  int mask = 0;
  if (plugin == nullptr || plugin->init(&context, 7, &mask, "ring", 2, 8, 3, Log) != 0 || mask == 0) return 3;

  nccl::DescriptorV5 collective = {};
  collective.type = nccl::kCollective;
  collective.rank = 3;
  collective.body.collective = {.sequence = 1,
                                .function = "AllReduce",
                                .send_buffer = nullptr,
                                .receive_buffer = nullptr,
                                .count = 1024,
                                .root = 0,
                                .data_type = "ncclFloat32",
                                .num_channels = 1,
                                .num_warps = 1,
                                .algorithm = "RING",
                                .protocol = "SIMPLE",
                                .parent_group = nullptr};
  if (plugin->start_event(context, &operation, &collective) != 0 || operation == nullptr) return 4;
  nccl::DescriptorV5 channel = {};
  channel.type = nccl::kKernelChannel;
  channel.parent = operation;
  channel.rank = 3;
  channel.body.kernel_channel = {.channel = 0, .gpu_timer_ns = 1000};
  if (plugin->start_event(context, &kernel, &channel) != 0) return 5;

  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) continue;
  if (plugin->stop_event(kernel) != 0 || plugin->stop_event(operation) != 0 || plugin->finalize(context) != 0) return 6;
  puts("done");
  return 0;
}

#include "ccl/profiler/plugin_calls.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ccl/profiler/nccl_profiler_abi.h"

namespace fairlead::ccl {
namespace {

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

constexpr char kDataType[] = "ncclInt8";
constexpr int kWarning = 2;

// What a plugin says through NCCL: warnings are shown.
void Log(int level, unsigned long, const char*, int, const char* format, ...) {
  if (level > kWarning) return;
  va_list arguments;
  va_start(arguments, format);
  std::fputs("profiler plugin: ", stderr);
  std::vfprintf(stderr, format, arguments);
  std::fputc('\n', stderr);
  va_end(arguments);
}

template <typename PluginType, typename EventDescriptor, typename Arguments>
class CallsOf : public PluginCalls {
 public:
  CallsOf(int version, Library library, const PluginType* plugin)
      : version_(version), library_(std::move(library)), plugin_(plugin), pid_(getpid()) {}

  int version() const override { return version_; }

  Result<void*> Begin(const PluginCommunicator& c, int* mask) override {
    void* context = nullptr;
    int result = nccl::kSuccess;
    if constexpr (std::is_same_v<decltype(plugin_->init), nccl::InitV4>) {
      result = plugin_->init(&context, mask, c.name.c_str(), c.id, c.num_nodes, c.num_ranks, c.rank, Log);
    } else {
      result = plugin_->init(&context, c.id, mask, c.name.c_str(), c.num_nodes, c.num_ranks, c.rank, Log);
    }
    if (result == nccl::kSuccess) return context;
    return Unavailable(fmt::format("init of communicator '{}' returns {}", c.name, result));
  }

  void* Start(void* context, const PluginEvent& event) override {
    EventDescriptor descriptor;
    std::memset(static_cast<void*>(&descriptor), 0, sizeof descriptor);
    descriptor.type = static_cast<decltype(descriptor.type)>(event.type);
    descriptor.parent = event.parent;
    descriptor.rank = event.rank;
    Fill(event, &descriptor);
    void* handle = nullptr;
    plugin_->start_event(context, &handle, &descriptor);
    return handle;
  }

  void Stop(void* handle) override { plugin_->stop_event(handle); }

  void Record(void* handle, int state, uint64_t value) override {
    Arguments arguments = {};
    if (state == nccl::kKernelChannelStop) {
      arguments.gpu_timer_ns = value;
    } else {
      arguments.transferred_bytes = value;
    }
    plugin_->record_event_state(handle, state, &arguments);
  }

  void End(void* context) override { plugin_->finalize(context); }

 private:
  void Fill(const PluginEvent& event, EventDescriptor* descriptor) const {
    auto& body = descriptor->body;
    switch (event.type) {
      case nccl::kCollective:
        return FillCollective(event, &body.collective);
      case nccl::kPointToPoint:
        return FillPointToPoint(event, &body.point_to_point);
      case nccl::kProxyOperation:
        body.proxy_operation = {
            pid_, event.channel, event.peer, event.num_steps, event.chunk_bytes, event.is_send ? 1 : 0};
        return;
      case nccl::kProxyStep:
        body.proxy_step.step = event.step;
        return;
      case nccl::kKernelChannel:
        body.kernel_channel = {event.channel, event.gpu_timer_ns};
        return;
      case nccl::kGroupApi:
        body.group_api.depth = event.group_depth;
        return;
      case nccl::kCollectiveApi:
        body.collective_api = {event.function, event.count, kDataType, 0, nullptr, false};
        return;
      case nccl::kPointToPointApi:
        body.point_to_point_api = {event.function, event.count, kDataType, nullptr, false};
        return;
      default:
        return;
    }
  }

  template <typename Collective>
  static void FillCollective(const PluginEvent& event, Collective* collective) {
    collective->sequence = event.sequence;
    collective->function = event.function;
    collective->count = event.count;
    collective->data_type = kDataType;
    collective->num_channels = event.num_channels;
    collective->num_warps = 16;
    collective->algorithm = "RING";
    collective->protocol = "SIMPLE";
    if constexpr (requires { collective->parent_group; }) collective->parent_group = event.parent_group;
  }

  template <typename PointToPoint>
  static void FillPointToPoint(const PluginEvent& event, PointToPoint* operation) {
    operation->function = event.function;
    operation->data_type = kDataType;
    operation->count = event.count;
    operation->peer = event.peer;
    operation->num_channels = event.num_channels;
    if constexpr (requires { operation->parent_group; }) operation->parent_group = event.parent_group;
  }

  const int version_;
  const Library library_;
  const PluginType* plugin_;
  const pid_t pid_;
};

using CallsV4 = CallsOf<nccl::PluginV4, nccl::DescriptorV4, nccl::StateArguments>;
using CallsV5 = CallsOf<nccl::PluginV5, nccl::DescriptorV5, nccl::StateArguments>;

Result<Library> Open(const std::string& name) {
  std::string why;
  for (const std::string& file : {name, fmt::format("libnccl-profiler-{}.so", name)}) {
    if (void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return Library(library);
    if (why.empty()) why = dlerror();
  }
  return NotFound(
      fmt::format("no profiler plugin '{}': {}. Set NCCL_PROFILER_PLUGIN to the path of "
                  "libnccl-profiler-fairlead.so",
                  name, why));
}

}  // namespace

Result<std::unique_ptr<PluginCalls>> LoadPlugin(const char* name) {
  const std::string wanted = name != nullptr && *name != '\0' ? name : "libnccl-profiler.so";
  FL_ASSIGN_OR_RETURN(Library library, Open(wanted));
  const auto find = [&](int version) { return dlsym(library.get(), fmt::format("ncclProfiler_v{}", version).c_str()); };
  for (const int version : {6, 5, 4}) {
    const void* const found = find(version);
    if (found == nullptr) continue;
    if (version == 4) {
      return std::unique_ptr<PluginCalls>(
          std::make_unique<CallsV4>(version, std::move(library), static_cast<const nccl::PluginV4*>(found)));
    }
    return std::unique_ptr<PluginCalls>(
        std::make_unique<CallsV5>(version, std::move(library), static_cast<const nccl::PluginV5*>(found)));
  }
  return NotFound(
      fmt::format("{}: expected one of ncclProfiler_v4 to v6, found none: it is no profiler plugin of NCCL "
                  "2.27 or later. Set NCCL_PROFILER_PLUGIN to the path of libnccl-profiler-fairlead.so",
                  wanted));
}

}  // namespace fairlead::ccl

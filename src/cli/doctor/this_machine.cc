#include "cli/doctor/this_machine.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/descriptor.h"
#include "base/file_reader.h"
#include "ccl/profiler/plugin_calls.h"
#include "cli/command.h"
#include "lab/lab_programs.h"
#include "service/steering/exec_hook.h"
#include "service/streams/endpoint.h"

namespace fairlead::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPatience{5'000};

Status Failed(std::string message) { return {StatusCode::kFailedPrecondition, std::move(message)}; }

// Code of a foreign library may hang, print, or end the process: it runs in a child, whose answer is one of ours.
Result<LoadedLibrary> InChild(const std::function<Result<LoadedLibrary>()>& load) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Unavailable(fmt::format("pipe: {}", std::strerror(errno)));
  const Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  const pid_t child = fork();
  if (child < 0) return Unavailable(fmt::format("fork: {}", std::strerror(errno)));
  if (child == 0) {
    alarm(kPatience.count() / 1000);
    const Descriptor nowhere(open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int standard : {0, 1, 2}) dup2(nowhere.get(), standard);
    const Result<LoadedLibrary> loaded = load();
    const nlohmann::json answer = loaded.ok() ? nlohmann::json{{"path", loaded->path}, {"nccl", loaded->nccl_version}}
                                              : nlohmann::json{{"error", loaded.status().message()}};
    const std::string text = answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    [[maybe_unused]] const ssize_t written = write(theirs.get(), text.data(), text.size());
    _exit(0);
  }
  theirs.Close();
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 1; count > 0 || (count < 0 && errno == EINTR);) {
    count = read(ours.get(), buffer.data(), buffer.size());
    if (count > 0) text.append(buffer.data(), static_cast<size_t>(count));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  const nlohmann::json answer = nlohmann::json::parse(text, nullptr, false);
  if (!answer.is_object()) {
    return Failed(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "loading it takes over 5 s"
                                                                     : "a process that loads it crashes");
  }
  if (answer.contains("error")) return Failed(answer["error"].get<std::string>());
  return LoadedLibrary{answer["path"].get<std::string>(), answer["nccl"].get<int>()};
}

Result<LoadedLibrary> LoadHere(const std::string& name) {
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return Failed(why == nullptr ? "the loader refuses it" : why);
  }
  LoadedLibrary loaded{name};
  if (link_map* map = nullptr; dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) loaded.path = map->l_name;
  if (void* const version = dlsym(library, "ncclGetVersion")) {
    reinterpret_cast<int (*)(int*)>(version)(&loaded.nccl_version);
  }
  return loaded;
}

class ThisMachine : public Machine {
 public:
  Result<std::string> Read(const std::string& path) const override { return ReadWholeFile(path, 1 << 20); }
  std::string FindTool(const std::string& name) const override {
    std::istringstream folders(Variable("PATH") + ":/usr/sbin:/sbin");
    for (std::string folder; std::getline(folders, folder, ':');) {
      std::string path = (fs::path(folder.empty() ? "." : folder) / name).string();
      std::error_code error;
      if (access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, error)) return path;
    }
    return "";
  }
  Result<std::string> Run(const std::vector<std::string>& command) const override {
    FL_ASSIGN_OR_RETURN(const auto outcome, service::RunExecHook({.command = command, .deadline = kPatience}, ""));
    if (outcome.timed_out) return Failed(fmt::format("{} takes over 5 s", command.front()));
    if (outcome.exit_code != 0) return Failed(outcome.output.substr(0, outcome.output.find('\n')));
    return outcome.output;
  }
  std::string Variable(const std::string& name) const override {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? "" : value;
  }
  Result<uint64_t> RoomIn(const std::string& folder) const override {
    struct statvfs room = {};
    if (access(folder.c_str(), W_OK | X_OK) != 0 || statvfs(folder.c_str(), &room) != 0) {
      return Failed(std::strerror(errno));
    }
    return uint64_t{room.f_bavail} * room.f_frsize;
  }
  int64_t Now() const override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(now).count();
  }

  Result<std::string> FindProgram(const std::string& name) const override { return lab::FindProgram(name); }
  Result<std::string> FindSteeringLibrary() const override { return lab::FindSteeringLibrary(); }
  Result<std::string> FindProfilerPlugin() const override { return lab::FindProfilerPlugin(); }
  Result<std::string> FindData(const std::string& name) const override {
    const std::string path = FindInputFile(name);
    std::error_code error;
    if (!fs::exists(path, error)) return NotFound(fmt::format("no folder {}", name));
    return path;
  }

  Result<LoadedLibrary> Load(const std::string& name) const override {
    return InChild([&] { return LoadHere(name); });
  }
  Result<LoadedLibrary> LoadProfiler(const std::string& name) const override {
    return InChild([&]() -> Result<LoadedLibrary> {
      FL_ASSIGN_OR_RETURN(const auto calls, ccl::LoadPlugin(name.c_str()));
      return LoadedLibrary{name};
    });
  }
  std::vector<std::string> PackagedNccl() const override {
    std::vector<std::string> found;
    for (const std::string& root :
         {Variable("VIRTUAL_ENV"), Variable("CONDA_PREFIX"), std::string("/usr/local"), std::string("/usr")}) {
      if (root.empty()) continue;
      std::error_code error;
      for (const auto& entry : fs::directory_iterator(fs::path(root) / "lib", error)) {
        if (!entry.path().filename().string().starts_with("python3")) continue;
        for (const char* packages : {"site-packages", "dist-packages"}) {
          const fs::path library = entry.path() / packages / "nvidia/nccl/lib/libnccl.so.2";
          if (fs::exists(library, error)) found.push_back(library.string());
        }
      }
    }
    return found;
  }

  Result<lab::NamespaceTrial> TryNamespaces() const override { return lab::TryNamespaces(); }
  Status ReachAgent(const std::string& path) const override {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) return InvalidArgument(path + ": a path of over 107 bytes");
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const Descriptor probe(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return OkStatus();
    return Failed(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  Status TryListening(const std::string& address) const override {
    FL_ASSIGN_OR_RETURN(const service::Endpoint endpoint, service::ParseEndpoint(address));
    return service::CheckCanListen(endpoint);
  }
  Result<std::optional<service::ClockComparison>> ReachController(
      const service::ControllerClientOptions& options) const override {
    FL_ASSIGN_OR_RETURN(const auto client, service::ControllerClient::Start(options));
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (true) {
      for (const service::ClientEvent& event : client->Poll()) {
        if (const auto* opened = std::get_if<service::StreamOpened>(&event)) return opened->clocks;
        if (const auto* closed = std::get_if<service::StreamClosed>(&event)) return Failed(closed->reason);
      }
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) return Failed("no answer in 5 s");
      pollfd ready = {client->event_descriptor(), POLLIN, 0};
      poll(&ready, 1, static_cast<int>(left.count()));
    }
  }
  Result<service::CertificateFacts> ReadTls(const service::TlsFiles& files) const override {
    FL_ASSIGN_OR_RETURN(const service::TlsTexts texts, service::LoadTlsFiles(files));
    return service::ReadCertificateFacts(texts);
  }
};

}  // namespace

std::unique_ptr<Machine> MakeThisMachine() { return std::make_unique<ThisMachine>(); }

}  // namespace fairlead::cli

// Queries of `fairlead doctor` to a machine, so that tests can imitate one that lacks something.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/keeper.h"
#include "service/streams/certificate_facts.h"
#include "service/streams/controller_client.h"

namespace fairlead::cli {

// A shared library that the loader took.
struct LoadedLibrary {
  std::string path;
  int nccl_version = 0;  // of ncclGetVersion(): 22703 is 2.27.3; 0: it has none
};

class Machine {
 public:
  virtual ~Machine() = default;

  // Files of /proc, /sys and /dev included. Errors: those of ReadWholeFile().
  virtual Result<std::string> Read(const std::string& path) const = 0;
  // Where PATH, /usr/sbin and /sbin have it; "": nowhere.
  virtual std::string FindTool(const std::string& name) const = 0;
  // What it prints, errors included. Errors: it can't be started, ends with another code than 0, or takes over 5 s.
  virtual Result<std::string> Run(const std::vector<std::string>& command) const = 0;
  // Of the environment; "": unset.
  virtual std::string Variable(const std::string& name) const = 0;
  // For this user. Errors: there is no such folder, or nothing can be written there.
  virtual Result<uint64_t> RoomIn(const std::string& folder) const = 0;
  virtual int64_t Now() const = 0;  // seconds since 1970

  // Those of this installation (lab/lab_programs.h); data: "scenarios", "profiles".
  virtual Result<std::string> FindProgram(const std::string& name) const = 0;
  virtual Result<std::string> FindSteeringLibrary() const = 0;
  virtual Result<std::string> FindProfilerPlugin() const = 0;
  virtual Result<std::string> FindData(const std::string& name) const = 0;

  // Both load it in a process that ends afterwards. Args: name: a path, or what the loader searches.
  virtual Result<LoadedLibrary> Load(const std::string& name) const = 0;
  // As NCCL does with NCCL_PROFILER_PLUGIN.
  virtual Result<LoadedLibrary> LoadProfiler(const std::string& name) const = 0;
  // Copies of NCCL in Python packages, which the loader does not search.
  virtual std::vector<std::string> PackagedNccl() const = 0;

  virtual Result<lab::NamespaceTrial> TryNamespaces() const = 0;
  // Whether an agent accepts processes at this socket.
  virtual Status ReachAgent(const std::string& socket) const = 0;
  // Whether a program could listen there: "HOST:PORT" or "unix:PATH".
  virtual Status TryListening(const std::string& address) const = 0;
  // Opens a stream to a controller, with its TLS; waits for at most 5 s. None: it sent no time.
  virtual Result<std::optional<service::ClockComparison>> ReachController(
      const service::ControllerClientOptions& options) const = 0;
  virtual Result<service::CertificateFacts> ReadTls(const service::TlsFiles& files) const = 0;
};

}  // namespace fairlead::cli

#include "lab/lab_services.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/file_reader.h"
#include "base/file_writer.h"
#include "lab/lab_addresses.h"
#include "lab/lab_programs.h"
#include "lab/lab_source.h"
#include "lab/namespace_command.h"

namespace fairlead::lab {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kStartPatience{60};
constexpr std::chrono::milliseconds kServicePollPeriod{50};
constexpr size_t kLogTailBytes = 600;
// Of the controller, in seconds: ten times as often as on a cluster, because a lab has few leaves to probe.
constexpr std::string_view kProbePeriod = "0.5";
// Milliseconds: processors are shared, and packets of 16 KiB on slow links are in the way.
constexpr std::string_view kRttTolerance = "200";

// Whether a process listens on a UNIX socket.
bool Answers(const std::string& path, int type) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const Descriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  return connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

std::string TailOf(const std::string& path) {
  std::string tail = ReadFileIfThere(path);
  if (tail.size() > kLogTailBytes) tail.erase(0, tail.size() - kLogTailBytes);
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  return tail.empty() ? "it printed nothing" : tail;
}

struct Service {
  std::string name;  // for messages
  LabNodeId node;    // invalid: on this machine
  std::vector<std::string> args;
  std::string socket;
  int socket_type = SOCK_STREAM;
  std::string log;
};

Service ControllerOf(const std::string& program, const std::string& folder, const LabServicesOptions& options) {
  Service service{
      .name = "the controller",
      .node = LabNodeId(),
      .args = {program, "--fabric", folder + "/fabric.yaml", "--addresses", folder + "/addresses.json", "--store",
               "sqlite:" + folder + "/controller.sqlite", "--listen", "unix:" + folder + "/controller.sock",
               "--rtt-tolerance-ms", std::string(kRttTolerance), "--probe-period", std::string(kProbePeriod)},
      .socket = folder + "/controller.sock",
      .log = folder + "/controller.log"};
  if (!options.http.empty()) {
    service.args.insert(service.args.end(), {"--http", options.http, "--http-operator-open"});
  }
  service.args.insert(service.args.end(), options.controller_arguments.begin(), options.controller_arguments.end());
  if (!options.path.empty()) {
    const char* const path = std::getenv("PATH");
    service.args.insert(service.args.begin(), {"/usr/bin/env", fmt::format("PATH={}:{}:/usr/sbin:/sbin:/usr/bin:/bin",
                                                                           options.path, path == nullptr ? "" : path)});
  }
  return service;
}

Service AgentOf(const LabPlan& plan, LabNodeId node, const std::string& folder, const std::string& program) {
  const std::string& host = plan.nodes[node].name;
  Service service{.name = "the agent of " + host,
                  .node = node,
                  .args = {program, "run", "--controller", "unix:" + folder + "/controller.sock", "--host", host,
                           "--socket", AgentSocket(folder, host), "--state", folder + "/agents/" + host + ".state",
                           "--gpu-counters", GpuFolder(folder, host), "--segments", SegmentFolder(folder, host),
                           // All hosts of a lab have the kernel and the GPUs of this machine.
                           "--gpu-meter", "none", "--no-symptoms"},
                  .socket = AgentSocket(folder, host),
                  .socket_type = SOCK_SEQPACKET,
                  .log = folder + "/agents/" + host + ".log"};
  for (const NicId nic : plan.nodes[node].nics) {
    service.args.insert(service.args.end(), {"--nic", FormatAddress(plan.nics[nic].address)});
  }
  return service;
}

Status WaitFor(const Service& service, steady_clock::time_point end, const std::atomic<bool>& stop) {
  while (!Answers(service.socket, service.socket_type)) {
    if (stop) return Status(StatusCode::kCancelled, "stopped while the lab's services were starting");
    if (steady_clock::now() > end) {
      return Unavailable(
          fmt::format("{} does not answer on {}: {}", service.name, service.socket, TailOf(service.log)));
    }
    std::this_thread::sleep_for(kServicePollPeriod);
  }
  return OkStatus();
}

}  // namespace

std::string AgentSocket(const std::string& lab_folder, const std::string& host) {
  return fmt::format("{}/agents/{}.sock", lab_folder, host);
}

std::string SegmentFolder(const std::string& lab_folder, const std::string& host) {
  return fmt::format("{}/segments/{}", lab_folder, host);
}

std::string GpuFolder(const std::string& lab_folder, const std::string& host) {
  return fmt::format("{}/gpus/{}", lab_folder, host);
}

std::string PageOf(const std::string& lab_folder) { return ReadFileIfThere(lab_folder + "/page"); }

bool HasServices(const std::string& lab_folder) { return Answers(lab_folder + "/controller.sock", SOCK_STREAM); }

Status StartServices(const LabState& state, const topology::Fabric& fabric, const std::string& lab_folder,
                     const LabServicesOptions& options, const std::atomic<bool>& stop) {
  FL_ASSIGN_OR_RETURN(const std::string controller_program, FindProgram("fairlead-controller"));
  FL_ASSIGN_OR_RETURN(const std::string agent_program, FindProgram("fairlead-agent"));
  std::error_code error;
  std::filesystem::create_directories(lab_folder + "/agents", error);
  FL_RETURN_IF_ERROR(WriteFileAtomically(lab_folder + "/addresses.json",
                                         topology::WriteAddressBook(AddressBookOf(fabric, state.plan), fabric)));
  FL_ASSIGN_OR_RETURN(const std::string fabric_text, DescribeLabFabric(state.source, state.plan.options.scale));
  FL_RETURN_IF_ERROR(WriteFileAtomically(lab_folder + "/fabric.yaml", fabric_text));
  if (!options.http.empty()) FL_RETURN_IF_ERROR(WriteFileAtomically(lab_folder + "/page", options.http));
  const auto end = steady_clock::now() + kStartPatience;
  // First: an agent that finds none looks again a second later, and its host's jobs are not steered until then.
  const Service controller = ControllerOf(controller_program, lab_folder, options);
  FL_RETURN_IF_ERROR(StartDaemon(state.keeper, controller.node, controller.args, controller.log));
  FL_RETURN_IF_ERROR(WaitFor(controller, end, stop));
  std::vector<Service> agents;
  for (LabNodeId node(0u); node.index() < state.plan.nodes.size(); node = LabNodeId(node.index() + 1)) {
    const LabNode& host = state.plan.nodes[node];
    if (host.role != NodeRole::kHost || host.nics.empty()) continue;
    std::filesystem::create_directories(GpuFolder(lab_folder, host.name), error);
    std::filesystem::create_directories(SegmentFolder(lab_folder, host.name), error);
    agents.push_back(AgentOf(state.plan, node, lab_folder, agent_program));
  }
  for (const Service& agent : agents) {
    FL_RETURN_IF_ERROR(StartDaemon(state.keeper, agent.node, agent.args, agent.log));
  }
  for (const Service& agent : agents) FL_RETURN_IF_ERROR(WaitFor(agent, end, stop));
  return OkStatus();
}

}  // namespace fairlead::lab

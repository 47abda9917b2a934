// Simulated agents for a controller: how many heartbeats and path requests does it take, at what cost?
//
//     control_load write FOLDER AGENTS                          fabric.yaml and addresses.json of such a cluster
//     control_load run ADDRESS PID AGENTS REQUESTS_PER_S SECONDS
//
// Each agent has a stream of its own, a heartbeat each 5 s, and in turn asks for 8 connections to other hosts (one
// message) and closes them again. Load is offered at a fixed rate whatever the controller does; messages are dropped
// and counted where an agent's last one is not on its way yet. PID is the controller's, for its processor time.
#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "service/stream_bytes.h"
#include "wire/host_message_codec.h"

namespace {

using namespace fairlead;  // NOLINT(google-build-using-namespace): a program of one file
using Clock = std::chrono::steady_clock;

constexpr uint32_t kHostsPerLeaf = 32;
constexpr uint32_t kConnections = 8;
constexpr double kHeartbeatS = 5;

IpAddress AddressOf(uint32_t host) { return IpAddress::FromIpv4(0x0a000000 + host + 1); }

struct Totals {
  std::atomic<uint64_t> welcomed = 0, asked = 0, answered = 0, heartbeats = 0, dropped = 0, ended = 0, received = 0;
  std::mutex mutex;
  std::vector<double> delays_ms;
};

class Agent final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Agent(const std::shared_ptr<grpc::Channel>& channel, uint32_t host, uint32_t num_agents, Totals* totals)
      : stub_(channel), host_(host), num_agents_(num_agents), totals_(totals), random_(host) {
    stub_.PrepareBidiStreamingCall(&context_, std::string(wire::kAttachMethod), {}, this);
    AddHold();
    StartRead(&heard_);
    StartCall();
    Say(controller::HostHello{.host = fmt::format("h{}", host), .agent_version = "load", .nics = {AddressOf(host)}});
  }

  void Beat() {
    if (Say(controller::Heartbeat{.num_leases = holds_ ? 1u : 0u})) totals_->heartbeats++;
  }
  // Asks, or closes what it asked for last.
  bool Turn() {
    const std::string job = fmt::format("load-{}", host_);
    if (holds_) {
      if (Say(controller::ConnectionsClosed{.job = job, .connections = {}})) holds_ = false;
      return false;
    }
    controller::PathsWanted wanted = {.request = ++num_requests_, .job = job, .connections = {}};
    for (uint32_t c = 0; c < kConnections; ++c) {
      const auto other = static_cast<uint32_t>((host_ + 1 + random_.Below(num_agents_ - 1)) % num_agents_);
      wanted.connections.push_back({.connection = (uint64_t{host_} << 32) + num_connections_++,
                                    .source = AddressOf(host_),
                                    .destination = AddressOf(other),
                                    .destination_port = 5000});
    }
    asked_at_ = Clock::now();
    if (!Say(wanted)) return false;
    holds_ = true;
    totals_->asked += kConnections;
    return true;
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      totals_->ended++;
      return;
    }
    totals_->received++;
    const auto message = wire::ReadToAgent(service::WholeMessage(heard_).bytes());
    if (message.ok() && std::holds_alternative<controller::Welcome>(*message)) totals_->welcomed++;
    if (message.ok() && std::holds_alternative<controller::PathsAnswered>(*message)) {
      totals_->answered += std::get<controller::PathsAnswered>(*message).connections.size();
      const std::chrono::duration<double, std::milli> delay = Clock::now() - asked_at_.load();
      const std::lock_guard lock(totals_->mutex);
      totals_->delays_ms.push_back(delay.count());
    }
    StartRead(&heard_);
  }
  void OnWriteDone(bool) override { is_saying_ = false; }
  void OnDone(const grpc::Status&) override {}

 private:
  bool Say(const controller::FromAgent& message) {
    if (is_saying_.exchange(true)) {
      totals_->dropped++;
      return false;
    }
    said_ = service::ToBuffer(wire::WriteFromAgent(message));
    StartWrite(&said_);
    return true;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer heard_, said_;
  const uint32_t host_, num_agents_;
  Totals* totals_;
  Random random_;
  bool holds_ = false;
  uint64_t num_requests_ = 0, num_connections_ = 0;
  std::atomic<bool> is_saying_ = false;
  std::atomic<Clock::time_point> asked_at_{};
};

void Write(const std::string& folder, uint32_t num_agents) {
  std::ofstream fabric(folder + "/fabric.yaml");
  fabric << fmt::format(
      "fabric:\n  kind: clos2\n  leaves: {}\n  hosts_per_leaf: {}\n  spines: 16\n  uplink_gbps: 400\n"
      "  host: {{gpus: 1, nics: 1, ports_per_nic: 1, port_gbps: 200}}\n",
      (num_agents + kHostsPerLeaf - 1) / kHostsPerLeaf, kHostsPerLeaf);
  std::ofstream addresses(folder + "/addresses.json");
  addresses << "{\"nics\": {";
  for (uint32_t host = 0; host < num_agents; ++host) {
    addresses << fmt::format("{}\"{}\": \"h{}/nic0\"", host == 0 ? "" : ",\n", AddressOf(host).ToString(), host);
  }
  addresses << "}, \"interfaces\": {}}\n";
}

// User and system seconds, and resident MB.
std::pair<double, double> UsageOf(const std::string& pid) {
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string word;
  double ticks = 0, pages = 0;
  for (int i = 1; i <= 24 && stat >> word; ++i) {
    if (i == 14 || i == 15) ticks += std::stod(word);
    if (i == 24) pages = std::stod(word);
  }
  return {ticks / static_cast<double>(sysconf(_SC_CLK_TCK)), pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6};
}

double At(std::vector<double>* sorted, double fraction) {
  if (sorted->empty()) return 0;
  return (*sorted)[static_cast<size_t>(fraction * static_cast<double>(sorted->size() - 1))];
}

void Offer(std::vector<Agent*>* agents, double requests_per_s, double seconds) {
  const double turns_per_s = 2 * requests_per_s / kConnections;  // each second one closes
  const double beats_per_s = static_cast<double>(agents->size()) / kHeartbeatS;
  const auto start = Clock::now();
  uint64_t num_turns = 0, num_beats = 0;
  while (true) {
    const double now = std::chrono::duration<double>(Clock::now() - start).count();
    if (now >= seconds) return;
    for (; static_cast<double>(num_beats) < now * beats_per_s; ++num_beats)
      (*agents)[num_beats % agents->size()]->Beat();
    for (; static_cast<double>(num_turns) < now * turns_per_s; ++num_turns)
      (*agents)[num_turns % agents->size()]->Turn();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void Run(char** arguments) {
  const std::string address = arguments[2], pid = arguments[3];
  const auto num_agents = static_cast<uint32_t>(std::atoi(arguments[4]));
  const double seconds = std::atof(arguments[6]);
  Totals totals;
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < 128; ++i) {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channels.push_back(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), own));
  }
  std::vector<Agent*> agents;
  const double idle_mb = UsageOf(pid).second;
  for (uint32_t i = 0; i < num_agents; ++i) {
    agents.push_back(new Agent(channels[i % channels.size()], i, num_agents, &totals));
  }
  while (totals.welcomed < num_agents) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto [cpu_before, connected_mb] = UsageOf(pid);
  const auto start = Clock::now();
  const uint64_t received_before = totals.received;
  Offer(&agents, std::atof(arguments[5]), seconds);
  const double took = std::chrono::duration<double>(Clock::now() - start).count();
  const auto [cpu_after, loaded_mb] = UsageOf(pid);
  const std::lock_guard lock(totals.mutex);
  std::sort(totals.delays_ms.begin(), totals.delays_ms.end());
  fmt::print(
      "{} agents, {:.1f} s: asked {:.0f}/s, answered {:.0f}/s, heartbeats {:.0f}/s, dropped {}, streams ended {}\n",
      num_agents, took, static_cast<double>(totals.asked) / took, static_cast<double>(totals.answered) / took,
      static_cast<double>(totals.heartbeats) / took, totals.dropped.load(), totals.ended.load());
  fmt::print("messages to agents {:.0f}/s; delay of answers: median {:.1f} ms, 99 % {:.1f} ms\n",
             static_cast<double>(totals.received - received_before) / took, At(&totals.delays_ms, 0.5),
             At(&totals.delays_ms, 0.99));
  fmt::print("controller: {:.2f} cores; memory {:.0f} MB idle, {:.0f} MB connected, {:.0f} MB loaded\n",
             (cpu_after - cpu_before) / took, idle_mb, connected_mb, loaded_mb);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "write") {
    Write(argv[2], static_cast<uint32_t>(std::atoi(argv[3])));
    return 0;
  }
  if (argc != 7 || std::string(argv[1]) != "run") {
    fmt::print(stderr,
               "control_load write FOLDER AGENTS\ncontrol_load run ADDRESS PID AGENTS REQUESTS_PER_S SECONDS\n");
    return 2;
  }
  Run(argv);
  std::fflush(stdout);
  // Ten thousand streams need no farewell.
  _exit(0);
}

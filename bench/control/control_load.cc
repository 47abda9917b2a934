// Simulated agents for a controller: how many heartbeats and path requests does it take, at what cost?
//
//     control_load write FOLDER AGENTS [NICS]                   fabric.yaml and addresses.json of such a cluster
//     control_load run ADDRESS PID AGENTS REQUESTS_PER_S SECONDS [CONNECTIONS [known|unknown [JOBS]]]
//
// Hosts have NICS adapters, of which the first one is used: the others are links of the network that nothing runs on.
// Each agent has its own stream, a heartbeat each 5 s, and one long-lived connection, of a job of its own or of one of
// JOBS of equal size. In turn it asks for
// some more (CONNECTIONS in one message) and closes them again (another message). Known connections all go to one other
// host, whose ports have been probed before. Unknown: to others each time; it answers the orders to probe as a fabric
// would that hashes. Load is offered at a fixed rate whatever the controller does; what an agent has to say while its
// last message is on its way joins the next one, and is dropped and counted when that is too much. PID is the
// controller's, for its processor time.
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
#include "controller/probed_routes.h"
#include "service/streams/outgoing_messages.h"
#include "service/streams/stream_bytes.h"
#include "traffic/default_paths.h"
#include "wire/host_message_codec.h"

namespace {

using namespace fairlead;  // NOLINT(google-build-using-namespace): a program of one file
using Clock = std::chrono::steady_clock;

constexpr uint32_t kHostsPerLeaf = 32;
constexpr uint32_t kSpines = 16;
constexpr double kHeartbeatS = 5;
constexpr uint16_t kPort = 5000;
constexpr uint32_t kKnownPorts = 64;
constexpr size_t kUnsentMax = 1000;

IpAddress AddressOf(uint32_t host) { return IpAddress::FromIpv4(0x0a000000 + host + 1); }
// Of the interfaces that these cables lead to.
IpAddress LeafFromHost(uint32_t host) { return IpAddress::FromIpv4(0x0b000000 + host); }
IpAddress SpineFromLeaf(uint32_t leaf, uint32_t spine) { return IpAddress::FromIpv4(0x0c000000 + leaf * 256 + spine); }
IpAddress LeafFromSpine(uint32_t leaf, uint32_t spine) { return IpAddress::FromIpv4(0x0d000000 + leaf * 256 + spine); }
uint32_t HostOf(const IpAddress& address) {
  const auto& bytes = address.bytes();
  return (uint32_t{bytes[13]} << 16 | uint32_t{bytes[14]} << 8 | bytes[15]) - 1;
}

struct Totals {
  std::atomic<uint64_t> welcomed = 0, known = 0, asked = 0, answered = 0, with_port = 0, found = 0, probes = 0;
  std::atomic<uint64_t> heartbeats = 0, dropped = 0, ended = 0, received = 0;
  std::mutex mutex;
  std::vector<double> delays_ms;
};

struct Load {
  uint32_t num_agents = 0;
  uint32_t num_connections = 8;  // of a request
  bool is_known = false;
  uint32_t num_jobs = 0;
};

class Agent final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Agent(const std::shared_ptr<grpc::Channel>& channel, uint32_t host, const Load& load, Totals* totals)
      : stub_(channel),
        host_(host),
        job_(fmt::format("load-{}", uint64_t{host} * load.num_jobs / load.num_agents)),
        load_(load),
        totals_(totals),
        random_(host) {
    stub_.PrepareBidiStreamingCall(&context_, std::string(wire::kAttachMethod), {}, this);
    AddHold();
    StartRead(&heard_);
    StartCall();
    Say(controller::HostHello{.host = fmt::format("h{}", host), .agent_version = "load", .nics = {AddressOf(host)}});
    Say(controller::AnnouncementFinished{});
    Say(controller::PathsWanted{.request = 0, .job = job_, .connections = {Wanted(Partner())}});
  }

  void Beat() {
    if (Say(controller::Heartbeat{.num_leases = 1})) totals_->heartbeats++;
  }
  // Asks, or closes what it asked for last.
  void Turn() {
    if (!held_.empty()) {
      if (Say(controller::ConnectionsClosed{.job = job_, .connections = held_})) held_.clear();
      return;
    }
    controller::PathsWanted wanted = {.request = ++num_requests_, .job = job_, .connections = {}};
    for (uint32_t c = 0; c < load_.num_connections; ++c) {
      wanted.connections.push_back(Wanted(load_.is_known ? Partner() : Anybody()));
    }
    asked_at_ = Clock::now();
    if (!Say(wanted)) return;
    for (const auto& connection : wanted.connections) held_.push_back(connection.connection);
    totals_->asked += load_.num_connections;
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      totals_->ended++;
      return;
    }
    totals_->received++;
    if (const auto messages = wire::ReadToAgent(service::WholeMessage(heard_).bytes()); messages.ok()) {
      for (const auto& message : *messages) std::visit([&](const auto& kind) { Hear(kind); }, message);
    }
    StartRead(&heard_);
  }
  void OnWriteDone(bool) override {
    const std::lock_guard lock(mutex_);
    is_sending_ = false;
    SendNext();
  }
  void OnDone(const grpc::Status&) override {}

 private:
  template <class Other>
  void Hear(const Other&) {}
  void Hear(const controller::Welcome&) { totals_->welcomed++; }
  void Hear(const controller::PathsAnswered& answered) {
    if (answered.request == 0) return TellPorts(answered);
    totals_->answered += answered.connections.size();
    for (const auto& connection : answered.connections) {
      for (const auto& answer : connection.queue_pairs) {
        if (answer.kind == traffic::QueuePairAnswer::Kind::kUse) totals_->with_port++;
      }
    }
    const std::chrono::duration<double, std::milli> delay = Clock::now() - asked_at_.load();
    const std::lock_guard lock(totals_->mutex);
    totals_->delays_ms.push_back(delay.count());
  }
  void Hear(const controller::PathsChanged& changed) { totals_->found += changed.changes.size(); }
  void Hear(const controller::ProbesWanted& wanted) {
    controller::ProbesFinished finished = {.round = wanted.round, .scans = {}};
    for (const auto& scan : wanted.scans) {
      finished.scans.push_back(Probe(scan));
      totals_->probes += scan.source_ports.size();
    }
    Say(std::move(finished));
  }
  // What probes of the last hour have shown of the way to the partner.
  void TellPorts(const controller::PathsAnswered& first) {
    totals_->known++;
    if (!load_.is_known || first.connections.empty() || first.connections[0].queue_pairs.empty()) return;
    controller::PortScanWanted scan = {.source = AddressOf(host_),
                                       .destination = AddressOf(Partner()),
                                       .destination_port = kPort,
                                       .epoch = first.connections[0].queue_pairs[0].epoch,
                                       .source_ports = {}};
    for (uint32_t p = 0; p < kKnownPorts; ++p) {
      scan.source_ports.push_back(static_cast<uint16_t>(traffic::kFirstSourcePort + p));
    }
    Say(controller::ProbesFinished{.round = 0, .scans = {Probe(scan)}});
  }
  controller::PortScanSeen Probe(const controller::PortScanWanted& scan) const {
    controller::PortScanSeen seen = controller::NothingSeenOf(scan);
    const uint32_t to = HostOf(scan.destination);
    const uint32_t leaf = host_ / kHostsPerLeaf, last = to / kHostsPerLeaf;
    for (const uint16_t port : scan.source_ports) {
      const auto spine = static_cast<uint32_t>(CombineHash(CombineHash(host_, to), port) % kSpines);
      controller::ProbedRoute route = {
          .hops = {LeafFromHost(host_)}, .sent = 1, .lost = 0, .rtt = Seconds(1e-4), .source_ports = {port}};
      if (leaf != last) route.hops.insert(route.hops.end(), {SpineFromLeaf(leaf, spine), LeafFromSpine(last, spine)});
      controller::AddRoute(std::move(route), &seen);
    }
    return seen;
  }

  // Under another leaf, where there are some.
  uint32_t Partner() const { return (host_ + std::min(5 * kHostsPerLeaf, load_.num_agents / 2)) % load_.num_agents; }
  uint32_t Anybody() {
    return static_cast<uint32_t>((host_ + 1 + random_.Below(load_.num_agents - 1)) % load_.num_agents);
  }
  controller::WantedConnection Wanted(uint32_t to) {
    return {.connection = (uint64_t{host_} << 32) + num_connections_++,
            .source = AddressOf(host_),
            .destination = AddressOf(to),
            .destination_port = kPort};
  }

  bool Say(const controller::FromAgent& message) {
    std::string bytes = wire::WriteFromAgent(message);
    const std::lock_guard lock(mutex_);
    if (unsent_.size() >= kUnsentMax) {
      totals_->dropped++;
      return false;
    }
    unsent_.Push(std::move(bytes));
    SendNext();
    return true;
  }
  void SendNext() {
    if (is_sending_ || unsent_.empty()) return;
    is_sending_ = true;
    sent_ = service::ToBuffer(unsent_.Take().bytes);
    StartWrite(&sent_);
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer heard_, sent_;
  const uint32_t host_;
  const std::string job_;
  const Load load_;
  Totals* totals_;
  Random random_;
  std::vector<uint64_t> held_;
  uint64_t num_requests_ = 0, num_connections_ = 0;
  std::atomic<Clock::time_point> asked_at_{};
  std::mutex mutex_;
  bool is_sending_ = false;
  service::OutgoingMessages unsent_;
};

void Write(const std::string& folder, uint32_t num_agents, uint32_t num_nics) {
  std::ofstream fabric(folder + "/fabric.yaml");
  fabric << fmt::format(
      "fabric:\n  kind: clos2\n  leaves: {}\n  hosts_per_leaf: {}\n  spines: 16\n  uplink_gbps: 400\n"
      "  host: {{gpus: {}, nics: {}, ports_per_nic: 1, port_gbps: 200}}\n",
      (num_agents + kHostsPerLeaf - 1) / kHostsPerLeaf, kHostsPerLeaf, num_nics, num_nics);
  std::ofstream addresses(folder + "/addresses.json");
  addresses << "{\"nics\": {";
  for (uint32_t host = 0; host < num_agents; ++host) {
    addresses << fmt::format("{}\"{}\": \"h{}/nic0\"", host == 0 ? "" : ",\n", AddressOf(host).ToString(), host);
  }
  addresses << "}, \"interfaces\": {";
  for (uint32_t host = 0; host < num_agents; ++host) {
    addresses << fmt::format("{}\"{}\": \"h{}/nic0->leaf{}\"", host == 0 ? "" : ",\n", LeafFromHost(host).ToString(),
                             host, host / kHostsPerLeaf);
  }
  for (uint32_t leaf = 0; leaf * kHostsPerLeaf < num_agents; ++leaf) {
    for (uint32_t spine = 0; spine < kSpines; ++spine) {
      addresses << fmt::format(",\n\"{}\": \"leaf{}->spine{}\",\n\"{}\": \"spine{}->leaf{}\"",
                               SpineFromLeaf(leaf, spine).ToString(), leaf, spine,
                               LeafFromSpine(leaf, spine).ToString(), spine, leaf);
    }
  }
  addresses << "}}\n";
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

// Until the controller has processed every message sent so far.
void AwaitQuiet(const std::string& pid) {
  constexpr double kQuiet = 0.05;  // of a core
  for (double before = 0, now = UsageOf(pid).first; now - before > kQuiet; now = UsageOf(pid).first) {
    before = now;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

double At(std::vector<double>* sorted, double fraction) {
  if (sorted->empty()) return 0;
  return (*sorted)[static_cast<size_t>(fraction * static_cast<double>(sorted->size() - 1))];
}

void Offer(std::vector<Agent*>* agents, const Load& load, double requests_per_s, double seconds) {
  const double turns_per_s = 2 * requests_per_s / load.num_connections;  // each second one closes
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

void Run(const std::vector<std::string>& arguments) {
  const std::string address = arguments[2], pid = arguments[3];
  const auto num_agents = static_cast<uint32_t>(std::stoul(arguments[4]));
  const double seconds = std::stod(arguments[6]);
  Load load = {.num_agents = num_agents};
  if (arguments.size() > 7) load.num_connections = static_cast<uint32_t>(std::stoul(arguments[7]));
  load.is_known = arguments.size() > 8 && arguments[8] == "known";
  load.num_jobs = arguments.size() > 9 ? static_cast<uint32_t>(std::stoul(arguments[9])) : num_agents;
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
    agents.push_back(new Agent(channels[i % channels.size()], i, load, &totals));
  }
  while (totals.known < num_agents) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  AwaitQuiet(pid);
  const auto [cpu_before, connected_mb] = UsageOf(pid);
  const auto start = Clock::now();
  const uint64_t received_before = totals.received;
  const uint64_t probes_before = totals.probes, found_before = totals.found;
  Offer(&agents, load, std::stod(arguments[5]), seconds);
  const double took = std::chrono::duration<double>(Clock::now() - start).count();
  const auto [cpu_after, loaded_mb] = UsageOf(pid);
  const std::lock_guard lock(totals.mutex);
  std::sort(totals.delays_ms.begin(), totals.delays_ms.end());
  fmt::print(
      "{} agents, {:.1f} s: asked {:.0f}/s, answered {:.0f}/s, heartbeats {:.0f}/s, dropped {}, streams ended {}\n",
      num_agents, took, static_cast<double>(totals.asked) / took, static_cast<double>(totals.answered) / took,
      static_cast<double>(totals.heartbeats) / took, totals.dropped.load(), totals.ended.load());
  fmt::print("with a port at once {:.1f} %; ports found later {:.0f}/s, by {:.0f} probes/s\n",
             100 * static_cast<double>(totals.with_port) / static_cast<double>(std::max<uint64_t>(totals.answered, 1)),
             static_cast<double>(totals.found - found_before) / took,
             static_cast<double>(totals.probes - probes_before) / took);
  fmt::print("messages to agents {:.0f}/s; delay of answers: median {:.1f} ms, 99 % {:.1f} ms\n",
             static_cast<double>(totals.received - received_before) / took, At(&totals.delays_ms, 0.5),
             At(&totals.delays_ms, 0.99));
  fmt::print("controller: {:.2f} cores; memory {:.0f} MB idle, {:.0f} MB connected, {:.0f} MB loaded\n",
             (cpu_after - cpu_before) / took, idle_mb, connected_mb, loaded_mb);
}

}  // namespace

int main(int argc, char** argv) {
  if ((argc == 4 || argc == 5) && std::string(argv[1]) == "write") {
    const auto num_nics = argc == 5 ? static_cast<uint32_t>(std::atoi(argv[4])) : 1;
    Write(argv[2], static_cast<uint32_t>(std::atoi(argv[3])), num_nics);
    return 0;
  }
  if (argc < 7 || std::string(argv[1]) != "run") {
    fmt::print(stderr,
               "control_load write FOLDER AGENTS [NICS]\n"
               "control_load run ADDRESS PID AGENTS REQUESTS_PER_S SECONDS [CONNECTIONS [known|unknown]]\n");
    return 2;
  }
  Run({argv, argv + argc});
  std::fflush(stdout);
  // Ten thousand streams need no farewell.
  _exit(0);
}

// What the traffic controller costs, path service included: 10,000 hosts on 313 leaves and 16 spines.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "controller/traffic_controller.h"
#include "topology/clos_fabrics.h"
#include "traffic/default_paths.h"
#include "traffic/path_service_registry.h"
#include "traffic/policy_registry.h"

namespace fairlead::controller {
namespace {

constexpr uint32_t kHosts = 10'000;
constexpr uint32_t kHostsPerLeaf = 32;
constexpr uint32_t kSpines = 16;
constexpr uint16_t kDestinationPort = 5000;
// All in one job, or each host in its own.
enum Jobs : int64_t { kOne = 0, kOfHost = 1 };

const topology::Fabric& BenchFabric() {
  static const auto* const fabric = [] {
    topology::ClosSpec spec;
    spec.leaves = (kHosts + kHostsPerLeaf - 1) / kHostsPerLeaf;
    spec.hosts_per_leaf = kHostsPerLeaf;
    spec.spines = kSpines;
    spec.host.gpus = 1;
    spec.host.nics = 1;
    spec.host.pcie_switches = 1;
    spec.host.sockets = 1;
    return new topology::Fabric(topology::BuildClos(spec).value());
  }();
  return *fabric;
}

IpAddress AddressOf(uint32_t host) { return IpAddress::FromIpv4(0x0a000001 + host); }
// Under another leaf.
uint32_t PartnerOf(uint32_t host) { return (host + 5 * kHostsPerLeaf) % kHosts; }

// A controller with all agents connected.
class Cluster {
 public:
  explicit Cluster(int64_t jobs) : jobs_(jobs), policy_(traffic::CreatePolicy("crux-levels", {}).value()) {
    const topology::Fabric& fabric = BenchFabric();
    for (uint32_t h = 0; h < kHosts; ++h) FL_CHECK(addresses_.AddNic(AddressOf(h), NicId(h)).ok());
    traffic::c4p::C4pOptions options;
    options.probes.max_probes_per_round = 1;  // rounds cost the same whatever is asked
    paths_ = traffic::CreatePathService(fabric, options);
    controller_ =
        std::make_unique<TrafficController>(fabric, addresses_, *paths_, *policy_, TrafficControllerOptions());
    std::vector<TrafficInput> hellos;
    for (uint32_t h = 0; h < kHosts; ++h)
      hellos.push_back(Sent(h, HostHello{.host = fabric.HostName(HostId(h)), .agent_version = "bench", .nics = {}}));
    Handle(hellos);
  }

  size_t Handle(std::span<const TrafficInput> inputs) {
    now_ = now_ + SimDuration(1'000'000);
    return controller_->Handle(now_, inputs).size();
  }
  static TrafficInput Sent(uint32_t host, FromAgent message) {
    return StreamMessage{StreamId(host), std::move(message)};
  }

  // Two ports for each path from each host to its partner, as probes would have shown.
  void LearnPorts() {
    const topology::Fabric& fabric = BenchFabric();
    for (uint32_t h = 0; h < kHosts; ++h) {
      const auto leaf_of = [&](uint32_t host) {
        return fabric.destination(fabric.links_from(fabric.node_of(NicId(host))).front());
      };
      const NodeId from = leaf_of(h);
      const NodeId to = leaf_of(PartnerOf(h));
      const auto first = fabric.links_from(fabric.node_of(NicId(h))).front();
      const auto last = fabric.links_from(fabric.node_of(NicId(PartnerOf(h)))).front();
      traffic::PortScanSeen seen = {.source = NicId(h),
                                    .destination = NicId(PartnerOf(h)),
                                    .protocol = 6,
                                    .destination_port = kDestinationPort,
                                    .epoch = 1,
                                    .routes = {}};
      uint16_t port = traffic::kFirstSourcePort;
      for (const LinkId up : fabric.links_from(from)) {
        if (fabric.tier(up) != topology::LinkTier::kLeafSpine) continue;
        for (const LinkId down : fabric.links_from(fabric.destination(up))) {
          if (fabric.destination(down) != to) continue;
          seen.routes.push_back({.links = {first, up, down, fabric.reverse(last)},
                                 .sent = 1,
                                 .lost = 0,
                                 .rtt = Seconds(1e-4),
                                 .ports = {port, static_cast<uint16_t>(port + 1)}});
          port += 2;
        }
      }
      const traffic::PathEvent event = traffic::PortsScanned{{std::move(seen)}};
      paths_->Handle(now_, {&event, 1});
    }
  }

  // `count` connections of one host to its partner, with new names.
  PathsWanted Wanted(uint32_t host, uint32_t count) {
    PathsWanted wanted = {.request = 1, .job = JobOf(host), .connections = {}};
    for (uint32_t c = 0; c < count; ++c) {
      wanted.connections.push_back({.connection = ++num_connections_,
                                    .source = AddressOf(host),
                                    .destination = AddressOf(PartnerOf(host)),
                                    .protocol = 6,
                                    .destination_port = kDestinationPort});
    }
    return wanted;
  }
  static ConnectionsClosed Closed(const PathsWanted& wanted) {
    ConnectionsClosed closed = {.job = wanted.job, .connections = {}};
    for (const WantedConnection& connection : wanted.connections) closed.connections.push_back(connection.connection);
    return closed;
  }
  void Hold(uint32_t count) {
    std::vector<TrafficInput> inputs;
    for (uint32_t c = 0; c < count; ++c) inputs.push_back(Sent(c % kHosts, Wanted(c % kHosts, 1)));
    Handle(inputs);
  }
  uint32_t NextHost() { return next_host_++ % kHosts; }

 private:
  std::string JobOf(uint32_t host) const { return jobs_ == kOne ? "job" : "job-" + std::to_string(host); }

  const int64_t jobs_;
  topology::AddressBook addresses_;
  std::unique_ptr<traffic::TrafficPolicy> policy_;
  std::unique_ptr<traffic::PathService> paths_;
  std::unique_ptr<TrafficController> controller_;
  SimTime now_ = SimTime(1'000'000'000'000);
  uint64_t num_connections_ = 0;
  uint32_t next_host_ = 0;
};

// Connections are asked for, and closed with the next call; `batch` messages in a call, each from another host.
void BM_ControllerRequest(benchmark::State& state) {
  const auto batch = static_cast<uint32_t>(state.range(0));
  const auto per_message = static_cast<uint32_t>(state.range(1));
  Cluster cluster(state.range(4));
  if (state.range(3) != 0) cluster.LearnPorts();
  cluster.Hold(static_cast<uint32_t>(state.range(2)));
  std::vector<TrafficInput> wanted;
  std::vector<TrafficInput> closed;
  size_t num_outputs = 0;
  for (auto _ : state) {
    state.PauseTiming();
    wanted.clear();
    closed.clear();
    for (uint32_t i = 0; i < batch; ++i) {
      const uint32_t host = cluster.NextHost();
      PathsWanted messages = cluster.Wanted(host, per_message);
      closed.push_back(Cluster::Sent(host, Cluster::Closed(messages)));
      wanted.push_back(Cluster::Sent(host, std::move(messages)));
    }
    state.ResumeTiming();
    num_outputs += cluster.Handle(wanted) + cluster.Handle(closed);
  }
  const auto connections = static_cast<int64_t>(batch) * per_message * static_cast<int64_t>(state.iterations());
  state.SetItemsProcessed(connections);
  state.counters["outputs"] = static_cast<double>(num_outputs) / static_cast<double>(connections);
}
BENCHMARK(BM_ControllerRequest)
    ->ArgNames({"batch", "per_message", "held", "known", "jobs"})
    ->Args({1, 1, 1'000, 1, kOfHost})
    ->Args({16, 1, 1'000, 1, kOfHost})
    ->Args({256, 1, 1'000, 1, kOfHost})
    ->Args({256, 1, 10'000, 1, kOfHost})
    ->Args({256, 1, 100'000, 1, kOfHost})
    ->Args({1, 1, 100'000, 1, kOfHost})
    ->Args({16, 1, 100'000, 1, kOfHost})
    ->Args({32, 8, 100'000, 1, kOfHost})
    ->Args({4, 64, 100'000, 1, kOfHost})
    ->Args({256, 1, 1'000, 1, kOne})
    ->Args({256, 1, 10'000, 1, kOne})
    ->Args({256, 1, 100'000, 1, kOne})
    ->Args({1, 1, 100'000, 1, kOne})
    ->Args({256, 1, 100'000, 0, kOfHost})
    ->Args({32, 8, 100'000, 0, kOfHost})
    ->Unit(benchmark::kMicrosecond);

void BM_ControllerHeartbeat(benchmark::State& state) {
  const auto batch = static_cast<uint32_t>(state.range(0));
  Cluster cluster(kOfHost);
  cluster.Hold(100'000);
  std::vector<TrafficInput> beats;
  for (uint32_t i = 0; i < batch; ++i) beats.push_back(Cluster::Sent(cluster.NextHost(), Heartbeat{.num_leases = 1}));
  for (auto _ : state) benchmark::DoNotOptimize(cluster.Handle(beats));
  state.SetItemsProcessed(static_cast<int64_t>(batch) * static_cast<int64_t>(state.iterations()));
}
BENCHMARK(BM_ControllerHeartbeat)->ArgName("batch")->Arg(1)->Arg(16)->Arg(256)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace fairlead::controller
